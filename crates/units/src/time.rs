use core::fmt;
use core::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

use crate::Duration;

/// A point in time: nanoseconds since the run began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    /// The beginning of the run.
    pub const ZERO: Self = Self(0);
    /// A time later than every event; represents a timer that is not set.
    pub const NEVER: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the beginning.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The point `micros` microseconds after the beginning.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// The point `millis` milliseconds after the beginning.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// The point `secs` seconds after the beginning.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// Nanoseconds since the beginning.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds since the beginning, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole milliseconds since the beginning, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds since the beginning, for output.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Whether this is [`Time::NEVER`].
    pub const fn is_never(self) -> bool {
        self.0 == u64::MAX
    }

    /// The time since `earlier`, or zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    /// Saturates at [`Time::NEVER`].
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(rhs.as_nanos()))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub for Time {
    type Output = Duration;

    /// # Panics
    /// Panics if `rhs` is later.
    #[inline]
    fn sub(self, rhs: Self) -> Duration {
        match self.0.checked_sub(rhs.0) {
            Some(nanos) => Duration::from_nanos(nanos),
            None => panic!("{rhs:?} is later than {self:?}"),
        }
    }
}

impl Sub<Duration> for Time {
    type Output = Self;

    /// Saturates at [`Time::ZERO`].
    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(rhs.as_nanos()))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_never() {
            f.write_str("never")
        } else {
            write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
        }
    }
}
