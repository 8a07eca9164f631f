//! Out-of-order data, and the memory that received data occupy until they are read.
//!
//! Linux charges the memory of whole buffers to the receive buffer, so this memory determines the
//! advertised window. A segment that directly follows the last segment of its queue moves into
//! that segment's buffer and costs only its payload (`tcp_try_coalesce`), as long as the buffer
//! has room for another fragment. A segment whose buffer is in one piece, as with a TUN device,
//! keeps its own buffer.

use cwndlab_packet::SackBlock;
use cwndlab_packet::seq::{after, before, earlier, later};

/// Memory of a buffer in addition to its payload: `sk_buff`, shared info and a head of 1 KiB.
const TRUESIZE_OVERHEAD_BYTES: u32 = 1_280;
/// `MAX_SKB_FRAGS`: maximum number of segments that share a buffer.
const FRAGMENTS_MAX: u32 = 17;
/// Size of `sk_buff`, which is separate from the data of a buffer in one piece.
const SKB_BYTES: u32 = 256;
/// Bytes in a buffer in one piece in addition to the payload: IP and TCP headers with timestamps,
/// headroom (`NET_SKB_PAD`), and the shared info.
const AROUND_PAYLOAD_BYTES: u32 = 52 + 64 + 320;

/// How received segments are stored in buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Buffers {
    /// The payload of a segment is in fragments, so consecutive segments can share a buffer.
    #[default]
    Shared,
    /// Each segment is in a buffer in one piece, whose length the kernel rounds up to a power of
    /// two.
    Separate,
}

impl Buffers {
    /// Maximum number of segments in the same buffer.
    #[inline]
    fn fragments_max(self) -> u32 {
        match self {
            Self::Shared => FRAGMENTS_MAX,
            Self::Separate => 1,
        }
    }

    /// Memory of a buffer in addition to the payload of its first segment.
    #[inline]
    fn overhead_bytes(self, payload: u32) -> u32 {
        match self {
            Self::Shared => TRUESIZE_OVERHEAD_BYTES,
            Self::Separate => {
                let piece = (payload + AROUND_PAYLOAD_BYTES).next_power_of_two();
                piece + SKB_BYTES - payload
            }
        }
    }
}

/// Contiguous data in one or several buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Block {
    start: u32,
    end: u32,
    buffers: u32,
    /// Memory of the block's buffers in addition to the payload.
    overhead_bytes: u32,
    /// Bytes of payload in the first buffer.
    head_bytes: u32,
    /// Number of segments in the first buffer.
    head_fragments: u32,
    /// Number of segments in the last buffer.
    tail_fragments: u32,
}

impl Block {
    fn of_segment(seq: u32, end: u32, kind: Buffers) -> Self {
        let head_bytes = end.wrapping_sub(seq);
        Self {
            start: seq,
            end,
            buffers: 1,
            overhead_bytes: kind.overhead_bytes(head_bytes),
            head_bytes,
            head_fragments: 1,
            tail_fragments: 1,
        }
    }

    fn bytes(&self) -> u32 {
        self.end.wrapping_sub(self.start)
    }

    fn memory_bytes(&self) -> u32 {
        self.bytes() + self.overhead_bytes
    }

    /// Appends a segment that starts at the end of the block.
    fn append(&mut self, end: u32, kind: Buffers) {
        if self.tail_fragments < kind.fragments_max() {
            self.tail_fragments += 1;
            if self.buffers == 1 {
                self.head_fragments = self.tail_fragments;
                self.head_bytes += end.wrapping_sub(self.end);
            }
        } else {
            self.buffers += 1;
            self.overhead_bytes += kind.overhead_bytes(end.wrapping_sub(self.end));
            self.tail_fragments = 1;
        }
        self.end = end;
    }

    /// Merges a block that starts at or before the end of this one.
    fn join(&mut self, next: &Self) {
        self.start = earlier(self.start, next.start);
        self.end = later(self.end, next.end);
        self.buffers += next.buffers;
        self.overhead_bytes += next.overhead_bytes;
        self.tail_fragments = next.tail_fragments;
    }
}

/// Out-of-order data, in sorted blocks that are neither overlapping nor adjacent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    blocks: Vec<Block>,
    pub(crate) memory_bytes: u32,
    kind: Buffers,
}

