//! The receiving half of the Linux endpoint: in-order and out-of-order data, their
//! acknowledgement, the window with its auto-tuning, and the times at which ACKs leave.
//!
//! ```text
//!   segment --> Reassembly --> ReceiveQueue --> application
//!                   |               |
//!               SackReport     BufferTuning --> Window
//!                   +---- AckSchedule ---> ACK ---+
//! ```

mod acks;
mod reassembly;
mod sacks;
mod window;

pub(crate) use acks::{AckSchedule, DataSeen, MAX_QUICK_ACKS};
pub(crate) use reassembly::Buffers;
pub(crate) use window::SHORT_BYTES;

use cwndlab_packet::seq::{after, before};

use crate::linux::settings::LinuxSettings;
use reassembly::{Reassembly, ReceiveQueue};
use sacks::SackReport;
use window::{BufferTuning, Space, Window};

/// State of the endpoint's receiving half.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    out_of_order: Reassembly,
    /// Data in order that the application has not read yet.
    queue: ReceiveQueue,
    pub(crate) sacks: SackReport,
    pub(crate) window: Window,
    pub(crate) tuning: BufferTuning,
    pub(crate) acks: AckSchedule,
    advmss: u32,
    /// Sequence number after the peer's data, once the peer's FIN has arrived.
    pub(crate) fin_seq: Option<u32>,
    /// Whether all of the peer's data have arrived.
    pub(crate) is_finished: bool,
}

/// Result of receiving a segment's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// The payload is in order; if `has_filled_gap`, it filled the gap before later data.
    /// `free_bytes` is the window for which the buffer had room with this payload, before later
    /// data that are now in order were merged.
    InOrder { has_filled_gap: bool, free_bytes: u32 },
    /// The payload is out of order and was stored; `free_bytes` is the window for which the buffer
    /// had room before.
    OutOfOrder { free_bytes: u32 },
    /// All of the payload had been received before.
    Duplicate,
    /// Beyond the window.
    OutOfWindow,
}

impl Receiver {
    pub(crate) fn new(settings: &LinuxSettings) -> Self {
        Self {
            out_of_order: Reassembly::default(),
            queue: ReceiveQueue::default(),
            sacks: SackReport::default(),
            window: Window::new(settings),
            tuning: BufferTuning::new(settings),
            acks: AckSchedule::new(settings),
            advmss: settings.announced_mss(),
            fin_seq: None,
            is_finished: false,
        }
    }

    /// Sets how segments are stored in buffers; must be called before the first segment arrives.
    pub(crate) fn set_buffers(&mut self, kind: Buffers) {
        self.out_of_order = Reassembly::new(kind);
        self.queue = ReceiveQueue::new(kind);
    }

    /// Opens the window and starts the auto-tuning after the handshake.
    pub(crate) fn open(&mut self, mss: u32, initial_cwnd_pkts: u32, now_us: u64) {
        self.advmss = mss;
        self.tuning.begin(self.window.open(mss, initial_cwnd_pkts), now_us);
    }

    #[inline]
    fn free_bytes(&self) -> u32 {
        self.window.free_bytes(self.queue.memory_bytes + self.out_of_order.memory_bytes)
    }

    /// The space on which the window depends now. While the space is scarce, quick ACKs end.
    #[inline]
    fn space(&mut self) -> Space {
        let space = Space { free_bytes: self.free_bytes(), rcv_mss: self.acks.rcv_mss };
        if self.window.is_scarce(space) {
            self.acks.stop_quick();
        }
        space
    }

    /// The window that would be advertised now.
    #[inline]
    pub(crate) fn window_to_offer(&mut self) -> u32 {
        let space = self.space();
        self.window.to_offer(space)
    }

    /// Whether a window of at least twice the size that the peer knows could be advertised now.
    #[inline]
    pub(crate) fn offers_twice_the_window(&mut self, rcv_nxt: u32) -> bool {
        let known = self.window.left_bytes(rcv_nxt);
        let has_room = self.queue.memory_bytes == 0 && self.out_of_order.is_empty();
        if has_room && self.window.opens_below(2 * known) {
            return false;
        }
        let full = self.window_to_offer();
        full > 0 && full >= 2 * known && full > known
    }

    /// The window field for an ACK that leaves now.
    #[inline(always)]
    pub(crate) fn select_window(&mut self, rcv_nxt: u32) -> u16 {
        if let Some(field) = self.window.known_field(rcv_nxt) {
            return field;
        }
        let space = self.space();
        self.window.select(rcv_nxt, space)
    }

    /// Whether no data are out of order.
    #[inline]
    pub(crate) fn is_in_order(&self) -> bool {
        self.out_of_order.is_empty()
    }

    /// Accepts a payload that is next in order while no data are out of order. Returns the window
    /// for which the buffer then has room; if the window is closed, returns `None` without
    /// accepting the payload.
    #[inline]
    pub(crate) fn take_next(&mut self, rcv_nxt: u32, bytes: u32) -> Option<u32> {
        if self.window.left_bytes(rcv_nxt) == 0 {
            return None;
        }
        self.window.is_old = true;
        self.measure_overhead(bytes);
        self.queue.push(bytes);
        Some(self.free_bytes())
    }

