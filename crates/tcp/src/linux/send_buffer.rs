//! Data that the application has written and that are not acknowledged: their bytes, the memory
//! that they occupy, positions of PSH, and the time for which each limit held up the sender.

use std::collections::VecDeque;

use cwndlab_packet::seq::{after, before, later};
use cwndlab_units::{Duration, Time};

use super::LinuxEndpoint;
use crate::info::Counters;
use crate::linux::settings::LinuxSettings;

/// Payload of a buffer that segmentation offload cuts: `gso_max_size` minus the longest headers.
const GSO_MAX_BYTES: u32 = 65_535 - 320;

/// The send buffer.
///
/// Data are cut into segments when they leave. Memory is charged as if each full segment had its
/// own buffer from the start. With segmentation offload, unsent data are in a few large buffers;
/// segments that leave together share a buffer, which is charged when they leave.
#[derive(Clone, Debug)]
pub(crate) struct SendBuffer {
    /// Sequence number after the last byte written.
    pub(crate) write_seq: u32,
    /// Start of the segment that the application is filling.
    tail_start: u32,
    /// With segmentation offload: ends of full buffers that have not left and are followed by
    /// another buffer. No segment contains data of two buffers.
    buffer_ends: VecDeque<u32>,
    /// First sequence number after which a PSH is due.
    next_push: Option<u32>,
    /// Further sequence numbers after which a PSH is due.
    later_pushes: VecDeque<u32>,
    pushed_seq: u32,
    /// `sk_wmem_queued` and `sk_sndbuf`.
    pub(crate) queued_bytes: u64,
    pub(crate) sndbuf_bytes: u64,
    /// Memory charged for each segment of the window when the size of the buffer is computed
    /// (`tcp_sndbuf_expand`).
    pub(crate) segment_room_bytes: u64,
    /// Largest number of segments for which the size of the buffer was computed.
    pub(super) sized_for_pkts: u32,
    /// Memory of a buffer in addition to its payload: `sk_buff`, shared info and headroom.
    overhead_bytes: u32,
    /// Whether unsent data are in a few large buffers, because of segmentation offload; otherwise,
    /// each segment is in its own buffer.
    is_shared: bool,
    /// Whether the buffer also grows after a burst that is not the last, when the window is not yet
    /// full (`tcp_event_new_data_sent`, since Linux 5.18). Linux 6.18.44 did not grow there.
    pub(super) grows_between_bursts: bool,
    /// Whether the application waits for room (`SOCK_NOSPACE`).
    pub(crate) is_blocked: bool,
    pub(crate) is_fin_queued: bool,
    /// Whether a short segment at the tail waits for more data that the application writes at the
    /// same time.
    pub(crate) is_corked: bool,
    /// `snd_sml`: end of the last short segment that was sent.
    pub(crate) short_end: u32,
    pub(crate) chrono: Chrono,
}

impl SendBuffer {
    pub(crate) fn new(first_seq: u32, settings: &LinuxSettings) -> Self {
        Self {
            write_seq: first_seq,
            tail_start: first_seq,
            buffer_ends: VecDeque::new(),
            next_push: None,
            later_pushes: VecDeque::new(),
            pushed_seq: first_seq,
            queued_bytes: 0,
            sndbuf_bytes: settings.send.send_buffer_bytes.into(),
            segment_room_bytes: settings.send.send_segment_room_bytes.into(),
            sized_for_pkts: 0,
            overhead_bytes: settings.send.send_overhead_bytes,
            is_shared: settings.segmentation_offload,
            grows_between_bursts: settings.send.send_buffer_grows_at_full_window,
            is_blocked: false,
            is_fin_queued: false,
            is_corked: false,
            short_end: first_seq.wrapping_sub(1),
            chrono: Chrono::default(),
        }
    }

    /// Puts unsent data into large buffers, as segmentation offload does.
    pub(crate) fn share_unsent(&mut self) {
        self.is_shared = true;
    }

    /// Number of bytes written but not sent, excluding a FIN.
    #[inline]
    pub(crate) fn unsent(&self, snd_nxt: u32) -> u64 {
        // Before the SYN is sent, `snd_nxt` is one below the first byte.
        let unsent = self.write_seq.wrapping_sub(snd_nxt) as i32;
        (unsent.max(0) as u64).saturating_sub(u64::from(self.is_fin_queued))
    }

