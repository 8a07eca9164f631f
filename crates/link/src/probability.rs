//! A probability as an integer number of parts per billion, so that values in scenarios are exact.

use cwndlab_units::Stream;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A probability in parts per billion.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize,
)]
#[serde(try_from = "u64", into = "u64")]
pub struct Probability {
    ppb: u32,
}

impl Probability {
    /// Probability 0.
    pub const ZERO: Self = Self { ppb: 0 };
    /// Probability 1.
    pub const ONE: Self = Self { ppb: BILLION };

    /// A probability of `ppb` parts per billion; `None` if this is more than 1.
    pub const fn from_ppb(ppb: u32) -> Option<Self> {
        if ppb <= BILLION { Some(Self { ppb }) } else { None }
    }

    /// Parts per billion.
    pub const fn ppb(self) -> u32 {
        self.ppb
    }

    /// The probability as a fraction, for output.
    pub fn as_f64(self) -> f64 {
        f64::from(self.ppb) / f64::from(BILLION)
    }

    /// Threshold for `Stream::next_u64`: the random number is below this threshold with the
    /// probability.
    ///
    /// The threshold is exact to 2^-64; for a probability of 1, it is 2^-64 too low.
    pub(crate) const fn threshold(self) -> u64 {
        if self.ppb == BILLION {
            u64::MAX
        } else {
            (((self.ppb as u128) << 64) / BILLION as u128) as u64
        }
    }

    /// Draws whether an event with this probability happens.
    pub fn draw(self, random: &mut Stream) -> bool {
        random.next_u64() < self.threshold()
    }
}

/// The error for more than one billion parts per billion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("a probability of {0} parts per billion is above 1: use at most 1000000000")]
pub struct ProbabilityError(u64);

impl TryFrom<u64> for Probability {
    type Error = ProbabilityError;

    fn try_from(ppb: u64) -> Result<Self, ProbabilityError> {
        u32::try_from(ppb).ok().and_then(Self::from_ppb).ok_or(ProbabilityError(ppb))
    }
}

impl From<Probability> for u64 {
    fn from(probability: Probability) -> Self {
        u64::from(probability.ppb)
    }
}

const BILLION: u32 = 1_000_000_000;
