//! One user's data in one direction of a cell: the queue, the blocks in transmission, and their
//! order.
//!
//! Packets are byte ranges of a stream, and a block carries the next bytes of the stream. A packet
//! is delivered when all its bytes are decoded. Except in transparent mode, all earlier bytes must
//! be decoded, too.
//!
//! ```text
//!   front           out                            unsent          ready           back
//!     | to be polled  | sent, not all of it decoded  | may be sent   | too fresh     |
//! ```
//!
//! A delivered packet stays at the front of the line until it is polled. The outbox, which counts
//! packets but does not contain them, decides when this happens.

mod release;

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};

use super::aqm::Aqm;
use super::config::{DirectionConfig, RlcConfig};
use super::outbox::Outbox;
use crate::counters::{Backlog, Counters};
use crate::event::DropReason;
use crate::meter::{Counts, Meter, Occupancy};
use crate::packet::{Admission, Packet};
use crate::queue::{Dequeued, Limits, SpacedDiscard};

/// One user's data in one direction of a cell.
#[derive(Clone, Debug)]
pub(crate) struct Bearer<P> {
    limits: Limits,
    discard: Option<Duration>,
    early_discard: Option<SpacedDiscard>,
    aqm: Option<Box<Aqm<P>>>,
    rlc: RlcConfig,
    processing: Duration,
    packet_overhead: u32,
    line: VecDeque<Entry<P>>,
    /// Number of entries at the front of the line that are delivered.
    out: usize,
    /// Numbers of entries behind the delivered ones: those that were sent completely, and those
    /// that may be sent.
    unsent: usize,
    /// Number of entries after those that were sent completely: entries that may be sent.
    ready: usize,
    /// Position in the stream after the last byte that was sent.
    sent: u64,
    /// Position in the stream after the last byte that may be sent.
    ready_end: u64,
    /// Position in the stream after the last byte that arrived.
    end: u64,
    /// Blocks with packets that are not delivered yet, in the order of the stream.
    blocks: VecDeque<Block>,
    /// Ranges of the stream that RLC sends again, and the earliest time for each range.
    again: VecDeque<(Time, Range)>,
    queue: Occupancy,
    pub(crate) meter: Meter,
    /// Delivery time of the last packet delivered in order; this time may be in the future.
    released_at: Time,
    /// Time of the last arrival, transmission or delivery.
    pub(crate) active_at: Time,
}

/// A range of bytes in a user's data stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

#[derive(Clone, Debug)]
struct Entry<P> {
    came: Time,
    end: u64,
    length: u32,
    bytes: u32,
    /// Number of bytes that are not decoded yet; used only in transparent mode.
    missing: u32,
    is_damaged: bool,
    packet: P,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    range: Range,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Flying,
    /// The block was decoded; its packets are complete at this time, which may be in the future.
    Decoded(Time),
    /// The block was lost; after this time, later data do not wait for it.
    Lost(Time),
}

impl<P> Entry<P> {
    /// A packet that arrived; its first byte is at position `start` of the stream.
    #[inline]
    fn new(came: Time, start: u64, bytes: u32, overhead: u32, packet: P) -> Self {
        let length = bytes + overhead;
        let (end, missing, is_damaged) = (start + u64::from(length), length, false);
        Self { came, end, length, bytes, missing, is_damaged, packet }
    }

    /// Position of the packet's first byte in the stream.
    fn start(&self) -> u64 {
        self.end - u64::from(self.length)
    }
}

impl<P: Packet> Bearer<P> {
    pub(crate) fn new(
        config: &DirectionConfig,
        processing: Duration,
        packet_overhead: u32,
        aqm: Option<Aqm<P>>,
    ) -> Self {
        Self {
            limits: Limits::new(config.queue_packets, config.queue_bytes),
            discard: config.discard,
            early_discard: config.early_discard.map(SpacedDiscard::new),
            aqm: aqm.map(Box::new),
            rlc: config.rlc,
            processing,
            packet_overhead,
            line: VecDeque::new(),
            out: 0,
            unsent: 0,
            ready: 0,
            sent: 0,
            ready_end: 0,
            end: 0,
            blocks: VecDeque::new(),
            again: VecDeque::new(),
            queue: Occupancy::default(),
            meter: Meter::default(),
            released_at: Time::ZERO,
            active_at: Time::ZERO,
        }
    }

    /// Returns the reason to drop a packet of this size that arrives now; `None` if it must be
    /// queued.
    #[inline]
    pub(crate) fn drop_on_arrival(&mut self, bytes: u32) -> Option<DropReason> {
        if !self.limits.have_room(self.queue.backlog(), bytes) {
            return Some(DropReason::Overflow);
        }
        let discard = self.early_discard.as_mut()?;
        discard.decide(self.queue.backlog()).then_some(DropReason::Aqm)
    }

