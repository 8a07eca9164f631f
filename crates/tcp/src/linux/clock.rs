//! The kernel's clocks: jiffies, the timer wheel, and the tick of timestamps.

use core::ops::{Add, Sub};

use cwndlab_cc::JIFFY;
use cwndlab_units::{Duration, Time};

/// Jiffies at the start of a run. Only the remainder matters, because the timer wheel rounds to
/// multiples of 8, 64, ... jiffies. On the reference kernel, timeouts of 2 s and more fire 120 ms
/// after a multiple of 256 ms: this is the case 17 s after boot, where the kernel starts counting
/// at 300 s below zero.
const JIFFIES_AT_START: u64 = 4096 * 1000 + 8 + 17 * 250;

/// Uptime of the machines at the start of a run: 17 s after boot.
pub(crate) const UPTIME_AT_START: Duration = Duration::from_secs(17);

/// Number of levels of the timer wheel. The first level reaches 64 ticks ahead, and each further
/// level 8 times as far.
const LEVELS: u32 = 9;
/// Number of ticks that the first level of the timer wheel reaches ahead.
const LEVEL_TICKS: u64 = 63;

/// A number of ticks of the kernel's clock: a duration, or a count since the clock's own epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Jiffies(pub(crate) u64);

const JIFFY_NANOS: u64 = JIFFY.as_nanos();
const JIFFY_US: u64 = JIFFY.as_micros();

impl Jiffies {
    /// Converts milliseconds to whole ticks (`msecs_to_jiffies` for multiples of a tick).
    pub(crate) const fn from_millis(millis: u64) -> Self {
        Self(millis / JIFFY.as_millis())
    }

    pub(crate) const fn halved(self) -> Self {
        Self(self.0 >> 1)
    }

    pub(crate) const fn doubled(self) -> Self {
        Self(self.0 << 1)
    }

    /// The lower 32 bits of a count, as algorithms see it.
    pub(crate) const fn low_half(self) -> u32 {
        self.0 as u32
    }
}

impl Add for Jiffies {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Jiffies {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

/// The tick counter, and the conversion between the run's time and jiffies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    phase_nanos: u64,
    /// Value of the clock for timestamps and algorithms at the start of the run.
    start: Duration,
    jiffies: Jiffies,
    /// Time at which the tick counter next changes.
    next_tick: Time,
    now: Time,
}

impl Clock {
    /// Creates a clock for a run that starts `phase` after a tick; at this time, timestamps and
    /// algorithms read `start`.
    pub(crate) fn new(phase: Duration, start: Duration) -> Self {
        let phase_nanos = phase.as_nanos() % JIFFY_NANOS;
        let (jiffies, next_tick, now) = (Jiffies(0), Time::ZERO, Time::ZERO);
        let mut clock = Self { phase_nanos, start, jiffies, next_tick, now };
        clock.tick(Time::ZERO);
        clock
    }

    /// Advances to `now`, which must not be before the time of the last call. Returns whether the
    /// tick counter changed.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) -> bool {
        self.now = now;
        let is_tick = now >= self.next_tick;
        if is_tick {
            self.jiffies = self.jiffies + Jiffies(1);
            self.next_tick += Duration::from_nanos(JIFFY_NANOS);
            if now >= self.next_tick {
                self.tick(now);
            }
        }
        is_tick
    }

    /// Sets the tick counter to its value at `now`.
    #[inline(never)]
    fn tick(&mut self, now: Time) {
        let ticks = (now.as_nanos() + self.phase_nanos) / JIFFY_NANOS;
        self.jiffies = Jiffies(JIFFIES_AT_START + ticks);
        self.next_tick = self.time_of(self.jiffies + Jiffies(1));
    }

    /// The time of the last call of [`Clock::advance`].
    #[inline]
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// The value, at a time of the run, of the clock that timestamps and algorithms read, in
    /// nanoseconds.
    #[inline]
    pub(crate) fn reading_ns(&self, at: Time) -> u64 {
        at.as_nanos() + self.start.as_nanos()
    }

