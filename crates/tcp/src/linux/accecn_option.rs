//! The TCP option of accurate ECN (RFC 9768 section 3.2.3): numbers of bytes received with each
//! ECN codepoint.
//!
//! ```text
//!   client                                       server
//!     SYN ---------------------------------------->  never has it
//!     <------------------------- SYN-ACK, all counters  the first one only
//!     ACK, all counters -------------------------->  and the first data
//!     <------------- ACK, counters that ever changed  as soon as one has changed
//! ```
//!
//! The option is sent by the simple scheme that section 3.2.3.3 recommends. Data segments are not
//! shortened to make room: a segment that would exceed the MTU has no option, and a later segment
//! reports. The code follows draft-ietf-tcpm-accurate-ecn-34, the text that became RFC 9768. It
//! leaves out a cache of paths that drop options (section 3.2.3.2.2).

use cwndlab_packet::{EcnOption, Segment, ecn_option_gain};
use cwndlab_units::Ecn;

use super::settings::TIMESTAMP_BYTES;

/// Initial values of the counters of ECT(0), CE and ECT(1) (RFC 9768 section 3.2.1).
const FIRST: [u32; 3] = [1, 0, 1];
const ECT0: usize = 0;
const CE: usize = 1;
const ECT1: usize = 2;
/// Bytes for options in a header with a data offset of 15 words.
const OPTION_SPACE: usize = 40;

/// Byte counts of an end in both of its roles: as receiver and as sender of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ByteCounts {
    /// Whether there is something to report: the next segment carries the option if it has room.
    pub(super) is_due: bool,
    /// Whether this end sends the option; it stops if the path seems to drop its options.
    is_reporting: bool,
    /// Bytes received with each codepoint (`r.e0b`, `r.ceb`, `r.e1b`).
    received: [u32; 3],
    /// The counts that were last reported to the peer.
    reported: [u32; 3],
    /// Number of reports that are sent even without a change: in the handshake's answer, and with
    /// the first data.
    must_answer: bool,
    must_join_data: bool,
    /// Whether the segment with the first data carried the option.
    is_on_first_data: bool,
    /// Whether the last segment without data carried the option.
    is_on_last_ack: bool,
    /// Start of data that were received again although the last ACK carried the option.
    came_again: Option<u32>,
    /// Bytes that the peer reports as received (`s.e0b`, `s.ceb`, `s.e1b`).
    delivered: [u32; 3],
    /// Whether the path set the peer's first option to zeros, so that the peer's options are
    /// ignored.
    is_zeroed: bool,
}

impl Default for ByteCounts {
    fn default() -> Self {
        Self {
            is_due: false,
            is_reporting: false,
            received: FIRST,
            reported: FIRST,
            must_answer: false,
            must_join_data: false,
            is_on_first_data: false,
            is_on_last_ack: false,
            came_again: None,
            delivered: FIRST,
            is_zeroed: false,
        }
    }
}

/// Returns the shortest option that contains the counters selected in `changed`.
fn shortest(changed: [bool; 3], counters: [u32; 3]) -> EcnOption {
    let length =
        |order: [usize; 3]| order.iter().rposition(|at| changed[*at]).map_or(0, |at| at + 1);
    let [order_0, order_1] = [[ECT0, CE, ECT1], [ECT1, CE, ECT0]].map(length);
    EcnOption::new(order_1 < order_0, order_0.min(order_1), counters)
}

impl ByteCounts {
    /// Starts accurate ECN for the client or the server. This end's answer in the handshake
    /// carries the option, and so do the client's first data (RFC 9768 section 3.2.3.2.1).
    pub(super) fn begin(&mut self, is_client: bool) {
        self.is_reporting = true;
        self.must_answer = true;
        self.must_join_data = is_client;
        self.is_due = true;
    }

    /// Stops sending the option, because the path seems to drop it (RFC 9768 section 3.2.3.2.2).
    pub(super) fn give_up(&mut self) {
        (self.is_reporting, self.is_due) = (false, false);
    }

    // Receiver of data.

    /// Counts an acceptable packet.
    pub(super) fn count(&mut self, field: Ecn, payload: u32) {
        let counter = match field {
            Ecn::NotEct => return,
            Ecn::Ect0 => ECT0,
            Ecn::Ce => CE,
            Ecn::Ect1 => ECT1,
        };
        self.received[counter] = self.received[counter].wrapping_add(payload);
        self.is_due |= self.is_reporting && payload > 0;
    }

