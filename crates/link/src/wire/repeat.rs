//! The fast path of a wire, for a drop-tail queue with room, and constant rate and delay.
//!
//! The wire stores the times that it computed for the last packet. If the next packet has the same
//! length, and neither rate nor delay changes before its service, the same times apply.

use cwndlab_units::{Duration, Time};

use super::Wire;
use super::steady::Steady;
use crate::packet::{Packet, Train};
use crate::queue::Queue;
use crate::rate::Server;

impl<P: Packet> Wire<P> {
    /// Queues packets of the same length while each can be handled in the same way as the last
    /// packet.
    ///
    /// Returns the number of packets queued; the caller passes the remaining packets to
    /// [`Link::handle_packet`].
    ///
    /// [`Link::handle_packet`]: crate::Link::handle_packet
    #[inline(always)]
    pub fn take_like_the_last(
        &mut self,
        now: Time,
        wire_bytes: u32,
        count: u32,
        train: &impl Train<P>,
    ) -> u32 {
        let bytes = wire_bytes + self.framing_bytes;
        let mut taken = 0;
        if bytes == self.steady.bytes {
            while taken < count && self.take_one(now, bytes, taken, train) {
                taken += 1;
            }
        }
        taken
    }

    /// Queues the packet of a train with a given index, if the packet has the length of the last
    /// packet and can be handled in the same way.
    #[inline(always)]
    fn take_one(&mut self, now: Time, bytes: u32, index: u32, train: &impl Train<P>) -> bool {
        let Server::Fixed(server) = &mut self.server else { return false };
        let begins = server.free_at.max(now);
        if begins >= self.steady.until {
            return false;
        }
        // If the queue was longer before, there is room for another packet.
        let is_longest = !self.longest.is_longer_than_queue(begins, now)
            && self.longest.look_at(&self.ring, &self.steady, now);
        if is_longest {
            self.ring.pass(now);
            if self.ring.backlog_packets() >= self.steady.room_packets {
                return false;
            }
        }
        let served = Time::from_nanos(begins.as_nanos() + self.steady.service.as_nanos());
        let arrival = Time::from_nanos(served.as_nanos() + self.steady.delay.as_nanos());
        server.free_at = served;
        self.delay.note_arrival(arrival);
        let queue_time = served.as_nanos().wrapping_sub(now.as_nanos());
        let counts = &mut self.meter.counts;
        counts.queue_time = counts.queue_time.wrapping_add(queue_time);
        train.put(index, &mut self.ring.push_slot(arrival, served, bytes).packet);
        if served <= now {
            self.ring.pass_all();
        } else if is_longest {
            self.longest.set(self.longest.packets().max(self.ring.backlog_packets()));
        }
        self.wake = self.wake.min(arrival);
        true
    }

    /// Queues the first packet of a train if the packet is only delayed, and the last packet was
    /// only delayed, too. If service takes no time, no packet waits, and shorter packets take no
    /// time either.
    #[inline(always)]
    pub fn take_at_once(&mut self, now: Time, wire_bytes: u32, train: &impl Train<P>) -> bool {
        let bytes = wire_bytes + self.framing_bytes;
        let Server::Fixed(server) = &mut self.server else { return false };
        let meets_the_same = bytes <= self.steady.at_once_bytes && now < self.steady.until;
        if !meets_the_same || server.free_at > now {
            return false;
        }
        let arrival = Time::from_nanos(now.as_nanos() + self.steady.delay.as_nanos());
        server.free_at = now;
        self.delay.note_arrival(arrival);
        train.put(0, &mut self.ring.push_slot(arrival, now, bytes).packet);
        self.ring.pass_all();
        self.wake = self.wake.min(arrival);
        true
    }

    /// Whether a packet arrives at `now` and no other action is due.
    #[inline(always)]
    pub fn has_arrived(&self, now: Time) -> bool {
        self.wake <= now && now < self.other_at
    }

    /// Moves the packet that has arrived to `place`, without a further copy.
    #[inline(always)]
    pub fn move_arrived(&mut self, place: &mut Option<P>) {
        let next = self.ring.pop_into(place);
        self.wake = next.min(self.other_at);
    }

    /// Stores how a packet of this length, whose service begins and ends at these times, was
    /// handled, if this can apply to the next packet: the queue is limited only in packets, rate
    /// and delay are constant, and the packet did not have to wait for an earlier packet's
    /// arrival.
    #[inline]
    pub(super) fn remember(&mut self, bytes: u32, begins: Time, served: Time) {
        let packets = self.ring.pushed().packets;
        self.steady.packets_before = packets;
        let (Server::Fixed(server), Queue::DropTail(limits)) = (&self.server, &self.queue) else {
            return;
        };
        self.longest.note_service(served - begins);
        let (Some(room_packets), Some((delay, delay_until))) =
            (limits.packets_alone(), self.delay.fixed_after(served))
        else {
            return;
        };
        let (service, rate_until) = server.capacity.steady_time(bytes);
        let until = rate_until.min(delay_until).min(Time::NEVER - delay) - service;
        let is_at_once = service == Duration::ZERO && room_packets > 0;
        let at_once_bytes = if is_at_once { bytes } else { 0 };
        self.longest.note_service(service);
        let packets_before = packets - 1;
        self.steady =
            Steady { bytes, service, at_once_bytes, delay, until, room_packets, packets_before };
    }
}
