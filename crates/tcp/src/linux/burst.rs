//! Number of segments that leave together. The cause is segmentation offload below TCP: in the
//! stack's own buffers, or in the host's network device.

use cwndlab_cc::TcpSock;

use super::LinuxEndpoint;

/// Minimum number of segments in a burst (`tcp_min_tso_segs`), unless the algorithm sets another
/// minimum.
const LEAST_PKTS: u32 = 2;

/// How much new data may leave at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Push {
    /// As much as the windows allow, except for a burst that would become longer if it waited.
    All,
    /// Like `All`, but Nagle's algorithm holds nothing back (`TCP_NAGLE_PUSH`): the application
    /// has filled the send buffer, or has written half of the peer's window.
    Forced,
    /// `tcp_push_one`: a single burst, which does not wait.
    One,
    /// A single segment, regardless of the congestion window.
    Probe,
}

impl Push {
    /// Whether more than one burst may leave.
    pub(super) fn is_all(self) -> bool {
        matches!(self, Self::All | Self::Forced)
    }
}

/// Inputs of the burst length that are not in the socket.
#[derive(Clone, Copy, Debug)]
struct Autosize {
    least_pkts: u32,
    /// [`super::settings::BurstSettings::tso_rtt_log`].
    rtt_log: u32,
}

impl Autosize {
    /// `tcp_tso_autosize`: number of segments in a burst, which is the data of a millisecond at
    /// the pacing rate, plus more if the lowest RTT is short.
    fn pkts(self, sk: &TcpSock) -> u32 {
        let sock = &sk.inet_conn.icsk_inet.sk;
        let longest_bytes = u64::from(sock.sk_gso_max_size);
        let by_rate = sock.sk_pacing_rate >> sock.sk_pacing_shift;
        let by_rtt = match self.rtt_log {
            0 => None,
            log => longest_bytes.checked_shr(sk.rtt_min_us >> log),
        };
        let bytes = by_rate.saturating_add(by_rtt.unwrap_or(0)).min(longest_bytes);
        ((bytes / u64::from(sk.mss_cache.max(1))) as u32).max(self.least_pkts)
    }
}

impl LinuxEndpoint {
    /// Number of segments that leave together now.
    #[inline(never)]
    pub(super) fn burst_pkts(&mut self) -> u32 {
        let least_pkts = self.congestion.min_tso_segs(&mut self.sk).unwrap_or(LEAST_PKTS);
        let rtt_log = self.settings.bursts.tso_rtt_log;
        Autosize { least_pkts, rtt_log }.pkts(&self.sk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(bytes_per_sec: u64, rtt_min_us: u32) -> TcpSock {
        let mut sk = TcpSock { mss_cache: 1_000, rtt_min_us, ..TcpSock::default() };
        sk.inet_conn.icsk_inet.sk.sk_pacing_rate = bytes_per_sec;
        sk
    }

    #[test]
    fn a_burst_is_what_the_rate_sends_in_a_millisecond() {
        let size = Autosize { least_pkts: 2, rtt_log: 0 };
        assert_eq!(size.pkts(&socket(10_240_000, 100)), 10);
        assert_eq!(size.pkts(&socket(1_024, 100)), 2, "and two segments at least");
        assert_eq!(size.pkts(&socket(u64::MAX, 100)), 65, "and what a buffer holds at most");
    }

    /// ip-sysctl, `tcp_tso_rtt_log`.
    #[test]
    fn a_short_round_trip_makes_bursts_longer() {
        let size = Autosize { least_pkts: 2, rtt_log: 9 };
        let added = |rtt_min_us| size.pkts(&socket(2_048_000, rtt_min_us)) - 2;
        assert_eq!([511, 512, 1_024, 2_048].map(added), [63, 32, 16, 4]);
        assert_eq!([20_000, u32::MAX].map(added), [0, 0]);
    }
}
