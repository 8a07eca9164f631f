//! The socket that an algorithm accesses, with the same fields as `algorithms/include/cc.h`
//! declares for the native port. The TCP endpoint keeps the state of these fields in this socket,
//! so no field is copied before or after a call.

use cwndlab_units::Duration;

/// Size of an algorithm's private state in bytes: `ICSK_CA_PRIV_SIZE`.
pub const CA_PRIV_BYTES: usize = 104;

/// Size of an algorithm's larger alternative state in bytes: `CC_STATE_BYTES`.
pub const CC_STATE_BYTES: usize = 256;

/// Value of `ssthresh` before the first reduction: `TCP_INFINITE_SSTHRESH`.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Default of `sk_gso_max_size`: 64 KiB minus the 321 bytes that Linux reserves for headers.
pub const GSO_MAX_BYTES: u32 = 65_215;

/// `struct sock`: the fields of the generic socket that an algorithm can access.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sock {
    /// Pacing rate in bytes per second; `u64::MAX` is unlimited.
    pub sk_pacing_rate: u64,
    /// Upper bound of the pacing rate in bytes per second.
    pub sk_max_pacing_rate: u64,
    /// 0: no pacing; 1: TCP paces with its own timer; 2: the fq queueing discipline paces.
    pub sk_pacing_status: u32,
    /// Maximum size of a TSO burst in bytes: 65,536 minus the space for headers.
    pub sk_gso_max_size: u32,
    /// A TSO burst contains at most `sk_pacing_rate >> sk_pacing_shift` bytes.
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

/// `icsk_ack`: pending ACKs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IcskAck {
    /// A set of the `ICSK_ACK_*` flags.
    pub pending: u8,
}

/// Tick of the kernel's clock with HZ = 250, as in Debian and Ubuntu. The algorithms are compiled
/// for this value (`CC_PORT_HZ`); timers and an algorithm's jiffies have this resolution.
pub const JIFFY: Duration = Duration::from_millis(4);

/// In `pending`: an ACK must be sent.
pub const ICSK_ACK_SCHED: u8 = 1;
/// In `pending`: the timer of a delayed ACK is running.
pub const ICSK_ACK_TIMER: u8 = 2;
/// In `pending`: the received data completed a write (PSH), so more data may not follow soon.
pub const ICSK_ACK_PUSHED: u8 = 4;
/// In `pending`: the ACK must be sent immediately.
pub const ICSK_ACK_NOW: u8 = 16;

/// In `cc_requests`: the algorithm requests an ACK up to `cc_ack_rcv_nxt`.
pub const REQUEST_ACK: u8 = 1;
/// In `cc_requests`: the requested ACK carries ECE.
pub const REQUEST_ACK_ECE: u8 = 2;
/// In `cc_requests`: the algorithm requests a window reduction without a loss (`tcp_enter_cwr`).
pub const REQUEST_CWR: u8 = 4;

/// `struct tcp_options_received`: the last segment's timestamps.
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpOptionsReceived {
    /// Whether the last segment carried a timestamp.
    pub saw_tstamp: u8,
    /// TSval of the last segment, in milliseconds of the peer's clock.
    pub rcv_tsval: u32,
    /// TSecr of the last segment, in milliseconds of the local clock.
    pub rcv_tsecr: u32,
}

