//! A frame on the air, and what holds for all of a channel.

use cwndlab_units::{Duration, Time};

use super::config::WifiConfig;
use super::places::Places;

/// What holds for all frames of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rules {
    /// What each packet has before and behind it.
    pub(super) header_bytes: u32,
    pub(super) attempts: u32,
    /// Frames in a row without response after which the contention begins again.
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
            // LLC and SNAP 8, FCS 4, and a header of 24, with QoS 26 (802.11-2012 section 8.2).
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
    /// Its packets, by place in the lane; none if it asks what has arrived, and so tells what was
    /// given up.
    pub(super) chosen: Places,
    /// Whether each of them is received, and how many are.
    pub(super) received: Vec<bool>,
    pub(super) received_count: u32,
    pub(super) begins: Time,
    /// When its packets begin, after RTS and CTS.
    pub(super) data_begins: Time,
    pub(super) data: Duration,
    /// Length of RTS, if there is one.
    pub(super) rts: Option<Duration>,
    pub(super) response: Duration,
    /// When the last of it that is on the air ends.
    pub(super) ends: Time,
    /// When the channel may be idle again as far as it is concerned.
    pub(super) rest_ends: Time,
    pub(super) is_answered: bool,
    /// How long the sender may keep the channel.
    pub(super) txop: Duration,
}

/// Lengths of control frames (802.11-2012 section 8.3.1); the block ACK is the compressed one.
pub(super) const ACK_BYTES: u64 = 14;
pub(super) const RTS_BYTES: u64 = 20;
pub(super) const CTS_BYTES: u64 = 14;
pub(super) const BLOCK_ACK_BYTES: u64 = 32;
pub(super) const BLOCK_ACK_REQUEST_BYTES: u64 = 24;
/// What a receiver must hear undisturbed to recognise a frame: the legacy preamble, and in it 24
/// bits at the slowest rate.
pub(super) const PREAMBLE: Duration = Duration::from_micros(20);
pub(super) const SIGNAL_BYTES: u64 = 3;
