//! Traces whose contents are part of a request.

use std::collections::BTreeMap;

use cwndlab_link::{PathConfig, Traces};

/// Parses the traces that a path names.
pub(crate) fn read_traces(
    path: &PathConfig,
    contents: &BTreeMap<String, String>,
) -> Result<Traces, String> {
    let mut traces = Traces::new();
    let read = path.read_traces(contents, &mut traces);
    read.map_err(|(name, error)| format!("{name}: {error}"))?;
    Ok(traces)
}
