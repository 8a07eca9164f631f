//! Background users of a cell: they demand service, but have no packets.

use cwndlab_units::{Duration, Stream, Time};

use super::config::BackgroundConfig;
use super::scheduler::Candidate;
use crate::channel::{Adaptation, Sinr};

/// A background user, whose blocks are always decoded.
#[derive(Clone, Debug)]
pub(crate) struct Demand {
    pub(crate) adaptation: Adaptation,
    /// Request for as much capacity as the user could use with this scheme in a slot of this
    /// capacity class.
    pub(crate) candidate: Candidate,
    pub(crate) wants: (u8, u8),
    on: Duration,
    off: Duration,
    random: Stream,
    is_on: bool,
    until: Time,
}

impl Demand {
    pub(crate) fn new(
        config: &BackgroundConfig,
        make_adaptation: impl FnOnce(Sinr) -> Adaptation,
        number: u16,
        run_seed: u64,
        component: &str,
    ) -> Self {
        let part =
            if config.users > 1 { f64::from(number) / f64::from(config.users - 1) } else { 0.5 };
        let (low, high) = (config.lowest_mdb, config.highest_mdb);
        let span = f64::from((high - low).as_milli());
        let mean = crate::channel::Decibel::from_milli(low.as_milli() + (part * span) as i32);
        let sinr = Sinr::new(mean, &[], config.fading.as_ref(), run_seed, component, "background");
        let mut random = Stream::new(run_seed, &format!("{component}.demand"));
        // The initial state is drawn from the stationary distribution.
        let share = if config.off == Duration::ZERO {
            1.0
        } else {
            config.on.as_secs_f64() / (config.on + config.off).as_secs_f64()
        };
        let is_on = random.unit() < share;
        let adaptation = make_adaptation(sinr);
        let (on, off) = (config.on, config.off);
        let (candidate, wants, until) = (Candidate::default(), (0, 0), Time::ZERO);
        let mut demand = Self { adaptation, candidate, wants, on, off, random, is_on, until };
        demand.until = demand.next_change(Time::ZERO);
        demand
    }

    fn next_change(&mut self, from: Time) -> Time {
        if self.off == Duration::ZERO {
            return Time::NEVER;
        }
        let mean = if self.is_on { self.on } else { self.off };
        let nanos = self.random.exponential(mean.as_nanos() as f64);
        from + Duration::from_nanos(nanos as u64)
    }

    /// Advances the user to `at`, which must not be before the last call. Returns whether the user
    /// wants service at this time.
    #[inline]
    pub(crate) fn advance(&mut self, at: Time) -> bool {
        while self.until <= at {
            self.change();
        }
        self.is_on
    }

    #[cold]
    fn change(&mut self) {
        self.is_on = !self.is_on;
        self.until = self.next_change(self.until);
    }
}
