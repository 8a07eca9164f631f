//! A power ratio as an integer number of thousandths of a decibel, so that values in scenarios are
//! exact.

use core::fmt;
use core::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// A power ratio in thousandths of a decibel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Decibel {
    milli: i32,
}

impl Decibel {
    /// Ratio of equal powers: 0 dB.
    pub const ZERO: Self = Self { milli: 0 };

    /// `milli` thousandths of a decibel.
    pub const fn from_milli(milli: i32) -> Self {
        Self { milli }
    }

    /// `whole` decibels.
    pub const fn from_whole(whole: i32) -> Self {
        Self { milli: whole * 1000 }
    }

    /// The ratio in thousandths of a decibel.
    pub const fn as_milli(self) -> i32 {
        self.milli
    }

    /// The ratio in decibels.
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

/// Converts a power ratio to a number of decibels.
pub(crate) fn decibels(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}

/// Converts a number of decibels to a power ratio.
pub(crate) fn ratio(decibels: f64) -> f64 {
    libm::exp(decibels * (core::f64::consts::LN_10 / 10.0))
}

/// Maximum error of [`decibels_below`].
pub(crate) const BELOW: f64 = 2e-5;

/// Converts a power ratio to decibels. The result may be too low by up to [`BELOW`], but takes a
/// third of the time of a logarithm.
#[inline]
pub(crate) fn decibels_below(ratio: f64) -> f64 {
    if ratio < f64::MIN_POSITIVE {
        return f64::NEG_INFINITY;
    }
    let bits = ratio.to_bits();
    let exponent = (bits >> 52) as i64 - 1023;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | (1023 << 52));
    // ln(m / sqrt(2)) = 2 artanh(t); the first omitted term of its series, t^7 / 7, is at most
    // 6e-7.
    let t = (mantissa - core::f64::consts::SQRT_2) / (mantissa + core::f64::consts::SQRT_2);
    let square = t * t;
    let logarithm = 2.0 * t * (1.0 + square * (1.0 / 3.0 + square / 5.0));
    const PER_LN: f64 = 10.0 / core::f64::consts::LN_10;
    const PER_BIT: f64 = PER_LN * core::f64::consts::LN_2;
    (exponent as f64 + 0.5) * PER_BIT + PER_LN * logarithm - BELOW / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_is_so_by_little() {
        let mut power = 1e-12;
        while power < 1e6 {
            let (exact, below) = (decibels(power), decibels_below(power));
            assert!(below < exact && exact < below + BELOW, "{power}: {exact} {below}");
            power *= 1.003;
        }
        assert_eq!(decibels_below(0.0), f64::NEG_INFINITY);
    }
}
