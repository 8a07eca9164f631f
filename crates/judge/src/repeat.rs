//! Would other random draws on this very link say the same?
//!
//! Monte Carlo over what the runs leave open. Each trial draws a truth that the runs are compatible
//! with, then as many fresh repetitions of it, and chooses anew. Repetitions are resampled whole,
//! so that what contestants share stays shared; deviations are widened, since few pairs know their
//! own spread badly, so that means scatter as Student's t says they do.

use cwndlab_units::Stream;

use crate::paired::Difference;
use crate::select::{Rule, choose, errors_allowed};
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
    let errors = errors_allowed(pairs.len(), choice.order.len(), rule);
    let mut draws = Stream::new(0, "judge.repeat");
    let (mut stays, mut same, mut good) = (0_u32, 0_u32, 0_u32);
    for _ in 0..TRIALS {
        let truth = seen.possible_truth(&mut draws);
        let best = truth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        good += u32::from(best - truth[0] <= rule.zone);
        let fresh = seen.fresh_set(&truth, &mut draws, rule.zone, errors);
        stays += u32::from(fresh[0]);
        let is_same = choice.order.iter().zip(&fresh).all(|(&each, &is_good)| {
            choice.scores[each].is_some_and(|score| score.is_good) == is_good
        });
        same += u32::from(is_same);
    }
    debug_assert_eq!(choice.order[0], leader);
    let share = |count: u32| f64::from(count) / TRIALS as f64;
    Some(Prediction {
        leader_stays: share(stays),
        same_set: share(same),
        leader_is_good: share(good),
    })
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

    /// Which contestants the set of as many fresh repetitions holds.
    fn fresh_set(&self, truth: &[f64], draws: &mut Stream, zone: f64, errors: f64) -> Vec<bool> {
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
                behind.mean <= zone.max(errors * behind.error)
            })
            .collect()
    }
}
