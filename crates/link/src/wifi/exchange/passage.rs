//! Entry and exit of a channel's packets: this work is done for every packet and must be fast.

use cwndlab_units::{Output, Time};

use super::Exchange;
use crate::packet::Alike;
use crate::queue::Waiting;
use crate::wifi::outbox::Passed;
use crate::{Admission, Backlog, DropReason, LinkEvent, LinkEventKind, Packet};

impl<P: Packet> Exchange<P> {
    /// Queues packets that enter a lane together, each stored by `put`, if no decision on single
    /// packets is needed: the node's queue has no active management, is not empty, and has room.
    /// Returns whether the packets were queued.
    #[inline(always)]
    pub(in crate::wifi) fn enqueue_together(
        &mut self,
        now: Time,
        lane: usize,
        alike: Alike,
        put: impl FnMut(&mut Option<P>),
    ) -> bool {
        let Alike { wire_bytes, count: packets, .. } = alike;
        let hop = &mut self.lanes[lane];
        let node = &mut self.nodes[hop.from];
        let is_managed = hop.from == 0 && self.downlink.is_some();
        let queued = node.queued + packets;
        if is_managed || node.inside == 0 || queued > self.rules.queue_packets {
            return false;
        }
        node.queued = queued;
        node.inside += packets;
        let bytes = wire_bytes + self.rules.header_bytes;
        let entering = Backlog { packets, bytes: u64::from(packets) * u64::from(bytes) };
        hop.meter.arrive_together(entering);
        hop.queue.enter_together(now, entering);
        hop.lane.push_together(now, bytes, packets, put);
        true
    }

    /// Queues a packet unless the queue is full; also returns the node if it had no data before.
    #[inline]
    pub(in crate::wifi) fn enqueue(
        &mut self,
        now: Time,
        lane: usize,
        packet: P,
    ) -> (Admission, Option<usize>) {
        let bytes = packet.wire_bytes() + self.rules.header_bytes;
        let hop = &mut self.lanes[lane];
        hop.meter.arrive(bytes);
        if hop.from == 0 && self.downlink.is_some() {
            let waiting = Waiting { packet, bytes, arrived: now };
            return self.enqueue_at_access_point(now, lane, waiting);
        }
        let from = hop.from;
        let node = &mut self.nodes[from];
        if node.queued >= self.rules.queue_packets {
            self.overflow(now, lane, &packet, bytes);
            return (Admission::Dropped, None);
        }
        node.queued += 1;
        node.inside += 1;
        let begins = (node.inside == 1).then_some(from);
        hop.queue.enter(now, bytes);
        hop.lane.push(now, bytes, packet);
        (Admission::Queued, begins)
    }

    /// Drops a packet for which there is no room.
    #[inline(never)]
    fn overflow(&mut self, now: Time, lane: usize, packet: &P, bytes: u32) {
        let reason = DropReason::Overflow;
        self.lanes[lane].meter.drop(bytes, reason);
        self.emit_drop(now, lane, packet, (bytes, reason));
    }

    /// The lane for packets that enter at a port and belong to a user.
    #[inline]
    pub(in crate::wifi) fn lane_of(&self, port: u16, user: u16) -> usize {
        let (user, up) = if port == 0 { (user, 0) } else { (port, 1) };
        let lane = 2 * usize::from(user) + up;
        assert!((2..self.lanes.len() + 2).contains(&lane), "there is no station {user}");
        lane - 2
    }

    pub(super) fn emit_drop(&mut self, at: Time, lane: usize, packet: &P, drop: (u32, DropReason)) {
        let (bytes, reason) = drop;
        let kind = LinkEventKind::Dropped { flow: packet.flow(), bytes, reason };
        self.outbox.tell(at, LinkEvent { stage: lane as u16, kind });
    }

    /// The receiver's port, and the number of packets at the front that were delivered together.
    #[inline]
    pub(in crate::wifi) fn first_train(&self) -> Option<(u16, u32)> {
        let Passed { lane, packets } = self.outbox.first_train()?;
        Some((self.lanes[lane].to as u16, packets))
    }

    /// Moves the first packet to `place`; returns its time and the port of its receiver.
    #[inline]
    pub(in crate::wifi) fn move_packet(&mut self, place: &mut Option<P>) -> (Time, u16) {
        let (at, lane) = self.outbox.take_packet();
        let hop = &mut self.lanes[lane];
        hop.lane.move_packet(place);
        (at, hop.to as u16)
    }

    /// Removes the first packet or event if its time is not after `now`.
    pub(in crate::wifi) fn pop_output(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        if let Some((at, event)) = self.outbox.pop_event(now) {
            return Some(Output::Event { at, event });
        }
        if !self.outbox.has_packet() {
            return None;
        }
        let mut place = None;
        let (at, port) = self.move_packet(&mut place);
        place.map(|packet| Output::Packet { at, port, packet })
    }
}
