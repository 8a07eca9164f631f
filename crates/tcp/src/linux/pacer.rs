//! Pacing: the time at which the next segment is due, and which segments leave together.
//!
//! If a segment leaves later than it was due, the next segment may leave earlier to catch up, by
//! at most half of its own transmission time. Segments leave together, in a burst, because of
//! segmentation offload below TCP: in the stack's own buffers, or in the host's network device.
//! Segments that share a buffer leave at the same time, and the next buffer waits for the time of
//! all of them.

use cwndlab_cc::TcpSock;
use cwndlab_units::{Duration, Time};

use super::LinuxEndpoint;

/// Number of data segments that leave before pacing begins (`tcp_update_skb_after_send`).
const UNPACED_SEGMENTS: u32 = 10;
/// Value of `sk_pacing_status` with which TCP paces by its own timer.
const PACING_NEEDED: u32 = 1;
/// Minimum number of segments in a burst (`tcp_min_tso_segs`), unless the algorithm sets another
/// minimum.
const LEAST_BURST_PKTS: u32 = 2;

/// State of pacing; the time at which the next segment is due is in the socket (`tcp_wstamp_ns`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// Time at which waiting data are due; never if no data wait.
    pub(super) timer: Time,
    /// Number of data segments sent so far.
    segments_out: u32,
    /// Number of segments that fit into a buffer now.
    pub(super) burst_pkts: u32,
    /// Number of further segments that fit into the last buffer.
    burst_left: u32,
    burst_departure_ns: u64,
    /// Delay of the burst's departure for which later segments have not caught up yet.
    burst_credit_ns: u64,
}

impl Default for Pacer {
    fn default() -> Self {
        Self {
            timer: Time::NEVER,
            segments_out: 0,
            burst_pkts: 1,
            burst_left: 0,
            burst_departure_ns: 0,
            burst_credit_ns: 0,
        }
    }
}

impl Pacer {
    /// Records that `count` data segments leave.
    #[inline]
    pub(super) fn note_segments(&mut self, count: u32) {
        self.segments_out = self.segments_out.saturating_add(count);
    }

    /// `tcp_pacing_check`: sets the timer if the next segment is not due yet. Returns whether the
    /// segment waits.
    #[inline]
    pub(super) fn wait(&mut self, sk: &TcpSock, now: Time) -> bool {
        let is_paced = sk.inet_conn.icsk_inet.sk.sk_pacing_status == PACING_NEEDED;
        if !is_paced || sk.tcp_wstamp_ns <= sk.tcp_clock_cache {
            return false;
        }
        if self.timer.is_never() {
            self.timer = now + Duration::from_nanos(sk.tcp_wstamp_ns - sk.tcp_clock_cache);
        }
        true
    }

    /// Clears the timer if it has fired. Returns whether it had fired.
    #[inline]
    pub(super) fn take_due(&mut self, now: Time) -> bool {
        let is_due = self.timer <= now;
        if is_due {
            self.timer = Time::NEVER;
        }
        is_due
    }

    /// Returns the departure time of a segment in microseconds. The next segment is due when this
    /// segment has left.
    #[inline]
    pub(super) fn pace(&mut self, sk: &mut TcpSock, payload: u32) -> u64 {
        let prior = sk.tcp_wstamp_ns;
        let departure_us = self.depart(sk);
        let departure = sk.tcp_wstamp_ns;
        let sock = &sk.inet_conn.icsk_inet.sk;
        let rate = sock.sk_pacing_rate;
        let is_paced = sock.sk_pacing_status != 0 && rate != u64::MAX && rate != 0;
        if is_paced && self.segments_out >= UNPACED_SEGMENTS {
            let length_ns = u64::from(payload) * 1_000_000_000 / rate;
            let credit = (departure - prior).min(length_ns / 2);
            sk.tcp_wstamp_ns += length_ns - credit;
            self.burst_credit_ns = departure - prior - credit;
        }
        departure_us
    }

    /// Returns the departure time, in microseconds, of data that are not paced but wait for
    /// earlier paced data.
    #[inline(always)]
    pub(super) fn depart(&mut self, sk: &mut TcpSock) -> u64 {
        let departure = sk.tcp_wstamp_ns.max(sk.tcp_clock_cache);
        self.burst_departure_ns = departure;
        sk.tcp_wstamp_ns = departure;
        departure / 1_000
    }