/// `struct tcp_sock`: the fields that algorithms may access.
#[repr(C)]
#[derive(Clone, Debug, PartialEq)]
pub struct TcpSock {
    /// The connection socket.
    pub inet_conn: InetConnectionSock,
    /// Time of the segment being processed, in microseconds.
    pub tcp_mstamp: u64,
    /// Time of the segment being processed, in nanoseconds (`tcp_clock_cache`).
    pub tcp_clock_cache: u64,
    /// Earliest departure time of the next segment if the sender paces, in nanoseconds.
    pub tcp_wstamp_ns: u64,
    /// Time at which `delivered` last grew, in microseconds.
    pub delivered_mstamp: u64,
    /// Send time of the first segment of the current rate sample's flight, in microseconds.
    pub first_tx_mstamp: u64,
    /// Cumulatively acknowledged bytes.
    pub bytes_acked: u64,
    /// The algorithm's parameters, see `cc_params()`; `Congestion` sets this before each hook.
    pub cc_params: ParameterPointer,
    /// State of the random number generator of `cc_prandom_u32()`.
    pub cc_random: u64,
    /// The kernel's clock in ticks of 4 ms (HZ = 250): `tcp_jiffies32`.
    pub cc_jiffies32: u32,
    /// Sequence number that the ACK requested by [`REQUEST_ACK`] acknowledges.
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
    /// Jiffies at which the congestion window was last validated, or grown in an idle check.
    pub snd_cwnd_stamp: u32,
    /// Maximum number of packets in flight since the congestion window was last full.
    pub snd_cwnd_used: u32,
    /// First unacknowledged sequence number.
    pub snd_una: u32,
    /// Next sequence number to send.
    pub snd_nxt: u32,
    /// Value of `snd_nxt` when recovery or loss began.
    pub high_seq: u32,
    /// The peer's receive window in bytes.
    pub snd_wnd: u32,
    /// Segments sent and not yet cumulatively acknowledged.
    pub packets_out: u32,
    /// Retransmitted segments in flight.
    pub retrans_out: u32,
    /// Segments that SACK blocks or duplicate ACKs reported.
    pub sacked_out: u32,
    /// Segments marked lost.
    pub lost_out: u32,
    /// Maximum of `packets_out` since `cwnd_usage_seq`.
    pub max_packets_out: u32,
    /// Value of `snd_nxt` at which the measurement of `max_packets_out` restarts.
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
    /// Total number of segments marked lost.
    pub lost: u32,
    /// Value of `delivered` at which the application-limited flight ends; 0 if the flight is not
    /// limited.
    pub app_limited: u32,
    /// Total number of retransmitted segments.
    pub total_retrans: u32,
    /// Reordering degree in packets.
    pub reordering: u32,
    /// Next sequence number expected from the peer.
    pub rcv_nxt: u32,
    /// Jiffies at which data was last sent.
    pub lsndtime: u32,
    /// Timestamp options of the last segment.
    pub rx_opt: TcpOptionsReceived,
    /// Whether the congestion window limited the sender in the last flight.
    pub is_cwnd_limited: u8,
    /// Bits of `TCP_ECN_*`.
    pub ecn_flags: u8,
    /// Phase that the algorithm last reported with `cc_phase()`; `Algorithm::phases` lists the
    /// names.
    pub cc_phase: u8,
    /// Actions that the algorithm requests of the endpoint after the hook: a set of
    /// [`REQUEST_ACK`], [`REQUEST_ACK_ECE`] and [`REQUEST_CWR`].
    pub cc_requests: u8,
    /// The larger state of an algorithm that requests it with `CC_STATE`.
    pub cc_state: [u64; CC_STATE_BYTES / 8],
}

impl Default for TcpSock {
    /// A socket as the kernel initialises it: a window of 10 packets, no threshold, no RTT sample,
    /// no pacing.
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

/// The address of a flow's parameter block; only C code uses it.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterPointer(pub(crate) *const u32);

// SAFETY: Rust never dereferences the address. C does so only inside a hook, before which
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
    /// Number of segments that this ACK acknowledged, cumulatively or by SACK.
    pub pkts_acked: u32,
    /// RTT sample of this ACK in microseconds; -1 if there is none.
    pub rtt_us: i32,
    /// Bytes in flight when the last of the acknowledged segments was sent, including this
    /// segment.
    pub in_flight: u32,
}

/// `struct rate_sample`, the argument of `cong_control`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Time at which the sample starts, in microseconds.
    pub prior_mstamp: u64,
    /// Value of `delivered` at the start of the sample.
    pub prior_delivered: u32,
    /// Value of `delivered_ce` at the start of the sample.
    pub prior_delivered_ce: u32,
    /// Packets delivered during the sample; -1 if there is no sample.
    pub delivered: i32,
    /// Packets delivered with a congestion mark during the sample.
    pub delivered_ce: i32,
    /// Length of the sample in microseconds; -1 if there is no sample.
    pub interval_us: i64,
    /// Time in which the packets of the sample were sent, in microseconds.
    pub snd_interval_us: u32,
    /// Time in which the packets of the sample were acknowledged, in microseconds.
    pub rcv_interval_us: u32,
    /// RTT of the last delivered segment in microseconds; -1 if there is no sample.
    pub rtt_us: i64,
    /// Packets newly marked as lost.
    pub losses: i32,
    /// Packets newly acknowledged, cumulatively or by SACK.
    pub acked_sacked: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// End sequence number of the last delivered segment.
    pub last_end_seq: u32,
    /// Whether the application limited the sender during the sample.
    pub is_app_limited: u8,
    /// Whether the sample is that of a retransmitted segment.
    pub is_retrans: u8,
    /// Whether the ACK was probably delayed.
    pub is_ack_delayed: u8,
}
