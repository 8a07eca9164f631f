//! Settings in which releases of Linux differ: the `[linux]` table of a stack profile.

use cwndlab_cc::JIFFY;
use serde::{Deserialize, Serialize};

/// Whether a connection uses ECN (`tcp_ecn`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EcnMode {
    /// Never.
    Off,
    /// ECN is used only if the peer requests it.
    Passive,
    /// This end requests ECN, and agrees if the peer requests it.
    Active,
    /// This end requests accurate ECN (RFC 9768; `tcp_ecn` 3 of Linux 7.0), and falls back to
    /// classic ECN.
    Accurate,
}

/// How the window is reduced in a recovery without a timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowReduction {
    /// Every second ACK reduces the window by one segment (Mathis and others, 1999), and the
    /// window never exceeds the data in flight by more than one segment.
    RateHalving,
    /// Proportional rate reduction; below the threshold, the window grows as in slow start (RFC
    /// 6937).
    Prr,
    /// Proportional rate reduction; below the threshold, the window grows only with ACKs that
    /// acknowledge new data and indicate no further loss (Flach and others, 2016).
    PrrSafeAck,
}

/// The retransmission timer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TimerSettings {
    /// `TCP_RTO_MIN`.
    pub rto_min_ms: u32,
    /// `TCP_RTO_MAX`.
    pub rto_max_ms: u32,
    /// `TCP_TIMEOUT_INIT`.
    pub rto_initial_ms: u32,
    /// Unit in which the RTT for the timeout is measured.
    pub rtt_tick_us: u32,
    /// `tcp_syn_linear_timeouts`: number of retransmissions of a SYN before the timer backs off.
    pub syn_linear_timeouts: u32,
}

/// Options that a connection offers and accepts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OptionSettings {
    /// Whether SACK is used (`tcp_sack`, RFC 2018). Without SACK, duplicate ACKs are counted
    /// (NewReno, RFC 6582).
    pub sack: bool,
    /// `tcp_dsack` (RFC 2883).
    pub dsack: bool,
    /// `tcp_timestamps` (RFC 7323).
    pub timestamps: bool,
    /// Whether the timestamps of each connection start at a random offset (RFC 7323 section 5.4);
    /// `false` corresponds to `tcp_timestamps` 2.
    pub timestamp_offsets: bool,
    /// Whether accurate ECN also reports bytes in an option (RFC 9768 section 3.2.3;
    /// `tcp_ecn_option` 2).
    pub accurate_ecn_option: bool,
}

/// How losses are detected and repaired.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RepairSettings {
    /// Whether RACK detects losses (RFC 8985), instead of duplicate ACKs being counted; needs
    /// SACK.
    pub rack: bool,
    /// Whether tail loss probes are sent (RFC 8985 section 7); needs SACK.
    pub tail_loss_probe: bool,
    /// Whether all segments more than three below the highest SACK are lost, until reordering is
    /// seen (`tcp_fack`; Mathis and Mahdavi, 1996); replaces RACK.
    pub forward_acknowledgement: bool,
    /// Whether a segment is retransmitted early, after a quarter of the RTT (RFC 5827); replaces
    /// RACK.
    pub early_retransmit: bool,
    /// How the window is reduced in recovery.
    pub window_reduction: WindowReduction,
    /// F-RTO (RFC 5682).
    pub forward_rto_recovery: bool,
    /// Whether the window reduction of a timeout is undone if F-RTO finds the timeout spurious
    /// (`tcp_frto_response` 2). Otherwise, the window is halved, without slow start.
    pub spurious_timeout_undo: bool,
}

/// Settings of the receive buffer, and of the window derived from it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReceiveSettings {
    /// Maximum window in a SYN, in segments.
    pub initial_receive_window_pkts: u32,
    /// Whether the window opens with arriving data (`rcv_ssthresh`), starting from the 64 KiB that
    /// a SYN can advertise. Otherwise, the first ACK after the SYN offers the whole buffer, as RFC
    /// 9293 allows and as BSD does.
    pub receive_window_opens_by_arrivals: bool,
    /// `tcp_adv_win_scale`: the window is the receive buffer minus one part in 2 to this power.
    pub receive_window_scale: u32,
    /// Whether the window's part of the receive buffer is measured (`scaling_ratio`, Linux 6.6) in
    /// each segment that is longer than all before: the payload divided by the memory of the
    /// segment. The `receive_window_scale` applies until then. Auto-tuning does not count data
    /// that the application has not read yet.
    pub receive_window_follows_overhead: bool,
    /// `tcp_rmem[1]`.
    pub receive_buffer_bytes: u32,
    /// Maximum receive buffer of auto-tuning (`tcp_rmem[2]`).
    pub receive_buffer_max_bytes: u32,
    /// Number of full segments that auto-tuning adds to twice the data of a round trip
    /// (`tcp_rcv_space_adjust`); none since Linux 6.16.
    pub receive_buffer_headroom_pkts: u32,
    /// Whether the receive buffer has room for data that arrived out of order, too: it is enlarged
    /// when they arrive (`tcp_rcvbuf_grow` in `tcp_data_queue_ofo`, Linux 6.16).
    pub receive_buffer_counts_reordered: bool,
}

/// Settings for segments that are passed to the host together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BurstSettings {
    /// `tcp_tso_rtt_log` (Linux 5.18): the bytes that a short RTT adds to a burst are halved for
    /// every 2 to this power us of the lowest RTT; 0 adds no bytes.
    pub tso_rtt_log: u32,
    /// Whether the last segment of a burst carries a PSH (Linux 5.4), so that a device that merges
    /// segments delivers them at once; the receiver acknowledges the segment as soon as the
    /// application has read.
    pub burst_push: bool,
    /// Whether a burst takes data from two buffers (`tcp_grow_skb`, Linux 6.10): if the first unsent
    /// buffer is shorter than the burst, data move from the next buffer into it.
    pub bursts_span_buffers: bool,
}

