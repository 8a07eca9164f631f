//! What the stacks have in common before they begin.

use cwndlab_cc::Congestion;
use cwndlab_units::Duration;

/// What an endpoint of any stack is made of besides its settings.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) flow: u32,
    pub(crate) user: u16,
    pub(crate) congestion: Congestion,
    pub(crate) seed: u64,
    pub(crate) jiffies_phase: Duration,
}
