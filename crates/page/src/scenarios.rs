//! Creates a scenario from the settings on the page; it is the same scenario as the command line
//! creates from this link, algorithm, repetition and seed.

use cwndlab_scenario::{Scenario, drawn_ns, run_seed};
use cwndlab_texts::{Place, Resolved, checked_link, resolve, without_defaults};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files::{PageFiles, ReadTrace};

const MS_PER_S: f64 = 1000.0;
const NS_PER_MS: u64 = 1_000_000;

/// The settings from which the page creates a scenario.
///
/// `cell` and `template` are from the code of the command line, which writes them when the page is
/// built. The page changes the flows' algorithms and the duration in both.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// A one-line link.
    link: String,
    /// The settings on which the channel's random numbers may depend, without the path.
    cell: Value,
    /// The scenario without its path, seed and random times.
    template: Value,
    /// Upper bound of the random delay at the start of each flow.
    start_jitter_ns: u64,
    /// Number of the repetition, from 0.
    repetition: u64,
    study_seed: u64,
}

/// Returns the canonical JSON of the scenario, and the recordings to which it refers.
///
/// # Errors
/// Returns the problems with the link or its recordings.
pub(crate) fn scenario(
    request: Request,
    files: &PageFiles,
) -> Result<(String, Vec<ReadTrace>), String> {
    let Request { link, mut cell, mut template, start_jitter_ns, repetition, study_seed } = request;
    let (Resolved { path, .. }, traces) = resolved(&link, files)?;
    cell["path"] = without_defaults(&path);
    let cell_text = Value::String(cell.to_string()).to_string();
    let seed = run_seed(Some(&cell_text), repetition, study_seed);
    let longest_s = traces.iter().map(|trace| trace.duration_s).fold(0.0, f64::max);
    let begin_within_ns = (longest_s * MS_PER_S).round_ties_even() as u64 * NS_PER_MS;
    let begin_ns = drawn_ns(seed, "begin", begin_within_ns);
    template["path"] = path;
    template["seed"] = seed.into();
    delay(&mut template["duration_ns"], begin_ns);
    for flow in template["flows"].as_array_mut().into_iter().flatten() {
        let name = format!("flow.{}.start", flow["id"]);
        let start_ns = begin_ns + drawn_ns(seed, &name, start_jitter_ns);
        delay(&mut flow["start_ns"], start_ns);
        if flow.get("stop_ns").is_some() {
            delay(&mut flow["stop_ns"], begin_ns);
        }
    }
    let scenario = Scenario::from_json(&template.to_string()).map_err(|error| error.to_string())?;
    Ok((scenario.to_json(), traces))
}

/// Converts both directions of a one-line link; also returns the recordings to which the link
/// refers.
///
/// # Errors
/// Returns the problems with the link or its recordings.
pub(crate) fn resolved(
    link: &str,
    files: &PageFiles,
) -> Result<(Resolved, Vec<ReadTrace>), String> {
    let mut problems = Vec::new();
    let link = checked_link(&json!(link), &Place::of("link"), &mut problems);
    if problems.is_empty() {
        match resolve(Some(&link), None, files) {
            Ok(resolved) => return Ok((resolved, files.take_read())),
            Err(found) => problems = found,
        }
    }
    files.take_read();
    let sentences: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Err(sentences.join("\n"))
}

fn delay(time_ns: &mut Value, by_ns: u64) {
    *time_ns = (time_ns.as_u64().unwrap_or(0) + by_ns).into();
}
