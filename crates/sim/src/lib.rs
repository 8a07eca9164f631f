//! The simulator: a run is a pure function of a scenario, its seed and the traces that it names.
//!
//! A [`Scenario`](cwndlab_scenario::Scenario) describes the run, [`run()`] executes it, and
//! [`RunOutput`](cwndlab_scenario::RunOutput) contains its results. An event loop drives two links
//! and any number of flows; each flow has two complete TCP endpoints and an application. This
//! crate reads no clock and no file.

mod engine;
mod flow;
mod frame;
mod ingress;
mod node;
mod path;
mod pcap;
mod probe;
mod recorder;
mod run;
mod sampling;
mod saturate;
mod socket;
mod wake;

pub use probe::probe;
pub use run::{RunError, check, run, run_in_parts, run_unless_stopped};
pub use saturate::{Saturation, saturate};

/// Version of the simulator's behaviour. It increases whenever the same scenario and seed may give
/// a different result than before, so that a store never returns results of an older version.
pub const BEHAVIOUR_EPOCH: u32 = 30;
