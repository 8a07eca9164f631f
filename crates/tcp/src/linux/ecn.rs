//! Explicit congestion notification (RFC 3168 section 6.1), and the exact echo of marks in data
//! centres (RFC 8257 section 3.2). If both ends agree, [`super::accecn`] reports counts instead.
//!
//! ```text
//!   sender                              receiver
//!     data, ECT ---------- marked ------> DEMAND_CWR: every ACK says ECE
//!     QUEUE_CWR <-------- ACK, ECE ------
//!     data, CWR ------------------------> DEMAND_CWR ends
//! ```

use cwndlab_cc::{CwndEvent, ICSK_ACK_NOW, TcpSock};
use cwndlab_packet::{Flags, Segment};
use cwndlab_units::Ecn;

use super::LinuxEndpoint;
use super::ace::{Ace, FeedbackMode};
use super::settings::EcnMode;
use super::state::State;

/// Number of ACKs that leave at once when the network starts to mark, or when the peer stops
/// sending ECN-capable packets.
const QUICK_ACKS: u32 = 2;

/// ECN state of a connection: the bits of the socket's `ecn_flags`, which algorithms see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct EcnFlags(u8);

/// ECN information of a segment: control bits, and the ECN field of the IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Marking {
    pub(super) bits: u16,
    pub(super) ecn: Ecn,
}

impl Marking {
    /// No ECN information.
    const NONE: Self = Self { bits: 0, ecn: Ecn::NotEct };
}

impl EcnFlags {
    /// `TCP_ECN_OK`: both ends agreed on RFC 3168.
    const OK: u8 = 1;
    /// `TCP_ECN_QUEUE_CWR`: the next new segment carries CWR.
    const QUEUE_CWR: u8 = 2;
    /// `TCP_ECN_DEMAND_CWR`: ACKs carry ECE until the peer sends CWR.
    const DEMAND_CWR: u8 = 4;
    /// `TCP_ECN_SEEN`: the peer sends ECN-capable packets.
    const SEEN: u8 = 8;
    /// `TCP_ECN_MODE_ACCECN`: both ends agreed on RFC 9768.
    const ACCURATE: u8 = 16;

    #[inline]
    pub(super) fn of(sk: &TcpSock) -> Self {
        Self(sk.ecn_flags)
    }

    #[inline]
    fn put_into(self, sk: &mut TcpSock) {
        sk.ecn_flags = self.0;
    }

    /// Whether both ends agreed on ECN of either kind.
    #[inline]
    pub(super) fn is_agreed(self) -> bool {
        self.0 & (Self::OK | Self::ACCURATE) != 0
    }

    /// Whether ECN of RFC 3168 was agreed.
    #[inline]
    pub(super) fn is_classic(self) -> bool {
        self.0 & Self::OK != 0
    }

    /// Whether ECN of RFC 9768 was agreed.
    #[inline]
    pub(super) fn is_accurate(self) -> bool {
        self.0 & Self::ACCURATE != 0
    }

    /// Records the ECN field of a received packet. Returns whether the next ACKs must leave at
    /// once.
    fn note_received(&mut self, ecn: Ecn) -> bool {
        let before = self.0;
        match ecn {
            Ecn::NotEct => return before & Self::SEEN != 0,
            Ecn::Ce => self.0 |= Self::SEEN | Self::DEMAND_CWR,
            Ecn::Ect0 | Ecn::Ect1 => self.0 |= Self::SEEN,
        }
        self.0 & !before & Self::DEMAND_CWR != 0
    }

    /// The ECN information of new data, a retransmission or an ACK, if both ends agreed on ECN.
    /// Retransmissions and ACKs are not ECN-capable (RFC 3168 sections 6.1.4 and 6.1.5), except in
    /// a data centre (`all_capable`).
    #[inline]
    fn mark(&mut self, is_new_data: bool, all_capable: bool) -> Marking {
        let mut marking = Marking::NONE;
        if is_new_data || all_capable {
            marking.ecn = Ecn::Ect0;
        }
        if is_new_data && self.0 & Self::QUEUE_CWR != 0 {
            self.0 &= !Self::QUEUE_CWR;
            marking.bits |= Flags::CWR;
        }
        if self.0 & Self::DEMAND_CWR != 0 {
            marking.bits |= Flags::ECE;
        }
        marking
    }
}

