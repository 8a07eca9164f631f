//! Prediction: would a new experiment with other random seeds on the same link give the same
//! result?
//!
//! The prediction is a Monte Carlo simulation. Each trial draws a *truth*: a distribution of
//! results that is compatible with the runs. The trial draws as many fresh repetitions from this
//! truth as there were runs, and selects again. A truth consists of the runs with random weights,
//! as in the Bayesian bootstrap (Rubin, The Bayesian Bootstrap, 1981); the fresh repetitions are
//! drawn from the runs with these weights. Therefore, an algorithm that collapses less often in a
//! truth than in the runs has a higher mean and fewer collapses in the fresh repetitions. Whole
//! repetitions are weighted, which preserves the correlation between algorithms. Deviations from
//! the mean are widened, so that the means of truths vary by the standard error.
//!
//! The leader leads partly by luck, so another algorithm may be as good as the leader. The prior
//! probability of this is a third for each algorithm (`ODDS_OF_A_TIE`); the runs update this
//! probability (by a Bayes factor, [`crate::sequence::evidence`]). Each trial first draws which
//! algorithms are as good as the leader, and gives them the leader's mean when it draws fresh
//! repetitions.

use cwndlab_units::Stream;

use crate::paired::Difference;
use crate::select::{Choice, Margin, Rule, Thresholds};
use crate::sequence::evidence;
use crate::utilities::Utilities;

const TRIALS: usize = 800;

/// Prior odds that an algorithm is exactly as good as the leader.
const ODDS_OF_A_TIE: f64 = 0.5;

/// Probabilities about the decision of a new experiment with the same number of repetitions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prediction {
    /// Probability that the current leader belongs to the set that a new experiment selects by
    /// the wide rule.
    pub leader_stays: f64,
    /// Probability that a new experiment selects the same set, by the same rule as the decision.
    pub same_set: f64,
    /// Probability of a good selection: the leader's true mean is within the zone of indifference
    /// of the best algorithm's true mean.
    pub leader_is_good: f64,
}

/// Predicts the outcome of a new experiment with the same number of repetitions; `None` if there
/// are too few pairs. `wide` and `narrow` are the choices by the two rules.
#[must_use]
pub fn predict(
    utilities: &Utilities,
    wide: &Choice,
    narrow: &Choice,
    thresholds: Thresholds,
) -> Option<Prediction> {
    wide.leader()?;
    let candidates: Vec<usize> = wide.good().collect();
    let pairs = utilities.complete(&candidates);
    if pairs.len() < crate::LEAST_PAIRS {
        return None;
    }
    // An algorithm that is no candidate and lacks some of these runs is left out.
    let is_whole = |each: usize| pairs.iter().all(|&at| utilities.of(each)[at].is_finite());
    let order: Vec<usize> = wide.order.iter().copied().filter(|&each| is_whole(each)).collect();
    let seen = Centred::new(utilities, &order, &pairs);
    let chances = chances_of_a_tie(wide, &order);
    let sets = [wide, narrow].map(|choice| members(choice, &order));
    let rules = [Rule::wide(thresholds.zone), Rule::narrow(thresholds.zone)];
    let margins = rules.map(|rule| Margin::new(pairs.len(), rule));
    let mut ties = streams_of(utilities, &order, &pairs);
    let mut draws = Stream::new(0, "judge.repeat");
    let (mut stays, mut same, mut good) = (0_u32, [0_u32; 2], 0_u32);
    for _ in 0..TRIALS {
        let weights = Weights::random(pairs.len(), &mut draws);
        let truth = seen.means_with(&weights);
        let best = truth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        good += u32::from(best - truth[0] <= thresholds.zone);
        let shifts = shifts_of_ties(&truth, &chances, &mut ties);
        let behind = seen.fresh_differences(&shifts, &weights, &mut draws);
        for (rule, margin) in margins.iter().enumerate() {
            let fresh: Vec<bool> =
                behind.iter().map(|each| each.mean <= margin.at(each.error)).collect();
            same[rule] += u32::from(fresh == sets[rule]);
            stays += u32::from(rule == 0 && fresh[0]);
        }
    }
    let share = |count: u32| f64::from(count) / TRIALS as f64;
    let leader_stays = share(stays);
    let rule = usize::from(leader_stays < thresholds.sure);
    Some(Prediction { leader_stays, same_set: share(same[rule]), leader_is_good: share(good) })
}

/// For each algorithm in `order`, whether it belongs to the set.
fn members(choice: &Choice, order: &[usize]) -> Vec<bool> {
    order.iter().map(|&each| choice.scores[each].is_some_and(|s| s.is_good)).collect()
}

