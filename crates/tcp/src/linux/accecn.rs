//! Accurate ECN (RFC 9768): every segment reports the number of packets that arrived with a mark,
//! in three bits.
//!
//! ```text
//!   client                               server
//!     SYN, ACE 7 ----------------------->  asks for it
//!     <-------------- SYN-ACK, ACE 2 to 6  agrees, and echoes the IP field of the SYN
//!     ACK, ACE 2 to 6 ------------------>  echoes that of the SYN-ACK
//!     data, ECT ------- marked --------->  counts
//!     <------- ACK, ACE = the count mod 8
//! ```
//!
//! Both ends send and receive data at the same time. As in Linux, all segments except SYNs are
//! ECN-capable. [`super::accecn_option`] implements the option, which reports the counts in bytes.
//! The code follows draft-ietf-tcpm-accurate-ecn-34, the text that became RFC 9768. It leaves out
//! the detection of a path that marks every packet (section 3.2.2.3, which does not specify a
//! method).

use cwndlab_cc::{ICSK_ACK_NOW, ICSK_ACK_SCHED};
use cwndlab_packet::{Flags, Segment};
use cwndlab_units::Ecn;

use super::LinuxEndpoint;
use super::accecn_option::ByteCounts;
use super::ace::{Ace, FeedbackMode};
use super::ack::AckFlags;
use super::ecn::EcnFlags;
use super::settings::EcnMode;

/// Initial value of the packet counts of both ends (RFC 9768 section 3.2.1).
const FIRST_COUNT: u8 = 5;
/// Number of marked packets after which an ACK must report them, while data wait for an ACK (RFC
/// 9768 section 3.2.2.5.1).
const MARKS_PER_ACK: u8 = 2;
/// Number of marked packets after which an ACK must report them, while no data wait for an ACK.
const MARKS_PER_ACK_WITHOUT_DATA: u8 = 3;
/// Number of SYNs that request accurate ECN, or of SYN-ACKs that agree to it, before one is sent
/// without (RFC 9768 sections 3.1.4.1 and 3.2.3.2.2).
const ACCURATE_SYNS: u8 = 2;
/// Average number of packets per ACK up to which a count that may have wrapped is assumed to have
/// wrapped (RFC 9768 appendix A.2.1: "well below 8").
const MAX_PACKETS_PER_ACK: u16 = 4;

/// State of accurate ECN at one end: its own count, and whether it uses the peer's count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AccEcn {
    /// Number of marked packets received (`r.cep`).
    received_ce: u8,
    /// Number of marked packets that no segment has reported yet.
    unreported_ce: u8,
    /// The ECN field of the last packet received.
    last_field: Ecn,
    /// The ECN field of the last SYN or SYN-ACK received.
    handshake_field: Ecn,
    /// Whether the next segment answers a SYN-ACK.
    answers_syn_ack: bool,
    /// Whether the peer's first count has arrived.
    has_feedback: bool,
    /// Whether packets are sent as ECN-capable.
    sends_ect: bool,
    /// Whether marks that the peer reports are counted.
    counts_marks: bool,
    /// Average number of packets per ACK, times 8.
    packets_per_ack_8: u16,
    /// The option's byte counters.
    pub(super) bytes: ByteCounts,
}

impl Default for AccEcn {
    fn default() -> Self {
        Self {
            received_ce: FIRST_COUNT,
            unreported_ce: 0,
            last_field: Ecn::NotEct,
            handshake_field: Ecn::NotEct,
            answers_syn_ack: false,
            has_feedback: false,
            sends_ect: true,
            counts_marks: true,
            packets_per_ack_8: 8,
            bytes: ByteCounts::default(),
        }
    }
}

impl AccEcn {
    /// Records the ECN field of `packets` packets that were received as one. Returns whether an
    /// ACK must be sent, as a set of `ICSK_ACK_*` (RFC 9768 section 3.2.2.5.1).
    fn receive(
        &mut self,
        field: Ecn,
        packets: u32,
        has_data: bool,
        is_any_unacknowledged: bool,
    ) -> u8 {
        let is_change = field != self.last_field;
        self.last_field = field;
        if field != Ecn::Ce {
            return 0;
        }
        self.received_ce = self.received_ce.wrapping_add(packets as u8);
        self.unreported_ce = self.unreported_ce.saturating_add(packets.min(255) as u8);
        let marks = if has_data || is_any_unacknowledged {
            MARKS_PER_ACK
        } else {
            MARKS_PER_ACK_WITHOUT_DATA
        };
        if has_data && is_change || self.unreported_ce >= marks {
            ICSK_ACK_SCHED | ICSK_ACK_NOW
        } else {
            0
        }
    }

