//! Percentiles of durations, in microseconds.

use cwndlab_units::{Duration, Histogram};
use serde::Serialize;

/// Upper bound of the histogram: durations of 17 seconds and more share a bucket.
const MOST_NANOS: u64 = (1 << 34) - 1;

/// Histogram of durations, whose percentiles are accurate to 1.6 %, and the maximum duration.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    nanos: Histogram<6, MOST_NANOS>,
    longest: Duration,
}

/// Percentiles of durations.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Percentiles {
    /// Number of durations.
    pub count: u64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Maximum.
    pub max_us: f64,
}

impl Durations {
    /// Adds a duration.
    #[inline]
    pub fn record(&mut self, took: Duration) {
        self.nanos.record(took.as_nanos());
        self.longest = self.longest.max(took);
    }

    /// Returns the percentiles of the durations; all are zero if there are no durations.
    pub fn percentiles(&self) -> Percentiles {
        let most_nanos = self.longest.as_nanos() as f64;
        // A bucket may extend beyond the maximum.
        let us = |percent| self.nanos.percentile(percent).unwrap_or(0.0).min(most_nanos) / 1e3;
        Percentiles {
            count: self.nanos.count(),
            p50_us: us(50.0),
            p99_us: us(99.0),
            p999_us: us(99.9),
            max_us: most_nanos / 1e3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_durations() {
        let mut durations = Durations::default();
        for nanos in (0..10_000_u64).map(|n| n * n) {
            durations.record(Duration::from_nanos(nanos));
        }
        let lateness = durations.percentiles();
        let near = |got: f64, nanos: f64| (got * 1e3 / nanos - 1.0).abs() < 0.017;
        assert!(near(lateness.p50_us, 5_000_f64 * 5_000_f64), "{lateness:?}");
        assert!(near(lateness.p99_us, 9_900_f64 * 9_900_f64), "{lateness:?}");
        assert!(near(lateness.p999_us, 9_990_f64 * 9_990_f64), "{lateness:?}");
        assert_eq!(lateness.max_us, 99_980.001);
        assert_eq!(lateness.count, 10_000);
    }

    #[test]
    fn nothing_is_not_late_and_a_stall_is_no_panic() {
        assert_eq!(Durations::default().percentiles(), Percentiles::default());
        let mut durations = Durations::default();
        durations.record(Duration::from_secs(60));
        assert_eq!(durations.percentiles().max_us, 60e6);
    }
}
