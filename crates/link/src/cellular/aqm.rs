//! A managed queue in front of a bearer's line: packets wait in it until a block has room.

use cwndlab_units::{Duration, Stream, Time};

use super::config::DirectionConfig;
use crate::packet::{Admission, Packet};
use crate::queue::{Dequeued, Discipline};
use crate::{Backlog, DropReason};

/// A managed queue with a processing delay before packets may be sent.
#[derive(Clone, Debug)]
pub(crate) struct Aqm<P> {
    discipline: Discipline<P>,
    processing: Duration,
    /// When the waiting packets are processed; never if none wait. Packets that join others count
    /// as processed with them.
    ready_at: Time,
}

impl<P: Packet> Aqm<P> {
    /// Creates a user's queue if it has an AQM or drops ACKs, else `None`; `name` names its stream.
    pub(crate) fn new(
        config: &DirectionConfig,
        processing: Duration,
        run_seed: u64,
        name: &str,
    ) -> Option<Self> {
        let random = Stream::new(run_seed, name);
        let (packets, bytes) = (config.queue_packets, config.queue_bytes);
        let (filter, thinning) = (config.ack_filter, config.ack_thinning);
        let discipline = match config.aqm {
            Some(aqm) => Discipline::new(aqm, packets, bytes, random),
            None if filter.is_none() && thinning.is_none() => return None,
            None => Discipline::drop_tail(packets, bytes),
        };
        let discipline = discipline.with_fewer_acks(filter, thinning);
        Some(Self { discipline, processing, ready_at: Time::NEVER })
    }

    pub(crate) fn backlog(&self) -> Backlog {
        self.discipline.backlog()
    }

    pub(crate) fn ready_at(&self) -> Time {
        self.ready_at
    }

    /// Queues a packet; dropped packets are passed to `gone` with the reason.
    pub(crate) fn push(
        &mut self,
        at: Time,
        packet: P,
        gone: impl FnMut(P, DropReason),
    ) -> Admission {
        self.ready_at = self.ready_at.min(at + self.processing);
        let admission = self.discipline.push(at, packet, gone);
        self.settle();
        admission
    }

    /// Dequeues a packet; dropped packets are passed to `gone`.
    pub(crate) fn pop(&mut self, now: Time, gone: impl FnMut(P)) -> Option<Dequeued<P>> {
        if self.ready_at > now {
            return None;
        }
        let next = self.discipline.pop(now, gone);
        self.settle();
        next
    }

    fn settle(&mut self) {
        if self.backlog().packets == 0 {
            self.ready_at = Time::NEVER;
        }
    }
}
