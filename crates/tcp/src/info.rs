//! The observable state of an endpoint: a snapshot, counters and events.

use cwndlab_units::{Duration, Rate};

/// State of the ACK state machine, with Linux's numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub enum CaState {
    /// Nothing is suspicious.
    #[default]
    Open = 0,
    /// Duplicate ACKs or SACKs were received, but no segment is known to be lost.
    Disorder = 1,
    /// The window is being reduced without a loss, because of ECN or a drop in the local host.
    Cwr = 2,
    /// Fast recovery.
    Recovery = 3,
    /// Recovery after a retransmission timeout.
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

/// A snapshot of a sender's state; the fields are named as in `TCP_INFO`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Info {
    /// Congestion window in packets.
    pub cwnd_pkts: u32,
    /// Slow start threshold in packets; `None` before the first reduction.
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
    /// Packets reported by SACK.
    pub sacked_pkts: u32,
    /// Packets considered lost.
    pub lost_pkts: u32,
    /// Retransmitted packets in flight.
    pub retrans_pkts: u32,
    /// Packets delivered with a CE mark, according to the peer's feedback.
    pub delivered_ce_pkts: u32,
    /// Packets that are considered to be in the network.
    pub in_flight_pkts: u32,
    /// Consecutive retransmission timeouts.
    pub retransmits: u32,
    /// Number of times that the retransmission timeout was doubled.
    pub backoff: u32,
    /// State of the ACK state machine.
    pub ca_state: CaState,
    /// First unacknowledged byte, counted from the first byte of the stream.
    pub snd_una_bytes: u64,
    /// Next byte to send, counted from the first byte of the stream.
    pub snd_nxt_bytes: u64,
    /// The peer's receive window in bytes.
    pub snd_wnd_bytes: u32,
    /// Bytes written but not sent yet.
    pub notsent_bytes: u64,
    /// Pacing rate; `None` if unlimited.
    pub pacing_rate: Option<Rate>,
    /// The latest sample of the delivery rate.
    pub delivery_rate: Option<Rate>,
    /// Phase that the algorithm last reported, as an index into the algorithm's list of phases.
    pub phase: u8,
}

/// Counters of an endpoint since its creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Number of segments sent, including pure ACKs.
    pub segments_out: u64,
    /// Data segments retransmitted.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Number of timeouts that were undone as spurious.
    pub spurious_timeouts: u64,
    /// Number of times that fast recovery began.
    pub recoveries: u64,
    /// Number of tail loss probes sent.
    pub tail_loss_probes: u64,
    /// Number of window reductions that were undone, including those by timeouts.
    pub undos: u64,
    /// Number of times that the host had no room for a segment, which was then not sent.
    pub refusals: u64,
    /// Number of ACKs sent by the delayed-ACK timer.
    pub delayed_acks: u64,
    /// Number of segments whose data had all been received before.
    pub duplicate_segments: u64,
    /// Time with data in flight or waiting to be sent.
    pub busy: Duration,
    /// Part of `busy` in which the peer's receive window limited the sender.
    pub rwnd_limited: Duration,
    /// Part of `busy` in which the send buffer limited the sender.
    pub sndbuf_limited: Duration,
}

/// An event of a TCP endpoint, which a run can record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TcpEvent {
    /// The handshake is complete.
    Established,
    /// The ACK state machine entered this state.
    State(CaState),
    /// The retransmission timer expired; the value is the number of consecutive expirations.
    Timeout(u32),
    /// A window reduction was undone; the value is the restored window in packets.
    Undo(u32),
    /// A tail loss probe was sent.
    TailLossProbe,
    /// The algorithm entered a phase; the value is the phase's index in the algorithm's list of
    /// phases.
    Phase(u8),
    /// The host had no room for a segment, so the window was reduced.
    HostRefused,
    /// The peer's FIN and all data before it have arrived.
    PeerFinished,
    /// The connection was reset.
    Reset,
}

impl TcpEvent {
    /// Name of the event in the table of events.
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

    /// Numeric value of the event in the table of events, if it has one.
    pub const fn value(&self) -> Option<i64> {
        match self {
            Self::Timeout(count) => Some(*count as i64),
            Self::Undo(cwnd_pkts) => Some(*cwnd_pkts as i64),
            Self::Phase(phase) => Some(*phase as i64),
            _ => None,
        }
    }
}
