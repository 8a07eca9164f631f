//! A ring buffer with all packets on a wire, from the queue to the far end.
//!
//! ```text
//!    head                cursor                       tail
//!     | under way, served  |  in service or waiting    |
//! ```

use cwndlab_units::Time;

use crate::{Backlog, Tally};

/// Packets on a wire, in the order of their arrival at the far end.
#[derive(Clone, Debug)]
pub(crate) struct Ring<P> {
    /// Slots of the ring buffer; their number is a power of two.
    slots: Vec<Slot<P>>,
    /// Running number of the first packet; the numbers wrap around. A packet's slot is its number
    /// modulo the number of slots.
    head: usize,
    /// Running number of the first packet in the backlog, which has not left the server.
    cursor: usize,
    /// Running number of the next packet that will be added.
    tail: usize,
    /// Total by which all three running numbers have been lowered.
    lowered: usize,
    /// Bytes of all packets that were ever added.
    pushed_bytes: u64,
    /// Bytes of the packets before the cursor.
    passed_bytes: u64,
}

/// A packet on a wire, and its times.
#[derive(Clone, Debug)]
pub(crate) struct Slot<P> {
    /// Time at which the packet arrives at the far end.
    pub(crate) arrival: Time,
    /// Time at which the packet leaves the server.
    pub(crate) served: Time,
    pub(crate) bytes: u32,
    /// The packet; `None` in a free slot.
    pub(crate) packet: Option<P>,
}

impl<P> Ring<P> {
    pub(crate) fn new() -> Self {
        let slots = core::iter::repeat_with(Slot::free).take(16).collect();
        Self { slots, head: 0, cursor: 0, tail: 0, lowered: 0, pushed_bytes: 0, passed_bytes: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// Packets that had not left the server at the last call of [`Ring::pass`].
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: self.backlog_packets(), bytes: self.pushed_bytes - self.passed_bytes }
    }

    /// Number of packets that had not left the server at the last call of [`Ring::pass`].
    #[inline]
    pub(crate) fn backlog_packets(&self) -> u32 {
        self.tail.wrapping_sub(self.cursor) as u32
    }

    /// Number and bytes of all packets that were ever added.
    pub(crate) fn pushed(&self) -> Tally {
        let packets = self.lowered.wrapping_add(self.tail) as u64;
        Tally { packets, bytes: self.pushed_bytes }
    }

    /// Whether the number of packets that have not left the server by `now` is less than
    /// `packets`, which must be at least one.
    ///
    /// Packets leave the server in order.
    #[inline]
    pub(crate) fn has_fewer_waiting(&self, packets: u32, now: Time) -> bool {
        debug_assert!(packets > 0, "`packets` must be at least 1");
        let packets = packets as usize;
        self.len() < packets
            || self.slots[self.place(self.tail.wrapping_sub(packets))].served <= now
    }

    /// Removes the packets that left the server by `now` from the backlog.
    #[inline]
    pub(crate) fn pass(&mut self, now: Time) {
        let (mut cursor, mut passed_bytes) = (self.cursor, 0);
        while cursor != self.tail {
            let slot = &self.slots[self.place(cursor)];
            if slot.served > now {
                break;
            }
            passed_bytes += u64::from(slot.bytes);
            cursor = cursor.wrapping_add(1);
        }
        self.cursor = cursor;
        self.passed_bytes += passed_bytes;
    }

    /// Removes all packets from the backlog, if all of them have left the server.
    #[inline]
    pub(crate) fn pass_all(&mut self) {
        self.cursor = self.tail;
        self.passed_bytes = self.pushed_bytes;
    }

    /// The packet that has `count` packets before it; `None` if there are fewer packets.
    #[inline(always)]
    pub(crate) fn behind(&self, count: usize) -> Option<&P> {
        let place = self.place(self.head.wrapping_add(count));
        let slot = self.slots.get(place).filter(|_| count < self.len())?;
        slot.packet.as_ref()
    }

    /// Appends a packet.
    #[inline]
    pub(crate) fn push(&mut self, arrival: Time, served: Time, bytes: u32, packet: P) {
        self.push_slot(arrival, served, bytes).packet = Some(packet);
    }

    /// Adds a packet as [`Ring::push`] does; the caller puts the packet into the returned slot.
    #[inline(always)]
    pub(crate) fn push_slot(&mut self, arrival: Time, served: Time, bytes: u32) -> &mut Slot<P> {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let place = self.place(self.tail);
        self.tail = self.tail.wrapping_add(1);
        self.pushed_bytes += u64::from(bytes);
        let slot = &mut self.slots[place];
        slot.arrival = arrival;
        slot.served = served;
        slot.bytes = bytes;
        slot
    }

    /// Moves the last packet before all packets that arrive later, but not before a packet that
    /// has not left the server by `now`.
    pub(crate) fn sort_last(&mut self, now: Time) {
        let mut number = self.tail.wrapping_sub(1);
        while number != self.head {
            let (place, before) = (self.place(number), self.place(number.wrapping_sub(1)));
            if self.slots[before].served > now {
                self.slots[place].arrival =
                    self.slots[place].arrival.max(self.slots[before].arrival);
            }
            if self.slots[before].arrival <= self.slots[place].arrival {
                break;
            }
            self.slots.swap(place, before);
            number = number.wrapping_sub(1);
        }
    }

    /// Arrival time of the first packet.
    #[inline]
    pub(crate) fn first_arrival(&self) -> Time {
        if self.head == self.tail { Time::NEVER } else { self.slots[self.place(self.head)].arrival }
    }

