//! The advertised window: its size, its field in the header, and the auto-tuning of the receive
//! buffer that limits it. Once per round trip, the size of the buffer is adapted to the data that
//! were read in this round trip (Fisk and Feng, Dynamic right-sizing in TCP, 2001).

use cwndlab_packet::seq::before;

use crate::linux::settings::LinuxSettings;

/// Segments with fewer bytes do not open the window (`tcp_event_data_recv`).
pub(crate) const SHORT_BYTES: u32 = 128;

/// The advertised window, and the receive buffer from which it is derived.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// `rcv_wup`: value of `rcv_nxt` in the last ACK. The right edge of the window is `left +
    /// size`.
    pub(crate) left: u32,
    /// `rcv_wnd`: the window in the last ACK.
    pub(crate) size: u32,
    /// The window field for `size`.
    field: u16,
    /// Whether the window may have changed since `field` was computed.
    pub(crate) is_old: bool,
    /// Shift of the window field (RFC 7323 section 2).
    scale: u8,
    /// The bits of a window that the window field drops.
    remainder: u32,
    /// `rcv_ssthresh`: how far the window has opened.
    threshold: u32,
    /// The largest possible window, which is at most that of an empty buffer.
    clamp: u32,
    share: Share,
    initial_pkts: u32,
    opens_by_arrivals: bool,
    buffer_bytes: u32,
    buffer_max_bytes: u32,
}

/// The part of the receive buffer that counts as window.
#[derive(Clone, Copy, Debug)]
enum Share {
    /// All but one part in 2 to this power (`tcp_adv_win_scale`).
    Fixed(u32),
    /// So many 256ths, measured in the longest segment (`scaling_ratio`, Linux 6.6).
    Measured(u32),
}

/// Inputs of the window, except for how far it has opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    /// The window for which the buffer has room.
    pub(crate) free_bytes: u32,
    /// The largest segment received so far.
    pub(crate) rcv_mss: u32,
}

/// The RTT that the receiver observes, and the data that the application reads per RTT.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferTuning {
    /// RTT scaled by 8, in microseconds; 0 before the first sample.
    rtt_us: u32,
    last_tsecr: u32,
    /// Without timestamps: the right edge of a window, and the time at which its measurement
    /// began.
    window_rtt: Option<(u32, u64)>,
    /// Number of bytes that the application has read.
    copied: u64,
    /// Maximum number of bytes read in one round trip so far.
    round_bytes: u32,
    /// Value of `copied` at the start of the present round trip.
    round_start: u64,
    /// Time at which the present round trip started.
    round_start_us: u64,
    /// Number of full segments for which there is room beside twice the data of a round trip.
    headroom_pkts: u32,
    counts_reordered: bool,
    /// Number of bytes from the first gap to the end of the data beyond it; 0 without a gap.
    pub(super) reordered_bytes: u32,
}

impl Window {
    pub(crate) fn new(settings: &LinuxSettings) -> Self {
        let shift = settings.receive.receive_window_scale.clamp(1, 31);
        let mut window = Self {
            left: 0,
            size: 0,
            field: 0,
            is_old: true,
            scale: 0,
            remainder: 0,
            threshold: 0,
            clamp: 0,
            share: if settings.receive.receive_window_follows_overhead {
                Share::Measured(256 - (256 >> shift))
            } else {
                Share::Fixed(shift)
            },
            initial_pkts: settings.receive.initial_receive_window_pkts,
            opens_by_arrivals: settings.receive.receive_window_opens_by_arrivals,
            buffer_bytes: settings.receive.receive_buffer_bytes,
            buffer_max_bytes: settings.receive.receive_buffer_max_bytes,
        };
        // `tcp_select_initial_window`: the scale needed for the largest buffer.
        window.clamp = window.full_bytes();
        let largest = window.buffer_max_bytes.max(window.full_bytes());
        window.set_scale(largest.max(1).ilog2().saturating_sub(15).min(14) as u8);
        window
    }

    pub(crate) fn scale(&self) -> u8 {
        self.scale
    }

