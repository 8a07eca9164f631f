//! Why a file is not a trace.

use core::fmt;

use thiserror::Error;

/// A text is not a trace.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub struct TraceError {
    /// On which line, counted from 1, if it is on one.
    pub line: Option<usize>,
    /// What is wrong there.
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

/// What is wrong with a trace.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TraceProblem {
    /// Nothing in it.
    #[error("the trace is empty: it needs at least one line with data")]
    Empty,
    /// A line without text.
    #[error("the line is blank: remove it")]
    Blank,
    /// A byte that no text has.
    #[error("byte 0x{0:02x} is not text: is the trace a compressed or binary file?")]
    Binary(u8),
    /// A line longer than any of a trace.
    #[error("the line is longer than 1000 bytes: is this file a trace?")]
    LongLine,
    /// Not what a line must be.
    #[error("`{found}` is not {wanted}")]
    NotANumber {
        /// The text, shortened.
        found: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A number below zero.
    #[error("`{0}` is negative: times and rates start at 0")]
    Negative(String),
    /// A number that does not fit.
    #[error("`{found}` is too large: the maximum is {most}")]
    TooLarge {
        /// The text, shortened.
        found: String,
        /// The limit with its unit.
        most: &'static str,
    },
    /// A time before that of the line above.
    #[error("the time {found} follows the later time {previous}: sort the lines by time")]
    Unordered {
        /// The time of this line.
        found: String,
        /// The time of the line above.
        previous: String,
    },
    /// Numbers that do not grow and may be rates.
    #[error(
        "the time {found} follows the later time {previous}: sort the lines by time, or, if the \
         numbers are rates, write for example column = \"1\", unit = \"Mbit/s\""
    )]
    TimesOrRates {
        /// The number of this line as a time.
        found: String,
        /// That of the line above.
        previous: String,
    },
    /// A trace that takes no time.
    #[error("the last time is 0 ms: the trace repeats after its last time, which must be positive")]
    NoDuration,
    /// A log in which nothing ever passes.
    #[error("every rate in the trace is 0: at least one must be positive")]
    NoRate,
    /// A gzip file that cannot be unpacked.
    #[error("the gzip file is {0}: download or compress it again")]
    Gzip(&'static str),
    /// Another kind of file.
    #[error("this file is {0}")]
    Foreign(&'static str),
    /// A setting that is not a unit.
    #[error("`{found}` is not a known unit; write for example {key} = \"{example}\"")]
    UnknownUnit {
        /// The setting.
        key: &'static str,
        /// Its value.
        found: String,
        /// What it may be.
        example: &'static str,
    },
    /// A setting that names a column which is not there.
    #[error(
        "there is no column \"{wanted}\"; the columns are {columns}: write one of them as \
        \"{key}\""
    )]
    NoColumn {
        /// The setting.
        key: &'static str,
        /// The column that it names.
        wanted: String,
        /// Those that there are.
        columns: String,
    },
    /// It is not clear which column is the rate.
    #[error(
        "{why}; the columns are {columns}: name the column of the rate, for example column = \
        \"{example}\""
    )]
    WhichColumn {
        /// Whether none or several may be.
        why: &'static str,
        /// Those that there are.
        columns: String,
        /// One that may be meant.
        example: String,
    },
    /// Rows of a table with different numbers of columns.
    #[error(
        "line {line} has {found} columns and the line above it has {before}: write the same \
         number of columns in every line"
    )]
    Uneven {
        /// The line's number from 1.
        line: usize,
        /// How many columns it has.
        found: usize,
        /// How many columns the line above has.
        before: usize,
    },
    /// It is not clear what a column counts.
    #[error(
        "column {column} has values such as {value} without a unit: write the unit, for example \
         unit = \"{example}\""
    )]
    WhichUnit {
        /// Its number and its name.
        column: String,
        /// One of its values.
        value: String,
        /// A unit that may be meant.
        example: &'static str,
    },
    /// It is not clear what a column of times counts.
    #[error(
        "column {column} has times that differ by {step}, without a unit: write time_unit = \
         \"ms\" or time_unit = \"s\""
    )]
    WhichTimeUnit {
        /// Its number and its name.
        column: String,
        /// How far they are apart.
        step: String,
    },
    /// A cell that is not what its column has.
    #[error("column {column}: `{found}` is not {wanted}")]
    BadCell {
        /// Its number and its name.
        column: String,
        /// The text, shortened.
        found: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// JSON, but no trace.
    #[error("this JSON file is not a trace: {0}")]
    Json(String),
    /// A report of iperf without intervals.
    #[error("this iperf3 report contains no intervals: run iperf3 with -i 1")]
    NoIntervals,
    /// One file of several that belong together.
    #[error(
        "this CellReplay file contains base delays and short packet trains: name the folder that \
         contains the file, or the file down-pdo in this folder"
    )]
    PacketTrains,
    /// A folder without the files of CellReplay.
    #[error(
        "a folder is a trace only if it contains CellReplay's files down-pdo and up-pdo; \
        this folder contains {0}"
    )]
    NoCellReplay(String),
    /// Too many lines.
    #[error("the trace has more than {0} lines: shorten it")]
    TooManyLines(usize),
}

impl TraceProblem {
    pub(crate) fn not_a_number(found: &str, wanted: &'static str) -> Self {
        Self::NotANumber { found: shorten(found), wanted }
    }
}

/// Enough of a text to recognise it by.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
