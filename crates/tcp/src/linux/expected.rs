//! The header that is expected next if no unusual event occurs.

use core::fmt;

use cwndlab_packet::{Flags, Segment};

/// The header that is expected next while only in-order data, or only ACKs, arrive. If a segment
/// matches this header, its numbers and its timestamp, no other check is needed.
///
/// The expected header is derived from other state; [`Expected::forget`] must be called before
/// this state changes.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Expected {
    /// Any segment.
    #[default]
    Unknown,
    /// Only the next data, with this acknowledgement and window. This applies to an end that only
    /// receives and has read all data.
    Data { ack: u32, window: u16 },
    /// An ACK of new data, while no data in flight were lost or retransmitted.
    PlainAck,
}

impl Expected {
    /// Expects any segment next.
    #[inline]
    pub(super) fn forget(&mut self) {
        *self = Self::Unknown;
    }

    /// Stops expecting data, because the application writes; ACKs are still expected.
    #[inline]
    pub(super) fn forget_data(&mut self) {
        if matches!(self, Self::Data { .. }) {
            self.forget();
        }
    }

    /// Whether the segment contains the expected data.
    #[inline(always)]
    pub(super) fn is_data(self, segment: &Segment) -> bool {
        let Self::Data { ack, window } = self else { return false };
        segment.payload > 0
            && segment.ack == ack
            && segment.window == window
            && is_plain_header(segment)
    }

    /// Whether the segment is the expected ACK, with any window.
    #[inline(always)]
    pub(super) fn is_plain_ack(self, segment: &Segment) -> bool {
        self == Self::PlainAck && segment.payload == 0 && is_plain_header(segment)
    }
}

/// Whether a header has no relevant control bits and no SACK blocks.
#[inline(always)]
pub(super) fn is_plain_header(segment: &Segment) -> bool {
    segment.flags.0 & !Flags::PSH == Flags::ACK && segment.sacks.is_empty()
}

impl fmt::Debug for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Expected")
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_packet::{SackBlock, SackBlocks};

    use super::*;

    const PLAIN: Flags = Flags(Flags::ACK);

    #[test]
    fn data_that_say_anything_new_are_not_expected() {
        let expected = Expected::Data { ack: 7, window: 10 };
        let data = Segment { ack: 7, window: 10, payload: 100, flags: PLAIN, ..Segment::default() };
        assert!(expected.is_data(&data) && !expected.is_plain_ack(&data));
        let mut sacks = SackBlocks::default();
        sacks.push(SackBlock { start: 1, end: 2 });
        for unexpected in [
            Segment { ack: 8, ..data },
            Segment { window: 11, ..data },
            Segment { payload: 0, ..data },
            Segment { sacks, ..data },
            Segment { flags: Flags(Flags::ACK | Flags::FIN), ..data },
        ] {
            assert!(!expected.is_data(&unexpected), "{unexpected:?}");
        }
    }

    #[test]
    fn nothing_is_expected_once_it_is_forgotten() {
        let ack = Segment { window: 10, flags: PLAIN, ..Segment::default() };
        let mut expected = Expected::PlainAck;
        assert!(expected.is_plain_ack(&ack));
        assert!(!expected.is_plain_ack(&Segment { payload: 1, ..ack }));
        expected.forget();
        assert!(!expected.is_plain_ack(&ack));
    }
}
