//! Selection of the set of good algorithms.
//!
//! The *leader* has the highest mean utility. Another algorithm is in the set if it is probably
//! within the zone of indifference of the leader, or if it may well be better than the leader:
//!
//! ```text
//! behind <= max(zone - t(1 - outside) x standard error,
//!               min(t(1 - ahead) x standard error, reach) for each step (ahead, reach))
//! ```
//!
//! There are two rules. By the *wide* rule, the set contains the algorithms that are within the
//! zone of indifference of the leader with a probability of at least 0.8, and those that are better
//! than the leader with a probability of at least 0.08 (if at most 4.5 % behind the leader), 0.125
//! (at most 6 % behind) or 0.3 (farther behind). By the *narrow* rule, it contains the algorithms
//! within the zone of indifference with a probability of at least 0.8, and those at most 2 % behind
//! that are better than the leader with a probability of at least 0.3.
//!
//! The first condition keeps algorithms that are worse by a negligible amount (Bechhofer 1954);
//! the other conditions are subset selection (Gupta 1965, with paired differences). With lower
//! probabilities, the set contains the best algorithm more often, but also more of the worse ones;
//! with ten noisy runs, neither can be avoided. If standard errors are about as large as the zone,
//! the low probabilities of the wide rule decide, so that a new experiment would choose the leader
//! again. If this is improbable even with the wide rule, a decision uses the narrow rule
//! ([`crate::decide`]): a wide set would then contain many algorithms that are far from the best.
//! `bench/verdicts.py` measures the results.
//!
//! Adding an algorithm that does not become the leader changes no score, order, difference or
//! margin of the other algorithms, so none of them leaves the set.

use crate::paired::Difference;
use crate::student;
use crate::utilities::Utilities;

/// The thresholds of a decision.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Thresholds {
    /// Negligible difference of utility: 0.03 is 3 %.
    pub zone: f64,
    /// Minimum probability at which a decision is called repeatable.
    pub sure: f64,
}

/// The conditions under which an algorithm belongs to the set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rule {
    /// Negligible difference of utility: 0.03 is 3 %.
    pub zone: f64,
    /// Steps: a minimum probability of being better than the leader, and the maximum distance
    /// behind the leader up to which this probability applies.
    pub ahead: &'static [(f64, f64)],
    /// Maximum probability of being outside of the zone of indifference.
    pub outside: f64,
}

impl Rule {
    /// The algorithms that may well be the best.
    #[must_use]
    pub fn wide(zone: f64) -> Self {
        Self { zone, ahead: &[(0.08, 0.045), (0.125, 0.06), (0.3, f64::INFINITY)], outside: 0.2 }
    }

    /// The algorithms that are probably nearly as good as the leader.
    #[must_use]
    pub fn narrow(zone: f64) -> Self {
        Self { zone, ahead: &[(0.3, 0.02)], outside: 0.2 }
    }
}

/// A contestant's score.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Score {
    /// Mean utility with the standard error of this mean.
    pub utility: Difference,
    /// Paired difference from the leader; 0 for the leader.
    pub behind: Difference,
    /// Maximum distance behind the leader at which the algorithm is in the set.
    pub margin: f64,
    /// Whether the algorithm is in the set.
    pub is_good: bool,
}

/// The set of good algorithms, and the scores of all algorithms.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// Algorithms with at least one run, by descending mean utility.
    pub order: Vec<usize>,
    /// The score of each algorithm; `None` if the algorithm has no run.
    pub scores: Vec<Option<Score>>,
}

impl Choice {
    /// The algorithms in the set, the leader first.
    pub fn good(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter().copied().filter(|&each| self.scores[each].is_some_and(|s| s.is_good))
    }

    /// The algorithm with the highest mean utility.
    #[must_use]
    pub fn leader(&self) -> Option<usize> {
        self.order.first().copied()
    }
}

/// Chooses the set of good algorithms.
#[must_use]
pub fn choose(utilities: &Utilities, rule: Rule) -> Choice {
    let mut order: Vec<usize> =
        (0..utilities.contestants()).filter(|&each| utilities.mean(each).is_finite()).collect();
    order.sort_by(|&a, &b| utilities.mean(b).total_cmp(&utilities.mean(a)));
    let mut scores = vec![None; utilities.contestants()];
    if let Some(&leader) = order.first() {
        for &each in &order {
            scores[each] = score(utilities, each, leader, rule);
        }
    }
    order.retain(|&each| scores[each].is_some());
    Choice { order, scores }
}

fn score(utilities: &Utilities, each: usize, leader: usize, rule: Rule) -> Option<Score> {
    let own = utilities.of(each);
    let utility = Difference::of(own.iter().copied().filter(|value| value.is_finite()))?;
    let behind = Difference::between(utilities.of(leader), own)?;
    let margin = Margin::new(behind.pairs, rule).at(behind.error);
    Some(Score { utility, behind, margin, is_good: behind.mean <= margin })
}

/// The maximum distance behind the leader at which an algorithm is in the set, as a function of
/// the standard error of this distance.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Margin {
    zone: f64,
    /// Steps: the maximum distance behind the leader in standard errors, and an upper bound of this
    /// distance.
    ahead: Vec<(f64, f64)>,
    /// Number of standard errors by which an algorithm must be inside the zone of indifference.
    inside: f64,
}

