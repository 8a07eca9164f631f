//! The slow start threshold that older releases of Linux cache for the next connection to the same
//! host (tcp(7), `tcp_no_metrics_save`).

use cwndlab_cc::INFINITE_SSTHRESH;

use super::LinuxEndpoint;
use crate::info::CaState;

/// Values cached from earlier connections to the same host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Metrics {
    /// Whether the stack caches any values.
    is_kept: bool,
    ssthresh_pkts: Option<u32>,
}

/// State of a connection when its values are cached.
#[derive(Clone, Copy, Debug)]
struct Standing {
    cwnd_pkts: u32,
    ssthresh_pkts: u32,
    is_open: bool,
}

impl Metrics {
    /// Creates an empty cache.
    pub(super) fn new(is_kept: bool) -> Self {
        Self { is_kept, ssthresh_pkts: None }
    }

    /// The initial slow start threshold of a connection, if one is cached.
    pub(super) fn ssthresh_pkts(&self) -> Option<u32> {
        self.ssthresh_pkts
    }

    fn remember(&mut self, pkts: u32) {
        if self.is_kept {
            self.ssthresh_pkts = Some(pkts);
        }
    }

    /// `tcp_update_metrics`: the slow start threshold to cache for the next connection.
    fn after(self, now: Standing) -> Option<u32> {
        if !self.is_kept {
            return None;
        }
        let half = now.cwnd_pkts / 2;
        if now.ssthresh_pkts >= INFINITE_SSTHRESH {
            // Slow start never ended, so half of the window is safe.
            self.ssthresh_pkts.map(|known| known.max(half))
        } else if now.cwnd_pkts > now.ssthresh_pkts && now.is_open {
            Some(now.ssthresh_pkts.max(half))
        } else {
            self.ssthresh_pkts.map(|known| known.max(now.ssthresh_pkts))
        }
    }
}

impl LinuxEndpoint {
    /// Sets the cached slow start threshold of the last connection to the same host; must be
    /// called before this connection opens.
    pub(crate) fn remember_ssthresh(&mut self, pkts: u32) {
        self.connection.metrics.remember(pkts);
    }

    /// The slow start threshold to cache for the next connection to the same host, if known.
    pub(crate) fn ssthresh_to_remember(&self) -> Option<u32> {
        self.connection.metrics.after(Standing {
            cwnd_pkts: self.sk.snd_cwnd,
            ssthresh_pkts: self.sk.snd_ssthresh,
            is_open: self.ca_state() == CaState::Open as u8,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(known: Option<u32>, cwnd_pkts: u32, ssthresh_pkts: u32, is_open: bool) -> Option<u32> {
        let metrics = Metrics { is_kept: true, ssthresh_pkts: known };
        metrics.after(Standing { cwnd_pkts, ssthresh_pkts, is_open })
    }

    #[test]
    fn slow_start_that_never_ended_teaches_half_of_its_window_at_most() {
        assert_eq!(after(None, 100, INFINITE_SSTHRESH, true), None);
        assert_eq!(after(Some(20), 100, INFINITE_SSTHRESH, true), Some(50));
        assert_eq!(after(Some(80), 100, INFINITE_SSTHRESH, true), Some(80));
    }

    #[test]
    fn a_window_above_its_threshold_teaches_the_threshold_or_half_of_the_window() {
        assert_eq!(after(None, 30, 20, true), Some(20));
        assert_eq!(after(None, 90, 20, true), Some(45));
        assert_eq!(after(None, 90, 20, false), None, "in the middle of a repair");
        assert_eq!(after(Some(10), 15, 20, true), Some(20));
    }

    #[test]
    fn stacks_that_save_nothing_know_nothing() {
        let mut metrics = Metrics::new(false);
        metrics.remember(7);
        assert_eq!(metrics.ssthresh_pkts(), None);
        let now = Standing { cwnd_pkts: 90, ssthresh_pkts: 20, is_open: true };
        assert_eq!(metrics.after(now), None);
    }
}