    /// Number of bytes that leave before the next PSH and before the last segment, which may carry
    /// a FIN.
    #[inline]
    pub(crate) fn plain_bytes(&self, snd_nxt: u32) -> u32 {
        debug_assert!(!before(self.write_seq, snd_nxt));
        let until_end = self.write_seq.wrapping_sub(snd_nxt).saturating_sub(2);
        match self.next_push {
            Some(point) => {
                debug_assert!(after(point, snd_nxt), "a PSH is due after unsent data");
                until_end.min(point.wrapping_sub(snd_nxt) - 1)
            }
            None => until_end,
        }
    }

    /// Accepts up to `wanted` bytes as `tcp_sendmsg` does, and returns the number of accepted
    /// bytes: fills the segment at the tail, and starts another segment while the buffer is not
    /// full.
    pub(crate) fn take(&mut self, wanted: u64, snd_nxt: u32, mss: u32) -> u64 {
        let filled = self.write_seq.wrapping_sub(self.tail_start);
        let is_tail_there = !before(self.tail_start, snd_nxt) && (1..mss).contains(&filled);
        let into_tail = if is_tail_there { wanted.min(u64::from(mss - filled)) } else { 0 };
        self.queued_bytes += into_tail;
        self.write_seq = self.write_seq.wrapping_add(into_tail as u32);
        let overhead = u64::from(self.overhead_bytes);
        let charge = u64::from(mss) + if self.is_shared { 0 } else { overhead };
        let room = self.sndbuf_bytes.saturating_sub(self.queued_bytes).div_ceil(charge);
        let left = (wanted - into_tail).min(room * u64::from(mss));
        if left > 0 {
            let segments = left.div_ceil(u64::from(mss));
            let last = (segments - 1) * u64::from(mss);
            self.tail_start = self.write_seq.wrapping_add(last as u32);
            self.write_seq = self.write_seq.wrapping_add(left as u32);
            self.queued_bytes += left + overhead * if self.is_shared { 1 } else { segments };
        }
        into_tail + left
    }

    /// Number of bytes in the tail buffer that have not left.
    #[inline]
    pub(crate) fn in_tail(&self, snd_nxt: u32) -> u64 {
        let start = self.buffer_ends.back().map_or(snd_nxt, |end| later(*end, snd_nxt));
        self.unsent(start)
    }

    /// End of the buffer that contains the next data to send, if another buffer follows.
    #[inline]
    pub(crate) fn buffer_end(&self, snd_nxt: u32) -> Option<u32> {
        self.buffer_ends.iter().copied().find(|end| after(*end, snd_nxt))
    }

    /// `tcp_grow_skb`: moves data from the second unsent buffer into the first, until the first has
    /// `wanted` bytes. A second buffer without data is released; its FIN moves to the first.
    pub(crate) fn fill_first(&mut self, snd_nxt: u32, wanted: u32) {
        let Some(first) = self.buffer_ends.iter().position(|end| after(*end, snd_nxt)) else {
            return;
        };
        let end = self.buffer_ends[first];
        let missing = wanted.saturating_sub(end.wrapping_sub(snd_nxt));
        let data_end = self.write_seq.wrapping_sub(self.is_fin_queued.into());
        let next_end = self.buffer_ends.get(first + 1).copied().unwrap_or(data_end);
        let moved = missing.min(next_end.wrapping_sub(end));
        let new_end = end.wrapping_add(moved);
        if new_end == next_end {
            self.buffer_ends.remove(first);
            let overhead = u64::from(self.overhead_bytes);
            self.queued_bytes = self.queued_bytes.saturating_sub(overhead);
        } else {
            self.buffer_ends[first] = new_end;
        }
        // A PSH is a property of the buffer, not of a byte in it.
        let pushes = self.next_push.iter_mut().chain(&mut self.later_pushes);
        pushes.filter(|point| **point == end).for_each(|point| *point = new_end);
    }

