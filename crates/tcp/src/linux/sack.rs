//! Processing of SACK blocks (RFC 2018, RFC 2883), and detection of the reordering that they
//! reveal.

use cwndlab_packet::seq::{after, before};
use cwndlab_packet::{SackBlock, SackBlocks};

use super::LinuxEndpoint;
use super::ack::{AckFlags, SackState};
use super::rate::take_rate;
use super::rtx::{LOST, RETRANS, SACKED_ACKED, SACKED_RETRANS, SHARES_BUFFER, Untouched};
use crate::info::CaState;

/// State derived from the SACK blocks received so far.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    /// Sequence number after the highest sacked segment.
    pub(super) highest_seq: u32,
    /// The blocks of the last ACK with SACK, sorted; the data that they cover are not examined
    /// again.
    pub(super) cache: [SackBlock; 4],
    /// Number of segments that were reported as duplicates.
    duplicates: u32,
    pub(super) has_seen_reordering: bool,
}

impl Scoreboard {
    pub(super) fn new(seq: u32) -> Self {
        let cache = [SackBlock::default(); 4];
        Self { highest_seq: seq, cache, duplicates: 0, has_seen_reordering: false }
    }
}

impl LinuxEndpoint {
    /// The sequence number after the highest sacked segment; `snd_una` if there is none.
    #[inline]
    pub(crate) fn highest_sack(&self) -> u32 {
        if self.sk.sacked_out == 0 { self.sk.snd_una } else { self.scoreboard.highest_seq }
    }

    /// `tcp_sacktag_write_queue`.
    pub(crate) fn handle_sacks(
        &mut self,
        wire: &SackBlocks,
        ack: u32,
        prior_una: u32,
        state: &mut SackState,
    ) -> AckFlags {
        state.reord = self.sk.snd_nxt;
        let blocks = wire.as_slice();
        let is_dsack = self.check_dsack(blocks, ack, prior_una, state);
        if before(ack, prior_una.wrapping_sub(self.peer_window.max_bytes)) {
            return AckFlags::NONE;
        }
        if self.sk.packets_out == 0 {
            return state.flags;
        }
        let mut sorted = [SackBlock::default(); 4];
        let mut count = 0;
        for (index, block) in blocks.iter().enumerate() {
            let is_duplicate = index == 0 && is_dsack;
            if !self.is_valid_block(block, is_duplicate) || !after(block.end, prior_una) {
                continue;
            }
            if is_duplicate {
                self.tag_range(block.start, block.end, true, state);
                continue;
            }
            let mut at = count;
            while at > 0 && before(block.start, sorted[at - 1].start) {
                sorted[at] = sorted[at - 1];
                at -= 1;
            }
            sorted[at] = *block;
            count += 1;
        }
        for block in &sorted[..count] {
            self.tag_news(*block, state);
        }
        self.scoreboard.cache = sorted;
        if self.ca_state() != CaState::Loss as u8 || self.recovery.undo_marker.is_some() {
            self.check_sack_reordering(state.reord);
        }
        state.flags
    }

    /// Marks the data as sacked that no block of the last ACK covered.
    fn tag_news(&mut self, block: SackBlock, state: &mut SackState) {
        let mut start = block.start;
        for index in 0..self.scoreboard.cache.len() {
            let cached = self.scoreboard.cache[index];
            if cached.start == cached.end {
                break;
            }
            if !after(cached.end, start) {
                continue;
            }
            if !before(cached.start, block.end) {
                break;
            }
            if before(start, cached.start) {
                self.tag_range(start, cached.start, false, state);
            }
            start = cached.end;
            if !before(start, block.end) {
                return;
            }
        }
        self.tag_range(start, block.end, false, state);
    }

    /// `tcp_is_sackblock_valid`, but without its tolerance of very old duplicates.
    fn is_valid_block(&self, block: &SackBlock, is_dsack: bool) -> bool {
        let sk = &self.sk;
        if after(block.end, sk.snd_nxt) || !before(block.start, block.end) {
            return false;
        }
        if !before(block.start, sk.snd_nxt) {
            return false;
        }
        after(block.start, sk.snd_una) || is_dsack
    }

    /// Marks every segment as sacked that lies entirely in the range.
    fn tag_range(&mut self, start: u32, end: u32, is_dsack: bool, state: &mut SackState) {
        let Some(first) = self.rtx.find(start, self.sk.mss_cache) else { return };
        let seq = self.rtx.get(first).seq;
        let is_beyond = !is_dsack && !before(seq, start) && !before(seq, self.highest_sack());
        let number = if is_beyond { self.tag_untouched(first, end, state) } else { first };
        if number != self.rtx.tail() && before(self.rtx.get(number).seq, end) {
            self.tag_each(number, SackBlock { start, end }, is_dsack, state);
        }
    }

