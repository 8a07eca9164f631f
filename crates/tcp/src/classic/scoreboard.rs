//! The scoreboard of a classic sender: the state of the bytes in flight, derived from SACK blocks.
//!
//! Three positions advance through the sequence space: `una <= repaired <= lost <= highest SACK`.
//! Holes below `repaired` were retransmitted, holes between `repaired` and `lost` wait for
//! retransmission, and holes above `lost` may still arrive. Each position passes a hole only once,
//! so the counts cost amortised O(1) per ACK. A lost retransmission lies below all three
//! positions; such segments are stored separately.

use std::collections::VecDeque;

use super::intervals::Intervals;

/// A segment that was retransmitted.
#[derive(Clone, Copy, Debug)]
struct Repair {
    start: u64,
    end: u64,
    /// The highest byte that was sent before the retransmission.
    max: u64,
}

/// A scoreboard, in which sequence numbers count payload bytes from 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    una: u64,
    sacked: Intervals,
    repaired: u64,
    lost: u64,
    /// Number of bytes in holes between `repaired` and `lost`.
    waiting: u64,
    /// Retransmissions in the order in which they were sent.
    repairs: VecDeque<Repair>,
    /// Start and end of segments whose retransmission was lost, too.
    lost_again: VecDeque<(u64, u64)>,
    /// Number of bytes in `lost_again`.
    waiting_again: u64,
}

