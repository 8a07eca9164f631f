//! Would other random draws on this very link say the same?
//!
//! Monte Carlo over what the runs leave open. Each trial draws a truth that the runs are compatible
//! with, then as many fresh repetitions of it, and chooses anew. Repetitions are resampled whole,
//! so that what contestants share stays shared; deviations are widened, since few pairs know their
//! own spread badly, so that means scatter as Student's t says they do.
//!
//! The leader leads also by luck. Beforehand each contestant is as likely to be just as good as the
//! leader as it is to differ from it; the runs' evidence then decides, contestant by contestant
//! (a Bayes factor, [`crate::sequence::evidence`]). Those that a trial draws as equal
//! have the leader's mean when fresh repetitions are drawn.

use cwndlab_units::Stream;

use crate::paired::Difference;
use crate::select::{Choice, Margin, Rule, choose};
use crate::sequence::evidence;
use crate::utilities::Utilities;

const TRIALS: usize = 800;

/// How probable it is that as many fresh repetitions agree.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Prediction {
    /// That the fresh set holds the contestant that leads here.
    pub leader_stays: f64,
    /// That the fresh set is the same.
    pub same_set: f64,
    /// That the leader is, in truth, within the zone of the best: the probability of a good
    /// selection.
    pub leader_is_good: f64,
}

/// Predicts what as many fresh repetitions would say; nothing with too few pairs to know.
#[must_use]
pub fn predict(utilities: &Utilities, rule: Rule) -> Option<Prediction> {
    let choice = choose(utilities, rule);
    let leader = choice.leader()?;
    let pairs = utilities.complete(&choice.order);
    if pairs.len() < crate::LEAST_PAIRS {
        return None;
    }
    let seen = Centred::new(utilities, &choice.order, &pairs);
    let ties = chances_of_a_tie(&choice);
    let is_good: Vec<bool> =
        choice.order.iter().map(|&each| choice.scores[each].is_some_and(|s| s.is_good)).collect();
    let margin = Margin::new(pairs.len(), rule);
    let mut draws = Stream::new(0, "judge.repeat");
    let (mut stays, mut same, mut good) = (0_u32, 0_u32, 0_u32);
    for _ in 0..TRIALS {
        let mut truth = seen.possible_truth(&mut draws);
        let best = truth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        good += u32::from(best - truth[0] <= rule.zone);
        tie(&mut truth, &ties, &mut draws);
        let fresh = seen.fresh_set(&truth, &mut draws, margin);
        stays += u32::from(fresh[0]);
        same += u32::from(fresh == is_good);
    }
    debug_assert_eq!(choice.order[0], leader);
    let share = |count: u32| f64::from(count) / TRIALS as f64;
    Some(Prediction {
        leader_stays: share(stays),
        same_set: share(same),
        leader_is_good: share(good),
    })
}

/// How probably each contestant, in order, is just as good as the leader, which is first.
fn chances_of_a_tie(choice: &Choice) -> Vec<f64> {
    let of =
        |&each: &usize| choice.scores[each].map_or(0.0, |own| 1.0 / (1.0 + evidence(own.behind)));
    choice.order.iter().map(of).collect()
}

/// Gives contestants that are drawn as equally good the leader's mean.
fn tie(truth: &mut [f64], ties: &[f64], draws: &mut Stream) {
    for each in 1..truth.len() {
        if draws.unit() < ties[each] {
            truth[each] = truth[0];
        }
    }
}

/// Means, and deviations from them by repetition, of the contestants in order.
struct Centred {
    means: Vec<f64>,
    deviations: Vec<Vec<f64>>,
}

impl Centred {
    fn new(utilities: &Utilities, order: &[usize], pairs: &[usize]) -> Self {
        let means: Vec<f64> = order.iter().map(|&each| utilities.mean(each)).collect();
        let count = pairs.len() as f64;
        let deviations = order
            .iter()
            .map(|&each| {
                let own: Vec<f64> = pairs.iter().map(|&at| utilities.of(each)[at]).collect();
                let mean = own.iter().sum::<f64>() / count;
                // Resampling draws from deviations whose variance is short by (n - 1) / n.
                let widening = libm::sqrt(count / (count - 1.0));
                own.iter().map(|value| (value - mean) * widening).collect()
            })
            .collect();
        Self { means, deviations }
    }

    fn pairs(&self) -> usize {
        self.deviations[0].len()
    }

    fn resample(&self, draws: &mut Stream) -> Vec<usize> {
        let pairs = self.pairs();
        (0..pairs).map(|_| ((draws.unit() * pairs as f64) as usize).min(pairs - 1)).collect()
    }

    fn mean_deviation(&self, contestant: usize, at: &[usize]) -> f64 {
        at.iter().map(|&n| self.deviations[contestant][n]).sum::<f64>() / at.len() as f64
    }

    /// Means that the runs are compatible with.
    fn possible_truth(&self, draws: &mut Stream) -> Vec<f64> {
        let at = self.resample(draws);
        // The spread itself is known from n - 1 degrees of freedom: t is normal over root chi-square.
        let freedom = self.pairs() - 1;
        let chi_square: f64 = (0..freedom).map(|_| libm::pow(draws.normal(), 2.0)).sum();
        let scale = libm::sqrt(freedom as f64 / chi_square);
        (0..self.means.len())
            .map(|each| self.means[each] + scale * self.mean_deviation(each, &at))
            .collect()
    }

    /// Whether the set of as many fresh repetitions holds each contestant.
    fn fresh_set(&self, truth: &[f64], draws: &mut Stream, margin: Margin) -> Vec<bool> {
        let at = self.resample(draws);
        let value = |each: usize, n: usize| truth[each] + self.deviations[each][n];
        let mean = |each: usize| truth[each] + self.mean_deviation(each, &at);
        let leader = (0..truth.len())
            .max_by(|&a, &b| mean(a).total_cmp(&mean(b)))
            .expect("there are contestants");
        (0..truth.len())
            .map(|each| {
                let apart = at.iter().map(|&n| value(leader, n) - value(each, n));
                let behind = Difference::of(apart).expect("there are pairs");
                each == leader || behind.mean <= margin.at(behind.error)
            })
            .collect()
    }
}
