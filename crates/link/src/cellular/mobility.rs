//! Times at which a user can be served, given sleep, wake-up and handovers.
//!
//! ```text
//!   connected --silence--> listens now and then --silence--> idle --a packet--> connected
//! ```

use cwndlab_units::{Duration, Stream, Time};

use super::config::{HandoverConfig, RrcConfig};
use crate::Direction;
use crate::channel::Draws;

/// Sleep and handovers of one user of a cell.
#[derive(Clone, Debug)]
pub(crate) struct Mobility {
    rrc: Option<RrcConfig>,
    /// Random numbers for the time that users need to connect, and for the phases of their
    /// listening cycles.
    draws: Draws,
    /// Time until which the user cannot be served.
    pub(crate) blocked_until: Time,
    /// Whether the interruption is due to DRX; an uplink packet ends such an interruption.
    is_listening: bool,
    /// Time of the user's last packet; `None` before the first.
    active_at: Option<Time>,
    handover: Option<HandoverConfig>,
    random: Stream,
    /// Time of the user's next handover.
    pub(crate) handover_at: Time,
}

impl Mobility {
    pub(crate) fn new(
        rrc: Option<RrcConfig>,
        handover: Option<HandoverConfig>,
        run_seed: u64,
        user: &str,
    ) -> Self {
        let mut mobility = Self {
            rrc,
            draws: Draws::new(run_seed, &format!("{user}.rrc")),
            blocked_until: Time::ZERO,
            is_listening: false,
            active_at: None,
            handover,
            random: Stream::new(run_seed, &format!("{user}.handover")),
            handover_at: Time::ZERO,
        };
        mobility.handover_at = mobility.next_handover(Time::ZERO);
        mobility
    }

    /// Handles a packet for or from the user; the user was last active at `active_at`.
    pub(crate) fn handle_packet(&mut self, at: Time, direction: Direction, active_at: Time) {
        let Some(rrc) = self.rrc else { return };
        let last = self.active_at.map(|last| last.max(active_at).max(self.blocked_until));
        self.active_at = Some(self.active_at.map_or(at, |last| last.max(at)));
        if self.blocked_until > at {
            if self.is_listening && direction == Direction::Reverse {
                self.blocked_until = at;
            }
            return;
        }
        let silence = last.map_or(Duration::MAX, |last| at.saturating_since(last));
        self.is_listening = false;
        if silence >= rrc.inactivity {
            let index = at.as_nanos();
            let called = match direction {
                Direction::Forward => self.next_of(at, rrc.paging_cycle),
                Direction::Reverse => at,
            };
            let span = rrc.promotion_most - rrc.promotion_least;
            let extra = self.draws.unit(index) * span.as_nanos() as f64;
            self.blocked_until = called + rrc.promotion_least + Duration::from_nanos(extra as u64);
        } else if rrc.drx_after.is_some_and(|after| silence >= after)
            && direction == Direction::Forward
        {
            self.blocked_until = self.next_of(at, rrc.drx_cycle);
            self.is_listening = true;
        }
    }

    /// The first time at or after `at` at which the user listens.
    fn next_of(&self, at: Time, cycle: Duration) -> Time {
        let cycle = cycle.as_nanos();
        let phase = self.draws.bits(u64::MAX) % cycle;
        let since = at.as_nanos().saturating_sub(phase);
        Time::from_nanos(phase + since.div_ceil(cycle) * cycle)
    }

    /// Begins a handover; returns whether the handover is lossless.
    pub(crate) fn begin_handover(&mut self) -> bool {
        let Some(handover) = self.handover else { return true };
        let back = self.handover_at + handover.interruption;
        self.blocked_until = self.blocked_until.max(back);
        self.is_listening = false;
        self.handover_at = self.next_handover(back);
        handover.is_lossless
    }

    fn next_handover(&mut self, from: Time) -> Time {
        let Some(handover) = self.handover else { return Time::NEVER };
        // The interval includes the interruption.
        let mean = (handover.interval - handover.interruption).as_nanos() as f64;
        from + Duration::from_nanos(self.random.exponential(mean) as u64)
    }
}
