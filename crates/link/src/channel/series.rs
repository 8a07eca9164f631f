//! Taylor series of sums of waves. For queries in consecutive slots, they take less time than a
//! sine for each wave, because the sums change little within a slot.
//!
//! A wave of angular frequency `w` is `exp(i (p + w t))`. With `r = w / fastest` and
//! `x = fastest (t - middle)`, the sum is `sum_k c_k x^k`, `c_k = i^k / k! sum_w r^k exp(i p)`. The
//! remainder after `ORDER` is at most `sum_w |r|^(ORDER + 1) |x|^(ORDER + 1) / (ORDER + 1)!`.

use cwndlab_units::{Duration, Time};

/// The highest power in the Taylor series.
const ORDER: usize = 8;

/// `(ORDER + 1)!`.
const FACTORIAL: f64 = 362_880.0;

/// The Taylor series of a sum of waves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    /// Real and imaginary parts of each `c_k`.
    coefficients: [[f64; 2]; ORDER + 1],
    /// `sum_w |r|^(ORDER + 1) / (ORDER + 1)!`.
    remainder: f64,
}

impl Series {
    /// Creates the series from the values of the waves at the middle and the ratios `r` of their
    /// frequencies.
    pub(crate) fn new(waves: impl Iterator<Item = ([f64; 2], f64)>) -> Self {
        let mut sums = [[0.0; 2]; ORDER + 1];
        let mut remainder = 0.0;
        for ([real, imaginary], speed) in waves {
            let mut term = [real, imaginary];
            for sum in &mut sums {
                *sum = [sum[0] + term[0], sum[1] + term[1]];
                term = [term[0] * speed, term[1] * speed];
            }
            remainder += ninth_power(speed.abs());
        }
        let mut factorial = 1.0;
        let mut coefficients = [[0.0; 2]; ORDER + 1];
        for (power, (sum, coefficient)) in sums.iter().zip(&mut coefficients).enumerate() {
            factorial *= power.max(1) as f64;
            let [real, imaginary] = [sum[0] / factorial, sum[1] / factorial];
            *coefficient = match power % 4 {
                0 => [real, imaginary],
                1 => [-imaginary, real],
                2 => [-real, -imaginary],
                _ => [imaginary, -real],
            };
        }
        Self { coefficients, remainder: remainder / FACTORIAL }
    }

    /// Upper bound on the error of each part of the sum at `x`, which is at most [`REACH`] from
    /// the middle, divided by [`ninth_power`] of `x`.
    pub(crate) fn remainder(&self) -> f64 {
        self.remainder
    }
}

/// The power of several sums of waves: a polynomial that is the sum of their squared parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct PowerSeries {
    /// Pairs of coefficients, of an even power of `x` and the next odd power, which are evaluated
    /// in parallel.
    coefficients: [[f64; 2]; ORDER + 1],
}

impl PowerSeries {
    /// Adds the power of a sum of waves: scattered waves with the amplitude `scattered` each, and
    /// a direct wave.
    pub(crate) fn add(&mut self, series: &Series, steady: f64, scattered: f64) {
        let mut terms = series.coefficients.map(|term| term.map(|part| scattered * part));
        terms[0][0] += steady;
        for (low, [real, imaginary]) in terms.iter().enumerate() {
            for (high, term) in terms.iter().enumerate() {
                let power = low + high;
                self.coefficients[power / 2][power % 2] += real * term[0] + imaginary * term[1];
            }
        }
    }

    /// The power at `x`, without the remainder of the series.
    #[inline]
    pub(crate) fn at(&self, x: f64) -> f64 {
        let square = x * x;
        let [mut even, mut odd] = self.coefficients[ORDER];
        for next in self.coefficients[..ORDER].iter().rev() {
            [even, odd] = [even * square + next[0], odd * square + next[1]];
        }
        // In a deep fade, rounding may give a negative value.
        (even + odd * x).max(0.0)
    }
}

/// `x^(ORDER + 1)`.
#[inline]
pub(crate) fn ninth_power(x: f64) -> f64 {
    let square = x * x;
    let fourth = square * square;
    fourth * fourth * x
}

/// Angle by which the wave with the largest Doppler shift turns from the middle of a stretch of
/// time to its ends, in radians.
pub(crate) const REACH: f64 = 2.0;

/// A stretch of time in which a Taylor series is used: the wave with the largest Doppler shift
/// turns by at most [`REACH`] from the middle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    middle: Time,
    half: Duration,
    /// Angular frequency of the wave with the largest Doppler shift, in radians per nanosecond.
    fastest: f64,
}

impl Stretch {
    /// Creates the stretch of time that begins at `from`.
    pub(crate) fn new(from: Time, fastest: f64, half: Duration) -> Self {
        Self { middle: from + half, half, fastest }
    }

    /// The time around which the Taylor series are expanded.
    pub(crate) fn middle(&self) -> Time {
        self.middle
    }

    /// The argument `x` of the series at a time, if the time is within the stretch.
    #[inline]
    pub(crate) fn place(&self, at: Time) -> Option<f64> {
        let from_middle = at.as_nanos() as i64 - self.middle.as_nanos() as i64;
        (from_middle.unsigned_abs() <= self.half.as_nanos())
            .then_some(from_middle as f64 * self.fastest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_is_that_of_the_waves() {
        // Phase at the middle and relative frequency of each wave.
        let sums = [[(0.3_f64, 1.0), (2.0, -0.4)], [(-1.0, 0.7), (0.1, 0.2)]];
        let (steady, scattered) = (0.5, 0.8);
        let mut power = PowerSeries::default();
        for waves in sums {
            let parts = |(angle, speed)| ([libm::cos(angle), libm::sin(angle)], speed);
            power.add(&Series::new(waves.into_iter().map(parts)), steady, scattered);
        }
        for x in [-0.5, 0.0, 0.2, 0.5] {
            let exact: f64 = sums
                .iter()
                .map(|waves| {
                    let angles = waves.map(|(angle, speed)| angle + speed * x);
                    let real: f64 = angles.iter().map(|&angle| libm::cos(angle)).sum();
                    let imaginary: f64 = angles.iter().map(|&angle| libm::sin(angle)).sum();
                    let (real, imaginary) = (steady + scattered * real, scattered * imaginary);
                    real * real + imaginary * imaginary
                })
                .sum();
            assert!((power.at(x) - exact).abs() < 1e-7, "{x}: {} {exact}", power.at(x));
        }
    }
}
