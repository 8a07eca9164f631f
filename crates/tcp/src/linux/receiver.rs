//! The receiving half: SACK blocks, the advertised window with its auto-tuning, and
//! when an ACK leaves.

use cwndlab_units::Time;

use crate::linux::reassembly::{Reassembly, ReceiveQueue};
use crate::linux::settings::LinuxSettings;
use crate::segment::{SackBlock, Segment};
use crate::seq::{after, before, earlier, later};

/// `TCP_NUM_SACKS`: blocks that are remembered.
const SACK_BLOCKS_KEPT: usize = 4;
/// `TCP_MAX_QUICKACKS`.
pub(crate) const MAX_QUICK_ACKS: u32 = 16;

/// State of the receiving half.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    out_of_order: Reassembly,
    /// Data in order that the application has not read.
    pub(crate) queue: ReceiveQueue,
    /// SACK blocks to report, the most recent first (RFC 2018 section 4).
    sacks: Vec<SackBlock>,
    /// A duplicate to report (RFC 2883).
    pub(crate) duplicate: Option<SackBlock>,
    /// Bytes that the application has read.
    pub(crate) copied: u64,

    /// Right edge of the window last advertised is `rcv_wup + rcv_wnd`.
    pub(crate) rcv_wup: u32,
    pub(crate) rcv_wnd: u32,
    /// The field that says `rcv_wnd`.
    window_field: u16,
    /// Something may have changed since then that the window depends on.
    pub(crate) is_window_old: bool,
    pub(crate) rcv_wscale: u8,
    rcv_ssthresh: u32,
    /// The largest window, not more than an empty buffer holds.
    window_clamp: u32,
    /// `tcp_adv_win_scale`.
    window_scale: u32,
    initial_window_pkts: u32,
    rcvbuf_bytes: u32,
    rcvbuf_max_bytes: u32,
    advmss: u32,

    /// RTT seen from here, scaled by 8, in microseconds.
    rcv_rtt_us: u32,
    rcv_rtt_last_tsecr: u32,
    /// Without timestamps: the right edge of a window, and when it was offered.
    window_rtt: Option<(u32, u64)>,
    /// What was read in the last round: bytes, and where and when the present one began.
    space_bytes: u32,
    space_seq: u64,
    space_time_us: u64,

    /// Memory of the acknowledgement engine, `icsk_ack`.
    pub(crate) ack: AckEngine,
}

/// `icsk_ack`: how and when the next ACK leaves; whether one is due is in the socket, in
/// `icsk_ack.pending`, where an algorithm sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct AckEngine {
    /// ACKs that leave without delay.
    pub(crate) quick: u32,
    /// The connection is interactive: replies carry the ACKs.
    pub(crate) pingpong: u32,
    /// Expected time between segments in jiffies, 0 before the first.
    pub(crate) ato: u64,
    /// Jiffies at which data last came.
    pub(crate) lrcvtime: u64,
    /// Jiffies for which the delayed ACK is set.
    pub(crate) timeout: u64,
    /// When the delayed ACK's timer fires.
    pub(crate) timer: Time,
    /// Largest payload seen.
    pub(crate) rcv_mss: u32,
}

/// What became of a segment's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// In order; the gap behind it was filled if `has_filled_gap`. `free_bytes` is the window that
    /// the buffer had room for with it, before what it made in order moved together.
    InOrder { has_filled_gap: bool, free_bytes: u32 },
    /// Kept for later; `free_bytes` is the window that the buffer had room for before.
    OutOfOrder { free_bytes: u32 },
    /// All of it was there before.
    Duplicate,
    /// Beyond the window.
    OutOfWindow,
}

