//! Traces that come with a request.

use std::collections::BTreeMap;

use cwndlab_link::{PathConfig, RateConfig, RateTrace, Traces};

/// The traces that a path names, each as the kind that its stage wants.
pub(crate) fn read_traces(
    path: &PathConfig,
    contents: &BTreeMap<String, String>,
) -> Result<Traces, String> {
    let mut traces = Traces::new();
    for rate in path.rates() {
        let (name, parse): (_, fn(&[u8]) -> _) = match rate {
            RateConfig::Mahimahi { path: name } => (name, RateTrace::parse_mahimahi),
            RateConfig::Log { path: name, .. } => (name, RateTrace::parse_log),
            _ => continue,
        };
        // A missing one is reported by the run, which knows the stage.
        if let (None, Some(content)) = (traces.find(name), contents.get(name)) {
            let trace = parse(content.as_bytes()).map_err(|error| format!("{name}: {error}"))?;
            traces.insert(name.clone(), trace);
        }
    }
    Ok(traces)
}
