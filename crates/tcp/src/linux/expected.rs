//! The header expected next if nothing unusual happens.

use core::fmt;

use cwndlab_packet::{Flags, Segment};

/// The header expected next while only in-order data, or only ACKs, arrive: if it, its numbers and
/// its timestamp match, no other check is needed.
///
/// It is derived from other state; [`Expected::forget`] must be called before any change of that
/// state.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Expected {
    /// Any segment.
    #[default]
    Unknown,
    /// The next data and nothing else, with this acknowledgement and window, for an end that only
    /// receives and has read everything.
    Data { ack: u32, window: u16 },
    /// An ACK of new data, for a flight without losses or retransmissions.
    PlainAck,
}

impl Expected {
    /// Expects any segment next.
    #[inline]
    pub(super) fn forget(&mut self) {
        *self = Self::Unknown;
    }

    /// Drops the expectation of data because the application writes; that of ACKs remains.
    #[inline]
    pub(super) fn forget_data(&mut self) {
        if matches!(self, Self::Data { .. }) {
            self.forget();
        }
    }

    /// Whether these data look as expected.
    #[inline(always)]
    pub(super) fn is_data(self, segment: &Segment) -> bool {
        let Self::Data { ack, window } = self else { return false };
        segment.payload > 0
            && segment.ack == ack
            && segment.window == window
            && is_plain_header(segment)
    }

    /// Whether this ACK looks as expected, whatever its window.
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
