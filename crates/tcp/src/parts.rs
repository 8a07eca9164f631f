//! What the endpoints of all stacks are built from.

use cwndlab_cc::Congestion;
use cwndlab_units::Duration;

/// Parts of an endpoint besides its settings.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) flow: u32,
    pub(crate) user: u16,
    pub(crate) congestion: Congestion,
    pub(crate) seed: u64,
    pub(crate) jiffies_phase: Duration,
}
