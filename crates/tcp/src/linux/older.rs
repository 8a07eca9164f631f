//! What releases of Linux before RACK did in its place: forward acknowledgement, early retransmit,
//! rate halving and a halved window after a spurious timeout.
//!
//! Sources: Mathis and Mahdavi, "Forward acknowledgement", 1996; Mathis, Semke, Mahdavi, Lahey, "The
//! rate-halving algorithm for TCP congestion control", 1999; Sarolahti and Kuznetsov, "Congestion
//! control in Linux TCP", 2002; RFC 5827; the manual page tcp(7).

use cwndlab_cc::INFINITE_SSTHRESH;

use super::LinuxEndpoint;
use super::ack_flags::AckFlags;
use super::prr::Prr;
use super::rtx::{LOST, SACKED_RETRANS};
use super::timer::Pending;
use crate::info::CaState;

/// Packets that may leave at once after an undo where the rate is halved: `tcp_max_burst`.
const BURST_MAX_PKTS: u32 = 3;

impl LinuxEndpoint {
    // Forward acknowledgement (Mathis and Mahdavi, 1996), until reordering is seen.

    pub(super) fn is_fack(&self) -> bool {
        self.settings.forward_acknowledgement
            && self.connection.options.is_sack
            && self.sk.reordering <= self.settings.reordering_pkts
    }

    /// `fackets_out`: packets up to the highest one that was sacked.
    pub(super) fn forward_most(&self) -> u32 {
        if self.sk.sacked_out == 0 {
            return 0;
        }
        let last = self.rtx.find(self.highest_sack().wrapping_sub(1), self.sk.mss_cache);
        last.map_or(0, |number| number.wrapping_sub(self.rtx.head()) + 1)
    }

    /// `tcp_mark_lost_retrans`: a repair is lost when something that was sent after it arrived.
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

    // Early retransmit (RFC 5827): too few packets are out for three duplicate ACKs.

    /// Whether all but one packet of a small flight are sacked, and nothing new can be sent.
    pub(super) fn is_early_retransmit_due(&self) -> bool {
        self.settings.early_retransmit
            && !self.is_rack()
            && !self.scoreboard.has_seen_reordering
            && self.sk.retrans_out == 0
            && self.sk.sacked_out > 0
            && self.sk.packets_out == self.sk.sacked_out + 1
            && self.sk.packets_out < 4
            && !(self.has_unsent() && self.is_next_in_window())
    }

    /// Waits a quarter of the RTT for reordering to resolve itself.
    pub(super) fn schedule_early_retransmit(&mut self, flags: &mut AckFlags) {
        const DELAY_MIN_US: u64 = 2_000;
        let delay_us = u64::from(self.sk.srtt_us >> 5).max(DELAY_MIN_US);
        self.reset_timer(Pending::Reordering, self.clock.jiffies_of_us(delay_us));
        flags.remove(AckFlags::SET_XMIT_TIMER);
    }

    /// All that lies more than `reordering` packets below the highest SACK, `at_least` packets, is
    /// lost.
    pub(super) fn mark_below_forward_most(&mut self, at_least: u32) {
        let count = self.forward_most().saturating_sub(self.sk.reordering).max(at_least);
        for index in 0..count.min(self.rtx.len()) {
            let number = self.rtx.head().wrapping_add(index);
            if self.rtx.get(number).flags & LOST == 0 {
                self.mark_lost(number);
            }
        }
    }

    // The threshold that outlives a connection (tcp(7), `tcp_no_metrics_save`).

    /// Slow start threshold of the last connection to the same host, before this one opens.
    pub(crate) fn remember_ssthresh(&mut self, pkts: u32) {
        if self.settings.cached_ssthresh {
            self.connection.remembered_ssthresh = Some(pkts);
        }
    }

    /// `tcp_update_metrics`: what the next connection should remember.
    pub(crate) fn ssthresh_to_remember(&self) -> Option<u32> {
        if !self.settings.cached_ssthresh {
            return None;
        }
        let (cwnd, ssthresh) = (self.sk.snd_cwnd, self.sk.snd_ssthresh);
        let known = self.connection.remembered_ssthresh;
        if ssthresh >= INFINITE_SSTHRESH {
            // Slow start never ended: half of the window is safe.
            known.map(|known| known.max(cwnd / 2))
        } else if cwnd > ssthresh && self.ca_state() == CaState::Open as u8 {
            Some(ssthresh.max(cwnd / 2))
        } else {
            known.map(|known| known.max(ssthresh))
        }
    }

    // Rate halving.

    /// `tcp_cwnd_down` of older releases: one packet less for every second ACK.
    pub(super) fn halve_rate(&mut self) {
        let next_cwnd = self.in_flight() + 1;
        let sk = &mut self.sk;
        sk.snd_cwnd_cnt += 1;
        if sk.snd_cwnd_cnt >= 2 {
            sk.snd_cwnd_cnt = 0;
            sk.snd_cwnd = sk.snd_cwnd.saturating_sub(1).max(sk.snd_ssthresh.min(sk.snd_cwnd));
        }
        sk.snd_cwnd = sk.snd_cwnd.min(next_cwnd).max(1);
    }

    /// `tcp_moderate_cwnd`: no burst after an undo.
    pub(super) fn moderate_cwnd(&mut self) {
        self.sk.snd_cwnd = self.sk.snd_cwnd.min(self.in_flight() + BURST_MAX_PKTS);
    }

    /// `tcp_ratehalving_spur_to_response`: nothing was lost; the window falls to the threshold of
    /// the timeout in the course of a round trip.
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
    use crate::info::CaState;
    use crate::linux::testing::{Pair, SENDER};

    /// Mathis and Mahdavi, 1996: what lies more than three segments below the highest SACK is lost.
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