impl Receiver {
    pub(crate) fn new(settings: &LinuxSettings) -> Self {
        let advmss = settings.announced_mss();
        let mut receiver = Self {
            out_of_order: Reassembly::default(),
            queue: ReceiveQueue::default(),
            sacks: Vec::new(),
            duplicate: None,
            copied: 0,
            rcv_wup: 0,
            rcv_wnd: 0,
            window_field: 0,
            is_window_old: true,
            rcv_wscale: 0,
            rcv_ssthresh: 0,
            window_clamp: 0,
            window_scale: settings.receive_window_scale.clamp(1, 31),
            initial_window_pkts: settings.initial_receive_window_pkts,
            rcvbuf_bytes: settings.receive_buffer_bytes,
            rcvbuf_max_bytes: settings.receive_buffer_max_bytes,
            advmss,
            rcv_rtt_us: 0,
            rcv_rtt_last_tsecr: 0,
            window_rtt: None,
            space_bytes: 0,
            space_seq: 0,
            space_time_us: 0,
            ack: AckEngine { rcv_mss: 536.min(advmss), timer: Time::NEVER, ..AckEngine::default() },
        };
        // `tcp_select_initial_window`: the scale that the largest buffer needs.
        receiver.window_clamp = receiver.full_space();
        let largest = receiver.rcvbuf_max_bytes.max(receiver.full_space());
        receiver.rcv_wscale = largest.max(1).ilog2().saturating_sub(15).min(14) as u8;
        receiver
    }

    /// `tcp_win_from_space`: a part of the buffer is overhead.
    fn window_from(&self, space: u32) -> u32 {
        space - (space >> self.window_scale)
    }

    fn full_space(&self) -> u32 {
        self.window_from(self.rcvbuf_bytes)
    }

    pub(crate) fn free_space(&self) -> u32 {
        let used = self.queue.memory_bytes + self.out_of_order.memory_bytes;
        self.window_from(self.rcvbuf_bytes.saturating_sub(used))
    }

    /// The window that a SYN carries, whole segments of `mss`, and the state after it.
    pub(crate) fn begin(&mut self, rcv_nxt: u32, mss: u32) -> u16 {
        let space = self.full_space();
        let whole = if space > mss { space / mss * mss } else { space };
        let whole = whole.min(self.initial_window_pkts.saturating_mul(mss));
        self.advertise(whole.min(u32::from(u16::MAX)), rcv_nxt);
        self.rcv_ssthresh = self.rcv_wnd;
        // That of a SYN is not scaled (RFC 7323 section 2.2).
        self.rcv_wnd as u16
    }

    /// The handshake is complete (`tcp_init_buffer_space`).
    pub(crate) fn established(&mut self, mss: u32, initial_cwnd_pkts: u32, now_us: u64) {
        self.is_window_old = true;
        self.advmss = mss;
        let largest = self.full_space();
        self.window_clamp = largest.saturating_sub(mss).max(2 * mss).min(largest);
        self.rcv_ssthresh = self.rcv_ssthresh.min(self.window_clamp);
        self.space_bytes = self.rcv_ssthresh.min(self.rcv_wnd).min(initial_cwnd_pkts * mss);
        self.space_time_us = now_us;
        self.space_seq = self.copied;
    }

    /// Bytes that the peer may still send.
    pub(crate) fn receive_window(&self, rcv_nxt: u32) -> u32 {
        let window = self.rcv_wup.wrapping_add(self.rcv_wnd).wrapping_sub(rcv_nxt) as i32;
        window.max(0) as u32
    }

    /// `__tcp_select_window`: what would be advertised now, in whole units of the scale.
    pub(crate) fn window_to_offer(&mut self) -> u32 {
        let window = self.window_that_fits();
        self.in_whole_units(window)
    }

    /// What would be advertised now if every window could be expressed.
    #[inline]
    fn window_that_fits(&mut self) -> u32 {
        let free = self.free_space();
        if free < self.window_clamp >> 1 {
            return self.window_of_scarce_space(free);
        }
        free.min(self.rcv_ssthresh)
    }

    /// Less than half of the buffer is free: no quick ACKs, and a closed window rather than a
    /// silly one (RFC 9293 section 3.8.6.2.2).
    #[cold]
    fn window_of_scarce_space(&mut self, free: u32) -> u32 {
        self.ack.quick = 0;
        let whole = free & !((1 << self.rcv_wscale) - 1);
        if whole < self.full_space() >> 4 || whole < self.ack.rcv_mss.min(self.window_clamp) {
            return 0;
        }
        whole.min(self.rcv_ssthresh)
    }

    /// A window that its field can express, rounded up.
    #[inline]
    fn in_whole_units(&self, window: u32) -> u32 {
        let remainder = (1 << self.rcv_wscale) - 1;
        (window + remainder) & !remainder
    }