    /// The bits of a segment other than a SYN; they report all marks received so far.
    #[inline]
    fn report(&mut self) -> Ace {
        self.unreported_ce = 0;
        if self.answers_syn_ack {
            Ace::echo(self.handshake_field)
        } else {
            Ace(self.received_ce & 7)
        }
    }

    /// Checks the peer's echo of the ECN field of a SYN or SYN-ACK. If the echoed field is neither
    /// the one in `sent` nor a mark on an ECN-capable packet, the path has changed it (RFC 9768
    /// section 3.2.2.3). Returns whether the packet was marked.
    fn check_echo(&mut self, echoed: Option<Ecn>, sent: Ecn) -> bool {
        let is_valid = |field| field == sent || field == Ecn::Ce && sent != Ecn::NotEct;
        self.sends_ect &= echoed.is_none_or(is_valid);
        echoed == Some(Ecn::Ce)
    }

    /// Stops sending ECN-capable packets and counting marks, because the path changes the bits.
    fn give_up(&mut self) {
        (self.sends_ect, self.counts_marks) = (false, false);
    }

    /// Number of marks that an ACK of `acked` packets reports in addition to the `known` count.
    /// The option gives the number of marks, `marked_pkts`, in packets of full size; the result is
    /// then the lowest possible number that is not below it (the examples of RFC 9768 appendix
    /// A.2.2). Without the option, the result is the highest number that the ACK can report
    /// (appendix A.2.1).
    fn marks(&mut self, ace: Ace, known: u32, acked: u32, marked_pkts: Option<u32>) -> u32 {
        if !self.has_feedback {
            self.has_feedback = true;
            // Section 3.2.2.4: a valid first count is not 0.
            if ace == Ace::NOTHING {
                self.give_up();
            }
        }
        let least = ace.since(known);
        let mean_8 = self.packets_per_ack_8;
        if acked > 0 {
            let acked = acked.min(u32::from(u16::MAX >> 4)) as u16;
            self.packets_per_ack_8 = mean_8 - mean_8 / 8 + acked;
        }
        if marked_pkts.is_some_and(|marked| marked > 0) && least == 0 && acked < 8 {
            // Section 3.2.3.2.5: bytes were marked but no packet was, so one of the two was
            // altered.
            self.sends_ect = false;
        }
        if !self.counts_marks {
            0
        } else if acked < 8 || marked_pkts.is_none() && mean_8 >= 8 * MAX_PACKETS_PER_ACK {
            least
        } else {
            let most = acked - ((acked - least) & 7);
            marked_pkts.map_or(most, |marked| {
                most.min(least + marked.saturating_sub(least).next_multiple_of(8))
            })
        }
    }
}

impl LinuxEndpoint {
    // The handshake.

    /// Whether this end requests accurate ECN, and agrees to requests for it.
    pub(super) fn wants_accurate_ecn(&self) -> bool {
        self.settings.ecn == EcnMode::Accurate || self.congestion.needs_accurate_ecn()
    }

    #[inline]
    pub(super) fn is_accurate(&self) -> bool {
        EcnFlags::of(&self.sk).is_accurate()
    }

    /// Starts accurate ECN after this SYN or SYN-ACK was received. Returns whether a SYN-ACK
    /// reports that the SYN was marked.
    pub(super) fn begin_accurate(&mut self, segment: &Segment) -> bool {
        let sent = self.syn_field();
        let is_client = segment.flags.has(Flags::ACK);
        let accecn = &mut self.connection.accecn;
        accecn.handshake_field = segment.ecn;
        if self.settings.options.accurate_ecn_option {
            accecn.bytes.begin(is_client);
        }
        if !is_client {
            return false;
        }
        accecn.bytes.check_first(segment);
        accecn.received_ce += u8::from(segment.ecn == Ecn::Ce);
        accecn.check_echo(Ace::of(segment.flags).echoed(), sent)
    }

    /// The bits AE, CWR and ECE of a SYN-ACK.
    pub(super) fn answer_syn_accurately(&mut self) -> u16 {
        if self.sk.inet_conn.icsk_retransmits >= ACCURATE_SYNS {
            self.connection.accecn.sends_ect = false;
            return 0;
        }
        Ace::echo(self.connection.accecn.handshake_field).bits()
    }

    /// Whether a retransmitted SYN still requests accurate ECN.
    pub(super) fn asks_again(&self) -> bool {
        self.wants_accurate_ecn() && self.sk.inet_conn.icsk_retransmits < ACCURATE_SYNS
    }

