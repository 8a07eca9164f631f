//! Mechanisms of Linux before RACK: forward acknowledgement, early retransmit, rate halving, and
//! halving of the window after a spurious timeout.
//!
//! The sources are Mathis and Mahdavi, "Forward acknowledgement", 1996; Mathis, Semke, Mahdavi,
//! Lahey, "The rate-halving algorithm for TCP congestion control", 1999; Sarolahti and Kuznetsov,
//! "Congestion control in Linux TCP", 2002; RFC 5827.

use super::LinuxEndpoint;
use super::ack::AckFlags;
use super::prr::Prr;
use super::rtx::{LOST, SACKED_RETRANS};
use super::timer::Pending;
use crate::info::CaState;

/// `tcp_max_burst`: number of packets that may leave at once after an undo with rate halving.
const BURST_MAX_PKTS: u32 = 3;

/// Input of FACK's loss detection: segments too far below the highest sacked segment are lost.
#[derive(Clone, Copy, Debug)]
struct ForwardMost {
    /// `fackets_out`: number of segments from the first up to and including the highest sacked
    /// segment.
    pkts: u32,
    /// Number of segments by which a segment may be below the highest sacked one without being
    /// lost.
    reordering_pkts: u32,
}

impl ForwardMost {
    /// Number of lost segments, counted from the first, if `out` segments are in flight.
    fn lost_pkts(self, at_least: u32, out: u32) -> u32 {
        self.pkts.saturating_sub(self.reordering_pkts).max(at_least).min(out)
    }
}

/// Rate halving: reduces the window by one packet for every second ACK, instead of at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct HalvedRate {
    cwnd_pkts: u32,
    /// Number of ACKs since the last reduction (`snd_cwnd_cnt`).
    acks: u32,
}

impl HalvedRate {
    /// Processes an ACK. The window stays at or above `ssthresh_pkts`, and exceeds the packets in
    /// flight by at most one.
    fn step(self, ssthresh_pkts: u32, in_flight: u32) -> Self {
        let Self { mut cwnd_pkts, mut acks } = self;
        acks += 1;
        if acks >= 2 {
            acks = 0;
            cwnd_pkts = cwnd_pkts.saturating_sub(1).max(ssthresh_pkts.min(cwnd_pkts));
        }
        Self { cwnd_pkts: cwnd_pkts.min(in_flight + 1).max(1), acks }
    }
}

impl LinuxEndpoint {
    // Forward acknowledgement (Mathis and Mahdavi, 1996), until reordering is seen.

    pub(super) fn is_fack(&self) -> bool {
        self.settings.repair.forward_acknowledgement
            && self.connection.options.is_sack
            && self.sk.reordering <= self.settings.reordering.reordering_pkts
    }

    /// `fackets_out`: number of packets up to the highest sacked packet.
    pub(super) fn forward_most(&self) -> u32 {
        if self.sk.sacked_out == 0 {
            return 0;
        }
        let last = self.rtx.find(self.highest_sack().wrapping_sub(1), self.sk.mss_cache);
        last.map_or(0, |number| number.wrapping_sub(self.rtx.head()) + 1)
    }

    /// `tcp_mark_lost_retrans`: marks a retransmission as lost if a segment that was sent after it
    /// has arrived.
    pub(super) fn mark_lost_retransmissions(&mut self) {
        let mut order = self.rtx.sent_order();
        while let Some(number) = self.rtx.next_sent(&mut order) {
            let segment = self.rtx.get(number);
            if !self.was_delivered_after(segment) {
                break;
            }
            if segment.flags & SACKED_RETRANS != 0 {
                self.mark_lost(number);
            }
        }
    }

    // Early retransmit (RFC 5827): too few packets are in flight for three duplicate ACKs.

    /// Whether all except one packet of a small flight are sacked, and no new data can be sent.
    pub(super) fn is_early_retransmit_due(&self) -> bool {
        self.settings.repair.early_retransmit
            && !self.is_rack()
            && !self.scoreboard.has_seen_reordering
            && self.sk.retrans_out == 0
            && self.sk.sacked_out > 0
            && self.sk.packets_out == self.sk.sacked_out + 1
            && self.sk.packets_out < 4
            && !(self.has_unsent() && self.is_next_in_window())
    }

    /// Waits for a quarter of the RTT before the early retransmit, in case packets were only
    /// reordered.
    pub(super) fn schedule_early_retransmit(&mut self, flags: &mut AckFlags) {
        const DELAY_MIN_US: u64 = 2_000;
        let delay_us = u64::from(self.sk.srtt_us >> 5).max(DELAY_MIN_US);
        self.reset_timer(Pending::Reordering, self.clock.jiffies_of_us(delay_us));
        flags.remove(AckFlags::SET_XMIT_TIMER);
    }

