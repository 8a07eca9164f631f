//! The ACK state machine: start and end of recovery, proportional rate reduction (RFC 6937), F-RTO
//! (RFC 5682), and undo of reductions that were not due to congestion.

use cwndlab_cc::{CwndEvent, INFINITE_SSTHRESH, RateSample};
use cwndlab_packet::seq::{after, before};

use super::ack::{AckFlags, Rexmit};
use super::prr::{Prr, PrrAck};
use super::rack::RECOVERY_THRESHOLD;
use super::rtx::{LOST, SACKED_ACKED, SHARES_BUFFER};
use super::timer::Pending;
use super::{LinuxEndpoint, WindowReduction};
use crate::info::{CaState, TcpEvent};

/// State of a window reduction that is needed to complete or undo it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recovery {
    /// `undo_marker`: value of `snd_una` when the window was reduced, as long as the reduction may
    /// be undone.
    pub(super) undo_marker: Option<u32>,
    /// Number of retransmissions since the reduction that no DSACK has reported as unnecessary;
    /// negative if there was none.
    pub(super) undo_retrans: i32,
    /// Value of the timestamp clock at the first retransmission; 0 if there was none.
    pub(super) retrans_stamp: u32,
    /// The slow start threshold before the reduction; 0 if it must not be restored.
    pub(super) prior_ssthresh: u32,
    pub(super) prr: Prr,
    /// Whether the receiver discarded data that it had sacked.
    pub(super) is_reneging: bool,
    /// Whether F-RTO is checking if the timeout was spurious (RFC 5682).
    pub(super) is_frto: bool,
}

impl Recovery {
    /// Whether the reduction may be undone and `end_seq` lies beyond the start of the reduction.
    pub(super) fn may_undo_up_to(&self, end_seq: u32) -> bool {
        self.undo_marker.is_some_and(|marker| after(end_seq, marker))
    }
}

impl LinuxEndpoint {
    pub(crate) fn set_ca_state(&mut self, state: CaState) {
        self.connection.expected.forget();
        let is_change = self.ca_state() != state as u8;
        self.congestion.set_state(&mut self.sk, state as u8);
        self.sk.inet_conn.icsk_ca_state = state as u8;
        if is_change {
            self.event(TcpEvent::State(state));
        }
    }

    /// `tcp_current_ssthresh`: the slow start threshold, or three quarters of the window if this
    /// is larger, unless the window is being reduced.
    fn current_ssthresh(&self) -> u32 {
        let sk = &self.sk;
        if self.in_cwnd_reduction() {
            sk.snd_ssthresh
        } else {
            sk.snd_ssthresh.max((sk.snd_cwnd >> 1) + (sk.snd_cwnd >> 2))
        }
    }

