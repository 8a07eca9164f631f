//! Results for the data that one end of a connection sent to the other.

use crate::Peer;

/// Where a capture was taken, relative to one direction of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// At the sender.
    Sender,
    /// At the receiver.
    Receiver,
    /// The handshake is inconclusive or not captured; treated like the sender.
    Unknown,
}

impl Vantage {
    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Unknown => "unknown",
        }
    }
}

/// The data of one direction of a connection. Means and rates cover the window, counts cover the
/// whole lifetime. The window begins when the transfer does, plus the warm-up. The transfer begins
/// when the sender sends its first data, or its first full segment if at most one segment's bytes
/// precede it in smaller ones, such as initial messages. The window ends when the last acknowledged
/// data arrives. Events at the other end are assumed to be half of the shortest round trip away.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Number of the connection in the capture, from 0, in the order of first packets.
    pub connection: u32,
    /// The end that sent the data.
    pub sender: Peer,
    /// The end that received the data.
    pub receiver: Peer,
    /// Whether the data's sender opened the connection, if known.
    pub is_sender_client: Option<bool>,
    /// Where the capture was taken.
    pub vantage: Vantage,
    /// Time of the connection's first packet, since 1970.
    pub begin_ns: u64,
    /// Payload bytes of a full segment.
    pub mss_bytes: u32,
    /// Time from the connection's first packet to its last acknowledgement of new data.
    pub lifetime_ns: u64,
    /// Length of the window; `None` if the flow ended within the warm-up.
    pub window_ns: Option<u64>,
    /// Payload that was cumulatively acknowledged.
    pub delivered_bytes: u64,
    /// Payload that was cumulatively acknowledged within the window.
    pub window_delivered_bytes: u64,
    /// Payload sent within the window, retransmissions included.
    pub window_sent_bytes: u64,
    /// Round-trip times within the window, sorted; empty at the receiver.
    pub rtts_us: Vec<u32>,
    /// The minimum round-trip time over the lifetime, including the handshake.
    pub rtt_base_us: Option<u32>,
    /// Segments with payload.
    pub sent_pkts: u64,
    /// Segments with payload that were retransmissions.
    pub retransmitted_pkts: u64,
    /// Runs of retransmissions without an acknowledgement of new data in between.
    pub bursts: u64,
    /// Length of the longest run.
    pub longest_burst_pkts: u64,
    /// Retransmissions after the retransmission timer expired; `None` at the receiver.
    pub timeouts: Option<u64>,
    /// Segments with payload that arrived with a congestion mark; `None` unless at the receiver.
    pub ecn_marked_pkts: Option<u64>,
    /// Time from the connection's first packet until its last data was acknowledged, if it was
    /// closed.
    pub completion_ns: Option<u64>,
    /// The time series.
    pub samples: Vec<FlowSample>,
    /// Timeouts and recoveries, in order.
    pub events: Vec<FlowEvent>,
}

/// One interval of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSample {
    /// End of the interval, since 1970.
    pub at_ns: u64,
    /// Payload acknowledged in the interval.
    pub delivered_bytes: u64,
    /// Payload sent in the interval.
    pub sent_bytes: u64,
    /// Mean round-trip time in the interval.
    pub rtt_us: Option<f64>,
    /// Smoothed round-trip time at the end of the interval (RFC 6298 section 2).
    pub srtt_us: Option<f64>,
    /// Data sent, but neither acknowledged nor sacked, at the end of the interval.
    pub inflight_bytes: u64,
}

/// An event of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEvent {
    /// Time of the event, since 1970.
    pub at_ns: u64,
    /// `timeout`, or `recovery` for the first retransmission of a burst.
    pub event: &'static str,
    /// Number of the event among those of its kind, from 1.
    pub value: u64,
}
