//! Paired differences between the runs of two algorithms.

use crate::student;

/// Mean of paired differences, and the standard error of this mean.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// The mean of the differences.
    pub mean: f64,
    /// Standard error of the mean; infinite if there is only one pair.
    pub error: f64,
    /// Number of pairs.
    pub pairs: usize,
}

impl Difference {
    /// Mean of `ours` minus `theirs` over the pairs in which both are finite; `None` if there are
    /// no such pairs.
    #[must_use]
    pub fn between(ours: &[f64], theirs: &[f64]) -> Option<Self> {
        Self::of(ours.iter().zip(theirs).map(|(a, b)| a - b).filter(|d| d.is_finite()))
    }

    /// The mean of unpaired values and its standard error; each value counts as a difference from
    /// zero.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        // Welford 1962: one pass, no cancellation.
        let (mut pairs, mut mean, mut squares) = (0_usize, 0.0, 0.0);
        for value in values {
            pairs += 1;
            let step = value - mean;
            mean += step / pairs as f64;
            squares += step * (value - mean);
        }
        let error = match pairs {
            0 => return None,
            1 => f64::INFINITY,
            _ => libm::sqrt(squares / (pairs * (pairs - 1)) as f64),
        };
        Some(Self { mean, error, pairs })
    }

    /// Half the width of the confidence interval of the mean (Student's t).
    ///
    /// # Panics
    ///
    /// Panics if `confidence` is not between 0 and 1.
    #[must_use]
    pub fn half_width(&self, confidence: f64) -> f64 {
        if self.pairs < 2 {
            return f64::INFINITY;
        }
        self.error * student::quantile(0.5 + confidence / 2.0, self.pairs - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_over_the_pairs_that_are_whole() {
        let d = Difference::between(&[3.0, f64::NAN, 5.0, 4.0], &[1.0, 9.0, 4.0, f64::NAN]);
        let d = d.expect("two pairs");
        assert_eq!((d.mean, d.pairs), (1.5, 2));
        assert!((d.error - 0.5).abs() < 1e-12);
    }

    #[test]
    fn one_pair_leaves_the_error_unknown() {
        let d = Difference::between(&[1.0], &[0.5]).expect("a pair");
        assert!(d.error.is_infinite() && d.half_width(0.95).is_infinite());
        assert_eq!(Difference::between(&[f64::NAN], &[1.0]), None);
    }
}
