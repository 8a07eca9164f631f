//! What a queue is asked on a packet's arrival, and what it answers.

use cwndlab_units::Time;

use crate::DropReason;

/// A packet that asks for room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) bytes: u32,
    pub(crate) is_ecn_capable: bool,
    /// Since when the link is idle, if it is.
    pub(crate) idle_since: Option<Time>,
}

/// What becomes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Accept,
    Mark,
    Drop(DropReason),
}
