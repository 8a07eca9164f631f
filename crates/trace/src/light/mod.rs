//! Recordings of a link under light load: short packet trains, as in CellReplay (Sentosa et al.,
//! NSDI 2025).
//!
//! Each line describes a train of packets that were sent at the same time while the link was idle.
//! A line contains the time of sending, the one-way delay of the first packet (its base delay),
//! and then for each packet its arrival after that of the first packet; the first packet's is 0.
//! All values are in ms and may have decimals; digits below a microsecond are ignored. The
//! recording repeats: the last train applies for as long as the train before it, and a single
//! train for a second.

mod grid;

use core::fmt;
use std::sync::Arc;

use cwndlab_units::{Duration, Time};

use grid::Grid;

use crate::error::shorten;
use crate::lines::{numbered_lines, printable_up_to};
use crate::read::{thousands, trimmed};
use crate::{TraceError, TraceProblem};

/// Packet trains that were sent on an idle link; the recording repeats forever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LightTrace {
    /// The trains, sorted by `start`; not empty.
    rows: Arc<[Row]>,
    /// For each packet of all trains, its arrival after the first packet of its train.
    offsets_us: Arc<[u32]>,
    period: Duration,
    shortest_delay: Duration,
    /// Times at which the idle link begins to send, if these times are regular.
    grid: Option<Grid>,
}

/// A train of packets that were sent at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Train<'a> {
    /// One-way delay of the train's first packet.
    pub delay: Duration,
    /// For each packet, its arrival after that of the first packet, beginning with 0 for the first
    /// packet itself. The list does not decrease and is not empty.
    pub offsets_us: &'a [u32],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Row {
    start: Duration,
    delay: Duration,
    /// Index after the train's last packet in the list of all offsets.
    end: usize,
}

impl LightTrace {
    /// Parses a recording of packet trains: each line contains `time delay 0 offset ...` in ms;
    /// lines are sorted by time. A line without offsets is a train of one packet.
    ///
    /// # Errors
    /// Returns an error if the text is not a recording of packet trains; the error contains the
    /// line and the remedy.
    pub fn parse(text: &[u8]) -> Result<Self, TraceError> {
        Self::parse_up_to(text, MAX_PACKETS)
    }

    fn parse_up_to(text: &[u8], max_packets: usize) -> Result<Self, TraceError> {
        if text.is_empty() {
            return Err(TraceError::whole(TraceProblem::Empty));
        }
        let (mut rows, mut offsets_us): (Vec<Row>, Vec<u32>) = (Vec::new(), Vec::new());
        for (number, line) in numbered_lines(text) {
            let error = |problem| TraceError::at(number, problem);
            let line = printable_up_to(number, line, MAX_LINE_BYTES)?;
            let (start, delay) = read_train(line, &mut offsets_us).map_err(error)?;
            if offsets_us.len() > max_packets {
                return Err(error(TraceProblem::TooManyPackets(max_packets)));
            }
            match rows.last() {
                Some(previous) if start < previous.start => {
                    return Err(error(TraceProblem::Unordered {
                        found: milliseconds(start),
                        previous: milliseconds(previous.start),
                    }));
                }
                _ => rows.push(Row { start, delay, end: offsets_us.len() }),
            }
        }
        let last = rows[rows.len() - 1].start;
        let before = rows.iter().rev().map(|row| row.start).find(|&start| start < last);
        let period = last + before.map_or(Duration::from_secs(1), |before| last - before);
        let shortest_delay = rows.iter().map(|row| row.delay).min().expect("not empty");
        let grid = Grid::find(rows.iter().map(|row| (row.start, row.delay)));
        Ok(Self { rows: rows.into(), offsets_us: offsets_us.into(), period, shortest_delay, grid })
    }

    /// Number of trains.
    pub fn trains(&self) -> usize {
        self.rows.len()
    }

    /// The time after which the recording repeats.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// The minimum over all trains of the delay of a train's first packet.
    pub fn shortest_delay(&self) -> Duration {
        self.shortest_delay
    }

