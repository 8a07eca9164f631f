//! Throughput logs: a time and a rate on each line.
//!
//! A rate applies until the time in the next line. The last rate applies for as long as the rate
//! before it (a single rate for a second), and then the log repeats. Times are shifted so that the
//! first is 0. If a time occurs several times, its last rate applies.

use std::sync::Arc;

use cwndlab_units::{Duration, Rate, Time};

use crate::error::shorten;
use crate::lines::{MAX_LINES, numbered_lines, printable};
use crate::{TraceError, TraceProblem};

/// A link's rate over time, from a throughput log; the log repeats forever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RateLog {
    /// Periods of constant rate, sorted by `start`; the first `start` is 0, and at least one rate
    /// is not zero.
    pieces: Arc<[Piece]>,
    period: Duration,
    /// Data sent in one period of the log, in billionths of a bit.
    nanobits: u128,
}

/// A part of the log with a constant rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    start: Duration,
    rate: Rate,
    /// Data sent in all earlier parts of the log, in billionths of a bit.
    nanobits_before: u128,
}

impl RateLog {
    pub(crate) fn parse(text: &[u8]) -> Result<Self, TraceError> {
        Self::parse_up_to(text, MAX_LINES)
    }

    fn parse_up_to(text: &[u8], max_lines: usize) -> Result<Self, TraceError> {
        if text.is_empty() {
            return Err(TraceError::whole(TraceProblem::Empty));
        }
        let mut rows: Vec<(Duration, Rate)> = Vec::new();
        let mut first_s = 0.0;
        for (number, line) in numbered_lines(text) {
            let at = |problem| TraceError::at(number, problem);
            if number > max_lines {
                return Err(at(TraceProblem::TooManyLines(max_lines)));
            }
            let line = printable(number, line)?;
            if line.starts_with('#') || (number == 1 && is_heading(line)) {
                continue;
            }
            if line.is_empty() {
                return Err(at(TraceProblem::Blank));
            }
            let (time_s, rate) = row(line).map_err(at)?;
            if rows.is_empty() {
                first_s = time_s;
            }
            let start = duration(time_s - first_s);
            match rows.last_mut() {
                Some(&mut (previous, _)) if time_s < first_s || start < previous => {
                    let previous_s = first_s + previous.as_secs_f64();
                    return Err(at(TraceProblem::Unordered {
                        found: format!("{time_s} s"),
                        previous: format!("{previous_s} s"),
                    }));
                }
                Some(last) if start - last.0 < SHORTEST_PIECE => last.1 = rate,
                _ => rows.push((start, rate)),
            }
        }
        let last = match rows[..] {
            [] => return Err(TraceError::whole(TraceProblem::Empty)),
            [_] => Duration::from_secs(1),
            [.., (before, _), (last, _)] => last - before,
        };
        if rows.iter().all(|&(_, rate)| rate == Rate::ZERO) {
            return Err(TraceError::whole(TraceProblem::NoRate));
        }
        let period = rows[rows.len() - 1].0 + last;
        Ok(Self::new(&rows, period))
    }

    fn new(rows: &[(Duration, Rate)], period: Duration) -> Self {
        let mut nanobits = 0;
        let ends = rows.iter().skip(1).map(|&(start, _)| start).chain([period]);
        let pieces = rows
            .iter()
            .zip(ends)
            .map(|(&(start, rate), end)| {
                let piece = Piece { start, rate, nanobits_before: nanobits };
                nanobits += u128::from(rate.bits_per_sec()) * u128::from((end - start).as_nanos());
                piece
            })
            .collect();
        Self { pieces, period, nanobits }
    }

    /// The log with rates interpolated linearly from one line to the next, and from the last line
    /// to the first. Each step lasts at most 100 ms and has the mean interpolated rate.
    pub fn interpolated(&self) -> Self {
        const STEP: Duration = Duration::from_millis(100);
        let mut rows = Vec::new();
        for (index, piece) in self.pieces.iter().enumerate() {
            let (end, next) = match self.pieces.get(index + 1) {
                Some(next) => (next.start, next.rate),
                None => (self.period, self.pieces[0].rate),
            };
            let length = (end - piece.start).as_nanos();
            let steps = length.div_ceil(STEP.as_nanos());
            let point = |step: u64| u128::from(length) * u128::from(step) / u128::from(steps);
            for step in 0..steps {
                let (from, to) =
                    (i128::from(piece.rate.bits_per_sec()), i128::from(next.bits_per_sec()));
                let mean = from + (to - from) * i128::from(2 * step + 1) / i128::from(2 * steps);
                let start = piece.start + Duration::from_nanos(point(step) as u64);
                rows.push((start, Rate::from_bits_per_sec(mean as u64)));
            }
        }
        Self::new(&rows, self.period)
    }

    /// The time after which the log repeats.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Mean rate over one period.
    pub fn mean_rate(&self) -> Rate {
        Rate::from_bits_per_sec((self.nanobits / u128::from(self.period.as_nanos())) as u64)
    }

