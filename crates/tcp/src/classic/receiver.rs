//! The receiving half of a classic endpoint: data in order, data out of order, and the times at
//! which ACKs leave.

use cwndlab_units::Time;

use super::intervals::Intervals;
use super::settings::ClassicSettings;

/// SACK blocks of one ACK; the most recent block is first (RFC 2018 section 4).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct SackBlocks {
    blocks: [(u64, u64); SackBlocks::MAX],
    count: u8,
}

impl SackBlocks {
    pub(crate) const MAX: usize = 4;

    pub(crate) fn as_slice(&self) -> &[(u64, u64)] {
        &self.blocks[..usize::from(self.count)]
    }

    /// Inserts `block` before the other blocks, and removes the blocks that it contains.
    fn push_front(&mut self, block: (u64, u64)) {
        let mut kept = Self { blocks: [block; Self::MAX], count: 1 };
        for &old in self.as_slice() {
            let inside = block.0 <= old.0 && old.1 <= block.1;
            if !inside && usize::from(kept.count) < Self::MAX {
                kept.blocks[usize::from(kept.count)] = old;
                kept.count += 1;
            }
        }
        *self = kept;
    }

    fn drop_below(&mut self, next: u64) {
        let mut kept = Self::default();
        for &block in self.as_slice().iter().filter(|block| block.1 > next) {
            kept.blocks[usize::from(kept.count)] = block;
            kept.count += 1;
        }
        *self = kept;
    }

    fn truncated(mut self, count: u8) -> Self {
        self.count = self.count.min(count);
        self
    }
}

/// Reassembles one direction of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    next: u64,
    held: Intervals,
    recent: SackBlocks,
    unacknowledged_segments: u32,
    /// Whether the next ACK waits for further segments or for its timer.
    is_waiting: bool,
    ack_due: Time,
}

impl Receiver {
    pub(crate) fn new() -> Self {
        Self {
            next: 0,
            held: Intervals::default(),
            recent: SackBlocks::default(),
            unacknowledged_segments: 0,
            is_waiting: false,
            ack_due: Time::NEVER,
        }
    }

    /// Processes the data `start..end`. If the data are out of order or fill a hole, an ACK is due
    /// at once. Otherwise, it is due after `ack_segments` segments or when the timer expires (RFC
    /// 5681 section 4.2).
    pub(crate) fn handle_data(
        &mut self,
        now: Time,
        start: u64,
        end: u64,
        settings: &ClassicSettings,
    ) {
        let in_order = start <= self.next && end > self.next;
        if in_order && self.held.is_empty() {
            self.next = end;
            self.unacknowledged_segments += 1;
            if self.unacknowledged_segments < settings.ack_segments {
                if !self.is_waiting {
                    self.is_waiting = true;
                    self.ack_due = self.ack_due.min(now + settings.delayed_ack());
                }
                return;
            }
        } else if end > self.next {
            let (block, _) = self.held.insert(start.max(self.next), end);
            if block.0 == self.next {
                self.next = block.1;
                self.held.remove_below(self.next);
                self.recent.drop_below(self.next);
            } else {
                self.recent.push_front(block);
            }
        }
        self.demand_ack(now);
    }

    /// Requests that an ACK leaves now.
    pub(crate) fn demand_ack(&mut self, now: Time) {
        self.ack_due = now;
        self.is_waiting = false;
    }

    /// Time at which an ACK must leave.
    pub(crate) fn ack_due(&self) -> Time {
        self.ack_due
    }

    /// Whether the next ACK waits for its timer.
    pub(crate) fn is_ack_delayed(&self) -> bool {
        self.is_waiting
    }

    /// Records that an ACK leaves now, alone or with data.
    pub(crate) fn note_ack_sent(&mut self) {
        self.ack_due = Time::NEVER;
        self.unacknowledged_segments = 0;
        self.is_waiting = false;
    }

    /// The next byte that the receiver expects.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// SACK blocks for an ACK that leaves now.
    pub(crate) fn sack_blocks(&self, settings: &ClassicSettings) -> SackBlocks {
        self.recent.truncated(settings.sack_blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::ns_2_packet;
    use super::*;

    #[test]
    fn every_segment_is_acknowledged_at_once_if_one_makes_an_ack() {
        let mut receiver = Receiver::new();
        let now = Time::from_millis(5);
        receiver.handle_data(now, 0, 100, &ns_2_packet());
        assert_eq!((receiver.ack_due(), receiver.next()), (now, 100));
    }

    #[test]
    fn second_segment_or_timer_sends_a_delayed_ack() {
        let settings = ClassicSettings { ack_segments: 2, delayed_ack_ms: 100, ..ns_2_packet() };
        let mut receiver = Receiver::new();
        receiver.handle_data(Time::ZERO, 0, 100, &settings);
        assert_eq!(receiver.ack_due(), Time::from_millis(100));
        receiver.handle_data(Time::from_millis(7), 100, 200, &settings);
        assert_eq!(receiver.ack_due(), Time::from_millis(7));
        receiver.note_ack_sent();
        assert!(receiver.ack_due().is_never());
    }

    #[test]
    fn blocks_are_reported_most_recent_first() {
        let settings = ns_2_packet();
        let mut receiver = Receiver::new();
        for start in [100, 300, 500, 700] {
            receiver.handle_data(Time::ZERO, start, start + 100, &settings);
        }
        let blocks = receiver.sack_blocks(&settings);
        assert_eq!(blocks.as_slice(), [(700, 800), (500, 600), (300, 400)]);
        receiver.handle_data(Time::ZERO, 400, 500, &settings);
        let blocks = receiver.sack_blocks(&settings);
        assert_eq!(blocks.as_slice(), [(300, 600), (700, 800), (100, 200)]);
    }

    #[test]
    fn filled_hole_releases_what_was_held() {
        let settings = ns_2_packet();
        let mut receiver = Receiver::new();
        receiver.handle_data(Time::ZERO, 100, 200, &settings);
        receiver.handle_data(Time::ZERO, 300, 400, &settings);
        receiver.handle_data(Time::ZERO, 0, 100, &settings);
        assert_eq!(receiver.next(), 200);
        assert_eq!(receiver.sack_blocks(&settings).as_slice(), [(300, 400)]);
    }

    #[test]
    fn duplicate_data_are_acknowledged_at_once() {
        let settings = ClassicSettings { ack_segments: 2, ..ns_2_packet() };
        let mut receiver = Receiver::new();
        receiver.handle_data(Time::ZERO, 0, 200, &settings);
        receiver.note_ack_sent();
        receiver.handle_data(Time::from_millis(1), 0, 100, &settings);
        assert_eq!((receiver.ack_due(), receiver.next()), (Time::from_millis(1), 200));
    }
}