    /// `tcp_select_window`: the window field of an ACK. The window never shrinks.
    #[inline]
    pub(crate) fn select_window(&mut self, rcv_nxt: u32) -> u16 {
        if self.is_window_old || rcv_nxt != self.rcv_wup {
            let window = self.window_that_fits().max(self.receive_window(rcv_nxt));
            self.advertise(self.in_whole_units(window), rcv_nxt);
            self.is_window_old = false;
        }
        self.window_field
    }

    #[inline]
    fn advertise(&mut self, window: u32, rcv_nxt: u32) {
        self.rcv_wnd = window;
        self.rcv_wup = rcv_nxt;
        self.window_field = (window >> self.rcv_wscale).min(u32::from(u16::MAX)) as u16;
    }

    /// Whether nothing is out of order.
    pub(crate) fn is_in_order(&self) -> bool {
        self.out_of_order.is_empty()
    }

    /// Whether there is a block to report, or a duplicate.
    #[inline]
    pub(crate) fn has_sacks(&self) -> bool {
        self.duplicate.is_some() || !self.sacks.is_empty()
    }

    /// Puts the blocks to report into an ACK, a duplicate first.
    #[inline(never)]
    pub(crate) fn put_sacks(&mut self, segment: &mut Segment) {
        // 40 bytes of options hold four blocks, or three beside timestamps.
        let room = if segment.timestamps.is_some() { 3 } else { 4 };
        for block in self.duplicate.take().iter().chain(&self.sacks).take(room) {
            segment.sacks.push(*block);
        }
        segment.header_bytes += 4 + 8 * segment.sacks.as_slice().len() as u16;
    }

    /// Takes a payload that is the next, with nothing out of order. Returns the window that the
    /// buffer has room for then, or nothing and takes nothing if the present one is closed.
    #[inline]
    pub(crate) fn take_next(&mut self, rcv_nxt: u32, bytes: u32) -> Option<u32> {
        if self.receive_window(rcv_nxt) == 0 {
            return None;
        }
        self.is_window_old = true;
        self.queue.push(bytes);
        Some(self.free_space())
    }

    /// Takes a payload. `rcv_nxt` advances over what is in order.
    pub(crate) fn handle_data(&mut self, rcv_nxt: &mut u32, seq: u32, end: u32) -> Arrival {
        self.is_window_old = true;
        let right_edge = rcv_nxt.wrapping_add(self.receive_window(*rcv_nxt));
        if !after(end, *rcv_nxt) {
            self.duplicate = Some(SackBlock { start: seq, end });
            return Arrival::Duplicate;
        }
        if !before(seq, right_edge) {
            return Arrival::OutOfWindow;
        }
        if after(seq, *rcv_nxt) {
            let free_bytes = self.free_space();
            self.duplicate = self.out_of_order.store(seq, end).or(self.duplicate);
            self.report(seq, end);
            return Arrival::OutOfOrder { free_bytes };
        }
        if before(seq, *rcv_nxt) {
            self.duplicate = Some(SackBlock { start: seq, end: *rcv_nxt });
        }
        let had_gap = !self.out_of_order.is_empty();
        self.queue.push(end.wrapping_sub(*rcv_nxt));
        let free_bytes = self.free_space();
        *rcv_nxt = end;
        if had_gap {
            self.out_of_order.take(rcv_nxt, &mut self.queue);
            // SACK blocks that are covered now are forgotten.
            if self.out_of_order.is_empty() {
                self.sacks.clear();
            } else {
                self.sacks.retain(|block| before(*rcv_nxt, block.start));
            }
        }
        Arrival::InOrder { has_filled_gap: had_gap && self.out_of_order.is_empty(), free_bytes }
    }

    /// Whether data out of order would be a block of their own for which the oldest is forgotten.
    #[cold]
    pub(crate) fn would_forget_block(&self, rcv_nxt: u32, seq: u32, end: u32) -> bool {
        let right_edge = rcv_nxt.wrapping_add(self.receive_window(rcv_nxt));
        after(seq, rcv_nxt)
            && before(seq, right_edge)
            && self.sacks.len() == SACK_BLOCKS_KEPT
            && !self.sacks.iter().any(|block| block.touches(seq, end))
    }

