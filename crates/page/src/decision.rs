//! The decision from the repetitions on the page; it is the same as that of `cwndlab compare` for
//! the same runs.

use cwndlab_judge::{
    Bounds, FlowFigures, RunFigures, Thresholds, Utilities, decide, logarithms, relative_change,
};
use cwndlab_scenario::FlowSummary;
use serde::Deserialize;
use serde_json::{Value, json};

/// Number of values for each run, in the order of [`figures_of`].
const FIGURES: usize = 4;
/// Index, among the values of a run, of the goodput of all flows together.
const GOODPUT: usize = 2;

/// A request for a decision.
///
/// Rule, price and the displayed changes are from the code of the command line, which writes them
/// when the page is built.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    algorithms: Vec<String>,
    /// The algorithm that the user has today.
    baseline: String,
    price: f64,
    zone: f64,
    sure: f64,
}

/// The values of a run that the decision uses.
pub(crate) fn figures_of(flows: &[FlowSummary]) -> [f64; FIGURES] {
    let flows: Vec<FlowFigures> = flows
        .iter()
        .map(|flow| FlowFigures {
            goodput_mbit_s: flow.goodput_mbit_s.unwrap_or(f64::NAN),
            rtt_p95_ms: flow.rtt_p95_ms.unwrap_or(f64::NAN),
            rtt_base_ms: flow.rtt_base_ms.unwrap_or(f64::NAN),
            end_s: flow.end_s,
            window_s: flow.window_s.unwrap_or(f64::NAN),
        })
        .collect();
    let run = RunFigures::of(&flows);
    [run.log_goodput, run.log_queueing_delay, run.goodput_mbit_s, run.rtt_p95_ms]
}

/// Makes the decision and returns it as JSON.
///
/// `figures` contains little-endian 64-bit floating-point numbers: the values of each repetition,
/// grouped by algorithm.
///
/// # Errors
/// Returns an error if the values do not give the same number of runs for each algorithm.
pub(crate) fn decision(question: &Question, figures: &[u8]) -> Result<String, String> {
    let names = &question.algorithms;
    let numbers = figures.chunks_exact(size_of::<f64>()).filter_map(<[u8]>::first_chunk);
    let values: Vec<f64> = numbers.map(|bytes| f64::from_le_bytes(*bytes)).collect();
    if names.is_empty() || values.is_empty() || values.len() % (names.len() * FIGURES) != 0 {
        return Err(format!("{} values do not fit {} algorithms", values.len(), names.len()));
    }
    let repetitions = values.len() / FIGURES / names.len();
    let rows = |figure: usize| -> Vec<Vec<f64>> {
        let runs: Vec<f64> = values.chunks(FIGURES).map(|run| run[figure]).collect();
        runs.chunks(repetitions).map(<[f64]>::to_vec).collect()
    };
    let (gain, cost) = (Utilities::new(rows(0)), Utilities::new(rows(1)));
    let thresholds = Thresholds { zone: question.zone, sure: question.sure };
    let decided = decide(&gain, &cost, question.price, thresholds);
    let choice = &decided.choice;
    let best: Vec<usize> = choice.good().collect();
    let baseline = choice.order.iter().copied().find(|&each| names[each] == question.baseline);
    let step = best.first().zip(baseline).filter(|(first, baseline)| *first != baseline);
    let changes = step.map(|(&new, old)| {
        let change = |figure| {
            let rows = rows(figure);
            relative_change(&logarithms(&rows[new]), &logarithms(&rows[old]))
        };
        json!({ "goodput_mbit_s": change(GOODPUT).map(bounds), "rtt_p95_ms": change(3).map(bounds) })
    });
    let algorithms = choice.order.iter().filter_map(|&each| {
        let score = choice.scores[each]?;
        let [estimate, low, high] = ends(Bounds::of(score.utility));
        let prices = decided.spans[each].map(|span| [finite(span.low), finite(span.high)]);
        Some(json!({
            "algorithm": names[each],
            "score": estimate,
            "low": low,
            "high": high,
            "behind": score.behind.mean,
            "is_good": score.is_good,
            "prices_of_delay": prices,
            "is_undominated": decided.undominated.contains(&each),
        }))
    });
    let prediction = decided.prediction;
    // A single run cannot show whether anything is random.
    let is_random = decided.is_random || repetitions == 1;
    let mut answer = json!({
        "best": best.iter().map(|&each| &names[each]).collect::<Vec<_>>(),
        "candidates": decided.candidates.iter().map(|&each| &names[each]).collect::<Vec<_>>(),
        "is_idle": false,
        "pairs": if is_random { repetitions } else { 0 },
        "repeatable": prediction.map(|found| found.leader_stays),
        "same_set": prediction.map(|found| found.same_set),
        "good_selection": prediction.map(|found| found.leader_is_good),
        "baseline": baseline.map(|each| &names[each]),
        "changes": changes,
        "algorithms": algorithms.collect::<Vec<_>>(),
    });
    if !values.chunks(FIGURES).any(|run| run[GOODPUT] > 0.0) {
        remove_choice(&mut answer);
    }
    Ok(answer.to_string())
}

/// Removes the recommendation from an answer about runs in which no data arrived.
fn remove_choice(answer: &mut Value) {
    for key in ["repeatable", "same_set", "good_selection", "changes"] {
        answer[key] = Value::Null;
    }
    answer["best"] = json!([]);
    answer["candidates"] = json!([]);
    answer["algorithms"] = json!([]);
    answer["is_idle"] = json!(true);
}

fn bounds(change: Bounds) -> Value {
    let [estimate, low, high] = ends(change);
    json!({ "estimate": estimate, "low": low, "high": high })
}

fn ends(bounds: Bounds) -> [Option<f64>; 3] {
    let [low, high] = bounds.interval.map_or([None; 2], |ends| ends.map(Some));
    [Some(bounds.estimate), low, high]
}

/// Converts infinity, which JSON does not have, to `None`.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer_to(runs: &[[f64; FIGURES]]) -> Value {
        let question = Question {
            algorithms: vec!["reno".to_owned(), "cubic".to_owned()],
            baseline: "cubic".to_owned(),
            price: 0.0,
            zone: 0.03,
            sure: 0.9,
        };
        let figures: Vec<u8> =
            runs.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
        serde_json::from_str(&decision(&question, &figures).expect("a decision")).expect("JSON")
    }

    #[test]
    fn nothing_is_recommended_if_no_data_arrived() {
        let silent = [-7.0, 5.0, 0.0, f64::NAN];
        let mute = [f64::NAN; FIGURES];
        for runs in [[silent, silent], [silent, mute], [mute, mute]] {
            let answer = answer_to(&runs);
            assert_eq!(answer["is_idle"], true);
            assert_eq!(answer["best"], json!([]));
            assert_eq!(answer["candidates"], json!([]));
            assert_eq!(answer["algorithms"], json!([]));
            assert_eq!(answer["changes"], Value::Null);
        }
        let answer = answer_to(&[silent, [1.0, 5.0, 2.7, 60.0]]);
        assert_eq!(answer["is_idle"], false);
        assert_eq!(answer["best"], json!(["cubic"]));
    }
}