    /// Appends a packet to the queue.
    #[inline]
    pub(crate) fn enqueue(&mut self, at: Time, packet: P) {
        let bytes = packet.wire_bytes();
        self.append(at, bytes, packet);
        self.queue.enter(at, bytes);
        self.active_at = at;
    }

    /// Whether all packets of a batch of this size can be queued without deciding on each packet.
    pub(crate) fn has_room(&self, size: Backlog) -> bool {
        let decides_otherwise = self.is_managed() || self.early_discard.is_some();
        !decides_otherwise && self.limits.hold(self.queue.backlog() + size)
    }

    /// Appends a batch of packets to the queue, which must have room for all of them.
    pub(crate) fn enqueue_together(
        &mut self,
        at: Time,
        size: Backlog,
        packets: impl Iterator<Item = P>,
    ) {
        let (mut end, overhead) = (self.end, self.packet_overhead);
        self.line.extend(packets.map(|packet| {
            let entry = Entry::new(at, end, packet.wire_bytes(), overhead, packet);
            end = entry.end;
            entry
        }));
        self.end = end;
        self.queue.enter_together(at, size);
        self.active_at = at;
    }

    #[inline]
    fn append(&mut self, came: Time, bytes: u32, packet: P) {
        let entry = Entry::new(came, self.end, bytes, self.packet_overhead, packet);
        self.end = entry.end;
        self.line.push_back(entry);
    }

    /// Whether the queue has active queue management or drops ACKs; if so, arrivals must be passed
    /// to [`Bearer::manage`].
    #[inline]
    pub(crate) fn is_managed(&self) -> bool {
        self.aqm.is_some()
    }

    /// Passes an arriving packet to the queue with active queue management; drops and marks are
    /// reported at `done_at`.
    pub(crate) fn manage(
        &mut self,
        at: Time,
        done_at: Time,
        packet: P,
        outbox: &mut Outbox,
    ) -> Admission {
        let mut aqm = self.aqm.take().expect("the queue has active queue management");
        let (flow, bytes) = (packet.flow(), packet.wire_bytes());
        self.queue.add(at, bytes);
        self.active_at = at;
        let admission = aqm.push(at, packet, |gone, reason| {
            self.queue.leave(at, Backlog { packets: 1, bytes: gone.wire_bytes().into() });
            self.drop_packet(done_at, &gone, reason, outbox);
        });
        if admission == Admission::Marked {
            self.count_mark(done_at, flow, bytes, outbox);
        }
        self.queue.note_most();
        self.aqm = Some(aqm);
        admission
    }

    /// Dequeues packets into the line until the line contains `room` unsent bytes.
    #[cold]
    fn fill(&mut self, now: Time, room: u64, outbox: &mut Outbox) {
        let mut aqm = self.aqm.take().expect("the queue has active queue management");
        while self.end - self.sent < room {
            let next = aqm.pop(now, |gone| {
                self.queue.leave(now, Backlog { packets: 1, bytes: gone.wire_bytes().into() });
                self.drop_packet(now, &gone, DropReason::Aqm, outbox);
            });
            let Some(Dequeued { packet, arrived, is_marked }) = next else { break };
            let bytes = packet.wire_bytes();
            if is_marked {
                self.count_mark(now, packet.flow(), bytes, outbox);
            }
            self.append(arrived, bytes, packet);
            self.ready += 1;
            self.ready_end = self.end;
        }
        self.aqm = Some(aqm);
    }

    fn count_mark(&mut self, at: Time, flow: u32, bytes: u32, outbox: &mut Outbox) {
        self.meter.mark(bytes);
        outbox.emit_mark(at, flow, bytes);
    }

    /// Backlog of the queue with active queue management: the time from which its bytes may be
    /// sent, and their number.
    fn undecided(&self) -> Option<(Time, u64)> {
        let aqm = self.aqm.as_deref()?;
        let Backlog { packets, bytes } = aqm.backlog();
        let overhead = u64::from(packets) * u64::from(self.packet_overhead);
        (packets > 0).then_some((aqm.ready_at(), bytes + overhead))
    }

    /// Counts and reports the drop of a packet, on arrival or from the queue.
    pub(crate) fn drop_packet(
        &mut self,
        at: Time,
        packet: &P,
        reason: DropReason,
        outbox: &mut Outbox,
    ) {
        let bytes = packet.wire_bytes();
        self.meter.drop(bytes, reason);
        outbox.emit_drop(at, packet.flow(), bytes, reason);
    }

