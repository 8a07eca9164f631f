//! The socket that an algorithm sees, field by field as `algorithms/include/cc.h` declares it for
//! the native port. The TCP endpoint keeps its own state of these names here: nothing is copied
//! before or after a call.

use cwndlab_units::Duration;

/// Size of an algorithm's private state in bytes: `ICSK_CA_PRIV_SIZE`.
pub const CA_PRIV_BYTES: usize = 104;

/// Size of the larger state that an algorithm may have instead, in bytes: `CC_STATE_BYTES`.
pub const CC_STATE_BYTES: usize = 256;

/// `ssthresh` before the first reduction: `TCP_INFINITE_SSTHRESH`.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Default of `sk_gso_max_size`: 64 KiB less 321 bytes, the room that Linux keeps for headers.
pub const GSO_MAX_BYTES: u32 = 65_215;

/// `struct sock`: what an algorithm sees of the generic socket.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sock {
    /// Pacing rate in bytes per second; `u64::MAX` is unlimited.
    pub sk_pacing_rate: u64,
    /// Upper bound of the pacing rate in bytes per second.
    pub sk_max_pacing_rate: u64,
    /// 0 none, 1 needed (TCP paces by its own timer), 2 by the fq qdisc.
    pub sk_pacing_status: u32,
    /// Largest burst handed to the device at once, in bytes: 65,536 less the headers' room.
    pub sk_gso_max_size: u32,
    /// A TSO burst holds at most `sk_pacing_rate >> sk_pacing_shift` bytes.
    pub sk_pacing_shift: u8,
}

/// `struct inet_sock`.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InetSock {
    /// The generic socket.
    pub sk: Sock,
}

/// `struct inet_connection_sock`.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InetConnectionSock {
    /// The internet socket.
    pub icsk_inet: InetSock,
    /// State of the ACK state machine: `TCP_CA_Open` .. `TCP_CA_Loss`.
    pub icsk_ca_state: u8,
    /// Consecutive retransmission timeouts.
    pub icsk_retransmits: u8,
    /// State of the acknowledgements to send.
    pub icsk_ack: IcskAck,
    /// The algorithm's private state.
    pub icsk_ca_priv: [u64; CA_PRIV_BYTES / 8],
}

/// `icsk_ack`: whether an ACK is due.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IcskAck {
    /// A set of [`ICSK_ACK_SCHED`] and the other constants of this name.
    pub pending: u8,
}

/// A tick of the kernel's clock: HZ = 250, as Debian and Ubuntu have it, and for which the algorithms
/// are compiled (`CC_PORT_HZ`). Timers and what algorithms read of the time round to it.
pub const JIFFY: Duration = Duration::from_millis(4);

/// An ACK is due, sooner or later.
pub const ICSK_ACK_SCHED: u8 = 1;
/// It is delayed: its timer runs.
pub const ICSK_ACK_TIMER: u8 = 2;
/// The end of a write came, more may not follow soon.
pub const ICSK_ACK_PUSHED: u8 = 4;
/// It is due at once.
pub const ICSK_ACK_NOW: u8 = 16;

/// In `cc_requests`: the algorithm asks for an ACK of `cc_ack_rcv_nxt`.
pub const REQUEST_ACK: u8 = 1;
/// That ACK carries ECE.
pub const REQUEST_ACK_ECE: u8 = 2;
/// The algorithm asks for a reduction without loss (`tcp_enter_cwr`).
pub const REQUEST_CWR: u8 = 4;

/// `struct tcp_options_received`: the last segment's timestamps.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpOptionsReceived {
    /// The last segment carried a timestamp.
    pub saw_tstamp: u8,
    /// Its TSval in milliseconds of the peer's clock.
    pub rcv_tsval: u32,
    /// Its TSecr in milliseconds of our clock.
    pub rcv_tsecr: u32,
}

