//! Settings of an analysis.

/// Settings of an analysis.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisConfig {
    /// Time at the beginning of each flow that its means and rates exclude.
    pub warm_up_ns: u64,
    /// Interval of the time series; 0 for none.
    pub sample_interval_ns: u64,
    /// Maximum number of a flow's samples, however long the capture claims to be.
    pub max_samples: usize,
}

impl Default for AnalysisConfig {
    fn default() -> Self {
        Self { warm_up_ns: 0, sample_interval_ns: 100_000_000, max_samples: 1 << 20 }
    }
}