    /// `tcp_fastretrans_alert`: handles a dubious ACK according to the state.
    pub(crate) fn fast_retransmit_alert(
        &mut self,
        prior_una: u32,
        duplicates: u32,
        flags: &mut AckFlags,
        rexmit: &mut Rexmit,
    ) {
        let is_ece = flags.has(AckFlags::ECE);
        let is_advanced = flags.has(AckFlags::SND_UNA_ADVANCED);
        if self.sk.packets_out == 0 {
            self.sk.sacked_out = 0;
        }
        if is_ece {
            self.recovery.prior_ssthresh = 0;
        }
        if self.check_reneging(flags) {
            return;
        }
        // Leave a state when all data sent before it began are acknowledged.
        let state = CaState::from_u8(self.ca_state());
        if state == CaState::Open {
            self.recovery.retrans_stamp = 0;
        } else if !before(self.sk.snd_una, self.sk.high_seq) {
            match state {
                CaState::Cwr if self.sk.snd_una != self.sk.high_seq => {
                    self.end_cwnd_reduction();
                    self.set_ca_state(CaState::Open);
                }
                CaState::Recovery => {
                    if !self.connection.options.is_sack {
                        self.sk.sacked_out = 0;
                    }
                    if self.try_undo_recovery() {
                        return;
                    }
                    self.end_cwnd_reduction();
                }
                _ => {}
            }
        }
        match CaState::from_u8(self.ca_state()) {
            CaState::Recovery => {
                if !is_advanced {
                    self.add_duplicate_acks(duplicates, is_ece);
                } else if self.try_undo_partial(prior_una) {
                    return;
                }
                if self.try_undo_dsack() {
                    self.try_to_open(*flags);
                }
                self.identify_loss(flags);
                if self.ca_state() != CaState::Recovery as u8 {
                    if !self.is_time_to_recover() {
                        return;
                    }
                    self.enter_recovery(is_ece);
                }
            }
            CaState::Loss => {
                self.process_loss(*flags, duplicates, rexmit);
                self.identify_loss(flags);
                let is_over = self.ca_state() != CaState::Loss as u8;
                if !(is_over || flags.has(AckFlags::LOST_RETRANS)) {
                    return;
                }
                if !self.consider_recovery(is_advanced, duplicates, is_ece, flags) {
                    return;
                }
            }
            _ => {
                if !self.consider_recovery(is_advanced, duplicates, is_ece, flags) {
                    return;
                }
            }
        }
        if !self.is_rack() && self.sk.sacked_out > 0 && self.connection.options.is_sack {
            self.mark_head_lost(1);
        }
        *rexmit = Rexmit::Lost;
    }

    /// In states other than recovery, checks whether losses are now evident. Returns whether
    /// recovery began.
    fn consider_recovery(
        &mut self,
        is_advanced: bool,
        duplicates: u32,
        is_ece: bool,
        flags: &mut AckFlags,
    ) -> bool {
        if !self.connection.options.is_sack {
            if is_advanced {
                self.sk.sacked_out = 0;
            }
            self.add_duplicate_acks(duplicates, is_ece);
        }
        if self.ca_state() <= CaState::Disorder as u8 {
            self.try_undo_dsack();
        }
        self.identify_loss(flags);
        if !self.is_time_to_recover() {
            if self.is_early_retransmit_due() {
                self.schedule_early_retransmit(flags);
            }
            self.try_to_open(*flags);
            return false;
        }
        self.enter_recovery(is_ece);
        if !self.connection.options.is_sack {
            self.mark_head_lost(1);
        }
        true
    }

    /// Handles a receiver that discarded sacked data: the first segment of the queue is sacked,
    /// but not acknowledged. Returns whether this is the case.
    ///
    /// Sets the retransmission timer, whose expiry clears all SACKs, to half a round trip; ACKs of
    /// no new data do not postpone it.
    fn check_reneging(&mut self, flags: &mut AckFlags) -> bool {
        if !flags.has_all(AckFlags::SACK_RENEGING | AckFlags::SND_UNA_ADVANCED) {
            return false;
        }
        flags.remove(AckFlags::SET_XMIT_TIMER);
        let half_rtt_us = u64::from(self.sk.srtt_us >> 4).max(10_000);
        self.reset_timer(Pending::Retransmit, self.clock.jiffies_of_us(half_rtt_us));
        true
    }

    fn identify_loss(&mut self, flags: &mut AckFlags) {
        if self.rtx.is_empty() {
            return;
        }
        if !self.connection.options.is_sack {
            self.mark_newreno_lost(flags.has(AckFlags::SND_UNA_ADVANCED));
        } else if self.settings.repair.rack {
            let prior_retrans = self.sk.retrans_out;
            if self.rack_mark_lost() {
                flags.remove(AckFlags::SET_XMIT_TIMER);
            }
            if prior_retrans > self.sk.retrans_out {
                *flags |= AckFlags::LOST_RETRANS;
            }
        } else if self.is_fack() && self.sk.retrans_out > 0 {
            self.mark_lost_retransmissions();
        }
    }

