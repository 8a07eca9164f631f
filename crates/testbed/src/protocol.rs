//! Requests and answers of the helper: one JSON object per line.
//!
//! When its standard input ends, the helper ends and releases everything that it created.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cwndlab_emu::{Percentiles, Report};
use cwndlab_scenario::{Events, FlowSummary, LinkSummary, Samples, Scenario};
use serde::{Deserialize, Serialize};

/// The kernel's names of algorithms that cwndlab has loaded.
pub type KernelNames = BTreeMap<String, String>;

/// A request.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Run a scenario.
    Run {
        /// The scenario.
        scenario: Box<Scenario>,
        /// Contents of the traces that the scenario names.
        #[serde(default)]
        traces: BTreeMap<String, String>,
        /// The kernel's names of the scenario's algorithms, where they differ.
        #[serde(default)]
        kernel_names: KernelNames,
        /// File for the capture, if the scenario asks for one.
        #[serde(default)]
        capture: Option<PathBuf>,
        /// File for `TCP_INFO` of both ends every 10 ms, if the scenario records samples.
        #[serde(default)]
        states: Option<PathBuf>,
        /// Name of this run, shown to runs that wait for it.
        #[serde(default)]
        owner: String,
        /// The machine is already reserved for this run by a helper that received `hold`.
        #[serde(default)]
        is_held: bool,
        /// Keep processors from halting so that waits end on time; not useful where a machine's
        /// time is counted in instructions.
        #[serde(default = "yes")]
        is_awake: bool,
    },
    /// Exclude other studies from the machine, so that one study can run several scenarios at once.
    Hold {
        /// Name of the study, shown to studies that wait for it.
        owner: String,
    },
    /// Admit other studies again.
    Release {},
}

fn yes() -> bool {
    true
}

/// An answer; each request has exactly one that is not `waiting`.
#[derive(Debug, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Another study has the machine; the final answer follows later.
    Waiting {
        /// Name of the other study; empty if unknown.
        owner: String,
    },
    /// The run is over.
    Ran(Box<Ran>),
    /// The machine is held or released.
    Done,
    /// The request failed.
    Refused {
        /// One sentence for people.
        message: String,
    },
}

/// The result of a run; tables have the same rows and columns as the simulator's.
#[derive(Debug, Serialize)]
pub struct Ran {
    /// One row for each flow.
    pub flows: Vec<FlowSummary>,
    /// One row for each stage.
    pub links: Vec<LinkSummary>,
    /// Columns, if the scenario asks for them; undefined values are null.
    pub samples: Option<Samples>,
    /// Columns, if the scenario asks for them.
    pub events: Option<Events>,
    /// How well the machine kept up.
    pub report: Report,
    /// Further measurements by the kernel.
    pub kernel: KernelView,
}

/// Measurements by the kernel, beside the tables.
#[derive(Debug, Serialize)]
pub struct KernelView {
    /// Start of the run on the monotonic clock.
    pub began_ns: u64,
    /// Numbers of the network namespaces: the network's, then each user's.
    pub namespaces: Vec<u64>,
    /// Counters of each namespace for the run (`TcpExt` of `/proc/net/netstat`).
    pub netstat: Vec<BTreeMap<String, u64>>,
    /// Delay from the arrival of data until the receiving application was awake.
    pub wake_time: Percentiles,
    /// Time from one read to the next if data arrived in between.
    pub read_time: Percentiles,
}
