//! Entry and exit of a cell's packets: this work is done for every packet and must be fast.

use cwndlab_units::{Output, Time};

use super::Cell;
use super::air::Air;
use super::coming::Run;
use crate::event::{DropReason, LinkEvent};
use crate::packet::{Admission, Packet};
use crate::{Direction, Probability};

impl<P: Packet> Cell<P> {
    /// Accepts packets to or from the user at `port`, in order.
    #[inline]
    pub fn handle_packets(
        &mut self,
        now: Time,
        direction: Direction,
        port: u16,
        packets: impl Iterator<Item = P>,
    ) {
        self.work_before(now);
        match direction {
            Direction::Forward if self.policers.is_empty() => {
                self.enter_core(now, port, packets);
            }
            Direction::Forward => packets.for_each(|packet| _ = self.handle_down(now, packet)),
            Direction::Reverse => packets.for_each(|packet| _ = self.handle_up(now, port, packet)),
        }
    }

    /// Performs the actions that are due before a packet can enter at `now`.
    #[inline]
    pub(super) fn work_before(&mut self, now: Time) {
        if self.due <= now {
            self.work_until(now);
            self.set_wake();
        }
    }

    /// Accepts a packet from the network.
    pub(super) fn handle_down(&mut self, now: Time, packet: P) -> Admission {
        let (port, bytes) = (packet.user(), packet.wire_bytes());
        let user = usize::from(port) - 1;
        if let Some(policer) = self.policers.get_mut(user)
            && !policer.passes(now, bytes)
        {
            return self.drop_policed(now, user, &packet);
        }
        self.enter_core(now, port, core::iter::once(packet));
        Admission::Queued
    }

    /// Passes packets for the user at a port to the core network; packets that are sent together
    /// arrive together.
    #[inline]
    fn enter_core(&mut self, now: Time, port: u16, packets: impl Iterator<Item = P>) {
        let (user, at) = (port - 1, self.core.leave(now));
        let size = self.coming.push(at, user, packets);
        self.down.users[usize::from(user)].bearer.meter.arrive_together(size);
        if self.down.expect(at) {
            self.set_wake();
        }
    }

    /// Accepts a packet from the user at a port.
    #[inline(never)]
    pub(super) fn handle_up(&mut self, now: Time, port: u16, packet: P) -> Admission {
        let user = usize::from(port) - 1;
        self.up.users[user].bearer.meter.arrive(packet.wire_bytes());
        if self.coming.first_at() <= now {
            self.admit_until(now);
            self.set_wake();
        }
        let before = (self.up.next_at(), self.up.outbox.event_at());
        let admission = self.admit(now, user, Direction::Reverse, packet);
        let is_new = before != (self.up.next_at(), self.up.outbox.event_at());
        if is_new || self.may_sleep {
            self.set_wake();
        }
        admission
    }

    /// Drops a packet that exceeds the rate of its user's policer.
    #[cold]
    fn drop_policed(&mut self, now: Time, user: usize, packet: &P) -> Admission {
        let Air { outbox, users, .. } = &mut self.down;
        users[user].bearer.meter.arrive(packet.wire_bytes());
        outbox.set_user(user, 2 * user as u16);
        users[user].bearer.drop_packet(now, packet, DropReason::Policed, outbox);
        self.set_wake();
        Admission::Dropped
    }

    /// Queues the packets that have crossed the core network by `now`.
    #[inline(never)]
    pub(super) fn admit_until(&mut self, now: Time) {
        while let Some(Run { at, user, size }) = self.coming.pop_run(now) {
            let user = usize::from(user);
            let is_plain = !self.may_sleep && self.losses[0] == Probability::ZERO;
            if is_plain && self.down.has_room(user, size) {
                let packets = self.coming.take_packets(size.packets);
                self.down.handle_packets(at, user, size, packets);
                continue;
            }
            for _ in 0..size.packets {
                let packet =
                    self.coming.pop_packet().expect("the number of packets in a run fits the type");
                self.admit(at, user, Direction::Forward, packet);
            }
        }
        self.expect_next();
    }

    /// Puts a packet into its user's queue.
    #[inline(always)]
    fn admit(&mut self, at: Time, user: usize, direction: Direction, packet: P) -> Admission {
        if self.may_sleep {
            self.wake_user(at, user, direction);
        }
        let side = direction as usize;
        let stage = (2 * user + side) as u16;
        let chance = self.losses[side];
        let is_lost = chance > Probability::ZERO && chance.draw(&mut self.loss_draws[user][side]);
        let air = match direction {
            Direction::Forward => &mut self.down,
            Direction::Reverse => &mut self.up,
        };
        if is_lost {
            air.drop_packet(at, (user, stage), &packet, DropReason::Loss);
            return Admission::Dropped;
        }
        air.handle_packet(at, (user, stage), packet)
    }

    /// Whether a packet is ready to leave at `now` and no other action is due.
    #[inline]
    pub fn has_packet(&self, now: Time) -> bool {
        self.wake <= now && self.wake < self.rest_at
    }

    /// Moves the first packet that is ready to leave to `place`, without a further copy. Returns
    /// the departure time and the port at which the packet leaves.
    #[inline(never)]
    pub fn move_packet(&mut self, place: &mut Option<P>) -> (Time, u16) {
        let is_down = self.down.outbox.packet_at() <= self.up.outbox.packet_at();
        let air = if is_down { &mut self.down } else { &mut self.up };
        let (at, user) = air.move_packet(place);
        // Usually the next packet is from the same block.
        if air.outbox.packet_at() > at {
            self.wake = self.rest_at.min(self.packet_at());
        }
        (at, if is_down { user + 1 } else { 0 })
    }

    /// Does the work of [`Link::poll`](crate::Link::poll) when a packet is ready to leave.
    pub(super) fn pop_packet(&mut self) -> Option<Output<P, LinkEvent>> {
        let mut place = None;
        let (at, port) = self.move_packet(&mut place);
        place.map(|packet| Output::Packet { at, port, packet })
    }
}
