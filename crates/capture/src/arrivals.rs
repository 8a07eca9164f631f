//! Detection of retransmissions in a capture taken at the receiver.

use cwndlab_packet::Ranges;

/// A segment that fills a gap in the sequence numbers within this time was reordered, not
/// retransmitted. tshark uses the same value if it does not know the round-trip time.
const REORDERING_NS: u64 = 3_000_000;
/// Received data this far below the lowest unacknowledged sequence number are forgotten.
const REMEMBERED_BYTES: u64 = 1 << 22;

/// Ranges of sequence numbers that have arrived.
#[derive(Debug)]
pub(crate) struct Arrivals {
    seen: Ranges,
    hole_since_ns: u64,
}

impl Arrivals {
    pub(crate) fn new(begin_ns: u64) -> Self {
        Self { seen: Ranges::default(), hole_since_ns: begin_ns }
    }

    /// Records a received segment; `next` is the number after the highest sequence number that has
    /// arrived. Returns whether the segment is a retransmission: its data had arrived before, or
    /// it fills a gap that is older than the reordering time.
    pub(crate) fn take(
        &mut self,
        (start, end): (u64, u64),
        next: u64,
        at_ns: u64,
        one_way_ns: u64,
    ) -> bool {
        if start > next {
            self.hole_since_ns = at_ns;
        }
        let is_known = self.seen.contains(start, end);
        let is_late = at_ns.saturating_sub(self.hole_since_ns) > REORDERING_NS.max(one_way_ns);
        self.seen.add(start, end);
        is_known || start < next && is_late
    }

    /// Handles the acknowledgement of all data below this sequence number.
    pub(crate) fn forget_before(&mut self, acked: u64) {
        self.seen.remove_before(acked.saturating_sub(REMEMBERED_BYTES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_hole_that_is_filled_at_once_was_reordering_and_later_a_retransmission() {
        let mut arrivals = Arrivals::new(0);
        assert!(!arrivals.take((0, 10), 0, 0, 0));
        assert!(!arrivals.take((20, 30), 10, 100 * MS, 10 * MS));
        assert!(!arrivals.take((10, 15), 30, 105 * MS, 10 * MS));
        assert!(arrivals.take((15, 20), 30, 111 * MS, 10 * MS));
    }

    #[test]
    fn what_was_here_was_sent_again() {
        let mut arrivals = Arrivals::new(0);
        arrivals.take((0, 10), 0, 0, 0);
        assert!(arrivals.take((2, 8), 10, 0, 0));
        arrivals.forget_before(10 + REMEMBERED_BYTES);
        assert!(!arrivals.take((2, 8), 10, 0, 0));
    }
}