impl LinuxEndpoint {
    // The handshake.

    /// The bits of a SYN: ECE and CWR request ECN; AE in addition requests accurate ECN.
    pub(super) fn ask_for_ecn(&self) -> u16 {
        if self.wants_accurate_ecn() {
            Ace::ACCURATE_SYN.bits()
        } else if self.asks_for_classic_ecn() {
            Ace::CLASSIC_SYN.bits()
        } else {
            0
        }
    }

    /// Whether a SYN of this end requests the ECN of RFC 3168.
    fn asks_for_classic_ecn(&self) -> bool {
        self.settings.ecn == EcnMode::Active || self.congestion.needs_ecn()
    }

    /// Agrees on ECN after a SYN or its answer, if one end requests ECN and the other supports it.
    /// Returns whether the answer reports that the SYN was marked.
    pub(super) fn agree_on_ecn(&mut self, segment: &Segment) -> bool {
        let ace = Ace::of(segment.flags);
        let mode = match (self.connection.state, self.wants_accurate_ecn()) {
            (State::SynSent, true) => FeedbackMode::by_answer(ace),
            (State::SynSent, false) => self.mode_by_classic_answer(segment),
            (_, true) => FeedbackMode::by_syn(ace),
            (_, false) => self.mode_by_classic_syn(segment),
        };
        match mode {
            FeedbackMode::Off => return false,
            FeedbackMode::Classic => self.sk.ecn_flags |= EcnFlags::OK,
            FeedbackMode::Accurate => {
                self.sk.ecn_flags |= EcnFlags::ACCURATE;
                return self.begin_accurate(segment);
            }
        }
        false
    }

