//! The retransmit queue: every segment between `snd_una` and `snd_nxt`, in order.
//!
//! The queue is a ring buffer of segments whose numbers only increase. A segment is found by its
//! sequence number with a guess from the segment size. A bitmap lists the lost segments that wait
//! for retransmission. Each operation therefore costs O(1) amortised, whatever the window.
//!
//! RACK visits the segments in the order of their last transmission. This is the order of the ring
//! until a segment is retransmitted. Retransmitted segments are in a separate queue, and
//! [`RtxQueue::next_sent`] merges the ring and the queue. Segments that RACK need not visit any
//! more are in neither of them.

use std::collections::VecDeque;

use cwndlab_packet::Flags;
use cwndlab_packet::seq::{after, before};

/// Bit of [`TxSegment::flags`]: the segment was reported by SACK (`TCPCB_SACKED_ACKED`).
pub(crate) const SACKED_ACKED: u8 = 0x01;
/// Bit of [`TxSegment::flags`]: a retransmission of the segment is in flight.
pub(crate) const SACKED_RETRANS: u8 = 0x02;
/// Considered lost.
pub(crate) const LOST: u8 = 0x04;
/// Bit of [`TxSegment::flags`]: the segment was retransmitted at least once.
pub(crate) const EVER_RETRANS: u8 = 0x80;
/// Bit of [`TxSegment::flags`]: the next segment is in the same buffer.
pub(crate) const SHARES_BUFFER: u8 = 0x10;
/// Bits of [`TxSegment::flags`]: the segment was retransmitted; the retransmission may be in
/// flight or not.
pub(crate) const RETRANS: u8 = SACKED_RETRANS | EVER_RETRANS;
/// Bit of [`TxSegment::flags`]: the application limited the flight when the segment was sent.
pub(crate) const APP_LIMITED: u8 = 0x08;
/// Bit of [`TxSegment::flags`]: the place of the segment in the ring is not its place in the order
/// of transmission.
const MOVED: u8 = 0x20;

/// A segment that was sent but not cumulatively acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TxSegment {
    pub(crate) seq: u32,
    pub(crate) end_seq: u32,
    /// Time of the segment's last transmission in microseconds.
    pub(crate) tx_mstamp: u64,
    /// Snapshot for the delivery rate at the last transmission (`tcp_rate.c`).
    pub(crate) first_tx_mstamp: u64,
    /// Value of `delivered_mstamp` at the last transmission; 0 after the segment was used for a
    /// rate sample.
    pub(crate) delivered_mstamp: u64,
    pub(crate) delivered: u32,
    pub(crate) delivered_ce: u32,
    pub(crate) flags: u8,
    /// The flags SYN, FIN and PSH. A SYN carries no data; a FIN may follow data.
    pub(crate) control: Flags,
    /// Number of the segment's entry among the retransmitted segments; 0 if it has none.
    pub(super) resent: u32,
}

impl TxSegment {
    /// Creates a SYN or SYN-ACK that is sent at a time in microseconds.
    pub(crate) fn syn(seq: u32, tx_mstamp: u64) -> Self {
        let (end_seq, control) = (seq.wrapping_add(1), Flags(Flags::SYN));
        Self { seq, end_seq, tx_mstamp, control, ..Self::default() }
    }

    pub(crate) fn is_syn(&self) -> bool {
        self.control.has(Flags::SYN)
    }

    /// Whether the segment is considered lost and has not been retransmitted since.
    #[inline]
    pub(crate) fn is_only_lost(&self) -> bool {
        self.flags & (LOST | SACKED_RETRANS) == LOST
    }

    /// Bytes of payload.
    pub(crate) fn payload(&self) -> u32 {
        self.end_seq.wrapping_sub(self.seq) - self.control.sequence_space()
    }
}

