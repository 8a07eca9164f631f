//! The parts from which the endpoints of all stacks are built.

use cwndlab_cc::Congestion;
use cwndlab_units::Duration;

/// All parts of an endpoint except its settings.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) flow: u32,
    pub(crate) user: u16,
    pub(crate) congestion: Congestion,
    pub(crate) seed: u64,
    pub(crate) jiffies_phase: Duration,
}
