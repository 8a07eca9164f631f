//! Packets from one node to another: the sender's queue and the receiver's reordering buffer, in
//! one list.
//!
//! ```text
//!   front             out: the first that the receiver misses            back: the last arrival
//!     | to be polled  | waiting | received | given up | waiting | waiting | ...
//!                     |<---------- window of the block ACK --------->|
//! ```
//!
//! The receiver delivers packets in order (802.11-2012 section 9.21.7). A packet that is received
//! after a missing packet therefore stays in the lane until the missing packet is received, or
//! until the next received frame reports that the sender gave the missing packet up.

use cwndlab_units::Time;

use super::line::{Entry, Line, Sums};
use super::places::Places;
use crate::Backlog;

/// Packets on their way from one node to another.
#[derive(Clone, Debug)]
pub(crate) struct Lane<P> {
    line: Line<P>,
    /// Number of packets at the front that are delivered and wait to be polled; places count from
    /// the packet after them.
    out: usize,
    /// Number of packets that wait to be sent.
    waiting: u32,
    /// Number of packets that were received and are not delivered.
    received: u32,
    /// Bytes that the waiting packets occupy in an aggregated frame.
    waiting_bytes: u64,
    /// Sums over all packets that were ever added to the lane.
    pushed: Sums,
}

/// Limits of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameLimits {
    /// Maximum number of packets; also the maximum distance of a packet from the first packet that
    /// the receiver lacks.
    pub(crate) packets: u32,
    /// Maximum size of an aggregated frame in bytes.
    pub(crate) bytes: u64,
}

impl<P> Lane<P> {
    pub(crate) fn new() -> Self {
        Self {
            line: Line::new(),
            out: 0,
            waiting: 0,
            received: 0,
            waiting_bytes: 0,
            pushed: Sums::default(),
        }
    }

    pub(crate) fn push(&mut self, now: Time, bytes: u32, packet: P) {
        let mut packet = Some(packet);
        self.push_together(now, bytes, 1, |place| *place = packet.take());
    }

    /// Adds `count` packets of the same length; `put` constructs each packet in its entry.
    #[inline(always)]
    pub(crate) fn push_together(
        &mut self,
        now: Time,
        bytes: u32,
        count: u32,
        mut put: impl FnMut(&mut Option<P>),
    ) {
        let padded = padded_bytes(bytes);
        let mut until = self.pushed;
        self.line.push_each(count, |entry| {
            until.bytes += u64::from(bytes);
            until.padded += padded;
            put(&mut entry.packet);
            (entry.arrived, entry.bytes, entry.attempts) = (now, bytes, 0);
            (entry.until, entry.is_received) = (until, false);
        });
        self.waiting += count;
        self.waiting_bytes += u64::from(count) * padded;
        self.pushed = until;
    }

    /// Bytes that the waiting packets occupy in an aggregated frame.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Whether the waiting packets fill the next frame.
    pub(crate) fn fills(&self, limits: FrameLimits) -> bool {
        self.line.len() - self.out >= limits.packets as usize || self.waiting_bytes >= limits.bytes
    }

    /// Whether the lane has packets to send, or packets to report as given up.
    pub(crate) fn has_work(&self) -> bool {
        self.waiting + self.received > 0
    }

    /// Number of packets in the lane: waiting, received, or delivered and not polled.
    pub(crate) fn len(&self) -> usize {
        (self.waiting + self.received) as usize + self.out
    }

    /// Arrival time of the oldest entry that is not delivered.
    pub(crate) fn oldest(&self) -> Time {
        self.line.get(self.out).map_or(Time::NEVER, |entry| entry.arrived)
    }

    /// Chooses the packets of the next frame, and returns the length of the frame. Chooses no
    /// packets if the frame only reports packets that were given up.
    ///
    /// A frame has at least one waiting packet, even if this packet exceeds the limit in bytes.
    pub(crate) fn choose(&self, limits: FrameLimits, chosen: &mut Places) -> u64 {
        let places = self.line.len() - self.out;
        if self.waiting as usize == places {
            let most = places.min(limits.packets as usize);
            let (count, length) = self.longest_prefix(limits, most);
            chosen.choose_first(count as u32);
            return length;
        }
        chosen.clear();
        let mut length = 0;
        let mut aggregate = 0;
        for place in 0..places.min(limits.packets as usize) {
            let entry = self.line.at(self.out + place);
            if !entry.is_waiting() {
                continue;
            }
            let with_this = aggregate + subframe_bytes(entry.bytes);
            if !chosen.is_empty() && with_this > limits.bytes {
                break;
            }
            chosen.push(place as u32);
            length = if chosen.len() == 1 { u64::from(entry.bytes) } else { with_this };
            aggregate = with_this.next_multiple_of(4);
        }
        length
    }

    /// Number of packets from the front, at most `most`, that fit into one frame, and the length
    /// of this frame. All of them must be waiting.
    fn longest_prefix(&self, limits: FrameLimits, most: usize) -> (usize, u64) {
        let all = self.prefix_length(most);
        if most < 2 || all <= limits.bytes {
            return (most, all);
        }
        let (mut fits, mut length, mut too_many) = (1, self.prefix_length(1), most);
        // Usually all packets are as long as the first.
        let guess = (limits.bytes / padded_bytes(self.bytes_at(0))) as usize;
        let guess = guess.clamp(1, most - 1);
        let mut guesses = [guess, guess + 1].into_iter();
        while too_many - fits > 1 {
            let count = guesses.next().unwrap_or(usize::midpoint(fits, too_many));
            let with_these = self.prefix_length(count);
            if with_these > limits.bytes {
                too_many = too_many.min(count);
            } else if count > fits {
                (fits, length) = (count, with_these);
            }
        }
        (fits, length)
    }