    /// Marks processed packets as ready for transmission, and drops packets that waited too long.
    /// The time to remove a packet is proportional to the length of the queue.
    pub(crate) fn refresh(&mut self, now: Time, outbox: &mut Outbox) {
        self.process(now);
        let Some(discard) = self.discard else { return };
        // A packet that has been sent in part is sent completely.
        let begun =
            self.line.get(self.out + self.unsent).is_some_and(|entry| entry.start() < self.sent);
        let first = self.out + self.unsent + usize::from(begun);
        while first < self.out + self.ready && self.line[first].came + discard <= now {
            let entry =
                self.line.remove(first).expect("the entry exists, because it was just examined");
            for later in self.line.range_mut(first..) {
                later.end -= u64::from(entry.length);
            }
            self.end -= u64::from(entry.length);
            self.ready_end -= u64::from(entry.length);
            self.ready -= 1;
            self.queue.leave(now, Backlog { packets: 1, bytes: entry.bytes.into() });
            self.drop_packet(now, &entry.packet, DropReason::Aqm, outbox);
        }
    }

    /// Marks processed packets as ready for transmission.
    fn process(&mut self, now: Time) {
        if self.line.back().is_some_and(|last| last.came + self.processing <= now) {
            self.ready = self.line.len() - self.out;
            self.ready_end = self.end;
            return;
        }
        for entry in self.line.range(self.out + self.ready..) {
            if entry.came + self.processing > now {
                break;
            }
            self.ready_end = entry.end;
            self.ready += 1;
        }
    }

    /// Bytes that a block could carry at `now`.
    pub(crate) fn waiting(&self, now: Time) -> u64 {
        let again: u64 = self
            .again
            .iter()
            .take_while(|(from, _)| *from <= now)
            .map(|(_, range)| range.end - range.start)
            .sum();
        let undecided = self.undecided().filter(|&(ready_at, _)| ready_at <= now);
        again + (self.ready_end - self.sent) + undecided.map_or(0, |(_, bytes)| bytes)
    }

    /// Earliest time at which a block could carry data; zero if it can carry data now.
    pub(crate) fn waits_until(&self) -> Time {
        let again = self.again.front().map_or(Time::NEVER, |&(from, _)| from);
        let fresh = if self.ready_end > self.sent {
            Time::ZERO
        } else {
            let next = self.line.get(self.out + self.ready);
            let next = next.map_or(Time::NEVER, |entry| entry.came + self.processing);
            self.undecided().map_or(next, |(ready_at, _)| next.min(ready_at))
        };
        again.min(fresh)
    }

    /// Whether no data wait and no block is in transmission.
    pub(crate) fn is_idle(&self) -> bool {
        self.line.len() == self.out && self.blocks.is_empty() && self.undecided().is_none()
    }

    /// Takes up to `room` bytes for a new block; `None` if there are no bytes to send.
    pub(crate) fn take(&mut self, now: Time, room: u64, outbox: &mut Outbox) -> Option<Range> {
        if room == 0 {
            return None;
        }
        if let Some(&(from, range)) = self.again.front()
            && from <= now
        {
            self.again.pop_front();
            if range.end - range.start > room {
                let cut = range.start + room;
                self.again.push_front((from, Range { start: cut, end: range.end }));
                self.cut_block(range.start, cut);
                return Some(Range { start: range.start, end: cut });
            }
            return Some(range);
        }
        if self.is_managed() {
            self.fill(now, room, outbox);
        }
        let start = self.sent;
        let end = self.ready_end.min(start + room);
        if end == start {
            return None;
        }
        self.sent = end;
        let mut taken = Backlog::default();
        for entry in self.line.range(self.out + self.unsent..) {
            if entry.end > end {
                break;
            }
            taken.add(entry.bytes);
        }
        self.unsent += taken.packets as usize;
        self.queue.leave(now, taken);
        let range = Range { start, end };
        self.blocks.push_back(Block { range, state: State::Flying });
        Some(range)
    }

    fn cut_block(&mut self, start: u64, cut: u64) {
        let index = self.index_of(start);
        let end = self.blocks[index].range.end;
        self.blocks[index].range.end = cut;
        let rest = Block { range: Range { start: cut, end }, state: State::Flying };
        self.blocks.insert(index + 1, rest);
    }

    fn index_of(&self, start: u64) -> usize {
        self.blocks.partition_point(|block| block.range.start < start)
    }

    /// Moves the first packet, which must have been delivered, to `place`.
    #[inline(always)]
    pub(crate) fn move_packet(&mut self, place: &mut Option<P>) {
        if let Some(Entry { bytes, packet, .. }) = self.line.pop_front() {
            *place = Some(packet);
            self.out -= 1;
            self.meter.deliver(Backlog { packets: 1, bytes: bytes.into() });
        }
    }

    /// Counters of the measurement window that ends at `now`.
    pub(crate) fn counters(&mut self, now: Time) -> Counters {
        let counts = self.settled_counts(now);
        self.meter.counters(counts, self.queue.most(), now)
    }

    pub(crate) fn begin_window(&mut self, now: Time) {
        let counts = self.settled_counts(now);
        self.meter.begin_window(counts, now);
        self.queue.begin_window();
    }

    fn settled_counts(&mut self, now: Time) -> Counts {
        Counts { queue_time: self.queue.pass_time(now), ..self.meter.counts }
    }

    /// Backlog of the queue.
    pub(crate) fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}