impl Reassembly {
    pub(crate) fn new(kind: Buffers) -> Self {
        Self { kind, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// `tcp_data_queue_ofo`: stores a segment that is out of order. Returns the part of it that
    /// was already present.
    pub(crate) fn store(&mut self, seq: u32, end: u32) -> Option<SackBlock> {
        let mut fresh = Block::of_segment(seq, end, self.kind);
        // Segments usually belong at the end of the last block or of one near it.
        let from = self.blocks.iter().rposition(|block| before(block.end, seq));
        let first = from.map_or(0, |index| index + 1);
        let touching = self.blocks[first..].iter().take_while(|b| !after(b.start, end)).count();
        let mut duplicate = None;
        for block in &self.blocks[first..first + touching] {
            if !before(seq, block.start) && !after(end, block.end) {
                return Some(SackBlock { start: seq, end });
            }
            let start = later(seq, block.start);
            let overlap = SackBlock { start, end: earlier(end, block.end) };
            if before(overlap.start, overlap.end) {
                duplicate = Some(overlap);
            }
        }
        let mut merged = None::<Block>;
        for block in self.blocks.drain(first..first + touching) {
            self.memory_bytes -= block.memory_bytes();
            match &mut merged {
                None if block.end == seq => {
                    let mut left = block;
                    left.append(end, self.kind);
                    merged = Some(left);
                }
                None if before(block.start, seq) => {
                    let mut left = block;
                    left.join(&fresh);
                    merged = Some(left);
                }
                None => {
                    fresh.join(&block);
                    merged = Some(fresh);
                }
                Some(left) => left.join(&block),
            }
        }
        let merged = merged.unwrap_or(fresh);
        self.memory_bytes += merged.memory_bytes();
        self.blocks.insert(first, merged);
        duplicate
    }

    /// Whether the last block ends at the sequence number `seq`.
    pub(crate) fn ends_at(&self, seq: u32) -> bool {
        self.blocks.last().is_some_and(|block| block.end == seq)
    }

    /// Number of bytes from `rcv_nxt` to the end of the last block; 0 without a block.
    pub(crate) fn bytes_beyond(&self, rcv_nxt: u32) -> u32 {
        self.blocks.last().map_or(0, |block| block.end.wrapping_sub(rcv_nxt))
    }

    /// Stores a segment that starts where the last block ends.
    pub(crate) fn extend_last(&mut self, end: u32) {
        let Some(last) = self.blocks.last_mut() else { return };
        let before = last.memory_bytes();
        last.append(end, self.kind);
        self.memory_bytes += last.memory_bytes() - before;
    }

    /// `tcp_ofo_queue`: moves data that are now in order to `queue`. Returns the new value of
    /// `rcv_nxt`.
    pub(crate) fn take(&mut self, mut rcv_nxt: u32, queue: &mut ReceiveQueue) -> u32 {
        let count = self.blocks.iter().take_while(|b| !after(b.start, rcv_nxt)).count();
        for block in self.blocks.drain(..count) {
            self.memory_bytes -= block.memory_bytes();
            if after(block.end, rcv_nxt) {
                let known = rcv_nxt.wrapping_sub(block.start);
                let head_bytes = block.head_bytes.saturating_sub(known);
                queue.push_block(&Block { start: rcv_nxt, head_bytes, ..block });
                rcv_nxt = block.end;
            }
        }
        rcv_nxt
    }
}

/// Data in order that the application has not read yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiveQueue {
    pub(crate) bytes: u64,
    pub(crate) memory_bytes: u32,
    buffers: u32,
    /// Memory of the queue's buffers in addition to the payload.
    overhead_bytes: u32,
    /// Bytes of payload in the first buffer.
    head_bytes: u64,
    tail_fragments: u32,
    kind: Buffers,
}

impl ReceiveQueue {
    pub(crate) fn new(kind: Buffers) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Memory of a segment that does not share its buffer.
    pub(crate) fn memory_of_segment(&self, payload: u32) -> u32 {
        payload + self.kind.overhead_bytes(payload)
    }

    /// `tcp_queue_rcv`: stores a segment that is in order.
    #[inline]
    pub(crate) fn push(&mut self, bytes: u32) {
        self.bytes += u64::from(bytes);
        self.memory_bytes += bytes;
        if self.buffers > 0 && self.tail_fragments < self.kind.fragments_max() {
            self.tail_fragments += 1;
        } else {
            let overhead_bytes = self.kind.overhead_bytes(bytes);
            self.memory_bytes += overhead_bytes;
            self.overhead_bytes += overhead_bytes;
            self.buffers += 1;
            self.tail_fragments = 1;
        }
        if self.buffers == 1 {
            self.head_bytes += u64::from(bytes);
        }
    }