    /// Records that data up to `snd_nxt` have left. The last burst of a buffer uses the buffer
    /// itself, so no memory is charged in addition to that of the buffer.
    #[inline]
    pub(crate) fn note_left(&mut self, snd_nxt: u32) {
        let ends_buffer = self.buffer_ends.front() == Some(&snd_nxt);
        if ends_buffer {
            self.buffer_ends.pop_front();
        }
        if ends_buffer || self.unsent(snd_nxt) == 0 {
            let overhead = u64::from(self.overhead_bytes);
            self.queued_bytes = self.queued_bytes.saturating_sub(overhead);
        }
    }

    /// Accepts bytes as [`Self::take`] does, with segmentation offload and while data are unsent:
    /// the tail buffer accepts what fits into it, however much memory is used. Segments leave from
    /// its front while it is being filled, so this ends only when the window is full.
    pub(crate) fn take_into_tail(
        &mut self,
        wanted: u64,
        tail_bytes: u64,
        snd_nxt: u32,
        mss: u32,
    ) -> u64 {
        let room = tail_bytes.saturating_sub(self.in_tail(snd_nxt));
        let into_tail = wanted.min(room);
        // A PSH is a property of the buffer, not of a byte in it.
        let is_pushed = into_tail > 0 && self.last_push() == Some(self.write_seq);
        self.queued_bytes += into_tail;
        self.write_seq = self.write_seq.wrapping_add(into_tail as u32);
        if is_pushed {
            let last = self.later_pushes.back_mut().or(self.next_push.as_mut());
            last.into_iter().for_each(|point| *point = self.write_seq);
        }
        if into_tail == wanted {
            return wanted;
        }
        let end = self.write_seq;
        let more = self.take(wanted - into_tail, snd_nxt, mss);
        if more > 0 && after(end, snd_nxt) {
            self.buffer_ends.push_back(end);
        }
        into_tail + more
    }

    /// Payload of a buffer that segmentation offload cuts, in whole segments: at most half of the
    /// largest window that the peer has offered.
    pub(crate) fn tail_bytes(&self, max_window: u32, mss: u64) -> u64 {
        (u64::from(GSO_MAX_BYTES.min(max_window >> 1)) / mss * mss).max(mss)
    }

    /// Number of whole segments that may be written before [`SendBuffer::needs_push`] is true.
    pub(crate) fn segments_until_push(&self, max_window: u32, mss: u64) -> u64 {
        let limit = self.pushed_seq.wrapping_add(max_window >> 1);
        let bytes = limit.wrapping_sub(self.write_seq) as i32;
        bytes.max(0) as u64 / mss + 1
    }

    /// Whether a PSH is due because half of the peer's window was written since the last PSH.
    pub(crate) fn needs_push(&self, max_window: u32) -> bool {
        after(self.write_seq, self.pushed_seq.wrapping_add(max_window >> 1))
    }

    /// `tcp_mark_push`: sets a PSH on the segment at the tail.
    pub(crate) fn mark_push(&mut self) {
        self.pushed_seq = self.write_seq;
        if self.next_push.is_none() {
            self.next_push = Some(self.write_seq);
        } else if self.last_push() != Some(self.write_seq) {
            self.later_pushes.push_back(self.write_seq);
        }
    }

    fn last_push(&self) -> Option<u32> {
        self.later_pushes.back().copied().or(self.next_push)
    }

    /// Cancels the PSH that ended the last write, because another write continues the segment at
    /// the tail.
    pub(crate) fn unmark_push(&mut self) {
        if self.last_push() == Some(self.write_seq) && self.later_pushes.pop_back().is_none() {
            self.next_push = None;
        }
    }

    /// Sets a PSH on the next segment to be sent, which ends at the given sequence number.
    pub(crate) fn push_at(&mut self, end: u32) {
        if let Some(later) = self.next_push.replace(end) {
            self.later_pushes.push_front(later);
        }
    }

    /// Whether the segment that ends at `end` carries a PSH; calls must be in ascending order.
    #[inline]
    pub(crate) fn take_push(&mut self, end: u32) -> bool {
        let mut is_push = false;
        while self.next_push.is_some_and(|point| !after(point, end)) {
            self.next_push = self.later_pushes.pop_front();
            is_push = true;
        }
        is_push
    }

    /// Charges the memory of a new buffer for data that leave with segmentation offload.
    pub(crate) fn split(&mut self) {
        self.queued_bytes += u64::from(self.overhead_bytes);
    }