    /// Records duplicate data that start at `seq`. If the same data are received twice although
    /// the last ACK carried the option, ACKs with the option are being dropped (RFC 9768 section
    /// 3.2.3.2.2).
    pub(super) fn note_duplicate(&mut self, seq: u32) {
        if !self.is_on_last_ack {
            return;
        }
        if self.came_again == Some(seq) {
            self.give_up();
        }
        self.came_again = Some(seq);
    }

    /// Records a retransmission of the first data. If the first data carried the option, the
    /// option may have caused their loss (RFC 9768 section 3.2.3.2.2).
    pub(super) fn note_first_data_again(&mut self) {
        if self.is_on_first_data {
            self.give_up();
        }
    }

    /// Composes the option for a segment with `room` bytes for it; if it `must` be present, it
    /// contains all counters.
    ///
    /// Returns `None` if there is nothing to report, or if the counters that changed since the
    /// last report do not fit; in this case, the option must not be sent (RFC 9768 section
    /// 3.2.3.3).
    fn compose(&self, must: bool, room: usize) -> Option<EcnOption> {
        if !must && self.received == self.reported {
            return None;
        }
        let differs = |from: &[u32; 3]| core::array::from_fn(|at| self.received[at] != from[at]);
        let ever: [bool; 3] = differs(&FIRST);
        [[must; 3], ever, differs(&self.reported)]
            .into_iter()
            .map(|changed| shortest(changed, self.received))
            .find(|option| option.bytes() > 2 && option.padded_bytes() <= room)
    }

    /// Adds the option to a SYN-ACK, where it only tests the path. A retransmitted SYN-ACK has no
    /// option, because the option may be the reason why there was no answer (RFC 9768 section
    /// 3.2.3.2.2).
    pub(super) fn put_into_syn_ack(&mut self, segment: &mut Segment) {
        if core::mem::take(&mut self.must_answer) {
            self.put(segment, EcnOption::new(false, 3, self.received));
            self.is_due = false;
        } else {
            self.give_up();
        }
    }

    /// Adds the option to a segment that also gets `blocks` SACK blocks. Two SACK blocks have
    /// priority over the option (RFC 9768 section 3.2.3.3).
    #[inline(never)]
    pub(super) fn put_into(&mut self, segment: &mut Segment, blocks: usize, mtu_bytes: u32) {
        let blocks = match blocks.min(2) {
            0 => 0,
            some => 4 + 8 * some,
        };
        let stamps = if segment.timestamps.is_some() { TIMESTAMP_BYTES as usize } else { 0 };
        let mut room = OPTION_SPACE - stamps - blocks;
        let has_data = segment.payload > 0;
        if has_data {
            let packet_bytes = segment.wire_bytes() + blocks as u32;
            room = room.min(mtu_bytes.saturating_sub(packet_bytes) as usize);
        }
        let must = if has_data { self.must_join_data } else { self.must_answer };
        let option = self.compose(must, room);
        if let Some(option) = option {
            self.put(segment, option);
            self.reported = self.received;
            self.is_on_first_data |= has_data && self.must_join_data;
        }
        if has_data {
            self.must_join_data = false;
        } else {
            self.is_on_last_ack = option.is_some();
        }
        self.must_answer = false;
        self.is_due = self.must_join_data || self.received != self.reported;
    }

    fn put(&self, segment: &mut Segment, option: EcnOption) {
        segment.set_ecn_option(option);
        segment.header_bytes += option.padded_bytes() as u16;
    }

    // Sender of data.

    /// Checks the first segment of the peer that may carry the option: if counters start at 0, the
    /// path has changed them (RFC 9768 section 3.2.3.2.4).
    pub(super) fn check_first(&mut self, segment: &Segment) {
        let [ect0, _, ect1] = segment.ecn_option().map_or([None; 3], |option| option.counters());
        self.is_zeroed |= ect0 == Some(0) || ect1 == Some(0);
    }

