//! The lines of a trace's text.

use crate::error::{TraceError, TraceProblem};

/// The lines of a text, numbered from 1; a newline at the end does not begin another line.
pub(crate) fn numbered_lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .enumerate()
        .map(|(index, line)| (index + 1, line))
}

/// Returns a line as text.
pub(crate) fn printable(number: usize, line: &[u8]) -> Result<&str, TraceError> {
    printable_up_to(number, line, MAX_LINE_BYTES)
}

/// Returns a line of at most `max_bytes` bytes as text.
pub(crate) fn printable_up_to(
    number: usize,
    line: &[u8],
    max_bytes: usize,
) -> Result<&str, TraceError> {
    if line.len() > max_bytes {
        return Err(TraceError::at(number, TraceProblem::LongLine(max_bytes)));
    }
    if let Some(&byte) =
        line.iter().find(|&&byte| byte != b'\t' && !byte.is_ascii_graphic() && byte != b' ')
    {
        return Err(TraceError::at(number, TraceProblem::Binary(byte)));
    }
    Ok(core::str::from_utf8(line).expect("printable ASCII is UTF-8").trim())
}

/// Maximum length of a line: far longer than a line of numbers. A file with longer lines is not a
/// trace.
const MAX_LINE_BYTES: usize = 1000;

/// Maximum number of lines, so that a wrong file does not use up the memory: delivery
/// opportunities at 12 Mbit/s for half a day.
pub(crate) const MAX_LINES: usize = 50_000_000;
