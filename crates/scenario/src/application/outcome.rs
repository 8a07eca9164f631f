//! The results of an application from its user's point of view.

/// Results of an application from its user's point of view; `None` if the application has no such
/// result, or nothing was measured.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Outcome {
    /// Responses and pages completed in the window; 0 if an application with requests received no
    /// response.
    pub responses: Option<u64>,
    /// Median time from a request to the last byte of its response, or of a page.
    pub response_p50_ms: Option<f64>,
    /// 95th percentile of the time from a request to the last byte of its response, or of a page.
    pub response_p95_ms: Option<f64>,
    /// 99th percentile of the time from a request to the last byte of its response, or of a page.
    pub response_p99_ms: Option<f64>,
    /// Geometric mean of the time from a request to the last byte of its response, or of a page.
    pub response_geometric_mean_ms: Option<f64>,
    /// Mean encoding rate of the video chunks that arrived in the window.
    pub video_bitrate_mbit_s: Option<f64>,
    /// Share of the time since the start of playback in which the player's buffer was empty.
    pub video_rebuffering_pct: Option<f64>,
    /// Time from the flow's start to the start of playback.
    pub video_startup_ms: Option<f64>,
    /// Share of the datagrams sent in the window that never arrived.
    pub datagram_loss_pct: Option<f64>,
    /// 95th percentile of the time from a datagram's sending to its arrival.
    pub datagram_delay_p95_ms: Option<f64>,
}
