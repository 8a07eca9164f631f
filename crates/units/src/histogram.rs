//! A histogram: the distribution of hundreds of millions of values in a fixed amount of memory.

/// A log-linear histogram: 2 to the power of `SUB_BITS` buckets for each doubling of the value.
/// Values from `MOST` on share the last bucket.
///
/// The error of a quantile is at most half the width of a bucket: 0.2 % with 8 bits, and zero for
/// values below 2 to the power of `SUB_BITS + 1`.
///
/// The method is that of Gil Tene's HdrHistogram: the highest bits of a value select its bucket.
#[derive(Clone, Debug)]
pub struct Histogram<const SUB_BITS: u32, const MOST: u64> {
    buckets: Vec<u32>,
    sum: u64,
}

impl<const SUB_BITS: u32, const MOST: u64> Default for Histogram<SUB_BITS, MOST> {
    /// Creates a histogram without values.
    fn default() -> Self {
        Self { buckets: vec![0; bucket::<SUB_BITS>(MOST) + 1], sum: 0 }
    }
}

impl<const SUB_BITS: u32, const MOST: u64> Histogram<SUB_BITS, MOST> {
    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.buckets[bucket::<SUB_BITS>(value.min(MOST))] += 1;
        self.sum += value;
    }

    /// Number of values recorded so far.
    pub fn count(&self) -> u64 {
        self.buckets.iter().copied().map(u64::from).sum()
    }

    /// Mean of the recorded values; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        match self.count() {
            0 => None,
            count => Some(self.sum as f64 / count as f64),
        }
    }

    /// The value below which `percent` per cent of the recorded values lie; `None` without values.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let last = self.count().checked_sub(1)?;
        let rank = percent / 100.0 * last as f64;
        let mut below = 0_u64;
        let mut first = 0;
        // Most buckets are far from the value, so they are skipped in groups.
        for passed in self.buckets.chunks(64) {
            let values: u64 = passed.iter().map(|&values| u64::from(values)).sum();
            if rank < (below + values) as f64 {
                break;
            }
            below += values;
            first += passed.len();
        }
        for (index, &values) in self.buckets.iter().enumerate().skip(first) {
            if values > 0 && rank < (below + u64::from(values)) as f64 {
                let (low, width) = bounds::<SUB_BITS>(index);
                if width == 1 {
                    return Some(low as f64);
                }
                let share = (rank - below as f64 + 0.5) / f64::from(values);
                return Some(low as f64 + share.clamp(0.0, 1.0) * width as f64);
            }
            below += u64::from(values);
        }
        None
    }
}

/// Index of the bucket that contains a value.
#[inline]
fn bucket<const SUB_BITS: u32>(value: u64) -> usize {
    let shift = (63 - (value | (1 << SUB_BITS)).leading_zeros()) - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (value >> shift)) as usize
}

/// The lowest value of a bucket, and the number of different values that share the bucket.
fn bounds<const SUB_BITS: u32>(index: usize) -> (u64, u64) {
    let shift = (index >> SUB_BITS).saturating_sub(1);
    let top = index - (shift << SUB_BITS);
    ((top as u64) << shift, 1 << shift)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOST: u64 = (1 << 28) - 1;
    type Fine = Histogram<8, MOST>;

    #[test]
    fn without_values_nothing_is_defined() {
        let histogram = Fine::default();
        assert_eq!((histogram.mean(), histogram.percentile(50.0)), (None, None));
    }

    #[test]
    fn one_value_is_every_percentile() {
        let mut histogram = Fine::default();
        histogram.record(300);
        assert_eq!(histogram.percentile(0.0), Some(300.0));
        assert_eq!(histogram.percentile(100.0), Some(300.0));
        assert_eq!((histogram.mean(), histogram.count()), (Some(300.0), 1));
    }

    #[test]
    fn a_huge_value_does_not_panic() {
        let mut histogram = Fine::default();
        histogram.record(u64::from(u32::MAX));
        assert!(histogram.percentile(50.0).expect("one value") > 2e8);
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(value in 0..=MOST) {
            let (low, width) = bounds::<8>(bucket::<8>(value));
            prop_assert!(low <= value && value < low + width);
            prop_assert!(width == 1 || width as f64 / low as f64 <= 1.0 / 256.0);
            let (low, width) = bounds::<6>(bucket::<6>(value));
            prop_assert!(low <= value && value < low + width);
            prop_assert!(width == 1 || width as f64 / low as f64 <= 1.0 / 64.0);
        }

        #[test]
        fn percentiles_are_those_of_the_sorted_values(
            mut values in prop::collection::vec(1_u32..10_000_000, 1..300),
            percent in 0.0f64..100.0,
        ) {
            let mut histogram = Fine::default();
            for &value in &values {
                histogram.record(value.into());
            }
            values.sort_unstable();
            let rank = (percent / 100.0 * (values.len() - 1) as f64) as usize;
            let low = f64::from(values[rank]) * (1.0 - 1.0 / 256.0) - 1.0;
            let next = values[(rank + 1).min(values.len() - 1)];
            let high = f64::from(next) * (1.0 + 1.0 / 256.0) + 1.0;
            let got = histogram.percentile(percent).expect("values");
            prop_assert!(low <= got && got <= high, "{got} not in {low}..{high}");
        }
    }
}
