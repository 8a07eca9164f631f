//! Reads files of recorded links; the form of a file is detected from its content.
//!
//! | form | detected by |
//! |---|---|
//! | Mahimahi | an integer number of ms on each line |
//! | time in s and rate in Mbit/s (logs of "cooked" and PiTree) | two numbers on each line |
//! | tables: CSV, G-NetTrack, drives, counters | a heading, a unit in each row, or options |
//! | positions and bytes (Oslo, Ghent) | six numbers on each line |
//! | iperf3 and iperf | lines of intervals, or JSON |
//! | lists of rows | JSON |
//! | CellReplay | a folder ([`read_folder`]); a file of its packet trains alone ([`read_light`]) |
//!
//! Each form may be compressed with gzip. A Mahimahi trace and a log with two columns are kept
//! byte for byte; all other forms are converted to a log with two columns. This module opens no
//! file.

mod clock;
mod folder;
mod gzip;
mod heading;
mod iperf;
mod json;
mod number;
mod options;
mod plan;
mod positions;
mod rates;
mod samples;
mod table;
mod text;
mod understood;
mod unit;

pub use folder::{RecordedDirection, RecordedPath, read_folder};
pub use options::ReadOptions;
pub use understood::{Pace, Understood, UnderstoodRates};
pub(crate) use understood::{thousands, trimmed};

use heading::{Column, Meaning};
use number::Number;
use samples::Log;
use table::{Delimiter, Table};
use unit::{Unit, time_unit_ns};

use crate::{LightTrace, RateTrace, TraceError, TraceKind, TraceProblem};

/// The trace read from a file, and how the file was interpreted.
#[derive(Clone, PartialEq, Debug)]
pub struct Reading {
    /// The trace in the form that [`RateTrace::parse_mahimahi`] or [`RateTrace::parse_log`] reads;
    /// a file already in this form is unchanged.
    pub content: Vec<u8>,
    /// The trace.
    pub trace: RateTrace,
    /// How the file was interpreted.
    pub understood: Understood,
}

/// Reads a file in any of the forms that this module lists.
///
/// # Errors
/// Returns an error if the form is unknown or information is missing. The error names the line, or
/// the columns and the option that provides the missing information.
pub fn read(content: &[u8], options: &ReadOptions) -> Result<Reading, TraceError> {
    let is_packed = gzip::is_gzip(content);
    let content = text::unpacked(content).map_err(TraceError::whole)?;
    let text = text::text(&content);
    check_is_text(&text)?;
    let mut reading = read_text(&content, &text, options)?;
    if is_packed {
        reading.understood.notes.push("decompressed with gzip".to_owned());
    }
    Ok(reading)
}

/// Packet trains read from a file, and how the file was interpreted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LightReading {
    /// The packet trains in the form that [`LightTrace::parse`] reads.
    pub content: Vec<u8>,
    /// The recording.
    pub trace: LightTrace,
}

/// Reads a file of packet trains, which may be compressed with gzip.
///
/// # Errors
/// Returns an error if the content is not a file of packet trains; the error contains the line and
/// the remedy.
pub fn read_light(content: &[u8]) -> Result<LightReading, TraceError> {
    let content = text::unpacked(content).map_err(TraceError::whole)?;
    let text = text::text(&content);
    check_is_text(&text)?;
    // Ignores different line endings, a byte order mark and blank lines at the end.
    let content = match text.trim_end() {
        "" => Vec::new(),
        text => format!("{text}\n").into_bytes(),
    };
    let trace = LightTrace::parse(&content)?;
    Ok(LightReading { content, trace })
}

fn read_text(content: &[u8], text: &str, options: &ReadOptions) -> Result<Reading, TraceError> {
    if options.is_empty() {
        if is_mahimahi(text) {
            return mahimahi(content, text);
        }
        if let Some(reading) = plain_log(content, text) {
            return Ok(reading);
        }
        if let Some(samples) = positions::samples(text) {
            let log = samples::log(&samples)?;
            return of_log(
                "table of positions and bytes",
                log,
                "bytes and ms",
                Some((5, String::new())),
            );
        }
        if text::is_packet_trains(text) {
            return Err(TraceError::whole(TraceProblem::PacketTrains));
        }
    }
    if json::is_json(text) {
        let reading = match json::read(text).map_err(TraceError::whole)? {
            json::Json::Iperf(samples) => {
                samples::log(&samples).and_then(|log| of_log("iperf3 JSON", log, "bit/s", None))
            }
            json::Json::Rows(rows) => table_log("JSON rows", &rows, options),
        };
        // The rows come from JSON, so their numbers are not lines of the file.
        return reading.map_err(|error| TraceError::whole(error.problem));
    }
    if iperf::is_report(text) {
        let samples = iperf::samples(text);
        if samples.is_empty() {
            return Err(TraceError::whole(TraceProblem::NoIntervals));
        }
        return of_log(iperf::form(text), samples::log(&samples)?, "Mbit/s", None);
    }
    table_log("", text, options)
}

