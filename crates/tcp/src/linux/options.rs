//! TCP options that the handshake negotiates. RFC 7323 defines two of them: timestamps, and the
//! scale of the window that the peer offers.

use cwndlab_cc::TcpSock;
use cwndlab_packet::seq::{after, before};
use cwndlab_packet::{Flags, Segment};

use super::settings::{LinuxSettings, TIMESTAMP_BYTES};

/// Options of a connection: during the handshake, the options that this end offers, and afterwards
/// those in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(super) is_sack: bool,
    pub(super) is_timestamps: bool,
    /// Offset of this end's timestamps from its clock.
    pub(super) offset: u32,
    /// `ts_recent`: the timestamp of the peer that must be echoed.
    pub(super) recent: u32,
}

/// State of the window that the peer offers (RFC 9293 section 3.8.6), except its size, which is in
/// the socket (`snd_wnd`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeerWindow {
    /// `snd_wl1`: sequence number of the segment that announced the window.
    pub(super) told_at: u32,
    /// The largest window that the peer has announced so far.
    pub(super) max_bytes: u32,
    /// Shift that applies to the peer's window field (RFC 7323 section 2).
    pub(super) scale: u8,
}

impl Options {
    pub(super) fn new(settings: &LinuxSettings, offset: u32) -> Self {
        // Without an offset, timestamps reveal how long the machine has been up.
        let offset = if settings.options.timestamp_offsets { offset } else { 0 };
        Self {
            is_sack: settings.options.sack,
            is_timestamps: settings.options.timestamps,
            offset,
            recent: 0,
        }
    }

    /// Bytes that timestamps occupy in every segment.
    pub(super) fn timestamp_bytes(&self) -> u32 {
        if self.is_timestamps { TIMESTAMP_BYTES } else { 0 }
    }

    /// Whether the segment's timestamp is not older than `recent`.
    #[inline]
    pub(super) fn is_in_order(&self, segment: &Segment) -> bool {
        !self.is_timestamps
            || segment.timestamps.is_none_or(|(value, _)| !before(value, self.recent))
    }

    /// `tcp_replace_ts_recent`: echoes this segment's timestamp from now on, unless it is older.
    #[inline]
    pub(super) fn take(&mut self, segment: &Segment) {
        if let Some((value, _)) = segment.timestamps {
            if !before(value, self.recent) {
                self.recent = value;
            }
        }
    }

    /// By how much the segment's timestamp is older than `recent`, in ticks of the peer's clock.
    pub(super) fn age(&self, segment: &Segment) -> Option<i32> {
        let (value, _) = segment.timestamps.filter(|_| self.is_timestamps)?;
        Some(self.recent.wrapping_sub(value) as i32)
    }
}

impl PeerWindow {
    /// The window in bytes; the window of a SYN is not scaled (RFC 7323 section 2.2).
    #[inline]
    pub(super) fn of(&self, segment: &Segment) -> u32 {
        let shift = if segment.flags.has(Flags::SYN) { 0 } else { self.scale };
        u32::from(segment.window) << shift
    }

    /// `tcp_may_update_window`: whether the segment's window is newer than the known window.
    pub(super) fn is_news(&self, segment: &Segment, sk: &TcpSock) -> bool {
        let window = self.of(segment);
        after(segment.ack, sk.snd_una)
            || after(segment.seq, self.told_at)
            || (segment.seq == self.told_at && (window > sk.snd_wnd || window == 0))
    }

    /// Records a window that the peer announced, for the maximum.
    pub(super) fn note(&mut self, bytes: u32) {
        self.max_bytes = self.max_bytes.max(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: Options = Options { is_sack: true, is_timestamps: true, offset: 0, recent: 100 };

    fn segment(value: u32) -> Segment {
        Segment { timestamps: Some((value, 0)), ..Segment::default() }
    }

    #[test]
    fn the_latest_timestamp_is_echoed() {
        let mut options = OPTIONS;
        options.take(&segment(99));
        assert_eq!(options.recent, 100);
        options.take(&segment(101));
        assert_eq!(options.recent, 101);
        options.take(&Segment::default());
        assert_eq!(options.recent, 101);
    }

    #[test]
    fn an_old_timestamp_has_an_age_and_is_out_of_order() {
        assert_eq!(OPTIONS.age(&segment(97)), Some(3));
        assert!(!OPTIONS.is_in_order(&segment(97)) && OPTIONS.is_in_order(&segment(100)));
        let plain = Options { is_timestamps: false, ..OPTIONS };
        assert_eq!((plain.age(&segment(97)), plain.is_in_order(&segment(97))), (None, true));
    }

    #[test]
    fn the_window_of_a_syn_is_not_scaled() {
        let window = PeerWindow { scale: 7, ..PeerWindow::default() };
        let segment = |bits| Segment { window: 100, flags: Flags(bits), ..Segment::default() };
        assert_eq!(window.of(&segment(Flags::SYN)), 100);
        assert_eq!(window.of(&segment(Flags::ACK)), 12_800);
    }

    #[test]
    fn an_older_segment_tells_nothing_of_the_window() {
        let window = PeerWindow { told_at: 50, ..PeerWindow::default() };
        let sk = TcpSock { snd_una: 10, snd_wnd: 1_000, ..TcpSock::default() };
        let is_news = |seq, ack, bytes| {
            window.is_news(&Segment { seq, ack, window: bytes, ..Segment::default() }, &sk)
        };
        assert!(!is_news(49, 10, 5_000));
        assert!(is_news(51, 10, 500) && is_news(49, 11, 500));
        assert!(!is_news(50, 10, 500) && is_news(50, 10, 1_001) && is_news(50, 10, 0));
    }
}