/// `struct tcp_sock`: the endpoint's state for the contract's fields.
#[repr(C)]
#[derive(Clone, Debug, PartialEq)]
pub struct TcpSock {
    /// The connection socket.
    pub inet_conn: InetConnectionSock,
    /// Time of the segment being processed, in microseconds.
    pub tcp_mstamp: u64,
    /// The same time in nanoseconds (`tcp_clock_cache`).
    pub tcp_clock_cache: u64,
    /// When the next segment may leave if the sender paces, in nanoseconds.
    pub tcp_wstamp_ns: u64,
    /// Time at which `delivered` last grew, in microseconds.
    pub delivered_mstamp: u64,
    /// Send time of the first segment of the current rate sample's flight, in microseconds.
    pub first_tx_mstamp: u64,
    /// Cumulatively acknowledged bytes.
    pub bytes_acked: u64,
    /// Parameters of the algorithm, see `cc_params()`; set by `Congestion` before each hook.
    pub cc_params: ParameterPointer,
    /// State of the generator behind `cc_prandom_u32()`.
    pub cc_random: u64,
    /// The kernel's clock in ticks of 4 ms (HZ = 250): `tcp_jiffies32`.
    pub cc_jiffies32: u32,
    /// What the ACK acknowledges that [`REQUEST_ACK`] asks for.
    pub cc_ack_rcv_nxt: u32,
    /// Congestion window in packets.
    pub snd_cwnd: u32,
    /// Linear increase counter in packets.
    pub snd_cwnd_cnt: u32,
    /// Upper bound of the window in packets.
    pub snd_cwnd_clamp: u32,
    /// Slow start threshold in packets.
    pub snd_ssthresh: u32,
    /// Window before the current reduction, in packets.
    pub prior_cwnd: u32,
    /// Jiffies at which the window was last validated or grown in an idle check.
    pub snd_cwnd_stamp: u32,
    /// Highest window in use since the last full window, in packets.
    pub snd_cwnd_used: u32,
    /// First unacknowledged sequence number.
    pub snd_una: u32,
    /// Next sequence number to send.
    pub snd_nxt: u32,
    /// `snd_nxt` when recovery or loss began.
    pub high_seq: u32,
    /// The peer's receive window in bytes.
    pub snd_wnd: u32,
    /// Segments in flight, whatever became of them.
    pub packets_out: u32,
    /// Retransmitted segments in flight.
    pub retrans_out: u32,
    /// Segments that a SACK block or a duplicate ACK reported.
    pub sacked_out: u32,
    /// Segments marked lost.
    pub lost_out: u32,
    /// Largest `packets_out` since `cwnd_usage_seq`.
    pub max_packets_out: u32,
    /// `snd_nxt` at which `max_packets_out` is taken again.
    pub cwnd_usage_seq: u32,
    /// Payload bytes of a full segment.
    pub mss_cache: u32,
    /// Advertised MSS in bytes.
    pub advmss: u32,
    /// Smoothed round trip time, scaled by 8, in microseconds.
    pub srtt_us: u32,
    /// Mean deviation of the RTT, scaled by 4, in microseconds.
    pub mdev_us: u32,
    /// Lowest RTT of the last 300 s in microseconds, `u32::MAX` before the first sample.
    pub rtt_min_us: u32,
    /// Segments delivered, retransmissions included.
    pub delivered: u32,
    /// Segments delivered with a congestion mark.
    pub delivered_ce: u32,
    /// Segments marked lost, ever.
    pub lost: u32,
    /// `delivered` at which the application-limited flight ends, 0 if the flight is not limited.
    pub app_limited: u32,
    /// Segments retransmitted, ever.
    pub total_retrans: u32,
    /// Reordering degree in packets.
    pub reordering: u32,
    /// Next sequence number expected from the peer.
    pub rcv_nxt: u32,
    /// Jiffies at which data were last sent.
    pub lsndtime: u32,
    /// The last segment's options.
    pub rx_opt: TcpOptionsReceived,
    /// The window limited what was sent in the last flight.
    pub is_cwnd_limited: u8,
    /// Bits of `TCP_ECN_*`.
    pub ecn_flags: u8,
    /// What the algorithm last told `cc_phase()`; `Algorithm::phases` has the names.
    pub cc_phase: u8,
    /// What the algorithm asks the endpoint to do after the hook: a set of [`REQUEST_ACK`],
    /// [`REQUEST_ACK_ECE`] and [`REQUEST_CWR`].
    pub cc_requests: u8,
    /// The larger state of an algorithm that declares one with `CC_STATE`.
    pub cc_state: [u64; CC_STATE_BYTES / 8],
}

