//! Queues of a wire that decide on dequeue: CoDel, FQ-CoDel, DualPI2, and ACK filters.

use cwndlab_units::Time;

use super::Wire;
use super::on_dequeue::OnDequeue;
use crate::event::{DropReason, LinkEventKind};
use crate::packet::{Admission, Packet};
use crate::queue::{DequeueAqm, Waiting};

impl<P: Packet> Wire<P> {
    #[inline(never)]
    pub(super) fn enqueue_for_aqm(&mut self, now: Time, bytes: u32, packet: P) -> Admission {
        self.dequeue_until(now);
        self.ring.pass(now);
        let flow = packet.flow();
        let waiting = Waiting { packet, bytes, arrived: now };
        let mut aqm = self.on_dequeue.take().expect("the wire decides on dequeue");
        self.filter_acks(now, &mut aqm, &waiting.packet);
        let admission = match &mut aqm.queue {
            DequeueAqm::None(fifo) => {
                let backlog = self.ring.backlog() + fifo.backlog();
                if aqm.limits.have_room(backlog, bytes) {
                    fifo.push(waiting);
                    Admission::Queued
                } else {
                    self.drop_packet(now, flow, bytes, DropReason::Overflow)
                }
            }
            DequeueAqm::Codel(codel) => {
                let backlog = self.ring.backlog() + codel.backlog();
                if aqm.limits.have_room(backlog, bytes) {
                    codel.push(waiting);
                    Admission::Queued
                } else {
                    self.drop_packet(now, flow, bytes, DropReason::Overflow)
                }
            }
            DequeueAqm::Dual(dual) => {
                let backlog = self.ring.backlog() + dual.backlog();
                if aqm.limits.have_room(backlog, bytes) {
                    dual.push(waiting);
                    Admission::Queued
                } else {
                    self.drop_packet(now, flow, bytes, DropReason::Overflow)
                }
            }
            DequeueAqm::Flows(flows) => {
                flows.push(waiting);
                let mut admission = Admission::Queued;
                while !aqm.limits.hold(self.ring.backlog() + flows.backlog())
                    && flows.shorten_longest(|gone, is_last| {
                        self.count_wait(now, gone.arrived);
                        self.drop_packet(now, gone.packet.flow(), gone.bytes, DropReason::Overflow);
                        if is_last {
                            admission = Admission::Dropped;
                        }
                    })
                {}
                admission
            }
        };
        if aqm.next_dequeue.is_never()
            && let Some((since, bytes)) = aqm.queue.next()
        {
            aqm.next_dequeue = self.server.dequeue_at(since, bytes);
        }
        self.on_dequeue = Some(aqm);
        let backlog = self.total_backlog();
        if backlog.packets > self.longest.packets() {
            self.longest.set(backlog.packets);
        }
        self.dequeue_until(now);
        self.set_wake();
        admission
    }

    /// Dequeues the packets that are due by `now`.
    pub(super) fn dequeue_until(&mut self, now: Time) {
        if self.on_dequeue.as_ref().is_some_and(|aqm| aqm.next_dequeue <= now) {
            let aqm = self.on_dequeue.take().expect("was some");
            self.dequeue_due(now, aqm);
        }
    }

    #[inline(never)]
    fn dequeue_due(&mut self, now: Time, mut aqm: Box<OnDequeue<P>>) {
        while aqm.next_dequeue <= now {
            let at = aqm.next_dequeue;
            let sent = aqm.queue.dequeue(at, |dropped| {
                self.count_wait(at, dropped.arrived);
                self.drop_packet(at, dropped.packet.flow(), dropped.bytes, DropReason::Aqm);
            });
            if let Some((head, is_marked)) = sent {
                if is_marked {
                    self.meter.mark(head.bytes);
                    let flow = head.packet.flow();
                    self.emit(at, LinkEventKind::Marked { flow, bytes: head.bytes });
                }
                let served = self.server.serve_dequeued(at, head.bytes);
                self.ring.pass(at);
                self.send(at, head.arrived, served, head.bytes, head.packet);
            }
            aqm.next_dequeue = match aqm.queue.next() {
                Some((since, bytes)) => self.server.dequeue_at(since, bytes),
                None => Time::NEVER,
            };
        }
        self.on_dequeue = Some(aqm);
        self.set_wake();
    }

    /// Drops the queued ACK that `packet` supersedes, if the wire has an ACK filter.
    fn filter_acks(&mut self, now: Time, aqm: &mut OnDequeue<P>, packet: &P) {
        let Some(filter) = aqm.ack_filter else { return };
        if let Some(gone) = aqm.queue.take_superseded(filter, packet) {
            self.count_wait(now, gone.arrived);
            self.drop_packet(now, gone.packet.flow(), gone.bytes, DropReason::AckFiltered);
            // The dropped ACK may have been the next packet, with another length.
            aqm.next_dequeue = Time::NEVER;
        }
    }

    /// Counts the time that a packet waited before it was dropped from the queue.
    fn count_wait(&mut self, now: Time, arrived: Time) {
        let waited = now.as_nanos() - arrived.as_nanos();
        self.meter.counts.queue_time = self.meter.counts.queue_time.wrapping_add(waited);
    }
}