    /// Releases an acknowledged segment, and its buffer unless the next segment shares this
    /// buffer.
    #[inline]
    pub(crate) fn release(&mut self, payload: u32, is_shared: bool) {
        let overhead = if is_shared { 0 } else { self.overhead_bytes };
        let bytes = u64::from(payload + overhead);
        self.queued_bytes = self.queued_bytes.saturating_sub(bytes);
    }

    /// Releases several acknowledged segments; `shared` of them share the buffer of the next
    /// segment.
    #[inline]
    pub(crate) fn release_several(&mut self, payload: u32, segments: u32, shared: u32) {
        let overhead = u64::from(segments - shared) * u64::from(self.overhead_bytes);
        let bytes = u64::from(payload) + overhead;
        self.queued_bytes = self.queued_bytes.saturating_sub(bytes);
    }

    /// `tcp_shift_skb_data`: moves segments into the buffers of their neighbours, because SACK
    /// reported both.
    pub(crate) fn merge(&mut self, segments: u32) {
        let overhead = u64::from(segments) * u64::from(self.overhead_bytes);
        self.queued_bytes = self.queued_bytes.saturating_sub(overhead);
    }

    /// Undoes a merge, because the SACK was revoked: the segment has its own buffer again.
    pub(crate) fn unmerge(&mut self) {
        self.queued_bytes += u64::from(self.overhead_bytes);
    }

    /// `sk_stream_is_writeable`: whether a third of the buffer is free.
    #[inline]
    pub(crate) fn is_writable(&self) -> bool {
        self.queued_bytes + (self.queued_bytes >> 1) <= self.sndbuf_bytes
            && self.queued_bytes < self.sndbuf_bytes
    }
}

/// Reasons why a sender cannot send, in ascending order of priority.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Limit {
    /// Nothing to send.
    #[default]
    Idle,
    /// Data are in flight or waiting to be sent.
    Busy,
    /// The peer's window is full.
    ReceiveWindow,
    /// The send buffer is full, and all of its data have been sent.
    SendBuffer,
}

/// `tcp_chrono`: the time for which each limit applied.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chrono {
    is_on: [bool; 4],
    limit: Limit,
    since: Time,
    spent: [Duration; 4],
}

impl Chrono {
    /// Starts a limit; if several limits apply, the one with the highest priority counts.
    #[inline]
    pub(crate) fn start(&mut self, limit: Limit, now: Time) {
        if !self.is_on[limit as usize] {
            self.is_on[limit as usize] = true;
            self.settle(now);
        }
    }

    /// Ends a limit. The end of `Busy` ends all limits.
    #[inline]
    pub(crate) fn stop(&mut self, limit: Limit, now: Time) {
        if self.is_on[limit as usize] {
            self.is_on[limit as usize] = false;
            if limit == Limit::Busy {
                self.is_on = [false; 4];
            }
            self.settle(now);
        }
    }

    fn settle(&mut self, now: Time) {
        self.spent[self.limit as usize] += now.saturating_since(self.since);
        self.since = now;
        self.limit = [Limit::SendBuffer, Limit::ReceiveWindow, Limit::Busy]
            .into_iter()
            .find(|limit| self.is_on[*limit as usize])
            .unwrap_or_default();
    }

    pub(crate) fn add_to(mut self, counters: &mut Counters, now: Time) {
        self.settle(now);
        let [_, busy, receive_window, send_buffer] = self.spent;
        counters.busy = busy + receive_window + send_buffer;
        counters.rwnd_limited = receive_window;
        counters.sndbuf_limited = send_buffer;
    }
}

impl LinuxEndpoint {
    /// `tcp_sndbuf_expand`: makes room for twice the window, including headers and bookkeeping.
    #[inline(always)]
    pub(super) fn expand_send_buffer(&mut self) {
        let segments = self.sk.snd_cwnd.max(self.sk.reordering + 1);
        if segments > self.buffer.sized_for_pkts {
            self.expand_send_buffer_for(segments);
        }
    }