    /// Stores an in-order segment in an empty queue; because the segment will be read at once,
    /// only its memory counts.
    #[inline]
    pub(crate) fn hold(&mut self, bytes: u32) {
        debug_assert_eq!(self.bytes, 0, "there are data that were not read");
        self.memory_bytes = bytes + self.kind.overhead_bytes(bytes);
    }

    /// Releases the memory of the held segment after it was read.
    #[inline]
    pub(crate) fn release_held(&mut self) {
        self.memory_bytes = 0;
    }

    fn push_block(&mut self, block: &Block) {
        let is_joined = self.buffers > 0
            && self.tail_fragments + block.head_fragments <= self.kind.fragments_max();
        if self.buffers <= u32::from(is_joined) {
            self.head_bytes += u64::from(block.head_bytes);
        }
        let buffers = block.buffers - u32::from(is_joined);
        self.tail_fragments = if is_joined && block.buffers == 1 {
            self.tail_fragments + block.head_fragments
        } else {
            block.tail_fragments
        };
        let shared = if is_joined { TRUESIZE_OVERHEAD_BYTES } else { 0 };
        let overhead_bytes = block.overhead_bytes - shared;
        self.buffers += buffers;
        self.overhead_bytes += overhead_bytes;
        self.bytes += u64::from(block.bytes());
        self.memory_bytes += block.bytes() + overhead_bytes;
    }

    /// Number of bytes that a read of `max` bytes takes from the first buffer.
    pub(crate) fn head(&self, max: u64) -> u64 {
        self.head_bytes.min(max)
    }

