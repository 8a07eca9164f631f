//! Queues: what waits, what is dropped and what is marked.

mod codel;
mod discipline;
mod drop_tail;
mod fq_codel;
mod pie;
mod red;
mod spaced;
mod step;

use cwndlab_units::Time;

pub(crate) use codel::{Codel, CodelSettings, Waiting};
pub use discipline::{Discipline, Turn};
pub(crate) use drop_tail::Limits;
pub(crate) use fq_codel::{FlowQueueSettings, FlowQueues};
pub(crate) use pie::Pie;
pub(crate) use red::Red;
pub(crate) use spaced::SpacedDiscard;
pub(crate) use step::Step;

use crate::packet::Packet;
use crate::{Backlog, DropReason};

/// A queue that decides when a packet arrives; a [`LateQueue`] decides later.
#[derive(Clone, Debug)]
pub(crate) enum Queue {
    DropTail(Limits),
    Managed(Box<Managed>),
}

/// A queue with active management.
#[derive(Clone, Debug)]
pub(crate) enum Managed {
    Pie(Pie),
    Red(Red),
    Step(Step),
}

/// A queue that decides when a packet's turn to be sent comes.
#[derive(Clone, Debug)]
pub(crate) enum LateQueue<P> {
    Codel(Codel<P>),
    Flows(FlowQueues<P>),
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
            Self::Pie(pie) => pie.admit(now, backlog, arrival),
            Self::Red(red) => red.admit(now, backlog, arrival),
            Self::Step(step) => step.admit(backlog, arrival),
        }
    }

    /// Takes note of a packet that is queued now; `turn` tells when it begins to be sent.
    pub(crate) fn queued(&mut self, now: Time, turn: impl FnOnce() -> Time) {
        match self {
            Self::Pie(pie) => pie.queued(now, turn()),
            Self::Red(_) | Self::Step(_) => {}
        }
    }
}

impl<P: Packet> LateQueue<P> {
    pub(crate) fn backlog(&self) -> Backlog {
        match self {
            Self::Codel(codel) => codel.backlog(),
            Self::Flows(flows) => flows.backlog(),
        }
    }

    /// Since when somebody waits for a turn, and the bytes that the turn is for.
    ///
    /// Which of several flows will have it is decided only then. So its length is not known before,
    /// and it waits in service for the tokens of a bucket, as below Linux's.
    pub(crate) fn next(&self) -> Option<(Time, u32)> {
        match self {
            Self::Codel(codel) => codel.front().map(|head| (head.arrived, head.bytes)),
            Self::Flows(flows) => flows.waits_since().map(|since| (since, 0)),
        }
    }

    /// The packet to be sent now and whether it was marked; what is dropped goes to `dropped`.
    pub(crate) fn dequeue(
        &mut self,
        now: Time,
        dropped: impl FnMut(Waiting<P>),
    ) -> Option<(Waiting<P>, bool)> {
        match self {
            Self::Codel(codel) => codel.dequeue(now, dropped),
            Self::Flows(flows) => flows.dequeue(now, dropped),
        }
    }

    pub(crate) fn for_each(&self, of: impl FnMut(&Waiting<P>)) {
        match self {
            Self::Codel(codel) => codel.iter().for_each(of),
            Self::Flows(flows) => flows.iter().for_each(of),
        }
    }
}
