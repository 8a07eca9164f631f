//! Recorded links: Mahimahi traces, throughput logs, and other files, which are converted to one
//! of these two forms.
//!
//! [`read()`] accepts a recorded link in any supported form and detects the form. All functions
//! take bytes, because the caller reads the files. No input causes a panic. Cloning a parsed trace
//! is cheap, because clones share their data.

mod error;
mod light;
mod lines;
mod log;
mod mahimahi;
mod read;

use std::collections::BTreeMap;

pub use error::{FolderError, TraceError, TraceProblem};
pub use light::{LightTrace, Train};
pub use log::RateLog;
pub use mahimahi::OpportunityTrace;
pub use read::{
    LightReading, Pace, ReadOptions, Reading, RecordedDirection, RecordedPath, Understood,
    UnderstoodRates, read, read_folder, read_light,
};

use cwndlab_units::{Duration, Rate};

/// A recorded link.
#[derive(Clone, PartialEq, Debug)]
pub enum RateTrace {
    /// The times at which the link could send 1504 bytes.
    Mahimahi(OpportunityTrace),
    /// The link's rate over time.
    Log(RateLog),
}

/// The kinds of recorded links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceKind {
    /// Each line contains the time of a delivery opportunity in milliseconds.
    Mahimahi,
    /// Each line contains a time in seconds and a rate in Mbit/s.
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
    /// Parses a Mahimahi trace: each line contains an integer number of milliseconds, and the
    /// numbers do not decrease.
    ///
    /// # Errors
    /// Returns an error if the text is not a Mahimahi trace; the error contains the line and the
    /// remedy.
    pub fn parse_mahimahi(text: &[u8]) -> Result<Self, TraceError> {
        OpportunityTrace::parse(text).map(Self::Mahimahi)
    }

    /// Parses a log: each line contains a time in seconds and a rate in Mbit/s, separated by a
    /// comma, semicolon or space. Skips a first line with column names, and lines that begin with
    /// `#`.
    ///
    /// # Errors
    /// Returns an error if the text is not a log; the error contains the line and the remedy.
    pub fn parse_log(text: &[u8]) -> Result<Self, TraceError> {
        RateLog::parse(text).map(Self::Log)
    }

    /// The kind of the trace.
    pub const fn kind(&self) -> TraceKind {
        match self {
            Self::Mahimahi(_) => TraceKind::Mahimahi,
            Self::Log(_) => TraceKind::Log,
        }
    }

    /// The time after which the trace repeats.
    pub fn period(&self) -> Duration {
        match self {
            Self::Mahimahi(trace) => trace.period(),
            Self::Log(log) => log.period(),
        }
    }

    /// Mean rate over one period; a delivery opportunity of a Mahimahi trace counts as 1504 bytes.
    pub fn mean_rate(&self) -> Rate {
        match self {
            Self::Mahimahi(trace) => trace.mean_rate(),
            Self::Log(log) => log.mean_rate(),
        }
    }
}

/// The recorded links that a scenario uses, by name.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Traces {
    by_path: BTreeMap<String, RateTrace>,
    light_by_path: BTreeMap<String, LightTrace>,
}

impl Traces {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a trace under the name by which scenarios refer to the trace.
    pub fn insert(&mut self, path: impl Into<String>, trace: RateTrace) {
        self.by_path.insert(path.into(), trace);
    }

    /// Returns the trace with this name.
    pub fn find(&self, path: &str) -> Option<&RateTrace> {
        self.by_path.get(path)
    }

    /// Adds a recording under light load under the name by which scenarios refer to it.
    pub fn insert_light(&mut self, path: impl Into<String>, trace: LightTrace) {
        self.light_by_path.insert(path.into(), trace);
    }

    /// Returns the recording under light load with this name.
    pub fn find_light(&self, path: &str) -> Option<&LightTrace> {
        self.light_by_path.get(path)
    }
}