/// The retransmit queue. Segments are identified by number, from `head()` up to but excluding
/// `tail()`.
#[derive(Clone, Debug)]
pub(crate) struct RtxQueue {
    ring: Vec<TxSegment>,
    /// A bit for each place: whether its segment is lost, not retransmitted and not sacked.
    waiting: Vec<u64>,
    /// A bit for each place: whether its segment has the flag [`MOVED`].
    moved: Vec<u64>,
    /// Number of set bits in `moved`.
    moved_count: u32,
    mask: u32,
    head: u32,
    tail: u32,
    /// No segment before this number waits for retransmission.
    hint: u32,
    /// RACK need not visit any segment of the ring before this number: each was moved, or is lost
    /// and was not retransmitted since.
    first_unmoved: u32,
    resent: Resent,
    /// Whether any segment shares or shared a buffer with the next segment.
    is_sharing: bool,
}

/// Retransmitted segments, in the order of retransmission.
#[derive(Clone, Debug)]
struct Resent {
    entries: VecDeque<ResentEntry>,
    /// Number of the first entry; entries are numbered from 1.
    first: u32,
    /// Number of entries whose segments are listed elsewhere now.
    stale: usize,
}

#[derive(Clone, Copy, Debug)]
struct ResentEntry {
    number: u32,
    /// The first segment that had not been sent when this segment was retransmitted.
    before: u32,
}

/// Segments that [`RtxQueue::pop_untouched`] removed or [`RtxQueue::sack_untouched`] marked: each
/// was sent once, and was neither lost nor sacked before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Untouched {
    pub(crate) first: TxSegment,
    pub(crate) last: TxSegment,
    pub(crate) count: u32,
    /// Number of segments that share the buffer of the next segment.
    pub(crate) shared: u32,
}

/// Position in a walk through the segments in the order of transmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentOrder {
    in_ring: u32,
    resent: u32,
}

