//! Robustness: is an algorithm that was chosen on one network also good on similar networks?
//!
//! A *draw* is a similar network: each assumed value is replaced by a random value from its
//! declared range. Each draw is simulated with few repetitions, so its utilities are noisy, and
//! the maximum of noisy values is too high. The *lead* of an algorithm is its utility minus that
//! of the chosen algorithm. Repetitions on one network show how much a lead varies by chance. The
//! leads in all draws are shrunk towards their mean (empirical Bayes, Efron and Morris 1975); they
//! are shrunk more if chance explains a larger part of their variance. Each draw then counts with
//! the probability that the chosen algorithm is good on it.

use crate::utilities::Utilities;

/// Robustness of a chosen algorithm over a population of similar networks.
#[derive(Clone, PartialEq, Debug)]
pub struct Robustness {
    /// Probability that the chosen algorithm is within the zone of indifference of the best
    /// algorithm on a network of the population.
    pub is_good: f64,
    /// For each network of the population, the probability that the chosen algorithm is good on
    /// it; NaN if a run is missing.
    pub by_draw: Vec<f64>,
    /// Mean over the population of the utility of the best algorithm on each network minus that of
    /// the chosen algorithm.
    pub regret: f64,
    /// The algorithm with the highest mean utility over the population.
    pub leader: usize,
}

/// Evaluates a chosen algorithm over a population of similar networks.
///
/// `draws` has a column for each network, and `weights` a weight for each network. For each
/// algorithm, `noise` contains the standard deviation, due to chance, of its utility minus that of
/// the chosen algorithm on one network. Networks with a missing run are ignored; returns `None` if
/// no network is left.
///
/// # Panics
///
/// Panics if `draws`, `weights` and `noise` do not fit each other in length.
#[must_use]
pub fn robustness(
    draws: &Utilities,
    weights: &[f64],
    choice: usize,
    noise: &[f64],
    zone: f64,
) -> Option<Robustness> {
    assert_eq!(draws.repetitions(), weights.len(), "there must be a weight for each network");
    assert_eq!(draws.contestants(), noise.len(), "there must be a noise for each algorithm");
    let everyone: Vec<usize> = (0..draws.contestants()).collect();
    let whole = draws.complete(&everyone);
    let total: f64 = whole.iter().map(|&at| weights[at]).sum();
    if total <= 0.0 {
        return None;
    }
    let mean_of = |each: &dyn Fn(usize) -> f64| {
        whole.iter().map(|&at| weights[at] * each(at)).sum::<f64>() / total
    };
    let mut by_draw = vec![f64::NAN; weights.len()];
    whole.iter().for_each(|&at| by_draw[at] = 1.0);
    for other in everyone.iter().copied().filter(|&each| each != choice) {
        let ahead = |at: usize| draws.of(other)[at] - draws.of(choice)[at];
        let mean = mean_of(&ahead);
        let variance = mean_of(&|at| libm::pow(ahead(at) - mean, 2.0));
        let chance = libm::pow(noise[other], 2.0);
        let between = (variance - chance).max(0.0);
        let shrinkage = if variance > 0.0 { between / (between + chance) } else { 0.0 };
        let spread = libm::sqrt(shrinkage * chance);
        for &at in &whole {
            let likely = mean + shrinkage * (ahead(at) - mean);
            let is_good = probability_below(zone - likely, spread);
            by_draw[at] = by_draw[at].min(is_good);
        }
    }
    let best = |at: usize| {
        everyone.iter().map(|&each| draws.of(each)[at]).fold(f64::NEG_INFINITY, f64::max)
    };
    let leader = everyone
        .iter()
        .copied()
        .max_by(|&a, &b| {
            let mean = |each: usize| mean_of(&|at| draws.of(each)[at]);
            mean(a).total_cmp(&mean(b))
        })
        .expect("there are algorithms");
    Some(Robustness {
        is_good: mean_of(&|at| by_draw[at]),
        regret: mean_of(&|at| best(at) - draws.of(choice)[at]),
        by_draw,
        leader,
    })
}

/// Probability that a normal variable with mean 0 is below `value`.
fn probability_below(value: f64, spread: f64) -> f64 {
    if spread > 0.0 {
        return 0.5 * libm::erfc(-value / (spread * core::f64::consts::SQRT_2));
    }
    if value >= 0.0 { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Stream;

    use super::*;

    fn noisy(share_bad: f64, noise: f64, seed: u64) -> (Utilities, Vec<f64>) {
        let mut draws = Stream::new(seed, "population");
        let (mut choice, mut other) = (Vec::new(), Vec::new());
        for at in 0..200 {
            let is_bad = (f64::from(at) + 0.5) / 200.0 < share_bad;
            choice.push(0.0);
            other.push(if is_bad { 0.4 } else { -0.4 } + noise * draws.normal());
        }
        (Utilities::new(vec![choice, other]), vec![1.0; 200])
    }

    #[test]
    fn without_noise_it_is_the_share_of_draws_where_the_choice_is_good() {
        let (draws, weights) = noisy(0.2, 0.0, 1);
        let found = robustness(&draws, &weights, 0, &[0.0, 0.0], 0.03).expect("draws");
        assert!((found.is_good - 0.8).abs() < 1e-9);
        assert!((found.regret - 0.08).abs() < 1e-9);
    }

    #[test]
    fn noise_does_not_make_a_good_choice_look_bad() {
        // The networks do not differ: all the spread is due to chance.
        let mut draws = Stream::new(3, "population");
        let rows = vec![vec![0.0; 400], (0..400).map(|_| -0.1 + 0.2 * draws.normal()).collect()];
        let found = robustness(&Utilities::new(rows), &[1.0; 400], 0, &[0.0, 0.2], 0.03);
        assert!(found.expect("draws").is_good > 0.9);
    }

    #[test]
    fn weights_count() {
        let draws = Utilities::new(vec![vec![0.0, 0.0], vec![1.0, -1.0]]);
        let found = robustness(&draws, &[3.0, 1.0], 0, &[0.0, 0.0], 0.03).expect("draws");
        assert!((found.is_good - 0.25).abs() < 1e-12);
        assert_eq!(found.leader, 1);
    }
}
