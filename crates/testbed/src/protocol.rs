//! What the helper is asked and what it answers: one JSON object a line. When its standard input
//! ends, the helper does, with all that it had made.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cwndlab_emu::Report;
use cwndlab_sim::{Events, FlowSummary, LinkSummary, Samples, Scenario};
use serde::{Deserialize, Serialize};

/// Under which names the kernel knows algorithms that cwndlab has loaded.
pub type KernelNames = BTreeMap<String, String>;

/// A request.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Run a scenario.
    Run {
        /// The scenario.
        scenario: Box<Scenario>,
        /// The contents of the traces that it names.
        #[serde(default)]
        traces: BTreeMap<String, String>,
        /// What the kernel calls the algorithms that the scenario names, where it is another name.
        #[serde(default)]
        kernel_names: KernelNames,
        /// Where to write the capture, if the scenario asks for one.
        #[serde(default)]
        capture: Option<PathBuf>,
    },
}

/// An answer. Each request has one that is not `waiting`.
#[derive(Debug, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Another run has the machine; the answer comes later.
    Waiting,
    /// The run is over.
    Ran(Box<Ran>),
    /// It cannot be done.
    Refused {
        /// One sentence, for people.
        message: String,
    },
}

/// A run's result: tables by row and by column as in the simulator's.
#[derive(Debug, Serialize)]
pub struct Ran {
    /// One row a flow.
    pub flows: Vec<FlowSummary>,
    /// One row a stage.
    pub links: Vec<LinkSummary>,
    /// Columns, if the scenario asks for them; what is undefined is null.
    pub samples: Option<Samples>,
    /// Columns, if the scenario asks for them.
    pub events: Option<Events>,
    /// How well the machine kept up.
    pub report: Report,
}
