//! The simulator: a run is a pure function of a scenario, its seed and the traces that it names.
//!
//! A [`Scenario`](cwndlab_scenario::Scenario) says what happens, [`run()`] lets it happen,
//! [`RunOutput`](cwndlab_scenario::RunOutput) is what was seen. Between them stands an event loop
//! over two links and any number of flows, each with two full TCP endpoints and an application.
//! Nothing here reads a clock or a file.

mod engine;
mod flow;
mod frame;
mod ingress;
mod node;
mod path;
mod pcap;
mod recorder;
mod run;
mod sampling;
mod saturate;
mod socket;
mod wake;

pub use run::{RunError, check, run, run_in_parts, run_unless_stopped};
pub use saturate::{Saturation, saturate};

/// Grows when the same scenario and seed may give another result than before, so that results in a
/// store are not mistaken for each other.
pub const BEHAVIOUR_EPOCH: u32 = 20;
