//! What an instance of the module keeps between calls: traces.

use std::collections::BTreeMap;

use cwndlab_cc::Algorithms;
use cwndlab_link::Traces;
use cwndlab_scenario::Scenario;
use cwndlab_sim::BEHAVIOUR_EPOCH;

use crate::tables;

/// The traces that scenarios may name.
#[derive(Default)]
pub(crate) struct Session {
    /// Contents of files by the names that scenarios use.
    contents: BTreeMap<String, Vec<u8>>,
    /// What has been read of them.
    traces: Traces,
}

impl Session {
    /// Keeps a trace's file; one of this name that was there gives way.
    pub(crate) fn add_trace(&mut self, name: &str, content: &[u8]) {
        self.contents.insert(name.to_owned(), content.to_vec());
        self.traces = Traces::new();
    }

    /// Runs a scenario.
    ///
    /// # Errors
    /// What is wrong with the scenario or one of its traces.
    pub(crate) fn run(&mut self, scenario: &str) -> Result<Vec<u8>, String> {
        let scenario = Scenario::from_json(scenario).map_err(|error| error.to_string())?;
        let read = scenario.path.read_traces(&self.contents, &mut self.traces);
        read.map_err(|(name, error)| format!("{name}: {error}"))?;
        let output = cwndlab_sim::run(&scenario, &self.traces, &Algorithms::default());
        Ok(tables::encode(output.map_err(|error| error.to_string())?))
    }
}

/// Version and behaviour epoch, as JSON.
pub(crate) fn version() -> String {
    let (version, epoch) = (env!("CARGO_PKG_VERSION"), BEHAVIOUR_EPOCH);
    serde_json::json!({ "cwndlab": version, "behaviour_epoch": epoch }).to_string()
}
