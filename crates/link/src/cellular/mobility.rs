//! When a user can be served: sleep and waking up, and handovers.
//!
//! ```text
//!   connected --silence--> listens now and then --silence--> idle --a packet--> connected
//! ```

use cwndlab_units::{Duration, Stream, Time};

use super::config::{HandoverConfig, RrcConfig};
use crate::Direction;
use crate::channel::Draws;

/// One user's.
#[derive(Clone, Debug)]
pub(crate) struct Mobility {
    rrc: Option<RrcConfig>,
    /// Promotions and phases.
    draws: Draws,
    /// Before this there is no service.
    pub(crate) blocked_until: Time,
    /// Whether that is because it only listens now and then, which its own packets end.
    is_listening: bool,
    /// When something came, or was sent, last; never before the first time.
    active_at: Option<Time>,
    handover: Option<HandoverConfig>,
    random: Stream,
    /// When the next handover begins.
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

    /// A packet came for or from the user, who was active last at `active_at`.
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

    /// The user's first moment of a cycle from `at` on.
    fn next_of(&self, at: Time, cycle: Duration) -> Time {
        let cycle = cycle.as_nanos();
        let phase = self.draws.bits(u64::MAX) % cycle;
        let since = at.as_nanos().saturating_sub(phase);
        Time::from_nanos(phase + since.div_ceil(cycle) * cycle)
    }

    /// A handover begins now; whether it is lossless.
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
        // An interruption belongs to its interval.
        let mean = (handover.interval - handover.interruption).as_nanos() as f64;
        from + Duration::from_nanos(self.random.exponential(mean) as u64)
    }
}
