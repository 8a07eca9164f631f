//! A ring buffer of packets, with the lane's state of each packet.

use cwndlab_units::Time;

/// Packets in the order of arrival, addressed by their place from the front.
#[derive(Clone, Debug)]
pub(super) struct Line<P> {
    /// Slots of the ring buffer; their number is a power of two.
    slots: Vec<Entry<P>>,
    /// Running number of the first entry; the numbers wrap around. An entry's slot is its number
    /// modulo the number of slots.
    head: usize,
    /// Running number of the next entry that will be added.
    tail: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Entry<P> {
    /// The packet; `None` in a free slot, and after the packet was given up.
    pub(super) packet: Option<P>,
    pub(super) arrived: Time,
    /// Length of the packet with the link's headers.
    pub(super) bytes: u32,
    pub(super) attempts: u32,
    /// Sums over all packets that were ever added, up to and including this one.
    pub(super) until: Sums,
    pub(super) is_received: bool,
}

/// Total lengths of a sequence of packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) bytes: u64,
    /// Total length in an aggregated frame, with padding.
    pub(super) padded: u64,
}

impl<P> Entry<P> {
    fn free() -> Self {
        let (arrived, until) = (Time::ZERO, Sums::default());
        Self { packet: None, arrived, bytes: 0, attempts: 0, until, is_received: false }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.packet.is_some() && !self.is_received
    }
}

impl<P> Line<P> {
    pub(super) fn new() -> Self {
        let slots = core::iter::repeat_with(Entry::free).take(16).collect();
        Self { slots, head: 0, tail: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// Slot of the entry at this place.
    #[inline]
    fn slot(&self, place: usize) -> usize {
        self.head.wrapping_add(place) & (self.slots.len() - 1)
    }

    /// The entry at this place, which must exist.
    #[inline]
    pub(super) fn at(&self, place: usize) -> &Entry<P> {
        debug_assert!(place < self.len(), "there are {} entries", self.len());
        &self.slots[self.slot(place)]
    }

    /// Mutable reference to the entry at this place, which must exist.
    #[inline]
    pub(super) fn at_mut(&mut self, place: usize) -> &mut Entry<P> {
        debug_assert!(place < self.len(), "there are {} entries", self.len());
        let slot = self.slot(place);
        &mut self.slots[slot]
    }

    /// The entry at this place, if there is one.
    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<&Entry<P>> {
        (place < self.len()).then(|| self.at(place))
    }

    /// Appends `count` entries, each filled in by `fill`.
    #[inline(always)]
    pub(super) fn push_each(&mut self, count: u32, mut fill: impl FnMut(&mut Entry<P>)) {
        let count = count as usize;
        while self.slots.len() - self.len() < count {
            self.grow();
        }
        let slots = &mut self.slots[..];
        for number in 0..count {
            fill(&mut slots[self.tail.wrapping_add(number) & (slots.len() - 1)]);
        }
        self.tail = self.tail.wrapping_add(count);
    }

    #[cold]
    fn grow(&mut self) {
        let (head, entries) = (self.slot(0), self.len());
        self.slots.rotate_left(head);
        (self.head, self.tail) = (0, entries);
        self.slots.resize_with(2 * self.slots.len(), Entry::free);
    }

    /// Moves the packet of the first entry to `place` and removes the entry; returns `false` if
    /// there is no entry.
    #[inline]
    pub(super) fn move_first(&mut self, place: &mut Option<P>) -> bool {
        let is_there = self.head != self.tail;
        if is_there {
            let slot = self.slot(0);
            *place = self.slots[slot].packet.take();
            self.head = self.head.wrapping_add(1);
        }
        is_there
    }

    /// Removes the entry at this place; the time is proportional to the number of entries before
    /// it.
    pub(super) fn remove(&mut self, place: usize) {
        for place in (0..place).rev() {
            let (slot, behind) = (self.slot(place), self.slot(place + 1));
            self.slots.swap(slot, behind);
        }
        let slot = self.slot(0);
        self.slots[slot].packet = None;
        self.head = self.head.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(line: &mut Line<u32>, packet: u32) {
        line.push_each(1, |entry| entry.packet = Some(packet));
    }

    fn packets(line: &Line<u32>) -> Vec<u32> {
        (0..line.len()).filter_map(|place| line.at(place).packet).collect()
    }

    #[test]
    fn entries_keep_their_order_while_the_ring_goes_round_and_grows() {
        let mut line = Line::new();
        let (mut coming, mut leaving) = (0, 0);
        for round in 0..60 {
            for _ in 0..round % 9 {
                push(&mut line, coming);
                coming += 1;
            }
            for _ in 0..(round % 7).min(line.len()) {
                let mut place = None;
                assert!(line.move_first(&mut place));
                assert_eq!(place, Some(leaving));
                leaving += 1;
            }
            assert_eq!(packets(&line), (leaving..coming).collect::<Vec<_>>());
        }
        assert!(line.slots.len() > 16 && line.head > line.slots.len());
        assert!(line.get(line.len()).is_none());
    }

    #[test]
    fn a_ring_grows_until_a_train_has_room() {
        let mut line = Line::new();
        (0..5).for_each(|packet| push(&mut line, packet));
        line.remove(0);
        let mut coming = 5..45;
        line.push_each(40, |entry| entry.packet = coming.next());
        assert_eq!(packets(&line), (1..45).collect::<Vec<_>>());
        assert_eq!(line.slots.len(), 64);
    }

    #[test]
    fn what_is_removed_leaves_no_gap() {
        let mut line = Line::new();
        (0..6).for_each(|packet| push(&mut line, packet));
        line.remove(2);
        line.remove(0);
        line.remove(3);
        assert_eq!(packets(&line), [1, 3, 4]);
        assert!(line.slots.iter().filter(|entry| entry.packet.is_some()).count() == 3);
    }
}