/// For each algorithm in `order`, a stream of random numbers.
///
/// The stream depends only on the algorithm's differences from the leader, to a millionth, so that
/// neither the order nor the unit of the results matters, nor an additional algorithm that never
/// leads.
fn streams_of(utilities: &Utilities, order: &[usize], pairs: &[usize]) -> Vec<Stream> {
    let leader = utilities.of(order[0]);
    let seed = |&each: &usize| {
        let own = utilities.of(each);
        pairs.iter().fold(0_u64, |seed, &at| {
            let apart = libm::round((leader[at] - own[at]) * 1e6) as i64;
            (seed.rotate_left(7) ^ apart as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
    };
    order.iter().map(|each| Stream::new(seed(each), "judge.repeat.tie")).collect()
}

/// For each algorithm in `order`, the probability that it is exactly as good as the leader, which
/// is the first.
fn chances_of_a_tie(choice: &Choice, order: &[usize]) -> Vec<f64> {
    let of = |&each: &usize| {
        let chance = |behind| ODDS_OF_A_TIE / (ODDS_OF_A_TIE + evidence(behind));
        choice.scores[each].map_or(0.0, |own| chance(own.behind))
    };
    order.iter().map(of).collect()
}

/// For each algorithm, the shift of its utilities that gives it the leader's mean, if it was drawn
/// as equal to the leader.
fn shifts_of_ties(truth: &[f64], chances: &[f64], ties: &mut [Stream]) -> Vec<f64> {
    let mut shifts = vec![0.0; truth.len()];
    for each in 1..truth.len() {
        if ties[each].unit() < chances[each] {
            shifts[each] = truth[0] - truth[each];
        }
    }
    shifts
}

/// Random weights of the repetitions, which sum to 1.
struct Weights {
    of_each: Vec<f64>,
    up_to: Vec<f64>,
}

impl Weights {
    /// Draws weights uniformly from all possible weights: exponential variables divided by their
    /// sum.
    fn random(pairs: usize, draws: &mut Stream) -> Self {
        let waits: Vec<f64> = (0..pairs).map(|_| -libm::log(1.0 - draws.unit())).collect();
        let sum: f64 = waits.iter().sum();
        let of_each: Vec<f64> = waits.iter().map(|wait| wait / sum).collect();
        let mut reached = 0.0;
        let up_to = of_each
            .iter()
            .map(|weight| {
                reached += weight;
                reached
            })
            .collect();
        Self { of_each, up_to }
    }

    /// Draws a repetition with a probability that is its weight.
    fn draw(&self, draws: &mut Stream) -> usize {
        let at = draws.unit();
        self.up_to.partition_point(|&reached| reached <= at).min(self.up_to.len() - 1)
    }
}

/// For each algorithm, in order of utility: its mean, and the deviations of its repetitions from
/// this mean.
struct Centred {
    means: Vec<f64>,
    deviations: Vec<Vec<f64>>,
}

impl Centred {
    fn new(utilities: &Utilities, order: &[usize], pairs: &[usize]) -> Self {
        let means: Vec<f64> = order.iter().map(|&each| utilities.mean(each)).collect();
        let count = pairs.len() as f64;
        // The variance of a mean with random weights is that of the runs divided by n + 1, and
        // theirs is too low by (n - 1) / n.
        let widening = libm::sqrt((count + 1.0) / (count - 1.0));
        let deviations = order
            .iter()
            .map(|&each| {
                let own: Vec<f64> = pairs.iter().map(|&at| utilities.of(each)[at]).collect();
                let mean = own.iter().sum::<f64>() / count;
                own.iter().map(|value| (value - mean) * widening).collect()
            })
            .collect();
        Self { means, deviations }
    }

    /// The algorithms' means with these weights of the repetitions.
    fn means_with(&self, weights: &Weights) -> Vec<f64> {
        let deviation = |own: &Vec<f64>| -> f64 {
            own.iter().zip(&weights.of_each).map(|(value, weight)| value * weight).sum()
        };
        self.means.iter().zip(&self.deviations).map(|(mean, own)| mean + deviation(own)).collect()
    }

    /// For each algorithm, its difference from the leader of a new experiment with the same number
    /// of repetitions.
    fn fresh_differences(
        &self,
        shifts: &[f64],
        weights: &Weights,
        draws: &mut Stream,
    ) -> Vec<Difference> {
        let pairs = weights.of_each.len();
        let at: Vec<usize> = (0..pairs).map(|_| weights.draw(draws)).collect();
        let value =
            |each: usize, n: usize| self.means[each] + shifts[each] + self.deviations[each][n];
        let mean = |each: usize| at.iter().map(|&n| value(each, n)).sum::<f64>() / pairs as f64;
        let leader = (0..shifts.len())
            .max_by(|&a, &b| mean(a).total_cmp(&mean(b)))
            .expect("there are algorithms");
        (0..shifts.len())
            .map(|each| {
                let apart = at.iter().map(|&n| value(leader, n) - value(each, n));
                Difference::of(apart).expect("there is at least one pair")
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::choose;

    #[test]
    fn without_any_run_nothing_is_predicted() {
        let nothing = Utilities::new(vec![vec![f64::NAN; 8]; 2]);
        let choice = choose(&nothing, Rule::wide(0.03));
        let thresholds = Thresholds { zone: 0.03, sure: 0.9 };
        assert_eq!(predict(&nothing, &choice, &choice, thresholds), None);
    }

    #[test]
    fn means_scatter_by_the_standard_error() {
        let runs: Vec<f64> = (0..10_u8).map(|n| f64::from(n % 4)).collect();
        let expected = Difference::of(runs.iter().copied()).expect("runs");
        let utilities = Utilities::new(vec![runs]);
        let seen = Centred::new(&utilities, &[0], &(0..10).collect::<Vec<_>>());
        let mut draws = Stream::new(4, "means");
        let means: Vec<f64> =
            (0..4_000).map(|_| seen.means_with(&Weights::random(10, &mut draws))[0]).collect();
        let found = Difference::of(means.into_iter()).expect("means");
        assert!((found.mean - expected.mean).abs() < 0.03, "{found:?} {expected:?}");
        let spread = found.error * libm::sqrt(4_000.0);
        assert!((spread / expected.error - 1.0).abs() < 0.05, "{spread} {expected:?}");
    }

    #[test]
    fn weights_add_up_and_draw_each_repetition_as_often_as_they_say() {
        let mut draws = Stream::new(3, "weights");
        let weights = Weights::random(5, &mut draws);
        assert!((weights.of_each.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut counts = [0_u32; 5];
        for _ in 0..20_000 {
            counts[weights.draw(&mut draws)] += 1;
        }
        for (count, weight) in counts.iter().zip(&weights.of_each) {
            assert!((f64::from(*count) / 20_000.0 - weight).abs() < 0.015);
        }
    }
}
