//! Random numbers indexed by time interval, so that a number does not depend on how many were
//! drawn before.

use cwndlab_units::{Stream, split_mix_64};

/// The random numbers of one component, one for each index.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    key: u64,
}

impl Draws {
    /// Creates the random numbers of `component` in the run with this seed.
    pub(crate) fn new(run_seed: u64, component: &str) -> Self {
        Self { key: Stream::new(run_seed, component).next_u64() }
    }

    /// 64 random bits.
    pub(crate) fn bits(&self, index: u64) -> u64 {
        split_mix_64(self.key, index)
    }

    /// A number from 0 up to but not including 1.
    pub(crate) fn unit(&self, index: u64) -> f64 {
        (self.bits(index) >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_uniform_and_neighbours_uncorrelated() {
        let draws = Draws::new(5, "blocks");
        let n = 200_000_u32;
        let (mut sum, mut product) = (0.0, 0.0);
        for index in 0..u64::from(n) {
            let (x, next) = (draws.unit(index), draws.unit(index + 1));
            assert!((0.0..1.0).contains(&x));
            sum += x;
            product += (x - 0.5) * (next - 0.5);
        }
        let n = f64::from(n);
        assert!((sum / n - 0.5).abs() < 5.0 / (12.0 * n).sqrt(), "{}", sum / n);
        assert!((product / n).abs() < 5.0 / (12.0 * n.sqrt()), "{}", product / n);
    }

    #[test]
    fn components_and_runs_have_draws_of_their_own() {
        let first = |seed, name| Draws::new(seed, name).bits(0);
        assert_ne!(first(1, "down"), first(1, "up"));
        assert_ne!(first(1, "down"), first(2, "down"));
        assert_eq!(first(1, "down"), first(1, "down"));
    }
}
