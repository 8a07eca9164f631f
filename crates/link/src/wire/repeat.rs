//! What nearly every packet meets: room in a drop-tail queue, and a rate and a delay that hold.
//!
//! The wire remembers what it worked out for the last packet. The next one that is as long and is
//! served while neither rate nor delay changes takes as long again, and nothing else is asked.

use cwndlab_units::{Duration, Time};

use super::Wire;
use super::steady::Steady;
use crate::packet::Packet;
use crate::queue::Queue;
use crate::rate::Server;

impl<P: Packet> Wire<P> {
    /// Takes packets of one length, as far as each meets what the last one met. Returns how many; what
    /// is left goes the way of all others, [`Link::handle_packet`]. `put` puts the packet of an index
    /// where it is kept.
    ///
    /// [`Link::handle_packet`]: crate::Link::handle_packet
    #[inline(always)]
    pub fn take_like_the_last(
        &mut self,
        now: Time,
        wire_bytes: u32,
        count: u32,
        put: impl Fn(&mut Option<P>, u32),
    ) -> u32 {
        let bytes = wire_bytes + self.framing_bytes;
        let mut taken = 0;
        if bytes == self.steady.bytes {
            while taken < count && self.take_one(now, bytes, |place| put(place, taken)) {
                taken += 1;
            }
        }
        taken
    }

    /// Takes a packet of the length of the last one, if it meets the same.
    #[inline(always)]
    fn take_one(&mut self, now: Time, bytes: u32, put: impl FnOnce(&mut Option<P>)) -> bool {
        let Server::Fixed(server) = &mut self.server else { return false };
        let begins = server.free_at.max(now);
        if begins >= self.steady.until {
            return false;
        }
        // Where the queue was longer before, there is room for another packet.
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
        self.ring.push_with(arrival, served, bytes, put);
        if served <= now {
            self.ring.pass_all();
        } else if is_longest {
            self.longest.set(self.longest.packets().max(self.ring.backlog_packets()));
        }
        self.wake = self.wake.min(arrival);
        true
    }

    /// Takes a packet that meets the same as the last one, if what that met was a delay alone: where
    /// service takes no time, nobody waits, and what is shorter takes no time either. `put` puts the
    /// packet where it is kept.
    #[inline(always)]
    pub fn take_at_once(
        &mut self,
        now: Time,
        wire_bytes: u32,
        put: impl FnOnce(&mut Option<P>),
    ) -> bool {
        let bytes = wire_bytes + self.framing_bytes;
        let Server::Fixed(server) = &mut self.server else { return false };
        let meets_the_same = bytes <= self.steady.at_once_bytes && now < self.steady.until;
        if !meets_the_same || server.free_at > now {
            return false;
        }
        let arrival = Time::from_nanos(now.as_nanos() + self.steady.delay.as_nanos());
        server.free_at = now;
        self.delay.note_arrival(arrival);
        self.ring.push_with(arrival, now, bytes, put);
        self.ring.pass_all();
        self.wake = self.wake.min(arrival);
        true
    }

    /// Whether a packet arrives at `now` and nothing else is due.
    #[inline(always)]
    pub fn has_arrived(&self, now: Time) -> bool {
        self.wake <= now && now < self.other_at
    }

    /// Moves the packet that has arrived to `place`, which costs no copy but that.
    #[inline(always)]
    pub fn move_arrived(&mut self, place: &mut Option<P>) {
        let next = self.ring.pop_with(|packet| *place = packet.take());
        self.wake = next.min(self.other_at);
    }

    /// Remembers what a packet of so many bytes has met whose service begins and ends at these times, if
    /// the next one may meet the same: a queue that is limited in packets alone, a rate and a delay that
    /// hold, and nothing that arrives later than itself.
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
