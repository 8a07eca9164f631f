//! Requests and answers of the helper process: one JSON object per line.
//!
//! When its standard input ends, the helper process ends and releases everything that it created.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cwndlab_emu::{Percentiles, Report};
use cwndlab_scenario::{Events, FlowSummary, LinkSummary, Samples, Scenario};
use serde::{Deserialize, Serialize};

/// For each algorithm that cwndlab has loaded, its name in the kernel.
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
        /// The kernel's names of algorithms in the scenario, where they differ from the scenario's
        /// names.
        #[serde(default)]
        kernel_names: KernelNames,
        /// File for the capture, if the scenario requests a capture.
        #[serde(default)]
        capture: Option<PathBuf>,
        /// File for the `TCP_INFO` of both ends every 10 ms, if the scenario records samples.
        #[serde(default)]
        states: Option<PathBuf>,
        /// Name of this run, shown to runs that wait for it.
        #[serde(default)]
        owner: String,
        /// Whether the machine is already reserved for this run by a helper process that received
        /// `hold`.
        #[serde(default)]
        is_held: bool,
        /// Whether to keep processors from halting, so that waits end on time; not useful on a
        /// machine whose time is counted in instructions.
        #[serde(default = "yes")]
        is_awake: bool,
    },
    /// Exclude other studies from the machine, so that one study can execute several runs at the
    /// same time.
    Hold {
        /// Name of the study, shown to studies that wait for it.
        owner: String,
    },
    /// End the exclusion of other studies.
    Release {},
}

fn yes() -> bool {
    true
}

/// An answer to a request; each request gets exactly one answer that is not `waiting`.
#[derive(Debug, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// Another study is using the machine; the final answer follows later.
    Waiting {
        /// Name of the study that is using the machine; empty if unknown.
        owner: String,
    },
    /// The run has ended; these are its results.
    Ran(Box<Ran>),
    /// The machine is reserved, or available again.
    Done,
    /// The request failed.
    Refused {
        /// One sentence that explains the error to people.
        message: String,
    },
}

/// The results of a run; the tables have the same rows and columns as those of the simulator.
#[derive(Debug, Serialize)]
pub struct Ran {
    /// One row for each flow.
    pub flows: Vec<FlowSummary>,
    /// One row for each stage.
    pub links: Vec<LinkSummary>,
    /// Table of samples as columns, if the scenario requests it; undefined values are null.
    pub samples: Option<Samples>,
    /// Table of events as columns, if the scenario requests it.
    pub events: Option<Events>,
    /// How well the machine emulated the link in real time.
    pub report: Report,
    /// Further measurements of the kernel.
    pub kernel: KernelView,
}

/// Measurements of the kernel that are not part of the tables.
#[derive(Debug, Serialize)]
pub struct KernelView {
    /// Start of the run on the monotonic clock.
    pub began_ns: u64,
    /// Numbers of the network namespaces: first that of the network side, then one for each user.
    pub namespaces: Vec<u64>,
    /// For each namespace, the increases of the kernel's counters during the run (`TcpExt` of
    /// `/proc/net/netstat`).
    pub netstat: Vec<BTreeMap<String, u64>>,
    /// Delay from the arrival of data until the receiving application was awake.
    pub wake_time: Percentiles,
    /// Time from one read to the next if data arrived in between.
    pub read_time: Percentiles,
}
