//! Detection of retransmitted packets, and of bursts of them, in one direction of a connection.

use crate::SeqNumber;

/// Counts bursts: sequences of retransmissions without an ACK of new data in between.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bursts {
    /// Number of packets that were retransmitted.
    pub resent_pkts: u64,
    /// Number of bursts that have ended.
    pub bursts: u64,
    /// Length of the longest burst that has ended.
    pub longest_pkts: u64,
    open_pkts: u64,
}

impl Bursts {
    /// Adds retransmitted packets.
    ///
    /// Adds retransmitted packets to a burst; returns whether they start a new burst.
    #[inline]
    pub fn extend(&mut self, pkts: u64) -> bool {
        let begins = self.open_pkts == 0;
        self.resent_pkts += pkts;
        self.open_pkts += pkts;
        begins
    }

    /// Ends the open burst, if any, because new data were acknowledged or the run has ended.
    #[inline]
    pub fn end(&mut self) {
        if self.open_pkts > 0 {
            self.bursts += 1;
            self.longest_pkts = self.longest_pkts.max(self.open_pkts);
            self.open_pkts = 0;
        }
    }

    /// Whether a burst is open.
    pub fn is_open(&self) -> bool {
        self.open_pkts > 0
    }
}

/// Counts the data packets of one direction, observed at their sender. A packet below the highest
/// sequence number sent is a retransmission.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retransmissions {
    /// Data packets.
    pub sent_pkts: u64,
    /// Retransmissions among them.
    pub bursts: Bursts,
    /// The first sequence number that was not sent yet; `None` before any data are sent.
    unsent: Option<SeqNumber>,
    /// Highest acknowledgement seen.
    acked: Option<SeqNumber>,
}

impl Retransmissions {
    /// Records a segment with payload that the sender sent.
    #[inline]
    pub fn handle_sent(&mut self, seq: SeqNumber, payload_bytes: u32) {
        self.sent_pkts += 1;
        let end = seq + payload_bytes;
        match self.unsent {
            Some(unsent) if seq.is_before(unsent) => {
                self.bursts.extend(1);
                if unsent.is_before(end) {
                    self.unsent = Some(end);
                }
            }
            _ => self.unsent = Some(end),
        }
    }

    /// Records `count` consecutive segments with `payload_bytes` each that the sender sent.
    #[inline]
    pub fn handle_train(&mut self, seq: SeqNumber, payload_bytes: u32, count: u32) {
        // New data start where the previous data ended, and need no comparison.
        if self.unsent == Some(seq) {
            self.sent_pkts += u64::from(count);
            self.unsent = Some(seq + payload_bytes.wrapping_mul(count));
        } else {
            self.handle_each(seq, payload_bytes, count);
        }
    }

    /// Has the result of [`Self::handle_train`], but records one segment at a time.
    #[inline(never)]
    fn handle_each(&mut self, seq: SeqNumber, payload_bytes: u32, count: u32) {
        for index in 0..count {
            self.handle_sent(seq + payload_bytes.wrapping_mul(index), payload_bytes);
        }
    }

    /// Records an acknowledgement that the sender received.
    #[inline]
    pub fn handle_ack(&mut self, ack: SeqNumber) {
        if self.acked.is_some_and(|acked| !acked.is_before(ack)) {
            return;
        }
        self.acked = Some(ack);
        self.bursts.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retransmissions_without_an_ack_between_are_one_burst() {
        let mut counted = Retransmissions::default();
        // The sequence numbers wrap.
        let first = SeqNumber(u32::MAX - 1_500);
        for segment in 0..5 {
            counted.handle_sent(first + 1_000 * segment, 1_000);
        }
        assert_eq!((counted.sent_pkts, counted.bursts.resent_pkts), (5, 0));
        counted.handle_ack(first);
        counted.handle_sent(first, 1_000);
        counted.handle_ack(first);
        counted.handle_sent(first + 1_000, 1_000);
        counted.handle_ack(first + 2_000);
        counted.handle_sent(first + 2_000, 1_000);
        assert!(counted.bursts.is_open());
        counted.bursts.end();
        assert_eq!((counted.sent_pkts, counted.bursts.resent_pkts), (8, 3));
        assert_eq!((counted.bursts.bursts, counted.bursts.longest_pkts), (2, 2));
    }

    #[test]
    fn a_train_counts_as_its_segments_do() {
        // New, beyond a hole, retransmitted, partly new, and new after that, with wrapping sequence
        // numbers.
        let first = SeqNumber(u32::MAX - 3_500);
        let trains = [(0, 3), (4_000, 2), (1_000, 2), (5_500, 3), (8_500, 1)];
        let [mut whole, mut each] = [Retransmissions::default(); 2];
        for (offset, count) in trains {
            whole.handle_train(first + offset, 1_000, count);
            for index in 0..count {
                each.handle_sent(first + offset + 1_000 * index, 1_000);
            }
            let counted = [whole, each].map(|one| (one.sent_pkts, one.bursts, one.unsent));
            assert_eq!(counted[0], counted[1], "{count} at {offset}");
        }
        assert_eq!((whole.sent_pkts, whole.bursts.resent_pkts), (11, 3));
    }

    #[test]
    fn a_packet_that_is_new_in_part_was_sent_again_and_moves_the_end() {
        let mut counted = Retransmissions::default();
        counted.handle_sent(SeqNumber(0), 1_000);
        counted.handle_sent(SeqNumber(500), 1_000);
        counted.handle_sent(SeqNumber(1_500), 1_000);
        assert_eq!((counted.sent_pkts, counted.bursts.resent_pkts), (3, 1));
    }
}