    /// Marks untouched segments as sacked from `number` up to `end`; they lie above all sacked
    /// segments. Returns the first segment that was not marked.
    ///
    /// The last of these segments alone has the same effect as processing each of them.
    fn tag_untouched(&mut self, number: u32, end: u32, state: &mut SackState) -> u32 {
        let left = number.wrapping_sub(1);
        let is_behind_sacked =
            self.rtx.is_sacked(left) && self.rtx.get(left).flags & SHARES_BUFFER == 0;
        let Some(tagged) = self.rtx.sack_untouched(number, end) else { return number };
        let Untouched { first, last, count, .. } = tagged;
        self.rack_advance(0, last.end_seq, last.tx_mstamp);
        take_rate(&mut self.sk, &last, &mut state.rate);
        if !after(first.end_seq, self.sk.high_seq) {
            state.flags |= AckFlags::ORIG_SACK_ACKED;
        }
        state.flags |= AckFlags::DATA_SACKED;
        state.first_sackt.get_or_insert(first.tx_mstamp);
        state.last_sackt = last.tx_mstamp;
        state.sack_delivered += count;
        self.sk.sacked_out += count;
        self.scoreboard.highest_seq = last.end_seq;
        self.buffer.merge(count - u32::from(!is_behind_sacked));
        number.wrapping_add(count)
    }

    /// Marks the segments of the range as sacked one by one, whatever their state.
    #[inline(never)]
    fn tag_each(
        &mut self,
        mut number: u32,
        SackBlock { start, end }: SackBlock,
        is_dsack: bool,
        state: &mut SackState,
    ) {
        while number != self.rtx.tail() {
            let segment = self.rtx.get(number);
            if !before(segment.seq, end) {
                break;
            }
            if !before(segment.seq, start) && !after(segment.end_seq, end) {
                self.tag(number, is_dsack, state);
            }
            number = number.wrapping_add(1);
        }
    }

    /// `tcp_sacktag_one`.
    #[inline]
    fn tag(&mut self, number: u32, is_dsack: bool, state: &mut SackState) {
        let segment = *self.rtx.get(number);
        let mut flags = segment.flags;
        if is_dsack && flags & RETRANS != 0 {
            if self.recovery.undo_retrans > 0 && self.recovery.may_undo_up_to(segment.end_seq) {
                self.recovery.undo_retrans -= 1;
            }
            if flags & SACKED_ACKED != 0 && before(segment.seq, state.reord) {
                state.reord = segment.seq;
            }
        }
        if !after(segment.end_seq, self.sk.snd_una) {
            return;
        }
        let is_new = flags & SACKED_ACKED == 0;
        if is_new {
            self.rack_advance(flags, segment.end_seq, segment.tx_mstamp);
            let highest = self.highest_sack();
            let sk = &mut self.sk;
            if flags & SACKED_RETRANS != 0 {
                // If it is not marked lost, its retransmission is believed to be still in flight.
                if flags & LOST != 0 {
                    flags &= !(LOST | SACKED_RETRANS);
                    sk.lost_out -= 1;
                    sk.retrans_out -= 1;
                }
            } else {
                if flags & RETRANS == 0 {
                    if before(segment.seq, highest) && before(segment.seq, state.reord) {
                        state.reord = segment.seq;
                    }
                    if !after(segment.end_seq, sk.high_seq) {
                        state.flags |= AckFlags::ORIG_SACK_ACKED;
                    }
                    state.first_sackt.get_or_insert(segment.tx_mstamp);
                    state.last_sackt = segment.tx_mstamp;
                }
                if flags & LOST != 0 {
                    flags &= !LOST;
                    sk.lost_out -= 1;
                }
            }
            flags |= SACKED_ACKED;
            state.flags |= AckFlags::DATA_SACKED;
            sk.sacked_out += 1;
            state.sack_delivered += 1;
            if sk.sacked_out == 1 || after(segment.end_seq, self.scoreboard.highest_seq) {
                self.scoreboard.highest_seq = segment.end_seq;
            }
        }
        if is_dsack && flags & SACKED_RETRANS != 0 {
            flags &= !SACKED_RETRANS;
            self.sk.retrans_out -= 1;
        }
        self.rtx.get_mut(number).flags = flags;
        if segment.flags & LOST != 0 {
            self.rtx.update_waiting(number);
        }
        if is_new {
            self.rate_delivered(number, &mut state.rate);
            self.rtx.unlist(number);
            let (left, right) = (number.wrapping_sub(1), number.wrapping_add(1));
            if self.rtx.is_sacked(left) && self.rtx.get(left).flags & SHARES_BUFFER == 0 {
                self.buffer.merge(1);
            }
            if self.rtx.is_sacked(right) && flags & SHARES_BUFFER == 0 {
                self.buffer.merge(1);
            }
        }
    }

