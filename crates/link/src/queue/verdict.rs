//! The decision of a queue on an arriving packet.

use cwndlab_units::Time;

use crate::DropReason;

/// Properties of an arriving packet, for the queue's decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) bytes: u32,
    pub(crate) is_ecn_capable: bool,
    /// Time since which the link has been idle; `None` if it is sending.
    pub(crate) idle_since: Option<Time>,
}

/// Decision of a queue on an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Accept,
    Mark,
    Drop(DropReason),
}