    /// The train with this index, which counts from 0.
    ///
    /// # Panics
    /// Panics if there is no train with this index.
    pub fn train(&self, index: usize) -> Train<'_> {
        let first = index.checked_sub(1).map_or(0, |before| self.rows[before].end);
        let Row { delay, end, .. } = self.rows[index];
        Train { delay, offsets_us: &self.offsets_us[first..end] }
    }

    /// The delay of the first packet of a burst that begins `at`, when the train with this index
    /// applies to the burst.
    ///
    /// If the link begins to send at regular times, the time until the next of these replaces the
    /// wait of the recorded train.
    ///
    /// # Panics
    /// Panics if there is no train with this index.
    pub fn delay_at(&self, index: usize, at: Time) -> Duration {
        let Row { start, delay, .. } = self.rows[index];
        let Some(grid) = self.grid else { return delay };
        let within = Time::from_nanos(at.as_nanos() % self.period.as_nanos());
        (delay + grid.wait(within)).saturating_sub(grid.wait(Time::ZERO + start))
    }

    /// Last time, not after `time`, at which the train with this index was sent; `None` if it was
    /// not sent yet.
    ///
    /// # Panics
    /// Panics if there is no train with this index.
    pub fn sent(&self, index: usize, time: Time) -> Option<Time> {
        let within = Duration::from_nanos(time.as_nanos() % self.period.as_nanos());
        let start = self.rows[index].start;
        (start <= within).then(|| time - (within - start))
    }

    /// Index of the last train that was sent by `time`; before the first train is sent, the index
    /// of the first train.
    pub fn train_at(&self, time: Time) -> usize {
        let within = Duration::from_nanos(time.as_nanos() % self.period.as_nanos());
        self.rows.partition_point(|row| row.start <= within).saturating_sub(1)
    }
}

impl fmt::Display for LightTrace {
    /// Describes the trains in one line: their number, base delays, packets and durations.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trains = || (0..self.trains()).map(|index| self.train(index));
        let delays: Vec<u64> = trains().map(|train| train.delay.as_micros()).collect();
        let packets: Vec<u64> = trains().map(|train| train.offsets_us.len() as u64).collect();
        let lasts = trains().map(|train| u64::from(train.offsets_us[train.offsets_us.len() - 1]));
        let (delay, packets, lasts) = (middle(delays), middle(packets), middle(lasts.collect()));
        let ms = |us: u64| trimmed(us as f64 / 1e3);
        write!(
            f,
            "packet trains: {}, {} s; median base delay {} ms (minimum {} ms), {} packet{} in {} \
             ms",
            thousands(self.trains() as u64),
            trimmed(self.period.as_secs_f64()),
            ms(delay),
            ms(self.shortest_delay.as_micros()),
            packets,
            if packets == 1 { "" } else { "s" },
            ms(lasts),
        )?;
        match self.grid {
            Some(grid) => write!(f, "; sends every {} ms when idle", ms(grid.period.as_micros())),
            None => Ok(()),
        }
    }
}

/// The lower median.
fn middle(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[(values.len() - 1) / 2]
}

/// Number of packets of the train on a line, and whether the first packet arrives at 0; `None` if
/// the line is not a train.
pub(crate) fn packets_of(line: &str) -> Option<(usize, bool)> {
    let mut offsets_us = Vec::new();
    read_train(line, &mut offsets_us).ok()?;
    Some((offsets_us.len(), offsets_us[0] == 0))
}

/// Reads the time and the delay of a train, and appends the arrivals of its packets to
/// `offsets_us`.
fn read_train(line: &str, offsets_us: &mut Vec<u32>) -> Result<(Duration, Duration), TraceProblem> {
    let mut words = line.split_ascii_whitespace();
    let time = words.next().ok_or(TraceProblem::Blank)?;
    let start_us = microseconds(time, MAX_TIME_MS, "4294967295 ms, 49 days")?;
    let delay = words.next().ok_or_else(|| TraceProblem::not_a_number(line, TRAIN))?;
    let delay_us = microseconds(delay, MAX_DELAY_MS, "100000 ms")?;
    let mut last_us = 0;
    let before = offsets_us.len();
    for word in words {
        let offset_us = microseconds(word, MAX_DELAY_MS, "100000 ms")?;
        if offset_us < last_us {
            return Err(TraceProblem::UnorderedPackets(shorten(word)));
        }
        last_us = offset_us;
        offsets_us.push(u32::try_from(offset_us).expect("at most 100 s"));
    }
    if offsets_us.len() == before {
        offsets_us.push(0);
    }
    Ok((Duration::from_micros(start_us), Duration::from_micros(delay_us)))
}

