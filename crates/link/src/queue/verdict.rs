//! The decision of a queue on a packet's arrival.

use cwndlab_units::Time;

use crate::DropReason;

/// Properties of an arriving packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) bytes: u32,
    pub(crate) is_ecn_capable: bool,
    /// Time since which the link has been idle, if it is idle.
    pub(crate) idle_since: Option<Time>,
}

/// Decision on an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Accept,
    Mark,
    Drop(DropReason),
}