impl Margin {
    /// The margin for the given number of paired runs.
    pub(crate) fn new(pairs: usize, rule: Rule) -> Self {
        // With a single pair nothing is known about chance, which the caller reports.
        let t =
            |doubt: f64| if pairs < 2 { 0.0 } else { student::quantile(1.0 - doubt, pairs - 1) };
        Self {
            zone: rule.zone,
            ahead: rule.ahead.iter().map(|&(probability, reach)| (t(probability), reach)).collect(),
            inside: t(rule.outside),
        }
    }

    /// The maximum distance behind the leader for this standard error.
    pub(crate) fn at(&self, error: f64) -> f64 {
        if error.is_finite() {
            let within_zone = self.zone - self.inside * error;
            let steps = self.ahead.iter().map(|&(errors, reach)| (errors * error).min(reach));
            steps.fold(within_zone, f64::max)
        } else {
            self.zone
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ZONE: f64 = 0.03;

    fn good(rows: &[&[f64]]) -> Vec<usize> {
        let utilities = Utilities::new(rows.iter().map(|row| row.to_vec()).collect());
        choose(&utilities, Rule::wide(ZONE)).good().collect()
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
    fn what_is_near_the_edge_of_the_zone_by_chance_leaves() {
        // 2.5 % behind with an error of 1 %: it may well be outside the zone.
        let leader: &[f64] = &[0.0; 6];
        let near: &[f64] = &[-0.060, 0.010, -0.05, 0.0, -0.035, -0.015];
        assert_eq!(good(&[leader, near]), [0]);
    }

    #[test]
    fn what_chance_explains_stays() {
        let rows: [&[f64]; 2] = [&[1.0, 0.2, 1.4, 0.6, 1.2, 0.4], &[0.3, 0.9, 0.4, 1.1, 0.2, 0.9]];
        assert_eq!(good(&rows), [0, 1]);
    }

    #[test]
    fn out_of_reach_only_what_may_well_be_ahead_stays() {
        let margin = Margin::new(10, Rule::wide(ZONE));
        // t of 9 degrees of freedom: 1.53 for 0.08, 1.23 for 0.125, 0.54 for 0.3, 0.88 for 0.2.
        for (error, expected) in
            [(0.01, 0.0212), (0.02, 0.0306), (0.03, 0.045), (0.045, 0.0553), (0.2, 0.1087)]
        {
            assert!((margin.at(error) - expected).abs() < 1e-3, "{error}: {}", margin.at(error));
        }
    }

    #[test]
    fn the_narrow_rule_leaves_out_what_is_uncertain() {
        let margin = Margin::new(10, Rule::narrow(ZONE));
        for (error, expected) in [(0.01, 0.0212), (0.03, 0.0163), (0.2, 0.02)] {
            assert!((margin.at(error) - expected).abs() < 1e-3, "{error}: {}", margin.at(error));
        }
    }

    #[test]
    fn a_contestant_without_runs_has_no_score() {
        let rows: [&[f64]; 2] = [&[f64::NAN; 3], &[1.0, 1.0, 1.0]];
        let choice =
            choose(&Utilities::new(rows.iter().map(|r| r.to_vec()).collect()), Rule::wide(ZONE));
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
        fn an_inferior_contestant_more_changes_nothing_of_the_others(rows in rows()) {
            let before = choose(&Utilities::new(rows.clone()), Rule::wide(ZONE));
            let lowest = rows.iter().flatten().fold(f64::INFINITY, |a, &b| a.min(b));
            let mut more = rows.clone();
            more.push(vec![lowest - 1.0; rows[0].len()]);
            let after = choose(&Utilities::new(more), Rule::wide(ZONE));
            let good: Vec<_> = after.good().collect();
            let others: Vec<_> = good.into_iter().filter(|&each| each < rows.len()).collect();
            prop_assert_eq!(before.good().collect::<Vec<_>>(), others);
            prop_assert_eq!(&before.order[..], &after.order[..before.order.len()]);
            for each in 0..rows.len() {
                let (old, new) = (before.scores[each].unwrap(), after.scores[each].unwrap());
                prop_assert_eq!(old.utility, new.utility);
                prop_assert_eq!(old.behind, new.behind);
            }
        }

        #[test]
        fn order_and_units_change_nothing(rows in rows(), shift in -5.0..5.0_f64) {
            let choice = choose(&Utilities::new(rows.clone()), Rule::wide(ZONE));
            let turned: Vec<Vec<f64>> =
                rows.iter().rev().map(|row| row.iter().map(|u| u + shift).collect()).collect();
            let other = choose(&Utilities::new(turned), Rule::wide(ZONE));
            let last = rows.len() - 1;
            let mut here: Vec<_> = choice.good().collect();
            let mut there: Vec<_> = other.good().map(|each| last - each).collect();
            here.sort_unstable();
            there.sort_unstable();
            // A shift may change the rounding at a tie or a boundary.
            let is_near = choice.order.iter().any(|&each| {
                let score = choice.scores[each].unwrap();
                (score.behind.mean - score.margin).abs() < 1e-9
            });
            prop_assert!(is_near || here == there);
        }
    }
}
