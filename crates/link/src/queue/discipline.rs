//! A queue with active queue management that is emptied by the blocks of a radio or by a device,
//! instead of by the server of a wire.

use core::num::NonZeroU32;
use std::collections::VecDeque;

use cwndlab_units::{Bytes, Stream, Time};

use super::{
    AckThinner, Arrival, Codel, CodelSettings, DequeueAqm, DualPi2, DualPi2Settings, Fifo,
    FlowQueueSettings, FlowQueues, Limits, Pie, Verdict, Waiting,
};
use crate::config::{AckFilter, AqmConfig, PieConfig};
use crate::packet::{Admission, Packet};
use crate::{Backlog, DropReason};

/// A queue with active queue management for which the time of the next dequeue is not known in
/// advance.
#[derive(Clone, Debug)]
pub struct Discipline<P> {
    queue: Managed<P>,
    ack_filter: Option<AckFilter>,
    thinner: Option<AckThinner>,
}

#[derive(Clone, Debug)]
enum Managed<P> {
    /// Queue management that decides when a packet arrives.
    OnEnqueue { pie: Pie, waiting: VecDeque<Waiting<P>>, backlog: Backlog },
    /// Queue management that decides when a packet is dequeued, or passes all packets.
    OnDequeue { queue: DequeueAqm<P>, limits: Limits },
}

/// A packet that leaves the queue, and its history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dequeued<P> {
    /// The packet, with its ECN mark if it has one.
    pub packet: P,
    /// Time at which the packet arrived.
    pub arrived: Time,
    /// Whether the packet was marked when it was dequeued.
    pub is_marked: bool,
}

impl<P: Packet> Discipline<P> {
    /// Creates an empty queue with these limits; `random` is a stream of random numbers for this
    /// queue only.
    ///
    /// With an interval of 0, CoDel drops every packet that waits longer than its target.
    pub fn new(
        config: AqmConfig,
        packets: Option<u32>,
        bytes: Option<Bytes>,
        mut random: Stream,
    ) -> Self {
        let limits = Limits::new(packets, bytes);
        let queue = match config {
            AqmConfig::Pie { target, burst, ecn } => {
                let pie = Pie::new(&PieConfig { target, burst, ecn, packets, bytes }, random);
                let (waiting, backlog) = (VecDeque::new(), Backlog::default());
                return Self::of(Managed::OnEnqueue { pie, waiting, backlog });
            }
            AqmConfig::Codel { target, interval, ecn } => {
                DequeueAqm::Codel(Codel::new(CodelSettings { target, interval, ecn }))
            }
            AqmConfig::FqCodel { queues, quantum, target, interval, ecn } => {
                DequeueAqm::Flows(FlowQueues::new(FlowQueueSettings {
                    codel: CodelSettings { target, interval, ecn },
                    queues: queues.get(),
                    quantum_bytes: u32::try_from(quantum.0).unwrap_or(u32::MAX),
                    salt: random.next_u64(),
                }))
            }
            AqmConfig::DualPi2 { target, max_rtt, threshold } => {
                let settings = DualPi2Settings { target, max_rtt, threshold };
                DequeueAqm::Dual(Box::new(DualPi2::new(settings)))
            }
        };
        Self::of(Managed::OnDequeue { queue, limits })
    }

    /// Creates an empty queue that drops only packets that do not fit.
    pub(crate) fn drop_tail(packets: Option<u32>, bytes: Option<Bytes>) -> Self {
        let limits = Limits::new(packets, bytes);
        Self::of(Managed::OnDequeue { queue: DequeueAqm::None(Fifo::new()), limits })
    }

    /// Adds an ACK filter and ACK thinning; with PIE, the filter is ignored.
    pub(crate) fn with_fewer_acks(
        self,
        ack_filter: Option<AckFilter>,
        thinning: Option<NonZeroU32>,
    ) -> Self {
        Self { ack_filter, thinner: thinning.map(AckThinner::new), ..self }
    }

    fn of(queue: Managed<P>) -> Self {
        Self { queue, ack_filter: None, thinner: None }
    }

