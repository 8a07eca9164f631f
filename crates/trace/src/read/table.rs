//! Tables in text form: the delimiter of the columns, the heading and the rows.

use super::clock::Stamp;
use super::number::Number;
use super::unit::{Unit, time_unit_ns};
use crate::TraceProblem;

/// A text that was split into rows of cells.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Table<'a> {
    pub delimiter: Delimiter,
    /// Names of the columns; empty if the file has no heading.
    pub names: Vec<String>,
    /// Number of columns that most rows have.
    pub width: usize,
    /// The rows below the heading, with their line numbers from 1.
    pub rows: Vec<(usize, &'a str)>,
}

/// The delimiter between cells of the same row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Delimiter {
    Tab,
    Semicolon,
    Bar,
    Comma,
    /// One or more spaces or tabs.
    Blanks,
}

/// Number of rows from which columns are classified.
pub(super) const HEAD_ROWS: usize = 200;

impl Delimiter {
    /// All delimiters; those that occur least often within cells come first.
    const ALL: [Self; 5] = [Self::Tab, Self::Semicolon, Self::Bar, Self::Comma, Self::Blanks];

    /// Splits a row into cells; a quoted cell may contain delimiters.
    pub(super) fn split<'a>(self, row: &'a str, cells: &mut Vec<&'a str>) {
        cells.clear();
        let is_delimiter = |c: char| match self {
            Self::Tab => c == '\t',
            Self::Semicolon => c == ';',
            Self::Bar => c == '|',
            Self::Comma => c == ',',
            Self::Blanks => c == ' ' || c == '\t',
        };
        let mut begin = 0;
        let mut is_quoted = false;
        for (at, letter) in row.char_indices() {
            // A quotation mark inside a word, as in 5", does not begin a quotation.
            let begins_cell = row[begin..at].trim_ascii().is_empty();
            if letter == '"' && (is_quoted || begins_cell) {
                is_quoted = !is_quoted;
            } else if is_delimiter(letter) && !is_quoted {
                cells.push(&row[begin..at]);
                begin = at + 1;
            }
        }
        cells.push(&row[begin..]);
        for cell in cells.iter_mut() {
            let bare = cell.trim();
            let inside = bare.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            *cell = inside.unwrap_or(bare).trim();
        }
        if self == Self::Blanks {
            cells.retain(|cell| !cell.is_empty());
        }
    }

    pub(super) fn has_decimal_comma(self) -> bool {
        matches!(self, Self::Tab | Self::Semicolon | Self::Bar)
    }
}

impl<'a> Table<'a> {
    /// Reads a text as a table; the table has one column if no delimiter divides the rows evenly.
    pub(super) fn read(text: &'a str) -> Self {
        let lines = || {
            let numbered = text.split('\n').enumerate().map(|(index, line)| (index + 1, line));
            numbered.filter(|(_, line)| !line.trim().is_empty())
        };
        let is_comment = |line: &str| line.trim_start().starts_with(['#', '%']);
        let head: Vec<&str> = lines()
            .map(|(_, line)| line)
            .filter(|line| !is_comment(line))
            .take(HEAD_ROWS)
            .collect();
        let (delimiter, width) = delimiter_of(&head);
        let mut cells = Vec::new();
        let mut comment = None;
        let mut table = Self { delimiter, names: Vec::new(), width, rows: Vec::new() };
        for (number, line) in lines() {
            if is_comment(line) {
                comment = Some(line);
                continue;
            }
            if table.rows.is_empty() {
                delimiter.split(line, &mut cells);
                if table.take_heading(&cells) {
                    continue;
                }
            }
            table.rows.push((number, line));
        }
        if let (true, Some(comment)) = (table.names.is_empty(), comment) {
            delimiter.split(comment.trim_start().trim_start_matches(['#', '%']), &mut cells);
            table.take_heading(&cells);
        }
        table
    }

    /// The first row whose number of cells differs from the row above, for a delimiter that divides
    /// every row; `None` if there is no such row.
    pub(super) fn uneven(&self) -> Option<TraceProblem> {
        let rows = &self.rows[..self.rows.len().min(HEAD_ROWS)];
        let mut cells = Vec::new();
        [Delimiter::Tab, Delimiter::Semicolon, Delimiter::Bar, Delimiter::Comma].iter().find_map(
            |delimiter| {
                let widths: Vec<usize> = rows
                    .iter()
                    .map(|(_, row)| {
                        delimiter.split(row, &mut cells);
                        cells.len()
                    })
                    .collect();
                let above = widths.windows(2).position(|pair| pair[0] != pair[1])?;
                let [before, found] = [widths[above], widths[above + 1]];
                let line = rows[above + 1].0;
                (!widths.contains(&1)).then_some(TraceProblem::Uneven { line, found, before })
            },
        )
    }

