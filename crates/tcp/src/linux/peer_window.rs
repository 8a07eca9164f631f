//! The window that the peer offers (RFC 9293 section 3.8.6).

use cwndlab_cc::TcpSock;
use cwndlab_packet::seq::after;
use cwndlab_packet::{Flags, Segment};

/// State of the peer's window except its size, which is in the socket (`snd_wnd`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeerWindow {
    /// `snd_wl1`: sequence number of the segment that announced the window.
    pub(super) told_at: u32,
    /// The largest window that the peer has announced so far.
    pub(super) max_bytes: u32,
    /// Shift that applies to the peer's window field (RFC 7323 section 2).
    pub(super) scale: u8,
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
