//! Slow variation of a channel in decibels: shadowing of a moving user, or small changes in a
//! laboratory.
//!
//! The variation is a Gauss-Markov process (Gudmundson 1991): normally distributed, with an
//! autocorrelation that falls by a factor of e in the correlation time. For shadowing, this time
//! is the correlation distance divided by the speed. Values are drawn at fixed times and
//! interpolated linearly, so they do not depend on the times of queries.

use cwndlab_units::{Duration, Stream, Time};
use serde::{Deserialize, Serialize};

use super::decibel::Decibel;

/// How the mean of a channel varies.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriftConfig {
    /// Standard deviation.
    pub sigma_mdb: Decibel,
    /// Correlation time; 0 means that the value is constant.
    #[serde(rename = "correlation_ns")]
    pub correlation: Duration,
}

/// Number of values that are drawn per correlation time.
const STEPS: u64 = 20;

#[derive(Clone, Debug)]
pub(crate) struct Drift {
    sigma: f64,
    /// Time between two drawn values in nanoseconds; the maximum of the type for a constant value.
    step: u64,
    /// Correlation of two consecutive values.
    memory: f64,
    random: Stream,
    /// Number of the interval between the values `before` and `after`.
    index: u64,
    before: f64,
    after: f64,
}

impl Drift {
    pub(crate) fn new(config: &DriftConfig, run_seed: u64, component: &str) -> Self {
        let mut random = Stream::new(run_seed, component);
        let first = random.normal();
        let is_steady = config.correlation == Duration::ZERO;
        let step = if is_steady { u64::MAX } else { config.correlation.as_nanos().div_ceil(STEPS) };
        let memory = if is_steady { 1.0 } else { libm::exp(-1.0 / STEPS as f64) };
        let mut drift = Self {
            sigma: config.sigma_mdb.as_f64(),
            step,
            memory,
            random,
            index: 0,
            before: first,
            after: first,
        };
        drift.after = drift.next_value();
        drift
    }

    /// The value in decibels at `at`, which must not be before the last query.
    pub(crate) fn decibels_at(&mut self, at: Time) -> f64 {
        let (index, part) = (at.as_nanos() / self.step, at.as_nanos() % self.step);
        while self.index < index {
            self.before = self.after;
            self.after = self.next_value();
            self.index += 1;
        }
        let part = part as f64 / self.step as f64;
        self.sigma * (self.before + part * (self.after - self.before))
    }

    fn next_value(&mut self) -> f64 {
        let fresh = libm::sqrt(1.0 - self.memory * self.memory);
        self.memory * self.after + fresh * self.random.normal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shadowing(sigma: i32, correlation_ms: u64) -> DriftConfig {
        DriftConfig {
            sigma_mdb: Decibel::from_whole(sigma),
            correlation: Duration::from_millis(correlation_ms),
        }
    }

    #[test]
    fn autocorrelation_falls_by_e_in_the_correlation_time() {
        let lags = [0_usize, 25, 50, 100, 200];
        let mut sums = [0.0; 5];
        let (runs, steps) = (40, 20_000_usize);
        for seed in 0..runs {
            let mut drift = Drift::new(&shadowing(6, 1_000), seed, "shadowing");
            let values: Vec<f64> =
                (0..steps as u64).map(|i| drift.decibels_at(Time::from_millis(i * 10))).collect();
            for (sum, lag) in sums.iter_mut().zip(lags) {
                let pairs = values.iter().zip(&values[lag..]);
                *sum += pairs.map(|(a, b)| a * b).sum::<f64>() / (steps - lag) as f64;
            }
        }
        for (sum, lag) in sums.into_iter().zip(lags) {
            let ours = sum / runs as f64 / 36.0;
            let exact = libm::exp(-(lag as f64) / 100.0);
            assert!((ours - exact).abs() < 0.06, "lag {lag}0 ms: {ours}, {exact}");
        }
    }

    #[test]
    fn value_does_not_depend_on_who_looked_before() {
        let config = shadowing(8, 300);
        let mut often = Drift::new(&config, 9, "shadowing");
        let mut once = Drift::new(&config, 9, "shadowing");
        for ms in 0..5_000 {
            often.decibels_at(Time::from_millis(ms));
        }
        let at = Time::from_millis(5_000);
        assert!((often.decibels_at(at) - once.decibels_at(at)).abs() < 1e-12);
    }

    #[test]
    fn correlation_time_of_zero_is_a_value_that_stays() {
        let mut drift = Drift::new(&shadowing(8, 0), 9, "shadowing");
        let first = drift.decibels_at(Time::ZERO);
        assert!(first != 0.0);
        assert!((drift.decibels_at(Time::from_secs(1_000_000)) - first).abs() < 1e-9);
    }
}