impl RtxQueue {
    pub(crate) fn new() -> Self {
        const PLACES: usize = 64;
        Self {
            ring: vec![TxSegment::default(); PLACES],
            waiting: vec![0; PLACES / 64],
            moved: vec![0; PLACES / 64],
            moved_count: 0,
            mask: PLACES as u32 - 1,
            head: 0,
            tail: 0,
            hint: 0,
            first_unmoved: 0,
            resent: Resent { entries: VecDeque::new(), first: 1, stale: 0 },
            is_sharing: false,
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline]
    pub(crate) fn head(&self) -> u32 {
        self.head
    }

    #[inline]
    pub(crate) fn tail(&self) -> u32 {
        self.tail
    }

    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> &TxSegment {
        &self.ring[(number & self.mask) as usize]
    }

    /// Whether the segment is in the queue and was reported by SACK.
    #[inline]
    pub(crate) fn is_sacked(&self, number: u32) -> bool {
        let is_queued = number.wrapping_sub(self.head) < self.tail.wrapping_sub(self.head);
        is_queued && self.get(number).flags & SACKED_ACKED != 0
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut TxSegment {
        &mut self.ring[(number & self.mask) as usize]
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<&TxSegment> {
        (!self.is_empty()).then(|| self.get(self.head))
    }

    /// Appends a segment that was just sent. Returns the segment's number.
    #[inline]
    pub(crate) fn push(&mut self, segment: TxSegment) -> u32 {
        if self.len() > self.mask {
            self.grow();
        }
        let number = self.tail;
        self.tail = self.tail.wrapping_add(1);
        *self.get_mut(number) = segment;
        number
    }

    /// Appends consecutive segments of equal length that were just sent together. Returns the
    /// sequence number after the last segment.
    #[inline(always)]
    pub(crate) fn push_train(&mut self, first: TxSegment, count: u32) -> u32 {
        while self.len() + count > self.mask + 1 {
            self.grow();
        }
        let (mask, bytes) = (self.mask, first.end_seq.wrapping_sub(first.seq));
        let (mut number, mut segment) = (self.tail, first);
        self.tail = number.wrapping_add(count);
        let ring = self.ring.as_mut_slice();
        while number != self.tail {
            ring[(number & mask) as usize] = segment;
            segment.seq = segment.end_seq;
            segment.end_seq = segment.seq.wrapping_add(bytes);
            number = number.wrapping_add(1);
        }
        segment.seq
    }

    /// Removes the first segment.
    #[inline]
    pub(crate) fn pop(&mut self) {
        let number = self.head;
        let flags = self.get(number).flags;
        if flags & (LOST | MOVED) != 0 {
            self.forget(number);
        }
        self.head = self.head.wrapping_add(1);
        if before(self.hint, self.head) {
            self.hint = self.head;
        }
    }

    /// Clears the bits of a segment that is being removed.
    #[cold]
    fn forget(&mut self, number: u32) {
        self.forget_resent(number);
        self.clear_waiting(number);
        let place = number & self.mask;
        let word = &mut self.moved[(place / 64) as usize];
        self.moved_count -= u32::from(*word & 1 << (place % 64) != 0);
        *word &= !(1 << (place % 64));
    }

    /// Whether every segment was sent once, and none is sacked or marked lost by RACK.
    #[inline]
    pub(crate) fn is_untouched(&self) -> bool {
        self.moved_count == 0
    }

    /// Removes the segments at the front that end at or before `una`; there must be at least one,
    /// and none may be lost, sacked or retransmitted.
    #[inline]
    pub(crate) fn pop_untouched(&mut self, una: u32) -> Untouched {
        debug_assert!(self.is_untouched());
        debug_assert!(self.first().is_some_and(|first| !after(first.end_seq, una)));
        let first = self.get(self.head);
        let (mut number, mut last) = (self.head, first);
        loop {
            number = number.wrapping_add(1);
            if number == self.tail {
                break;
            }
            let next = self.get(number);
            if after(next.end_seq, una) {
                break;
            }
            last = next;
        }
        let count = number.wrapping_sub(self.head);
        let shared = if self.is_sharing { self.count_shared(number) } else { 0 };
        let untouched = Untouched { first: *first, last: *last, count, shared };
        self.head = number;
        if before(self.hint, number) {
            self.hint = number;
        }
        untouched
    }

    /// Marks untouched segments as sacked, from `number` on, up to `end` or the first segment that
    /// is not untouched. Returns their previous state.
    pub(crate) fn sack_untouched(&mut self, number: u32, end: u32) -> Option<Untouched> {
        const TOUCHED: u8 = SACKED_ACKED | RETRANS | LOST | SHARES_BUFFER | MOVED;
        let mut behind = number;
        while behind != self.tail {
            let segment = self.get(behind);
            if segment.flags & TOUCHED != 0 || after(segment.end_seq, end) {
                break;
            }
            behind = behind.wrapping_add(1);
        }
        let count = behind.wrapping_sub(number);
        if count == 0 {
            return None;
        }
        let (first, last) = (*self.get(number), *self.get(behind.wrapping_sub(1)));
        for number in (0..count).map(|index| number.wrapping_add(index)) {
            self.set_moved(number);
            let segment = self.get_mut(number);
            segment.flags |= SACKED_ACKED;
            segment.delivered_mstamp = 0;
        }
        Some(Untouched { first, last, count, shared: 0 })
    }

    /// Number of segments before `end` that share the buffer of the next segment.
    #[inline(never)]
    fn count_shared(&self, end: u32) -> u32 {
        let (mut number, mut shared) = (self.head, 0);
        while number != end {
            shared += u32::from(self.get(number).flags & SHARES_BUFFER != 0);
            number = number.wrapping_add(1);
        }
        shared
    }

    /// Records that the last segment shares its buffer with the next segment that will be sent.
    pub(crate) fn share_last(&mut self) {
        self.is_sharing = true;
        self.get_mut(self.tail.wrapping_sub(1)).flags |= SHARES_BUFFER;
    }

    #[cold]
    fn grow(&mut self) {
        let old = core::mem::take(&mut self.ring);
        let old_mask = self.mask;
        let places = old.len() * 2;
        self.mask = places as u32 - 1;
        self.ring = vec![TxSegment::default(); places];
        self.waiting = vec![0; places / 64];
        self.moved = vec![0; places / 64];
        self.moved_count = 0;
        for offset in 0..self.len() {
            let number = self.head.wrapping_add(offset);
            let segment = old[(number & old_mask) as usize];
            *self.get_mut(number) = segment;
            self.update_waiting(number);
            if segment.flags & MOVED != 0 {
                self.set_moved(number);
            }
        }
    }

    /// Returns the first segment that ends after the sequence number `seq`, if any. `mss` is the
    /// usual segment size.
    #[inline]
    pub(crate) fn find(&self, seq: u32, mss: u32) -> Option<u32> {
        let first = self.first()?;
        if !before(first.seq, seq) {
            return Some(self.head);
        }
        let guess = seq.wrapping_sub(first.seq) / mss.max(1);
        let mut number = self.head.wrapping_add(guess.min(self.len() - 1));
        while number != self.head && after(self.get(number).seq, seq) {
            number = number.wrapping_sub(1);
        }
        while number != self.tail && !after(self.get(number).end_seq, seq) {
            number = number.wrapping_add(1);
        }
        (number != self.tail).then_some(number)
    }

    /// Moves a retransmitted segment to the end of the order of transmission.
    pub(crate) fn list_as_newest(&mut self, number: u32) {
        self.unlist(number);
        let Resent { entries, first, stale } = &self.resent;
        if 2 * stale > entries.len() || *first > u32::MAX / 2 {
            self.drop_stale();
        }
        let entry = self.resent.first + self.resent.entries.len() as u32;
        self.resent.entries.push_back(ResentEntry { number, before: self.tail });
        self.get_mut(number).resent = entry;
    }

    /// Removes a segment that RACK need not visit any more from the order of transmission.
    pub(crate) fn unlist(&mut self, number: u32) {
        self.set_moved(number);
        self.forget_resent(number);
    }

    /// Removes a segment from the queue of retransmitted segments.
    fn forget_resent(&mut self, number: u32) {
        let entry = core::mem::take(&mut self.get_mut(number).resent);
        if entry != 0 {
            self.resent.stale += 1;
        }
    }

    fn set_moved(&mut self, number: u32) {
        let place = number & self.mask;
        let word = &mut self.moved[(place / 64) as usize];
        self.moved_count += u32::from(*word & 1 << (place % 64) == 0);
        *word |= 1 << (place % 64);
        self.get_mut(number).flags |= MOVED;
    }

    /// Returns the start of the order of transmission.
    #[inline(always)]
    pub(crate) fn sent_order(&mut self) -> SentOrder {
        if before(self.first_unmoved, self.head) {
            self.first_unmoved = self.head;
        }
        self.first_unmoved = self.next_unmoved(self.first_unmoved);
        // After a timeout, this skips nearly all of the flight.
        while self.first_unmoved != self.tail && self.get(self.first_unmoved).is_only_lost() {
            self.first_unmoved = self.next_unmoved(self.first_unmoved.wrapping_add(1));
        }
        while let Some(first) = self.resent.entries.front() {
            if self.is_listed(first, self.resent.first) {
                break;
            }
            self.resent.entries.pop_front();
            self.resent.first += 1;
            self.resent.stale -= 1;
        }
        SentOrder { in_ring: self.first_unmoved, resent: self.resent.first }
    }

    /// Makes RACK visit segments again whose loss marks were cleared.
    pub(crate) fn relist_lost(&mut self) {
        self.first_unmoved = self.head;
    }

    /// Returns the next segment in the order of transmission. Segments may be unlisted between
    /// calls.
    #[inline(always)]
    pub(crate) fn next_sent(&self, order: &mut SentOrder) -> Option<u32> {
        order.in_ring = self.next_unmoved(order.in_ring);
        let unmoved = (order.in_ring != self.tail).then_some(order.in_ring);
        let resent = loop {
            let index = order.resent - self.resent.first;
            let Some(entry) = self.resent.entries.get(index as usize) else { break None };
            if self.is_listed(entry, order.resent) {
                break Some(entry);
            }
            order.resent += 1;
        };
        match (unmoved, resent) {
            (Some(number), entry) if entry.is_none_or(|entry| before(number, entry.before)) => {
                order.in_ring = number.wrapping_add(1);
                Some(number)
            }
            (_, Some(entry)) => {
                order.resent += 1;
                Some(entry.number)
            }
            (_, None) => None,
        }
    }

    /// Returns the first segment from `number` on that was not moved; returns the tail if there is
    /// none.
    #[inline(always)]
    fn next_unmoved(&self, mut number: u32) -> u32 {
        while before(number, self.tail) {
            let place = number & self.mask;
            let word = !self.moved[(place / 64) as usize] >> (place % 64);
            if word != 0 {
                let found = number.wrapping_add(word.trailing_zeros());
                return if before(found, self.tail) { found } else { self.tail };
            }
            number = number.wrapping_add(64 - place % 64);
        }
        self.tail
    }

    /// Whether the entry with this number is the current place of its segment in the order of
    /// transmission.
    fn is_listed(&self, entry: &ResentEntry, number: u32) -> bool {
        let is_queued = entry.number.wrapping_sub(self.head) < self.len();
        is_queued && self.get(entry.number).resent == number
    }

    /// Removes entries whose segments are listed elsewhere, and renumbers the remaining entries.
    fn drop_stale(&mut self) {
        let mut kept = VecDeque::with_capacity(self.resent.entries.len());
        let entries = core::mem::take(&mut self.resent.entries);
        for (number, entry) in (self.resent.first..).zip(entries) {
            if self.is_listed(&entry, number) {
                kept.push_back(entry);
            }
        }
        for (number, entry) in (1..).zip(&kept) {
            self.get_mut(entry.number).resent = number;
        }
        self.resent = Resent { entries: kept, first: 1, stale: 0 };
    }

    /// Updates whether a segment waits for retransmission; must be called when its flags have
    /// changed.
    #[inline]
    pub(crate) fn update_waiting(&mut self, number: u32) {
        let flags = self.get(number).flags;
        if flags & (LOST | SACKED_RETRANS | SACKED_ACKED) == LOST {
            let place = number & self.mask;
            self.waiting[(place / 64) as usize] |= 1 << (place % 64);
            if before(number, self.hint) {
                self.hint = number;
            }
        } else {
            self.clear_waiting(number);
        }
    }

    #[inline]
    fn clear_waiting(&mut self, number: u32) {
        let place = number & self.mask;
        self.waiting[(place / 64) as usize] &= !(1 << (place % 64));
    }

    /// Returns the first segment that waits for retransmission.
    pub(crate) fn next_waiting(&mut self) -> Option<u32> {
        let mut number = self.hint;
        while before(number, self.tail) {
            let place = number & self.mask;
            let word = self.waiting[(place / 64) as usize] >> (place % 64);
            if word != 0 {
                let found = number.wrapping_add(word.trailing_zeros());
                if before(found, self.tail) {
                    self.hint = found;
                    return Some(found);
                }
                break;
            }
            number = number.wrapping_add(64 - place % 64);
        }
        self.hint = self.tail;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn segment(index: u32) -> TxSegment {
        let seq = index.wrapping_mul(100).wrapping_sub(1_000);
        TxSegment { seq, end_seq: seq.wrapping_add(100), ..TxSegment::default() }
    }

    fn by_time(queue: &mut RtxQueue) -> Vec<u32> {
        let mut order = queue.sent_order();
        core::iter::from_fn(|| queue.next_sent(&mut order)).collect()
    }

    #[test]
    fn a_segment_is_found_by_any_of_its_bytes() {
        let mut queue = RtxQueue::new();
        for index in 0..500 {
            queue.push(segment(index));
        }
        for index in 0..500_u32 {
            let seq = segment(index).seq;
            for (offset, mss) in [(0, 100), (1, 100), (99, 100), (50, 37), (50, 1_448)] {
                assert_eq!(queue.find(seq.wrapping_add(offset), mss), Some(index));
            }
        }
        assert_eq!(queue.find(segment(500).seq, 100), None);
    }

    #[test]
    fn growth_keeps_the_order_of_transmission() {
        let mut queue = RtxQueue::new();
        for index in 0..64 {
            queue.push(segment(index));
        }
        queue.list_as_newest(3);
        queue.unlist(7);
        queue.push(segment(64));
        let mut expected: Vec<u32> = (0..64).filter(|n| ![3, 7].contains(n)).collect();
        expected.extend([3, 64]);
        assert_eq!(by_time(&mut queue), expected);
    }

    #[test]
    fn lost_segments_at_the_front_are_passed_over_until_they_are_listed_again() {
        let mut queue = RtxQueue::new();
        for index in 0..10 {
            queue.push(segment(index));
        }
        for number in [0, 1, 2, 5] {
            queue.get_mut(number).flags |= LOST;
        }
        assert_eq!(by_time(&mut queue), [3, 4, 5, 6, 7, 8, 9]);
        queue.get_mut(0).flags |= SACKED_RETRANS;
        queue.list_as_newest(0);
        assert_eq!(by_time(&mut queue), [3, 4, 5, 6, 7, 8, 9, 0]);
        for number in [1, 2, 5] {
            queue.get_mut(number).flags &= !LOST;
        }
        queue.relist_lost();
        assert_eq!(by_time(&mut queue), [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]);
    }

    proptest! {
        #[test]
        fn the_order_of_transmission_is_that_of_a_plain_list(
            steps in prop::collection::vec((0_u8..6, any::<u32>()), 1..600)
        ) {
            let mut queue = RtxQueue::new();
            let mut list = Vec::new();
            let mut pushed = 0;
            for (step, pick) in steps {
                let number = queue.head().wrapping_add(pick % queue.len().max(1));
                match step {
                    0 | 1 => { list.push(queue.push(segment(pushed))); pushed += 1; }
                    2 if !queue.is_empty() => {
                        list.retain(|&listed| listed != queue.head());
                        queue.pop();
                    }
                    3 | 4 if !queue.is_empty() => {
                        queue.list_as_newest(number);
                        list.retain(|&listed| listed != number);
                        list.push(number);
                    }
                    5 if !queue.is_empty() => {
                        queue.unlist(number);
                        list.retain(|&listed| listed != number);
                    }
                    _ => {}
                }
                prop_assert_eq!(&by_time(&mut queue), &list);
            }
        }

        #[test]
        fn waiting_segments_are_found_lowest_first(
            steps in prop::collection::vec((0_u8..5, any::<u32>()), 1..400)
        ) {
            let mut queue = RtxQueue::new();
            let mut waiting = std::collections::BTreeSet::new();
            let mut pushed = 0;
            for (step, pick) in steps {
                let number = queue.head().wrapping_add(pick % queue.len().max(1));
                match step {
                    0 | 1 => { queue.push(segment(pushed)); pushed += 1; }
                    2 if !queue.is_empty() => { waiting.remove(&queue.head()); queue.pop(); }
                    3 if !queue.is_empty() => {
                        queue.get_mut(number).flags |= LOST;
                        queue.update_waiting(number);
                        if queue.get(number).flags & SACKED_RETRANS == 0 { waiting.insert(number); }
                    }
                    4 if !queue.is_empty() => {
                        queue.get_mut(number).flags |= SACKED_RETRANS;
                        queue.update_waiting(number);
                        waiting.remove(&number);
                    }
                    _ => {}
                }
                prop_assert_eq!(queue.next_waiting(), waiting.first().copied());
            }
        }
    }
}
