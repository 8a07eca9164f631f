//! What one node has for another: the sender's queue and the receiver's reordering as one line.
//!
//! ```text
//!   front             out: the first that the receiver misses            back: the last to come
//!     | to be polled  | waiting | received | given up | waiting | waiting | ...
//!                     |<---------- window of the block ACK --------->|
//! ```
//!
//! The receiver passes on in order (802.11-2012 section 9.21.7), so what it has received behind
//! something that it misses stays here until that is received, or until it is told, with the next
//! frame that it gets, that the sender gave it up.

use core::ops::ControlFlow;
use std::collections::VecDeque;

use cwndlab_units::Time;

use crate::Backlog;

/// Packets on their way from one node to another.
#[derive(Clone, Debug)]
pub(crate) struct Lane<P> {
    line: VecDeque<Entry<P>>,
    /// How many at the front are passed on, and wait to be polled. Places are counted behind them.
    out: usize,
    /// How many of the line are waiting.
    waiting: u32,
    /// How many of the line are received.
    received: u32,
    /// What those that wait would be in an aggregate.
    waiting_bytes: u64,
}

#[derive(Clone, Debug)]
struct Entry<P> {
    /// `None` after it was given up.
    packet: Option<P>,
    arrived: Time,
    /// Length with the headers of the link.
    bytes: u32,
    attempts: u32,
    is_received: bool,
}

/// How much goes into one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameLimits {
    /// Packets, and how far they may be from the first that the receiver misses.
    pub(crate) packets: u32,
    /// Bytes of an aggregate.
    pub(crate) bytes: u64,
}

