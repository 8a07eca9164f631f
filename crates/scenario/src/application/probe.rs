//! A probe of a link: as much data as possible, a pause, and a ramp, in which the rate of the data
//! doubles again and again until the end.
//!
//! The bulk phase shows how the link treats slow start, its rate and its queue; the pause empties
//! the queue, and the ramp shows the link at light and medium load.

use cwndlab_units::{Duration, Time};

/// Bytes that the application writes at once while it is slow: the data of a full segment.
const WRITE_BYTES: u64 = 1448;

/// Shortest time between two writes of the ramp; at high rates, each write has several segments.
const SHORTEST: Duration = Duration::from_millis(1);

/// Largest number of doublings, by which the rate grows a million times; more could overflow.
const MOST_DOUBLINGS: u64 = 20;

/// Rates and durations of a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Schedule {
    /// Rate of the first step.
    pub(super) bits_per_sec: u64,
    /// Duration of a step of the ramp, after which the rate doubles.
    pub(super) doubling: Duration,
    pub(super) bulk_for: Duration,
    pub(super) pause: Duration,
}

/// The sender of a probe.
#[derive(Debug)]
pub(super) struct Probe {
    schedule: Schedule,
    began: Time,
    /// Whether the ramp has begun.
    is_ramp: bool,
    /// Bytes of the ramp that have become due so far.
    due_bytes: u64,
    /// Bytes that are due and not yet written; the maximum for as much as possible.
    pub(super) to_write: u64,
}

impl Probe {
    pub(super) fn new(schedule: Schedule) -> Self {
        Self { schedule, began: Time::NEVER, is_ramp: false, due_bytes: 0, to_write: 0 }
    }

    /// Starts the bulk phase.
    pub(super) fn begin(&mut self, now: Time) {
        self.began = now;
    }

    /// Makes the data that are due at `now` available, and returns the time of the next change.
    pub(super) fn handle_wake(&mut self, now: Time) -> Time {
        let Schedule { bulk_for, pause, .. } = self.schedule;
        let ramp = bulk_for + pause;
        let passed = now.saturating_since(self.began);
        if passed < bulk_for {
            self.to_write = u64::MAX;
            return self.began + bulk_for;
        }
        if passed < ramp {
            self.to_write = 0;
            return self.began + ramp;
        }
        if !core::mem::replace(&mut self.is_ramp, true) {
            self.to_write = 0; // without a pause, the rest of the bulk data is discarded here
        }
        let passed = passed - ramp;
        let due_bytes = self.schedule.bytes_after(passed) / WRITE_BYTES * WRITE_BYTES;
        self.to_write = self.to_write.saturating_add(due_bytes - self.due_bytes);
        self.due_bytes = due_bytes;
        let next = self.schedule.time_of(due_bytes.saturating_add(WRITE_BYTES), passed);
        self.began + ramp + next.max(passed + SHORTEST)
    }
}

/// A step of the ramp.
struct Step {
    began: Duration,
    bits_per_sec: u128,
    /// Data that the earlier steps offered, in bit/s times nanoseconds.
    earlier: u128,
}

impl Schedule {
    /// The step at this time of the ramp.
    fn step_at(&self, passed: Duration) -> Step {
        let doubling = self.doubling.as_nanos();
        let step = (passed.as_nanos() / doubling).min(MOST_DOUBLINGS);
        let first = u128::from(self.bits_per_sec);
        Step {
            began: Duration::from_nanos(step * doubling),
            bits_per_sec: first << step,
            earlier: first * u128::from(doubling) * ((1 << step) - 1),
        }
    }

    /// Bytes that the ramp has offered by this time.
    fn bytes_after(&self, passed: Duration) -> u64 {
        let Step { began, bits_per_sec, earlier } = self.step_at(passed);
        let inside = u128::from((passed - began).as_nanos()) * bits_per_sec;
        u64::try_from((earlier + inside) / 8_000_000_000).unwrap_or(u64::MAX)
    }

    /// Time at which the ramp has offered this many bytes, or the end of the present step, if this
    /// is earlier.
    fn time_of(&self, bytes: u64, passed: Duration) -> Duration {
        let Step { began, bits_per_sec, earlier } = self.step_at(passed);
        let missing = (u128::from(bytes) * 8_000_000_000).saturating_sub(earlier);
        let nanos = u64::try_from(missing.div_ceil(bits_per_sec)).unwrap_or(u64::MAX);
        began + Duration::from_nanos(nanos.min(self.doubling.as_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEDULE: Schedule = Schedule {
        bits_per_sec: 125_000,
        doubling: Duration::from_secs(1),
        bulk_for: Duration::from_secs(3),
        pause: Duration::from_secs(2),
    };

    /// The writes of a probe that begins at 1 s and lasts 9 s, whose data are always accepted: times
    /// in ms since the beginning, and bytes.
    fn writes() -> Vec<(u64, u64)> {
        let mut probe = Probe::new(SCHEDULE);
        let began = Time::from_secs(1);
        probe.begin(began);
        let (mut at, mut found) = (began, Vec::new());
        while at < began + Duration::from_secs(9) {
            let next = probe.handle_wake(at);
            assert!(next > at, "time stands still at {at:?}");
            found.push(((at - began).as_nanos() / 1_000_000, core::mem::take(&mut probe.to_write)));
            at = next;
        }
        found
    }

    #[test]
    fn bulk_and_a_pause_precede_the_ramp() {
        assert_eq!(writes()[..2], [(0, u64::MAX), (3_000, 0)]);
    }

    #[test]
    fn the_rate_doubles_every_second() {
        let ramp: Vec<_> = writes().into_iter().filter(|each| each.0 >= 5_000).collect();
        for (second, kbit) in (5..9).zip([125, 250, 500, 1_000]) {
            let inside = |at: u64| (1_000 * second..1_000 * (second + 1)).contains(&at);
            let bytes: u64 = ramp.iter().filter(|each| inside(each.0)).map(|each| each.1).sum();
            let wanted = kbit * 1_000 / 8;
            assert!(bytes.abs_diff(wanted) <= WRITE_BYTES, "second {second}: {bytes}, {wanted}");
        }
        assert!(ramp.iter().all(|each| each.1 <= WRITE_BYTES), "the ramp bursts");
    }

    #[test]
    fn without_a_pause_the_ramp_follows_at_once() {
        let mut probe = Probe::new(Schedule { pause: Duration::ZERO, ..SCHEDULE });
        probe.begin(Time::ZERO);
        let ramp = probe.handle_wake(Time::ZERO);
        assert_eq!((ramp, probe.to_write), (Time::from_secs(3), u64::MAX));
        let first = probe.handle_wake(ramp);
        assert_eq!((first - ramp, probe.to_write), (Duration::from_micros(92_672), 0));
        probe.handle_wake(first);
        assert_eq!(probe.to_write, WRITE_BYTES);
    }

    #[test]
    fn fast_steps_write_several_segments_at_once() {
        let at_once = Schedule { bulk_for: Duration::ZERO, pause: Duration::ZERO, ..SCHEDULE };
        let mut probe = Probe::new(Schedule { bits_per_sec: 1_000_000_000, ..at_once });
        probe.begin(Time::ZERO);
        let at = probe.handle_wake(Time::ZERO);
        assert_eq!(at, Time::ZERO + SHORTEST);
        probe.handle_wake(at);
        assert_eq!(probe.to_write, 125_000 / WRITE_BYTES * WRITE_BYTES);
    }
}
