//! Handling of duplicate ACKs: start of recovery, the window during recovery, and end of recovery.

use cwndlab_cc::CwndEvent;
use cwndlab_units::Time;

use super::fine_timer::FineTimer;
use super::{Phase, PrrState, Sender};
use crate::classic::settings::Recovery;

impl Sender {
    /// Whether all data that were in flight at the loss are acknowledged; always true in Reno's
    /// recovery.
    pub(super) fn has_recovered(&self) -> bool {
        let reno = self.recovery == Recovery::Reno && self.phase == Phase::Recovery;
        reno || self.repair.recover.is_none_or(|recover| self.stream.una >= recover)
    }

    pub(super) fn leave_recovery(&mut self) {
        match self.recovery {
            Recovery::Reno | Recovery::NewReno | Recovery::Prr => {
                self.sk.snd_cwnd = self.sk.snd_ssthresh;
            }
            // The next duplicate ACKs report again what was SACKed above.
            Recovery::Sack => self.scoreboard.clear(self.stream.una),
            // Retransmissions beyond this loss's flight may still be lost.
            Recovery::Fack | Recovery::Tahoe => {}
        }
        self.enter(Phase::Open);
    }

    /// Handles an ACK of new data that does not cover all data in flight at the loss. Returns
    /// whether the timer restarts.
    pub(super) fn handle_partial_ack(&mut self, acknowledged: u32) -> bool {
        match self.recovery {
            // RFC 6582 section 3.2, step 3: retransmit the next hole, and deflate the window by
            // what left the network; only the first partial ACK restarts the timer.
            Recovery::NewReno => {
                self.repair.resend_first = true;
                self.sk.snd_cwnd = self.sk.snd_cwnd.saturating_sub(acknowledged) + 1;
                std::mem::take(&mut self.repair.is_first_partial_ack)
            }
            // The retransmission and the original both left the pipe (Fall and Floyd, 1996).
            Recovery::Sack => {
                self.repair.pipe -= 2;
                self.find_losses();
                true
            }
            Recovery::Fack => {
                self.find_losses();
                self.halve_rate();
                true
            }
            Recovery::Prr => {
                self.find_losses();
                true
            }
            Recovery::Tahoe | Recovery::Reno => true,
        }
    }

    pub(super) fn handle_duplicate(&mut self, now: Time, news: bool) {
        let is_told = matches!(self.recovery, Recovery::Sack | Recovery::Prr);
        if is_told && !news && self.phase != Phase::Recovery {
            return;
        }
        self.repair.duplicate_acks += 1;
        match (self.phase, self.recovery) {
            (Phase::Recovery, Recovery::Sack) => {
                self.repair.pipe -= 1;
                self.find_losses();
            }
            (Phase::Recovery, Recovery::Fack) => {
                self.find_losses();
                self.halve_rate();
            }
            (Phase::Recovery, Recovery::Prr) => self.find_losses(),
            // RFC 5681 section 3.2, step 4: each duplicate ACK is a segment that left the network.
            (Phase::Recovery, _) => self.sk.snd_cwnd += 1,
            (_, Recovery::Fack) => {
                if (self.has_gap() || self.is_overdue(now)) && self.may_enter_recovery() {
                    self.enter_recovery(now);
                }
            }
            _ => {
                let threshold = self.settings.duplicate_ack_threshold;
                let is_early = self.repair.duplicate_acks < threshold && self.is_overdue(now);
                if (self.repair.duplicate_acks == threshold || is_early)
                    && self.may_enter_recovery()
                {
                    self.enter_recovery(now);
                }
            }
        }
    }

    /// Whether the fine-grained timer of the first unacknowledged segment has expired, outside of
    /// the loss phase.
    fn is_overdue(&self, now: Time) -> bool {
        self.phase != Phase::Loss
            && self.rtt.fine_timer.as_ref().is_some_and(|timer| timer.is_overdue(now))
    }

    /// At the first two ACKs of new data after a retransmission, checks whether the next segment
    /// is overdue, too. If the segment was in flight at a loss that already reduced the window, it
    /// is retransmitted without another reduction (Brakmo, O'Malley and Peterson, 1994, section
    /// 3.1).
    pub(super) fn look_after_retransmission(&mut self, now: Time) {
        let may_look = self.rtt.fine_timer.as_mut().is_some_and(FineTimer::take_look);
        if !may_look || !self.is_overdue(now) {
            return;
        }
        if self.phase == Phase::Open && self.may_enter_recovery() {
            self.enter_recovery(now);
        } else {
            self.repair.resend_first = true;
        }
    }

    /// Whether the highest SACK is above the first hole by more than the threshold.
    pub(super) fn has_gap(&self) -> bool {
        self.scoreboard.highest().is_some_and(|top| top > self.stream.una + self.fack_distance())
    }

