//! The retransmit queue: every segment between `snd_una` and `snd_nxt`, in order.
//!
//! A ring of segments under numbers that only grow. Segments are found by sequence number by a
//! guess from the segment size, listed by the time of their last transmission for RACK, and those
//! that are lost and wait for retransmission are bits of a map: each operation costs O(1)
//! amortised, whatever the window.

use crate::segment::Flags;
use crate::seq::{after, before};

/// Bits of [`TxSegment::flags`], Linux's `TCPCB_*`.
pub(crate) const SACKED_ACKED: u8 = 0x01;
/// A retransmission is in flight.
pub(crate) const SACKED_RETRANS: u8 = 0x02;
/// Thought lost.
pub(crate) const LOST: u8 = 0x04;
/// Was retransmitted at some time.
pub(crate) const EVER_RETRANS: u8 = 0x80;
/// The segment after it is in the same buffer.
pub(crate) const SHARES_BUFFER: u8 = 0x10;
/// Retransmitted, in flight or not.
pub(crate) const RETRANS: u8 = SACKED_RETRANS | EVER_RETRANS;
/// The flight was limited by the application when the segment left.
pub(crate) const APP_LIMITED: u8 = 0x08;

/// No segment.
const NONE: u32 = u32::MAX;

/// A segment that was sent and is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TxSegment {
    pub(crate) seq: u32,
    pub(crate) end_seq: u32,
    /// Time of the last transmission in microseconds.
    pub(crate) tx_mstamp: u64,
    /// `tcp_rate.c`'s snapshot at the last transmission.
    pub(crate) first_tx_mstamp: u64,
    /// 0 once the segment was used for a rate sample.
    pub(crate) delivered_mstamp: u64,
    pub(crate) delivered: u32,
    pub(crate) delivered_ce: u32,
    pub(crate) flags: u8,
    /// SYN, FIN and PSH; a SYN is no data, a FIN may come after them.
    pub(crate) control: Flags,
    /// Neighbours in the list by time of transmission, as ring places; `NONE` at its ends.
    pub(super) previous: u32,
    pub(super) next: u32,
    pub(super) is_listed: bool,
}

impl TxSegment {
    /// A SYN or SYN-ACK sent at a time in microseconds.
    pub(crate) fn syn(seq: u32, tx_mstamp: u64) -> Self {
        let (end_seq, control) = (seq.wrapping_add(1), Flags(Flags::SYN));
        Self { seq, end_seq, tx_mstamp, control, ..Self::default() }
    }

    /// Bytes of payload.
    pub(crate) fn payload(&self) -> u32 {
        self.end_seq.wrapping_sub(self.seq) - self.control.sequence_space()
    }
}

/// The queue. Segments are named by number; `head()..tail()` are there.
#[derive(Clone, Debug)]
pub(crate) struct RtxQueue {
    ring: Vec<TxSegment>,
    /// A bit per place: lost, not retransmitted, not sacked.
    waiting: Vec<u64>,
    mask: u32,
    head: u32,
    tail: u32,
    /// No segment before this one waits for retransmission.
    hint: u32,
    oldest: u32,
    newest: u32,
}

impl RtxQueue {
    pub(crate) fn new() -> Self {
        const PLACES: usize = 64;
        Self {
            ring: vec![TxSegment::default(); PLACES],
            waiting: vec![0; PLACES / 64],
            mask: PLACES as u32 - 1,
            head: 0,
            tail: 0,
            hint: 0,
            oldest: NONE,
            newest: NONE,
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

    /// Whether the segment is in the queue and reported by SACK.
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

    /// Appends a segment that was just sent, as the newest by time.
    #[inline]
    pub(crate) fn push(&mut self, segment: TxSegment) -> u32 {
        if self.len() > self.mask {
            self.grow();
        }
        let number = self.tail;
        self.tail = self.tail.wrapping_add(1);
        *self.get_mut(number) = segment;
        self.append(number);
        number
    }

    /// Takes the first segment off.
    #[inline]
    pub(crate) fn pop(&mut self) {
        let number = self.head;
        self.unlist(number);
        if self.get(number).flags & LOST != 0 {
            self.clear_waiting(number);
        }
        self.head = self.head.wrapping_add(1);
        if before(self.hint, self.head) {
            self.hint = self.head;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let old = core::mem::take(&mut self.ring);
        let old_mask = self.mask;
        let places = old.len() * 2;
        self.mask = places as u32 - 1;
        self.ring = vec![TxSegment::default(); places];
        self.waiting = vec![0; places / 64];
        // Ring places change, so the list is rebuilt in its order.
        let (mut place, mut order) = (self.oldest, Vec::new());
        while place != NONE {
            order.push(self.number_at(place, old_mask));
            place = old[place as usize].next;
        }
        (self.oldest, self.newest) = (NONE, NONE);
        for offset in 0..self.len() {
            let number = self.head.wrapping_add(offset);
            let segment = old[(number & old_mask) as usize];
            *self.get_mut(number) =
                TxSegment { previous: NONE, next: NONE, is_listed: false, ..segment };
            self.update_waiting(number);
        }
        for number in order {
            self.list_as_newest(number);
        }
    }

    fn number_at(&self, place: u32, mask: u32) -> u32 {
        self.head.wrapping_add(place.wrapping_sub(self.head) & mask)
    }

    /// The first segment that ends after `seq`, if there is one. `mss` is the usual size.
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

    /// Puts a segment at the end of the list by time of transmission.
    #[inline]
    pub(crate) fn list_as_newest(&mut self, number: u32) {
        self.unlist(number);
        self.append(number);
    }

    /// Puts a segment that is not listed at the end of the list.
    #[inline]
    fn append(&mut self, number: u32) {
        let place = number & self.mask;
        let newest = self.newest;
        {
            let segment = &mut self.ring[place as usize];
            segment.previous = newest;
            segment.next = NONE;
            segment.is_listed = true;
        }
        if newest == NONE {
            self.oldest = place;
        } else {
            self.ring[newest as usize].next = place;
        }
        self.newest = place;
    }

    /// Takes a segment out of the list by time of transmission.
    #[inline]
    pub(crate) fn unlist(&mut self, number: u32) {
        let place = number & self.mask;
        let segment = &mut self.ring[place as usize];
        if !segment.is_listed {
            return;
        }
        segment.is_listed = false;
        let (previous, next) = (segment.previous, segment.next);
        if previous == NONE {
            self.oldest = next;
        } else {
            self.ring[previous as usize].next = next;
        }
        if next == NONE {
            self.newest = previous;
        } else {
            self.ring[next as usize].previous = previous;
        }
    }

    /// The listed segment that was sent the longest ago.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then(|| self.number_at(self.oldest, self.mask))
    }

    /// The listed segment that was sent after this one.
    #[inline]
    pub(crate) fn sent_next(&self, number: u32) -> Option<u32> {
        let next = self.get(number).next;
        (next != NONE).then(|| self.number_at(next, self.mask))
    }

    /// To be called when the flags of a segment changed: whether it waits for retransmission.
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

    /// The first segment that waits for retransmission.
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

    fn by_time(queue: &RtxQueue) -> Vec<u32> {
        core::iter::successors(queue.oldest(), |&number| queue.sent_next(number)).collect()
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
        assert_eq!(by_time(&queue), expected);
    }

    proptest! {
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