    fn is_time_to_recover(&self) -> bool {
        if self.sk.lost_out > 0 {
            return true;
        }
        if self.is_rack() {
            return false;
        }
        if self.is_fack() {
            self.forward_most() > self.sk.reordering
        } else {
            self.sk.sacked_out >= self.sk.reordering
        }
    }

    // Duplicate ACKs without SACK (RFC 6582).

    /// `tcp_add_reno_sack`: counts a duplicate ACK as a segment that arrived.
    fn add_duplicate_acks(&mut self, duplicates: u32, is_ece: bool) {
        if self.connection.options.is_sack || duplicates == 0 {
            return;
        }
        let prior = self.sk.sacked_out;
        self.sk.sacked_out += duplicates;
        self.check_duplicate_acks(0);
        let delivered = self.sk.sacked_out.saturating_sub(prior);
        self.count_delivered(delivered, is_ece);
    }

    /// `tcp_limit_reno_sacked`: limits the number of duplicate ACKs to the segments that are not
    /// lost; more duplicates are due to reordering.
    fn check_duplicate_acks(&mut self, acked: u32) {
        let sk = &mut self.sk;
        let holes = sk.lost_out.max(1).min(sk.packets_out);
        if sk.sacked_out + holes > sk.packets_out {
            sk.sacked_out = sk.packets_out - holes;
            let degree = (sk.packets_out + acked).min(self.settings.reordering.max_reordering_pkts);
            sk.reordering = sk.reordering.max(degree);
            self.scoreboard.has_seen_reordering = true;
        }
    }

    /// `tcp_remove_reno_sacks`: a cumulative ACK covers the hole and some of the segments counted
    /// by duplicate ACKs.
    pub(crate) fn remove_duplicate_acks(&mut self, acked: u32, is_ece: bool) {
        if acked > 0 {
            let delivered = i64::from(acked) - i64::from(self.sk.sacked_out);
            self.count_delivered(delivered.max(1) as u32, is_ece);
            self.sk.sacked_out = self.sk.sacked_out.saturating_sub(acked - 1);
        }
        self.check_duplicate_acks(acked);
    }

    /// `tcp_newreno_mark_lost` (RFC 6582 section 3.2 steps 2 and 3).
    fn mark_newreno_lost(&mut self, is_advanced: bool) {
        let state = self.ca_state();
        let is_recovery = state == CaState::Recovery as u8;
        if (state < CaState::Recovery as u8 && self.sk.sacked_out >= self.sk.reordering)
            || (is_recovery && is_advanced)
        {
            let head = self.rtx.head();
            if self.rtx.get(head).flags & LOST == 0 {
                self.mark_lost(head);
            }
        }
    }

    /// Marks losses without RACK: the first hole, and each segment above which `reordering` or
    /// more segments are sacked.
    pub(super) fn mark_head_lost(&mut self, at_least: u32) {
        if self.is_fack() {
            self.mark_below_forward_most(at_least);
            return;
        }
        let count = (self.sk.sacked_out + 1).saturating_sub(self.sk.reordering).max(at_least);
        let mut sacked = 0;
        let mut number = self.rtx.head();
        while number != self.rtx.tail() {
            let segment = self.rtx.get(number);
            if after(segment.end_seq, self.sk.high_seq) || sacked >= count {
                break;
            }
            if segment.flags & SACKED_ACKED != 0 {
                sacked += 1;
            } else {
                if segment.flags & LOST == 0 {
                    self.mark_lost(number);
                }
                if sacked == 0 && count == at_least {
                    break;
                }
            }
            number = number.wrapping_add(1);
        }
    }

    // Start and end of window reductions.

    /// `tcp_init_cwnd_reduction`.
    pub(crate) fn init_cwnd_reduction(&mut self) {
        self.sk.high_seq = self.sk.snd_nxt;
        self.probe.end();
        self.sk.snd_cwnd_cnt = 0;
        self.sk.prior_cwnd = self.sk.snd_cwnd;
        self.recovery.prr = Prr::default();
        self.sk.snd_ssthresh = self.congestion.ssthresh(&mut self.sk);
        self.queue_cwr();
    }

