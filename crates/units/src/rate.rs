use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

use serde::{Deserialize, Serialize};

use crate::Duration;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A number of bytes.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// The difference of the sizes, or zero if `rhs` is larger.
    pub const fn saturating_sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}

impl Add for Bytes {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for Bytes {
    type Output = Self;

    /// # Panics
    /// Panics if `rhs` is more.
    fn sub(self, rhs: Self) -> Self {
        match self.0.checked_sub(rhs.0) {
            Some(bytes) => Self(bytes),
            None => panic!("{rhs:?} are more than {self:?}"),
        }
    }
}

/// A data rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate {
    bits_per_sec: u64,
}

impl Rate {
    /// A rate of zero.
    pub const ZERO: Self = Self { bits_per_sec: 0 };

    /// `bits_per_sec` bits per second.
    pub const fn from_bits_per_sec(bits_per_sec: u64) -> Self {
        Self { bits_per_sec }
    }

    /// `kbit_per_sec` kilobits per second.
    pub const fn from_kbit_per_sec(kbit_per_sec: u64) -> Self {
        Self { bits_per_sec: kbit_per_sec * 1_000 }
    }

    /// `mbit_per_sec` megabits per second.
    pub const fn from_mbit_per_sec(mbit_per_sec: u64) -> Self {
        Self { bits_per_sec: mbit_per_sec * 1_000_000 }
    }

    /// Bits per second.
    pub const fn bits_per_sec(self) -> u64 {
        self.bits_per_sec
    }

    /// Megabits per second, for output.
    pub fn as_mbit_per_sec_f64(self) -> f64 {
        self.bits_per_sec as f64 / 1e6
    }
}

/// The time that `self` bytes take at this rate, rounded down to a nanosecond; [`Duration::MAX`]
/// at rate zero.
impl Div<Rate> for Bytes {
    type Output = Duration;

    fn div(self, rate: Rate) -> Duration {
        const BITS: u64 = 8 * NANOS_PER_SEC;
        if rate.bits_per_sec == 0 {
            return Duration::MAX;
        }
        match self.0.checked_mul(BITS) {
            Some(scaled) => Duration::from_nanos(scaled / rate.bits_per_sec),
            None => {
                let nanos = u128::from(self.0) * u128::from(BITS) / u128::from(rate.bits_per_sec);
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
        }
    }
}

/// The whole number of bytes that pass at this rate in a duration, rounded down.
impl Mul<Duration> for Rate {
    type Output = Bytes;

    fn mul(self, time: Duration) -> Bytes {
        let bits = u128::from(self.bits_per_sec) * u128::from(time.as_nanos());
        Bytes(u64::try_from(bits / u128::from(8 * NANOS_PER_SEC)).unwrap_or(u64::MAX))
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mbit/s", self.as_mbit_per_sec_f64())
    }
}
