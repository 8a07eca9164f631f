//! State of the module between calls: the files and traces of the page.

use std::collections::BTreeMap;

use cwndlab_cc::Algorithms;
use cwndlab_link::Traces;
use cwndlab_scenario::Scenario;
use cwndlab_sim::BEHAVIOUR_EPOCH;
use cwndlab_trace::{ReadOptions, TraceProblem};
use serde_json::json;

use crate::files::PageFiles;
use crate::{queues, scenarios, tables};

/// Files and traces to which links and scenarios may refer.
#[derive(Default)]
pub(crate) struct Session {
    files: PageFiles,
    /// Contents of traces by their names in scenarios.
    contents: BTreeMap<String, Vec<u8>>,
    /// Parsed traces.
    traces: Traces,
}

impl Session {
    /// Stores the file of a trace; replaces a trace with the same name.
    pub(crate) fn add_trace(&mut self, name: &str, content: &[u8]) {
        self.contents.insert(name.to_owned(), content.to_vec());
        self.traces = Traces::new();
    }

    /// Stores a preset's file.
    pub(crate) fn add_preset(&mut self, name: &str, text: &str) {
        self.files.presets.insert(name.to_owned(), text.to_owned());
    }

    /// Stores the file of a recorded link; returns a description of its content as JSON.
    ///
    /// # Errors
    /// Returns the reason why the file is not a recording.
    pub(crate) fn add_recording(&mut self, name: &str, content: &[u8]) -> Result<String, String> {
        let read = cwndlab_trace::read(content, &ReadOptions::default())
            .map(|reading| (reading.understood.to_string(), reading.trace.period()));
        let read = match read {
            Err(error) if error.problem == TraceProblem::PacketTrains => {
                cwndlab_trace::read_light(content)
                    .map(|reading| (reading.trace.to_string(), reading.trace.period()))
            }
            other => other,
        };
        let (understood, period) = read.map_err(|error| format!("{name}: {error}"))?;
        self.files.recordings.insert(name.to_owned(), content.to_vec());
        let duration_s = period.as_secs_f64();
        Ok(json!({ "understood": understood, "duration_s": duration_s }).to_string())
    }

    /// Creates the scenario for a request, and stores its traces.
    ///
    /// # Errors
    /// Returns the problems with the request, its link or its recordings.
    pub(crate) fn scenario(&mut self, request: &str) -> Result<String, String> {
        let request = serde_json::from_str(request).map_err(|error| error.to_string())?;
        let (scenario, traces) = scenarios::scenario(request, &self.files)?;
        for trace in traces {
            if self.contents.get(&trace.name) != Some(&trace.content) {
                self.add_trace(&trace.name, &trace.content);
            }
        }
        Ok(scenario)
    }

    /// Returns the queue of a one-line link as JSON.
    ///
    /// # Errors
    /// Returns the problems with the link or its recordings.
    pub(crate) fn queue(&self, link: &str) -> Result<String, String> {
        let (resolved, traces) = scenarios::resolved(link, &self.files)?;
        let rates = traces
            .into_iter()
            .filter_map(|trace| Some((trace.name, trace.mean_bits_per_sec?)))
            .collect();
        Ok(queues::narrowest_queue(&resolved, &rates).to_string())
    }

    /// Runs a scenario.
    ///
    /// # Errors
    /// Returns the problem with the scenario or one of its traces.
    pub(crate) fn run(&mut self, scenario: &str) -> Result<Vec<u8>, String> {
        let scenario = Scenario::from_json(scenario).map_err(|error| error.to_string())?;
        let read = scenario.path.read_traces(&self.contents, &mut self.traces);
        read.map_err(|(name, error)| format!("{name}: {error}"))?;
        let output = cwndlab_sim::run(&scenario, &self.traces, &Algorithms::default());
        Ok(tables::encode(output.map_err(|error| error.to_string())?))
    }
}

/// Returns the version and the behaviour epoch, as JSON.
pub(crate) fn version() -> String {
    let (version, epoch) = (env!("CARGO_PKG_VERSION"), BEHAVIOUR_EPOCH);
    json!({ "cwndlab": version, "behaviour_epoch": epoch }).to_string()
}
