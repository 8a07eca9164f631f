//! What can be seen of an endpoint from outside: a snapshot, counters and events.

use cwndlab_units::{Duration, Rate};

/// State of the ACK state machine, in Linux's order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub enum CaState {
    /// Nothing is wrong.
    #[default]
    Open = 0,
    /// Duplicate ACKs or SACKs were seen, nothing is known to be lost.
    Disorder = 1,
    /// The window is being reduced, without loss: ECN or a local drop.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// After a retransmission timeout.
    Loss = 4,
}

impl CaState {
    pub(crate) const fn from_u8(state: u8) -> Self {
        match state {
            0 => Self::Open,
            1 => Self::Disorder,
            2 => Self::Cwr,
            3 => Self::Recovery,
            _ => Self::Loss,
        }
    }
}

/// A snapshot of a sender, named like `TCP_INFO`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Info {
    /// Congestion window in packets.
    pub cwnd_pkts: u32,
    /// Slow start threshold in packets, none before the first reduction.
    pub ssthresh_pkts: Option<u32>,
    /// Smoothed RTT in microseconds, 0 before the first sample.
    pub srtt_us: u32,
    /// Mean deviation of the RTT in microseconds.
    pub rttvar_us: u32,
    /// Lowest RTT of the last 300 s in microseconds.
    pub min_rtt_us: Option<u32>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Packets sent and not cumulatively acknowledged.
    pub unacked_pkts: u32,
    /// Packets that SACK reported.
    pub sacked_pkts: u32,
    /// Packets thought lost.
    pub lost_pkts: u32,
    /// Retransmitted packets in flight.
    pub retrans_pkts: u32,
    /// Packets that came marked, by what the other end reports.
    pub delivered_ce_pkts: u32,
    /// Packets thought to be in the network.
    pub in_flight_pkts: u32,
    /// Consecutive retransmission timeouts.
    pub retransmits: u32,
    /// Doublings of the retransmission timeout.
    pub backoff: u32,
    /// State of the ACK state machine.
    pub ca_state: CaState,
    /// First unacknowledged byte, counted from the first byte of the stream.
    pub snd_una_bytes: u64,
    /// Next byte to send, counted from the first byte of the stream.
    pub snd_nxt_bytes: u64,
    /// The peer's window in bytes.
    pub snd_wnd_bytes: u32,
    /// Bytes written and not sent yet.
    pub notsent_bytes: u64,
    /// Pacing rate, none if unlimited.
    pub pacing_rate: Option<Rate>,
    /// The latest delivery rate sample.
    pub delivery_rate: Option<Rate>,
    /// What the algorithm last said of its phase, an index into its phases.
    pub phase: u8,
}

/// Counters of one endpoint since it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Segments sent, pure ACKs included.
    pub segments_out: u64,
    /// Data segments sent again.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Timeouts that were undone.
    pub spurious_timeouts: u64,
    /// Entries into fast recovery.
    pub recoveries: u64,
    /// Tail loss probes sent.
    pub tail_loss_probes: u64,
    /// Window reductions that were undone, timeouts included.
    pub undos: u64,
    /// How often the host had no room for a segment, which then was not sent.
    pub refusals: u64,
    /// Delayed ACKs that the timer sent.
    pub delayed_acks: u64,
    /// Segments received whole a second time.
    pub duplicate_segments: u64,
    /// Time with data in flight or waiting.
    pub busy: Duration,
    /// Of it, limited by the peer's window.
    pub rwnd_limited: Duration,
    /// Of it, limited by the send buffer.
    pub sndbuf_limited: Duration,
}

/// Something that a recorder may want to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TcpEvent {
    /// The handshake is complete.
    Established,
    /// The ACK state machine went into a state.
    State(CaState),
    /// The retransmission timer ran out for the n-th time in a row.
    Timeout(u32),
    /// A reduction was undone; the window in packets.
    Undo(u32),
    /// A tail loss probe left.
    TailLossProbe,
    /// The algorithm went into a phase, an index into its phases.
    Phase(u8),
    /// The host had no room for a segment, so that the window is reduced.
    HostRefused,
    /// The peer will send no more data.
    PeerFinished,
    /// The peer gave up the connection.
    Reset,
}

impl TcpEvent {
    /// Name of the event in results.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Established => "established",
            Self::State(CaState::Open) => "open",
            Self::State(CaState::Disorder) => "disorder",
            Self::State(CaState::Cwr) => "cwr",
            Self::State(CaState::Recovery) => "recovery",
            Self::State(CaState::Loss) => "loss",
            Self::Timeout(_) => "timeout",
            Self::Undo(_) => "undo",
            Self::TailLossProbe => "tail_loss_probe",
            Self::Phase(_) => "phase",
            Self::HostRefused => "host_refused",
            Self::PeerFinished => "peer_finished",
            Self::Reset => "reset",
        }
    }

    /// The event's number, where it has one.
    pub const fn value(&self) -> Option<i64> {
        match self {
            Self::Timeout(count) => Some(*count as i64),
            Self::Undo(cwnd_pkts) => Some(*cwnd_pkts as i64),
            Self::Phase(phase) => Some(*phase as i64),
            _ => None,
        }
    }
}