    /// Distance from the highest SACK, in bytes, below which a segment is lost.
    pub(super) fn fack_distance(&self) -> u64 {
        u64::from(self.settings.duplicate_ack_threshold + 1) * self.segment()
    }

    /// Whether a new loss may start recovery. Duplicate ACKs do not count again for data in flight
    /// at a loss that is already being repaired. Without SACK, duplicate ACKs may result from data
    /// that were sent twice, up to the very end of these data.
    pub(super) fn may_enter_recovery(&self) -> bool {
        match self.repair.recover {
            Some(recover) if self.has_scoreboard() => self.stream.una >= recover,
            Some(recover) => self.stream.una > recover,
            None => true,
        }
    }

    pub(super) fn enter_recovery(&mut self, now: Time) {
        let in_flight = self.in_flight();
        self.repair.prr = PrrState { flight: in_flight, ..PrrState::default() };
        self.counters.fast_retransmits += 1;
        self.repair.recover = Some(self.stream.max);
        if self.reduces_flight {
            // Segments that the SACK blocks show to be lost are not in flight.
            self.find_losses();
        }
        self.reduce_threshold();
        self.sk.high_seq = self.stream.max as u32;
        self.repair.is_first_partial_ack = true;
        self.repair.resend_first = true;
        self.rtt.timed = None;
        self.rtt.timer = now + self.rtt.estimator.rto();
        // Packets that left the network.
        let gone = self.repair.duplicate_acks;
        match self.recovery {
            Recovery::Tahoe => {
                self.sk.snd_cwnd = 1;
                self.sk.snd_cwnd_cnt = 0;
                self.stream.nxt = self.stream.una;
                self.repair.resend_first = false;
                self.tell(CwndEvent::Loss);
                return self.enter(Phase::Loss);
            }
            Recovery::Reno | Recovery::NewReno => {
                self.sk.snd_cwnd = self.sk.snd_ssthresh + gone;
            }
            Recovery::Sack => {
                self.sk.snd_cwnd = self.sk.snd_ssthresh;
                self.repair.pipe = i64::from(in_flight) - i64::from(gone);
            }
            // The share of this ACK is computed when it has been fully processed.
            Recovery::Prr => {}
            Recovery::Fack => {
                self.repair.allowance = self.sk.snd_cwnd;
                self.repair.takes_one = false;
                self.sk.snd_cwnd = self.sk.snd_ssthresh;
                self.find_losses();
                self.halve_rate();
            }
        }
        self.sk.snd_cwnd_cnt = 0;
        self.enter(Phase::Recovery);
        self.find_losses();
    }

    /// Marks the holes as lost that the SACK blocks show to be lost.
    pub(super) fn find_losses(&mut self) {
        let edge = match self.recovery {
            Recovery::Sack | Recovery::Prr => {
                let above = u64::from(self.settings.duplicate_ack_threshold) * self.segment();
                self.scoreboard.edge_below_sacked(above)
            }
            Recovery::Fack => {
                // Otherwise, nothing might end the recovery: with `RttSampling::EveryAck`, every
                // duplicate ACK restarts the timer.
                self.scoreboard.find_lost_repairs(self.fack_distance());
                self.scoreboard.highest().map_or(0, |top| top.saturating_sub(self.fack_distance()))
            }
            Recovery::Tahoe | Recovery::Reno | Recovery::NewReno => return,
        };
        self.scoreboard.raise_lost(edge);
    }

    /// Sets the window after an ACK in recovery that delivered `delivered` packets: RFC 6937
    /// section 3, with the slow start reduction bound.
    pub(super) fn reduce_proportionally(&mut self, delivered: u32) {
        let pipe = self.in_flight();
        let ssthresh = self.sk.snd_ssthresh;
        self.repair.prr.delivered += delivered;
        let mut count = if pipe > ssthresh {
            let share = u64::from(self.repair.prr.delivered) * u64::from(ssthresh);
            let share = share.div_ceil(self.repair.prr.flight.max(1).into()) as u32;
            share.saturating_sub(self.repair.prr.out)
        } else {
            let limit =
                self.repair.prr.delivered.saturating_sub(self.repair.prr.out).max(delivered) + 1;
            limit.min(ssthresh - pipe)
        };
        if self.repair.prr.out == 0 {
            // The fast retransmit itself.
            count = count.max(1);
        }
        self.sk.snd_cwnd = (pipe + count).max(1);
    }

    /// Reduces the number of packets in flight by one for every second ACK until `ssthresh`
    /// packets are in flight. No ACK allows more than one packet to leave.
    pub(super) fn halve_rate(&mut self) {
        self.repair.allowance -= u32::from(self.repair.takes_one);
        self.repair.takes_one = !self.repair.takes_one;
        self.repair.allowance =
            self.repair.allowance.min(self.in_flight() + 1).max(self.sk.snd_ssthresh);
    }
}
