//! Results for the data that one end of a connection sent to the other end.

use crate::Peer;

/// Where a capture was taken, relative to one direction of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// At the sender.
    Sender,
    /// At the receiver.
    Receiver,
    /// The handshake is incomplete or does not show where the capture was taken; analysed as if
    /// captured at the sender.
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

/// The data of one direction of a connection. Means and rates cover the measurement window; counts
/// cover the whole lifetime. The transfer begins with the first data, or with the first full
/// segment if smaller segments, such as initial messages, precede it and contain at most one full
/// segment's bytes. The measurement window begins when the warm-up after the start of the transfer
/// has passed; it ends when the last acknowledged data arrive. Events at the other end are assumed
/// to be half of the shortest round-trip time away.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Number of the connection in the capture, from 0, in the order of the connections' first
    /// packets.
    pub connection: u32,
    /// The end that sent the data.
    pub sender: Peer,
    /// The end that received the data.
    pub receiver: Peer,
    /// Whether the end that sent the data also opened the connection; `None` if unknown.
    pub is_sender_client: Option<bool>,
    /// Where the capture was taken.
    pub vantage: Vantage,
    /// Time of the connection's first packet, since 1970.
    pub begin_ns: u64,
    /// Payload bytes of a full segment.
    pub mss_bytes: u32,
    /// Time from the connection's first packet to its last acknowledgement of new data.
    pub lifetime_ns: u64,
    /// Length of the measurement window; `None` if the flow ended within the warm-up.
    pub window_ns: Option<u64>,
    /// Payload that was cumulatively acknowledged.
    pub delivered_bytes: u64,
    /// Payload that was cumulatively acknowledged within the measurement window.
    pub window_delivered_bytes: u64,
    /// Payload sent within the measurement window, including retransmissions.
    pub window_sent_bytes: u64,
    /// Round-trip times within the measurement window, sorted; empty for a capture at the
    /// receiver.
    pub rtts_us: Vec<u32>,
    /// Minimum round-trip time over the lifetime of the connection, including the handshake.
    pub rtt_base_us: Option<u32>,
    /// Segments with payload.
    pub sent_pkts: u64,
    /// Number of retransmitted segments with payload.
    pub retransmitted_pkts: u64,
    /// Number of bursts; a burst is a sequence of retransmissions without an acknowledgement of
    /// new data in between.
    pub bursts: u64,
    /// Number of packets in the longest burst of retransmissions.
    pub longest_burst_pkts: u64,
    /// Number of expirations of the retransmission timer; `None` for a capture at the receiver.
    pub timeouts: Option<u64>,
    /// Segments with payload that arrived with the ECN mark Congestion Experienced; `None` unless
    /// captured at the receiver.
    pub ecn_marked_pkts: Option<u64>,
    /// Time from the connection's first packet until its last data were acknowledged; `None` if
    /// the connection was not closed.
    pub completion_ns: Option<u64>,
    /// The time series.
    pub samples: Vec<FlowSample>,
    /// Timeouts and recoveries, in order of time.
    pub events: Vec<FlowEvent>,
}

/// One interval of a flow's time series.
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
    /// Data in flight at the end of the interval: sent, but neither acknowledged nor covered by
    /// SACK.
    pub inflight_bytes: u64,
}

/// An event of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEvent {
    /// Time of the event, since 1970.
    pub at_ns: u64,
    /// `timeout` for an expired retransmission timer, or `recovery` for the first retransmission
    /// of a burst.
    pub event: &'static str,
    /// Number of the event among the flow's events of the same kind, from 1.
    pub value: u64,
}