    /// Sets the shift of the window field, which is at most 14.
    pub(crate) fn set_scale(&mut self, scale: u8) {
        self.scale = scale;
        self.remainder = (1 << scale) - 1;
    }

    /// `tcp_win_from_space`: the part of the receive buffer that is not overhead.
    #[inline]
    pub(super) fn of_space(&self, space: u32) -> u32 {
        match self.share {
            Share::Fixed(shift) => space - (space >> shift),
            Share::Measured(ratio) => ((u64::from(space) * u64::from(ratio)) >> 8) as u32,
        }
    }

    /// The receive buffer for a window of `window` bytes.
    fn space_for(&self, window: u64, mss: u32) -> u64 {
        match self.share {
            Share::Fixed(_) => {
                let mut memory = mss + 320 + 576;
                while self.of_space(memory) < mss {
                    memory += 128;
                }
                window / u64::from(mss) * u64::from(memory)
            }
            Share::Measured(ratio) => (window << 8) / u64::from(ratio),
        }
    }

    /// Whether the window follows the overhead of the segments that arrive.
    #[inline]
    pub(super) fn follows_overhead(&self) -> bool {
        matches!(self.share, Share::Measured(_))
    }

    /// `tcp_measure_rcv_mss`: measures the overhead in a segment of `bytes` that occupies
    /// `memory_bytes`. Returns the largest possible window if it has changed.
    pub(super) fn measure(&mut self, bytes: u32, memory_bytes: u32) -> Option<u32> {
        let Share::Measured(before) = self.share else { return None };
        let ratio = ((u64::from(bytes) << 8) / u64::from(memory_bytes)).clamp(1, 255) as u32;
        if ratio == before {
            return None;
        }
        self.share = Share::Measured(ratio);
        self.clamp = self.full_bytes();
        Some(self.clamp)
    }

    fn full_bytes(&self) -> u32 {
        self.of_space(self.buffer_bytes)
    }

    /// The window for which the buffer has room.
    #[inline]
    pub(crate) fn free_bytes(&self, memory_bytes: u32) -> u32 {
        self.of_space(self.buffer_bytes.saturating_sub(memory_bytes))
    }

    /// Returns the window field of a SYN, a multiple of `mss`, and sets the window to it.
    pub(crate) fn begin(&mut self, rcv_nxt: u32, mss: u32) -> u16 {
        let space = self.full_bytes();
        let whole = if space > mss { space / mss * mss } else { space };
        let whole = whole.min(self.initial_pkts.saturating_mul(mss));
        self.advertise(whole.min(u32::from(u16::MAX)), rcv_nxt);
        self.threshold = self.size;
        // The window of a SYN is not scaled (RFC 7323 section 2.2).
        self.size as u16
    }

    /// `tcp_init_buffer_space`: opens the window after the handshake. Returns the number of bytes
    /// that auto-tuning assumes for the first round trip.
    pub(crate) fn open(&mut self, mss: u32, initial_cwnd_pkts: u32) -> u32 {
        self.is_old = true;
        let largest = self.full_bytes();
        self.clamp = largest.saturating_sub(mss).max(2 * mss).min(largest);
        let opened = if self.opens_by_arrivals { self.threshold } else { self.clamp };
        self.threshold = opened.min(self.clamp);
        self.threshold.min(self.size).min(initial_cwnd_pkts * mss)
    }

    /// Number of bytes that the peer may still send.
    #[inline]
    pub(crate) fn left_bytes(&self, rcv_nxt: u32) -> u32 {
        let window = self.left.wrapping_add(self.size).wrapping_sub(rcv_nxt) as i32;
        window.max(0) as u32
    }

    /// `__tcp_select_window`: the window that would be advertised now, in whole units of the
    /// window scale.
    #[inline]
    pub(crate) fn to_offer(&self, space: Space) -> u32 {
        self.in_whole_units(self.that_fits(space))
    }

    /// Whether the window has opened to its maximum.
    #[inline]
    pub(crate) fn is_open_all(&self) -> bool {
        self.threshold >= self.clamp
    }

