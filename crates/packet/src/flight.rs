//! Data in flight, derived from packets: which data are acknowledged, and RTT samples from ACKs.
//!
//! This module extends sequence numbers beyond 32 bits; [`Flight::number_of`] converts them. An
//! ACK gives at most one RTT sample, from the most recently sent segment among those that this ACK
//! is the first to acknowledge, cumulatively or selectively. A segment that was sent twice gives
//! no sample, nor does a cumulative ACK that covers such a segment (Karn's rule, RFC 6298 section
//! 3). The module ignores timestamps, with which two transmissions of a segment could be
//! distinguished.

use std::collections::VecDeque;

use cwndlab_units::Time;

use crate::{Flags, Ranges, Segment, SeqNumber};

/// Maximum number of segments without an acknowledgement; older ones are forgotten. A capture
/// without ACKs reaches this maximum.
const MAX_SEGMENTS: usize = 1 << 20;

/// The data that one end sent and that are not acknowledged yet.
#[derive(Debug)]
pub struct Flight {
    segments: VecDeque<Sent>,
    /// The number after the highest sequence number sent.
    next: u64,
    /// The lowest sequence number that is not acknowledged.
    acked: u64,
    sacked: Ranges,
}

/// A segment that was sent but not cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: u64,
    end: u64,
    at: Time,
    is_resent: bool,
    is_sacked: bool,
}

impl Flight {
    /// Creates an empty flight whose first byte has the given sequence number.
    pub fn starting_at(seq: SeqNumber) -> Self {
        // Far above zero, so that lower numbers exist too.
        let first = u64::from(seq.0) + (1 << 32);
        Self { segments: VecDeque::new(), next: first, acked: first, sacked: Ranges::default() }
    }

    /// Extends a recent 32-bit sequence number by its missing upper bits.
    pub fn number_of(&self, seq: SeqNumber) -> u64 {
        seq.near(self.next)
    }

    /// The number after the highest sequence number sent.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The lowest sequence number that is not acknowledged.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// Bytes that are neither acknowledged nor reported in SACK blocks.
    pub fn bytes(&self) -> u64 {
        (self.next - self.acked).saturating_sub(self.sacked.total())
    }

    /// Whether the data in flight are a single segment that was sent once and that no ACK has
    /// reported.
    pub fn is_one_untouched_segment(&self) -> bool {
        self.segments.len() == 1 && self.segments.iter().all(Sent::is_timed)
    }

    /// Records that data up to, but not including, `end` were sent.
    ///
    /// Returns how many of the data's bytes had been sent before.
    pub fn send(&mut self, at: Time, start: u64, end: u64) -> u64 {
        let again_bytes = self.next.min(end).saturating_sub(start);
        if again_bytes > 0 {
            let first = self.segments.partition_point(|sent| sent.end <= start);
            for sent in self.segments.range_mut(first..).take_while(|sent| sent.start < end) {
                sent.is_resent = true;
            }
        }
        if self.next < end {
            if self.segments.len() == MAX_SEGMENTS {
                self.segments.pop_front();
            }
            let (start, is_resent) = (start.max(self.next), again_bytes > 0);
            self.segments.push_back(Sent { start, end, at, is_resent, is_sacked: false });
            self.next = end;
        }
        again_bytes
    }

    /// Processes an ACK with its SACK blocks, when the sender of the data receives it.
    ///
    /// Returns the send time of the segment that gives an RTT sample, if any.
    pub fn handle_answer(&mut self, segment: &Segment) -> Option<Time> {
        if !segment.flags.has(Flags::ACK) {
            return None;
        }
        let mut sent = self.acknowledge(self.number_of(SeqNumber(segment.ack)));
        for block in segment.sacks.as_slice() {
            let [start, end] = [block.start, block.end].map(|seq| self.number_of(SeqNumber(seq)));
            sent = sent.max(self.sack(start, end));
        }
        sent
    }

    /// Acknowledges all sent data below `acked`.
    ///
    /// Returns the send time of the segment that gives an RTT sample, if any.
    pub fn acknowledge(&mut self, acked: u64) -> Option<Time> {
        let acked = acked.min(self.next);
        if acked <= self.acked {
            return None;
        }
        self.acked = acked;
        self.sacked.remove_before(acked);
        let (mut latest, mut is_ambiguous) = (None, false);
        while let Some(first) = self.segments.front_mut() {
            if first.end > acked {
                first.start = first.start.max(acked);
                break;
            }
            is_ambiguous |= first.is_resent;
            if first.is_timed() {
                latest = latest.max(Some(first.at));
            }
            self.segments.pop_front();
        }
        latest.filter(|_| !is_ambiguous)
    }