    /// Length of a frame with the first `count` packets, which must all be waiting.
    fn prefix_length(&self, count: usize) -> u64 {
        match count {
            0 => 0,
            1 => u64::from(self.bytes_at(0)),
            _ => {
                let last = self.line.at(self.out + count - 1).bytes;
                self.prefix_sums(count).padded - padded_bytes(last) + subframe_bytes(last)
            }
        }
    }

    /// Sums over the first `count` packets, which must be at least one. Entries are removed only
    /// at the front, so no packet in between is missing.
    fn prefix_sums(&self, count: usize) -> Sums {
        let (first, last) = (self.line.at(self.out), self.line.at(self.out + count - 1));
        Sums {
            bytes: last.until.bytes - first.until.bytes + u64::from(first.bytes),
            padded: last.until.padded - first.until.padded + padded_bytes(first.bytes),
        }
    }

    /// Length of the packet at a place, including headers.
    pub(crate) fn bytes_at(&self, place: u32) -> u32 {
        self.line.at(self.out + place as usize).bytes
    }

    /// Records that the packet at this place was sent; returns the packet if it was not received
    /// and `attempts` transmissions are used up.
    pub(crate) fn sent(
        &mut self,
        place: u32,
        is_received: bool,
        attempts: u32,
    ) -> Option<Dropped<P>> {
        let place = self.out + place as usize;
        let entry = self.line.at_mut(place);
        debug_assert!(entry.is_waiting(), "received packets are not retransmitted");
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

    /// Delivers the first `count` packets, which must be at least one and must all have been
    /// waiting, sent and received.
    pub(crate) fn pass_first(&mut self, count: u32) -> Backlog {
        let sums = self.prefix_sums(count as usize);
        self.out += count as usize;
        self.waiting -= count;
        self.waiting_bytes -= sums.padded;
        Backlog { packets: count, bytes: sums.bytes }
    }

    /// Records that the first `count` packets, which were all waiting, were sent and not received.
    /// Returns whether any of them has used up its transmissions; if so, the caller must call
    /// [`Lane::give_up_after`] for each.
    pub(crate) fn miss_first(&mut self, count: u32, attempts: u32) -> bool {
        let mut most = 0;
        for place in self.out..self.out + count as usize {
            let entry = self.line.at_mut(place);
            entry.attempts += 1;
            most = most.max(entry.attempts);
        }
        most >= attempts
    }

    /// Gives up and returns the packet at a place if its transmissions are used up.
    pub(crate) fn give_up_after(&mut self, place: u32, attempts: u32) -> Option<Dropped<P>> {
        let place = self.out + place as usize;
        if self.line.at(place).attempts < attempts { None } else { self.give_up(place) }
    }

    /// Whether the list is empty, or its first packet is waiting and arrived at or after
    /// `deadline`. If so, no packet has expired, and none can be removed.
    #[inline]
    pub(crate) fn is_fresh(&self, deadline: Time) -> bool {
        let is_fresh = |first: &Entry<P>| first.is_waiting() && first.arrived >= deadline;
        self.line.get(self.out).is_none_or(is_fresh)
    }

    /// Gives up and returns the oldest waiting packet if it arrived before `deadline`.
    #[inline(never)]
    pub(crate) fn expire(&mut self, deadline: Time) -> Option<Dropped<P>> {
        // Usually removes earlier expired packets, so that the next one is at the front.
        self.forget();
        let place = (self.out..self.line.len()).find(|&place| self.line.at(place).is_waiting())?;
        if self.line.at(place).arrived < deadline { self.give_up(place) } else { None }
    }

    /// Arrival time of the packet at a place.
    pub(crate) fn arrived_at(&self, place: u32) -> Time {
        self.line.at(self.out + place as usize).arrived
    }

    fn give_up(&mut self, place: usize) -> Option<Dropped<P>> {
        let entry = self.line.at_mut(place);
        let packet = entry.packet.take()?;
        let was_sent = entry.attempts > 0;
        self.waiting -= 1;
        self.waiting_bytes -= padded_bytes(entry.bytes);
        Some(Dropped { packet, bytes: entry.bytes, was_sent })
    }

    /// Removes given-up packets from the front if the receiver holds no later packet, so that no
    /// report is needed.
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

    /// Handles a received frame: delivers all packets up to the first missing packet; returns
    /// their total size.
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

    /// Moves the first delivered packet to `place`.
    #[inline]
    pub(crate) fn move_packet(&mut self, place: &mut Option<P>) {
        if self.line.move_first(place) {
            self.out -= 1;
        }
    }
}

/// A packet that the sender has given up.
#[derive(Clone, Debug)]
pub(crate) struct Dropped<P> {
    pub(crate) packet: P,
    pub(crate) bytes: u32,
    /// Whether the packet had been sent.
    pub(crate) was_sent: bool,
}

/// Bytes that a packet occupies in an aggregated frame, with its delimiter (802.11-2012 section
/// 8.6.1).
pub(crate) fn subframe_bytes(bytes: u32) -> u64 {
    u64::from(bytes) + 4
}

/// Bytes as in [`subframe_bytes`], padded to a multiple of four; in a frame, all packets except
/// the last are padded.
pub(crate) fn padded_bytes(bytes: u32) -> u64 {
    subframe_bytes(bytes).next_multiple_of(4)
}

#[cfg(test)]
mod tests;
