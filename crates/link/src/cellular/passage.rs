//! How packets enter a cell and leave it: what is done for each of them, and so must be cheap.

use cwndlab_units::{Output, Time};

use super::Cell;
use super::air::Air;
use super::coming::Run;
use crate::event::{DropReason, LinkEvent};
use crate::packet::{Admission, Packet};
use crate::{Direction, Probability};

impl<P: Packet> Cell<P> {
    /// Takes packets that enter at `port` one behind the other.
    #[inline]
    pub fn handle_packets(&mut self, now: Time, port: u16, packets: impl Iterator<Item = P>) {
        self.work_before(now);
        if port == 0 {
            packets.for_each(|packet| _ = self.handle_down(now, packet));
        } else {
            packets.for_each(|packet| _ = self.handle_up(now, port, packet));
        }
    }

    /// Does what is due before a packet may enter at `now`.
    #[inline]
    pub(super) fn work_before(&mut self, now: Time) {
        if self.due <= now {
            self.work_until(now);
            self.set_wake();
        }
    }

    /// A packet comes from the network.
    #[inline(always)]
    pub(super) fn handle_down(&mut self, now: Time, packet: P) -> Admission {
        let bytes = packet.wire_bytes();
        let user = packet.user() - 1;
        self.down.users[usize::from(user)].bearer.meter.arrive(bytes);
        if let Some(policer) = self.policers.get_mut(usize::from(user))
            && !policer.passes(now, bytes)
        {
            return self.drop_policed(now, usize::from(user), &packet);
        }
        let at = self.core.leave(now);
        self.coming.push(at, user, packet);
        if self.down.expect(at) {
            self.set_wake();
        }
        Admission::Queued
    }

    /// A packet comes from the user at a port.
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
        if is_new || self.mobility[user].may_sleep() {
            self.set_wake();
        }
        admission
    }

    /// A packet comes faster than its user's policer allows.
    #[cold]
    fn drop_policed(&mut self, now: Time, user: usize, packet: &P) -> Admission {
        let Air { outbox, users, .. } = &mut self.down;
        outbox.set_user(user, 2 * user as u16);
        users[user].bearer.drop_packet(now, packet, DropReason::Policed, outbox);
        self.set_wake();
        Admission::Dropped
    }

    /// Puts into the users' queues what has come through the core until `now`.
    #[inline(never)]
    pub(super) fn admit_until(&mut self, now: Time) {
        while let Some(Run { at, user, packets }) = self.coming.pop_run(now) {
            let user = usize::from(user);
            if self.mobility[user].may_sleep() || self.losses[0] > Probability::ZERO {
                for _ in 0..packets {
                    let packet = self.coming.take_packets(1).next();
                    let packet = packet.expect("a run has so many packets");
                    self.admit(at, user, Direction::Forward, packet);
                }
            } else {
                let packets = self.coming.take_packets(packets);
                self.down.handle_packets(at, (user, 2 * user as u16), packets);
            }
        }
        self.expect_next();
    }

    /// Puts a packet into its user's queue.
    #[inline(always)]
    fn admit(&mut self, at: Time, user: usize, direction: Direction, packet: P) -> Admission {
        if self.mobility[user].may_sleep() {
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

    /// Whether a packet is out at `now` and nothing else is due.
    #[inline]
    pub fn has_packet(&self, now: Time) -> bool {
        self.wake <= now && self.wake < self.rest_at
    }

    /// Moves the first packet that is out to `place`, which costs no copy but that. Returns its time
    /// and the port at which it leaves.
    #[inline(never)]
    pub fn move_packet(&mut self, place: &mut Option<P>) -> (Time, u16) {
        let is_down = self.down.outbox.packet_at() <= self.up.outbox.packet_at();
        let air = if is_down { &mut self.down } else { &mut self.up };
        let (at, user) = air.move_packet(place);
        self.wake = self.rest_at.min(self.packet_at());
        (at, if is_down { user + 1 } else { 0 })
    }

    /// The same as what [`Link::poll`](crate::Link::poll) gives.
    pub(super) fn pop_packet(&mut self) -> Option<Output<P, LinkEvent>> {
        let mut place = None;
        let (at, port) = self.move_packet(&mut place);
        place.map(|packet| Output::Packet { at, port, packet })
    }
}
