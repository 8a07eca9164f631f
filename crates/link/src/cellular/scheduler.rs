//! Selects the users that are served in a slot, and allocates units of the band to them.
//!
//! The channel of the model is the same in the whole band. Maximum C/I and proportional fair
//! therefore give the best user all units that it can use, and only the remaining units to the
//! next user.

use super::config::SchedulerConfig;

/// A user that wants service in a slot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Candidate {
    /// Index of the user among all users; background users are last.
    pub(crate) user: usize,
    pub(crate) scheme: u8,
    /// The minimum number of units that is useful to the user.
    pub(crate) least: u16,
    /// The maximum number of units that the user can use.
    pub(crate) units: u16,
    /// Size in bits of a block that uses the whole band.
    pub(crate) full_bits: u32,
}

/// The scheduler of one direction of a cell.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    policy: SchedulerConfig,
    /// For each user, the average of its bits per slot.
    averages: Vec<f64>,
    /// For each user, the bits allocated in this slot.
    served: Vec<u32>,
    /// The user that is served next when users take turns.
    turn: usize,
    /// The last slot that the averages include.
    slot: u64,
}

impl Scheduler {
    pub(crate) fn new(policy: SchedulerConfig, users: usize) -> Self {
        // ns-3 starts with an average of 1.
        Self { policy, averages: vec![1.0; users], served: vec![0; users], turn: 0, slot: 0 }
    }

    /// Whether the averages are needed; they are not if there is only one user.
    fn has_averages(&self) -> bool {
        matches!(self.policy, SchedulerConfig::ProportionalFair { .. }) && self.averages.len() > 1
    }

    /// Records the number of bits allocated to a user.
    pub(crate) fn note(&mut self, user: usize, bits: u32) {
        if self.has_averages() {
            self.served[user] += bits;
        }
    }

    /// Allocates `left` units: calls `serve` with each candidate that is served, and the number of
    /// its units. Candidates must be sorted by user.
    pub(crate) fn share(
        &mut self,
        candidates: &mut Vec<Candidate>,
        left: u16,
        serve: impl FnMut(&Candidate, u16),
    ) {
        if candidates.is_empty() || left == 0 {
            return;
        }
        match self.policy {
            SchedulerConfig::RoundRobin => self.share_in_turn(candidates, left, serve),
            SchedulerConfig::MaxCi | SchedulerConfig::ProportionalFair { .. } => {
                self.share_by_metric(candidates, left, serve);
            }
        }
    }

    /// Units for the only candidate of a slot, at most `left`; `None` if this is less than the
    /// useful minimum.
    pub(crate) fn serve_alone(&mut self, candidate: &Candidate, left: u16) -> Option<u16> {
        if left == 0 || left < candidate.least {
            return None;
        }
        self.turn = candidate.user + 1;
        Some(candidate.units.min(left))
    }

    /// Allocates units as ns-3 does: equal shares, but at least a useful number of units. Users
    /// that get no units come first in the next slot, and units that a user does not need go to
    /// the next user.
    fn share_in_turn(
        &mut self,
        candidates: &[Candidate],
        left: u16,
        mut serve: impl FnMut(&Candidate, u16),
    ) {
        let mut left = left;
        let part = left / candidates.len() as u16;
        let first = candidates.partition_point(|candidate| candidate.user < self.turn);
        let mut spare = 0;
        for index in 0..candidates.len() {
            let candidate = &candidates[(first + index) % candidates.len()];
            if left < candidate.least {
                break;
            }
            let part = (part + spare).max(candidate.least).min(left);
            let units = candidate.units.min(part);
            spare = part - units;
            left -= units;
            serve(candidate, units);
            self.turn = candidate.user + 1;
        }
    }

    fn share_by_metric(
        &mut self,
        candidates: &mut Vec<Candidate>,
        left: u16,
        mut serve: impl FnMut(&Candidate, u16),
    ) {
        let mut left = left;
        while left > 0 && !candidates.is_empty() {
            let mut best = 0;
            let mut most = -1.0;
            for (index, candidate) in candidates.iter().enumerate() {
                let metric = self.metric(candidate);
                // On a tie, users at or after `turn` come first, so that the user served last
                // yields.
                let is_better = metric > most
                    || (metric == most
                        && candidates[best].user < self.turn
                        && candidate.user >= self.turn);
                if is_better {
                    (best, most) = (index, metric);
                }
            }
            let candidate = candidates.remove(best);
            if left < candidate.least {
                continue;
            }
            let units = candidate.units.min(left);
            left -= units;
            serve(&candidate, units);
            self.turn = candidate.user + 1;
        }
    }