    /// Whether the window is open, the peer's FIN has not arrived, and the application has read
    /// all data.
    #[inline]
    pub(crate) fn is_open_and_read(&self, rcv_nxt: u32) -> bool {
        self.queue.bytes == 0 && self.fin_seq.is_none() && self.window.left_bytes(rcv_nxt) > 0
    }

    /// Accepts a payload that is next in order and that the application reads as soon as it is
    /// acknowledged ([`Receiver::read_held`]).
    #[inline]
    pub(crate) fn hold_next(&mut self, bytes: u32) {
        self.window.is_old = true;
        self.measure_overhead(bytes);
        self.queue.hold(bytes);
    }

    /// Measures the overhead of a segment in order if the segment is longer than all before.
    #[inline]
    fn measure_overhead(&mut self, bytes: u32) {
        if bytes > self.acks.rcv_mss
            && let Some(clamp) = self.window.measure(bytes, self.queue.memory_of_segment(bytes))
        {
            self.tuning.limit_round(clamp);
        }
    }

    /// Opens the window further after a segment, if there is room now.
    #[inline]
    pub(crate) fn grow_window_into_room(&mut self, bytes: u32) {
        if !self.window.is_open_all() {
            self.grow_window(bytes, self.free_bytes());
        }
    }

    /// Whether data beyond a hole continue the newest block, which is also the highest block.
    ///
    /// In addition, the data must fit the window, the peer's FIN must not have arrived, and the
    /// application must have read all data in order.
    #[inline]
    pub(crate) fn is_next_beyond_hole(&self, rcv_nxt: u32, seq: u32) -> bool {
        self.out_of_order.ends_at(seq)
            && self.sacks.newest_ends_at(seq)
            && self.is_open_and_read(rcv_nxt)
            && seq.wrapping_sub(rcv_nxt) < self.window.left_bytes(rcv_nxt)
    }

    /// Stores data that continue the newest block beyond a hole and end before `end`.
    #[inline]
    pub(crate) fn keep_next_beyond_hole(&mut self, rcv_nxt: u32, end: u32) {
        self.window.is_old = true;
        self.out_of_order.extend_last(end);
        self.sacks.extend_newest(end);
        self.note_reordered(rcv_nxt);
    }

    /// Tells auto-tuning where the data out of order end.
    #[inline]
    fn note_reordered(&mut self, rcv_nxt: u32) {
        let bytes = self.out_of_order.bytes_beyond(rcv_nxt);
        self.tuning.note_reordered(&mut self.window, self.advmss, bytes);
    }

    /// Reads the payload accepted by [`Receiver::hold_next`].
    #[inline]
    pub(crate) fn read_held(&mut self, bytes: u32, now_us: u64) {
        self.window.is_old = true;
        self.queue.release_held();
        let bytes = u64::from(bytes);
        self.tuning.note_read(&mut self.window, self.advmss, bytes, bytes, bytes, now_us);
    }

    /// Receives a payload. Returns the result, and the value of `rcv_nxt` after all data in order.
    pub(crate) fn handle_data(&mut self, rcv_nxt: u32, seq: u32, end: u32) -> (Arrival, u32) {
        self.window.is_old = true;
        let right_edge = rcv_nxt.wrapping_add(self.window.left_bytes(rcv_nxt));
        if !after(end, rcv_nxt) {
            self.sacks.note_duplicate(seq, end);
            return (Arrival::Duplicate, rcv_nxt);
        }
        if !before(seq, right_edge) {
            return (Arrival::OutOfWindow, rcv_nxt);
        }
        if after(seq, rcv_nxt) {
            let free_bytes = self.free_bytes();
            if let Some(known) = self.out_of_order.store(seq, end) {
                self.sacks.note_duplicate(known.start, known.end);
            }
            self.sacks.note_block(seq, end);
            self.note_reordered(rcv_nxt);
            return (Arrival::OutOfOrder { free_bytes }, rcv_nxt);
        }
        if before(seq, rcv_nxt) {
            self.sacks.note_duplicate(seq, rcv_nxt);
        }
        let had_gap = !self.out_of_order.is_empty();
        self.measure_overhead(end.wrapping_sub(seq));
        self.queue.push(end.wrapping_sub(rcv_nxt));
        let free_bytes = self.free_bytes();
        let mut rcv_nxt = end;
        if had_gap {
            rcv_nxt = self.out_of_order.take(rcv_nxt, &mut self.queue);
            self.sacks.forget_below(rcv_nxt, self.out_of_order.is_empty());
            self.tuning.reordered_bytes = self.out_of_order.bytes_beyond(rcv_nxt);
        }
        let has_filled_gap = had_gap && self.out_of_order.is_empty();
        (Arrival::InOrder { has_filled_gap, free_bytes }, rcv_nxt)
    }