    /// `tcp_sack_new_ofo_skb`: the block with the newest data goes first.
    fn report(&mut self, seq: u32, end: u32) {
        if let Some(index) = self.sacks.iter().position(|block| block.touches(seq, end)) {
            let block = &mut self.sacks[index];
            block.start = earlier(block.start, seq);
            block.end = later(block.end, end);
            self.sacks[..=index].rotate_right(1);
            let mut other = 1;
            while other < self.sacks.len() {
                let (first, second) = (self.sacks[0], self.sacks[other]);
                if first.touches(second.start, second.end) {
                    self.sacks[0].start = earlier(first.start, second.start);
                    self.sacks[0].end = later(first.end, second.end);
                    self.sacks.remove(other);
                } else {
                    other += 1;
                }
            }
            return;
        }
        self.sacks.truncate(SACK_BLOCKS_KEPT - 1);
        self.sacks.insert(0, SackBlock { start: seq, end });
    }

    /// `tcp_grow_window`: a segment of `bytes` came; the window follows if there is
    /// room for more.
    pub(crate) fn grow_window(&mut self, bytes: u32, free_bytes: u32) {
        let room = self.window_clamp.min(free_bytes) as i64 - i64::from(self.rcv_ssthresh);
        if room <= 0 {
            return;
        }
        // The head of a segment holds no payload and is not counted, so that every segment is
        // worth its place in the buffer.
        let increase = (2 * self.advmss).max(2 * bytes);
        self.rcv_ssthresh += i64::from(increase).min(room) as u32;
        self.ack.quick |= 1;
    }

    /// The RTT seen from here, scaled by 8, in microseconds; 0 before the first sample.
    pub(crate) fn rtt_us(&self) -> u32 {
        self.rcv_rtt_us
    }

    /// Whether the peer echoes another timestamp than last time.
    #[inline]
    pub(crate) fn is_new_echo(&self, tsecr: u32) -> bool {
        tsecr != self.rcv_rtt_last_tsecr
    }

    /// `tcp_rcv_rtt_measure_ts`: the peer's data echo a timestamp of ours.
    pub(crate) fn take_timestamp_rtt(&mut self, tsecr: u32, now_ms: u32, bytes: u32) {
        self.rcv_rtt_last_tsecr = tsecr;
        let delta_ms = now_ms.wrapping_sub(tsecr);
        // Nobody takes weeks: an echo that was never sent.
        if bytes >= self.ack.rcv_mss && delta_ms < i32::MAX as u32 / 1_000 {
            let rtt_us = (delta_ms.max(1) * 1_000).min(u32::MAX >> 3);
            // A lower one counts at once.
            self.rcv_rtt_us = match self.rcv_rtt_us {
                0 => rtt_us << 3,
                old if rtt_us << 3 < old => rtt_us << 3,
                old => old - (old >> 3) + rtt_us,
            };
        }
    }

    /// Data come from a peer without timestamps: it takes a round trip at least until a whole window
    /// has come (Fisk and Feng, Dynamic right-sizing in TCP, 2001, section 3.2), so that the
    /// shortest of these times counts.
    pub(crate) fn take_window_rtt(&mut self, rcv_nxt: u32, now_us: u64) {
        if let Some((edge, began_us)) = self.window_rtt {
            if before(rcv_nxt, edge) {
                return;
            }
            let rtt_us = u32::try_from((now_us - began_us).max(1)).unwrap_or(u32::MAX >> 3);
            let rtt = rtt_us.min(u32::MAX >> 3) << 3;
            self.rcv_rtt_us = if self.rcv_rtt_us == 0 { rtt } else { self.rcv_rtt_us.min(rtt) };
        }
        self.window_rtt = Some((rcv_nxt.wrapping_add(self.rcv_wnd), now_us));
    }

    /// The application reads at most `max` bytes. The space follows after each buffer, so that a
    /// round ends with the first one.
    pub(crate) fn read(&mut self, max: u64, now_us: u64) -> u64 {
        self.is_window_old = true;
        let bytes = self.queue.bytes.min(max);
        let head = self.queue.head(bytes);
        self.queue.read(bytes);
        self.copied += head;
        self.adjust_space(now_us);
        self.copied += bytes - head;
        bytes
    }