    /// Returns the departure time of a segment that shares the last segment's buffer and leaves
    /// together with it.
    #[inline(never)]
    pub(super) fn pace_in_burst(&mut self, sk: &mut TcpSock, payload: u32) -> u64 {
        let sock = &sk.inet_conn.icsk_inet.sk;
        let is_paced = sock.sk_pacing_status != 0 && self.segments_out >= UNPACED_SEGMENTS;
        let length_ns = (u64::from(payload) * 1_000_000_000).checked_div(sock.sk_pacing_rate);
        let length_ns = length_ns.filter(|_| is_paced).unwrap_or(0);
        let credit = self.burst_credit_ns.min(length_ns / 2);
        self.burst_credit_ns -= credit;
        sk.tcp_wstamp_ns = sk.tcp_wstamp_ns + length_ns - credit;
        self.burst_departure_ns / 1_000
    }

    /// Whether the last buffer has room for another segment.
    #[inline]
    pub(super) fn has_open_burst(&self) -> bool {
        self.burst_left > 0
    }

    /// Puts a segment into a buffer: into a new buffer or the last one.
    pub(super) fn fill_burst(&mut self, is_new: bool) {
        if is_new {
            self.burst_left = self.burst_pkts;
        }
        self.burst_left = self.burst_left.saturating_sub(1);
    }

    /// Closes the last buffer, so that the next segment starts a new one.
    #[inline]
    pub(super) fn end_burst(&mut self) {
        self.burst_left = 0;
    }
}

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
        let least_pkts = self.congestion.min_tso_segs(&mut self.sk).unwrap_or(LEAST_BURST_PKTS);
        let rtt_log = self.settings.bursts.tso_rtt_log;
        Autosize { least_pkts, rtt_log }.pkts(&self.sk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pacer that has sent its first segments without pacing, at 1 byte per nanosecond.
    fn paced() -> (Pacer, TcpSock) {
        let mut sk = TcpSock::default();
        sk.inet_conn.icsk_inet.sk.sk_pacing_status = PACING_NEEDED;
        sk.inet_conn.icsk_inet.sk.sk_pacing_rate = 1_000_000_000;
        let mut pacer = Pacer::default();
        pacer.note_segments(UNPACED_SEGMENTS);
        (pacer, sk)
    }

    #[test]
    fn the_first_segments_leave_unpaced() {
        let (_, mut sk) = paced();
        let mut pacer = Pacer::default();
        pacer.pace(&mut sk, 1_000);
        assert!(!pacer.wait(&sk, Time::ZERO));
    }

    #[test]
    fn a_segment_waits_until_the_one_before_has_left() {
        let (mut pacer, mut sk) = paced();
        sk.tcp_clock_cache = 5_000_000;
        assert_eq!(pacer.pace(&mut sk, 2_000), 5_000);
        sk.tcp_wstamp_ns = 5_002_000;
        assert!(pacer.wait(&sk, Time::from_nanos(1_000)));
        assert_eq!(pacer.timer, Time::from_nanos(3_000));
        sk.tcp_clock_cache = 5_002_000;
        assert!(!pacer.wait(&sk, Time::from_nanos(3_000)));
        assert!(pacer.take_due(Time::from_nanos(3_000)));
    }

    #[test]
    fn who_leaves_late_catches_up_by_half_of_a_segment() {
        let (mut pacer, mut sk) = paced();
        (sk.tcp_wstamp_ns, sk.tcp_clock_cache) = (1_000, 1_600);
        pacer.pace(&mut sk, 2_000);
        assert_eq!(sk.tcp_wstamp_ns, 1_600 + 2_000 - 600);
        (sk.tcp_wstamp_ns, sk.tcp_clock_cache) = (1_000, 9_000);
        pacer.pace(&mut sk, 2_000);
        assert_eq!(sk.tcp_wstamp_ns, 9_000 + 2_000 - 1_000);
        // The rest of the credit goes to the next segment of the same buffer.
        assert_eq!(pacer.pace_in_burst(&mut sk, 2_000), 9);
        assert_eq!(sk.tcp_wstamp_ns, 9_000 + 4_000 - 2_000);
    }

    #[test]
    fn a_buffer_takes_as_many_segments_as_it_is_told() {
        let mut pacer = Pacer { burst_pkts: 3, ..Pacer::default() };
        pacer.fill_burst(true);
        pacer.fill_burst(false);
        assert!(pacer.has_open_burst());
        pacer.fill_burst(false);
        assert!(!pacer.has_open_burst());
        pacer.fill_burst(true);
        pacer.end_burst();
        assert!(!pacer.has_open_burst());
    }

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
