//! Queues: they hold, drop and mark packets.

mod ack_filter;
mod ack_thinner;
mod codel;
mod discipline;
mod drop_tail;
mod dual_pi2;
mod fifo;
mod fq_codel;
mod pie;
mod red;
mod spaced;
mod step;
mod verdict;

pub(crate) use ack_thinner::AckThinner;
pub(crate) use codel::{Codel, CodelSettings, Waiting};
pub use discipline::{Dequeued, Discipline};
pub(crate) use drop_tail::Limits;
pub(crate) use dual_pi2::{DualPi2, DualPi2Settings};
pub(crate) use fifo::Fifo;
pub(crate) use fq_codel::{FlowQueueSettings, FlowQueues};
pub(crate) use pie::Pie;
pub(crate) use red::Red;
pub(crate) use spaced::SpacedDiscard;
pub(crate) use step::Step;
pub(crate) use verdict::{Arrival, Verdict};

use cwndlab_units::Time;

use crate::Backlog;
use crate::config::AckFilter;
use crate::packet::Packet;

/// A queue whose management decides when a packet arrives; [`DequeueAqm`] decides when a packet is
/// dequeued (RFC 7567 section 4.1 describes both).
#[derive(Clone, Debug)]
pub(crate) enum Queue {
    DropTail(Limits),
    EnqueueAqm(Box<EnqueueAqm>),
}

/// Active queue management that decides when a packet is enqueued.
#[derive(Clone, Debug)]
pub(crate) enum EnqueueAqm {
    Pie(Pie),
    Red(Red),
    Step(Step),
}

/// Active queue management that decides when a packet is dequeued.
#[derive(Clone, Debug)]
pub(crate) enum DequeueAqm<P> {
    /// Passes all packets; the ACK filter needs a queue even without active queue management.
    None(Fifo<P>),
    Codel(Codel<P>),
    Flows(FlowQueues<P>),
    Dual(Box<DualPi2<P>>),
}

impl EnqueueAqm {
    pub(crate) fn admit(&mut self, now: Time, backlog: Backlog, arrival: Arrival) -> Verdict {
        match self {
            Self::Pie(pie) => pie.admit(now, backlog, arrival),
            Self::Red(red) => red.admit(now, backlog, arrival),
            Self::Step(step) => step.admit(backlog, arrival),
        }
    }

    /// Records that a packet is queued now; `dequeue_at` returns the time at which the server
    /// begins to send it.
    pub(crate) fn queued(&mut self, now: Time, dequeue_at: impl FnOnce() -> Time) {
        match self {
            Self::Pie(pie) => pie.queued(now, dequeue_at()),
            Self::Red(_) | Self::Step(_) => {}
        }
    }
}

impl<P: Packet> DequeueAqm<P> {
    pub(crate) fn backlog(&self) -> Backlog {
        match self {
            Self::None(fifo) => fifo.backlog(),
            Self::Codel(codel) => codel.backlog(),
            Self::Flows(flows) => flows.backlog(),
            Self::Dual(dual) => dual.backlog(),
        }
    }

    /// Time since which the next packet has been waiting to be dequeued, and the packet's length.
    ///
    /// A discipline with several queues selects the packet only when it is dequeued. It reports a
    /// length of 0, so the packet waits in service for the tokens of a bucket, as below a token
    /// bucket in Linux.
    pub(crate) fn next(&self) -> Option<(Time, u32)> {
        match self {
            Self::None(fifo) => fifo.front().map(|head| (head.arrived, head.bytes)),
            Self::Codel(codel) => codel.front().map(|head| (head.arrived, head.bytes)),
            Self::Flows(flows) => flows.waits_since().map(|since| (since, 0)),
            Self::Dual(dual) => dual.waits_since().map(|since| (since, 0)),
        }
    }

    /// Dequeues the next packet, and returns whether it was marked; passes dropped packets to
    /// `dropped`.
    pub(crate) fn dequeue(
        &mut self,
        now: Time,
        dropped: impl FnMut(Waiting<P>),
    ) -> Option<(Waiting<P>, bool)> {
        match self {
            Self::None(fifo) => fifo.pop_front().map(|head| (head, false)),
            Self::Codel(codel) => codel.dequeue(now, dropped),
            Self::Flows(flows) => flows.dequeue(now, dropped),
            Self::Dual(dual) => dual.dequeue(now, dropped),
        }
    }

    /// Removes the packet that `new` supersedes, if there is such a packet.
    pub(crate) fn take_superseded(&mut self, filter: AckFilter, new: &P) -> Option<Waiting<P>> {
        match self {
            Self::None(fifo) => {
                let index = filter.find(fifo.iter(), new)?;
                fifo.remove(index)
            }
            Self::Codel(codel) => {
                let index = filter.find(codel.iter(), new)?;
                codel.remove(index)
            }
            Self::Flows(flows) => flows.take_superseded(filter, new),
            Self::Dual(dual) => dual.take_superseded(filter, new),
        }
    }

    pub(crate) fn for_each(&self, of: impl FnMut(&Waiting<P>)) {
        match self {
            Self::None(fifo) => fifo.iter().for_each(of),
            Self::Codel(codel) => codel.iter().for_each(of),
            Self::Flows(flows) => flows.iter().for_each(of),
            Self::Dual(dual) => dual.iter().for_each(of),
        }
    }
}
