//! Queues: what waits, what is dropped and what is marked.

mod codel;
mod drop_tail;
mod red;
mod spaced;
mod step;

use cwndlab_units::Time;

pub(crate) use codel::{Codel, Waiting};
pub(crate) use drop_tail::Limits;
pub(crate) use red::Red;
pub(crate) use spaced::SpacedDiscard;
pub(crate) use step::Step;

use crate::{Backlog, DropReason};

/// A queue that decides when a packet arrives; [`Codel`] decides later.
#[derive(Clone, Debug)]
pub(crate) enum Queue {
    DropTail(Limits),
    Managed(Box<Managed>),
}

/// A queue with active management.
#[derive(Clone, Debug)]
pub(crate) enum Managed {
    Red(Red),
    Step(Step),
}

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

impl Managed {
    pub(crate) fn admit(&mut self, now: Time, backlog: Backlog, arrival: Arrival) -> Verdict {
        match self {
            Self::Red(red) => red.admit(now, backlog, arrival),
            Self::Step(step) => step.admit(backlog, arrival),
        }
    }
}