    fn init_undo(&mut self) {
        self.recovery.undo_marker = Some(self.sk.snd_una);
        self.recovery.undo_retrans = match self.sk.retrans_out {
            0 => -1,
            retransmitted => retransmitted as i32,
        };
    }

    /// `tcp_enter_recovery`.
    pub(crate) fn enter_recovery(&mut self, is_ece: bool) {
        self.recovery.prior_ssthresh = 0;
        self.init_undo();
        if !self.in_cwnd_reduction() {
            if !is_ece {
                self.recovery.prior_ssthresh = self.current_ssthresh();
            }
            self.init_cwnd_reduction();
        }
        self.counters.recoveries += 1;
        self.set_ca_state(CaState::Recovery);
    }

    /// `tcp_enter_cwr`: begins a window reduction without a loss.
    pub(crate) fn enter_cwr(&mut self) {
        self.recovery.prior_ssthresh = 0;
        if self.ca_state() < CaState::Cwr as u8 {
            self.recovery.undo_marker = None;
            self.init_cwnd_reduction();
            self.set_ca_state(CaState::Cwr);
        }
    }

    /// `tcp_enter_loss`: begins recovery after a timeout (RFC 5681 section 3.1, RFC 5682 section
    /// 2.1 step 1).
    pub(crate) fn enter_loss(&mut self) {
        let state = self.ca_state();
        let is_new_recovery = state < CaState::Recovery as u8;
        let retransmits = self.sk.inet_conn.icsk_retransmits;
        self.timeout_mark_lost();
        if state <= CaState::Disorder as u8
            || !after(self.sk.high_seq, self.sk.snd_una)
            || (state == CaState::Loss as u8 && retransmits == 0)
        {
            self.recovery.prior_ssthresh = self.current_ssthresh();
            self.sk.prior_cwnd = self.sk.snd_cwnd;
            self.sk.snd_ssthresh = self.congestion.ssthresh(&mut self.sk);
            self.tell_window(CwndEvent::Loss);
            self.init_undo();
        }
        self.sk.snd_cwnd = self.in_flight() + 1;
        self.sk.snd_cwnd_cnt = 0;
        self.sk.snd_cwnd_stamp = self.sk.cc_jiffies32;
        let reordering = self.settings.reordering.reordering_pkts;
        if state <= CaState::Disorder as u8 && self.sk.sacked_out >= reordering {
            self.sk.reordering = self.sk.reordering.min(reordering);
        }
        self.set_ca_state(CaState::Loss);
        self.sk.high_seq = self.sk.snd_nxt;
        self.probe.end();
        self.queue_cwr();
        self.recovery.is_frto =
            self.settings.repair.forward_rto_recovery && (is_new_recovery || retransmits > 0);
    }

    /// `tcp_timeout_mark_lost`: marks all segments as lost; with RACK, except those sent within
    /// the last RTT.
    fn timeout_mark_lost(&mut self) {
        let head = self.rtx.head();
        let is_reneg = self.rtx.get(head).flags & SACKED_ACKED != 0;
        if is_reneg {
            self.sk.sacked_out = 0;
            self.recovery.is_reneging = true;
            self.scoreboard.cache = Default::default();
        } else if !self.connection.options.is_sack {
            self.sk.sacked_out = 0;
        }
        let mut number = head;
        while number != self.rtx.tail() {
            if is_reneg {
                let is_merged = self.rtx.is_sacked(number)
                    && self.rtx.is_sacked(number.wrapping_add(1))
                    && self.rtx.get(number).flags & SHARES_BUFFER == 0;
                if is_merged {
                    self.buffer.unmerge();
                }
                let segment = self.rtx.get_mut(number);
                if segment.flags & SACKED_ACKED != 0 {
                    segment.flags &= !SACKED_ACKED;
                    self.rtx.list_as_newest(number);
                }
                self.mark_lost(number);
            } else {
                let sent = self.rtx.get(number).tx_mstamp;
                let is_recent =
                    self.is_rack() && number != head && self.rack_remaining_us(sent, 0) > 0;
                if !is_recent {
                    self.mark_lost(number);
                }
            }
            number = number.wrapping_add(1);
        }
    }