    /// The tick counter.
    #[inline]
    pub(crate) fn jiffies(&self) -> Jiffies {
        self.jiffies
    }

    /// Time at which the tick counter reaches a value greater than its initial value.
    #[inline]
    fn time_of(&self, jiffies: Jiffies) -> Time {
        let ticks = jiffies.0 - JIFFIES_AT_START;
        Time::from_nanos(ticks * JIFFY_NANOS - self.phase_nanos)
    }

    /// Time at which a timer fires that is set now for `delay` from now.
    ///
    /// The timer wheel never fires early: a timer fires at the tick after its expiry. The ticks of
    /// each level are 8 times as long as those of the level before.
    #[inline]
    pub(crate) fn timer(&self, delay: Jiffies) -> Time {
        if delay.0 < LEVEL_TICKS {
            Time::from_nanos(self.next_tick.as_nanos() + delay.0 * JIFFY_NANOS)
        } else {
            self.far_timer(delay)
        }
    }

    fn far_timer(&self, delay: Jiffies) -> Time {
        let expires = (self.jiffies + delay).0;
        let level = (1..LEVELS - 1).find(|level| delay.0 < LEVEL_TICKS << (3 * level));
        let shift = 3 * level.unwrap_or(LEVELS - 1);
        self.time_of(Jiffies(((expires + (1 << shift)) >> shift) << shift))
    }

    /// Converts microseconds to whole jiffies, rounded up (`usecs_to_jiffies`).
    #[inline]
    #[expect(
        clippy::manual_div_ceil,
        reason = "a single division is faster than one with its remainder"
    )]
    pub(crate) fn jiffies_of_us(&self, micros: u64) -> Jiffies {
        Jiffies((micros + (JIFFY_US - 1)) / JIFFY_US)
    }

    /// Converts jiffies to microseconds.
    #[inline]
    pub(crate) fn us_of(&self, jiffies: Jiffies) -> u64 {
        jiffies.0 * JIFFY_US
    }

    /// Converts jiffies to a duration.
    pub(crate) fn duration_of(&self, jiffies: Jiffies) -> Duration {
        Duration::from_micros(self.us_of(jiffies))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(phase_micros: u64) -> Clock {
        Clock::new(Duration::from_micros(phase_micros), Duration::ZERO)
    }

    #[test]
    fn a_near_timer_fires_one_tick_late_at_most() {
        let mut clock = clock(1_000);
        for micros in (0..100_000).step_by(337) {
            let now = Time::from_micros(micros);
            clock.advance(now);
            let fires = clock.timer(Jiffies(10));
            let after = fires - now;
            assert!(after > Duration::from_millis(40) && after <= Duration::from_millis(44));
        }
    }

    #[test]
    fn a_far_timer_is_coarse() {
        let mut clock = clock(0);
        let fires = clock.timer(Jiffies(75));
        let after = (fires - Time::ZERO).as_millis();
        assert!((300..=332).contains(&after), "{after}");
        clock.advance(fires);
        assert_eq!(clock.jiffies().0 % 8, 0);
    }

    #[test]
    fn the_counter_changes_at_the_tick_and_not_before() {
        let mut clock = clock(1_000);
        let before = clock.jiffies();
        clock.advance(Time::from_nanos(2_999_999));
        assert_eq!(clock.jiffies(), before);
        clock.advance(Time::from_millis(3));
        assert_eq!(clock.jiffies(), before + Jiffies(1));
        clock.advance(Time::from_nanos(42_999_999));
        assert_eq!(clock.jiffies(), before + Jiffies(10));
    }

    #[test]
    fn microseconds_round_up_to_jiffies() {
        let clock = clock(0);
        assert_eq!(
            (clock.jiffies_of_us(240_104), clock.jiffies_of_us(240_000), clock.jiffies_of_us(1)),
            (Jiffies(61), Jiffies(60), Jiffies(1))
        );
        assert_eq!(clock.us_of(Jiffies(61)), 244_000);
    }
}
