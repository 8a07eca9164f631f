//! Decides which algorithms are good on one network: the set of good algorithms, their scores, and
//! the confidence in this set.

use crate::paired::Difference;
use crate::repeat::{self, Prediction};
use crate::select::{Choice, Rule, Thresholds, choose};
use crate::sequence;
use crate::trade_off::{self, Line, Span};
use crate::utilities::Utilities;

/// Confidence level of every reported interval.
pub const CONFIDENCE: f64 = 0.95;

/// Maximum probability that a set is reported as settled although it is not, even if it is checked
/// again after each new run.
const SETTLED_ERROR: f64 = 0.1;

/// An estimate with its confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    /// The mean.
    pub estimate: f64,
    /// Lower and upper end of the confidence interval; `None` if there are too few runs.
    pub interval: Option<[f64; 2]>,
}

impl Bounds {
    /// A mean with its confidence interval.
    #[must_use]
    pub fn of(difference: Difference) -> Self {
        let (mean, reach) = (difference.mean, difference.half_width(CONFIDENCE));
        let interval = reach.is_finite().then_some([mean - reach, mean + reach]);
        Self { estimate: mean, interval }
    }

    fn map(self, change: impl Fn(f64) -> f64) -> Self {
        let interval = self.interval.map(|[low, high]| [change(low), change(high)]);
        Self { estimate: change(self.estimate), interval }
    }
}

/// The decision about the algorithms that ran on one network.
#[derive(Clone, PartialEq, Debug)]
pub struct Decision {
    /// The set of good algorithms, and all algorithms in order of their utility. The set is chosen
    /// by the wide rule if it is repeatable or the runs do not differ, and by the narrow rule
    /// otherwise.
    pub choice: Choice,
    /// The algorithms that may well be the best: the set by the wide rule, the leader first.
    pub candidates: Vec<usize>,
    /// Whether the runs of any algorithm differ from each other; if not, the network has no random
    /// component.
    pub is_random: bool,
    /// Whether it is known of each algorithm whether it belongs to the set. The error probability
    /// holds even if this is checked again after each new run.
    pub is_settled: bool,
    /// Predicted outcome of a new experiment with the same number of repetitions; `None` if there
    /// are too few repetitions, or if the runs do not differ.
    pub prediction: Option<Prediction>,
    /// For each algorithm, the prices of delay at which it is within the zone of indifference of
    /// the best algorithm.
    pub spans: Vec<Option<Span>>,
    /// The algorithms that no other algorithm beats in both gain and cost.
    pub undominated: Vec<usize>,
}

/// Decides by the utility, which is gain - price x cost. `gain` and `cost` are logarithms, with a
/// row for each algorithm and a value for each repetition; a missing run is NaN.
#[must_use]
pub fn decide(gain: &Utilities, cost: &Utilities, price: f64, thresholds: Thresholds) -> Decision {
    let Thresholds { zone, sure } = thresholds;
    let utilities = Utilities::weighed(gain, cost, price);
    let is_random = gain.differ() || cost.differ();
    let wide = choose(&utilities, Rule::wide(zone));
    let narrow = choose(&utilities, Rule::narrow(zone));
    let candidates = wide.good().collect();
    let prediction =
        if is_random { repeat::predict(&utilities, &wide, &narrow, thresholds) } else { None };
    let is_doubtful = is_random && prediction.is_none_or(|found| found.leader_stays < sure);
    let choice = if is_doubtful { narrow } else { wide };
    let lines: Vec<Line> = (0..gain.contestants())
        .map(|each| Line { gain: gain.mean(each), cost: cost.mean(each) })
        .collect();
    let is_whole = lines.iter().all(|line| line.gain.is_finite() && line.cost.is_finite());
    let span = |each| if is_whole { trade_off::span(&lines, each, zone) } else { None };
    Decision {
        is_random,
        is_settled: is_random && is_settled(&choice, zone),
        prediction,
        spans: (0..lines.len()).map(span).collect(),
        undominated: if is_whole { trade_off::undominated(&lines) } else { Vec::new() },
        candidates,
        choice,
    }
}

/// Mean relative difference between two rows of logarithms: -0.04 means 4 % less. Uses the runs in
/// which both values are finite; `None` if there are no such runs.
#[must_use]
pub fn relative_change(ours: &[f64], theirs: &[f64]) -> Option<Bounds> {
    Difference::between(ours, theirs).map(|found| Bounds::of(found).map(libm::expm1))
}