    /// `tcp_cwnd_reduction`: reduces the window by PRR (RFC 6937 section 3).
    pub(crate) fn reduce_cwnd(&mut self, delivered: u32, lost: u32, is_advanced: bool) {
        if delivered == 0 || self.sk.prior_cwnd == 0 {
            return;
        }
        if self.settings.repair.window_reduction == WindowReduction::RateHalving {
            self.halve_rate();
            return;
        }
        let ack = PrrAck {
            delivered,
            is_safe: is_advanced && lost == 0,
            in_flight: self.in_flight(),
            ssthresh: self.sk.snd_ssthresh,
            prior_cwnd: self.sk.prior_cwnd,
        };
        self.sk.snd_cwnd = self.recovery.prr.window(ack, self.settings.repair.window_reduction);
    }

    /// `tcp_end_cwnd_reduction`.
    pub(crate) fn end_cwnd_reduction(&mut self) {
        if self.congestion.has_cong_control() {
            return;
        }
        let is_cwr = self.ca_state() == CaState::Cwr as u8;
        if self.sk.snd_ssthresh < INFINITE_SSTHRESH
            && (is_cwr || self.recovery.undo_marker.is_some())
        {
            self.sk.snd_cwnd = match self.settings.repair.window_reduction {
                WindowReduction::RateHalving => self.sk.snd_cwnd.min(self.sk.snd_ssthresh),
                WindowReduction::Prr | WindowReduction::PrrSafeAck => self.sk.snd_ssthresh,
            };
            self.sk.snd_cwnd_stamp = self.sk.cc_jiffies32;
        }
        self.tell_window(CwndEvent::CompleteCwr);
    }

    /// `tcp_cong_control`: updates the window after an ACK.
    #[inline(always)]
    pub(crate) fn control_congestion(
        &mut self,
        ack: u32,
        delivered: u32,
        flags: AckFlags,
        sample: &RateSample,
    ) {
        if self.congestion.has_cong_control() {
            // A copy, so that the sample need not be in memory if no algorithm reads it.
            let sample = *sample;
            let requests = self.congestion.cong_control(&mut self.sk, ack, flags.bits(), &sample);
            return self.serve(requests);
        }
        if self.in_cwnd_reduction() {
            let is_advanced = flags.has(AckFlags::SND_UNA_ADVANCED);
            self.reduce_cwnd(delivered, sample.losses as u32, is_advanced);
        } else {
            let is_reordering = self.sk.reordering > self.settings.reordering.reordering_pkts;
            let needed =
                if is_reordering { AckFlags::FORWARD_PROGRESS } else { AckFlags::DATA_ACKED };
            if flags.has(needed) {
                let growth = if self.settings.growth_per_ack { 1 } else { delivered };
                let requests = self.congestion.cong_avoid(&mut self.sk, ack, growth);
                self.sk.snd_cwnd_stamp = self.sk.cc_jiffies32;
                self.serve(requests);
            }
        }
        self.update_pacing_rate();
    }

    // Undo.

    /// `tcp_packet_delayed`: whether an ACK echoes a time before the first retransmission, or
    /// nothing was retransmitted. Without SACK, the stamp is also 0 while recovery is kept open at
    /// its end; this proves nothing.
    fn is_packet_delayed(&self) -> bool {
        if self.recovery.retrans_stamp != 0 {
            return self.is_echo_before(self.recovery.retrans_stamp);
        }
        self.connection.options.is_sack || before(self.sk.snd_una, self.sk.high_seq)
    }

    fn may_undo(&self) -> bool {
        self.recovery.undo_marker.is_some()
            && (self.recovery.undo_retrans == 0 || self.is_packet_delayed())
    }

