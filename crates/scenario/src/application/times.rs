//! Times that an application's user experiences, and their percentiles.

use cwndlab_units::{Duration, Time};

/// Measured times, each with the moment of its measurement.
#[derive(Debug, Default)]
pub(super) struct Times {
    entries: Vec<(Time, Duration)>,
}

impl Times {
    pub(super) fn push(&mut self, now: Time, time: Duration) {
        self.entries.push((now, time));
    }

    /// The times that were measured after `from` and not after `until`, in milliseconds, in
    /// ascending order.
    pub(super) fn sorted_ms(&self, from: Time, until: Time) -> Vec<f64> {
        let is_inside = |at: Time| from < at && at <= until;
        let inside = self.entries.iter().filter(|entry| is_inside(entry.0));
        let mut times: Vec<f64> = inside.map(|entry| entry.1.as_millis_f64()).collect();
        times.sort_by(f64::total_cmp);
        times
    }
}

/// Percentile of sorted values; interpolates linearly between the two nearest values.
pub(super) fn percentile(sorted: &[f64], percent: f64) -> Option<f64> {
    let rank = percent / 100.0 * sorted.len().checked_sub(1)? as f64;
    let below = sorted[rank as usize];
    let above = sorted[(rank as usize + 1).min(sorted.len() - 1)];
    Some(below + (rank - libm::floor(rank)) * (above - below))
}

/// Geometric mean of positive values.
pub(super) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: f64 = values.iter().map(|&value| libm::log(value)).sum();
    (!values.is_empty()).then(|| libm::exp(logarithms / values.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_between_their_neighbours() {
        let values = [10.0, 20.0, 30.0, 40.0, 50.0];
        assert_eq!(percentile(&values, 50.0), Some(30.0));
        assert_eq!(percentile(&values, 95.0), Some(48.0));
        assert_eq!(percentile(&values, 100.0), Some(50.0));
        assert_eq!(percentile(&values[..1], 95.0), Some(10.0));
        assert_eq!(percentile(&[], 95.0), None);
    }

    #[test]
    fn the_geometric_mean_is_the_arithmetic_one_of_logarithms() {
        let mean = geometric_mean(&[1.0, 100.0]).expect("values");
        assert!((mean - 10.0).abs() < 1e-12, "{mean}");
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn times_outside_the_window_do_not_count() {
        let mut times = Times::default();
        for second in 1..=4 {
            times.push(Time::from_secs(second), Duration::from_secs(10 - second));
        }
        let inside = times.sorted_ms(Time::from_secs(1), Time::from_secs(3));
        assert_eq!(inside, [7_000.0, 8_000.0]);
    }
}
