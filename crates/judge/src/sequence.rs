//! Confidence sequences: intervals computed after each new run, which with the stated probability
//! all contain the true value.
//!
//! The method uses the one-sample t statistic with unknown variance, mixed over a normal prior of
//! the effect size (Lai 1976; Wang and Ramdas 2024, "Anytime-valid t-tests and confidence
//! sequences for Gaussian means with unknown variance", theorem 3.2 with the right Haar prior of
//! the scale).

use crate::paired::Difference;

/// Precision of the prior of the effect size, in pairs: this value determines for which number of
/// pairs the intervals are narrowest. 0.3 is best for about 10 to 40 pairs.
const PRIOR_PAIRS: f64 = 0.3;

/// Half the width of the interval around the mean. With a probability of 1 - `error`, the
/// intervals for all numbers of pairs contain the true mean.
#[must_use]
pub fn half_width(difference: Difference, error: f64) -> f64 {
    let pairs = difference.pairs as f64;
    if difference.pairs < 2 {
        return f64::INFINITY;
    }
    // The e-value of a mean is sqrt(r) ((1 + w) / (1 + r w))^(n / 2) with w = t^2 / (n - 1) and
    // r = prior / (n + prior); the interval holds the means whose e-value is below 1 / error.
    let ratio = PRIOR_PAIRS / (pairs + PRIOR_PAIRS);
    let bound = libm::pow(1.0 / (error * libm::sqrt(ratio)), 2.0 / pairs);
    if bound * ratio >= 1.0 {
        return f64::INFINITY;
    }
    let w = (bound - 1.0) / (1.0 - bound * ratio);
    difference.error * libm::sqrt(w * (pairs - 1.0))
}

/// Evidence against a true mean of zero: the Bayes factor in favour of a mean drawn from the prior
/// (see `PRIOR_PAIRS`), which is an e-value. The result is infinite if the values do not vary and
/// their mean is not zero.
#[must_use]
pub fn evidence(difference: Difference) -> f64 {
    let pairs = difference.pairs as f64;
    if difference.pairs < 2 {
        return 1.0;
    }
    if difference.error == 0.0 {
        return if difference.mean == 0.0 { 0.0 } else { f64::INFINITY };
    }
    let w = libm::pow(difference.mean / difference.error, 2.0) / (pairs - 1.0);
    let ratio = PRIOR_PAIRS / (pairs + PRIOR_PAIRS);
    libm::sqrt(ratio) * libm::pow((1.0 + w) / (1.0 + ratio * w), pairs / 2.0)
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Stream;

    use super::*;

    #[test]
    fn looks_at_every_pair_miss_the_truth_as_rarely_as_stated() {
        let mut draws = Stream::new(7, "sequence");
        let misses = (0..2_000)
            .filter(|_| {
                let values: Vec<f64> = (0..80).map(|_| draws.normal()).collect();
                (2..=values.len()).any(|n| {
                    let seen = Difference::of(values[..n].iter().copied()).expect("values");
                    seen.mean.abs() > half_width(seen, 0.05)
                })
            })
            .count();
        assert!(misses <= 100, "{misses} of 2000");
        assert!(misses > 10, "{misses} of 2000: needlessly wide");
    }

    #[test]
    fn the_interval_holds_the_means_against_which_there_is_less_evidence_than_its_error_allows() {
        let seen = Difference { mean: 0.0, error: 0.1, pairs: 20 };
        let edge = half_width(seen, 0.05);
        let at_edge = evidence(Difference { mean: edge, ..seen });
        assert!((at_edge - 20.0).abs() < 1e-6, "{at_edge}");
    }

    #[test]
    fn it_is_wider_than_an_interval_for_one_look() {
        let seen = Difference { mean: 0.0, error: 0.1, pairs: 20 };
        assert!(half_width(seen, 0.05) > seen.half_width(0.95));
    }
}
