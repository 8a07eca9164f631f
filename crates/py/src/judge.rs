//! The numerics of the decision, for Python: rows of numbers in, dictionaries out.

use cwndlab_judge::{
    Choice, Difference, Line, Rule, Utilities, choose, population, repeat, sequence, trade_off,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Confidence of every interval that is reported.
const CONFIDENCE: f64 = 0.95;

/// Probability that a look says "settled" of a set that is not, at most, over all looks together.
const SETTLED_ERROR: f64 = 0.1;

/// Chooses the set of good contestants.
#[pyfunction]
#[pyo3(signature = (gain, cost, *, price, zone, ahead, outside))]
pub(crate) fn choose_set<'py>(
    py: Python<'py>,
    gain: Vec<Vec<f64>>,
    cost: Vec<Vec<f64>>,
    price: f64,
    zone: f64,
    ahead: f64,
    outside: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let (gain, cost) = (Utilities::new(gain), Utilities::new(cost));
    let utilities = Utilities::weighed(&gain, &cost, price);
    let rule = Rule { zone, ahead, outside };
    let choice = choose(&utilities, rule);
    let found = PyDict::new(py);
    found.set_item("order", &choice.order)?;
    found.set_item("good", choice.good().collect::<Vec<_>>())?;
    found.set_item("scores", scores(py, &choice)?)?;
    found.set_item("is_settled", is_settled(&choice, zone))?;
    let prediction = repeat::predict(&utilities, rule);
    found.set_item("leader_stays", prediction.map(|p| p.leader_stays))?;
    found.set_item("same_set", prediction.map(|p| p.same_set))?;
    found.set_item("leader_is_good", prediction.map(|p| p.leader_is_good))?;
    let lines: Vec<Line> = (0..gain.contestants())
        .map(|each| Line { gain: gain.mean(each), cost: cost.mean(each) })
        .collect();
    let is_whole = lines.iter().all(|line| line.gain.is_finite() && line.cost.is_finite());
    let spans: Vec<Option<(f64, f64)>> = (0..lines.len())
        .map(|each| {
            let span = if is_whole { trade_off::span(&lines, each, zone) } else { None };
            span.map(|span| (span.low, span.high))
        })
        .collect();
    found.set_item("spans", spans)?;
    let front = if is_whole { trade_off::undominated(&lines) } else { Vec::new() };
    found.set_item("undominated", front)?;
    Ok(found)
}

fn scores<'py>(py: Python<'py>, choice: &Choice) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for score in &choice.scores {
        let Some(score) = score else {
            list.append(py.None())?;
            continue;
        };
        let entry = PyDict::new(py);
        entry.set_item("score", score.utility.mean)?;
        let reach = finite(score.utility.half_width(CONFIDENCE));
        entry.set_item("low", reach.map(|reach| score.utility.mean - reach))?;
        entry.set_item("high", reach.map(|reach| score.utility.mean + reach))?;
        entry.set_item("behind", score.behind.mean)?;
        entry.set_item("margin", score.margin)?;
        entry.set_item("is_good", score.is_good)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// Whether, however often one looked, each contestant is known to be in the set or out of it.
fn is_settled(choice: &Choice, zone: f64) -> bool {
    let Some(leader) = choice.leader() else {
        return false;
    };
    let error = SETTLED_ERROR / choice.order.len().max(2) as f64;
    choice.order.iter().filter(|&&each| each != leader).all(|&each| {
        choice.scores[each].is_some_and(|score| {
            let reach = sequence::half_width(score.behind, 2.0 * error); // one side counts
            if score.is_good {
                score.behind.mean + reach <= zone
            } else {
                score.behind.mean - reach > 0.0
            }
        })
    })
}

/// The mean difference of two rows, pair by pair, with its interval.
#[pyfunction]
pub(crate) fn paired_difference(
    ours: Vec<f64>,
    theirs: Vec<f64>,
) -> Option<(f64, Option<f64>, Option<f64>)> {
    let found = Difference::between(&ours, &theirs)?;
    let reach = finite(found.half_width(CONFIDENCE));
    Some((found.mean, reach.map(|r| found.mean - r), reach.map(|r| found.mean + r)))
}

/// Says how good a choice is over a population of networks.
#[pyfunction]
pub(crate) fn robustness<'py>(
    py: Python<'py>,
    draws: Vec<Vec<f64>>,
    weights: Vec<f64>,
    choice: usize,
    noise: Vec<f64>,
    zone: f64,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let draws = Utilities::new(draws);
    let Some(found) = population::robustness(&draws, &weights, choice, &noise, zone) else {
        return Ok(None);
    };
    let entry = PyDict::new(py);
    entry.set_item("is_good", found.is_good)?;
    entry.set_item("by_draw", found.by_draw)?;
    entry.set_item("regret", found.regret)?;
    entry.set_item("leader", found.leader)?;
    Ok(Some(entry))
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
