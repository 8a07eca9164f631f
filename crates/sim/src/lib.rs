//! The simulator: a run is a pure function of a scenario, its seed and the traces that it names.
//!
//! [`Scenario`] says what happens, [`run()`] lets it happen, [`RunOutput`] is what was seen. Between
//! them stands an event loop over two links and any number of flows, each with two full TCP
//! endpoints and an application. Nothing here reads a clock or a file.
//!
//! What an application does, what is counted of a flow and how its result is made of that is here for
//! the backends with real sockets too ([`Application`], [`FlowRecord`], [`flow_summary`]), so that a
//! column means the same in all of them.

mod application;
mod columns;
mod engine;
mod flow;
mod frame;
mod histogram;
mod output;
mod path;
mod pcap;
mod record;
mod recorder;
mod run;
mod saturate;
mod scenario;
mod station;
mod summary;
mod wake;

pub use application::{
    Application, ApplicationConfig, Connection, Datagram, Distribution, Outcome,
};
pub use columns::{Column, Kind, Values};
pub use output::{Acks, Events, FlowSummary, LinkSummary, Recording, RunOutput, Samples};
pub use record::FlowRecord;
pub use run::{RunError, check, run, run_in_parts, run_unless_stopped};
pub use saturate::{Saturation, saturate};
pub use scenario::{
    EndConfig, FlowConfig, RecordConfig, SCENARIO_VERSION, Scenario, ScenarioError,
};
pub use summary::{FinishedFlow, SenderCounts, flow_summary, link_summaries};

/// Grows when the same scenario and seed may give another result than before, so that results in a
/// store are not mistaken for each other.
pub const BEHAVIOUR_EPOCH: u32 = 10;
