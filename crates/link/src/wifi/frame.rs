//! A frame on the air, and the values that are constant for a channel.

use cwndlab_units::{Duration, Time};

use super::config::WifiConfig;
use super::places::Places;

/// Values that are constant for all frames of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rules {
    /// Bytes of headers and trailers that are added to each packet.
    pub(super) header_bytes: u32,
    pub(super) attempts: u32,
    /// Number of consecutive frames without a response after which the contention window is reset.
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
    /// Index of the transmission rate of the frame.
    pub(super) rate: u8,
    /// Places in the lane of the frame's packets; empty for a block ACK request, which also
    /// reports packets that were given up.
    pub(super) chosen: Places,
    /// For each packet, whether it is received; the number of received packets follows.
    pub(super) received: Vec<bool>,
    pub(super) received_count: u32,
    pub(super) begins: Time,
    /// Time at which the packets start, after RTS and CTS.
    pub(super) data_begins: Time,
    pub(super) data: Duration,
    /// Duration of the RTS, if the frame has one.
    pub(super) rts: Option<Duration>,
    pub(super) response: Duration,
    /// Time at which the last part of the frame that is sent ends.
    pub(super) ends: Time,
    /// Time at which the response, or the wait for it, ends.
    pub(super) rest_ends: Time,
    pub(super) is_answered: bool,
    /// Remaining transmission opportunity.
    pub(super) txop: Duration,
}

/// Length of an ACK frame (802.11-2012 section 8.3.1).
pub(super) const ACK_BYTES: u64 = 14;
/// Length of an RTS frame.
pub(super) const RTS_BYTES: u64 = 20;
/// Length of a CTS frame.
pub(super) const CTS_BYTES: u64 = 14;
/// Length of a block ACK frame, in its compressed form.
pub(super) const BLOCK_ACK_BYTES: u64 = 32;
/// Length of a block ACK request frame.
pub(super) const BLOCK_ACK_REQUEST_BYTES: u64 = 24;
/// The parts without which a receiver does not detect a frame: the legacy preamble, and in it the
/// SIGNAL field of 24 bits at the slowest rate.
pub(super) const PREAMBLE: Duration = Duration::from_micros(20);
pub(super) const SIGNAL_BYTES: u64 = 3;
