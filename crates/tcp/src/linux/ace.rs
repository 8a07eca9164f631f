//! The bits AE, CWR and ECE of a segment (RFC 9768 sections 3.1 and 3.2.2), and the feedback mode
//! that both ends negotiate with these bits in their SYNs.

use cwndlab_packet::Flags;
use cwndlab_units::Ecn;

/// The bits AE, CWR and ECE of a segment, read as a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ace(pub(super) u8);

impl Ace {
    /// The bits of a SYN without ECN, and of the answer to it.
    pub(super) const NOTHING: Self = Self(0b000);
    /// The bits of an answer that agrees to the ECN of RFC 3168.
    pub(super) const CLASSIC_ANSWER: Self = Self(0b001);
    /// The bits of a SYN that requests the ECN of RFC 3168.
    pub(super) const CLASSIC_SYN: Self = Self(0b011);
    /// The bits of a SYN that requests accurate ECN.
    pub(super) const ACCURATE_SYN: Self = Self(0b111);

    #[inline]
    pub(super) const fn of(flags: Flags) -> Self {
        Self((flags.0 >> 6 & 7) as u8)
    }

    #[inline]
    pub(super) const fn bits(self) -> u16 {
        (self.0 as u16) << 6
    }

    /// The bits that echo the ECN field of a SYN or SYN-ACK (RFC 9768 tables 2 and 3).
    pub(super) const fn echo(field: Ecn) -> Self {
        match field {
            Ecn::NotEct => Self(0b010),
            Ecn::Ect1 => Self(0b011),
            Ecn::Ect0 => Self(0b100),
            Ecn::Ce => Self(0b110),
        }
    }

    /// The ECN field that these bits echo; `None` if they are not an echo.
    pub(super) fn echoed(self) -> Option<Ecn> {
        (0..4).map(Ecn::from_bits).find(|field| Self::echo(*field) == self)
    }

    /// The lowest possible number of marks since a count of `known` (RFC 9768 section 3.2.2.2).
    pub(super) const fn since(self, known: u32) -> u32 {
        (self.0 as u32).wrapping_sub(known) & 7
    }
}

/// How an end reports marks (RFC 9768 section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FeedbackMode {
    Off,
    Classic,
    Accurate,
}

impl FeedbackMode {
    /// The mode of a server that supports accurate ECN; the first SYN determines it.
    pub(super) fn by_syn(ace: Ace) -> Self {
        match ace {
            Ace::NOTHING => Self::Off,
            Ace::CLASSIC_SYN => Self::Classic,
            _ => Self::Accurate,
        }
    }

    /// The mode of a client that requested accurate ECN; the first SYN-ACK determines it (RFC 9768
    /// table 2). If all three bits are set, a broken server has echoed them.
    pub(super) fn by_answer(ace: Ace) -> Self {
        match ace {
            Ace::NOTHING | Ace::ACCURATE_SYN => Self::Off,
            Ace::CLASSIC_ANSWER => Self::Classic,
            _ => Self::Accurate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CE: Ecn = Ecn::Ce;

    #[test]
    fn the_echo_of_each_field_is_that_of_the_tables() {
        let bits = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, CE].map(|field| Ace::echo(field).0);
        assert_eq!(bits, [0b010, 0b011, 0b100, 0b110]);
        let echoed: Vec<Option<Ecn>> = (0..8).map(|ace| Ace(ace).echoed()).collect();
        let (none, some) = (None, Some);
        let [not_ect, ect1, ect0] = [some(Ecn::NotEct), some(Ecn::Ect1), some(Ecn::Ect0)];
        assert_eq!(echoed, [none, none, not_ect, ect1, ect0, none, some(CE), none]);
    }

    #[test]
    fn the_bits_are_those_of_the_header() {
        let all = Flags(Flags::AE | Flags::CWR | Flags::ECE | Flags::ACK);
        assert_eq!(Ace::of(all), Ace(7));
        assert_eq!(Ace(0b100).bits(), Flags::AE);
        assert_eq!(Ace::of(Flags(Flags::CWR)), Ace(0b010));
    }

    #[test]
    fn a_server_gives_what_is_asked_for_and_a_client_takes_what_is_given() {
        use FeedbackMode::{Accurate, Classic, Off};
        let all = |by: fn(Ace) -> FeedbackMode| (0..8).map(|ace| by(Ace(ace))).collect::<Vec<_>>();
        let [a, c, o] = [Accurate, Classic, Off];
        assert_eq!(all(FeedbackMode::by_syn), [o, a, a, c, a, a, a, a]);
        assert_eq!(all(FeedbackMode::by_answer), [o, c, a, a, a, a, a, o]);
    }
}