    /// The rate at `time`, and the time until which this rate applies.
    pub fn rate_at(&self, time: Time) -> (Rate, Time) {
        let (lap, index) = self.position(time);
        let end = self.pieces.get(index + 1).map_or(self.period, |next| next.start);
        (self.pieces[index].rate, Time::ZERO + self.period * lap + end)
    }

    /// Data sent before `time`, in billionths of a bit.
    pub fn nanobits_until(&self, time: Time) -> u128 {
        let (lap, index) = self.position(time);
        let piece = &self.pieces[index];
        let begun = time - (Time::ZERO + self.period * lap + piece.start);
        u128::from(lap) * self.nanobits
            + piece.nanobits_before
            + u128::from(piece.rate.bits_per_sec()) * u128::from(begun.as_nanos())
    }

    /// Data sent in one period of the log, in billionths of a bit.
    pub fn nanobits_per_period(&self) -> u128 {
        self.nanobits
    }

    fn position(&self, time: Time) -> (u64, usize) {
        let (nanos, period) = (time.as_nanos(), self.period.as_nanos());
        let within = Duration::from_nanos(nanos % period);
        (nanos / period, self.pieces.partition_point(|piece| piece.start <= within) - 1)
    }
}

const SEPARATORS: [char; 4] = [',', ';', ' ', '\t'];

/// Times that differ by less than this count as equal: the last rate applies.
const SHORTEST_PIECE: Duration = Duration::from_micros(1);

const MAX_SECONDS: (f64, &str) = (4e9, "4e9 s, 127 years");

const MAX_MBIT_S: (f64, &str) = (1e7, "1e7 Mbit/s");

/// The words of a line: several consecutive spaces are one separator; each other separator counts.
fn columns(line: &str) -> impl Iterator<Item = &str> {
    let by_comma = line.contains([',', ';']);
    line.split(if by_comma { &[',', ';'][..] } else { &[' ', '\t'][..] })
        .map(str::trim)
        .filter(move |word| by_comma || !word.is_empty())
}

/// Parses the time in seconds and the rate of a line.
fn row(line: &str) -> Result<(f64, Rate), TraceProblem> {
    let mut words = columns(line);
    let (Some(time), Some(rate), None) = (words.next(), words.next(), words.next()) else {
        let wanted = "a time in s and a rate in Mbit/s, such as `1.5,20`";
        return Err(TraceProblem::not_a_number(line, wanted));
    };
    let time_s = number_of(time, MAX_SECONDS)?;
    let mbit_s = number_of(rate, MAX_MBIT_S)?;
    Ok((time_s, Rate::from_bits_per_sec(libm::round(mbit_s * 1e6) as u64)))
}

/// Whether the first line contains column names, because its first word does not look like a
/// number.
fn is_heading(line: &str) -> bool {
    line.contains(SEPARATORS) && line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '"')
}

fn number_of(word: &str, (limit, most): (f64, &'static str)) -> Result<f64, TraceProblem> {
    match word.parse::<f64>() {
        Ok(number) if !number.is_finite() => Err(TraceProblem::not_a_number(word, "a number")),
        Ok(number) if number < 0.0 => Err(TraceProblem::Negative(shorten(word))),
        Ok(number) if number > limit => Err(TraceProblem::TooLarge { found: shorten(word), most }),
        Ok(number) => Ok(number),
        Err(_) => Err(TraceProblem::not_a_number(word, "a number")),
    }
}

fn duration(seconds: f64) -> Duration {
    Duration::from_nanos(libm::round(seconds * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_lines_keep_the_mean_and_rise_in_steps() {
        let log = RateLog::parse(b"0,10\n1,20\n2,20\n").expect("a log");
        let lines = log.interpolated();
        assert_eq!(lines.period(), Duration::from_secs(3));
        // The means are 15, 20 and, back to the first, 15 Mbit/s; a constant rate is unchanged.
        let passed = |until_ms| lines.nanobits_until(Time::from_millis(until_ms));
        assert_eq!(passed(1_000), 15_000_000 * 1_000_000_000);
        assert_eq!(passed(2_000) - passed(1_000), 20_000_000 * 1_000_000_000);
        assert_eq!(passed(3_000) - passed(2_000), 15_000_000 * 1_000_000_000);
        let rates: Vec<u64> = (0..10)
            .map(|step| lines.rate_at(Time::from_millis(step * 100)).0.bits_per_sec() / 1000)
            .collect();
        assert_eq!(rates[..3], [10_500, 11_500, 12_500]);
        assert!(rates.is_sorted());
    }

    #[test]
    fn a_longer_log_than_allowed_is_refused() {
        let error = RateLog::parse_up_to(b"0,1\n1,1\n2,1\n", 2).expect_err("must be refused");
        assert_eq!(error.to_string(), "line 3: the trace has more than 2 lines: shorten it");
    }
}