impl Scoreboard {
    /// Records a SACK block. Returns whether the block reports anything new.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> bool {
        let (from, to) = (start.max(self.repaired), end.min(self.lost));
        // A hole considered lost was filled after all.
        self.waiting -= self.sacked.uncovered(from, to);
        let is_new = self.sacked.insert(start, end).1 > 0;
        if is_new {
            self.forget_filled();
        }
        is_new
    }

    /// Removes segments that have arrived from those whose retransmission was lost.
    fn forget_filled(&mut self) {
        if self.waiting_again > 0 {
            let (sacked, una) = (&self.sacked, self.una);
            self.lost_again.retain(|&(start, end)| {
                start >= una && sacked.first_hole(start, end) == Some((start, end))
            });
            self.waiting_again = self.lost_again.iter().map(|(start, end)| end - start).sum();
        }
    }

    /// Records that all bytes below `una` are acknowledged.
    pub(crate) fn advance(&mut self, una: u64) {
        if una > self.repaired {
            self.waiting -= self.sacked.uncovered(self.repaired, una.min(self.lost));
            self.repaired = una;
            self.lost = self.lost.max(una);
        }
        self.una = una;
        self.sacked.remove_below(una);
        while self.repairs.front().is_some_and(|repair| repair.end <= una) {
            self.repairs.pop_front();
        }
        self.forget_filled();
    }

    /// Removes all SACK blocks: after a timeout, the receiver may have discarded data that it had
    /// reported (RFC 2018 section 8).
    pub(crate) fn clear(&mut self, una: u64) {
        *self = Self { una, repaired: una, lost: una, ..Self::default() };
    }

    /// Marks all bytes up to `max` that are not reported by SACK as lost, including
    /// retransmissions.
    pub(crate) fn give_up(&mut self, max: u64) {
        let (una, sacked) = (self.una, std::mem::take(&mut self.sacked));
        *self = Self { una, sacked, repaired: una, lost: una, ..Self::default() };
        self.raise_lost(max);
    }

    /// Marks the holes below the position `edge` as lost.
    pub(crate) fn raise_lost(&mut self, edge: u64) {
        if edge > self.lost {
            self.waiting += self.sacked.uncovered(self.lost, edge);
            self.lost = edge;
        }
    }

    /// Returns the position above which `bytes` of data reported by SACK lie, or 0 if there are
    /// fewer: holes below this position are lost (`IsLost`, RFC 6675 section 4).
    pub(crate) fn edge_below_sacked(&self, bytes: u64) -> u64 {
        let mut left = bytes;
        for (start, end) in self.sacked.iter().rev() {
            match left.checked_sub(end - start) {
                None | Some(0) => return start,
                Some(rest) => left = rest,
            }
        }
        0
    }

    /// Marks retransmissions as lost if SACK reports data at least `distance` bytes above the
    /// highest byte that had been sent at the time of the retransmission.
    pub(crate) fn find_lost_repairs(&mut self, distance: u64) {
        let Some(highest) = self.highest() else { return };
        while let Some(&Repair { start, end, max }) = self.repairs.front() {
            let is_hole = start >= self.una && self.sacked.first_hole(start, end).is_some();
            if is_hole && highest < max + distance {
                return;
            }
            self.repairs.pop_front();
            if is_hole {
                self.lost_again.push_back((start, end));
                self.waiting_again += end - start;
            }
        }
    }

    /// Returns the next segment that waits for retransmission, of at most `segment` bytes.
    pub(crate) fn next_lost(&self, segment: u64) -> Option<(u64, u64)> {
        if let Some(&again) = self.lost_again.front() {
            return Some(again);
        }
        let (start, end) = self.sacked.first_hole(self.repaired, self.lost)?;
        Some((start, end.min(start + segment)))
    }

    /// Records a retransmission of the first segment, whether or not it was retransmitted before.
    pub(crate) fn repair_first(&mut self, end: u64, max: u64) {
        let una = self.una;
        self.repairs.retain(|repair| repair.start != una);
        self.lost_again.retain(|again| again.0 != una);
        self.forget_filled();
        self.repair(una, end, max);
    }

    /// Records the retransmission of the segment that [`Scoreboard::next_lost`] returned; at this
    /// time, `max` is the highest byte sent.
    pub(crate) fn repair(&mut self, start: u64, end: u64, max: u64) {
        if let Some(&(_, again)) = self.lost_again.front().filter(|again| again.0 == start) {
            self.lost_again.pop_front();
            self.waiting_again -= again - start;
        }
        self.repairs.push_back(Repair { start, end, max });
        if end > self.repaired {
            self.waiting -= self.sacked.uncovered(self.repaired, end.min(self.lost));
            self.repaired = end;
            self.lost = self.lost.max(end);
        }
    }

    /// Number of bytes that the receiver holds out of order.
    pub(crate) fn sacked_bytes(&self) -> u64 {
        self.sacked.covered()
    }

    /// Number of bytes that are considered lost and have not been retransmitted.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.waiting + self.waiting_again
    }

    /// End of the highest SACK block: the forward ACK.
    pub(crate) fn highest(&self) -> Option<u64> {
        self.sacked.highest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scoreboard on which every second of ten segments of 100 bytes is lost: 0, 200, 400, ...
    fn every_second_lost() -> Scoreboard {
        let mut board = Scoreboard::default();
        for n in 0..5 {
            assert!(board.insert(n * 200 + 100, n * 200 + 200));
        }
        board
    }

    #[test]
    fn holes_wait_once_the_edge_has_passed_them() {
        let mut board = every_second_lost();
        assert_eq!(board.waiting_bytes(), 0);
        board.raise_lost(board.highest().expect("blocks") - 300);
        assert_eq!(board.waiting_bytes(), 400, "0, 200, 400 and 600 lie below 700");
        assert_eq!(board.next_lost(100), Some((0, 100)));
    }

    #[test]
    fn three_segments_above_make_a_loss() {
        let board = every_second_lost();
        assert_eq!(board.edge_below_sacked(300), 500);
        assert_eq!(board.edge_below_sacked(600), 0);
    }

    #[test]
    fn each_hole_is_repaired_once_in_order() {
        let mut board = every_second_lost();
        board.raise_lost(900);
        let mut repaired = Vec::new();
        while let Some((start, end)) = board.next_lost(100) {
            repaired.push(start);
            board.repair(start, end, 1_000);
        }
        assert_eq!(repaired, [0, 200, 400, 600, 800]);
        assert_eq!(board.waiting_bytes(), 0);
    }

    #[test]
    fn lost_repairs_wait_once_more_unless_they_arrive() {
        let mut board = every_second_lost();
        board.raise_lost(500);
        for start in [0, 200, 400] {
            board.repair(start, start + 100, 1_000);
        }
        board.insert(1_000, 1_300);
        board.insert(200, 300);
        board.find_lost_repairs(400);
        assert_eq!(board.waiting_bytes(), 0, "too little is SACKed above");
        board.insert(1_300, 1_400);
        board.find_lost_repairs(400);
        assert_eq!(board.waiting_bytes(), 200, "the second has arrived");
        assert_eq!(board.next_lost(100), Some((0, 100)));
        board.repair(0, 100, 1_400);
        board.insert(400, 500);
        assert_eq!((board.waiting_bytes(), board.next_lost(100)), (0, None));
    }

    #[test]
    fn late_arrival_of_a_lost_segment_is_not_repaired() {
        let mut board = every_second_lost();
        board.raise_lost(900);
        assert_eq!(board.waiting_bytes(), 500);
        assert!(board.insert(200, 300));
        assert_eq!(board.waiting_bytes(), 400);
        board.repair(0, 100, 1_000);
        assert_eq!(board.next_lost(100), Some((400, 500)));
    }

    #[test]
    fn what_is_given_up_is_repaired_once_more_but_for_what_is_sacked() {
        let mut board = every_second_lost();
        board.raise_lost(900);
        board.repair(0, 100, 1_000);
        board.give_up(1_200);
        assert_eq!(board.waiting_bytes(), 700, "five holes and 200 bytes above the blocks");
        assert_eq!(board.next_lost(100), Some((0, 100)));
        assert_eq!(board.sacked_bytes(), 500);
    }

    #[test]
    fn cumulative_ack_ends_waiting_below_it() {
        let mut board = every_second_lost();
        board.raise_lost(900);
        board.advance(450);
        assert_eq!(board.waiting_bytes(), 250, "50 bytes of 400, and 600 and 800");
        assert_eq!(board.sacked_bytes(), 300, "500, 700 and 900");
        board.advance(1_000);
        assert_eq!((board.waiting_bytes(), board.sacked_bytes()), (0, 0));
    }
}