fn is_settled(choice: &Choice, zone: f64) -> bool {
    let Some(leader) = choice.leader() else {
        return false;
    };
    let error = SETTLED_ERROR / choice.order.len().max(2) as f64;
    choice.order.iter().filter(|&&each| each != leader).all(|&each| {
        choice.scores[each].is_some_and(|score| {
            let reach = sequence::half_width(score.behind, 2.0 * error); // one-sided
            if score.is_good {
                score.behind.mean + reach <= zone
            } else {
                score.behind.mean - reach > 0.0
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const THRESHOLDS: Thresholds = Thresholds { zone: 0.03, sure: 0.9 };

    fn rows(rows: &[&[f64]]) -> Utilities {
        Utilities::new(rows.iter().map(|row| row.to_vec()).collect())
    }

    #[test]
    fn runs_that_are_all_the_same_say_nothing_about_others() {
        let gain = rows(&[&[1.0; 8], &[0.5; 8]]);
        let decision = decide(&gain, &rows(&[&[2.0; 8], &[2.0; 8]]), 0.25, THRESHOLDS);
        assert_eq!(decision.choice.good().collect::<Vec<_>>(), [0]);
        assert!(!decision.is_random && !decision.is_settled && decision.prediction.is_none());
    }

    #[test]
    fn a_doubtful_decision_names_fewer_than_may_be_the_best() {
        let first: Vec<f64> = (0..10_u8).map(|n| f64::from(n * 7 % 10) / 20.0).collect();
        let second: Vec<f64> = (0..10_u8).map(|n| f64::from(n * 3 % 10) / 20.0 - 0.04).collect();
        let gain = rows(&[&first, &second]);
        let decision = decide(&gain, &rows(&[&[0.0; 10], &[0.0; 10]]), 0.0, THRESHOLDS);
        let prediction = decision.prediction.expect("ten pairs");
        assert!(prediction.leader_stays < THRESHOLDS.sure, "{prediction:?}");
        assert_eq!(decision.candidates, [0, 1]);
        assert_eq!(decision.choice.good().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn a_cost_that_scatters_is_random_at_any_price() {
        let cost: Vec<f64> = (0..8_u8).map(|n| f64::from(n) / 100.0).collect();
        let decision = decide(&rows(&[&[1.0; 8]]), &rows(&[&cost]), 0.0, THRESHOLDS);
        assert!(decision.is_random);
    }

    #[test]
    fn a_change_is_a_share_of_the_old_value() {
        let (new, old) = ([2.0, 8.0].map(libm::log), [1.0, 4.0].map(libm::log));
        let change = relative_change(&new, &old).expect("two pairs");
        assert!((change.estimate - 1.0).abs() < 1e-12, "{change:?}");
        assert_eq!(relative_change(&[f64::NEG_INFINITY], &[0.0]), None);
    }

    proptest! {
        #[test]
        fn an_algorithm_that_never_leads_changes_no_decision_about_the_others(
            rows in (1..6_usize, 6..12_usize).prop_flat_map(|(contestants, pairs)| {
                prop::collection::vec(prop::collection::vec(-0.3..0.3, pairs), contestants)
            }),
            behind in 0.035..5.0_f64,
            missing in 0..12_usize,
        ) {
            let pairs = rows[0].len();
            let decided = |rows: Vec<Vec<f64>>| {
                let cost = Utilities::new(vec![vec![0.0; pairs]; rows.len()]);
                decide(&Utilities::new(rows), &cost, 0.0, THRESHOLDS)
            };
            let mut more = rows.clone();
            let leader = rows.iter().max_by(|a, b| {
                a.iter().sum::<f64>().total_cmp(&b.iter().sum())
            });
            let mut own: Vec<f64> = leader.unwrap().iter().map(|value| value - behind).collect();
            if missing < pairs && behind > 0.7 {
                own[missing] = f64::NAN;
            }
            more.push(own);
            let (before, after) = (decided(rows), decided(more));
            let leader = |each: &Decision| each.prediction.map(|found| found.leader_stays);
            prop_assert_eq!(leader(&before), leader(&after));
            prop_assert_eq!(&before.candidates, &after.candidates);
            let sets = [&before, &after].map(|each| each.choice.good().collect::<Vec<_>>());
            prop_assert_eq!(&sets[0], &sets[1]);
        }
    }
}