    fn mode_by_classic_answer(&self, segment: &Segment) -> FeedbackMode {
        let is_answer = segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::CWR);
        if self.asks_for_classic_ecn() && is_answer {
            FeedbackMode::Classic
        } else {
            FeedbackMode::Off
        }
    }

    fn mode_by_classic_syn(&self, segment: &Segment) -> FeedbackMode {
        let asks = segment.flags.has(Flags::ECE) && segment.flags.has(Flags::CWR);
        // Only DCTCP sends an ECN-capable SYN, and only DCTCP accepts it: outside a data centre,
        // the marks of its switches mean something else (RFC 8257 section 5).
        let is_usual = self.settings.ecn != EcnMode::Off && segment.ecn == Ecn::NotEct;
        if asks && (is_usual || self.congestion.needs_ecn()) {
            FeedbackMode::Classic
        } else {
            FeedbackMode::Off
        }
    }

    // Receiver of data.

    /// `tcp_ecn_check_ce`: handles the ECN field of a received packet (RFC 3168 section 6.1.3).
    #[inline]
    pub(super) fn check_ce(&mut self, ecn: Ecn) {
        if EcnFlags::of(&self.sk).is_classic() {
            self.note_ecn(ecn);
        }
    }

    fn note_ecn(&mut self, ecn: Ecn) {
        if self.congestion.needs_ecn() && ecn != Ecn::NotEct {
            let event = if ecn == Ecn::Ce { CwndEvent::EcnIsCe } else { CwndEvent::EcnNoCe };
            self.tell_window(event);
        }
        let mut flags = EcnFlags::of(&self.sk);
        let is_quick = flags.note_received(ecn);
        flags.put_into(&mut self.sk);
        if is_quick {
            self.enter_quick_ack(QUICK_ACKS);
        }
    }

    /// `tcp_ecn_accept_cwr`: the peer has reduced its window.
    #[inline]
    pub(super) fn accept_cwr(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::CWR) && EcnFlags::of(&self.sk).is_classic() {
            self.sk.ecn_flags &= !EcnFlags::DEMAND_CWR;
            if segment.payload > 0 {
                self.sk.inet_conn.icsk_ack.pending |= ICSK_ACK_NOW;
            }
        }
    }

    // Sender of data.

    /// Whether an ACK echoes a mark.
    pub(super) fn is_congestion_echoed(&self, segment: &Segment) -> bool {
        let is_echo = segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::SYN);
        is_echo && EcnFlags::of(&self.sk).is_classic()
    }

    /// Makes the next new data carry CWR, because the window was reduced.
    pub(super) fn queue_cwr(&mut self) {
        if EcnFlags::of(&self.sk).is_classic() {
            self.sk.ecn_flags |= EcnFlags::QUEUE_CWR;
        }
    }

    /// Cancels the CWR of a reduction that was undone.
    pub(super) fn unqueue_cwr(&mut self) {
        self.sk.ecn_flags &= !EcnFlags::QUEUE_CWR;
    }

    /// The ECN information of a segment that carries new data, old data or no data.
    #[inline]
    pub(super) fn mark_segment(&mut self, is_new_data: bool) -> Marking {
        if EcnFlags::of(&self.sk).is_agreed() {
            self.mark_as_agreed(is_new_data)
        } else {
            Marking::NONE
        }
    }

    #[inline(never)]
    fn mark_as_agreed(&mut self, is_new_data: bool) -> Marking {
        let mut flags = EcnFlags::of(&self.sk);
        if flags.is_accurate() {
            return Marking { bits: self.count_bits(), ecn: self.accurate_field() };
        }
        let marking = flags.mark(is_new_data, self.congestion.needs_ecn());
        flags.put_into(&mut self.sk);
        marking
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::testing::{Pair, RECEIVER, SENDER};

    const AGREED: EcnFlags = EcnFlags(EcnFlags::OK);

    #[test]
    fn without_agreement_nothing_is_capable() {
        let mut pair = Pair::established();
        assert_eq!(pair.ends[SENDER].mark_segment(true), Marking::NONE);
    }

    #[test]
    fn new_data_are_capable_and_repairs_are_not() {
        let mut flags = AGREED;
        assert_eq!(flags.mark(true, false), Marking { bits: 0, ecn: Ecn::Ect0 });
        assert_eq!(flags.mark(false, false).ecn, Ecn::NotEct);
        assert_eq!(flags.mark(false, true).ecn, Ecn::Ect0, "in a data centre");
    }

    #[test]
    fn a_reduction_is_told_once_and_with_new_data() {
        let mut flags = EcnFlags(EcnFlags::OK | EcnFlags::QUEUE_CWR);
        let bits = [false, true, true].map(|is_new| flags.mark(is_new, false).bits);
        assert_eq!(bits, [0, Flags::CWR, 0]);
    }

    #[test]
    fn a_mark_is_echoed_until_the_peer_has_reduced() {
        let mut pair = Pair::established();
        for end in &mut pair.ends {
            end.sk.ecn_flags |= EcnFlags::OK;
        }
        let mut segments = pair.write(4 * 1_448);
        assert!(segments.iter().all(|segment| segment.ecn == Ecn::Ect0));
        segments[0].ecn = Ecn::Ce;
        let acks = pair.deliver(&segments);
        assert!(acks.iter().all(|ack| ack.flags.has(Flags::ECE)), "{acks:?}");
        let answer = Segment { flags: Flags(Flags::ACK | Flags::CWR), ..segments[0] };
        pair.ends[RECEIVER].accept_cwr(&answer);
        assert_eq!(pair.ends[RECEIVER].mark_segment(false).bits, 0);
        pair.answer(&acks);
        let next = pair.ends[SENDER].mark_segment(true);
        assert_eq!(next.bits, Flags::CWR, "the window was reduced");
    }

    #[test]
    fn only_the_first_mark_and_the_end_of_capability_quicken_acks() {
        let mut flags = AGREED;
        let fields = [Ecn::NotEct, Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::NotEct];
        let quick = fields.map(|ecn| flags.note_received(ecn));
        assert_eq!(quick, [false, false, true, false, true]);
    }
}
