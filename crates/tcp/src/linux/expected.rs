//! What the next header says if nothing new happens.

use core::fmt;

use cwndlab_packet::{Flags, Segment};

/// What the next header says as long as nothing happens but that data come, or that ACKs do: with its
/// numbers and its timestamp, it is all that need be asked.
///
/// It is no state, but says what the state says; [`Expected::forget`] comes before any change of that.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Expected {
    /// Anything.
    #[default]
    Unknown,
    /// The next data and nothing else, for an end that only receives and has read all that came: with
    /// this acknowledgement and window.
    Data { ack: u32, window: u16 },
    /// An ACK of new data, of a flight in which nothing went wrong.
    PlainAck,
}

impl Expected {
    /// The next segment may be anything.
    #[inline]
    pub(super) fn forget(&mut self) {
        *self = Self::Unknown;
    }

    /// The application writes: this end does not only receive. What is expected of ACKs stays.
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

/// Whether a header has no control bits and no options that matter.
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