    /// Packets that wait.
    pub fn backlog(&self) -> Backlog {
        match &self.queue {
            Managed::OnEnqueue { backlog, .. } => *backlog,
            Managed::OnDequeue { queue, .. } => queue.backlog(),
        }
    }

    /// Queues a packet. Passes each dropped packet, which may be another one, to `gone` with the
    /// reason.
    pub fn push(
        &mut self,
        now: Time,
        mut packet: P,
        mut gone: impl FnMut(P, DropReason),
    ) -> Admission {
        let bytes = packet.wire_bytes();
        if self.thinner.as_mut().is_some_and(|acks| acks.drops(packet.ack())) {
            gone(packet, DropReason::AckFiltered);
            return Admission::Dropped;
        }
        if let Some(filter) = self.ack_filter
            && let Managed::OnDequeue { queue, .. } = &mut self.queue
            && let Some(older) = queue.take_superseded(filter, &packet)
        {
            gone(older.packet, DropReason::AckFiltered);
        }
        match &mut self.queue {
            Managed::OnEnqueue { pie, waiting, backlog } => {
                let is_ecn_capable = packet.ecn().is_capable();
                let arrival = Arrival { bytes, is_ecn_capable, idle_since: None };
                let verdict = pie.admit(now, *backlog, arrival);
                if let Verdict::Drop(reason) = verdict {
                    gone(packet, reason);
                    return Admission::Dropped;
                }
                let is_marked = verdict == Verdict::Mark;
                if is_marked {
                    packet.mark_ce();
                }
                pie.queued(now, Time::NEVER);
                backlog.add(bytes);
                waiting.push_back(Waiting { packet, bytes, arrived: now });
                if is_marked { Admission::Marked } else { Admission::Queued }
            }
            Managed::OnDequeue { queue: DequeueAqm::Codel(codel), limits } => {
                if !limits.have_room(codel.backlog(), bytes) {
                    gone(packet, DropReason::Overflow);
                    return Admission::Dropped;
                }
                codel.push(Waiting { packet, bytes, arrived: now });
                Admission::Queued
            }
            Managed::OnDequeue { queue: DequeueAqm::None(fifo), limits } => {
                if !limits.have_room(fifo.backlog(), bytes) {
                    gone(packet, DropReason::Overflow);
                    return Admission::Dropped;
                }
                fifo.push(Waiting { packet, bytes, arrived: now });
                Admission::Queued
            }
            Managed::OnDequeue { queue: DequeueAqm::Dual(dual), limits } => {
                if !limits.have_room(dual.backlog(), bytes) {
                    gone(packet, DropReason::Overflow);
                    return Admission::Dropped;
                }
                dual.push(Waiting { packet, bytes, arrived: now });
                Admission::Queued
            }
            Managed::OnDequeue { queue: DequeueAqm::Flows(flows), limits } => {
                flows.push(Waiting { packet, bytes, arrived: now });
                let mut admission = Admission::Queued;
                let mut shorten = |waiting: Waiting<P>, is_last| {
                    gone(waiting.packet, DropReason::Overflow);
                    if is_last {
                        admission = Admission::Dropped;
                    }
                };
                while !limits.hold(flows.backlog()) && flows.shorten_longest(&mut shorten) {}
                admission
            }
        }
    }

    /// Dequeues the next packet; passes packets that are dropped instead to `gone`.
    pub fn pop(&mut self, now: Time, mut gone: impl FnMut(P)) -> Option<Dequeued<P>> {
        let (Waiting { packet, arrived, .. }, is_marked) = match &mut self.queue {
            Managed::OnEnqueue { pie, waiting, backlog } => {
                let first = waiting.pop_front()?;
                backlog.remove(first.bytes);
                pie.leave(now);
                (first, false)
            }
            Managed::OnDequeue { queue, .. } => {
                queue.dequeue(now, |waiting| gone(waiting.packet))?
            }
        };
        Some(Dequeued { packet, arrived, is_marked })
    }
}
