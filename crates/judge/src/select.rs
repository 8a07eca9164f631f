//! The set of good contestants.
//!
//! The *leader* has the highest mean utility. Another contestant stays in the set unless it is
//! behind the leader by more than the zone of indifference *and* by more than chance explains:
//!
//! ```text
//! behind > max(zone, t x standard error),   t at 1 - error / (contestants - 1)
//! ```
//!
//! With the second condition alone this is subset selection (Gupta 1965, with paired differences):
//! the set holds the best contestant with probability 1 - error. The first keeps those that are
//! worse by less than anyone cares about (Bechhofer 1954).
//!
//! A contestant more changes no score, no order and no difference; by Bonferroni's correction it
//! makes t larger, so that the set of the others can only widen, unless the new one leads.

use crate::paired::Difference;
use crate::student;
use crate::utilities::Utilities;

/// When a contestant leaves the set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rule {
    /// Differences of utility that nobody cares about: 0.03 is 3 %.
    pub zone: f64,
    /// Probability that the set lacks the best contestant.
    pub error: f64,
}

impl Default for Rule {
    fn default() -> Self {
        Self { zone: 0.03, error: 0.05 }
    }
}

/// A contestant's score.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Score {
    /// Mean utility, and how well it is known by itself.
    pub utility: Difference,
    /// By how much it is behind the leader, pair by pair; 0 for the leader.
    pub behind: Difference,
    /// How far behind it may be and stay in the set.
    pub margin: f64,
    /// Whether it is in the set.
    pub is_good: bool,
}

/// What the runs say.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// Contestants with a result, the highest mean first.
    pub order: Vec<usize>,
    /// One entry for each contestant; none where it has no result.
    pub scores: Vec<Option<Score>>,
}

impl Choice {
    /// The contestants in the set, the leader first.
    pub fn good(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().copied().filter(|&each| self.scores[each].is_some_and(|s| s.is_good))
    }

    /// The contestant with the highest mean.
    #[must_use]
    pub fn leader(&self) -> Option<usize> {
        self.order.first().copied()
    }
}

/// Chooses the set of good contestants.
#[must_use]
pub fn choose(utilities: &Utilities, rule: Rule) -> Choice {
    let mut order: Vec<usize> =
        (0..utilities.contestants()).filter(|&each| utilities.mean(each).is_finite()).collect();
    order.sort_by(|&a, &b| utilities.mean(b).total_cmp(&utilities.mean(a)));
    let mut scores = vec![None; utilities.contestants()];
    if let Some(&leader) = order.first() {
        for &each in &order {
            scores[each] = score(utilities, each, leader, order.len(), rule);
        }
    }
    order.retain(|&each| scores[each].is_some());
    Choice { order, scores }
}

fn score(
    utilities: &Utilities,
    each: usize,
    leader: usize,
    contestants: usize,
    rule: Rule,
) -> Option<Score> {
    let own = utilities.of(each);
    let utility = Difference::of(own.iter().copied().filter(|value| value.is_finite()))?;
    let behind = Difference::between(utilities.of(leader), own)?;
    let margin = margin(behind, contestants, rule);
    Some(Score { utility, behind, margin, is_good: behind.mean <= margin })
}

/// How far behind the leader a contestant may be and stay in the set.
fn margin(behind: Difference, contestants: usize, rule: Rule) -> f64 {
    if behind.pairs < 2 {
        return rule.zone; // nothing is known of chance, and the caller says so
    }
    rule.zone.max(errors_allowed(behind.pairs, contestants, rule) * behind.error)
}

/// How many standard errors chance explains, with the error shared out among the other contestants.
pub(crate) fn errors_allowed(pairs: usize, contestants: usize, rule: Rule) -> f64 {
    let others = contestants.max(2) - 1;
    student::quantile(1.0 - rule.error / others as f64, pairs - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn good(rows: &[&[f64]]) -> Vec<usize> {
        let utilities = Utilities::new(rows.iter().map(|row| row.to_vec()).collect());
        choose(&utilities, Rule::default()).good().collect()
    }

    #[test]
    fn a_surely_worse_contestant_leaves_the_set() {
        let leader: &[f64] = &[1.0, 1.1, 0.9, 1.0, 1.05, 0.95];
        let worse: &[f64] = &[0.8, 0.9, 0.72, 0.8, 0.84, 0.75];
        assert_eq!(good(&[worse, leader]), [1]);
    }

    #[test]
    fn what_nobody_cares_about_stays_however_sure() {
        let rows: [&[f64]; 2] = [&[1.0; 8], &[0.98; 8]];
        assert_eq!(good(&rows), [0, 1]);
    }

    #[test]
    fn what_chance_explains_stays() {
        let rows: [&[f64]; 2] = [&[1.0, 0.2, 1.4, 0.6, 1.2, 0.4], &[0.3, 0.9, 0.4, 1.1, 0.2, 0.9]];
        assert_eq!(good(&rows), [0, 1]);
    }

    #[test]
    fn a_contestant_without_runs_has_no_score() {
        let rows: [&[f64]; 2] = [&[f64::NAN; 3], &[1.0, 1.0, 1.0]];
        let choice =
            choose(&Utilities::new(rows.iter().map(|r| r.to_vec()).collect()), Rule::default());
        assert_eq!(choice.order, [1]);
        assert!(choice.scores[0].is_none());
    }

    fn rows() -> impl Strategy<Value = Vec<Vec<f64>>> {
        (2..8_usize, 2..12_usize).prop_flat_map(|(contestants, pairs)| {
            prop::collection::vec(prop::collection::vec(-3.0..3.0, pairs), contestants)
        })
    }

    proptest! {
        #[test]
        fn an_inferior_contestant_more_only_widens_the_set(rows in rows()) {
            let before = choose(&Utilities::new(rows.clone()), Rule::default());
            let lowest = rows.iter().flatten().fold(f64::INFINITY, |a, &b| a.min(b));
            let mut more = rows.clone();
            more.push(vec![lowest - 1.0; rows[0].len()]);
            let after = choose(&Utilities::new(more), Rule::default());
            let good: Vec<_> = after.good().collect();
            prop_assert!(before.good().all(|each| good.contains(&each)));
            prop_assert_eq!(&before.order[..], &after.order[..before.order.len()]);
            for each in 0..rows.len() {
                let (old, new) = (before.scores[each].unwrap(), after.scores[each].unwrap());
                prop_assert_eq!(old.utility, new.utility);
                prop_assert_eq!(old.behind, new.behind);
            }
        }

        #[test]
        fn order_and_units_change_nothing(rows in rows(), shift in -5.0..5.0_f64) {
            let choice = choose(&Utilities::new(rows.clone()), Rule::default());
            let turned: Vec<Vec<f64>> =
                rows.iter().rev().map(|row| row.iter().map(|u| u + shift).collect()).collect();
            let other = choose(&Utilities::new(turned), Rule::default());
            let last = rows.len() - 1;
            let mut here: Vec<_> = choice.good().collect();
            let mut there: Vec<_> = other.good().map(|each| last - each).collect();
            here.sort_unstable();
            there.sort_unstable();
            // A shift may round a tie or a boundary the other way.
            let is_near = choice.order.iter().any(|&each| {
                let score = choice.scores[each].unwrap();
                (score.behind.mean - score.margin).abs() < 1e-9
            });
            prop_assert!(is_near || here == there);
        }
    }
}
