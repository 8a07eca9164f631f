//! Errors in trace files.

use core::fmt;

use thiserror::Error;

/// An error in a trace.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub struct TraceError {
    /// The number of the line, from 1, if the error is on one line.
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

/// An error in a folder that contains a recording.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub struct FolderError {
    /// The name of the file with the error, if the error is in one file.
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
    /// A word is not what the line requires.
    #[error("`{found}` is not {wanted}")]
    NotANumber {
        /// The text, shortened.
        found: String,
        /// What the line requires.
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
        /// The limit with its unit.
        most: &'static str,
    },
    /// A time is earlier than that of the line above.
    #[error("the time {found} follows the later time {previous}: sort the lines by time")]
    Unordered {
        /// The time of this line.
        found: String,
        /// The time of the line above.
        previous: String,
    },
    /// The numbers decrease, so they may be rates instead of times.
    #[error(
        "the time {found} follows the later time {previous}: sort the lines by time, or, if the \
         numbers are rates, write for example column = \"1\", unit = \"Mbit/s\""
    )]
    TimesOrRates {
        /// The number of this line as a time.
        found: String,
        /// The number of the line above.
        previous: String,
    },
    /// The trace lasts for no time.
    #[error("the last time is 0 ms: the trace repeats after its last time, which must be positive")]
    NoDuration,
    /// All rates of a log are 0.
    #[error("every rate in the trace is 0: at least one must be positive")]
    NoRate,
    /// A gzip file cannot be unpacked.
    #[error("the gzip file is {0}: download or compress it again")]
    Gzip(&'static str),
    /// The file is of another kind.
    #[error("this file is {0}")]
    Foreign(&'static str),
    /// A setting is not a known unit.
    #[error("`{found}` is not a known unit; write for example {key} = \"{example}\"")]
    UnknownUnit {
        /// Name of the setting.
        key: &'static str,
        /// Its value.
        found: String,
        /// A valid value.
        example: &'static str,
    },
    /// A setting names a column that does not exist.
    #[error(
        "there is no column \"{wanted}\"; the columns are {columns}: write one of them as \
        \"{key}\""
    )]
    NoColumn {
        /// Name of the setting.
        key: &'static str,
        /// The column in the setting.
        wanted: String,
        /// The existing columns.
        columns: String,
    },
    /// The column of the rate is unclear.
    #[error(
        "{why}; the columns are {columns}: name the column of the rate, for example column = \
        \"{example}\""
    )]
    WhichColumn {
        /// Why: no column or several columns may be the rate.
        why: &'static str,
        /// The existing columns.
        columns: String,
        /// A column that may be the rate.
        example: String,
    },
    /// Rows of a table have different numbers of columns.
    #[error(
        "line {line} has {found} columns and the line above it has {before}: write the same \
         number of columns in every line"
    )]
    Uneven {
        /// Number of the line, from 1.
        line: usize,
        /// Number of columns in that line.
        found: usize,
        /// Number of columns in the line above.
        before: usize,
    },
    /// The unit of a column is unclear.
    #[error(
        "column {column} has values such as {value} without a unit: write the unit, for example \
         unit = \"{example}\""
    )]
    WhichUnit {
        /// Number and name of the column.
        column: String,
        /// One of its values.
        value: String,
        /// A possible unit.
        example: &'static str,
    },
    /// The unit of a column of times is unclear.
    #[error(
        "column {column} has times that differ by {step}, without a unit: write time_unit = \
         \"ms\" or time_unit = \"s\""
    )]
    WhichTimeUnit {
        /// Number and name of the column.
        column: String,
        /// Difference between consecutive times.
        step: String,
    },
    /// A cell is not what its column requires.
    #[error("column {column}: `{found}` is not {wanted}")]
    BadCell {
        /// Number and name of the column.
        column: String,
        /// The text, shortened.
        found: String,
        /// What the column requires.
        wanted: &'static str,
    },
    /// The JSON file is not a trace.
    #[error("this JSON file is not a trace: {0}")]
    Json(String),
    /// An iperf report has no intervals.
    #[error("this iperf3 report contains no intervals: run iperf3 with -i 1")]
    NoIntervals,
    /// The file describes the link only while the load is light.
    #[error(
        "this file contains base delays and short packet trains: write its name as light_trace, \
         beside a trace that was recorded under load, or name CellReplay's folder as trace"
    )]
    PacketTrains,
    /// A packet of a train arrives before one that was sent earlier.
    #[error("the arrival {0} ms follows a later one: sort the arrivals of each train")]
    UnorderedPackets(String),
    /// The trains have too many packets.
    #[error("the trace has more than {0} packets: shorten it")]
    TooManyPackets(usize),
    /// A folder does not contain CellReplay's files.
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

/// Shortens a text for a message.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