    /// Whether all data that the application might read have been read.
    pub(crate) fn is_drained(&self) -> bool {
        self.queue.bytes == 0
    }

    /// `tcp_rcv_space_adjust`: once a round trip, the buffer follows what was read in it.
    fn adjust_space(&mut self, now_us: u64) {
        if self.rcv_rtt_us == 0 || now_us - self.space_time_us < u64::from(self.rcv_rtt_us >> 3) {
            return;
        }
        let copied = u32::try_from(self.copied - self.space_seq).unwrap_or(u32::MAX);
        if copied > self.space_bytes {
            let mut window = (u64::from(copied) << 1) + 16 * u64::from(self.advmss);
            let grow =
                window * u64::from(copied - self.space_bytes) / u64::from(self.space_bytes.max(1));
            window += grow << 1;
            let mut memory = self.advmss + 320 + 576;
            while self.window_from(memory) < self.advmss {
                memory += 128;
            }
            let wanted = window / u64::from(self.advmss) * u64::from(memory);
            let buffer = wanted.min(u64::from(self.rcvbuf_max_bytes)) as u32;
            if buffer > self.rcvbuf_bytes {
                self.rcvbuf_bytes = buffer;
                self.window_clamp = self.window_from(buffer);
            }
            self.space_bytes = copied;
        }
        self.space_seq = self.copied;
        self.space_time_us = now_us;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    fn receiver() -> Receiver {
        let settings = Profile::by_name("linux-6.1").expect("exists").linux.expect("linux");
        let mut receiver = Receiver::new(&settings);
        receiver.begin(1, 1_448);
        receiver.established(1_448, 10, 0);
        receiver
    }

    #[test]
    fn the_short_way_of_data_leads_where_the_long_one_does_until_the_window_closes() {
        let (mut short, mut long) = (receiver(), receiver());
        let mut rcv_nxt = 1;
        for bytes in [1_448, 1_448, 1, 300, 1_448].into_iter().cycle() {
            let seq = rcv_nxt;
            let free_bytes = short.take_next(seq, bytes);
            let arrival = long.handle_data(&mut rcv_nxt, seq, seq + bytes);
            let Some(free_bytes) = free_bytes else {
                assert_eq!(arrival, Arrival::OutOfWindow);
                break;
            };
            assert_eq!(arrival, Arrival::InOrder { has_filled_gap: false, free_bytes });
            assert_eq!(format!("{short:?}"), format!("{long:?}"));
        }
        assert!(rcv_nxt > short.rcv_wnd, "the window was used up");
    }

    #[test]
    fn without_timestamps_the_shortest_window_is_a_round_trip() {
        let mut receiver = receiver();
        receiver.take_window_rtt(1, 1_000);
        let edge = 1 + receiver.rcv_wnd;
        receiver.take_window_rtt(edge - 1, 30_000);
        assert_eq!(receiver.rtt_us(), 0, "the window is not used up");
        receiver.take_window_rtt(edge, 41_000);
        assert_eq!(receiver.rtt_us(), 40_000 << 3);
        receiver.take_window_rtt(edge + receiver.rcv_wnd, 141_000);
        assert_eq!(receiver.rtt_us(), 40_000 << 3, "a sender that paused");
        receiver.take_window_rtt(edge + 2 * receiver.rcv_wnd, 161_000);
        assert_eq!(receiver.rtt_us(), 20_000 << 3);
    }

    #[test]
    fn the_window_field_says_the_window_that_is_kept() {
        let mut receiver = receiver();
        for rcv_nxt in (1..200_000).step_by(1_448) {
            receiver.handle_data(&mut rcv_nxt.clone(), rcv_nxt, rcv_nxt + 1_448);
            receiver.read(u64::MAX, u64::from(rcv_nxt));
            let field = receiver.select_window(rcv_nxt + 1_448);
            assert_eq!(u32::from(field) << receiver.rcv_wscale, receiver.rcv_wnd);
        }
        assert!(receiver.rcv_wnd > 10 * 1_448);
    }
}