    /// `tcp_undo_cwnd_reduction`.
    fn undo_cwnd_reduction(&mut self, is_unmarking: bool) {
        if is_unmarking {
            self.forget_losses();
        }
        if self.recovery.prior_ssthresh != 0 {
            self.sk.snd_cwnd = self.congestion.undo_cwnd(&mut self.sk);
            if self.recovery.prior_ssthresh > self.sk.snd_ssthresh {
                self.sk.snd_ssthresh = self.recovery.prior_ssthresh;
                self.unqueue_cwr();
            }
        }
        if self.settings.repair.window_reduction == WindowReduction::RateHalving {
            self.moderate_cwnd();
        }
        self.sk.snd_cwnd_stamp = self.sk.cc_jiffies32;
        self.recovery.undo_marker = None;
        self.rack.is_advanced = true;
        self.counters.undos += 1;
        self.event(TcpEvent::Undo(self.sk.snd_cwnd));
    }

    /// `tcp_try_undo_recovery`: undoes the reduction if it was unnecessary. Returns whether the
    /// state must be kept.
    fn try_undo_recovery(&mut self) -> bool {
        if self.may_undo() {
            if self.ca_state() == CaState::Loss as u8 {
                self.counters.spurious_timeouts += 1;
            }
            self.undo_cwnd_reduction(false);
        } else if self.rack.reo_wnd_persist > 0 {
            self.rack.reo_wnd_persist -= 1;
        }
        if self.sk.snd_una == self.sk.high_seq && !self.connection.options.is_sack {
            // Keep the state until higher data are acknowledged, to prevent false fast retransmits
            // (RFC 6582 section 4.1).
            if !self.is_any_retransmission_out() {
                self.recovery.retrans_stamp = 0;
            }
            return true;
        }
        self.set_ca_state(CaState::Open);
        self.recovery.is_reneging = false;
        false
    }

    /// `tcp_try_undo_dsack`: undoes the reduction if every retransmission was reported as a
    /// duplicate.
    fn try_undo_dsack(&mut self) -> bool {
        if self.recovery.undo_marker.is_some() && self.recovery.undo_retrans == 0 {
            let rack = &mut self.rack;
            rack.reo_wnd_persist = RECOVERY_THRESHOLD.min(rack.reo_wnd_persist + 1);
            self.undo_cwnd_reduction(false);
            return true;
        }
        false
    }

    /// `tcp_try_undo_loss`.
    fn try_undo_loss(&mut self, is_frto: bool) -> bool {
        if !is_frto && !self.may_undo() {
            return false;
        }
        if is_frto && !self.settings.repair.spurious_timeout_undo && !self.may_undo() {
            self.halve_after_spurious_timeout();
            return true;
        }
        self.undo_cwnd_reduction(true);
        self.counters.spurious_timeouts += 1;
        self.sk.inet_conn.icsk_retransmits = 0;
        if is_frto || self.connection.options.is_sack {
            self.set_ca_state(CaState::Open);
            self.recovery.is_reneging = false;
        }
        true
    }

    /// Clears all loss marks.
    pub(super) fn forget_losses(&mut self) {
        let mut number = self.rtx.head();
        while number != self.rtx.tail() {
            self.rtx.get_mut(number).flags &= !LOST;
            self.rtx.update_waiting(number);
            number = number.wrapping_add(1);
        }
        self.rtx.relist_lost();
        self.sk.lost_out = 0;
    }

    /// `tcp_try_undo_partial`: handles a partial ACK that shows that packets were only late.
    /// Returns whether to wait.
    fn try_undo_partial(&mut self, prior_una: u32) -> bool {
        if self.recovery.undo_marker.is_none() || !self.is_packet_delayed() {
            return false;
        }
        self.check_sack_reordering(prior_una);
        if self.sk.retrans_out > 0 {
            return true;
        }
        if !self.is_any_retransmission_out() {
            self.recovery.retrans_stamp = 0;
        }
        self.undo_cwnd_reduction(true);
        self.try_keep_open();
        false
    }

