//! Why a file is no trace.

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
    #[error("blank line: remove it")]
    Blank,
    /// A byte that no text has.
    #[error("byte 0x{0:02x} is not text: is this a compressed or binary file?")]
    Binary(u8),
    /// A line longer than any of a trace.
    #[error("the line is longer than 1000 bytes: is this a trace?")]
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
    #[error("`{found}` is too large: the most is {most}")]
    TooLarge {
        /// The text, shortened.
        found: String,
        /// The limit with its unit.
        most: &'static str,
    },
    /// A time before that of the line above.
    #[error("time {found} comes after {previous}: sort the lines by time")]
    Unordered {
        /// The time of this line.
        found: String,
        /// The time of the line above.
        previous: String,
    },
    /// A trace that takes no time.
    #[error("the last time is 0 ms: the trace repeats after its last time, which must be positive")]
    NoDuration,
    /// A log in which nothing ever passes.
    #[error("every rate is 0: at least one must be positive")]
    NoRate,
    /// Too many lines.
    #[error("the trace has more than {0} lines: cut it")]
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