impl<P> Lane<P> {
    pub(crate) fn new() -> Self {
        Self { line: VecDeque::new(), out: 0, waiting: 0, received: 0, waiting_bytes: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, now: Time, bytes: u32, packet: P) {
        let packet = Some(packet);
        self.line.push_back(Entry { packet, arrived: now, bytes, attempts: 0, is_received: false });
        self.waiting += 1;
        self.waiting_bytes += padded_bytes(bytes);
    }

    /// Bytes of what waits, in an aggregate.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Whether another packet would not go into the next frame.
    pub(crate) fn fills(&self, limits: FrameLimits) -> bool {
        self.line.len() - self.out >= limits.packets as usize || self.waiting_bytes >= limits.bytes
    }

    /// Whether there is anything to send: packets, or to tell the receiver what was given up.
    pub(crate) fn has_work(&self) -> bool {
        self.waiting + self.received > 0
    }

    /// How many packets are in it, received or not, or passed on and not polled.
    pub(crate) fn len(&self) -> usize {
        (self.waiting + self.received) as usize + self.out
    }

    /// Since when the oldest has been there.
    pub(crate) fn oldest(&self) -> Time {
        self.line.get(self.out).map_or(Time::NEVER, |entry| entry.arrived)
    }

    /// Chooses what goes into the next frame, by place in the line, and returns the frame's length;
    /// nothing is chosen if there is only something to tell.
    ///
    /// At least one packet goes, however long.
    pub(crate) fn choose(&self, limits: FrameLimits, chosen: &mut Vec<u32>) -> u64 {
        chosen.clear();
        if let Some(length) = self.whole_length(limits) {
            chosen.extend(0..self.waiting);
            return length;
        }
        if self.waiting as usize == self.line.len() - self.out {
            let (length, count) = self.longest_prefix(limits);
            chosen.extend(0..count);
            return length;
        }
        let mut length = 0;
        let mut aggregate = 0;
        let mut behind = self.line.range(self.out..).take(limits.packets as usize).enumerate();
        // In the line's own loop, which does not ask at each packet whether the ring goes round.
        let _ = behind.try_for_each(|(place, entry)| {
            if !entry.is_waiting() {
                return ControlFlow::Continue(());
            }
            let with_this = aggregate + subframe_bytes(entry.bytes);
            if !chosen.is_empty() && with_this > limits.bytes {
                return ControlFlow::Break(());
            }
            chosen.push(place as u32);
            length = if chosen.len() == 1 { u64::from(entry.bytes) } else { with_this };
            aggregate = with_this.next_multiple_of(4);
            ControlFlow::Continue(())
        });
        length
    }

    /// Length of a frame with as many packets from the front, of which all wait, as fit, and how many
    /// they are.
    fn longest_prefix(&self, limits: FrameLimits) -> (u64, u32) {
        let (mut length, mut aggregate, mut count) = (0, 0, 0);
        let mut behind = self.line.range(self.out..).take(limits.packets as usize);
        let _ = behind.try_for_each(|entry| {
            let with_this = aggregate + subframe_bytes(entry.bytes);
            if count > 0 && with_this > limits.bytes {
                return ControlFlow::Break(());
            }
            length = if count == 0 { u64::from(entry.bytes) } else { with_this };
            aggregate = with_this.next_multiple_of(4);
            count += 1;
            ControlFlow::Continue(())
        });
        (length, count)
    }

    /// Length of a frame with everything, if all of it waits and goes into one.
    fn whole_length(&self, limits: FrameLimits) -> Option<u64> {
        let is_all_waiting = self.waiting as usize == self.line.len() - self.out;
        if self.waiting == 0 || self.waiting > limits.packets || !is_all_waiting {
            return None;
        }
        let last = self.line.back()?.bytes;
        if self.waiting == 1 {
            return Some(u64::from(last));
        }
        let length = self.waiting_bytes - padded_bytes(last) + subframe_bytes(last);
        (length <= limits.bytes).then_some(length)
    }

    /// Length with headers of the packet at a place.
    pub(crate) fn bytes_at(&self, place: u32) -> u32 {
        self.line[self.out + place as usize].bytes
    }

    /// The packet at this place was sent, and received or not. Gives it back if it was not after so
    /// many attempts.
    pub(crate) fn sent(
        &mut self,
        place: u32,
        is_received: bool,
        attempts: u32,
    ) -> Option<Dropped<P>> {
        let place = self.out + place as usize;
        let entry = &mut self.line[place];
        debug_assert!(entry.is_waiting(), "what was received is not sent again");
        if is_received {
            entry.is_received = true;
            self.waiting -= 1;
            self.received += 1;
            self.waiting_bytes -= padded_bytes(entry.bytes);
            return None;
        }
        entry.attempts += 1;
        if entry.attempts < attempts { None } else { self.give_up(place) }
    }

    /// The first so many packets, which all waited, were sent and received: passes them on.
    pub(crate) fn pass_first(&mut self, count: u32) -> Backlog {
        let mut padded = 0;
        let mut passed = Backlog { packets: count, bytes: 0 };
        self.line.range(self.out..self.out + count as usize).for_each(|entry| {
            debug_assert!(entry.is_waiting(), "what was received is not sent again");
            passed.bytes += u64::from(entry.bytes);
            padded += padded_bytes(entry.bytes);
        });
        self.out += count as usize;
        self.waiting -= count;
        self.waiting_bytes -= padded;
        passed
    }

    /// Gives back the oldest waiting packet if it came before `deadline`.
    #[inline]
    pub(crate) fn expire(&mut self, deadline: Time) -> Option<Dropped<P>> {
        // Mostly the first of the line waits, and did not come so long ago.
        let first = self.line.get(self.out)?;
        if first.is_waiting() && first.arrived >= deadline {
            return None;
        }
        self.expire_behind(deadline)
    }

    #[inline(never)]
    fn expire_behind(&mut self, deadline: Time) -> Option<Dropped<P>> {
        let behind = self.line.range(self.out..).position(Entry::is_waiting)?;
        let place = self.out + behind;
        if self.line[place].arrived < deadline { self.give_up(place) } else { None }
    }

    /// When the packet at a place came.
    pub(crate) fn arrived_at(&self, place: u32) -> Time {
        self.line[self.out + place as usize].arrived
    }

    fn give_up(&mut self, place: usize) -> Option<Dropped<P>> {
        let entry = &mut self.line[place];
        let packet = entry.packet.take()?;
        let was_sent = entry.attempts > 0;
        self.waiting -= 1;
        self.waiting_bytes -= padded_bytes(entry.bytes);
        Some(Dropped { packet, bytes: entry.bytes, was_sent })
    }

    /// Removes what was given up from the front, if the receiver holds nothing behind it and so
    /// need not be told.
    #[inline]
    pub(crate) fn forget(&mut self) {
        let is_given_up = |entry: &Entry<P>| entry.packet.is_none();
        if self.received == 0 && self.line.get(self.out).is_some_and(is_given_up) {
            self.forget_first();
        }
    }

    #[inline(never)]
    fn forget_first(&mut self) {
        while self.line.get(self.out).is_some_and(|entry| entry.packet.is_none()) {
            self.line.remove(self.out);
        }
    }

    /// The receiver has got a frame: passes on what it misses nothing before, which is returned.
    pub(crate) fn pass_on(&mut self) -> Backlog {
        let mut passed = Backlog::default();
        while let Some(entry) = self.line.get(self.out).filter(|entry| !entry.is_waiting()) {
            if entry.packet.is_some() {
                passed.add(entry.bytes);
                self.received -= 1;
                self.out += 1;
            } else {
                self.line.remove(self.out);
            }
        }
        passed
    }

    /// Moves the next packet, which was passed on, to `place`.
    #[inline]
    pub(crate) fn move_packet(&mut self, place: &mut Option<P>) {
        if let Some(entry) = self.line.pop_front() {
            *place = entry.packet;
            self.out -= 1;
        }
    }
}

/// A packet that was given up.
#[derive(Clone, Debug)]
pub(crate) struct Dropped<P> {
    pub(crate) packet: P,
    pub(crate) bytes: u32,
    /// Whether it was on the air.
    pub(crate) was_sent: bool,
}

impl<P> Entry<P> {
    fn is_waiting(&self) -> bool {
        self.packet.is_some() && !self.is_received
    }
}

/// A packet in an aggregate has a delimiter before it (802.11-2012 section 8.6.1).
pub(crate) fn subframe_bytes(bytes: u32) -> u64 {
    u64::from(bytes) + 4
}

/// The same with what fills it up to a multiple of four, but for the last.
pub(crate) fn padded_bytes(bytes: u32) -> u64 {
    subframe_bytes(bytes).next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: FrameLimits = FrameLimits { packets: 64, bytes: 65_535 };

    fn lane(packets: u32) -> Lane<u32> {
        let mut lane = Lane::new();
        for packet in 0..packets {
            lane.push(Time::from_micros(u64::from(packet)), 1538, packet);
        }
        lane
    }

    fn pop(lane: &mut Lane<u32>) -> Option<u32> {
        let mut place = None;
        lane.move_packet(&mut place);
        place
    }

    fn passed_on(lane: &mut Lane<u32>) -> Vec<u32> {
        (0..lane.pass_on().packets).filter_map(|_| pop(lane)).collect()
    }

    #[test]
    fn an_aggregate_is_limited_by_packets_and_by_bytes() {
        let mut chosen = Vec::new();
        // Alone a packet needs no delimiter, and the last of an aggregate is not padded.
        assert_eq!(lane(1).choose(LIMITS, &mut chosen), 1538);
        assert_eq!(lane(2).choose(LIMITS, &mut chosen), 1544 + 1542);
        let lane = lane(100);
        assert_eq!(lane.choose(LIMITS, &mut chosen), 41 * 1544 + 1542);
        assert_eq!(chosen.len(), 42);
        let five = FrameLimits { packets: 5, ..LIMITS };
        lane.choose(five, &mut chosen);
        assert_eq!(chosen, [0, 1, 2, 3, 4]);
        let short = FrameLimits { bytes: 3 * 1544, ..LIMITS };
        lane.choose(short, &mut chosen);
        assert_eq!(chosen, [0, 1, 2]);
        // What does not fit at all goes alone.
        let tiny = FrameLimits { bytes: 100, ..LIMITS };
        assert_eq!(lane.choose(tiny, &mut chosen), 1538);
    }

    #[test]
    fn a_frame_that_is_received_whole_passes_on_as_packet_by_packet() {
        let mut at_once = lane(50);
        for packet in [10, 11] {
            assert!(at_once.sent(packet, packet == 11, 1).is_some() == (packet == 10));
        }
        let mut one_by_one = at_once.clone();
        let passed = at_once.pass_first(10);
        for place in 0..10 {
            assert!(one_by_one.sent(place, true, 7).is_none());
        }
        // Behind them one was given up and one received, which nothing holds any more.
        assert_eq!(passed + at_once.pass_on(), one_by_one.pass_on());
        assert_eq!(at_once.waiting_bytes(), one_by_one.waiting_bytes());
        let packets = |mut lane: Lane<u32>| {
            core::iter::from_fn(|| pop(&mut lane)).take(11).collect::<Vec<u32>>()
        };
        let mut expected: Vec<u32> = (0..10).collect();
        expected.push(11);
        assert_eq!(packets(at_once), expected);
        assert_eq!(packets(one_by_one), expected);
    }

    #[test]
    fn what_was_missed_is_sent_again_and_the_rest_waits_for_it() {
        let mut lane = lane(70);
        let mut chosen = Vec::new();
        for place in 0..4 {
            assert!(lane.sent(place, place != 1, 7).is_none());
        }
        assert_eq!(passed_on(&mut lane), [0]);
        // The window begins with what is missing, so it ends 64 packets behind it.
        lane.choose(FrameLimits { bytes: 1_000_000, ..LIMITS }, &mut chosen);
        assert_eq!(chosen[..3], [0, 3, 4]);
        assert_eq!(chosen.last(), Some(&63));
        assert!(lane.sent(0, true, 7).is_none());
        assert_eq!(passed_on(&mut lane), [1, 2, 3]);
        assert_eq!(lane.len(), 66);
    }

    #[test]
    fn what_is_given_up_holds_the_rest_until_the_receiver_is_told() {
        let mut lane = lane(3);
        assert!(lane.sent(0, false, 2).is_none());
        assert!(lane.sent(1, true, 2).is_none());
        assert!(lane.sent(2, true, 2).is_none());
        assert_eq!(passed_on(&mut lane), [0; 0]);
        assert_eq!(lane.sent(0, false, 2).map(|dropped| dropped.packet), Some(0));
        lane.forget();
        assert!(lane.has_work());
        assert_eq!(lane.choose(LIMITS, &mut vec![]), 0);
        assert_eq!(passed_on(&mut lane), [1, 2]);
        assert!(!lane.has_work());
    }

    #[test]
    fn nobody_is_told_of_what_nothing_waits_for() {
        let mut lane = lane(2);
        assert!(lane.sent(0, false, 1).is_some());
        lane.forget();
        assert_eq!(lane.oldest(), Time::from_micros(1));
        assert!(lane.sent(0, false, 1).is_some());
        lane.forget();
        assert!(!lane.has_work());
    }

    #[test]
    fn only_what_came_before_the_deadline_expires() {
        let mut lane = lane(5);
        lane.sent(0, true, 7);
        let deadline = Time::from_micros(3);
        let expired: Vec<u32> =
            core::iter::from_fn(|| lane.expire(deadline)).map(|dropped| dropped.packet).collect();
        assert_eq!(expired, [1, 2]);
    }

    proptest! {
        #[test]
        fn packets_pass_on_once_and_in_order(
            fates in prop::collection::vec(prop::collection::vec(any::<bool>(), 1..80), 1..60),
            attempts in 1_u32..4,
        ) {
            let mut lane = Lane::new();
            let mut chosen = Vec::new();
            let (mut given, mut passed, mut dropped) = (0, Vec::new(), 0);
            for fate in &fates {
                for _ in 0..fate.len() / 2 {
                    lane.push(Time::ZERO, 1538, given);
                    given += 1;
                }
                lane.choose(FrameLimits { packets: 8, bytes: 12_000 }, &mut chosen);
                let is_received = |index: usize| fate[index % fate.len()];
                for (index, &place) in chosen.iter().enumerate() {
                    dropped += u32::from(lane.sent(place, is_received(index), attempts).is_some());
                }
                lane.forget();
                if chosen.is_empty() || (0..chosen.len()).any(is_received) {
                    passed.extend(passed_on(&mut lane));
                }
                prop_assert_eq!(given, passed.len() as u32 + dropped + lane.len() as u32);
            }
            prop_assert!(passed.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
