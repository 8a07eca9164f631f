//! The part of a wire that decides when a packet's turn to be sent comes: CoDel's.

use cwndlab_units::Time;

use super::Wire;
use crate::event::{DropReason, LinkEventKind};
use crate::packet::{Admission, Packet};
use crate::queue::{Codel, Waiting};

/// A queue that decides when a packet's turn comes.
#[derive(Clone, Debug)]
pub(super) struct Late<P> {
    pub(super) queue: Codel<P>,
    /// When the turn of the first packet comes, if there is one.
    pub(super) next_turn: Time,
}

impl<P: Packet> Wire<P> {
    #[inline(never)]
    pub(super) fn handle_late(&mut self, now: Time, bytes: u32, packet: P) -> Admission {
        self.serve_late(now);
        self.ring.pass(now);
        let backlog = self.total_backlog();
        let flow = packet.flow();
        let late = self.codel.as_mut().expect("the wire has CoDel");
        if !late.queue.limits.have_room(backlog, bytes) {
            return self.refuse(now, flow, bytes, DropReason::Overflow);
        }
        late.queue.push(Waiting { packet, bytes, arrived: now });
        self.counts.queue_max = self.counts.queue_max.max(backlog.packets + 1);
        if late.next_turn.is_never() {
            late.next_turn = self.server.turn(now, bytes);
            self.serve_late(now);
            self.set_wake();
        }
        Admission::Queued
    }

    /// Serves what has its turn until `now`.
    pub(super) fn serve_late(&mut self, now: Time) {
        if self.codel.as_ref().is_some_and(|late| late.next_turn <= now) {
            let late = self.codel.take().expect("was some");
            self.serve_turns(now, late);
        }
    }

    #[inline(never)]
    fn serve_turns(&mut self, now: Time, mut late: Box<Late<P>>) {
        while late.next_turn <= now {
            let turn = late.next_turn;
            let sent = late.queue.dequeue(turn, |dropped| {
                let waited = turn.as_nanos() - dropped.arrived.as_nanos();
                self.counts.queue_time = self.counts.queue_time.wrapping_add(waited);
                self.refuse(turn, dropped.packet.flow(), dropped.bytes, DropReason::Aqm);
            });
            if let Some((head, is_marked)) = sent {
                if is_marked {
                    self.counts.marked.add(head.bytes);
                    let flow = head.packet.flow();
                    self.tell(turn, LinkEventKind::Marked { flow, bytes: head.bytes });
                }
                let served = self.server.serve_in_turn(turn, head.bytes);
                self.ring.pass(turn);
                self.send(turn, head.arrived, served, head.bytes, head.packet);
            }
            late.next_turn = match late.queue.front() {
                Some(head) => self.server.turn(head.arrived, head.bytes),
                None => Time::NEVER,
            };
        }
        self.codel = Some(late);
        self.set_wake();
    }
}