    #[inline(never)]
    fn expand_send_buffer_for(&mut self, segments: u32) {
        let segments = self.settings.initial_cwnd_pkts.max(segments);
        let wish = self.congestion.sndbuf_expand(&mut self.sk);
        if wish.is_none() {
            // The buffer never shrinks. An algorithm with its own factor is asked each time.
            self.buffer.sized_for_pkts = segments;
        }
        let factor = wish.unwrap_or(2);
        let wanted = u64::from(factor) * u64::from(segments) * self.buffer.segment_room_bytes;
        let largest = u64::from(self.settings.send.send_buffer_max_bytes);
        self.buffer.sndbuf_bytes = self.buffer.sndbuf_bytes.max(wanted.min(largest));
    }

    /// `tcp_check_space` after a segment was handled: lets the buffer grow, and unblocks the
    /// application if there is room again.
    #[inline]
    pub(super) fn check_space(&mut self) {
        if self.buffer.is_blocked {
            self.grow_unless_full(self.in_flight());
            self.unblock_application();
        }
    }

    /// Lets the buffer grow for an application that waits, unless the window is full.
    #[inline]
    pub(super) fn grow_unless_full(&mut self, in_flight: u32) {
        let grows_at_full_window = self.settings.send.send_buffer_grows_at_full_window;
        if self.buffer.is_blocked && (grows_at_full_window || in_flight < self.sk.snd_cwnd) {
            self.grow_send_buffer();
        }
    }

    /// `tcp_new_space` for an application that waits: lets the buffer grow.
    #[inline]
    pub(super) fn grow_send_buffer(&mut self) {
        self.expand_send_buffer();
        self.sk.snd_cwnd_stamp = self.sk.cc_jiffies32;
    }

    /// Unblocks the application if there is room. It looks only after all that may leave has left
    /// (`tcp_poll`), so room that is used up meanwhile does not count.
    #[inline]
    pub(super) fn unblock_application(&mut self) {
        if self.buffer.is_blocked && self.buffer.is_writable() {
            self.buffer.is_blocked = false;
            self.buffer.chrono.stop(Limit::SendBuffer, self.clock.now());
        }
    }

