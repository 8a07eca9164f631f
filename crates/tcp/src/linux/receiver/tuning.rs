//! Auto-tuning of the receive buffer: once per round trip, its size is adapted to the data that
//! were read in this round trip (Fisk and Feng, Dynamic right-sizing in TCP, 2001).

use cwndlab_packet::seq::before;

use super::window::Window;
use crate::linux::settings::LinuxSettings;

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

    const WINDOW: u32 = 65_535;

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
