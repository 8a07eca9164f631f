//! Settings for the analysis of a capture.

/// Settings for the analysis of a capture.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisConfig {
    /// Time at the beginning of each flow that means and rates exclude.
    pub warm_up_ns: u64,
    /// Interval of the time series; 0 means no time series.
    pub sample_interval_ns: u64,
    /// Maximum number of samples in a flow's time series; limits the memory if timestamps in the
    /// capture are wrong.
    pub max_samples: usize,
}

impl Default for AnalysisConfig {
    fn default() -> Self {
        Self { warm_up_ns: 0, sample_interval_ns: 100_000_000, max_samples: 1 << 20 }
    }
}