    /// Starts the limit by the send buffer if all written data are sent and the application cannot
    /// write.
    pub(crate) fn note_send_buffer_limit(&mut self) {
        if !self.has_unsent() && self.buffer.is_blocked {
            self.buffer.chrono.start(Limit::SendBuffer, self.clock.now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    fn buffer(sndbuf_bytes: u64) -> SendBuffer {
        let profile = Profile::by_name("linux-6.1").expect("exists");
        let settings = profile.linux().expect("linux").clone();
        let mut buffer = SendBuffer::new(1, &settings);
        buffer.sndbuf_bytes = sndbuf_bytes;
        buffer
    }

    /// Values traced on Linux 6.1 (reference/linux61, S1): 10 segments in flight and 31,856 bytes
    /// waiting after the first write of 64 KiB.
    #[test]
    fn first_write_fills_32_segments() {
        let mut buffer = buffer(87_040);
        assert_eq!(buffer.take(65_536, 1, 1_448), 14_480 + 31_856);
        assert!(!buffer.is_writable());
    }

    #[test]
    fn room_comes_back_when_a_third_is_free() {
        let mut buffer = buffer(3 * 2_728);
        assert_eq!(buffer.take(10_000, 1, 1_448), 3 * 1_448);
        assert!(!buffer.is_writable());
        buffer.release(1_448, false);
        assert!(buffer.is_writable());
    }

    #[test]
    fn a_merged_segment_leaves_its_overhead_first_and_its_payload_at_the_end() {
        let mut buffer = buffer(1_000_000);
        buffer.take(2 * 1_448, 1, 1_448);
        buffer.merge(1);
        assert_eq!(buffer.queued_bytes, 2 * 1_448 + 1_280);
        buffer.release(1_448, true);
        buffer.release(1_448, false);
        assert_eq!(buffer.queued_bytes, 0);
    }

    /// Measured on Linux 6.18.44 with `SO_MEMINFO`, a peer that does not read, and a send buffer
    /// of 800,000 bytes: 508,548 bytes wait with `gso_max_segs` 1, and as many as the whole buffer
    /// without it.
    #[test]
    fn linux_6_18_charges_832_bytes_a_buffer_and_offload_shares_it() {
        let make = |is_offloaded| {
            let profile = Profile::by_name("linux-6.18").expect("exists");
            let mut settings = profile.linux().expect("linux").clone();
            settings.segmentation_offload = is_offloaded;
            let mut buffer = SendBuffer::new(1, &settings);
            buffer.sndbuf_bytes = 800_000;
            buffer
        };
        let alone = make(false).take(10_000_000, 1, 1_448);
        assert!(alone.abs_diff(508_548) < 2 * 1_448, "{alone}");
        let mut shared = make(true);
        let taken = shared.take(10_000_000, 1, 1_448);
        assert!(taken.abs_diff(800_000) < 1_448, "{taken}");
        // Two segments leave in one buffer, which is released with the second.
        let unsent = taken + 832;
        assert_eq!(shared.queued_bytes, unsent);
        shared.split();
        assert_eq!(shared.queued_bytes, unsent + 832);
        shared.release(1_448, true);
        assert_eq!(shared.queued_bytes, unsent - 1_448 + 832);
        shared.release(1_448, false);
        assert_eq!(shared.queued_bytes, unsent - 2 * 1_448);
    }

    /// Measured on Linux 6.18.44 with a window that lets all data leave: after 16 writes of 64 KiB
    /// in 0.3 ms, the memory rises from 4,017,536 to 5,075,704 bytes, above the limit of
    /// 4,194,304, and 65,160 bytes wait at the end.
    #[test]
    fn the_tail_takes_what_fits_though_the_memory_is_used_up() {
        let profile = Profile::by_name("linux-6.18").expect("exists");
        let mut buffer = SendBuffer::new(1, profile.linux().expect("linux"));
        buffer.sndbuf_bytes = 4_194_304;
        buffer.queued_bytes = 4_300_000;
        assert_eq!(buffer.take(65_536, 1, 1_448), 0, "there is no tail");
        buffer.queued_bytes = 4_190_000;
        assert_eq!(buffer.take(376, 1, 1_448), 376);
        buffer.queued_bytes = 4_300_000;
        assert_eq!(buffer.take_into_tail(65_536, 65_160, 1, 1_448), 65_160 - 376);
        assert_eq!(buffer.take_into_tail(65_536, 65_160, 1, 1_448), 0, "and it is full");
        // Three segments leave.
        assert_eq!(buffer.take_into_tail(65_536, 65_160, 1 + 3 * 1_448, 1_448), 3 * 1_448);
    }

    #[test]
    fn a_full_buffer_is_followed_by_another_and_the_last_takes_more() {
        let profile = Profile::by_name("linux-6.18").expect("exists");
        let mut buffer = SendBuffer::new(1, profile.linux().expect("linux"));
        buffer.sndbuf_bytes = 100_000;
        assert_eq!(buffer.take(10_000, 1, 1_448), 10_000);
        assert_eq!(buffer.take_into_tail(10_000, 10_000, 1, 1_448), 10_000);
        assert_eq!(buffer.buffer_end(1), Some(10_001));
        assert_eq!(buffer.in_tail(1), 10_000);
        assert_eq!(buffer.take_into_tail(500, 10_000, 1, 1_448), 500, "a third one");
        assert_eq!(buffer.in_tail(1), 500);
        // The first one has left.
        buffer.note_left(10_001);
        assert_eq!(buffer.buffer_end(10_001), Some(20_001));
        buffer.note_left(20_001);
        assert_eq!(buffer.buffer_end(20_001), None);
        assert_eq!(buffer.in_tail(20_301), 200);
    }

    /// Measured on Linux 6.12.117 (docs/notes/2026-11-vm.md): a buffer with one segment and the next
    /// with 27 become one of two and one of 26.
    #[test]
    fn a_short_buffer_takes_data_from_the_next_one() {
        let mut buffer = buffer(1_000_000);
        buffer.is_shared = true;
        assert_eq!(buffer.take(1_448, 1, 1_448), 1_448);
        buffer.mark_push();
        assert_eq!(buffer.take_into_tail(27 * 1_448, 1_448, 1, 1_448), 27 * 1_448);
        assert_eq!(buffer.buffer_end(1), Some(1_449));
        let queued_bytes = buffer.queued_bytes;
        buffer.fill_first(1, 2 * 1_448);
        assert_eq!(buffer.buffer_end(1), Some(1 + 2 * 1_448));
        assert_eq!(buffer.in_tail(1), 26 * 1_448);
        assert_eq!(buffer.queued_bytes, queued_bytes);
        buffer.fill_first(1, 1_448);
        assert_eq!(buffer.buffer_end(1), Some(1 + 2 * 1_448), "it is not shortened");
        // The PSH of the first buffer is at its new end.
        assert!(!buffer.take_push(1_449));
        assert!(buffer.take_push(1 + 2 * 1_448));
        // Nothing is left in the second buffer.
        buffer.fill_first(1, 40 * 1_448);
        assert_eq!(buffer.buffer_end(1), None);
        assert_eq!(buffer.in_tail(1), 28 * 1_448);
        assert_eq!(buffer.queued_bytes, queued_bytes - u64::from(buffer.overhead_bytes));
    }

    #[test]
    fn a_buffer_that_takes_all_data_of_the_last_one_takes_its_fin() {
        let mut buffer = buffer(1_000_000);
        buffer.is_shared = true;
        assert_eq!(buffer.take(1_448, 1, 1_448), 1_448);
        assert_eq!(buffer.take_into_tail(1_448, 1_448, 1, 1_448), 1_448);
        buffer.is_fin_queued = true;
        buffer.write_seq += 1;
        buffer.fill_first(1, 2 * 1_448);
        assert_eq!(buffer.buffer_end(1), None);
        assert_eq!(buffer.unsent(1), 2 * 1_448);
    }

    #[test]
    fn push_goes_to_the_segment_that_ends_a_write() {
        let mut buffer = buffer(1_000_000);
        buffer.take(2_000, 1, 1_448);
        buffer.mark_push();
        assert!(!buffer.take_push(1 + 1_448));
        assert!(buffer.take_push(1 + 2_896));
        assert!(!buffer.take_push(1 + 2_896));
    }

    #[test]
    fn plain_bytes_end_before_a_push_and_before_the_last_segment() {
        let mut buffer = buffer(1_000_000);
        assert_eq!(buffer.plain_bytes(1), 0);
        buffer.take(5_000, 1, 1_448);
        assert_eq!(buffer.plain_bytes(1), 4_998);
        assert_eq!(buffer.plain_bytes(4_501), 498);
        buffer.mark_push();
        buffer.take(5_000, 1, 1_448);
        assert_eq!(buffer.plain_bytes(1), 4_999);
        assert!(buffer.take_push(5_001));
        assert_eq!(buffer.plain_bytes(5_001), 4_998);
    }

    #[test]
    fn pushes_come_in_order_and_the_last_can_be_taken_back() {
        let mut buffer = buffer(1_000_000);
        for bytes in [1_000, 2_000, 300] {
            buffer.take(bytes, 1, 1_448);
            buffer.mark_push();
            buffer.mark_push();
        }
        buffer.unmark_push();
        buffer.push_at(501);
        let pushes =
            |buffer: &mut SendBuffer, ends: [u32; 4]| ends.map(|end| buffer.take_push(end));
        assert_eq!(pushes(&mut buffer, [500, 501, 1_000, 1_001]), [false, true, false, true]);
        assert_eq!(pushes(&mut buffer, [3_000, 3_001, 3_301, 9_999]), [false, true, false, false]);
        buffer.mark_push();
        buffer.unmark_push();
        assert!(!buffer.take_push(9_999));
        buffer.mark_push();
        assert!(buffer.take_push(3_301));
    }

    #[test]
    fn the_strongest_limit_counts() {
        let mut chrono = Chrono::default();
        chrono.start(Limit::Busy, Time::from_millis(10));
        chrono.start(Limit::ReceiveWindow, Time::from_millis(20));
        chrono.stop(Limit::ReceiveWindow, Time::from_millis(50));
        chrono.stop(Limit::Busy, Time::from_millis(60));
        let mut counters = Counters::default();
        chrono.add_to(&mut counters, Time::from_millis(100));
        assert_eq!(counters.busy, Duration::from_millis(50));
        assert_eq!(counters.rwnd_limited, Duration::from_millis(30));
        assert_eq!(counters.sndbuf_limited, Duration::ZERO);
    }
}