    /// `tcp_try_to_open`.
    fn try_to_open(&mut self, flags: AckFlags) {
        if !self.is_any_retransmission_out() {
            self.recovery.retrans_stamp = 0;
        }
        if flags.has(AckFlags::ECE) {
            self.enter_cwr();
        }
        if self.ca_state() != CaState::Cwr as u8 {
            self.try_keep_open();
        }
    }

    /// `tcp_try_keep_open`.
    pub(crate) fn try_keep_open(&mut self) {
        let is_left_out = self.sk.sacked_out + self.sk.lost_out > 0;
        let state = if is_left_out || self.is_any_retransmission_out() {
            CaState::Disorder
        } else {
            CaState::Open
        };
        if self.ca_state() != state as u8 {
            self.set_ca_state(state);
            self.sk.high_seq = self.sk.snd_nxt;
        }
    }

    /// `tcp_process_loss`: handles an ACK after a timeout.
    fn process_loss(&mut self, flags: AckFlags, duplicates: u32, rexmit: &mut Rexmit) {
        let is_recovered = !before(self.sk.snd_una, self.sk.high_seq);
        let is_advanced = flags.has(AckFlags::SND_UNA_ADVANCED);
        if is_advanced && self.try_undo_loss(false) {
            return;
        }
        if self.recovery.is_frto {
            // RFC 5682 section 3.1 step 3.b: data that were never retransmitted arrived.
            if flags.has(AckFlags::ORIG_SACK_ACKED) && self.try_undo_loss(true) {
                return;
            }
            if after(self.sk.snd_nxt, self.sk.high_seq) {
                if flags.has(AckFlags::DATA_SACKED) || duplicates > 0 {
                    self.recovery.is_frto = false;
                }
            } else if is_advanced && !is_recovered {
                self.sk.high_seq = self.sk.snd_nxt;
                let end = self.sk.snd_una.wrapping_add(self.sk.snd_wnd);
                if self.has_unsent() && after(end, self.sk.snd_nxt) {
                    *rexmit = Rexmit::New;
                    return;
                }
                self.recovery.is_frto = false;
            }
        }
        if is_recovered {
            self.try_undo_recovery();
            return;
        }
        if !self.connection.options.is_sack {
            if after(self.sk.snd_nxt, self.sk.high_seq) && duplicates > 0 {
                self.add_duplicate_acks(duplicates, flags.has(AckFlags::ECE));
            } else if is_advanced {
                self.sk.sacked_out = 0;
            }
        }
        *rexmit = Rexmit::Lost;
    }

    /// `tcp_cwnd_restart`: decays the window after an idle time (RFC 5681 section 4.1).
    pub(crate) fn check_idle_restart(&mut self) {
        if !self.settings.slow_start_after_idle
            || self.sk.packets_out > 0
            || self.congestion.has_cong_control()
        {
            return;
        }
        let mut idle = i64::from(self.sk.cc_jiffies32.wrapping_sub(self.sk.lsndtime) as i32);
        let rto = self.timer.rto.0 as i64;
        if idle <= rto {
            return;
        }
        self.tell_window(CwndEvent::CwndRestart);
        self.sk.snd_ssthresh = self.current_ssthresh();
        let mut cwnd = self.sk.snd_cwnd;
        let restart = self.settings.initial_cwnd_pkts.min(cwnd);
        loop {
            idle -= rto;
            if idle <= 0 || cwnd <= restart {
                break;
            }
            cwnd >>= 1;
        }
        self.sk.snd_cwnd = cwnd.max(restart);
        self.sk.snd_cwnd_stamp = self.sk.cc_jiffies32;
        self.sk.snd_cwnd_used = 0;
    }

