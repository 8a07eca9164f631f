//! The capacity of a link over time: piecewise constant and known in advance.
//!
//! Schedules, logs and pauses are all represented in this way, so a packet's departure can be
//! computed when it is queued and need not be recomputed when the rate changes.

use cwndlab_trace::RateLog;
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::outage::Spans;

/// A practically unlimited rate.
pub(crate) const UNLIMITED: Rate = Rate::from_bits_per_sec(u64::MAX);

/// Source of the rates.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Rates with their start times; the first starts at 0.
    Steps(Vec<(Time, Rate)>),
    /// A log that repeats.
    Log(RateLog),
}

impl Source {
    /// The rate at a time, and the end of its validity.
    pub(crate) fn rate_at(&self, time: Time) -> (Rate, Time) {
        match self {
            Self::Steps(steps) => {
                let next = steps.partition_point(|&(from, _)| from <= time);
                (steps[next - 1].1, steps.get(next).map_or(Time::NEVER, |&(from, _)| from))
            }
            Self::Log(log) => log.rate_at(time),
        }
    }

    /// Capacity from time 0 to `time` in billionths of bits, without pauses.
    fn nanobits_until(&self, time: Time) -> u128 {
        match self {
            Self::Steps(steps) => {
                let ends = steps.iter().skip(1).map(|&(from, _)| from).chain([Time::NEVER]);
                steps
                    .iter()
                    .zip(ends)
                    .map(|(&(from, rate), end)| {
                        nanobits(rate, end.min(time).saturating_since(from))
                    })
                    .fold(0, u128::saturating_add)
            }
            Self::Log(log) => log.nanobits_until(time),
        }
    }
}

/// Rates and pauses.
#[derive(Clone, Debug)]
pub(crate) struct Capacity {
    source: Source,
    pauses: Spans,
    /// The piece of the last query, because most queries are in the same piece.
    rate: Rate,
    since: Time,
    until: Time,
    /// The last length and its time at `rate`, because most packets have the same length.
    bytes: u32,
    time: Duration,
}

impl Capacity {
    pub(crate) fn new(source: Source, pauses: Spans) -> Self {
        let mut capacity = Self {
            source,
            pauses,
            rate: Rate::ZERO,
            since: Time::ZERO,
            until: Time::ZERO,
            bytes: 0,
            time: Duration::ZERO,
        };
        capacity.enter(Time::ZERO);
        capacity
    }

    /// When `bytes` that start at `start` have been sent, rounded down to the nanosecond.
    ///
    /// `start` must not decrease from one call to the next.
    #[inline]
    pub(crate) fn finish(&mut self, start: Time, bytes: u32) -> Time {
        if start >= self.until {
            self.enter(start);
        }
        if bytes != self.bytes {
            self.bytes = bytes;
            self.set_time();
        }
        let finish = start + self.time;
        if finish <= self.until { finish } else { self.sent_after(start, nanobits_of(bytes)) }
    }

    /// Transmission time of `bytes` at the present rate, and the end of the rate's validity.
    #[inline]
    pub(crate) fn steady_time(&self, bytes: u32) -> (Duration, Time) {
        debug_assert_eq!(bytes, self.bytes, "the last packet is meant");
        (self.time, self.until)
    }

    /// When this many billionths of bits that start at `start` have been sent, rounded down.
    #[cold]
    fn sent_after(&self, start: Time, mut left: u128) -> Time {
        let mut now = start;
        loop {
            let (rate, until) = self.piece(now);
            let fits = nanobits(rate, until - now);
            if rate > Rate::ZERO && left <= fits {
                return now + Duration::from_nanos((left / u128::from(rate.bits_per_sec())) as u64);
            }
            if until.is_never() {
                return Time::NEVER;
            }
            left -= fits;
            now = until;
            if let Source::Log(log) = &self.source {
                // Skip the periods of a slow log instead of walking through them.
                let laps = left / log.nanobits_per_period();
                if laps > 1 && self.pauses.at_or_after(now).is_none() {
                    let laps = u64::try_from(laps - 1).unwrap_or(u64::MAX);
                    now += log.period() * laps;
                    if now.is_never() {
                        return Time::NEVER;
                    }
                    left -= u128::from(laps) * log.nanobits_per_period();
                }
            }
        }
    }

    /// The first time at or after `start` by which at least this many billionths of bits are sent.
    pub(crate) fn sent_by(&mut self, start: Time, left: u128) -> Time {
        if start >= self.until {
            self.enter(start);
        }
        let finish = self.sent_after(start, left);
        if finish.is_never() || self.nanobits_between(start, finish) >= left {
            finish
        } else {
            finish + Duration::from_nanos(1)
        }
    }

    /// Capacity between two times in billionths of bits.
    pub(crate) fn nanobits_between(&self, from: Time, to: Time) -> u128 {
        if self.since <= from && to <= self.until {
            return nanobits(self.rate, to - from);
        }
        self.nanobits_until(to) - self.nanobits_until(from)
    }

    /// Bytes that can be sent from time 0 to `time`; `None` if the rate is unlimited.
    pub(crate) fn offered(&self, time: Time) -> Option<Bytes> {
        if let Source::Steps(steps) = &self.source
            && steps.iter().any(|&(from, rate)| rate == UNLIMITED && from < time)
        {
            return None;
        }
        Some(Bytes((self.nanobits_until(time) / nanobits_of(1)) as u64))
    }

    /// The first time at or after `time` that is not in a pause.
    pub(crate) fn open_from(&self, time: Time) -> Time {
        self.pauses.open_from(time)
    }

    fn nanobits_until(&self, time: Time) -> u128 {
        let paused: u128 = self
            .pauses
            .iter()
            .take_while(|span| span.start < time)
            .map(|span| {
                let stop = span.stop.min(time);
                self.source.nanobits_until(stop) - self.source.nanobits_until(span.start)
            })
            .sum();
        self.source.nanobits_until(time) - paused
    }

    /// The rate at a time and the end of its validity, including pauses.
    fn piece(&self, time: Time) -> (Rate, Time) {
        let (rate, until) = self.source.rate_at(time);
        match self.pauses.at_or_after(time) {
            Some(pause) if pause.start <= time => (Rate::ZERO, pause.stop),
            Some(pause) => (rate, until.min(pause.start)),
            None => (rate, until),
        }
    }

    #[cold]
    fn enter(&mut self, time: Time) {
        self.since = time;
        (self.rate, self.until) = self.piece(time);
        self.set_time();
    }

    #[inline(never)]
    fn set_time(&mut self) {
        self.time = Bytes(u64::from(self.bytes)) / self.rate;
    }
}

pub(crate) fn nanobits_of(bytes: u32) -> u128 {
    u128::from(bytes) * 8_000_000_000
}

fn nanobits(rate: Rate, time: Duration) -> u128 {
    u128::from(rate.bits_per_sec()) * u128::from(time.as_nanos())
}
