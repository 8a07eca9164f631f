//! Outcomes of blocks: which packets are delivered, in which order, and which data are sent again.

use cwndlab_units::Time;

use super::{Bearer, Block, Range, State};
use crate::cellular::config::RlcConfig;
use crate::cellular::outbox::Outbox;
use crate::event::DropReason;
use crate::packet::Packet;

impl<P: Packet> Bearer<P> {
    /// Handles a block that was decoded: delivers complete packets at `at`.
    pub(crate) fn handle_decoded(&mut self, at: Time, range: Range, outbox: &mut Outbox) {
        let index = self.index_of(range.start);
        self.blocks[index].state = State::Decoded(at);
        if matches!(self.rlc, RlcConfig::Transparent {}) {
            self.release_whole(at, range, outbox);
        }
        if index == 0 {
            self.release(at, outbox);
        }
    }

    /// Handles a block that HARQ gave up; the receiver notices this at `at`.
    pub(crate) fn handle_failed(&mut self, at: Time, range: Range, outbox: &mut Outbox) {
        let index = self.index_of(range.start);
        match self.rlc {
            RlcConfig::Acknowledged { recovery } => self.again.push_back((at + recovery, range)),
            RlcConfig::Unacknowledged { reordering } => {
                self.blocks[index].state = State::Lost(at + reordering);
            }
            RlcConfig::Transparent {} => {
                self.blocks[index].state = State::Lost(at);
                self.release(at, outbox);
            }
        }
    }

    /// Handles a handover: data in transmission are sent again from `now` on, or lost.
    pub(crate) fn handle_handover(&mut self, now: Time, is_lossless: bool, outbox: &mut Outbox) {
        self.again.clear();
        for block in self.blocks.iter_mut().filter(|block| block.state == State::Flying) {
            if is_lossless {
                self.again.push_back((now, block.range));
            } else {
                block.state = State::Lost(now);
            }
        }
        self.release(now, outbox);
    }

    /// Time at which the lost block at the front stops delaying later data.
    pub(crate) fn timer(&self) -> Time {
        match self.blocks.front() {
            Some(Block { state: State::Lost(until), .. }) => *until,
            _ => Time::NEVER,
        }
    }

    /// Delivers the packets that are complete and in order.
    pub(crate) fn release(&mut self, at: Time, outbox: &mut Outbox) {
        while let Some(&Block { range, state }) = self.blocks.front() {
            let whole_at = match state {
                State::Decoded(whole_at) => whole_at,
                State::Lost(until) if until <= at => {
                    self.damage(range);
                    until
                }
                State::Flying | State::Lost(_) => break,
            };
            self.blocks.pop_front();
            self.released_at = self.released_at.max(at).max(whole_at);
            self.release_until(self.released_at, range.end, outbox);
        }
    }

    fn damage(&mut self, range: Range) {
        for entry in self.line.range_mut(self.out..) {
            if entry.start() >= range.end {
                break;
            }
            entry.is_damaged |= entry.end > range.start;
        }
    }

    fn release_until(&mut self, at: Time, end: u64, outbox: &mut Outbox) {
        let before = self.out;
        loop {
            let behind = self.line.range(self.out..);
            let whole = behind.take_while(|entry| entry.end <= end && !entry.is_damaged).count();
            self.out += whole;
            self.unsent -= whole;
            self.ready -= whole;
            if self.line.get(self.out).is_none_or(|entry| entry.end > end) {
                break;
            }
            let damaged =
                self.line.remove(self.out).expect("the entry exists, because it was just examined");
            self.unsent -= 1;
            self.ready -= 1;
            self.drop_packet(at, &damaged.packet, DropReason::Loss, outbox);
        }
        outbox.push(at, self.out - before);
        self.active_at = self.active_at.max(at);
    }

    /// Delivers the packets of a decoded block whose bytes in other blocks are decoded, too. These
    /// packets may overtake other packets.
    fn release_whole(&mut self, at: Time, range: Range, outbox: &mut Outbox) {
        let before = self.out;
        let behind = self.line.range(self.out..);
        let mut place = self.out + behind.take_while(|entry| entry.end <= range.start).count();
        while let Some(entry) = self.line.get_mut(place).filter(|entry| entry.start() < range.end) {
            let common = entry.end.min(range.end) - entry.start().max(range.start);
            entry.missing -= common as u32;
            if entry.missing == 0 {
                let entry = self
                    .line
                    .remove(place)
                    .expect("the entry exists, because it was just examined");
                self.line.insert(self.out, entry);
                self.out += 1;
                self.unsent -= 1;
                self.ready -= 1;
            }
            place += 1;
        }
        outbox.push(at, self.out - before);
    }
}
