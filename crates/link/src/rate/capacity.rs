//! The capacity of a link over time: it is constant within each period, and known in advance.
//!
//! Schedules, logs and pauses all have this form. The departure of a packet can therefore be
//! computed when the packet is queued, and need not be computed again when the rate changes.

use cwndlab_trace::RateLog;
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::outage::Spans;

/// A rate that is unlimited in practice.
pub(crate) const UNLIMITED: Rate = Rate::from_bits_per_sec(u64::MAX);

/// Source of the rates.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A list of rates with their start times; the first starts at 0.
    Steps(Vec<(Time, Rate)>),
    /// A log of rates that repeats.
    Log(RateLog),
}

impl Source {
    /// The rate at a time, and the time until which it applies.
    pub(crate) fn rate_at(&self, time: Time) -> (Rate, Time) {
        match self {
            Self::Steps(steps) => {
                let next = steps.partition_point(|&(from, _)| from <= time);
                (steps[next - 1].1, steps.get(next).map_or(Time::NEVER, |&(from, _)| from))
            }
            Self::Log(log) => log.rate_at(time),
        }
    }

    /// Capacity from time 0 to `time` in billionths of a bit, without pauses.
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
    /// The rate found by the last query, because most queries are in the same period.
    rate: Rate,
    since: Time,
    until: Time,
    /// The length of the last packet, because most packets have the same length.
    bytes: u32,
    /// Transmission time of the last packet at `rate`.
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

    /// Time at which `bytes` whose sending begins at `start` have been sent, rounded down to the
    /// nanosecond.
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

    /// Transmission time of `bytes` at the present rate, and the time until which this rate
    /// applies.
    #[inline]
    pub(crate) fn steady_time(&self, bytes: u32) -> (Duration, Time) {
        debug_assert_eq!(bytes, self.bytes, "the comparison uses the length of the last packet");
        (self.time, self.until)
    }

    /// Time at which this number of billionths of a bit, whose sending begins at `start`, has been
    /// sent, rounded down.
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

    /// The first time, not before `start`, by which at least this number of billionths of a bit is
    /// sent.
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

    /// Capacity between two times, in billionths of a bit.
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

    /// The rate at a time and the time until which it applies; within a pause, the rate is 0.
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
