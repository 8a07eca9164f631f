//! What the helper is asked and what it answers: one JSON object a line. When its standard input
//! ends, the helper does, with all that it had made.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cwndlab_emu::{Percentiles, Report};
use cwndlab_scenario::{Events, FlowSummary, LinkSummary, Samples, Scenario};
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
        /// Where to write `TCP_INFO` of both ends every 10 ms, if the scenario keeps samples.
        #[serde(default)]
        states: Option<PathBuf>,
        /// What other runs that wait for this one are shown.
        #[serde(default)]
        owner: String,
        /// The machine is held for this run, by a helper that was asked to.
        #[serde(default)]
        is_held: bool,
        /// The processors are kept from halting, so that waits end in time; not where a machine's time
        /// is counted in instructions.
        #[serde(default = "yes")]
        is_awake: bool,
    },
    /// Keep other studies off the machine, so that several runs of one can be made at once.
    Hold {
        /// What others that wait are shown.
        owner: String,
    },
    /// Let the others go on.
    Release {},
}

fn yes() -> bool {
    true
}

/// An answer. Each request has one that is not `waiting`.
#[derive(Debug, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Another run has the machine; the answer comes later.
    Waiting {
        /// What the other process calls itself; `None` if it does not say.
        owner: String,
    },
    /// The run is over.
    Ran(Box<Ran>),
    /// The machine is held, or not held any more.
    Done,
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
    /// What its kernel knows of the run by other ways.
    pub kernel: KernelView,
}

/// What the kernel knows of a run.
#[derive(Debug, Serialize)]
pub struct KernelView {
    /// The run's begin on the monotonic clock.
    pub began_ns: u64,
    /// The numbers of the network namespaces: the network's, then each user's.
    pub namespaces: Vec<u64>,
    /// What each of them has counted during the run (`TcpExt` of `/proc/net/netstat`).
    pub netstat: Vec<BTreeMap<String, u64>>,
    /// How long after data had come to their machine the receiving applications were awake.
    pub wake_time: Percentiles,
    /// How long it took them until they read again, where data had come while they read.
    pub read_time: Percentiles,
}
