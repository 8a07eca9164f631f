//! The timers of the Linux endpoint: one for retransmission, probes and reordering, and others for
//! delayed ACKs, held-back SACKs and pacing.

use cwndlab_cc::{ICSK_ACK_SCHED, ICSK_ACK_TIMER};
use cwndlab_units::Time;

use super::LinuxEndpoint;
use super::clock::Jiffies;
use super::pacer::Push;
use super::rtx::EVER_RETRANS;
use super::state::State;
use crate::info::{CaState, TcpEvent};

/// Time that is added to the reordering and probe timers, so that they do not expire too early
/// (`TCP_TIMEOUT_MIN_US`).
pub(super) const TIMEOUT_MIN_US: u64 = 2_000;

/// Purpose for which the retransmission timer is set (`icsk_pending`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Pending {
    #[default]
    Nothing,
    Retransmit,
    /// Zero window probe.
    Probe0,
    /// Tail loss probe.
    LossProbe,
    /// RACK's reordering window.
    Reordering,
}

/// The retransmission timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetransmitTimer {
    pub(crate) pending: Pending,
    pub(crate) fires: Time,
    /// Whether the time of the timer is computed only after the current segment was processed,
    /// because data sent in the meantime set the timer anyway.
    pub(crate) is_postponed: bool,
    /// The retransmission timeout (RFC 6298) with back-off.
    pub(super) rto: Jiffies,
    /// Upper bound of the retransmission timeout.
    pub(super) rto_max: Jiffies,
    /// Number of times that the timeout was doubled since the last RTT sample.
    pub(super) backoff: u32,
    /// Unanswered window probes.
    pub(super) probes_out: u32,
}

impl RetransmitTimer {
    pub(super) fn new(rto: Jiffies, rto_max: Jiffies) -> Self {
        let (pending, fires) = (Pending::Nothing, Time::NEVER);
        Self { pending, fires, is_postponed: false, rto, rto_max, backoff: 0, probes_out: 0 }
    }

    #[inline]
    fn set(&mut self, pending: Pending, fires: Time) {
        self.pending = pending;
        self.fires = fires;
        self.is_postponed = false;
    }

    /// Stops the timer.
    pub(super) fn clear(&mut self) {
        self.set(Pending::Nothing, Time::NEVER);
    }

    /// Doubles the timeout after the timer has expired (RFC 6298 section 5.5).
    fn back_off(&mut self) {
        self.backoff += 1;
        self.rto = self.rto.doubled().min(self.rto_max);
    }
}

impl LinuxEndpoint {
    /// Sets the timer to expire after `delay`.
    #[inline(always)]
    pub(crate) fn reset_timer(&mut self, pending: Pending, delay: Jiffies) {
        let delay = delay.min(self.timer.rto_max);
        let fires = self.clock.timer(delay);
        self.timer.set(pending, fires);
    }

    /// `tcp_reset_xmit_timer`: sets the timer to expire after `delay`, plus the time until a paced
    /// segment leaves.
    #[inline(always)]
    pub(crate) fn reset_xmit_timer(&mut self, pending: Pending, delay: Jiffies) {
        let ahead = self.sk.tcp_wstamp_ns.saturating_sub(self.sk.tcp_clock_cache);
        let ahead =
            if ahead == 0 { Jiffies(0) } else { self.clock.jiffies_of_us(ahead.div_ceil(1_000)) };
        self.reset_timer(pending, delay + ahead);
    }

    pub(crate) fn clear_timer(&mut self) {
        self.timer.clear();
    }

    /// `tcp_rto_delta_us`: remaining time of the timeout, which began when the first segment was
    /// sent.
    #[inline(always)]
    pub(crate) fn rto_left_us(&self) -> i64 {
        let sent = self.rtx.first().map_or(self.sk.tcp_mstamp, |segment| segment.tx_mstamp);
        (sent + self.clock.us_of(self.timer.rto)) as i64 - self.sk.tcp_mstamp as i64
    }

    /// `tcp_rearm_rto`: sets the retransmission timer again (RFC 6298 section 5).
    pub(crate) fn rearm_rto(&mut self) {
        if self.sk.packets_out == 0 {
            self.clear_timer();
            return;
        }
        let mut rto = self.timer.rto;
        if matches!(self.timer.pending, Pending::Reordering | Pending::LossProbe) {
            rto = self.clock.jiffies_of_us(self.rto_left_us().max(1) as u64);
        }
        self.reset_xmit_timer(Pending::Retransmit, rto);
    }

    /// Restarts the timer for the next data, after some data were acknowledged.
    #[inline]
    pub(super) fn restart_timer(&mut self) {
        if self.may_probe() {
            self.postpone_loss_probe();
        } else {
            self.rearm_rto();
        }
    }

