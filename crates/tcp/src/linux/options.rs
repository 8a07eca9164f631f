//! TCP options that the handshake negotiates, and timestamps (RFC 7323).

use cwndlab_packet::Segment;
use cwndlab_packet::seq::before;

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
}