    /// Answers a repeated SYN of a connection that is not established yet. The mode stays that of
    /// the first SYN; a SYN that requests the other kind of ECN ends the connection (RFC 9768
    /// section 3.1.5).
    pub(super) fn answer_another_syn(&mut self, segment: &Segment) {
        let flags = EcnFlags::of(&self.sk);
        let mode = FeedbackMode::by_syn(Ace::of(segment.flags));
        let is_refused = self.wants_accurate_ecn()
            && (flags.is_accurate() && mode == FeedbackMode::Classic
                || flags.is_classic() && mode == FeedbackMode::Accurate);
        if is_refused {
            return self.refuse();
        }
        self.connection.accecn.handshake_field = segment.ecn;
        self.connection.accecn.sends_ect &= mode != FeedbackMode::Off;
        self.send_syn(Flags::SYN | Flags::ACK);
    }

    /// Answers a SYN-ACK; the rate of answers to repeated SYN-ACKs is limited.
    pub(super) fn answer_syn_ack(&mut self, segment: &Segment, is_first: bool) {
        if self.is_accurate() {
            let accecn = &mut self.connection.accecn;
            accecn.answers_syn_ack = true;
            accecn.handshake_field = segment.ecn;
            let has_counted = accecn.received_ce != FIRST_COUNT;
            accecn.received_ce += u8::from(segment.ecn == Ecn::Ce && !has_counted);
        }
        if is_first {
            self.send_ack();
        } else {
            self.answer_invalid();
        }
        self.connection.accecn.answers_syn_ack = false;
    }

    /// Handles the ACK that establishes the server's connection. Returns whether it reports that
    /// the SYN-ACK was marked (RFC 9768 table 3).
    pub(super) fn take_answer_to_syn_ack(&mut self, segment: &Segment) -> bool {
        if !self.is_accurate() {
            return false;
        }
        self.connection.accecn.bytes.check_first(segment);
        if segment.payload > 0 || !segment.sacks.is_empty() {
            return false;
        }
        let ace = Ace::of(segment.flags);
        if ace == Ace::NOTHING {
            self.connection.accecn.give_up();
        }
        let sent = self.syn_field();
        let is_marked = self.connection.accecn.check_echo(ace.echoed(), sent);
        self.sk.delivered_ce += u32::from(is_marked);
        is_marked
    }

    // Receiver of data.

    /// Counts the ECN field of an acceptable packet.
    #[inline]
    pub(super) fn count_field(&mut self, segment: &Segment) {
        if self.is_accurate() {
            let is_any_unacknowledged = self.sk.rcv_nxt != self.receiver.window.left;
            // Segments merged by a device are counted by their bytes.
            let packets = segment.payload.div_ceil(self.sk.mss_cache).max(1);
            let has_data = segment.payload > 0;
            let accecn = &mut self.connection.accecn;
            accecn.bytes.count(segment.ecn, segment.payload);
            let pending = accecn.receive(segment.ecn, packets, has_data, is_any_unacknowledged);
            self.sk.inet_conn.icsk_ack.pending |= pending;
        }
    }

    /// The bits AE, CWR and ECE of a segment other than a SYN; 0 if accurate ECN is not used.
    #[inline]
    pub(super) fn count_bits(&mut self) -> u16 {
        if self.is_accurate() { self.connection.accecn.report().bits() } else { 0 }
    }

    /// The ECN field of a segment other than a SYN.
    pub(super) fn accurate_field(&self) -> Ecn {
        match (self.connection.accecn.sends_ect, self.congestion.sends_ect1()) {
            (false, _) => Ecn::NotEct,
            (true, false) => Ecn::Ect0,
            (true, true) => Ecn::Ect1,
        }
    }

    // Sender of data.

    /// Counts the marks that an ACK of `acked` packets reports, unless the ACK may be older than
    /// one that was already processed (RFC 9768 appendix A.1).
    pub(super) fn take_marks(&mut self, segment: &Segment, acked: u32, is_later: bool) -> AckFlags {
        let is_count = self.is_established() && !segment.flags.has(Flags::SYN);
        if !is_count || !is_later {
            return AckFlags::NONE;
        }
        let known = u32::from(FIRST_COUNT).wrapping_add(self.sk.delivered_ce);
        let accecn = &mut self.connection.accecn;
        let marked_bytes = accecn.bytes.take(segment);
        let marked_pkts = marked_bytes.map(|bytes| bytes.div_ceil(self.sk.mss_cache));
        let marks = accecn.marks(Ace::of(segment.flags), known, acked, marked_pkts);
        self.sk.delivered_ce = self.sk.delivered_ce.wrapping_add(marks);
        if marks > 0 { AckFlags::ECE } else { AckFlags::NONE }
    }