    /// Whether a tail loss probe may be scheduled.
    #[inline]
    pub(crate) fn may_probe(&self) -> bool {
        let state = self.ca_state();
        self.settings.repair.tail_loss_probe
            && self.sk.packets_out > 0
            && self.connection.options.is_sack
            && (state == CaState::Open as u8 || state == CaState::Cwr as u8)
    }

    /// Schedules a tail loss probe whose time is computed later.
    #[inline]
    pub(crate) fn postpone_loss_probe(&mut self) {
        self.timer.pending = Pending::LossProbe;
        self.timer.is_postponed = true;
    }

    /// `tcp_schedule_loss_probe`: schedules a tail loss probe (RFC 8985 section 7.2).
    #[inline(always)]
    pub(crate) fn schedule_loss_probe(&mut self, is_advancing_rto: bool) {
        let mut timeout_us = if self.sk.srtt_us == 0 {
            u64::from(self.settings.timer.rto_initial_ms) * 1_000
        } else {
            let slack = if self.sk.packets_out == 1 {
                u64::from(self.settings.timer.rto_min_ms) * 1_000
            } else {
                TIMEOUT_MIN_US
            };
            u64::from(self.sk.srtt_us >> 2) + slack
        };
        let rto_us = if is_advancing_rto {
            self.clock.us_of(self.timer.rto) as i64
        } else {
            self.rto_left_us()
        };
        if rto_us > 0 {
            timeout_us = timeout_us.min(rto_us as u64);
        }
        self.reset_xmit_timer(Pending::LossProbe, self.clock.jiffies_of_us(timeout_us));
    }

    /// Runs every timer that is due.
    pub(crate) fn run_timers(&mut self) {
        let now = self.clock.now();
        if self.pacer.take_due(now) {
            self.send_what_waits();
        }
        if let Some(came) = self.receiver.acks.take_held_back(now) {
            // The clock was last read when data arrived, and the ACK's timestamp shows that time.
            let now_us = self.sk.tcp_mstamp;
            self.sk.tcp_mstamp = self.clock.reading_ns(came) / 1_000;
            self.send_ack();
            self.sk.tcp_mstamp = now_us;
        }
        if self.receiver.acks.take_delayed(now) {
            self.handle_delayed_ack_timer();
        }
        if self.timer.fires <= now {
            let pending = self.timer.pending;
            self.timer.fires = Time::NEVER;
            match pending {
                Pending::Nothing => {}
                Pending::Reordering => self.handle_reordering_timer(),
                Pending::LossProbe => self.send_loss_probe(),
                Pending::Retransmit => {
                    self.timer.pending = Pending::Nothing;
                    self.handle_retransmit_timer();
                }
                Pending::Probe0 => {
                    self.timer.pending = Pending::Nothing;
                    self.handle_probe_timer();
                }
            }
        }
        self.note_phase();
    }

    /// Sends the data that pacing or the host below TCP held back.
    pub(crate) fn send_what_waits(&mut self) {
        if self.sk.lost_out > self.sk.retrans_out && self.sk.snd_cwnd > self.in_flight() {
            self.retransmit_lost();
        }
        self.write_xmit_apart(Push::All);
    }

    fn handle_delayed_ack_timer(&mut self) {
        self.sk.inet_conn.icsk_ack.pending &= !ICSK_ACK_TIMER;
        if self.sk.inet_conn.icsk_ack.pending & ICSK_ACK_SCHED == 0 {
            return;
        }
        self.receiver.acks.note_delayed_sent(self.timer.rto);
        self.counters.delayed_acks += 1;
        self.send_ack();
    }

    /// `tcp_rack_reo_timeout`.
    fn handle_reordering_timer(&mut self) {
        let prior_in_flight = self.in_flight();
        let lost = self.sk.lost;
        if self.is_rack() {
            self.rack_detect_loss();
        } else {
            self.mark_head_lost(1);
        }
        if prior_in_flight != self.in_flight() {
            if self.ca_state() != CaState::Recovery as u8 {
                self.enter_recovery(false);
                if !self.congestion.has_cong_control() {
                    self.reduce_cwnd(1, self.sk.lost.wrapping_sub(lost), false);
                }
            }
            self.retransmit_lost();
        }
        if self.timer.pending != Pending::Retransmit {
            self.rearm_rto();
        }
    }

