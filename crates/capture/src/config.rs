//! What an analysis leaves out and keeps.

/// What is left out and what is kept.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisConfig {
    /// Left out of each flow's means and rates at its beginning.
    pub warm_up_ns: u64,
    /// Interval of the time series; 0: none.
    pub sample_interval_ns: u64,
    /// A flow's samples end here, however long a capture claims to be.
    pub max_samples: usize,
}

impl Default for AnalysisConfig {
    fn default() -> Self {
        Self { warm_up_ns: 0, sample_interval_ns: 100_000_000, max_samples: 1 << 20 }
    }
}
