//! Errors in trace files.

use core::fmt;

use thiserror::Error;

/// An error in a trace file.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub struct TraceError {
    /// The number of the line with the error, from 1; `None` if the error is not on one line.
    pub line: Option<usize>,
    /// The problem.
    #[source]
    pub problem: TraceProblem,
}

impl TraceError {
    pub(crate) const fn at(line: usize, problem: TraceProblem) -> Self {
        Self { line: Some(line), problem }
    }

    pub(crate) const fn whole(problem: TraceProblem) -> Self {
        Self { line: None, problem }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        self.problem.fmt(f)
    }
}

/// An error in a folder with the files of a recording.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub struct FolderError {
    /// The name of the file with the error; `None` if the error is not in one file.
    pub file: Option<String>,
    /// The error.
    #[source]
    pub error: Box<TraceError>,
}

impl FolderError {
    pub(crate) fn in_file(name: &str, error: TraceError) -> Self {
        Self { file: Some(name.to_owned()), error: Box::new(error) }
    }

    pub(crate) fn whole(problem: TraceProblem) -> Self {
        Self { file: None, error: Box::new(TraceError::whole(problem)) }
    }
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        self.error.fmt(f)
    }
}

/// The problem with a trace.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TraceProblem {
    /// The trace is empty.
    #[error("the trace is empty: it needs at least one line with data")]
    Empty,
    /// A line is blank.
    #[error("the line is blank: remove it")]
    Blank,
    /// A byte does not occur in text.
    #[error("byte 0x{0:02x} is not text: is the trace a compressed or binary file?")]
    Binary(u8),
    /// A line is too long for a trace.
    #[error("the line is longer than {0} bytes: is this file a trace?")]
    LongLine(usize),
    /// A line contains a word of the wrong kind.
    #[error("`{found}` is not {wanted}")]
    NotANumber {
        /// The text, shortened.
        found: String,
        /// The kind of word that the line requires.
        wanted: &'static str,
    },
    /// A number is negative.
    #[error("`{0}` is negative: times and rates start at 0")]
    Negative(String),
    /// A number is too large.
    #[error("`{found}` is too large: the maximum is {most}")]
    TooLarge {
        /// The text, shortened.
        found: String,
        /// The maximum with its unit.
        most: &'static str,
    },
    /// The time in a line is earlier than that in the line before.
    #[error("the time {found} follows the later time {previous}: sort the lines by time")]
    Unordered {
        /// The time in the line with the error.
        found: String,
        /// The time in the line before.
        previous: String,
    },
    /// The numbers in a file decrease, so they may be rates instead of times.
    #[error(
        "the time {found} follows the later time {previous}: sort the lines by time, or, if the \
         numbers are rates, write for example column = \"1\", unit = \"Mbit/s\""
    )]
    TimesOrRates {
        /// The number in the line with the error, as a time.
        found: String,
        /// The number in the line before, as a time.
        previous: String,
    },
    /// The trace has a duration of zero.
    #[error("the last time is 0 ms: the trace repeats after its last time, which must be positive")]
    NoDuration,
    /// All rates in a log are 0.
    #[error("every rate in the trace is 0: at least one must be positive")]
    NoRate,
    /// A gzip file cannot be unpacked.
    #[error("the gzip file is {0}: download or compress it again")]
    Gzip(&'static str),
    /// The file is of another kind; the value names this kind and the remedy.
    #[error("this file is {0}")]
    Foreign(&'static str),
    /// An option does not name a known unit.
    #[error("`{found}` is not a known unit; write for example {key} = \"{example}\"")]
    UnknownUnit {
        /// Name of the option.
        key: &'static str,
        /// Its value.
        found: String,
        /// A valid value.
        example: &'static str,
    },
    /// An option names a column that does not exist.
    #[error(
        "there is no column \"{wanted}\"; the columns are {columns}: write one of them as \
        \"{key}\""
    )]
    NoColumn {
        /// Name of the option.
        key: &'static str,
        /// The column that the option names.
        wanted: String,
        /// The existing columns.
        columns: String,
    },
    /// It is unclear which column contains the rate.
    #[error(
        "{why}; the columns are {columns}: name the column of the rate, for example column = \
        \"{example}\""
    )]
    WhichColumn {
        /// The reason: either no column or several columns may contain the rate.
        why: &'static str,
        /// The existing columns.
        columns: String,
        /// A column that may contain the rate.
        example: String,
    },
    /// Rows of a table have different numbers of columns.
    #[error(
        "line {line} has {found} columns and the line above it has {before}: write the same \
         number of columns in every line"
    )]
    Uneven {
        /// Number of the line with the error, from 1.
        line: usize,
        /// Number of columns in the line with the error.
        found: usize,
        /// Number of columns in the line before.
        before: usize,
    },
    /// The unit of a column is unclear.
    #[error(
        "column {column} has values such as {value} without a unit: write the unit, for example \
         unit = \"{example}\""
    )]
    WhichUnit {
        /// Number and name of the column whose unit is unclear.
        column: String,
        /// One of the column's values.
        value: String,
        /// A possible unit.
        example: &'static str,
    },
    /// The unit of a column with times is unclear.
    #[error(
        "column {column} has times that differ by {step}, without a unit: write time_unit = \
         \"ms\" or time_unit = \"s\""
    )]
    WhichTimeUnit {
        /// Number and name of the column with the times.
        column: String,
        /// Difference between two consecutive times.
        step: String,
    },
    /// A cell of a table contains a value of the wrong kind.
    #[error("column {column}: `{found}` is not {wanted}")]
    BadCell {
        /// Number and name of the cell's column.
        column: String,
        /// The text, shortened.
        found: String,
        /// The kind of value that the column requires.
        wanted: &'static str,
    },
    /// The JSON file is not a trace.
    #[error("this JSON file is not a trace: {0}")]
    Json(String),
    /// An iperf report has no intervals.
    #[error("this iperf3 report contains no intervals: run iperf3 with -i 1")]
    NoIntervals,
    /// The file describes only how the link behaves under light load.
    #[error(
        "this file contains base delays and short packet trains: write its name as light_trace, \
         beside a trace that was recorded under load, or name CellReplay's folder as trace"
    )]
    PacketTrains,
    /// A packet of a train arrives before a packet that was sent earlier.
    #[error("the arrival {0} ms follows a later arrival: sort the arrivals of each train")]
    UnorderedPackets(String),
    /// The packet trains contain too many packets.
    #[error("the trace has more than {0} packets: shorten it")]
    TooManyPackets(usize),
    /// A folder does not contain the files of CellReplay.
    #[error(
        "a folder is a trace only if it contains CellReplay's files down-pdo and up-pdo, or \
         down-heavy-pdo and up-heavy-pdo; this folder contains {0}"
    )]
    NoCellReplay(String),
    /// The trace has too many lines.
    #[error("the trace has more than {0} lines: shorten it")]
    TooManyLines(usize),
}

impl TraceProblem {
    pub(crate) fn not_a_number(found: &str, wanted: &'static str) -> Self {
        Self::NotANumber { found: shorten(found), wanted }
    }
}

/// Shortens a text for use in an error message.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