    /// Records data beyond a gap as received (RFC 2018). Returns the send time of the segment that
    /// gives an RTT sample, if any.
    ///
    /// Ignores data that are already acknowledged, as in a report of duplicates (RFC 2883 section
    /// 4), and data that were never sent.
    fn sack(&mut self, start: u64, end: u64) -> Option<Time> {
        let start = start.max(self.acked);
        if end <= start || self.next < end {
            return None;
        }
        let mut latest = None;
        for (from, to) in self.sacked.add(start, end) {
            let first = self.segments.partition_point(|sent| sent.end <= from);
            for sent in self.segments.range_mut(first..).take_while(|sent| sent.start < to) {
                if sent.is_timed() {
                    latest = latest.max(Some(sent.at));
                }
                sent.is_sacked = true;
            }
        }
        latest
    }
}

impl Sent {
    /// Whether the acknowledgement of this segment gives an RTT sample.
    fn is_timed(&self) -> bool {
        !self.is_resent && !self.is_sacked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SackBlock;

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    /// First sequence number of the tests, shortly before the numbers wrap.
    const FIRST: SeqNumber = SeqNumber(u32::MAX - 1_499);

    struct Test(Flight);

    impl Test {
        /// Sends segments of 1000 bytes at intervals of a millisecond.
        fn new(segments: u32) -> Self {
            let mut test = Self(Flight::starting_at(FIRST));
            for number in 0..segments {
                let again = test.send(number.into(), number * 1_000, (number + 1) * 1_000);
                assert_eq!(again, 0);
            }
            test
        }

        /// Sends bytes; the range counts from the first byte of the stream.
        fn send(&mut self, millis: u64, from: u32, to: u32) -> u64 {
            let [start, end] = [from, to].map(|bytes| self.0.number_of(FIRST + bytes));
            self.0.send(at(millis), start, end)
        }

        /// Answers like a receiver that has these bytes in order, and these blocks beyond a gap.
        fn answer(&mut self, bytes: u32, blocks: &[(u32, u32)]) -> Option<Time> {
            let ack = (FIRST + bytes).0;
            let mut segment = Segment { ack, flags: Flags(Flags::ACK), ..Segment::default() };
            for &(from, to) in blocks {
                let [start, end] = [from, to].map(|bytes| (FIRST + bytes).0);
                assert!(segment.sacks.push(SackBlock { start, end }));
            }
            self.0.handle_answer(&segment)
        }
    }

    #[test]
    fn the_last_segment_of_a_stretch_counts() {
        let mut test = Test::new(3);
        assert_eq!(test.answer(2_000, &[]), Some(at(1)));
        assert_eq!(test.answer(2_000, &[]), None, "it is a duplicate");
        assert_eq!(test.0.bytes(), 1_000);
        assert_eq!(test.answer(3_000, &[]), Some(at(2)));
        assert_eq!((test.0.bytes(), test.0.acked()), (0, test.0.next()));
        assert_eq!(test.0.handle_answer(&Segment::default()), None, "it is no ACK");
    }

    #[test]
    fn what_was_sent_twice_gives_no_sample_nor_does_what_is_acknowledged_with_it() {
        let mut test = Test::new(2);
        assert_eq!(test.send(300, 0, 1_000), 1_000);
        assert_eq!(test.answer(2_000, &[]), None);
        test.send(400, 2_000, 3_000);
        assert_eq!(test.answer(3_000, &[]), Some(at(400)));
    }

    #[test]
    fn a_selective_acknowledgement_gives_a_sample_once() {
        let mut test = Test::new(4);
        assert_eq!(test.answer(0, &[(1_000, 2_000)]), Some(at(1)));
        assert_eq!(test.answer(0, &[(1_000, 4_000)]), Some(at(3)));
        assert_eq!(test.answer(0, &[(1_000, 4_000)]), None);
        assert_eq!(test.0.bytes(), 1_000);
        test.send(25, 0, 1_000);
        assert_eq!(test.answer(4_000, &[]), None, "all is known but what was sent twice");
        assert_eq!(test.0.bytes(), 0);
    }

    #[test]
    fn a_reported_duplicate_and_what_was_never_sent_tell_nothing() {
        let mut test = Test::new(3);
        assert_eq!(test.answer(1_000, &[(0, 1_000)]), Some(at(0)));
        assert_eq!(test.answer(1_000, &[(1_000, 5_000)]), None);
        assert_eq!(test.0.bytes(), 2_000);
        assert_eq!(test.answer(5_000, &[]), Some(at(2)), "as far as was sent");
        assert_eq!(test.0.acked(), test.0.next());
    }

    #[test]
    fn a_segment_that_is_new_in_part_is_not_timed() {
        let mut test = Test::new(1);
        assert!(test.0.is_one_untouched_segment());
        assert_eq!(test.send(9, 500, 1_500), 500);
        assert!(!test.0.is_one_untouched_segment());
        assert_eq!(test.answer(700, &[]), None);
        assert_eq!(test.answer(1_500, &[]), None);
    }
}
