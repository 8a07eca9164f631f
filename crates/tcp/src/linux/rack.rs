//! RACK: time-based loss detection (RFC 8985 section 6).

use cwndlab_packet::seq::before;

use super::LinuxEndpoint;
use super::rate::sent_after;
use super::rtx::{LOST, RETRANS, SACKED_ACKED, SACKED_RETRANS, TxSegment};
use super::timer::{Pending, TIMEOUT_MIN_US};
use crate::info::CaState;

/// Number of recoveries for which an enlarged reordering window lasts: RFC 8985 section 6.2 step
/// 4.
pub(crate) const RECOVERY_THRESHOLD: u8 = 16;

/// The variables `RACK.*` of RFC 8985 section 5.2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// Send time of the most recently sent segment that was delivered.
    mstamp: u64,
    /// End of the most recently sent segment that was delivered.
    end_seq: u32,
    pub(crate) rtt_us: u32,
    /// Whether a segment was delivered since the last loss detection.
    pub(crate) is_advanced: bool,
    pub(crate) is_dsack_seen: bool,
    /// Width of the reordering window in quarters of the lowest RTT.
    reo_wnd_steps: u8,
    pub(crate) reo_wnd_persist: u8,
    last_delivered: u32,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            mstamp: 0,
            end_seq: 0,
            rtt_us: 0,
            is_advanced: false,
            is_dsack_seen: false,
            reo_wnd_steps: 1,
            reo_wnd_persist: 0,
            last_delivered: 0,
        }
    }
}

impl LinuxEndpoint {
    /// Records that a segment was delivered (RFC 8985 section 6.2 steps 1 and 2).
    #[inline]
    pub(crate) fn rack_advance(&mut self, flags: u8, end_seq: u32, sent: u64) {
        let rtt_us = self.sk.tcp_mstamp.saturating_sub(sent) as u32;
        // An implausibly fast retransmission: the original was delivered.
        if rtt_us < self.sk.rtt_min_us && flags & RETRANS != 0 {
            return;
        }
        let rack = &mut self.rack;
        rack.is_advanced = true;
        rack.rtt_us = rtt_us;
        if sent_after(sent, rack.mstamp, end_seq, rack.end_seq) {
            rack.mstamp = sent;
            rack.end_seq = end_seq;
        }
    }

    /// Updates the reordering window, which DSACKs enlarge (RFC 8985 section 6.2 step 4).
    #[inline]
    pub(crate) fn rack_update_reo_wnd(&mut self, prior_delivered: u32) {
        let rack = &mut self.rack;
        // The usual case: nothing to reset, and nothing to enlarge.
        let is_usual = !rack.is_dsack_seen && rack.reo_wnd_steps == 1;
        if is_usual || prior_delivered == 0 {
            return;
        }
        if before(prior_delivered, rack.last_delivered) {
            rack.is_dsack_seen = false;
        }
        if rack.is_dsack_seen {
            rack.reo_wnd_steps = rack.reo_wnd_steps.saturating_add(1);
            rack.is_dsack_seen = false;
            rack.last_delivered = self.sk.delivered;
            rack.reo_wnd_persist = RECOVERY_THRESHOLD;
        } else if rack.reo_wnd_persist == 0 {
            rack.reo_wnd_steps = 1;
        }
    }

    fn rack_reo_wnd_us(&self) -> u32 {
        if !self.scoreboard.has_seen_reordering {
            if self.ca_state() >= CaState::Recovery as u8 {
                return 0;
            }
            if self.sk.sacked_out >= self.sk.reordering {
                return 0;
            }
        }
        let steps = u32::from(self.rack.reo_wnd_steps);
        (self.sk.rtt_min_us >> 2).saturating_mul(steps).min(self.sk.srtt_us >> 3)
    }

    /// Time until a segment counts as lost; zero or negative if it already counts as lost.
    #[inline]
    pub(crate) fn rack_remaining_us(&self, sent: u64, reo_wnd_us: u32) -> i64 {
        let due = u64::from(self.rack.rtt_us) + u64::from(reo_wnd_us);
        due as i64 - self.sk.tcp_mstamp.saturating_sub(sent) as i64
    }

    /// Whether a segment that was sent after this one was delivered.
    #[inline]
    pub(super) fn was_delivered_after(&self, segment: &TxSegment) -> bool {
        sent_after(self.rack.mstamp, segment.tx_mstamp, self.rack.end_seq, segment.end_seq)
    }

    /// Marks lost segments (RFC 8985 section 6.2 step 5). Returns how long to wait for the
    /// remaining segments.
    pub(crate) fn rack_detect_loss(&mut self) -> Option<u64> {
        let reo_wnd_us = self.rack_reo_wnd_us();
        let mut wait_us = None;
        let mut order = self.rtx.sent_order();
        while let Some(number) = self.rtx.next_sent(&mut order) {
            let segment = self.rtx.get(number);
            if segment.is_only_lost() {
                continue;
            }
            let sent = segment.tx_mstamp;
            if !self.was_delivered_after(segment) {
                break;
            }
            let remaining = self.rack_remaining_us(sent, reo_wnd_us);
            if remaining <= 0 {
                self.mark_lost(number);
                self.rtx.unlist(number);
            } else {
                wait_us = wait_us.max(Some(remaining as u64));
            }
        }
        wait_us
    }

    /// `tcp_rack_mark_lost`: marks lost segments. Returns whether the reordering timer was set.
    pub(crate) fn rack_mark_lost(&mut self) -> bool {
        if !self.rack.is_advanced {
            return false;
        }
        self.rack.is_advanced = false;
        let Some(wait_us) = self.rack_detect_loss() else { return false };
        let delay = self.clock.jiffies_of_us(wait_us + TIMEOUT_MIN_US);
        self.reset_timer(Pending::Reordering, delay.min(self.timer.rto));
        true
    }

    /// Marks a segment as lost, or its retransmission if it has been retransmitted.
    pub(crate) fn mark_lost(&mut self, number: u32) {
        let segment = self.rtx.get_mut(number);
        if segment.flags & SACKED_ACKED != 0 {
            return;
        }
        let sk = &mut self.sk;
        if segment.flags & LOST != 0 {
            if segment.flags & SACKED_RETRANS == 0 {
                return;
            }
            segment.flags &= !SACKED_RETRANS;
            sk.retrans_out -= 1;
        } else {
            segment.flags |= LOST;
            sk.lost_out += 1;
        }
        sk.lost = sk.lost.wrapping_add(1);
        self.rtx.update_waiting(number);
    }
}

#[cfg(test)]
mod tests {
    use crate::linux::testing::{Pair, SENDER};

    /// RFC 8985 section 6.2: if three later segments are sacked, there is no reordering window.
    #[test]
    fn a_segment_is_lost_when_three_that_were_sent_after_it_have_arrived() {
        for (arrived, lost) in [(2, 0), (3, 1), (4, 1)] {
            let mut pair = Pair::established();
            let segments = pair.write(14_480);
            // The last of the flight are sent later, so that their times differ.
            let acks = pair.deliver(&segments[1..=arrived]);
            pair.answer(&acks);
            assert_eq!(pair.ends[SENDER].sk.lost_out, lost, "{arrived} arrived");
        }
    }

    #[test]
    fn what_was_sent_last_is_what_counts() {
        let mut pair = Pair::established();
        let segments = pair.write(14_480);
        let acks = pair.deliver(&segments[..2]);
        pair.answer(&acks);
        let rack = pair.ends[SENDER].rack;
        assert_eq!((rack.end_seq, rack.rtt_us), (segments[1].end_seq(), 20_000));
    }
}
