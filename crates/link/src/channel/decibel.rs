//! A ratio of powers as a whole number of thousandths of a decibel, so that a scenario says it
//! exactly.

use core::fmt;
use core::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// A ratio of powers in thousandths of a decibel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Decibel {
    milli: i32,
}

impl Decibel {
    /// Equal powers.
    pub const ZERO: Self = Self { milli: 0 };

    /// `milli` thousandths of a decibel.
    pub const fn from_milli(milli: i32) -> Self {
        Self { milli }
    }

    /// `whole` decibels.
    pub const fn from_whole(whole: i32) -> Self {
        Self { milli: whole * 1000 }
    }

    /// Thousandths of a decibel.
    pub const fn as_milli(self) -> i32 {
        self.milli
    }

    /// In decibels.
    pub fn as_f64(self) -> f64 {
        f64::from(self.milli) / 1000.0
    }
}

impl Add for Decibel {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        Self { milli: self.milli + rhs.milli }
    }
}

impl Sub for Decibel {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        Self { milli: self.milli - rhs.milli }
    }
}

impl fmt::Debug for Decibel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} dB", self.as_f64())
    }
}

/// A ratio of powers in decibels.
pub(crate) fn decibels(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}

/// The ratio of powers of so many decibels.
pub(crate) fn ratio(decibels: f64) -> f64 {
    libm::exp(decibels * (core::f64::consts::LN_10 / 10.0))
}