    /// Marks as lost the segments that are more than `reordering` below the highest SACK, but at
    /// least `at_least` packets.
    pub(super) fn mark_below_forward_most(&mut self, at_least: u32) {
        let forward_most =
            ForwardMost { pkts: self.forward_most(), reordering_pkts: self.sk.reordering };
        for index in 0..forward_most.lost_pkts(at_least, self.rtx.len()) {
            let number = self.rtx.head().wrapping_add(index);
            if self.rtx.get(number).flags & LOST == 0 {
                self.mark_lost(number);
            }
        }
    }

    // Rate halving.

    /// `tcp_cwnd_down` of older releases: reduces the window by one packet for every second ACK.
    pub(super) fn halve_rate(&mut self) {
        let (ssthresh, in_flight) = (self.sk.snd_ssthresh, self.in_flight());
        let rate = HalvedRate { cwnd_pkts: self.sk.snd_cwnd, acks: self.sk.snd_cwnd_cnt };
        let HalvedRate { cwnd_pkts, acks } = rate.step(ssthresh, in_flight);
        (self.sk.snd_cwnd, self.sk.snd_cwnd_cnt) = (cwnd_pkts, acks);
    }

    /// `tcp_moderate_cwnd`: prevents a burst after an undo.
    pub(super) fn moderate_cwnd(&mut self) {
        self.sk.snd_cwnd = self.sk.snd_cwnd.min(self.in_flight() + BURST_MAX_PKTS);
    }

    /// `tcp_ratehalving_spur_to_response`: because nothing was lost, the window is reduced to the
    /// timeout's threshold within a round trip.
    pub(super) fn halve_after_spurious_timeout(&mut self) {
        self.forget_losses();
        self.counters.spurious_timeouts += 1;
        self.sk.inet_conn.icsk_retransmits = 0;
        self.recovery.undo_marker = None;
        self.sk.snd_cwnd = self.sk.prior_cwnd.min(self.in_flight() + 1);
        self.sk.snd_cwnd_cnt = 0;
        self.sk.high_seq = self.sk.snd_nxt;
        self.recovery.prr = Prr::default();
        self.set_ca_state(CaState::Cwr);
        self.recovery.is_reneging = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::testing::{Pair, SENDER};

    #[test]
    fn what_may_be_late_is_not_lost() {
        let forward = |pkts| ForwardMost { pkts, reordering_pkts: 3 };
        assert_eq!([2, 3, 4, 9].map(|pkts| forward(pkts).lost_pkts(0, 20)), [0, 0, 1, 6]);
        assert_eq!(forward(2).lost_pkts(1, 20), 1);
        assert_eq!(forward(9).lost_pkts(0, 4), 4, "no more than are out");
    }

    #[test]
    fn the_rate_is_halved_by_every_second_ack_down_to_the_threshold() {
        let mut rate = HalvedRate { cwnd_pkts: 10, acks: 0 };
        let windows = [(); 6].map(|()| {
            rate = rate.step(8, 20);
            rate.cwnd_pkts
        });
        assert_eq!(windows, [10, 9, 9, 8, 8, 8]);
        assert_eq!(rate.step(8, 3).cwnd_pkts, 4, "never more than a packet above the flight");
    }

    /// Mathis and Mahdavi, 1996: segments more than three below the highest SACK are lost.
    #[test]
    fn forward_acknowledgement_counts_from_the_highest_block() {
        let mut pair = Pair::established_of("linux-2.6.24");
        let segments = pair.write(14_480);
        let highest = segments.len() - 1;
        let acks = pair.deliver(&segments[highest..]);
        assert!(pair.ends[SENDER].is_fack());
        pair.answer(&acks);
        let sender = &pair.ends[SENDER];
        let is_recovering = sender.ca_state() == CaState::Recovery as u8;
        assert_eq!(is_recovering, segments.len() > 4, "{} segments", segments.len());
    }

    #[test]
    fn a_stack_with_rack_has_none_of_it() {
        let mut pair = Pair::established();
        let segments = pair.write(14_480);
        let acks = pair.deliver(&segments[9..]);
        pair.answer(&acks);
        assert!(!pair.ends[SENDER].is_fack());
        assert_ne!(pair.ends[SENDER].ca_state(), CaState::Recovery as u8);
    }
}