    /// Whether even an empty buffer would allow a window of less than `bytes`.
    #[inline]
    pub(crate) fn opens_below(&self, bytes: u32) -> bool {
        self.threshold + self.remainder < bytes
    }

    /// Whether less than half of the largest window is free.
    #[inline]
    pub(crate) fn is_scarce(&self, space: Space) -> bool {
        space.free_bytes < self.clamp >> 1
    }

    /// The window that would be advertised now if the window field could express every size.
    #[inline]
    fn that_fits(&self, space: Space) -> u32 {
        if self.is_scarce(space) {
            return self.of_scarce_space(space);
        }
        space.free_bytes.min(self.threshold)
    }

    /// Closes the window instead of advertising a very small one (silly window syndrome, RFC 9293
    /// section 3.8.6.2.2).
    #[cold]
    fn of_scarce_space(&self, space: Space) -> u32 {
        let whole = space.free_bytes & !self.remainder;
        if whole < self.full_bytes() >> 4 || whole < space.rcv_mss.min(self.clamp) {
            return 0;
        }
        whole.min(self.threshold)
    }

    /// Rounds a window up to a value that the window field can express.
    #[inline]
    fn in_whole_units(&self, window: u32) -> u32 {
        (window + self.remainder) & !self.remainder
    }

    /// The field of the last ACK, if it is still valid for the present ACK.
    #[inline]
    pub(crate) fn known_field(&self, rcv_nxt: u32) -> Option<u16> {
        (!self.is_old && rcv_nxt == self.left).then_some(self.field)
    }

    /// `tcp_select_window`: the window field of an ACK. The window never shrinks.
    #[inline]
    pub(crate) fn select(&mut self, rcv_nxt: u32, space: Space) -> u16 {
        let window = self.that_fits(space).max(self.left_bytes(rcv_nxt));
        self.advertise(self.in_whole_units(window), rcv_nxt);
        self.is_old = false;
        self.field
    }

    #[inline]
    fn advertise(&mut self, window: u32, rcv_nxt: u32) {
        self.size = window;
        self.left = rcv_nxt;
        self.field = (window >> self.scale).min(u32::from(u16::MAX)) as u16;
    }

    /// `tcp_grow_window`: opens the window by `2 * max(mss, bytes)` after a segment of `bytes`, as
    /// far as there is room. Returns whether there was room.
    #[inline]
    pub(crate) fn grow(&mut self, mss: u32, bytes: u32, free_bytes: u32) -> bool {
        let room = self.clamp.min(free_bytes).saturating_sub(self.threshold);
        // The head of a segment holds no payload and is not counted, so that every segment is worth
        // its place in the buffer.
        self.threshold += (2 * mss).max(2 * bytes).min(room);
        room > 0
    }

    /// Enlarges the receive buffer for a window of `window` bytes, as far as its maximum allows, and
    /// the largest window accordingly.
    pub(crate) fn enlarge_buffer(&mut self, window: u64, mss: u32) {
        let wanted = self.space_for(window, mss);
        let buffer = wanted.min(u64::from(self.buffer_max_bytes)) as u32;
        if buffer > self.buffer_bytes {
            self.buffer_bytes = buffer;
            self.clamp = self.of_space(buffer);
        }
    }
}

impl BufferTuning {
    pub(crate) fn new(settings: &LinuxSettings) -> Self {
        Self {
            headroom_pkts: settings.receive.receive_buffer_headroom_pkts,
            counts_reordered: settings.receive.receive_buffer_counts_reordered,
            ..Self::default()
        }
    }

    /// Starts the first round trip, for which `round_bytes` bytes are assumed.
    pub(crate) fn begin(&mut self, round_bytes: u32, now_us: u64) {
        self.round_bytes = round_bytes;
        self.round_start_us = now_us;
        self.round_start = self.copied;
    }

    /// The receiver's RTT, scaled by 8, in microseconds; 0 before the first sample.
    pub(crate) fn rtt_us(&self) -> u32 {
        self.rtt_us
    }

    /// Whether the echoed timestamp differs from the last one.
    #[inline]
    pub(crate) fn is_new_echo(&self, tsecr: u32) -> bool {
        tsecr != self.last_tsecr
    }