    /// `tcp_retransmit_timer`: handles the expiry of the retransmission timer (RFC 6298 section
    /// 5.4 and later).
    fn handle_retransmit_timer(&mut self) {
        if self.sk.packets_out == 0 {
            return;
        }
        if !self.is_established() {
            self.handle_syn_timeout();
            return;
        }
        self.counters.timeouts += 1;
        self.enter_loss();
        let count = self.sk.inet_conn.icsk_retransmits.saturating_add(1);
        self.sk.inet_conn.icsk_retransmits = count;
        self.event(TcpEvent::Timeout(count.into()));
        if !self.try_reserve() {
            let delay = self.refused_retransmission_delay();
            self.reset_timer(Pending::Retransmit, delay);
            return;
        }
        self.retransmit(self.rtx.head());
        self.timer.back_off();
        self.reset_timer(Pending::Retransmit, self.timer.rto);
    }

    /// Retransmits a SYN or SYN-ACK.
    fn handle_syn_timeout(&mut self) {
        let count = self.sk.inet_conn.icsk_retransmits.saturating_add(1);
        self.sk.inet_conn.icsk_retransmits = count;
        self.sk.total_retrans += 1;
        self.counters.timeouts += 1;
        self.event(TcpEvent::Timeout(count.into()));
        let mstamp = self.sk.tcp_mstamp;
        if let Some(head) = (!self.rtx.is_empty()).then(|| self.rtx.head()) {
            let segment = self.rtx.get_mut(head);
            segment.tx_mstamp = mstamp;
            segment.flags |= EVER_RETRANS;
        }
        self.resend_syn();
        let is_linear = self.connection.state == State::SynSent
            && u32::from(count) <= self.settings.timer.syn_linear_timeouts;
        if !is_linear {
            self.timer.back_off();
        }
        self.reset_timer(Pending::Retransmit, self.timer.rto);
    }

    /// `tcp_probe_timer`: sends a probe to find out whether a closed window has opened.
    fn handle_probe_timer(&mut self) {
        if self.sk.packets_out > 0 || !self.has_unsent() {
            self.timer.probes_out = 0;
            return;
        }
        if self.send_into_window() {
            self.timer.probes_out = 0;
            self.timer.backoff = 0;
            return;
        }
        self.send_window_probe();
        self.timer.probes_out += 1;
        self.timer.backoff = (self.timer.backoff + 1).min(16);
        self.arm_probe_timer();
    }

    pub(crate) fn arm_probe_timer(&mut self) {
        let base = self
            .timer
            .rto
            .max(self.clock.jiffies_of_us(u64::from(self.settings.timer.rto_min_ms) * 1_000));
        let delay = Jiffies(base.0.saturating_mul(1 << self.timer.backoff.min(16)));
        self.reset_xmit_timer(Pending::Probe0, delay);
    }

    /// `tcp_ack_probe`: stops the window probe timer if the window has opened; otherwise sets the
    /// timer again.
    pub(super) fn handle_probe_ack(&mut self) {
        if !self.has_unsent() {
            return;
        }
        if self.is_next_in_window() {
            self.timer.backoff = 0;
            self.clear_timer();
        } else {
            self.arm_probe_timer();
        }
    }

    /// `tcp_send_loss_probe`: sends a tail loss probe (RFC 8985 section 7.3).
    fn send_loss_probe(&mut self) {
        if self.probe.is_out() || self.sk.packets_out == 0 {
            self.rearm_rto();
            return;
        }
        let packets_out = self.sk.packets_out;
        let sends_new = self.has_unsent() && self.is_next_in_window();
        if sends_new {
            self.write_xmit_apart(Push::Probe);
            if self.sk.packets_out == packets_out {
                self.rearm_rto();
                return;
            }
        } else {
            if !self.try_reserve() {
                self.rearm_rto();
                return;
            }
            let last = self.rtx.tail().wrapping_sub(1);
            self.transmit_again(last);
        }
        self.probe.begin(self.sk.snd_nxt, !sends_new);
        self.counters.tail_loss_probes += 1;
        self.event(TcpEvent::TailLossProbe);
        self.timer.pending = Pending::Nothing;
        self.rearm_rto();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_doubles_up_to_its_bound() {
        let mut timer = RetransmitTimer::new(Jiffies(60), Jiffies(200));
        for expected in [120, 200, 200] {
            timer.back_off();
            assert_eq!(timer.rto, Jiffies(expected));
        }
        assert_eq!(timer.backoff, 3);
    }

    #[test]
    fn a_timer_that_is_set_waits_for_one_thing() {
        let mut timer = RetransmitTimer::new(Jiffies(60), Jiffies(200));
        timer.is_postponed = true;
        timer.set(Pending::Probe0, Time::from_millis(7));
        assert_eq!((timer.pending, timer.fires), (Pending::Probe0, Time::from_millis(7)));
        assert!(!timer.is_postponed);
        timer.clear();
        assert_eq!((timer.pending, timer.fires), (Pending::Nothing, Time::NEVER));
    }
}
