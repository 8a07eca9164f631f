//! What a user notices of an application.

/// The measures of an application that its user notices; `None` where an application has no such
/// measure, or nothing was measured.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Outcome {
    /// Responses and pages that were complete in the window; 0 of an application that asks and was
    /// not answered.
    pub responses: Option<u64>,
    /// Median time from a request to the last byte of its response, or of a page.
    pub response_p50_ms: Option<f64>,
    /// 95th percentile of the same.
    pub response_p95_ms: Option<f64>,
    /// 99th percentile of the same.
    pub response_p99_ms: Option<f64>,
    /// Geometric mean of the same.
    pub response_geometric_mean_ms: Option<f64>,
    /// Mean rate at which the video's chunks are encoded that came in the window.
    pub video_bitrate_mbit_s: Option<f64>,
    /// Share of the time since playing began in which the player had nothing to play.
    pub video_rebuffering_pct: Option<f64>,
    /// From the flow's start until its video began to play.
    pub video_startup_ms: Option<f64>,
    /// Share of the datagrams sent in the window that never arrived.
    pub datagram_loss_pct: Option<f64>,
    /// 95th percentile of the time from a datagram's sending to its arrival.
    pub datagram_delay_p95_ms: Option<f64>,
}
