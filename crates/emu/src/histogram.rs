//! How long something took, by the hundred million in a fixed amount of memory.

use cwndlab_units::Duration;
use serde::Serialize;

/// Buckets per doubling, as a power of two: a percentile is within 1.6 % of the true one.
const SUB_BITS: u32 = 6;
/// From 17 seconds on, all is one bucket.
const MOST_NANOS: u64 = (1 << 34) - 1;

/// Counts of durations, in buckets whose width grows with the duration.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    most: Duration,
}

/// Percentiles of what took so long.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Percentiles {
    /// How many there were.
    pub count: u64,
    /// Half of them took no longer than this.
    pub p50_us: f64,
    /// 99 of 100 took no longer than this.
    pub p99_us: f64,
    /// 999 of 1000 took no longer than this.
    pub p999_us: f64,
    /// The longest.
    pub max_us: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: vec![0; bucket(MOST_NANOS) + 1], count: 0, most: Duration::ZERO }
    }
}

impl Histogram {
    /// Counts one.
    #[inline]
    pub fn record(&mut self, took: Duration) {
        self.buckets[bucket(took.as_nanos().min(MOST_NANOS))] += 1;
        self.count += 1;
        self.most = self.most.max(took);
    }

    /// What is told of them; all zero if there are none.
    pub fn percentiles(&self) -> Percentiles {
        Percentiles {
            count: self.count,
            p50_us: self.quantile_us(0.5),
            p99_us: self.quantile_us(0.99),
            p999_us: self.quantile_us(0.999),
            max_us: self.most.as_nanos() as f64 / 1e3,
        }
    }

    /// 0 if there is nothing.
    fn quantile_us(&self, quantile: f64) -> f64 {
        let rank = (quantile * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (index, &count) in self.buckets.iter().enumerate() {
            seen += count;
            if count > 0 && seen >= rank {
                return (highest(index) as f64).min(self.most.as_nanos() as f64) / 1e3;
            }
        }
        0.0
    }
}

#[inline]
fn bucket(nanos: u64) -> usize {
    let shift = (63 - (nanos | (1 << SUB_BITS)).leading_zeros()) - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (nanos >> shift)) as usize
}

/// The largest value of a bucket.
fn highest(index: usize) -> u64 {
    let shift = (index >> SUB_BITS).saturating_sub(1);
    let top = (index - (shift << SUB_BITS)) as u64;
    ((top + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_durations() {
        let mut histogram = Histogram::default();
        for nanos in (0..10_000_u64).map(|n| n * n) {
            histogram.record(Duration::from_nanos(nanos));
        }
        let lateness = histogram.percentiles();
        let near = |got: f64, nanos: f64| (got * 1e3 / nanos - 1.0).abs() < 0.017;
        assert!(near(lateness.p50_us, 5_000_f64 * 5_000_f64), "{lateness:?}");
        assert!(near(lateness.p99_us, 9_900_f64 * 9_900_f64), "{lateness:?}");
        assert!(near(lateness.p999_us, 9_990_f64 * 9_990_f64), "{lateness:?}");
        assert_eq!(lateness.max_us, 99_980.001);
        assert_eq!(lateness.count, 10_000);
    }

    #[test]
    fn every_value_lies_in_its_bucket() {
        for nanos in (0..40).flat_map(|bits| [(1_u64 << bits) - 1, 1 << bits, (1 << bits) + 1]) {
            let nanos = nanos.min(MOST_NANOS);
            let index = bucket(nanos);
            assert!(nanos <= highest(index), "{nanos}");
            assert!(index == 0 || highest(index - 1) < nanos, "{nanos}");
        }
    }

    #[test]
    fn nothing_is_not_late_and_a_stall_is_no_panic() {
        assert_eq!(Histogram::default().percentiles(), Percentiles::default());
        let mut histogram = Histogram::default();
        histogram.record(Duration::from_secs(60));
        assert_eq!(histogram.percentiles().max_us, 60e6);
    }
}