    /// `tcp_check_dsack`: whether the first block reports a duplicate (RFC 2883 section 4).
    fn check_dsack(
        &mut self,
        blocks: &[SackBlock],
        ack: u32,
        prior_una: u32,
        state: &mut SackState,
    ) -> bool {
        let Some(first) = blocks.first() else { return false };
        let is_below = before(first.start, ack);
        let is_inside = blocks.get(1).is_some_and(|second| {
            !after(first.end, second.end) && !before(first.start, second.start)
        });
        if !is_below && !is_inside {
            return false;
        }
        let duplicates = self.handle_dsack(first, state);
        if duplicates == 0 {
            return false;
        }
        // A duplicate of data that already left the queue can only be counted.
        let recovery = &mut self.recovery;
        if recovery.undo_retrans > 0
            && !after(first.end, prior_una)
            && recovery.may_undo_up_to(first.end)
        {
            recovery.undo_retrans = (recovery.undo_retrans - duplicates as i32).max(0);
        }
        true
    }

    /// `tcp_dsack_seen`: processes a report of duplicates. Returns the number of duplicate
    /// segments; 0 if the report is doubtful.
    fn handle_dsack(&mut self, block: &SackBlock, state: &mut SackState) -> u32 {
        if !before(block.start, block.end) {
            return 0;
        }
        let bytes = block.end.wrapping_sub(block.start);
        if bytes > self.peer_window.max_bytes {
            return 0;
        }
        let mut duplicates = 1;
        if bytes > self.sk.mss_cache {
            duplicates = bytes.div_ceil(self.sk.mss_cache);
        } else if self.probe.ends_at(block.end) {
            state.flags |= AckFlags::DSACK_TLP;
        }
        self.scoreboard.duplicates += duplicates;
        if self.scoreboard.duplicates > self.sk.total_retrans {
            return 0;
        }
        if self.scoreboard.has_seen_reordering && !state.flags.has(AckFlags::DSACK_TLP) {
            self.rack.is_dsack_seen = true;
        }
        state.flags |= AckFlags::DSACKING_ACK;
        state.sack_delivered += duplicates;
        duplicates
    }

    /// `tcp_check_sack_reordering`: records reordering if data below the highest SACK arrived
    /// late.
    pub(crate) fn check_sack_reordering(&mut self, low_seq: u32) {
        let highest = self.highest_sack();
        if !before(low_seq, highest) {
            return;
        }
        let distance = highest.wrapping_sub(low_seq);
        let mss = self.sk.mss_cache;
        if distance > self.sk.reordering.saturating_mul(mss) {
            let degree = distance.div_ceil(mss);
            self.sk.reordering = degree.min(self.settings.reordering.max_reordering_pkts);
        }
        self.scoreboard.has_seen_reordering = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::empty_rate_sample;
    use crate::linux::testing::{Pair, SENDER};

    #[test]
    fn segments_beyond_all_that_were_sacked_are_tagged_together_as_one_after_the_other() {
        let [mut together, mut alone] = [(); 2].map(|()| Pair::established());
        let segments = together.write(14_480);
        assert_eq!(segments, alone.write(14_480));
        for (first, last) in [(2, 3), (4, 4), (6, 8), (1, 1), (9, 9)] {
            let (start, end) = (segments[first].seq, segments[last].end_seq());
            let [mut short, mut long] = [(); 2].map(|()| SackState::new(empty_rate_sample()));
            together.ends[SENDER].tag_range(start, end, false, &mut short);
            let sender = &mut alone.ends[SENDER];
            let number = sender.rtx.find(start, sender.sk.mss_cache).expect("it is out");
            sender.tag_each(number, SackBlock { start, end }, false, &mut long);
            assert_eq!(format!("{short:?}"), format!("{long:?}"), "{first} to {last}");
            assert!(together.state_of(SENDER) == alone.state_of(SENDER), "{first} to {last}");
        }
        assert_eq!(together.ends[SENDER].sk.sacked_out, 8);
    }

    #[test]
    fn blocks_tag_what_lies_wholly_in_them_once() {
        let mut pair = Pair::established();
        let segments = pair.write(14_480);
        let acks = pair.deliver(&[segments[1], segments[2], segments[4]]);
        pair.answer(&acks[..1]);
        assert_eq!(pair.ends[SENDER].sk.sacked_out, 1);
        pair.answer(&acks);
        let sender = &pair.ends[SENDER];
        assert_eq!((sender.sk.sacked_out, sender.sk.delivered), (3, 4), "with the SYN");
        assert_eq!(sender.highest_sack(), segments[4].end_seq());
    }

    /// Tests RFC 2883 section 4.
    #[test]
    fn a_duplicate_is_counted_and_nothing_is_taken_off_for_it() {
        let mut pair = Pair::established();
        let segments = pair.write(14_480);
        let acks = pair.deliver(&segments[..2]);
        pair.answer(&acks);
        let acks = pair.deliver(&segments[..1]);
        assert_eq!(acks.last().expect("an answer").sacks.as_slice().len(), 1);
        let in_flight = pair.ends[SENDER].in_flight();
        pair.answer(&acks);
        let sender = &pair.ends[SENDER];
        assert_eq!((sender.scoreboard.duplicates, sender.in_flight()), (1, in_flight));
    }
}