/// Parses a number of milliseconds, with or without decimals, of at most `most_ms`.
fn microseconds(word: &str, most_ms: u64, most: &'static str) -> Result<u64, TraceProblem> {
    let not_number = || TraceProblem::not_a_number(word, "a number of milliseconds");
    let (whole, decimals) = word.split_once('.').unwrap_or((word, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if let Some(rest) = whole.strip_prefix('-')
        && are_digits(rest)
    {
        return Err(TraceProblem::Negative(shorten(word)));
    }
    if !are_digits(whole) || !are_digits(decimals) {
        return Err(not_number());
    }
    let too_large = || TraceProblem::TooLarge { found: shorten(word), most };
    let whole_ms: u64 = whole.parse().map_err(|_| too_large())?;
    let digits = decimals.bytes().chain([b'0'; 3]).take(3);
    let below_us = digits.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    if whole_ms > most_ms || (whole_ms == most_ms && below_us > 0) {
        return Err(too_large());
    }
    Ok(whole_ms * 1000 + below_us)
}

/// What a line of packet trains must contain.
const TRAIN: &str = "a time, a base delay and arrivals in ms, such as `100 22.5 0 1.2`";

fn milliseconds(duration: Duration) -> String {
    format!("{} ms", duration.as_micros() as f64 / 1e3)
}

/// Maximum time in ms; the same as for a Mahimahi trace.
const MAX_TIME_MS: u64 = u32::MAX as u64;

/// Maximum delay of a packet in ms; a packet that takes longer is lost.
const MAX_DELAY_MS: u64 = 100_000;

/// Maximum length of a line: enough for a train of a thousand packets with decimals.
const MAX_LINE_BYTES: usize = 12_000;

/// Maximum number of packets, so that a wrong file does not use up the memory: ten packets in each
/// train, twenty trains per second, for 14 hours.
const MAX_PACKETS: usize = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        LightTrace::parse(text.as_bytes()).expect_err("must be refused").to_string()
    }

    #[test]
    fn each_mistake_names_its_line_and_the_remedy() {
        assert_eq!(problem(""), "the trace is empty: it needs at least one line with data");
        assert_eq!(problem("0 20 0\n\n"), "line 2: the line is blank: remove it");
        let wanted = "is not a time, a base delay and arrivals in ms, such as `100 22.5 0 1.2`";
        assert_eq!(problem("0 20 0\n7\n"), format!("line 2: `7` {wanted}"));
        assert_eq!(problem("0 x\n"), "line 1: `x` is not a number of milliseconds");
        assert_eq!(problem("0 1e3\n"), "line 1: `1e3` is not a number of milliseconds");
        assert_eq!(problem("0 .5\n"), "line 1: `.5` is not a number of milliseconds");
        assert_eq!(problem("0 5.\n"), "line 1: `5.` is not a number of milliseconds");
        let negative = "line 1: `-3.5` is negative: times and rates start at 0";
        assert_eq!(problem("0 -3.5 0\n"), negative);
        assert_eq!(
            problem("0 100000.001 0\n"),
            "line 1: `100000.001` is too large: the maximum is 100000 ms"
        );
        assert_eq!(
            problem("50 20 0 1\n0.5 20 0 1\n"),
            "line 2: the time 0.5 ms follows the later time 50 ms: sort the lines by time"
        );
        assert_eq!(
            problem("0 20 0 2 1.9\n"),
            "line 1: the arrival 1.9 ms follows a later arrival: sort the arrivals of each train"
        );
        let long = LightTrace::parse_up_to(b"0 20 0 1\n1 20 0 1\n", 3).expect_err("is refused");
        let said = "line 2: the trace has more than 3 packets: shorten it";
        assert_eq!(long.to_string(), said);
    }

    #[test]
    fn a_line_holds_a_train_with_microseconds() {
        let trace = LightTrace::parse(b"0 20 0 1.25 1.2599\n100.5 24\r\n").expect("trains");
        let first = Train { delay: Duration::from_millis(20), offsets_us: &[0, 1250, 1259] };
        let second = Train { delay: Duration::from_millis(24), offsets_us: &[0] };
        assert_eq!((trace.trains(), trace.train(0), trace.train(1)), (2, first, second));
        assert_eq!(trace.shortest_delay(), Duration::from_millis(20));
        let said = "packet trains: 2, 0.201 s; median base delay 20 ms (minimum 20 ms), \
            1 packet in 0 ms";
        assert_eq!(trace.to_string(), said);
    }

    #[test]
    fn the_last_train_that_was_sent_applies_and_the_recording_repeats() {
        let trace = LightTrace::parse(b"10 5\n30 6\n30 7\n50 8\n").expect("trains");
        assert_eq!(trace.period(), Duration::from_millis(70));
        let at = |ms| trace.train_at(Time::from_millis(ms));
        assert_eq!([at(0), at(10), at(29), at(30), at(49), at(50), at(69)], [0, 0, 0, 2, 2, 3, 3]);
        assert_eq!([at(70), at(100)], [0, 2]);
        let one = LightTrace::parse(b"0 5\n").expect("a train");
        assert_eq!(one.period(), Duration::from_secs(1));
    }
}
