//! Recorded links: Mahimahi traces and logs of throughput, and files of other forms that become one.
//!
//! [`read()`] takes whatever somebody recorded and sees what it is. All take bytes, as files are read
//! by the caller, and never panic. A parsed trace is shared: a clone costs nothing.

mod error;
mod lines;
mod log;
mod mahimahi;
mod read;

use std::collections::BTreeMap;

pub use error::{TraceError, TraceProblem};
pub use log::RateLog;
pub use mahimahi::OpportunityTrace;
pub use read::{
    Pace, ReadOptions, Reading, RecordedDirection, RecordedPath, Understood, UnderstoodRates, read,
    read_folder,
};

use cwndlab_units::{Duration, Rate};

/// A recorded link.
#[derive(Clone, PartialEq, Debug)]
pub enum RateTrace {
    /// When the link could send 1504 bytes.
    Mahimahi(OpportunityTrace),
    /// How fast it was.
    Log(RateLog),
}

/// The kinds of recorded links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceKind {
    /// One delivery opportunity a line, in milliseconds.
    Mahimahi,
    /// Time in seconds and rate in Mbit/s on each line.
    Log,
}

impl core::fmt::Display for TraceKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Mahimahi => "Mahimahi trace",
            Self::Log => "rate log",
        })
    }
}

impl RateTrace {
    /// Parses a Mahimahi trace: a whole number of milliseconds on each line, not decreasing.
    ///
    /// # Errors
    /// If it is not one; the error names the line and the remedy.
    pub fn parse_mahimahi(text: &[u8]) -> Result<Self, TraceError> {
        OpportunityTrace::parse(text).map(Self::Mahimahi)
    }

    /// Parses a log: time in seconds and rate in Mbit/s on each line, with a comma, semicolon or
    /// space between; a first line of column names and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// If it is not one; the error names the line and the remedy.
    pub fn parse_log(text: &[u8]) -> Result<Self, TraceError> {
        RateLog::parse(text).map(Self::Log)
    }

    /// Which kind it is.
    pub const fn kind(&self) -> TraceKind {
        match self {
            Self::Mahimahi(_) => TraceKind::Mahimahi,
            Self::Log(_) => TraceKind::Log,
        }
    }

    /// After which time it repeats.
    pub fn period(&self) -> Duration {
        match self {
            Self::Mahimahi(trace) => trace.period(),
            Self::Log(log) => log.period(),
        }
    }

    /// Mean rate over one period; a Mahimahi trace's at 1504 bytes an opportunity.
    pub fn mean_rate(&self) -> Rate {
        match self {
            Self::Mahimahi(trace) => trace.mean_rate(),
            Self::Log(log) => log.mean_rate(),
        }
    }
}

/// The recorded links that a scenario names, by the names it uses.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Traces {
    by_path: BTreeMap<String, RateTrace>,
}

impl Traces {
    /// No traces.
    pub fn new() -> Self {
        Self::default()
    }

    /// Hands in a trace under the name by which stages call it.
    pub fn insert(&mut self, path: impl Into<String>, trace: RateTrace) {
        self.by_path.insert(path.into(), trace);
    }

    /// The trace of that name.
    pub fn find(&self, path: &str) -> Option<&RateTrace> {
        self.by_path.get(path)
    }
}