    /// `tcp_cwnd_validate`: records whether the window limited the sender (cf. RFC 7661).
    pub(crate) fn validate_cwnd(&mut self, is_cwnd_limited: bool) {
        let sk = &mut self.sk;
        if !before(sk.snd_una, sk.cwnd_usage_seq)
            || is_cwnd_limited
            || (sk.is_cwnd_limited == 0 && sk.packets_out > sk.max_packets_out)
        {
            sk.is_cwnd_limited = u8::from(is_cwnd_limited);
            sk.max_packets_out = sk.packets_out;
            sk.cwnd_usage_seq = sk.snd_nxt;
        }
        let in_slow_start = sk.snd_cwnd < sk.snd_ssthresh;
        if sk.is_cwnd_limited != 0 || (in_slow_start && sk.snd_cwnd < 2 * sk.max_packets_out) {
            sk.snd_cwnd_used = 0;
            sk.snd_cwnd_stamp = sk.cc_jiffies32;
            return;
        }
        sk.snd_cwnd_used = sk.snd_cwnd_used.max(sk.packets_out);
        let unused = sk.cc_jiffies32.wrapping_sub(sk.snd_cwnd_stamp) as i32;
        if self.settings.slow_start_after_idle
            && i64::from(unused) >= self.timer.rto.0 as i64
            && !self.congestion.has_cong_control()
        {
            self.limit_cwnd_to_use();
        }
        self.note_send_buffer_limit();
    }

    /// `tcp_cwnd_application_limited`.
    fn limit_cwnd_to_use(&mut self) {
        if self.ca_state() == CaState::Open as u8 && !self.buffer.is_blocked {
            let used = self.sk.snd_cwnd_used.max(self.settings.initial_cwnd_pkts);
            if used < self.sk.snd_cwnd {
                self.sk.snd_ssthresh = self.current_ssthresh();
                self.sk.snd_cwnd = (self.sk.snd_cwnd + used) >> 1;
            }
            self.sk.snd_cwnd_used = 0;
        }
        self.sk.snd_cwnd_stamp = self.sk.cc_jiffies32;
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Duration;

    use super::*;
    use crate::linux::testing::{Pair, SENDER};

    /// A pair of endpoints after the first of ten segments was lost and retransmitted.
    fn in_recovery() -> (Pair, u32, Vec<cwndlab_packet::Segment>) {
        let mut pair = Pair::established();
        let segments = pair.write(14_480);
        let prior_cwnd = pair.ends[SENDER].sk.snd_cwnd;
        let acks = pair.deliver(&segments[1..]);
        let repairs = pair.answer(&acks);
        (pair, prior_cwnd, repairs)
    }

    #[test]
    fn a_loss_is_repaired_in_recovery_and_leaves_a_smaller_window() {
        let (mut pair, prior_cwnd, repairs) = in_recovery();
        assert_eq!(pair.ends[SENDER].ca_state(), CaState::Recovery as u8);
        assert_eq!(pair.ends[SENDER].counters.recoveries, 1);
        let acks = pair.deliver(&repairs);
        pair.answer(&acks);
        let sender = &pair.ends[SENDER];
        assert_eq!(sender.ca_state(), CaState::Open as u8);
        // CUBIC's factor is 0.7 (RFC 9438 section 4.6).
        assert_eq!(sender.sk.snd_ssthresh, prior_cwnd * 717 / 1024);
        assert!(sender.sk.snd_cwnd <= prior_cwnd);
    }

    #[test]
    fn a_timeout_takes_all_for_lost_and_begins_with_one_segment() {
        let mut pair = Pair::established();
        pair.write(14_480);
        pair.ends[SENDER].set_now(pair.now + Duration::from_secs(1));
        pair.ends[SENDER].enter_loss();
        let sender = &pair.ends[SENDER];
        assert_eq!(sender.ca_state(), CaState::Loss as u8);
        assert_eq!((sender.sk.lost_out, sender.in_flight()), (sender.sk.packets_out, 0));
        assert_eq!(sender.sk.snd_cwnd, 1);
    }
}
