//! Active management of a user's queue: the disciplines of wires where a radio empties the queue.
//!
//! PIE decides when a packet comes. CoDel and FQ-CoDel decide when a block has room for a packet:
//! until then packets wait here, in front of the line whose bytes blocks carry.

use cwndlab_units::{Duration, Stream, Time};

use super::config::{BearerAqm, DirectionConfig};
use crate::config::PieConfig;
use crate::packet::Packet;
use crate::queue::{
    Codel, CodelSettings, FlowQueueSettings, FlowQueues, LateQueue, Limits, Pie, Waiting,
};

/// The management of a queue.
#[derive(Clone, Debug)]
pub(crate) enum Aqm<P> {
    Pie(Pie),
    Late(Room<P>),
}

/// Packets that wait until a block has room for them.
#[derive(Clone, Debug)]
pub(crate) struct Room<P> {
    pub(crate) queue: LateQueue<P>,
    pub(crate) limits: Limits,
    /// From when on what waits has been processed; never if nothing waits. What comes behind others
    /// is taken to be processed with them.
    pub(crate) ready_at: Time,
}

impl<P: Packet> Aqm<P> {
    /// The management of a direction's queues, if they have one. `name` names its streams.
    pub(crate) fn new(config: &DirectionConfig, run_seed: u64, name: &str) -> Option<Self> {
        let limits = Limits::new(config.queue_packets, config.queue_bytes);
        let codel = |target, interval, ecn| CodelSettings { target, interval, ecn };
        let queue = match config.aqm? {
            BearerAqm::Pie { target, burst, ecn } => {
                let (packets, bytes) = (config.queue_packets, config.queue_bytes);
                let pie = PieConfig { target, burst, ecn, packets, bytes };
                return Some(Self::Pie(Pie::new(&pie, Stream::new(run_seed, name))));
            }
            BearerAqm::Codel { target, interval, ecn } => {
                LateQueue::Codel(Codel::new(codel(target, interval, ecn)))
            }
            BearerAqm::FqCodel { queues, quantum, target, interval, ecn } => {
                LateQueue::Flows(FlowQueues::new(FlowQueueSettings {
                    codel: codel(target, interval, ecn),
                    queues: queues.get(),
                    quantum_bytes: u32::try_from(quantum.0).unwrap_or(u32::MAX),
                    salt: Stream::new(run_seed, name).next_u64(),
                }))
            }
        };
        Some(Self::Late(Room { queue, limits, ready_at: Time::NEVER }))
    }
}

impl<P: Packet> Room<P> {
    /// Takes a packet in, unless a queue of all flows is full; what is dropped goes to `gone`, with
    /// whether it was this packet.
    pub(crate) fn push(
        &mut self,
        waiting: Waiting<P>,
        processing: Duration,
        mut gone: impl FnMut(Waiting<P>, bool),
    ) {
        if self.queue.backlog().packets == 0 {
            self.ready_at = waiting.arrived + processing;
        }
        match &mut self.queue {
            LateQueue::Codel(codel) => {
                if self.limits.have_room(codel.backlog(), waiting.bytes) {
                    codel.push(waiting);
                } else {
                    gone(waiting, true);
                }
            }
            LateQueue::Flows(flows) => {
                flows.push(waiting);
                while !self.limits.hold(flows.backlog()) && flows.shorten_longest(&mut gone) {}
            }
        }
        self.settle();
    }

    /// The packet whose turn it is and whether it was marked; what is dropped goes to `dropped`.
    pub(crate) fn pop(
        &mut self,
        now: Time,
        dropped: impl FnMut(Waiting<P>),
    ) -> Option<(Waiting<P>, bool)> {
        if self.ready_at > now {
            return None;
        }
        let next = self.queue.dequeue(now, dropped);
        self.settle();
        next
    }

    fn settle(&mut self) {
        if self.queue.backlog().packets == 0 {
            self.ready_at = Time::NEVER;
        }
    }
}