impl Default for TcpSock {
    /// A socket as the kernel initialises it: a window of 10, no threshold, no RTT, no pacing.
    fn default() -> Self {
        Self {
            inet_conn: InetConnectionSock {
                icsk_inet: InetSock {
                    sk: Sock {
                        sk_pacing_rate: u64::MAX,
                        sk_max_pacing_rate: u64::MAX,
                        sk_pacing_status: 0,
                        sk_gso_max_size: GSO_MAX_BYTES,
                        sk_pacing_shift: 10,
                    },
                },
                ..InetConnectionSock::default()
            },
            tcp_mstamp: 0,
            tcp_clock_cache: 0,
            tcp_wstamp_ns: 0,
            delivered_mstamp: 0,
            first_tx_mstamp: 0,
            bytes_acked: 0,
            cc_params: ParameterPointer::default(),
            cc_random: 0,
            cc_jiffies32: 0,
            cc_ack_rcv_nxt: 0,
            snd_cwnd: 10,
            snd_cwnd_cnt: 0,
            snd_cwnd_clamp: u32::MAX,
            snd_ssthresh: INFINITE_SSTHRESH,
            prior_cwnd: 0,
            snd_cwnd_stamp: 0,
            snd_cwnd_used: 0,
            snd_una: 0,
            snd_nxt: 0,
            high_seq: 0,
            snd_wnd: 0,
            packets_out: 0,
            retrans_out: 0,
            sacked_out: 0,
            lost_out: 0,
            max_packets_out: 0,
            cwnd_usage_seq: 0,
            mss_cache: 536,
            advmss: 536,
            srtt_us: 0,
            mdev_us: 0,
            rtt_min_us: u32::MAX,
            delivered: 0,
            delivered_ce: 0,
            lost: 0,
            app_limited: 0,
            total_retrans: 0,
            reordering: 3,
            rcv_nxt: 0,
            lsndtime: 0,
            rx_opt: TcpOptionsReceived::default(),
            is_cwnd_limited: 0,
            ecn_flags: 0,
            cc_phase: 0,
            cc_requests: 0,
            cc_state: [0; CC_STATE_BYTES / 8],
        }
    }
}

/// The address of a flow's parameter block, for the C side only.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterPointer(pub(crate) *const u32);

// SAFETY: the address is not followed in Rust, and in C only inside a hook, before which
// `Congestion` stores the address of the block that it owns and keeps borrowed for the call.
unsafe impl Send for ParameterPointer {}
// SAFETY: as above; the block is never written.
unsafe impl Sync for ParameterPointer {}

impl Default for ParameterPointer {
    fn default() -> Self {
        Self(std::ptr::null())
    }
}

/// `struct ack_sample`, the argument of `pkts_acked`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct AckSample {
    /// Segments acknowledged or sacked by this ACK.
    pub pkts_acked: u32,
    /// RTT of this ACK in microseconds, -1 if there is none.
    pub rtt_us: i32,
    /// Bytes in flight when the last of them left: delivered since then, itself included.
    pub in_flight: u32,
}

/// `struct rate_sample`, the argument of `cong_control`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Time of the sample's start in microseconds.
    pub prior_mstamp: u64,
    /// `delivered` at the sample's start.
    pub prior_delivered: u32,
    /// `delivered_ce` at the sample's start.
    pub prior_delivered_ce: u32,
    /// Packets delivered over the interval, -1 if there is no sample.
    pub delivered: i32,
    /// Packets delivered with a congestion mark over the interval.
    pub delivered_ce: i32,
    /// Length of the sample in microseconds, -1 if there is none.
    pub interval_us: i64,
    /// Send phase of the sample in microseconds.
    pub snd_interval_us: u32,
    /// ACK phase of the sample in microseconds.
    pub rcv_interval_us: u32,
    /// RTT of the last delivered segment in microseconds, -1 if there is none.
    pub rtt_us: i64,
    /// Packets newly marked lost.
    pub losses: i32,
    /// Packets newly acknowledged or sacked.
    pub acked_sacked: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// Last end sequence number delivered.
    pub last_end_seq: u32,
    /// The sample's flight was limited by the application.
    pub is_app_limited: u8,
    /// The sample came from a retransmitted segment.
    pub is_retrans: u8,
    /// The ACK was probably delayed.
    pub is_ack_delayed: u8,
}