    /// Time at which the first packet leaves or left the server.
    #[inline]
    pub(crate) fn first_served(&self) -> Time {
        if self.head == self.tail { Time::NEVER } else { self.slots[self.place(self.head)].served }
    }

    /// Removes the first packet, and returns it with its arrival time.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Time, P)> {
        let arrival = self.first_arrival();
        let mut first = None;
        if self.head != self.tail {
            self.pop_into(&mut first);
        }
        Some((arrival, first?))
    }

    /// Moves the first packet of a ring that is not empty to `place`.
    ///
    /// Returns the arrival time of the next packet.
    #[inline(always)]
    pub(crate) fn pop_into(&mut self, place: &mut Option<P>) -> Time {
        let (head, tail) = (self.head, self.tail);
        debug_assert_ne!(head, tail, "there is no packet");
        let next = head.wrapping_add(1);
        let slots = self.slots.as_mut_slice();
        let mask = slots.len() - 1;
        let slot = &mut slots[head & mask];
        if self.cursor == head {
            self.cursor = next;
            self.passed_bytes += u64::from(slot.bytes);
        }
        self.head = next;
        *place = slot.packet.take();
        if next == tail { Time::NEVER } else { slots[next & mask].arrival }
    }

    /// All packets.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Slot<P>> {
        self.slots_from(self.head)
    }

    /// The packets that have not left the server.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Slot<P>> {
        self.slots_from(self.cursor)
    }

    fn slots_from(&self, first: usize) -> impl Iterator<Item = &Slot<P>> {
        let packets = self.tail.wrapping_sub(first);
        (0..packets).map(move |index| &self.slots[self.place(first.wrapping_add(index))])
    }

    #[inline]
    fn place(&self, number: usize) -> usize {
        number & (self.slots.len() - 1)
    }

    /// Doubles the number of slots.
    #[cold]
    fn grow(&mut self) {
        let room = self.slots.len();
        let head = self.place(self.head);
        self.slots.rotate_left(head);
        self.slots.extend(core::iter::repeat_with(Slot::free).take(room));
        self.lowered = self.lowered.wrapping_add(self.head);
        self.cursor = self.cursor.wrapping_sub(self.head);
        self.tail = self.tail.wrapping_sub(self.head);
        self.head = 0;
    }
}

impl<P> Slot<P> {
    fn free() -> Self {
        Self { arrival: Time::NEVER, served: Time::NEVER, bytes: 0, packet: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn packets_leave_in_order_through_growth_and_wrap() {
        let mut ring = Ring::new();
        // Numbers that wrap soon: running numbers are only compared as differences.
        (ring.head, ring.cursor, ring.tail) = (usize::MAX - 5, usize::MAX - 5, usize::MAX - 5);
        let (mut pushed, mut popped) = (0_u64, 0_u64);
        for round in 0..200 {
            for _ in 0..(round % 7 + 2) {
                ring.push(at(pushed), at(pushed), 10, pushed);
                pushed += 1;
            }
            for _ in 0..(round % 5) {
                assert_eq!(ring.pop(), Some((at(popped), popped)));
                popped += 1;
            }
            assert_eq!(ring.len() as u64, pushed - popped);
            assert_eq!(ring.first_arrival(), at(popped));
            let behind_three = (ring.len() > 3).then_some(popped + 3);
            assert_eq!(ring.behind(3).copied(), behind_three);
        }
        assert!(ring.slots.len() >= 256);
        while let Some((_, packet)) = ring.pop() {
            assert_eq!(packet, popped);
            popped += 1;
        }
        assert_eq!(popped, pushed);
        assert_eq!(ring.backlog(), Backlog::default());
        assert_eq!(ring.first_arrival(), Time::NEVER);
    }

    #[test]
    fn the_backlog_is_what_is_not_served() {
        let mut ring = Ring::new();
        for packet in 1..=30_u64 {
            ring.push(at(packet + 100), at(packet), packet as u32, packet);
        }
        ring.pass(at(10));
        assert_eq!(ring.backlog(), Backlog { packets: 20, bytes: (11..=30).sum() });
        assert!(ring.has_fewer_waiting(21, at(10)) && !ring.has_fewer_waiting(20, at(10)));
        assert!(ring.has_fewer_waiting(31, at(0)) && ring.has_fewer_waiting(1, at(30)));
        assert_eq!(ring.waiting().map(|slot| slot.bytes).sum::<u32>(), (11..=30).sum::<u32>());
        // Packets that leave before they are passed also leave the backlog.
        for _ in 0..12 {
            ring.pop();
        }
        assert_eq!(ring.backlog(), Backlog { packets: 18, bytes: (13..=30).sum() });
        ring.pass_all();
        assert_eq!(ring.backlog(), Backlog::default());
        assert_eq!(ring.pushed(), Tally { packets: 30, bytes: (1..=30).sum() });
    }

    #[test]
    fn the_last_is_sorted_by_arrival_but_not_before_what_is_not_served() {
        let mut ring = Ring::new();
        for arrival in [10, 20, 30, 40] {
            ring.push(at(arrival), at(0), 1, arrival);
        }
        ring.push(at(20), at(5), 1, 25);
        ring.sort_last(at(5));
        ring.push(at(50), at(100), 1, 50);
        ring.push(at(15), at(100), 1, 51);
        ring.sort_last(at(5));
        let order: Vec<u64> = core::iter::from_fn(|| ring.pop()).map(|(_, p)| p).collect();
        assert_eq!(order, [10, 20, 25, 30, 40, 50, 51]);
    }
}
