//! How much a link can send over time: piecewise constant and known beforehand.
//!
//! A schedule, a log and pauses are all the same thing here, so when a packet leaves can be said
//! when it is queued, and nothing needs to be computed again when the rate changes.

use cwndlab_trace::RateLog;
use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::outage::Spans;

/// A rate that is as good as unlimited.
pub(crate) const UNLIMITED: Rate = Rate::from_bits_per_sec(u64::MAX);

/// Where the rates come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// From each time on a rate; the first from the beginning.
    Steps(Vec<(Time, Rate)>),
    /// A log that repeats.
    Log(RateLog),
}

impl Source {
    /// The rate at a time, and until when it holds.
    pub(crate) fn rate_at(&self, time: Time) -> (Rate, Time) {
        match self {
            Self::Steps(steps) => {
                let next = steps.partition_point(|&(from, _)| from <= time);
                (steps[next - 1].1, steps.get(next).map_or(Time::NEVER, |&(from, _)| from))
            }
            Self::Log(log) => log.rate_at(time),
        }
    }

    /// Billionths of bits from the beginning until a time, without pauses.
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

/// The rates with the pauses.
#[derive(Clone, Debug)]
pub(crate) struct Capacity {
    source: Source,
    pauses: Spans,
    /// The piece that the last question lay in, as most lie in the same.
    rate: Rate,
    since: Time,
    until: Time,
    /// The last length and its time at `rate`, as most packets have the same.
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

    /// When `bytes` are sent that are begun at `start`, rounded down to the nanosecond.
    ///
    /// `start` must not go back from one question to the next.
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

    /// How long so many bytes take while the present rate holds, and until when it does.
    #[inline]
    pub(crate) fn steady_time(&self, bytes: u32) -> (Duration, Time) {
        debug_assert_eq!(bytes, self.bytes, "the last packet is meant");
        (self.time, self.until)
    }

    /// When this many billionths of bits are sent that are begun at `start`, rounded down.
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
                // A slow log is not walked lap by lap.
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

    /// The first time at or after `start` by when at least this many billionths of bits are sent.
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

    /// Billionths of bits that can be sent from one time to another.
    pub(crate) fn nanobits_between(&self, from: Time, to: Time) -> u128 {
        if self.since <= from && to <= self.until {
            return nanobits(self.rate, to - from);
        }
        self.nanobits_until(to) - self.nanobits_until(from)
    }

    /// What can be sent from the beginning until a time; nothing is said of an unlimited rate.
    pub(crate) fn offered(&self, time: Time) -> Option<Bytes> {
        if let Source::Steps(steps) = &self.source
            && steps.iter().any(|&(from, rate)| rate == UNLIMITED && from < time)
        {
            return None;
        }
        Some(Bytes((self.nanobits_until(time) / nanobits_of(1)) as u64))
    }

    /// The first time at or after `time` that lies in no pause.
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

    /// The rate at a time and until when it holds, pauses included.
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
