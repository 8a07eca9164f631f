//! The part of a wire that decides when a packet's turn to be sent comes: CoDel's, with one queue or
//! many.

use cwndlab_units::Time;

use super::Wire;
use crate::event::{DropReason, LinkEventKind};
use crate::packet::{Admission, Packet};
use crate::queue::{LateQueue, Limits, Waiting};

/// A queue that decides when a packet's turn comes.
#[derive(Clone, Debug)]
pub(super) struct Late<P> {
    pub(super) queue: LateQueue<P>,
    pub(super) limits: Limits,
    /// When the next turn comes, if a packet waits for it.
    pub(super) next_turn: Time,
}

impl<P: Packet> Wire<P> {
    #[inline(never)]
    pub(super) fn handle_late(&mut self, now: Time, bytes: u32, packet: P) -> Admission {
        self.serve_late(now);
        self.ring.pass(now);
        let flow = packet.flow();
        let waiting = Waiting { packet, bytes, arrived: now };
        let mut late = self.late.take().expect("the wire decides late");
        let admission = match &mut late.queue {
            LateQueue::Codel(codel) => {
                let backlog = self.ring.backlog() + codel.backlog();
                if late.limits.have_room(backlog, bytes) {
                    codel.push(waiting);
                    Admission::Queued
                } else {
                    self.refuse(now, flow, bytes, DropReason::Overflow)
                }
            }
            LateQueue::Flows(flows) => {
                flows.push(waiting);
                let mut admission = Admission::Queued;
                while !late.limits.hold(self.ring.backlog() + flows.backlog())
                    && flows.shorten_longest(|gone, is_last| {
                        self.count_wait(now, gone.arrived);
                        self.refuse(now, gone.packet.flow(), gone.bytes, DropReason::Overflow);
                        if is_last {
                            admission = Admission::Dropped;
                        }
                    })
                {}
                admission
            }
        };
        if late.next_turn.is_never()
            && let Some((since, bytes)) = late.queue.next()
        {
            late.next_turn = self.server.turn(since, bytes);
        }
        self.late = Some(late);
        self.queue_max = self.queue_max.max(self.total_backlog().packets);
        self.serve_late(now);
        self.set_wake();
        admission
    }

    /// Serves what has its turn until `now`.
    pub(super) fn serve_late(&mut self, now: Time) {
        if self.late.as_ref().is_some_and(|late| late.next_turn <= now) {
            let late = self.late.take().expect("was some");
            self.serve_turns(now, late);
        }
    }

    #[inline(never)]
    fn serve_turns(&mut self, now: Time, mut late: Box<Late<P>>) {
        while late.next_turn <= now {
            let turn = late.next_turn;
            let sent = late.queue.dequeue(turn, |dropped| {
                self.count_wait(turn, dropped.arrived);
                self.refuse(turn, dropped.packet.flow(), dropped.bytes, DropReason::Aqm);
            });
            if let Some((head, is_marked)) = sent {
                if is_marked {
                    self.meter.mark(head.bytes);
                    let flow = head.packet.flow();
                    self.tell(turn, LinkEventKind::Marked { flow, bytes: head.bytes });
                }
                let served = self.server.serve_in_turn(turn, head.bytes);
                self.ring.pass(turn);
                self.send(turn, head.arrived, served, head.bytes, head.packet);
            }
            late.next_turn = match late.queue.next() {
                Some((since, bytes)) => self.server.turn(since, bytes),
                None => Time::NEVER,
            };
        }
        self.late = Some(late);
        self.set_wake();
    }
    /// Counts the time in the queue of a packet that leaves it otherwise than by being sent.
    fn count_wait(&mut self, now: Time, arrived: Time) {
        let waited = now.as_nanos() - arrived.as_nanos();
        self.meter.counts.queue_time = self.meter.counts.queue_time.wrapping_add(waited);
    }
}