    /// Reads the counters of an ACK that no later ACK has overtaken. Returns the number of newly
    /// marked bytes; `None` if the ACK does not report it. An omitted counter has not changed (RFC
    /// 9768 section 3.2.3.3).
    pub(super) fn take(&mut self, segment: &Segment) -> Option<u32> {
        let option = segment.ecn_option().filter(|_| !self.is_zeroed)?;
        let mut gains = [0; 3];
        for (at, field) in option.counters().into_iter().enumerate() {
            let Some(field) = field else { continue };
            gains[at] = ecn_option_gain(field, self.delivered[at]);
            self.delivered[at] = self.delivered[at].wrapping_add(gains[at]);
        }
        (option.bytes() > 2).then_some(gains[CE])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreed() -> ByteCounts {
        let mut counts = ByteCounts::default();
        counts.begin(false);
        counts.put_into_syn_ack(&mut Segment::default());
        counts
    }

    fn ack(option: EcnOption) -> Segment {
        let mut segment = Segment::default();
        segment.set_ecn_option(option);
        segment
    }

    /// Kind of the option, and number of its fields, in an ACK with this number of SACK blocks.
    fn reported(counts: &mut ByteCounts, blocks: usize) -> Option<(u8, usize)> {
        let mut ack = Segment { timestamps: Some((1, 2)), header_bytes: 52, ..Segment::default() };
        counts.put_into(&mut ack, blocks, 1_500);
        ack.ecn_option().map(|option| (option.kind(), option.fields().len()))
    }

    #[test]
    fn an_ack_reports_every_counter_that_ever_changed_and_in_the_shorter_order() {
        let mut counts = agreed();
        assert!(!counts.is_due);
        counts.count(Ecn::Ect1, 1_000);
        assert_eq!(reported(&mut counts, 0), Some((174, 1)));
        counts.count(Ecn::Ce, 1_000);
        assert_eq!(reported(&mut counts, 0), Some((174, 2)));
        counts.count(Ecn::Ect1, 1_000);
        assert_eq!(reported(&mut counts, 0), Some((174, 2)), "the mark is repeated");
        counts.count(Ecn::Ect0, 1_000);
        assert_eq!(reported(&mut counts, 0), Some((172, 3)));
        assert!(!counts.is_due);
    }

    #[test]
    fn two_sack_blocks_go_first_and_what_has_not_changed_is_left_out() {
        let mut counts = agreed();
        counts.count(Ecn::Ect0, 1_000);
        counts.count(Ecn::Ect1, 1_000);
        // 12 bytes of timestamps, 20 of blocks: 8 are left, and three counters need 12.
        assert_eq!(reported(&mut counts, 3), None);
        assert!(counts.is_due, "it is reported later");
        assert_eq!(reported(&mut counts, 1), Some((172, 3)));
        counts.count(Ecn::Ect1, 1_000);
        assert_eq!(reported(&mut counts, 3), Some((174, 1)), "only what has changed since");
    }

    #[test]
    fn data_longer_than_the_mtu_with_it_go_without() {
        let mut counts = agreed();
        counts.count(Ecn::Ect0, 1_000);
        let mut data = Segment { payload: 1_456, header_bytes: 40, ..Segment::default() };
        counts.put_into(&mut data, 0, 1_500);
        assert_eq!((data.ecn_option(), counts.is_due), (None, true));
        data.payload = 1_452;
        counts.put_into(&mut data, 0, 1_500);
        assert_eq!((data.wire_bytes(), counts.is_due), (1_500, false));
    }

    #[test]
    fn data_that_come_twice_again_end_the_reports_and_others_do_not() {
        let mut counts = agreed();
        counts.count(Ecn::Ect0, 1_000);
        reported(&mut counts, 0);
        counts.note_duplicate(1);
        counts.note_duplicate(1_001);
        assert!(counts.is_reporting);
        counts.note_duplicate(1_001);
        assert!(!counts.is_reporting);
        counts.count(Ecn::Ect0, 1_000);
        assert!(!counts.is_due);
    }

    #[test]
    fn gains_are_of_what_the_option_has() {
        let mut counts = ByteCounts::default();
        assert_eq!(counts.take(&ack(EcnOption::new(false, 2, [1_001, 500, 0]))), Some(500));
        assert_eq!(counts.take(&ack(EcnOption::new(false, 1, [2_001, 0, 0]))), Some(0));
        assert_eq!(counts.take(&ack(EcnOption::new(true, 2, [0, 700, 9]))), Some(200));
        assert_eq!(counts.delivered, [2_001, 700, 9]);
        assert_eq!(counts.take(&Segment::default()), None);
        assert_eq!(counts.take(&ack(EcnOption::new(false, 0, [0; 3]))), None, "it says nothing");
    }

    #[test]
    fn a_first_counter_of_0_was_changed_on_its_way() {
        for (option, is_zeroed) in [([0, 0, 1], true), ([1, 0, 0], true), ([9, 0, 7], false)] {
            let mut counts = ByteCounts::default();
            counts.check_first(&ack(EcnOption::new(true, 3, option)));
            assert_eq!(counts.is_zeroed, is_zeroed);
        }
    }
}
