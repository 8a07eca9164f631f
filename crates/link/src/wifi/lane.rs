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

use cwndlab_units::Time;

use super::line::{Entry, Line, Sums};
use super::places::Places;
use crate::Backlog;

/// Packets on their way from one node to another.
#[derive(Clone, Debug)]
pub(crate) struct Lane<P> {
    line: Line<P>,
    /// How many at the front are passed on, and wait to be polled. Places are counted behind them.
    out: usize,
    /// How many of the line are waiting.
    waiting: u32,
    /// How many of the line are received.
    received: u32,
    /// What those that wait would be in an aggregate.
    waiting_bytes: u64,
    /// Sums of all that ever came.
    pushed: Sums,
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

    /// Takes so many packets of the same length, each of which `put` puts into its place.
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

    /// Chooses what goes into the next frame, and returns the frame's length; nothing is chosen if there
    /// is only something to tell.
    ///
    /// At least one packet goes, however long.
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

    /// How many packets from the front, of which all wait, go into one frame, if no more than
    /// `most` do, and the frame's length.
    fn longest_prefix(&self, limits: FrameLimits, most: usize) -> (usize, u64) {
        let all = self.prefix_length(most);
        if most < 2 || all <= limits.bytes {
            return (most, all);
        }
        let (mut fits, mut length, mut too_many) = (1, self.prefix_length(1), most);
        // Mostly all are as long as the first.
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

    /// Length of a frame with so many packets from the front, of which all wait.
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

    /// Sums of so many packets from the front, at least one. None was removed between them, as that is
    /// done at the front alone.
    fn prefix_sums(&self, count: usize) -> Sums {
        let (first, last) = (self.line.at(self.out), self.line.at(self.out + count - 1));
        Sums {
            bytes: last.until.bytes - first.until.bytes + u64::from(first.bytes),
            padded: last.until.padded - first.until.padded + padded_bytes(first.bytes),
        }
    }

    /// Length with headers of the packet at a place.
    pub(crate) fn bytes_at(&self, place: u32) -> u32 {
        self.line.at(self.out + place as usize).bytes
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
        let entry = self.line.at_mut(place);
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

    /// The first so many packets, at least one, which all waited, were sent and received: passes them on.
    pub(crate) fn pass_first(&mut self, count: u32) -> Backlog {
        let sums = self.prefix_sums(count as usize);
        self.out += count as usize;
        self.waiting -= count;
        self.waiting_bytes -= sums.padded;
        Backlog { packets: count, bytes: sums.bytes }
    }

    /// The first so many packets, which all waited, were sent and not received. Returns whether any was
    /// sent so often now that [`Lane::give_up_after`] must follow for each.
    pub(crate) fn miss_first(&mut self, count: u32, attempts: u32) -> bool {
        let mut most = 0;
        for place in self.out..self.out + count as usize {
            let entry = self.line.at_mut(place);
            entry.attempts += 1;
            most = most.max(entry.attempts);
        }
        most >= attempts
    }

    /// Gives the packet at a place back if it was sent so often.
    pub(crate) fn give_up_after(&mut self, place: u32, attempts: u32) -> Option<Dropped<P>> {
        let place = self.out + place as usize;
        if self.line.at(place).attempts < attempts { None } else { self.give_up(place) }
    }

    /// Whether there is nothing, or the first waits and did not come before `deadline`: then
    /// nothing has expired, and nothing is to be forgotten.
    #[inline]
    pub(crate) fn is_fresh(&self, deadline: Time) -> bool {
        let is_fresh = |first: &Entry<P>| first.is_waiting() && first.arrived >= deadline;
        self.line.get(self.out).is_none_or(is_fresh)
    }

    /// Gives back the oldest waiting packet if it came before `deadline`.
    #[inline(never)]
    pub(crate) fn expire(&mut self, deadline: Time) -> Option<Dropped<P>> {
        // Mostly what has expired before it, so that the next is the first again.
        self.forget();
        let place = (self.out..self.line.len()).find(|&place| self.line.at(place).is_waiting())?;
        if self.line.at(place).arrived < deadline { self.give_up(place) } else { None }
    }

    /// When the packet at a place came.
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
        if self.line.move_first(place) {
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

/// A packet in an aggregate has a delimiter before it (802.11-2012 section 8.6.1).
pub(crate) fn subframe_bytes(bytes: u32) -> u64 {
    u64::from(bytes) + 4
}

/// The same with what fills it up to a multiple of four, but for the last.
pub(crate) fn padded_bytes(bytes: u32) -> u64 {
    subframe_bytes(bytes).next_multiple_of(4)
}

#[cfg(test)]
mod tests;