/// Whether the first line that is not blank consists of one integer.
fn is_mahimahi(text: &str) -> bool {
    let Some(first) = text.lines().find(|line| !line.trim().is_empty()) else { return true };
    let word = first.trim();
    let digits = word.strip_prefix('-').unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn mahimahi(content: &[u8], text: &str) -> Result<Reading, TraceError> {
    let (content, trace) = match RateTrace::parse_mahimahi(content) {
        Ok(trace) => (content.to_vec(), trace),
        Err(error) if text.trim_end().is_empty() => return Err(error),
        // Ignores different line endings, a byte order mark and blank lines at the end.
        Err(_) => {
            let text = format!("{}\n", text.trim_end());
            let parsed = RateTrace::parse_mahimahi(text.as_bytes());
            let trace = parsed.map_err(|error| if_rates(text.as_str(), error))?;
            (text.into_bytes(), trace)
        }
    };
    let RateTrace::Mahimahi(opportunities) = &trace else {
        unreachable!("the trace was read as a Mahimahi trace")
    };
    let understood = Understood {
        form: "Mahimahi trace",
        rates: None,
        opportunities: Some(opportunities.opportunities()),
        duration: trace.period(),
        notes: Vec::new(),
    };
    Ok(Reading { content, trace, understood })
}

/// Replaces the error about decreasing numbers by one that says they may be rates without a unit.
fn if_rates(text: &str, error: TraceError) -> TraceError {
    let are_numbers = || text.lines().all(|line| Number::parse(line.trim(), false).is_some());
    match error.problem {
        TraceProblem::Unordered { found, previous } if are_numbers() => {
            TraceError { line: error.line, problem: TraceProblem::TimesOrRates { found, previous } }
        }
        problem => TraceError { line: error.line, problem },
    }
}

/// Reads a log of times in s and rates in Mbit/s without changing it; `None` if the text is not
/// such a log or states other units.
fn plain_log(content: &[u8], text: &str) -> Option<Reading> {
    let trace = RateTrace::parse_log(content).ok()?;
    let table = Table::read(text);
    let columns: Vec<Column> = table.names.iter().map(|name| Column::named(name)).collect();
    let is_plain = match &columns[..] {
        [] => true,
        [time, rate] => {
            let is_seconds = time_unit_ns(&time.name).is_none_or(|ns| ns == 1_000_000_000);
            let is_mbit_s = rate.unit.is_none_or(|unit| unit == Unit::MBIT_S);
            is_seconds
                && is_mbit_s
                && time.meaning != Meaning::Rate
                && time.meaning != Meaning::Size
        }
        _ => false,
    };
    if !is_plain {
        return None;
    }
    let head = table.head();
    let numbers = |index: usize| {
        let cells = head.iter().filter_map(move |cells| cells.get(index));
        cells.filter_map(|cell| Number::parse(cell, false))
    };
    // Such high values must have another unit, which is not stated.
    let mut values: Vec<f64> = numbers(1).map(Number::value).filter(|&value| value > 0.0).collect();
    values.sort_by(f64::total_cmp);
    let is_said = columns.get(1).is_some_and(|rate| rate.unit.is_some());
    let middle = values.get(values.len() / 2).copied().unwrap_or(0.0);
    if !is_said && middle > rates::MOST_MBIT_S {
        return None;
    }
    let starts: Vec<i64> = numbers(0).filter_map(|time| time.times(1_000_000_000)).collect();
    // The same positive value in each line is a duration, not a time.
    let (first, last) = (starts.first().copied(), starts.last().copied());
    if starts.len() > 1 && first == last && first.is_some_and(|first| first > 0) {
        return None;
    }
    let step_ns = samples::usual_ns(starts.into_iter()).unwrap_or(1_000_000_000);
    let name = columns.get(1).map_or_else(String::new, |column| column.name.clone());
    let understood = Understood {
        form: "log",
        rates: Some(UnderstoodRates {
            pace: Pace::of(table.rows.len(), step_ns),
            unit: Unit::MBIT_S.text,
            column: Some((2, name)),
        }),
        opportunities: None,
        duration: trace.period(),
        notes: Vec::new(),
    };
    Some(Reading { content: content.to_vec(), trace, understood })
}

fn table_log(form: &'static str, text: &str, options: &ReadOptions) -> Result<Reading, TraceError> {
    let table = Table::read(text);
    let read = rates::log(&table, options)?;
    let form = match (form, table.delimiter) {
        ("", Delimiter::Comma) => "CSV",
        ("", Delimiter::Semicolon) => "CSV with semicolons",
        ("", Delimiter::Tab) => "table with tabs",
        ("", Delimiter::Bar) => "table with bars",
        ("", Delimiter::Blanks) => "table with spaces",
        (form, _) => form,
    };
    let mut reading = of_log(form, read.log, read.unit, Some(read.column))?;
    reading.understood.notes = read.notes;
    Ok(reading)
}

fn of_log(
    form: &'static str,
    log: Log,
    unit: &'static str,
    column: Option<(usize, String)>,
) -> Result<Reading, TraceError> {
    // Its lines are not those of the file; errors in a line were found before.
    let parsed = RateTrace::parse_log(&log.content);
    let trace = parsed.map_err(|error| TraceError::whole(error.problem))?;
    let understood = Understood {
        form,
        rates: Some(UnderstoodRates { pace: log.pace, unit, column }),
        opportunities: None,
        duration: trace.period(),
        notes: Vec::new(),
    };
    Ok(Reading { content: log.content, trace, understood })
}

/// Rejects a file if its beginning contains bytes that do not occur in text.
fn check_is_text(text: &str) -> Result<(), TraceError> {
    let is_foreign = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t' | b'\n' | 0x0c | 0x1a);
    for (index, line) in text.lines().take(100).enumerate() {
        if let Some(byte) = line.bytes().find(|byte| is_foreign(byte) || *byte == 0x7f) {
            return Err(TraceError::at(index + 1, TraceProblem::Binary(byte)));
        }
    }
    Ok(())
}

impl Reading {
    /// The kind of the resulting trace.
    pub fn kind(&self) -> TraceKind {
        self.trace.kind()
    }
}
