//! A frame on the air, and the constants of a channel.

use cwndlab_units::{Duration, Time};

use super::config::WifiConfig;
use super::places::Places;

/// Constants for all frames of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rules {
    /// Bytes of headers and trailers of each packet.
    pub(super) header_bytes: u32,
    pub(super) attempts: u32,
    /// Consecutive frames without a response after which the contention window is reset.
    pub(super) failures: u32,
    pub(super) queue_packets: u32,
    pub(super) queue_time: Duration,
    pub(super) asks_before_repeating: bool,
    pub(super) asks_after_expiry: bool,
    pub(super) max_packets: u32,
    pub(super) max_bytes: u64,
    pub(super) max_time: Duration,
    pub(super) rts_from_bytes: u64,
    pub(super) rests_after_failure: bool,
}

impl Rules {
    pub(super) fn new(config: &WifiConfig) -> Self {
        let aggregation = config.aggregation.unwrap_or_default();
        let max_bytes = aggregation.max_bytes.unwrap_or(config.aggregate_limit());
        Self {
            // LLC and SNAP 8, FCS 4, MAC header 24, or 26 with QoS (802.11-2012 section 8.2).
            header_bytes: if config.has_priorities() { 38 } else { 36 },
            attempts: config.most_attempts(),
            failures: config.most_failures(),
            queue_packets: config.queue_packets,
            queue_time: config.queue_time,
            asks_before_repeating: config.asks_before_repeating,
            asks_after_expiry: config.asks_after_expiry,
            max_packets: if config.aggregation.is_some() { aggregation.max_packets } else { 1 },
            max_bytes: u64::from(max_bytes),
            max_time: aggregation.max_time,
            rts_from_bytes: config.rts_threshold_bytes.map_or(u64::MAX, u64::from),
            rests_after_failure: config.eifs,
        }
    }
}

/// A frame on the air.
#[derive(Clone, Debug, Default)]
pub(super) struct Transmission {
    pub(super) from: usize,
    pub(super) lane: usize,
    /// Index of its rate.
    pub(super) rate: u8,
    /// Places of its packets in the lane; empty for a block ACK request, which also reports packets
    /// that were given up.
    pub(super) chosen: Places,
    /// Whether each packet is received; the count of received packets follows.
    pub(super) received: Vec<bool>,
    pub(super) received_count: u32,
    pub(super) begins: Time,
    /// Start of its packets, after RTS and CTS.
    pub(super) data_begins: Time,
    pub(super) data: Duration,
    /// Duration of the RTS, if any.
    pub(super) rts: Option<Duration>,
    pub(super) response: Duration,
    /// End of its last part that is sent.
    pub(super) ends: Time,
    /// End of the response or of the wait for it.
    pub(super) rest_ends: Time,
    pub(super) is_answered: bool,
    /// Remaining transmission opportunity.
    pub(super) txop: Duration,
}

/// Lengths of control frames (802.11-2012 section 8.3.1); the block ACK is the compressed one.
pub(super) const ACK_BYTES: u64 = 14;
pub(super) const RTS_BYTES: u64 = 20;
pub(super) const CTS_BYTES: u64 = 14;
pub(super) const BLOCK_ACK_BYTES: u64 = 32;
pub(super) const BLOCK_ACK_REQUEST_BYTES: u64 = 24;
/// The undisturbed parts that a receiver needs to detect a frame: the legacy preamble, and in it
/// the SIGNAL field of 24 bits at the slowest rate.
pub(super) const PREAMBLE: Duration = Duration::from_micros(20);
pub(super) const SIGNAL_BYTES: u64 = 3;