    /// Whether out-of-order data would form a new block that displaces the oldest block.
    #[cold]
    pub(crate) fn would_forget_block(&self, rcv_nxt: u32, seq: u32, end: u32) -> bool {
        let right_edge = rcv_nxt.wrapping_add(self.window.left_bytes(rcv_nxt));
        after(seq, rcv_nxt) && before(seq, right_edge) && self.sacks.would_forget(seq, end)
    }

    /// Opens the window further after a segment, if there is room.
    #[inline]
    pub(crate) fn grow_window(&mut self, bytes: u32, free_bytes: u32) {
        if self.window.grow(self.advmss, bytes, free_bytes) {
            self.acks.quicken_once();
        }
    }

    /// Lets up to `max` of the next ACKs leave at once, each with a newly computed window.
    pub(crate) fn enter_quick_acks(&mut self, max: u32) {
        self.window.is_old = true;
        self.acks.enter_quick(self.window.size, max);
    }

    /// Number of bytes that the application could read.
    #[inline]
    pub(crate) fn readable(&self) -> u64 {
        self.queue.bytes
    }

    /// Reads at most `max` bytes. Returns the number of bytes read.
    #[inline]
    pub(crate) fn read(&mut self, max: u64, now_us: u64) -> u64 {
        self.window.is_old = true;
        let readable = self.queue.bytes;
        let bytes = readable.min(max);
        let first = self.queue.head(bytes);
        self.queue.read(bytes);
        self.tuning.note_read(&mut self.window, self.advmss, first, bytes, readable, now_us);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    fn receiver() -> Receiver {
        let profile = Profile::by_name("linux-6.1").expect("exists");
        let settings = profile.linux().expect("linux").clone();
        let mut receiver = Receiver::new(&settings);
        receiver.window.begin(1, 1_448);
        receiver.open(1_448, 10, 0);
        receiver
    }

    #[test]
    fn the_short_way_of_data_leads_where_the_long_one_does_until_the_window_closes() {
        let (mut short, mut long) = (receiver(), receiver());
        let mut rcv_nxt = 1;
        for bytes in [1_448, 1_448, 1, 300, 1_448].into_iter().cycle() {
            let free_bytes = short.take_next(rcv_nxt, bytes);
            let (arrival, next) = long.handle_data(rcv_nxt, rcv_nxt, rcv_nxt + bytes);
            let Some(free_bytes) = free_bytes else {
                assert_eq!((arrival, next), (Arrival::OutOfWindow, rcv_nxt));
                break;
            };
            assert_eq!(arrival, Arrival::InOrder { has_filled_gap: false, free_bytes });
            assert_eq!(format!("{short:?}"), format!("{long:?}"));
            rcv_nxt = next;
        }
        assert!(rcv_nxt > short.window.size, "the window was used up");
    }

    #[test]
    fn what_is_held_and_read_leaves_no_trace_but_that_it_was_read() {
        let (mut short, mut long) = (receiver(), receiver());
        for (rcv_nxt, bytes) in [(1, 1_448), (1_449, 300), (1_749, 1_448)] {
            assert!(short.is_open_and_read(rcv_nxt));
            short.hold_next(bytes);
            short.grow_window_into_room(bytes);
            let free_bytes = long.take_next(rcv_nxt, bytes).expect("the window is open");
            long.grow_window(bytes, free_bytes);
            assert_eq!(short.window_to_offer(), long.window_to_offer());
            short.read_held(bytes, 500_000);
            long.read(u64::MAX, 500_000);
            assert_eq!(format!("{short:?}"), format!("{long:?}"));
        }
        long.take_next(3_197, 10);
        assert!(!long.is_open_and_read(3_207));
    }

    #[test]
    fn the_window_field_says_the_window_that_is_kept() {
        let mut receiver = receiver();
        for rcv_nxt in (1..200_000).step_by(1_448) {
            receiver.handle_data(rcv_nxt, rcv_nxt, rcv_nxt + 1_448);
            receiver.read(u64::MAX, u64::from(rcv_nxt));
            let field = receiver.select_window(rcv_nxt + 1_448);
            assert_eq!(u32::from(field) << receiver.window.scale(), receiver.window.size);
        }
        assert!(receiver.window.size > 10 * 1_448);
    }

    #[test]
    fn what_fills_a_gap_makes_the_rest_readable() {
        let mut receiver = receiver();
        assert!(matches!(receiver.handle_data(1, 101, 201).0, Arrival::OutOfOrder { .. }));
        assert!(!receiver.is_in_order() && receiver.readable() == 0);
        assert_eq!(
            receiver.handle_data(1, 101, 201).0,
            Arrival::OutOfOrder { free_bytes: receiver.free_bytes() }
        );
        let (arrival, rcv_nxt) = receiver.handle_data(1, 1, 101);
        assert!(matches!(arrival, Arrival::InOrder { has_filled_gap: true, .. }));
        assert_eq!((rcv_nxt, receiver.readable(), receiver.is_in_order()), (201, 200, true));
        assert_eq!(receiver.handle_data(201, 101, 201).0, Arrival::Duplicate);
    }
}
