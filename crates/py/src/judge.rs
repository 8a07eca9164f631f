//! Statistics of the decision, for Python: converts lists of numbers to dictionaries of results.

use cwndlab_judge::{
    Bounds, Choice, Thresholds, Utilities, decide, logarithms as logarithms_of, population,
    relative_change as change_of,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Chooses the set of good algorithms.
#[pyfunction]
#[pyo3(signature = (gain, cost, *, price, zone, sure))]
pub(crate) fn choose_set<'py>(
    py: Python<'py>,
    gain: Vec<Vec<f64>>,
    cost: Vec<Vec<f64>>,
    price: f64,
    zone: f64,
    sure: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let thresholds = Thresholds { zone, sure };
    let decision = decide(&Utilities::new(gain), &Utilities::new(cost), price, thresholds);
    let found = PyDict::new(py);
    found.set_item("order", &decision.choice.order)?;
    found.set_item("good", decision.choice.good().collect::<Vec<_>>())?;
    found.set_item("candidates", &decision.candidates)?;
    found.set_item("scores", scores(py, &decision.choice)?)?;
    found.set_item("is_random", decision.is_random)?;
    found.set_item("is_settled", decision.is_settled)?;
    let prediction = decision.prediction;
    found.set_item("leader_stays", prediction.map(|p| p.leader_stays))?;
    found.set_item("same_set", prediction.map(|p| p.same_set))?;
    found.set_item("leader_is_good", prediction.map(|p| p.leader_is_good))?;
    let spans: Vec<Option<(f64, f64)>> =
        decision.spans.iter().map(|span| span.map(|span| (span.low, span.high))).collect();
    found.set_item("spans", spans)?;
    found.set_item("undominated", decision.undominated)?;
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
        let (estimate, low, high) = parts(Bounds::of(score.utility));
        entry.set_item("score", estimate)?;
        entry.set_item("low", low)?;
        entry.set_item("high", high)?;
        entry.set_item("behind", score.behind.mean)?;
        entry.set_item("margin", score.margin)?;
        entry.set_item("is_good", score.is_good)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// Relative difference between two rows of logarithms, with its confidence interval.
#[pyfunction]
pub(crate) fn relative_change(
    ours: Vec<f64>,
    theirs: Vec<f64>,
) -> Option<(f64, Option<f64>, Option<f64>)> {
    change_of(&ours, &theirs).map(parts)
}

/// Natural logarithms, the same on every machine.
#[pyfunction]
pub(crate) fn logarithms(values: Vec<f64>) -> Vec<f64> {
    logarithms_of(&values)
}

fn parts(bounds: Bounds) -> (f64, Option<f64>, Option<f64>) {
    let [low, high] = bounds.interval.map_or([None; 2], |ends| ends.map(Some));
    (bounds.estimate, low, high)
}

/// Evaluates a chosen algorithm over a population of similar networks.
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