/// The send buffer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SendSettings {
    /// `tcp_wmem[1]`.
    pub send_buffer_bytes: u32,
    /// Maximum send buffer of auto-tuning (`tcp_wmem[2]`).
    pub send_buffer_max_bytes: u32,
    /// Memory charged for each segment of the window when the size of the buffer is computed
    /// (`tcp_sndbuf_expand`): bookkeeping, plus payload and headers rounded up to a power of two.
    pub send_segment_room_bytes: u32,
    /// Whether the buffer also grows while the window is full, when more room would not fill the
    /// window further.
    pub send_buffer_grows_at_full_window: bool,
    /// Memory that a buffer in the send queue occupies in addition to its payload.
    pub send_overhead_bytes: u32,
}

/// Settings for ACKs of out-of-order data, which are held back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeldAckSettings {
    /// Maximum time for which ACKs of out-of-order data are held back (`tcp_comp_sack_delay_ns`).
    pub compressed_sack_delay_us: u32,
    /// Additional time after which the timer for these ACKs may fire (`tcp_comp_sack_slack_ns`);
    /// it does fire so late, because the kernel has no other timer to combine it with.
    pub compressed_sack_slack_us: u32,
    /// Maximum number of ACKs that are held back (`tcp_comp_sack_nr`); 0 means that none are held
    /// back.
    pub compressed_sack_limit: u32,
}

/// The degree of reordering that does not count as loss.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReorderingSettings {
    /// `tcp_reordering`.
    pub reordering_pkts: u32,
    /// `tcp_max_reordering`.
    pub max_reordering_pkts: u32,
}

/// The settings, named after the sysctls or constants that they represent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LinuxSettings {
    /// Largest IP packet.
    pub mtu_bytes: u32,
    /// `TCP_INIT_CWND`.
    pub initial_cwnd_pkts: u32,
    /// The retransmission timer.
    #[serde(flatten)]
    pub timer: TimerSettings,
    /// Options that a connection offers and accepts.
    #[serde(flatten)]
    pub options: OptionSettings,
    /// How losses are detected and repaired.
    #[serde(flatten)]
    pub repair: RepairSettings,
    /// Whether the window grows by the number of ACKs of new data, instead of the data that they
    /// acknowledge (`tcp_abc` 0).
    pub growth_per_ack: bool,
    /// `tcp_ecn`.
    pub ecn: EcnMode,
    /// Whether the window restarts after an idle time (`tcp_slow_start_after_idle`, RFC 5681
    /// section 4.1).
    pub slow_start_after_idle: bool,
    /// Whether the slow start threshold is cached for the next connection to the same host
    /// (`tcp_no_metrics_save` and `tcp_no_ssthresh_metrics_save` 0).
    pub cached_ssthresh: bool,
    /// Settings of the receive buffer, and of the window derived from it.
    #[serde(flatten)]
    pub receive: ReceiveSettings,
    /// The send buffer.
    #[serde(flatten)]
    pub send: SendSettings,
    /// Whether segments that leave together share a buffer, which is split below TCP (GSO, TSO).
    /// Otherwise, as with `gso_max_segs` 1, each segment has its own buffer.
    pub segmentation_offload: bool,
    /// Settings for segments that are passed to the host together.
    #[serde(flatten)]
    pub bursts: BurstSettings,
    /// Settings for ACKs of out-of-order data, which are held back.
    #[serde(flatten)]
    pub held_acks: HeldAckSettings,
    /// The degree of reordering that does not count as loss.
    #[serde(flatten)]
    pub reordering: ReorderingSettings,
    /// `tcp_invalid_ratelimit`: minimum time between two answers to invalid segments without data;
    /// 0 means that all are answered.
    pub invalid_ratelimit_ms: u32,
    /// `tcp_min_rtt_wlen`.
    pub min_rtt_window_s: u32,
    /// Whether every algorithm is paced, as with the queueing discipline fq.
    pub pacing: bool,
    /// Whether TCP Small Queues limits a socket's data in the host below TCP; more data are sent
    /// as those leave.
    pub small_queues: bool,
    /// Whether Nagle's algorithm is used (RFC 896); `false` corresponds to `TCP_NODELAY`.
    pub nagle: bool,
}

/// Bytes of the IP and TCP headers without options.
pub(crate) const HEADER_BYTES: u32 = 40;
/// `TCPOLEN_TSTAMP_ALIGNED`.
pub(crate) const TIMESTAMP_BYTES: u32 = 12;

impl LinuxSettings {
    /// The maximum segment size to announce (RFC 6691).
    pub(crate) fn announced_mss(&self) -> u32 {
        self.mtu_bytes.saturating_sub(HEADER_BYTES).max(48)
    }

    /// `tcp_min_rtt_wlen` in jiffies.
    pub(crate) fn min_rtt_window(&self) -> u32 {
        self.min_rtt_window_s.saturating_mul((1_000 / JIFFY.as_millis()) as u32)
    }
}

#[cfg(test)]
mod tests {
    use crate::profile::Profile;

    #[test]
    fn sizes_and_times_follow_from_the_settings() {
        let profile = Profile::by_name("linux-6.1").expect("exists");
        let mut settings = profile.linux().expect("linux").clone();
        assert_eq!(settings.announced_mss(), 1_460);
        // 300 s of 250 ticks.
        assert_eq!(settings.min_rtt_window(), 75_000);
        settings.mtu_bytes = 0;
        assert_eq!(settings.announced_mss(), 48);
    }
}
