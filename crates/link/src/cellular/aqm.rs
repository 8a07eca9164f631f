//! A queue with active queue management in front of a user's data line: packets wait in it until a
//! block has room.

use cwndlab_units::{Duration, Stream, Time};

use super::config::DirectionConfig;
use crate::packet::{Admission, Packet};
use crate::queue::{Dequeued, Discipline};
use crate::{Backlog, DropReason};

/// A queue with active queue management, with a processing delay before packets may be sent.
#[derive(Clone, Debug)]
pub(crate) struct Aqm<P> {
    discipline: Discipline<P>,
    processing: Duration,
    /// Time from which the waiting packets may be sent; never if no packets wait. A packet that
    /// joins waiting packets becomes ready together with them.
    ready_at: Time,
}

impl<P: Packet> Aqm<P> {
    /// Creates a user's queue if it has active queue management or drops ACKs; otherwise returns
    /// `None`. `name` is the name of its random stream.
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

    /// Queues a packet; passes dropped packets and the reason to `gone`.
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

    /// Dequeues a packet; passes dropped packets to `gone`.
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