    /// `tcp_rcv_rtt_measure_ts`: uses data that echo a timestamp of this end as an RTT sample, if
    /// `is_full`.
    pub(crate) fn take_echo(&mut self, tsecr: u32, now_ms: u32, is_full: bool) {
        self.last_tsecr = tsecr;
        let delta_ms = now_ms.wrapping_sub(tsecr);
        // An RTT of weeks means that the echoed timestamp was never sent.
        if is_full && delta_ms < i32::MAX as u32 / 1_000 {
            let rtt_us = (delta_ms.max(1) * 1_000).min(u32::MAX >> 3);
            // A lower sample takes effect at once.
            self.rtt_us = match self.rtt_us {
                0 => rtt_us << 3,
                old if rtt_us << 3 < old => rtt_us << 3,
                old => old - (old >> 3) + rtt_us,
            };
        }
    }

    /// Uses the arrival of a whole window as an RTT sample, without timestamps. A whole window
    /// takes at least a round trip to arrive (Fisk and Feng, section 3.2), so the shortest of
    /// these times counts.
    pub(crate) fn take_window(&mut self, rcv_nxt: u32, window: u32, now_us: u64) {
        if let Some((edge, began_us)) = self.window_rtt {
            if before(rcv_nxt, edge) {
                return;
            }
            let rtt_us = u32::try_from((now_us - began_us).max(1)).unwrap_or(u32::MAX >> 3);
            let rtt = rtt_us.min(u32::MAX >> 3) << 3;
            self.rtt_us = if self.rtt_us == 0 { rtt } else { self.rtt_us.min(rtt) };
        }
        self.window_rtt = Some((rcv_nxt.wrapping_add(window), now_us));
    }

    /// Limits the data of a round trip to the largest possible window.
    pub(crate) fn limit_round(&mut self, window: u32) {
        self.round_bytes = self.round_bytes.min(window);
    }

    /// Records that the application has read `first_bytes` from the first buffer, and `bytes` in
    /// total, of `readable` bytes. Linux adjusts the space after each buffer, so a round trip ends
    /// with the first buffer.
    #[inline]
    pub(crate) fn note_read(
        &mut self,
        window: &mut Window,
        mss: u32,
        first_bytes: u64,
        bytes: u64,
        readable: u64,
        now_us: u64,
    ) {
        self.copied += first_bytes;
        if self.rtt_us != 0 && now_us - self.round_start_us >= u64::from(self.rtt_us >> 3) {
            let unread = if window.follows_overhead() { readable - first_bytes } else { 0 };
            self.end_round(window, mss, unread, now_us);
        }
        self.copied += bytes - first_bytes;
    }

    /// `tcp_rcvbuf_grow` for data that arrived out of order and end `bytes` after the first gap:
    /// makes room for them beside twice the data of a round trip, if they count.
    #[inline]
    pub(crate) fn note_reordered(&mut self, window: &mut Window, mss: u32, bytes: u32) {
        self.reordered_bytes = bytes;
        if self.counts_reordered {
            window.enlarge_buffer((u64::from(self.round_bytes) << 1) + u64::from(bytes), mss);
        }
    }