    /// Handles a line that may belong to the heading, or contain the units below it. Returns
    /// whether the line is part of the heading or stands above it, and so is not a row.
    fn take_heading(&mut self, cells: &[&str]) -> bool {
        let has_words =
            cells.iter().all(|cell| is_word(cell)) && cells.iter().any(|cell| !cell.is_empty());
        let is_short = cells.len() + 1 == self.width && self.width > 2;
        if has_words && self.names.is_empty() && (cells.len() == self.width || is_short) {
            let index = is_short.then(String::new);
            self.names =
                index.into_iter().chain(cells.iter().map(|&cell| cell.to_owned())).collect();
            return true;
        }
        let has_units =
            cells.iter().any(|cell| Unit::find(cell).is_some() || time_unit_ns(cell).is_some());
        if has_words && has_units && cells.len() == self.names.len() {
            for (name, unit) in self.names.iter_mut().zip(cells) {
                *name = format!("{name} {unit}");
            }
            return true;
        }
        // Text that a recorder wrote above the table has a different number of columns.
        self.names.is_empty() && cells.len() != self.width && has_words
    }

    /// The cells of the first rows of the table.
    pub(super) fn head(&self) -> Vec<Vec<&'a str>> {
        self.rows
            .iter()
            .take(HEAD_ROWS)
            .map(|&(_, row)| {
                let mut cells = Vec::new();
                self.delimiter.split(row, &mut cells);
                cells
            })
            .collect()
    }
}

/// The delimiter that gives most lines the same number of columns, and this number of columns.
fn delimiter_of(head: &[&str]) -> (Delimiter, usize) {
    let mut cells = Vec::new();
    for delimiter in Delimiter::ALL {
        let mut widths: Vec<usize> = head
            .iter()
            .map(|line| {
                delimiter.split(line, &mut cells);
                cells.len()
            })
            .collect();
        widths.sort_unstable();
        let alike = widths.chunk_by(|a, b| a == b).max_by_key(|chunk| chunk.len());
        if let Some(alike) = alike.filter(|alike| alike[0] > 1 && alike.len() * 5 >= head.len() * 4)
        {
            return (delimiter, alike[0]);
        }
    }
    (Delimiter::Comma, 1)
}

/// Whether a cell can be part of a table's heading.
fn is_word(cell: &str) -> bool {
    Number::parse(cell, true).is_none() && Stamp::parse(cell).is_none() && !is_value_with_unit(cell)
}

fn is_value_with_unit(cell: &str) -> bool {
    value_and_unit(cell).is_some()
}

/// Parses `12.5 Mbits/sec`.
pub(super) fn value_and_unit(cell: &str) -> Option<(f64, Unit)> {
    let at = cell.find(|c: char| c.is_ascii_alphabetic() || c == ' ')?;
    let value = Number::parse(&cell[..at], false)?;
    Some((value.value(), Unit::find(&cell[at..])?))
}

/// Whether a cell has a spelling that recorders use for unknown values.
pub(super) fn is_missing(cell: &str) -> bool {
    let words = ["", "-", "--", "?", "nan", "na", "n/a", "null", "none", "nil", "unknown"];
    cell.len() <= 7 && words.contains(&cell.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_seen() {
        let width = |text: &str| {
            let table = Table::read(text);
            (table.delimiter, table.width)
        };
        assert_eq!(width("a,b,c\n1,2,3\n"), (Delimiter::Comma, 3));
        assert_eq!(width("a;b\n1,5;2\n"), (Delimiter::Semicolon, 2));
        assert_eq!(width("a b\tc\n1 2\t3\n"), (Delimiter::Tab, 2));
        assert_eq!(width("0.5   4\n1.0 5\n"), (Delimiter::Blanks, 2));
        assert_eq!(width("5\n6\n"), (Delimiter::Comma, 1));
    }

    #[test]
    fn the_heading_may_stand_below_other_lines_and_in_a_comment() {
        let names = |text: &str| Table::read(text).names;
        assert_eq!(names("Exported\na,b\n1,2\n1,3\n1,4\n1,5\n1,6\n"), ["a", "b"]);
        assert_eq!(names("# time rate\n1 2\n2 2\n"), ["time", "rate"]);
        assert_eq!(names("time,rate\ns,Mbit/s\n1,2\n"), ["time s", "rate Mbit/s"]);
        assert_eq!(names("time,rate\n0,1,2\n1,1,2\n2,1,2\n3,1,2\n"), ["", "time", "rate"]);
        assert!(names("1,2\n3,4\n").is_empty());
        assert!(names("0.57,Mbits/sec\n1,Kbits/sec\n").is_empty());
    }

    #[test]
    fn quotation_marks_hold_a_cell_together() {
        let mut cells = Vec::new();
        Delimiter::Comma.split("\"01/16/2021, 4:04 PM\",2.5,\"\" , 5\"", &mut cells);
        assert_eq!(cells, ["01/16/2021, 4:04 PM", "2.5", "", "5\""]);
    }
}