    fn metric(&self, candidate: &Candidate) -> f64 {
        let rate = f64::from(candidate.full_bits);
        match self.policy {
            SchedulerConfig::ProportionalFair { .. } => rate / self.averages[candidate.user],
            _ => rate,
        }
    }

    /// Ends a slot: updates the averages by `T = (1 - 1/w) T + r/w`, with r = 0 for skipped slots.
    pub(crate) fn end_slot(&mut self, slot: u64) {
        if let SchedulerConfig::ProportionalFair { window } = self.policy
            && self.has_averages()
        {
            let keep = 1.0 - 1.0 / f64::from(window);
            let skipped = slot.saturating_sub(self.slot + 1);
            let keep_all = if skipped == 0 {
                keep
            } else {
                keep * libm::pow(keep, skipped.min(1 << 20) as f64)
            };
            for (average, served) in self.averages.iter_mut().zip(&mut self.served) {
                // An average of 0 would make any rate infinitely good.
                *average = (keep_all * *average + f64::from(*served) * (1.0 - keep)).max(1.0);
                *served = 0;
            }
            self.slot = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(user: usize, units: u16, full_bits: u32) -> Candidate {
        Candidate { user, scheme: 0, least: 1, units, full_bits }
    }

    /// Units that each user gets in `slots` slots, in all of which every user wants `units`.
    fn serve(policy: SchedulerConfig, rates: &[u32], units: u16, slots: u64) -> Vec<u64> {
        let mut scheduler = Scheduler::new(policy, rates.len());
        let mut units_of = vec![0; rates.len()];
        for slot in 1..=slots {
            let mut candidates: Vec<Candidate> = rates
                .iter()
                .enumerate()
                .map(|(user, &rate)| candidate(user, units, rate))
                .collect();
            let mut served = Vec::new();
            scheduler.share(&mut candidates, 12, |candidate, units| {
                served.push((candidate.user, units));
            });
            for (user, units) in served {
                units_of[user] += u64::from(units);
                scheduler.note(user, rates[user] * u32::from(units) / 12);
            }
            scheduler.end_slot(slot);
        }
        units_of
    }

    #[test]
    fn round_robin_gives_equal_parts_over_time() {
        for users in [1, 2, 5, 9, 12, 15, 40] {
            let units = serve(SchedulerConfig::RoundRobin, &vec![1000; users], 12, 1200);
            let (least, most) = (units.iter().min(), units.iter().max());
            let (least, most) = (least.expect("a user"), most.expect("a user"));
            assert!(most - least <= 12, "{users} users: {units:?}");
        }
    }

    #[test]
    fn what_one_does_not_need_is_another_ones() {
        let mut scheduler = Scheduler::new(SchedulerConfig::RoundRobin, 3);
        let mut candidates =
            vec![candidate(0, 1, 1000), candidate(1, 12, 1000), candidate(2, 12, 1000)];
        let mut served = Vec::new();
        scheduler.share(&mut candidates, 12, |candidate, units| {
            served.push((candidate.user, units));
        });
        assert_eq!(served, [(0, 1), (1, 7), (2, 4)]);
    }

    #[test]
    fn maximum_ci_serves_the_best_alone() {
        assert_eq!(serve(SchedulerConfig::MaxCi, &[900, 1000, 800], 12, 100), [0, 1200, 0]);
        // What the best user leaves is for the second best.
        assert_eq!(serve(SchedulerConfig::MaxCi, &[900, 1000, 800], 8, 100), [400, 800, 0]);
    }

    #[test]
    fn proportional_fair_shares_time_equally_on_steady_channels() {
        // WIRELESS.md section 10.9: shares within 0.02.
        for rates in [vec![1000, 1000], vec![1000, 4000], vec![500, 1000, 2000, 4000]] {
            let policy = SchedulerConfig::ProportionalFair { window: 99 };
            let units = serve(policy, &rates, 12, 10_000);
            for units in units {
                let share = units as f64 / 120_000.0;
                let fair = 1.0 / rates.len() as f64;
                assert!((share - fair).abs() < 0.02, "{rates:?}: {share}");
            }
        }
    }
}