    /// Removes the `bytes` bytes that the application reads, at most all bytes in the queue.
    pub(crate) fn read(&mut self, bytes: u64) {
        let left = self.bytes - bytes;
        if left == 0 {
            *self = Self::new(self.kind);
            return;
        }
        let kept = (u64::from(self.buffers) * left).div_ceil(self.bytes) as u32;
        let overhead = u64::from(self.overhead_bytes) * u64::from(kept) / u64::from(self.buffers);
        self.overhead_bytes = overhead as u32;
        self.buffers = kept;
        self.bytes = left;
        self.head_bytes = left / u64::from(kept);
        self.memory_bytes = left as u32 + self.overhead_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1_448;
    const FULL: u32 = MSS + TRUESIZE_OVERHEAD_BYTES;

    fn at(segment: u32) -> u32 {
        segment * MSS
    }

    fn store(reassembly: &mut Reassembly, segment: u32) -> Option<SackBlock> {
        reassembly.store(at(segment), at(segment + 1))
    }

    #[test]
    fn segments_in_a_row_share_a_buffer_and_segments_apart_do_not() {
        let mut apart = Reassembly::default();
        let mut in_a_row = Reassembly::default();
        for n in 0..10 {
            assert_eq!(store(&mut apart, 1 + 2 * n), None);
            assert_eq!(store(&mut in_a_row, 1 + n), None);
        }
        assert_eq!(apart.memory_bytes, 10 * FULL);
        assert_eq!(in_a_row.memory_bytes, 10 * MSS + TRUESIZE_OVERHEAD_BYTES);
    }

    #[test]
    fn what_extends_the_last_block_is_kept_as_what_is_stored() {
        let [mut stored, mut extended] = [(); 2].map(|()| {
            let mut reassembly = Reassembly::default();
            store(&mut reassembly, 1);
            store(&mut reassembly, 3);
            reassembly
        });
        assert!(!extended.ends_at(at(2)) && extended.ends_at(at(4)));
        for n in 4..40 {
            store(&mut stored, n);
            extended.extend_last(at(n + 1));
            assert_eq!(stored.blocks, extended.blocks);
            assert_eq!(stored.memory_bytes, extended.memory_bytes);
        }
    }

    /// The memory of a segment is 2,304 bytes: each unread segment shrinks the window of a
    /// receiver behind a TUN device by half of this (docs/notes/2026-11-vm.md).
    #[test]
    fn segments_in_one_piece_stay_alone() {
        let mut reassembly = Reassembly::new(Buffers::Separate);
        for n in 1..=10 {
            store(&mut reassembly, n);
        }
        assert_eq!(reassembly.memory_bytes, 10 * 2_304);
        let mut queue = ReceiveQueue::new(Buffers::Separate);
        queue.push(MSS);
        reassembly.take(at(1), &mut queue);
        assert_eq!((queue.memory_bytes, reassembly.memory_bytes), (11 * 2_304, 0));
        queue.read(u64::from(6 * MSS));
        assert_eq!(queue.memory_bytes, 5 * 2_304);
        queue.read(u64::from(5 * MSS));
        queue.hold(1);
        assert_eq!(queue.memory_bytes, 512 + 256);
    }

    #[test]
    fn a_buffer_holds_seventeen_segments() {
        let mut reassembly = Reassembly::default();
        for n in 1..=18 {
            store(&mut reassembly, n);
        }
        assert_eq!(reassembly.memory_bytes, 18 * MSS + 2 * TRUESIZE_OVERHEAD_BYTES);
    }

    #[test]
    fn what_fills_a_hole_joins_the_data_before_it_only() {
        let mut reassembly = Reassembly::default();
        store(&mut reassembly, 1);
        store(&mut reassembly, 3);
        store(&mut reassembly, 2);
        assert_eq!(reassembly.blocks.len(), 1);
        assert_eq!(reassembly.memory_bytes, 3 * MSS + 2 * TRUESIZE_OVERHEAD_BYTES);
    }

    #[test]
    fn a_segment_that_is_there_is_a_duplicate_and_costs_nothing() {
        let mut reassembly = Reassembly::default();
        store(&mut reassembly, 1);
        store(&mut reassembly, 2);
        let memory = reassembly.memory_bytes;
        assert_eq!(store(&mut reassembly, 2), Some(SackBlock { start: at(2), end: at(3) }));
        assert_eq!(reassembly.memory_bytes, memory);
        let overlap = reassembly.store(at(2), at(4));
        assert_eq!(overlap, Some(SackBlock { start: at(2), end: at(3) }));
        assert_eq!(reassembly.blocks[0].end, at(4));
    }

    #[test]
    fn a_segment_over_a_block_swallows_it() {
        let mut reassembly = Reassembly::default();
        store(&mut reassembly, 2);
        let known = reassembly.store(at(1), at(4));
        assert_eq!(known, Some(SackBlock { start: at(2), end: at(3) }));
        let mut queue = ReceiveQueue::default();
        let rcv_nxt = reassembly.take(at(1), &mut queue);
        assert_eq!((rcv_nxt, queue.bytes), (at(4), u64::from(3 * MSS)));
        assert_eq!((reassembly.is_empty(), reassembly.memory_bytes), (true, 0));
    }

    #[test]
    fn what_follows_a_filled_hole_shares_the_buffer_of_the_segment_that_filled_it() {
        let mut reassembly = Reassembly::default();
        store(&mut reassembly, 1);
        store(&mut reassembly, 3);
        let mut queue = ReceiveQueue::default();
        queue.push(MSS);
        assert_eq!(reassembly.take(at(1), &mut queue), at(2));
        assert_eq!(queue.memory_bytes, 2 * MSS + TRUESIZE_OVERHEAD_BYTES);
        assert_eq!(reassembly.memory_bytes, FULL);
    }

    #[test]
    fn a_segment_before_a_full_buffer_stays_alone() {
        let mut reassembly = Reassembly::default();
        for n in 1..=20 {
            store(&mut reassembly, n);
        }
        let mut queue = ReceiveQueue::default();
        queue.push(MSS);
        reassembly.take(at(1), &mut queue);
        assert_eq!(queue.head(u64::MAX), u64::from(MSS));
        assert_eq!(queue.memory_bytes, 21 * MSS + 3 * TRUESIZE_OVERHEAD_BYTES);
    }

    #[test]
    fn reading_all_frees_all_and_reading_half_frees_half_of_the_buffers() {
        let mut queue = ReceiveQueue::default();
        for _ in 0..2 * FRAGMENTS_MAX {
            queue.push(MSS);
        }
        assert_eq!(queue.memory_bytes, 34 * MSS + 2 * TRUESIZE_OVERHEAD_BYTES);
        assert_eq!(queue.head(u64::MAX), u64::from(17 * MSS));
        queue.read(u64::from(17 * MSS));
        assert_eq!(queue.memory_bytes, 17 * MSS + TRUESIZE_OVERHEAD_BYTES);
        assert_eq!(queue.head(100), 100);
        queue.read(u64::from(17 * MSS));
        assert_eq!(queue.memory_bytes, 0);
    }
}
