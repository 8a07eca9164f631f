//! The kernel's clocks: jiffies, the timer wheel, and the tick of timestamps.

use cwndlab_units::{Duration, Time};

/// Jiffies at the beginning of a run. The reference machine had run for three seconds when its
/// traces began, and the kernel counts from 300 s before zero; only the remainder matters, as the
/// wheel rounds to multiples of 8, 64, ... jiffies.
const JIFFIES_AT_START: u64 = 4096 * 1000 + 3574;

/// Converts between the run's time and jiffies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    jiffy_nanos: u64,
    phase_nanos: u64,
}

impl Clock {
    pub(crate) fn new(jiffy: Duration, phase: Duration) -> Self {
        Self { jiffy_nanos: jiffy.as_nanos(), phase_nanos: phase.as_nanos() % jiffy.as_nanos() }
    }

    /// The tick counter at a time.
    #[inline]
    pub(crate) fn jiffies(&self, now: Time) -> u64 {
        JIFFIES_AT_START + (now.as_nanos() + self.phase_nanos) / self.jiffy_nanos
    }

    /// When the tick counter reaches a value.
    #[inline]
    fn time_of(&self, jiffies: u64) -> Time {
        let ticks = jiffies.saturating_sub(JIFFIES_AT_START);
        Time::from_nanos((ticks * self.jiffy_nanos).saturating_sub(self.phase_nanos))
    }

    /// When a timer fires that is set now for `delay` jiffies from now.
    ///
    /// The wheel never fires early: a timer goes off at the tick after its expiry, and the further
    /// away it is, the coarser the ticks of its level: 8 times for each level.
    #[inline]
    pub(crate) fn timer(&self, now: Time, delay: u64) -> Time {
        const LEVELS: u32 = 9;
        let expires = self.jiffies(now) + delay;
        let level = (0..LEVELS - 1).find(|level| delay < 63 << (3 * level)).unwrap_or(LEVELS - 1);
        let shift = 3 * level;
        self.time_of(((expires + (1 << shift)) >> shift) << shift)
    }

    /// Microseconds in whole jiffies, rounded up (`usecs_to_jiffies`).
    #[inline]
    pub(crate) fn jiffies_of_us(&self, micros: u64) -> u64 {
        (micros * 1_000).div_ceil(self.jiffy_nanos)
    }

    /// Jiffies in microseconds.
    #[inline]
    pub(crate) fn us_of(&self, jiffies: u64) -> u64 {
        jiffies * self.jiffy_nanos / 1_000
    }

    /// Jiffies as a span.
    pub(crate) fn duration_of(&self, jiffies: u64) -> Duration {
        Duration::from_nanos(jiffies * self.jiffy_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(phase_micros: u64) -> Clock {
        Clock::new(Duration::from_millis(4), Duration::from_micros(phase_micros))
    }

    #[test]
    fn a_near_timer_fires_one_tick_late_at_most() {
        let clock = clock(1_000);
        for micros in (0..100_000).step_by(337) {
            let now = Time::from_micros(micros);
            let fires = clock.timer(now, 10);
            let after = fires - now;
            assert!(after > Duration::from_millis(40) && after <= Duration::from_millis(44));
        }
    }

    #[test]
    fn a_far_timer_is_coarse() {
        let clock = clock(0);
        let fires = clock.timer(Time::ZERO, 75);
        let after = (fires - Time::ZERO).as_millis();
        assert!((300..=332).contains(&after), "{after}");
        assert_eq!(clock.jiffies(fires) % 8, 0);
    }

    #[test]
    fn microseconds_round_up_to_jiffies() {
        let clock = clock(0);
        assert_eq!(
            (clock.jiffies_of_us(240_104), clock.jiffies_of_us(240_000), clock.jiffies_of_us(1)),
            (61, 60, 1)
        );
        assert_eq!(clock.us_of(61), 244_000);
    }
}