    /// Processes the reported number of marks, and notifies the algorithm. An ACK that makes no
    /// progress and has no later timestamp may be an old ACK.
    #[inline(never)]
    pub(super) fn handle_marks(
        &mut self,
        segment: &Segment,
        acked: u32,
        is_later: bool,
        flags: &mut AckFlags,
    ) {
        let is_later = is_later || flags.has(AckFlags::FORWARD_PROGRESS);
        *flags |= self.take_marks(segment, acked, is_later);
        self.tell_slow_ack(*flags);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CE: Ecn = Ecn::Ce;
    const AT_ONCE: u8 = ICSK_ACK_SCHED | ICSK_ACK_NOW;

    #[test]
    fn the_first_mark_after_none_and_every_second_one_are_acknowledged_at_once() {
        let mut accecn = AccEcn::default();
        let next = |accecn: &mut AccEcn, field| accecn.receive(field, 1, true, false);
        assert_eq!(next(&mut accecn, Ecn::Ect1), 0);
        assert_eq!(next(&mut accecn, CE), AT_ONCE);
        assert_eq!(accecn.report(), Ace(6));
        assert_eq!([0; 2].map(|_| next(&mut accecn, CE)), [0, AT_ONCE]);
        assert_eq!(accecn.report(), Ace(0), "5 and 3 are 8");
    }

    #[test]
    fn without_data_every_third_mark_is_reported() {
        let mut accecn = AccEcn::default();
        assert_eq!([0; 3].map(|_| accecn.receive(CE, 1, false, false)), [0, 0, AT_ONCE]);
        let mut waiting = AccEcn::default();
        assert_eq!([0; 2].map(|_| waiting.receive(CE, 1, false, true)), [0, AT_ONCE]);
        assert_eq!(AccEcn::default().receive(CE, 3, false, false), AT_ONCE, "merged");
    }

    /// The marks that an ACK of `acked` packets reports, for a `known` count and these bits.
    fn marks(ace: u8, known: u32, acked: u32) -> u32 {
        let mut accecn = AccEcn { has_feedback: true, ..AccEcn::default() };
        accecn.marks(Ace(ace), known, acked, None)
    }

    #[test]
    fn a_count_that_may_have_wrapped_has_wrapped() {
        // The examples of appendix A.2.1.
        assert_eq!(marks(7, 5, 9), 2);
        assert_eq!(marks(7, 5, 10), 10);
        assert_eq!(marks(1, 5, 7), 4);
        // More marks than packets: control packets were marked, too.
        assert_eq!(marks(0, 5, 1), 3);
    }

    #[test]
    fn where_acks_stand_for_many_packets_a_count_did_not_wrap() {
        let mut accecn = AccEcn { has_feedback: true, ..AccEcn::default() };
        let all: u32 = (0..40).map(|_| accecn.marks(Ace(5), 5, 16, None)).sum();
        assert!(all <= 3 * 16, "{all}");
        assert_eq!(accecn.marks(Ace(7), 5, 16, None), 2);
    }

    #[test]
    fn bytes_say_how_often_a_count_wrapped() {
        let marks = |least: u8, acked, bytes: u32| {
            let mut accecn = AccEcn { has_feedback: true, ..AccEcn::default() };
            accecn.marks(Ace((5 + least) & 7), 5, acked, Some(bytes.div_ceil(1_460)))
        };
        // The examples of appendix A.2.2.
        assert_eq!([marks(0, 8, 1_460), marks(2, 10, 1_460), marks(7, 15, 10_200)], [8, 2, 7]);
        assert_eq!([marks(1, 30, 9 * 1_460), marks(1, 30, 10 * 1_460)], [9, 17]);
        assert_eq!(marks(0, 16, 0), 0, "no bytes were marked");
        assert_eq!(marks(3, 3, 100), 3, "short packets");
    }

    #[test]
    fn marked_bytes_without_a_marked_packet_end_the_sending_of_ect() {
        let mut accecn = AccEcn { has_feedback: true, ..AccEcn::default() };
        accecn.marks(Ace(5), 5, 8, Some(1));
        assert!(accecn.sends_ect, "the count may have wrapped");
        accecn.marks(Ace(5), 13, 7, Some(1));
        assert!(!accecn.sends_ect && accecn.counts_marks);
    }

    #[test]
    fn a_first_count_of_nothing_ends_it() {
        let mut accecn = AccEcn::default();
        assert_eq!(accecn.marks(Ace(0), 5, 1, None), 0);
        assert!(!accecn.sends_ect && !accecn.counts_marks);
        let mut later = AccEcn::default();
        assert_eq!([later.marks(Ace(5), 5, 1, None), later.marks(Ace(0), 5, 3, None)], [0, 3]);
    }
}
