//! The SACK option of ACKs: blocks of out-of-order data (RFC 2018) and duplicates (RFC 2883).

use cwndlab_packet::seq::{before, earlier, later};
use cwndlab_packet::{SackBlock, Segment};

use crate::linux::settings::TIMESTAMP_BYTES;

/// `TCP_NUM_SACKS`: number of blocks that are remembered.
const BLOCKS_KEPT: usize = 4;

/// The blocks that the next ACKs report.
#[derive(Clone, Debug, Default)]
pub(crate) struct SackReport {
    /// Blocks of out-of-order data; the most recent block is first (RFC 2018 section 4).
    blocks: Vec<SackBlock>,
    /// A duplicate segment, which is reported only once.
    duplicate: Option<SackBlock>,
}

impl SackReport {
    /// Whether there is neither a block nor a duplicate to report.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.duplicate.is_none() && self.blocks.is_empty()
    }

    /// Number of blocks to report, including a duplicate.
    pub(crate) fn count(&self) -> usize {
        usize::from(self.duplicate.is_some()) + self.blocks.len()
    }

    /// Puts the blocks to report into an ACK, the duplicate first.
    #[inline(never)]
    pub(crate) fn put_into(&mut self, segment: &mut Segment) {
        // 40 bytes of options hold four blocks, or three with timestamps.
        let stamps = if segment.timestamps.is_some() { TIMESTAMP_BYTES as usize } else { 0 };
        let counts = segment.ecn_option().map_or(0, |option| option.padded_bytes());
        let room = (36 - stamps - counts) / 8;
        for block in self.duplicate.take().iter().chain(&self.blocks).take(room) {
            segment.sacks.push(*block);
        }
        segment.header_bytes += 4 + 8 * segment.sacks.as_slice().len() as u16;
    }

    /// Records data that had been received before.
    pub(crate) fn note_duplicate(&mut self, start: u32, end: u32) {
        self.duplicate = Some(SackBlock { start, end });
    }

    /// Removes the duplicate from the report.
    pub(crate) fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// Removes the blocks that are in order now; removes all blocks if no data are out of order.
    pub(crate) fn forget_below(&mut self, rcv_nxt: u32, is_all_in_order: bool) {
        if is_all_in_order {
            self.blocks.clear();
        } else {
            self.blocks.retain(|block| before(rcv_nxt, block.start));
        }
    }

    /// Whether new out-of-order data would form a block of their own that displaces the oldest
    /// block.
    pub(crate) fn would_forget(&self, start: u32, end: u32) -> bool {
        self.blocks.len() == BLOCKS_KEPT
            && !self.blocks.iter().any(|block| block.touches(start, end))
    }

    /// Whether the block with the newest data ends at the sequence number `seq`.
    pub(crate) fn newest_ends_at(&self, seq: u32) -> bool {
        self.blocks.first().is_some_and(|block| block.end == seq)
    }

    /// Extends the newest block by data that start at its end and end before any other block.
    pub(crate) fn extend_newest(&mut self, end: u32) {
        if let Some(block) = self.blocks.first_mut() {
            block.end = end;
        }
    }

    /// `tcp_sack_new_ofo_skb`: puts the block with the newest data first.
    pub(crate) fn note_block(&mut self, start: u32, end: u32) {
        let Some(index) = self.blocks.iter().position(|block| block.touches(start, end)) else {
            self.blocks.truncate(BLOCKS_KEPT - 1);
            self.blocks.insert(0, SackBlock { start, end });
            return;
        };
        let block = &mut self.blocks[index];
        block.start = earlier(block.start, start);
        block.end = later(block.end, end);
        self.blocks[..=index].rotate_right(1);
        let mut other = 1;
        while other < self.blocks.len() {
            let (first, second) = (self.blocks[0], self.blocks[other]);
            if first.touches(second.start, second.end) {
                self.blocks[0].start = earlier(first.start, second.start);
                self.blocks[0].end = later(first.end, second.end);
                self.blocks.remove(other);
            } else {
                other += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(report: &mut SackReport) -> Vec<(u32, u32)> {
        let mut segment = Segment::default();
        report.put_into(&mut segment);
        segment.sacks.as_slice().iter().map(|block| (block.start, block.end)).collect()
    }

    #[test]
    fn the_block_with_the_newest_data_goes_first() {
        let mut report = SackReport::default();
        for (start, end) in [(100, 200), (300, 400), (500, 600), (200, 210)] {
            report.note_block(start, end);
        }
        assert_eq!(blocks(&mut report), [(100, 210), (500, 600), (300, 400)]);
    }

    #[test]
    fn data_behind_the_newest_block_make_it_longer() {
        let mut report = SackReport::default();
        assert!(!report.newest_ends_at(200));
        for (start, end) in [(300, 400), (100, 200)] {
            report.note_block(start, end);
        }
        assert!(report.newest_ends_at(200) && !report.newest_ends_at(400));
        report.extend_newest(250);
        assert_eq!(blocks(&mut report), [(100, 250), (300, 400)]);
    }

    #[test]
    fn data_between_two_blocks_make_them_one() {
        let mut report = SackReport::default();
        for (start, end) in [(100, 200), (300, 400), (200, 300)] {
            report.note_block(start, end);
        }
        assert_eq!(blocks(&mut report), [(100, 400)]);
    }

    #[test]
    fn a_fifth_block_pushes_the_oldest_out() {
        let mut report = SackReport::default();
        for start in [100, 300, 500, 700] {
            report.note_block(start, start + 100);
        }
        assert!(report.would_forget(900, 1_000) && !report.would_forget(800, 900));
        report.note_block(900, 1_000);
        assert_eq!(blocks(&mut report), [(900, 1_000), (700, 800), (500, 600), (300, 400)]);
    }

    #[test]
    fn a_duplicate_is_reported_once_and_first_and_leaves_room_for_fewer_blocks() {
        let mut report = SackReport::default();
        for start in [100, 300, 500] {
            report.note_block(start, start + 100);
        }
        report.note_duplicate(1, 50);
        let mut segment = Segment { timestamps: Some((1, 2)), ..Segment::default() };
        report.put_into(&mut segment);
        assert_eq!(segment.sacks.as_slice()[0], SackBlock { start: 1, end: 50 });
        assert_eq!((segment.sacks.as_slice().len(), segment.header_bytes), (3, 4 + 24));
        assert_eq!(blocks(&mut report).len(), 3);
    }
}
