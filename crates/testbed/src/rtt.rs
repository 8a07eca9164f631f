//! Round trip times as the sender itself takes them, from its packets and the ACKs to them.
//!
//! An ACK gives one sample, of the last segment sent among those that it is the first to
//! acknowledge, selectively or not; none if one of them had been sent twice (Karn's rule, RFC 6298
//! section 3).

use std::collections::VecDeque;

use cwndlab_packet::seq::before;
use cwndlab_packet::{Flags, SackBlock, Segment};
use cwndlab_units::Time;

/// Segments in flight with the times at which they were sent.
#[derive(Debug, Default)]
pub(crate) struct RttMeter {
    flight: VecDeque<Sent>,
    /// The sequence number after the last that was sent.
    next: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    seq: u32,
    end: u32,
    is_resent: bool,
    is_sacked: bool,
}

impl RttMeter {
    /// The sender sent a segment with payload.
    pub(crate) fn handle_sent(&mut self, now: Time, seq: u32, payload_bytes: u32) {
        let end = seq.wrapping_add(payload_bytes);
        if self.next.is_none_or(|next| !before(seq, next)) {
            let sent = Sent { at: now, seq, end, is_resent: false, is_sacked: false };
            self.flight.push_back(sent);
            self.next = Some(end);
            return;
        }
        let overlaps = |sent: &Sent| before(sent.seq, end) && before(seq, sent.end);
        let first = self.flight.partition_point(|sent| !before(seq, sent.end));
        for sent in self.flight.iter_mut().skip(first).take_while(|sent| overlaps(sent)) {
            sent.is_resent = true;
        }
    }

    /// The sender gets an ACK. Answers the sample that it gives, in microseconds.
    pub(crate) fn handle_answer(&mut self, now: Time, segment: &Segment) -> Option<u32> {
        let ack = segment.flags.has(Flags::ACK).then_some(segment.ack)?;
        let (mut latest, mut is_ambiguous) = (None, false);
        while let Some(sent) = self.flight.front().filter(|sent| !before(ack, sent.end)) {
            is_ambiguous |= sent.is_resent;
            if !sent.is_sacked && !sent.is_resent {
                latest = latest.max(Some(sent.at));
            }
            self.flight.pop_front();
        }
        if is_ambiguous {
            latest = None;
        }
        for &SackBlock { start: first, end } in segment.sacks.as_slice() {
            // A block below the ACK reports a duplicate (RFC 2883 section 4).
            if before(first, ack) {
                continue;
            }
            let from = self.flight.partition_point(|sent| before(sent.seq, first));
            let covered = |sent: &&mut Sent| !before(end, sent.end);
            for sent in self.flight.iter_mut().skip(from).take_while(covered) {
                if !sent.is_sacked && !sent.is_resent {
                    latest = latest.max(Some(sent.at));
                }
                sent.is_sacked = true;
            }
        }
        latest.map(|at| now.saturating_since(at).as_micros().min(u64::from(u32::MAX)) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn ack(ack: u32, blocks: &[(u32, u32)]) -> Segment {
        let mut segment = Segment { ack, flags: Flags(Flags::ACK), ..Segment::default() };
        for &(start, end) in blocks {
            assert!(segment.sacks.push(SackBlock { start, end }));
        }
        segment
    }

    #[test]
    fn the_last_segment_of_a_stretch_counts() {
        let mut meter = RttMeter::default();
        for (millis, seq) in [(0, 0), (1, 1_000), (2, 2_000)] {
            meter.handle_sent(at(millis), seq, 1_000);
        }
        assert_eq!(meter.handle_answer(at(30), &ack(2_000, &[])), Some(29_000));
        assert_eq!(meter.handle_answer(at(31), &ack(2_000, &[])), None, "it is a duplicate");
        assert_eq!(meter.handle_answer(at(40), &ack(3_000, &[])), Some(38_000));
    }

    #[test]
    fn what_was_sent_twice_gives_no_sample() {
        let mut meter = RttMeter::default();
        meter.handle_sent(at(0), u32::MAX - 499, 1_000);
        meter.handle_sent(at(1), 500, 1_000);
        meter.handle_sent(at(300), u32::MAX - 499, 1_000);
        assert_eq!(meter.handle_answer(at(320), &ack(1_500, &[])), None);
        assert!(meter.flight.is_empty());
        meter.handle_sent(at(400), 1_500, 1_000);
        assert_eq!(meter.handle_answer(at(420), &ack(2_500, &[])), Some(20_000));
    }

    #[test]
    fn a_selective_acknowledgement_gives_a_sample_once() {
        let mut meter = RttMeter::default();
        for (millis, seq) in [(0, 0), (1, 1_000), (2, 2_000), (3, 3_000)] {
            meter.handle_sent(at(millis), seq, 1_000);
        }
        assert_eq!(meter.handle_answer(at(21), &ack(0, &[(1_000, 2_000)])), Some(20_000));
        assert_eq!(meter.handle_answer(at(23), &ack(0, &[(1_000, 4_000)])), Some(20_000));
        assert_eq!(meter.handle_answer(at(24), &ack(0, &[(1_000, 4_000)])), None);
        meter.handle_sent(at(25), 0, 1_000);
        // All of it is known but what was sent twice.
        assert_eq!(meter.handle_answer(at(45), &ack(4_000, &[])), None);
    }

    #[test]
    fn a_reported_duplicate_is_no_news() {
        let mut meter = RttMeter::default();
        meter.handle_sent(at(0), 0, 1_000);
        meter.handle_sent(at(1), 1_000, 1_000);
        assert_eq!(meter.handle_answer(at(20), &ack(1_000, &[(0, 1_000)])), Some(20_000));
        assert_eq!(meter.flight.len(), 1);
    }
}
