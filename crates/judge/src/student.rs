//! Student's t distribution with integer degrees of freedom.
//!
//! The formulas are the closed forms of Abramowitz and Stegun, Handbook of Mathematical Functions,
//! 26.7.3 and 26.7.4.

/// Number of bisections, which reduce an interval of at most 1e7 to the resolution of a 64-bit
/// float.
const BISECTIONS: usize = 90;

/// Probability that a t-distributed variable with `freedom` degrees of freedom is below `t`.
///
/// # Panics
///
/// Panics if `freedom` is 0.
#[must_use]
pub fn probability_below(t: f64, freedom: usize) -> f64 {
    assert!(freedom > 0, "a t distribution has at least one degree of freedom");
    if t.is_infinite() {
        return if t > 0.0 { 1.0 } else { 0.0 };
    }
    let theta = libm::atan(t / libm::sqrt(freedom as f64));
    let (cosine, sine) = (libm::cos(theta), libm::sin(theta));
    let within = if freedom % 2 == 1 {
        let mut sum = theta;
        let mut term = cosine;
        for j in 1..=(freedom - 1) / 2 {
            sum += sine * term;
            term *= cosine * cosine * (2 * j) as f64 / (2 * j + 1) as f64;
        }
        sum * core::f64::consts::FRAC_2_PI
    } else {
        let (mut sum, mut term) = (1.0, 1.0);
        for j in 1..freedom / 2 {
            term *= cosine * cosine * (2 * j - 1) as f64 / (2 * j) as f64;
            sum += term;
        }
        sine * sum
    };
    0.5 + within / 2.0
}

/// The quantile: the value below which a t-distributed variable lies with this probability.
///
/// # Panics
///
/// Panics if `probability` is not between 0 and 1, or `freedom` is 0.
#[must_use]
pub fn quantile(probability: f64, freedom: usize) -> f64 {
    assert!(probability > 0.0 && probability < 1.0, "a probability between 0 and 1");
    let (mut low, mut high) = (-1e7, 1e7);
    for _ in 0..BISECTIONS {
        let middle = (low + high) / 2.0;
        if probability_below(middle, freedom) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values from Abramowitz and Stegun, table 26.10.
    #[test]
    fn quantiles_are_those_of_the_table() {
        for (probability, freedom, expected) in [
            (0.975, 1, 12.706),
            (0.975, 2, 4.303),
            (0.95, 5, 2.015),
            (0.975, 9, 2.262),
            (0.995, 10, 3.169),
            (0.99, 30, 2.457),
            (0.975, 120, 1.980),
        ] {
            assert!((quantile(probability, freedom) - expected).abs() < 6e-4, "{freedom}");
        }
    }

    #[test]
    fn the_two_functions_are_inverse() {
        for freedom in [1, 4, 9, 39] {
            for probability in [0.001, 0.2, 0.5, 0.9] {
                let t = quantile(probability, freedom);
                assert!((probability_below(t, freedom) - probability).abs() < 1e-9);
            }
        }
    }
}
