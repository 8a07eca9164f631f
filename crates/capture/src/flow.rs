//! What is known of the data that one end of a connection sent to the other.

use crate::Peer;

/// Where a capture was taken, as seen from one direction of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// Beside their sender.
    Sender,
    /// Beside their receiver.
    Receiver,
    /// The handshake does not tell, or is not in the capture; taken as beside the sender.
    Unknown,
}

impl Vantage {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Unknown => "unknown",
        }
    }
}

/// The data of one direction of a connection. Means and rates are of the window, counts are of the
/// whole life. The window begins when the transfer does, plus the warm-up: when its sender sends the
/// first data, or the first full segment where up to a segment's bytes in smaller ones, what the ends
/// have to say to each other first, come before. It ends when the last data arrive that were
/// acknowledged. What happened at the other end is taken as half of the shortest round trip away.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Number of its connection in the capture, from 0, in the order of their first packets.
    pub connection: u32,
    /// The end that sent the data.
    pub sender: Peer,
    /// The end that received them.
    pub receiver: Peer,
    /// Whether the data's sender opened the connection, where that is known.
    pub is_sender_client: Option<bool>,
    /// Where the capture was taken.
    pub vantage: Vantage,
    /// The connection's first packet, since 1970.
    pub begin_ns: u64,
    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// From the connection's first packet to its last acknowledgement of new data.
    pub lifetime_ns: u64,
    /// Length of the window; `None` if everything was within the warm-up.
    pub window_ns: Option<u64>,
    /// Payload that the receiver had in order.
    pub delivered_bytes: u64,
    /// The same within the window.
    pub window_delivered_bytes: u64,
    /// Payload sent within the window, retransmissions included.
    pub window_sent_bytes: u64,
    /// Round-trip times within the window, sorted; none beside the receiver.
    pub rtts_us: Vec<u32>,
    /// The shortest round trip ever, that of the handshake included.
    pub rtt_base_us: Option<u32>,
    /// Segments with payload.
    pub sent_pkts: u64,
    /// Of these, sent again.
    pub retransmitted_pkts: u64,
    /// Runs of retransmissions without an acknowledgement of new data between.
    pub bursts: u64,
    /// The longest of them.
    pub longest_burst_pkts: u64,
    /// Retransmissions because nothing had been heard for so long.
    pub timeouts: Option<u64>,
    /// Segments with payload that arrived with a congestion mark.
    pub ecn_marked_pkts: Option<u64>,
    /// From the connection's first packet until its last data were acknowledged, if it was closed.
    pub completion_ns: Option<u64>,
    /// The time series.
    pub samples: Vec<FlowSample>,
    /// Timeouts and recoveries.
    pub events: Vec<FlowEvent>,
}

/// One interval of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSample {
    /// The interval's end, since 1970.
    pub at_ns: u64,
    /// Payload acknowledged in it.
    pub delivered_bytes: u64,
    /// Payload sent in it.
    pub sent_bytes: u64,
    /// Mean of its round trips.
    pub rtt_us: Option<f64>,
    /// Smoothed round-trip time at its end (RFC 6298 section 2).
    pub srtt_us: Option<f64>,
    /// Data sent and neither acknowledged nor reported as received, at its end.
    pub inflight_bytes: u64,
}

/// Something that happened to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEvent {
    /// When, since 1970.
    pub at_ns: u64,
    /// `timeout`, or `recovery` at the first retransmission of a burst.
    pub event: &'static str,
    /// Which one of its kind, from 1.
    pub value: u64,
}