    /// `tcp_rcv_space_adjust`. The `unread` bytes arrived too late to count.
    fn end_round(&mut self, window: &mut Window, mss: u32, unread: u64, now_us: u64) {
        let copied = (self.copied - self.round_start).saturating_sub(unread);
        let copied = u32::try_from(copied).unwrap_or(u32::MAX);
        if copied > self.round_bytes {
            let mut wanted =
                (u64::from(copied) << 1) + u64::from(self.headroom_pkts) * u64::from(mss);
            let growth =
                wanted * u64::from(copied - self.round_bytes) / u64::from(self.round_bytes.max(1));
            wanted += growth << 1;
            if self.counts_reordered {
                wanted += u64::from(self.reordered_bytes);
            }
            window.enlarge_buffer(wanted, mss);
            self.round_bytes = copied;
        }
        self.round_start = self.copied;
        self.round_start_us = now_us;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    const MSS: u32 = 1_448;
    const WINDOW: u32 = 65_535;

    fn window() -> Window {
        let profile = Profile::by_name("linux-6.1").expect("exists");
        let settings = profile.linux().expect("linux").clone();
        let mut window = Window::new(&settings);
        window.begin(1, MSS);
        window.open(MSS, 10);
        window
    }

    fn space(window: &Window, memory_bytes: u32) -> Space {
        Space { free_bytes: window.free_bytes(memory_bytes), rcv_mss: MSS }
    }

    #[test]
    fn the_first_ack_may_offer_the_whole_buffer() {
        let profile = Profile::by_name("linux-6.1").expect("exists");
        let mut settings = profile.linux().expect("linux").clone();
        settings.receive.receive_buffer_bytes = 64 << 20;
        let [by_arrivals, at_once] = [true, false].map(|opens_by_arrivals| {
            settings.receive.receive_window_opens_by_arrivals = opens_by_arrivals;
            let mut window = Window::new(&settings);
            assert_eq!(window.begin(1, MSS), u16::MAX);
            window.open(MSS, 10);
            window.select(1, space(&window, 0));
            window.size
        });
        assert!(by_arrivals < 1 << 17, "{by_arrivals}");
        assert!(at_once > 31 << 20, "half of the buffer is overhead: {at_once}");
    }

    /// Linux 6.12.117 behind a TUN device: a segment of 1,448 bytes occupies 2,304 bytes, and a
    /// buffer of 5,213,824 bytes has room for 2,250 segments.
    #[test]
    fn the_window_follows_the_overhead_of_segments() {
        let profile = Profile::by_name("linux-6.12").expect("exists");
        let mut settings = profile.linux().expect("linux").clone();
        settings.receive.receive_buffer_max_bytes = 5_213_824;
        let mut window = Window::new(&settings);
        window.begin(1, MSS);
        window.open(MSS, 10);
        assert_eq!(window.free_bytes(0), 65_536, "half, before the first segment");
        assert_eq!(window.measure(MSS, 2_304), Some(131_072 * 160 / 256));
        assert_eq!(window.measure(MSS, 2_304), None);
        window.enlarge_buffer(u64::MAX >> 8, MSS);
        assert_eq!(window.clamp / MSS, 2_250);
        settings.receive.receive_window_follows_overhead = false;
        let mut fixed = Window::new(&settings);
        assert_eq!(fixed.measure(MSS, 2_304), None);
        assert_eq!(fixed.free_bytes(0), 65_536);
    }

    #[test]
    fn the_window_never_shrinks() {
        let mut window = window();
        let right_edge = window.left + window.size;
        window.select(1 + MSS, space(&window, 100_000));
        assert!(window.left + window.size >= right_edge);
    }

    #[test]
    fn a_window_below_a_segment_is_closed() {
        let mut window = window();
        let full = window.buffer_bytes;
        let used_up = 1 + window.size;
        let [scarce, ample] = [full - MSS, 0].map(|memory| space(&window, memory));
        assert_eq!(window.select(used_up, scarce), 0);
        assert!(window.is_scarce(scarce) && !window.is_scarce(ample));
    }

    #[test]
    fn growth_ends_where_the_buffer_does() {
        let mut window = window();
        assert!(!window.grow(MSS, MSS, window.free_bytes(0)), "it is open as far as it can be");
        window.enlarge_buffer(1 << 19, MSS);
        let free_bytes = window.free_bytes(300_000);
        let mut before = window.threshold;
        while window.grow(MSS, MSS, free_bytes) {
            assert!(window.threshold - before <= 2 * MSS);
            before = window.threshold;
        }
        assert_eq!(window.threshold, free_bytes);
    }

    #[test]
    fn the_field_is_known_until_something_changes() {
        let mut window = window();
        let field = window.select(1, space(&window, 0));
        assert_eq!(window.known_field(1), Some(field));
        assert_eq!(window.known_field(2), None);
        window.is_old = true;
        assert_eq!(window.known_field(1), None);
    }

    #[test]
    fn without_timestamps_the_shortest_window_is_a_round_trip() {
        let mut tuning = BufferTuning::default();
        tuning.take_window(1, WINDOW, 1_000);
        let edge = 1 + WINDOW;
        tuning.take_window(edge - 1, WINDOW, 30_000);
        assert_eq!(tuning.rtt_us(), 0, "the window is not used up");
        tuning.take_window(edge, WINDOW, 41_000);
        assert_eq!(tuning.rtt_us(), 40_000 << 3);
        tuning.take_window(edge + WINDOW, WINDOW, 141_000);
        assert_eq!(tuning.rtt_us(), 40_000 << 3, "a sender that paused");
        tuning.take_window(edge + 2 * WINDOW, WINDOW, 161_000);
        assert_eq!(tuning.rtt_us(), 20_000 << 3);
    }

    #[test]
    fn a_lower_echo_counts_at_once_and_a_higher_one_by_an_eighth() {
        let mut tuning = BufferTuning::default();
        for (tsecr, now_ms, expected_us) in [(1, 41, 40_000), (2, 22, 20_000), (3, 103, 30_000)] {
            assert!(tuning.is_new_echo(tsecr));
            tuning.take_echo(tsecr, now_ms, true);
            assert_eq!(tuning.rtt_us() >> 3, expected_us);
        }
        tuning.take_echo(4, 5, false);
        assert_eq!(tuning.rtt_us() >> 3, 30_000, "a short segment may have waited");
    }

    #[test]
    fn the_buffer_grows_with_what_is_read_in_a_round_trip() {
        let profile = Profile::by_name("linux-6.1").expect("exists");
        let settings = profile.linux().expect("linux").clone();
        let mut window = Window::new(&settings);
        window.begin(1, 1_448);
        let bytes = window.open(1_448, 10);
        let mut tuning = BufferTuning::default();
        tuning.begin(bytes, 0);
        let before = window.free_bytes(0);
        tuning.note_read(&mut window, 1_448, 400_000, 400_000, 400_000, 100_000);
        assert_eq!(window.free_bytes(0), before, "no round trip is known");
        tuning.take_echo(1, 41, true);
        tuning.note_read(&mut window, 1_448, 100, 100, 100, 140_000);
        assert!(window.free_bytes(0) > 2 * 400_000);
    }

    #[test]
    fn data_beyond_a_gap_have_room_where_they_count() {
        let enlarged = |profile: &str| {
            let profile = Profile::by_name(profile).expect("exists");
            let settings = profile.linux().expect("linux");
            let mut window = Window::new(settings);
            window.begin(1, 1_448);
            let mut tuning = BufferTuning::new(settings);
            tuning.begin(window.open(1_448, 10), 0);
            let before = window.free_bytes(0);
            tuning.note_reordered(&mut window, 1_448, 400_000);
            window.free_bytes(0) - before
        };
        assert_eq!(enlarged("linux-6.12"), 0);
        // Twice the ten segments that are assumed for the first round trip.
        let expected = 400_000 + 2 * 14_480 - 65_536;
        assert!(enlarged("linux-6.18").abs_diff(expected) < 1_448);
    }

    #[test]
    fn unread_data_do_not_count_where_the_window_follows_the_overhead() {
        let grown = |profile: &str, readable: u64| {
            let profile = Profile::by_name(profile).expect("exists");
            let mut window = Window::new(profile.linux().expect("linux"));
            window.begin(1, 1_448);
            let mut tuning = BufferTuning::default();
            tuning.begin(window.open(1_448, 10), 0);
            tuning.take_echo(1, 41, true);
            let before = window.free_bytes(0);
            tuning.note_read(&mut window, 1_448, 400_000, readable, readable, 140_000);
            window.free_bytes(0) - before
        };
        assert_eq!(grown("linux-6.1", 400_000), grown("linux-6.1", 700_000));
        assert!(grown("linux-6.12", 400_000) > grown("linux-6.12", 700_000));
        assert_eq!(grown("linux-6.12", 800_000), 0);
    }
}
