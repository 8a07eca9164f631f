//! JSON files: reports of iperf3, as one value or as a stream of events, and lists of rows.

use core::fmt::Write as _;

use serde_json::Value;

use super::iperf::nanos;
use super::samples::Sample;
use crate::TraceProblem;

/// The content of a JSON file.
pub(super) enum Json {
    /// Intervals of iperf3.
    Iperf(Vec<Sample>),
    /// Rows of names and values, converted to a text table.
    Rows(String),
}

pub(super) fn is_json(text: &str) -> bool {
    let begin = text.trim_start();
    let inside = begin.strip_prefix('[').map(str::trim_start);
    begin.starts_with('{') || inside.is_some_and(|inside| inside.starts_with(['{', '[']))
}

pub(super) fn read(text: &str) -> Result<Json, TraceProblem> {
    let mut documents = Vec::new();
    for document in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        documents.push(document.map_err(|error| TraceProblem::Json(error.to_string()))?);
    }
    // `--json-stream`: each event is a document.
    let events = documents.iter().filter_map(|document| match document["event"].as_str()? {
        "interval" => Some(&document["data"]),
        _ => None,
    });
    let intervals: Vec<&Value> = documents
        .iter()
        .filter_map(|document| document["intervals"].as_array())
        .flatten()
        .chain(events)
        .collect();
    let is_iperf = documents
        .iter()
        .any(|document| document.get("intervals").is_some() || document.get("event").is_some());
    if is_iperf {
        let samples = iperf(&intervals);
        return if samples.is_empty() {
            Err(TraceProblem::NoIntervals)
        } else {
            Ok(Json::Iperf(samples))
        };
    }
    if documents
        .iter()
        .any(|document| document.get("end").is_some() && document.get("start").is_some())
    {
        return Err(TraceProblem::NoIntervals);
    }
    let rows: Vec<Value> = match &mut documents[..] {
        [Value::Array(rows)] => core::mem::take(rows),
        [document] if by_columns(document).is_some() => by_columns(document).unwrap_or_default(),
        _ => documents,
    };
    table(&rows).map(Json::Rows)
}

/// Converts an object of columns to a row of names and rows of values.
fn by_columns(document: &Value) -> Option<Vec<Value>> {
    let columns: Option<Vec<(&String, &Vec<Value>)>> =
        document.as_object()?.iter().map(|(name, cells)| Some((name, cells.as_array()?))).collect();
    let columns = columns.filter(|columns| !columns.is_empty())?;
    let height = columns.iter().map(|(_, cells)| cells.len()).max()?;
    let row = |at: usize| {
        columns
            .iter()
            .map(|(name, cells)| ((*name).clone(), cells.get(at).cloned().unwrap_or(Value::Null)))
            .collect()
    };
    Some((0..height).map(|at| Value::Object(row(at))).collect())
}

/// The rates of the intervals in an iperf3 report; if the report has both directions, the received
/// rates.
fn iperf(intervals: &[&Value]) -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    let (mut begin_s, mut end_s) = (0.0, 0.0_f64);
    for (index, interval) in intervals.iter().enumerate() {
        let sums = ["sum", "sum_bidir_reverse"].map(|key| &interval[key]).into_iter();
        let sums = sums.filter(|sum| sum["bits_per_second"].is_number());
        // The host that runs the test writes the report: data that it received has no "sender".
        let received = sums.clone().find(|sum| sum["sender"] == Value::Bool(false));
        let Some(sum) = received.or_else(|| sums.clone().next()) else { continue };
        let number = |key: &str| sum[key].as_f64().filter(|number| (0.0..1e15).contains(number));
        let (Some(start_s), Some(stop_s), Some(bits_per_sec)) =
            (number("start"), number("end"), number("bits_per_second"))
        else {
            continue;
        };
        if sum["omitted"] == Value::Bool(true) || stop_s <= start_s {
            continue;
        }
        // A start at 0 begins another test.
        if start_s < end_s - 1e-3 {
            begin_s += end_s;
        }
        end_s = stop_s;
        samples.push(Sample {
            line: index + 1,
            start_ns: nanos(begin_s + start_s),
            mbit_s: Some(bits_per_sec / 1e6),
            duration_ns: Some(nanos(stop_s - start_s)),
        });
    }
    samples
}

/// Converts a list of rows, which are objects or lists, to a tab-separated table.
fn table(rows: &[Value]) -> Result<String, TraceProblem> {
    let mut text = String::new();
    let names: Vec<&String> = match rows.first() {
        Some(Value::Object(first)) => first.keys().collect(),
        Some(Value::Array(_)) => Vec::new(),
        _ => return Err(TraceProblem::Json("its content is not a list of rows".to_owned())),
    };
    let line = |cells: Vec<String>| cells.join("\t") + "\n";
    if !names.is_empty() {
        text += &line(names.iter().map(|name| plain(name)).collect());
    }
    for row in rows {
        let cells = match row {
            Value::Object(row) => names.iter().map(|name| cell(row.get(*name))).collect(),
            Value::Array(row) => row.iter().map(|value| cell(Some(value))).collect(),
            _ => {
                return Err(TraceProblem::Json(
                    "one of its rows is neither an object nor a list".to_owned(),
                ));
            }
        };
        text.write_str(&line(cells)).expect("writing to a String cannot fail");
    }
    Ok(text)
}

fn cell(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => plain(text),
        Some(Value::Number(number)) => number.to_string(),
        _ => "-".to_owned(),
    }
}

fn plain(text: &str) -> String {
    text.replace(['\t', '\n', '\r', '"', '#'], " ")
}
