//! Header prediction (Jacobson, 4BSD TCP header prediction, 1990): fast paths for the three most
//! frequent kinds of segments. A fast path leads to the same state as the slow path.
//!
//! ```text
//!   next data, for an end that only receives and reads at once  -->  counted, acknowledged, read
//!   the same beyond a hole, behind what came last               -->  kept, perhaps reported
//!   ACK of new data, of a flight in which nothing went wrong    -->  taken off, sampled, grown
//! ```

use core::fmt;

use cwndlab_cc::{AckSample, ICSK_ACK_SCHED, RateSample};
use cwndlab_packet::seq::after;
use cwndlab_packet::{Flags, Segment};
use cwndlab_units::Time;

use super::ack::{AckFlags, Rexmit};
use super::ecn::EcnFlags;
use super::receiver::SHORT_BYTES;
use super::rtx::{TxSegment, Untouched};
use super::send_buffer::Limit;
use super::state::State;
use super::{LinuxEndpoint, empty_rate_sample};
use crate::info::CaState;

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

impl fmt::Debug for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Expected")
    }
}

/// The numbers of a header that contains only the next data or an ACK (`pred_flags`).
#[derive(Clone, Copy, Debug)]
struct Prediction {
    /// Sequence number of the next data.
    seq: u32,
    /// No segment acknowledges data beyond this sequence number.
    snd_nxt: u32,
}

impl Prediction {
    /// Whether the header contains only the next data or an ACK, possibly with a new window.
    #[inline(always)]
    fn matches(self, segment: &Segment) -> bool {
        is_plain_header(segment) && segment.seq == self.seq && !after(segment.ack, self.snd_nxt)
    }
}

/// Whether a header has no relevant control bits and no SACK blocks.
#[inline(always)]
fn is_plain_header(segment: &Segment) -> bool {
    segment.flags.0 & !Flags::PSH == Flags::ACK && segment.sacks.is_empty()
}

impl LinuxEndpoint {
    /// Processes a segment, and then reads all data for the application. Returns the number of
    /// bytes read, and whether the peer has finished.
    #[inline(always)]
    pub(crate) fn handle_segment_and_read(&mut self, now: Time, segment: &Segment) -> (u64, bool) {
        let is_expected = self.connection.expected.is_data(segment)
            && segment.seq == self.sk.rcv_nxt
            && self.connection.options.is_in_order(segment)
            && self.receiver.window.left_bytes(self.sk.rcv_nxt) > 0;
        if is_expected || self.receiver.is_in_order() && self.recognize_next_data(segment) {
            self.set_now(now);
            (self.read_next_data(segment), false)
        } else {
            self.handle_any_segment_and_read(now, segment)
        }
    }

    /// Whether the segment is the next data although this was not expected; if so, similar
    /// segments are expected from now on.
    #[inline(never)]
    fn recognize_next_data(&mut self, segment: &Segment) -> bool {
        let is_next = self.is_next_data(segment);
        if is_next {
            let Segment { ack, window, .. } = *segment;
            self.connection.expected = Expected::Data { ack, window };
        }
        is_next
    }

    #[inline(never)]
    fn handle_any_segment_and_read(&mut self, now: Time, segment: &Segment) -> (u64, bool) {
        if !self.receiver.is_in_order() && self.is_next_beyond_hole(segment) {
            self.set_now(now);
            self.keep_next_beyond_hole(segment);
            return (0, false);
        }
        self.handle_segment(now, segment);
        (self.read(now, u64::MAX), self.peer_has_finished())
    }

    /// Whether the header contains only the next data or an ACK (`tcp_hdr_predicted`).
    #[inline(always)]
    pub(super) fn is_predicted(&self, segment: &Segment) -> bool {
        self.is_predicted_but_window(segment) && self.has_known_window(segment)
    }

    /// Whether the segment announces an unchanged window.
    #[inline(always)]
    pub(super) fn has_known_window(&self, segment: &Segment) -> bool {
        self.peer_window.of(segment) == self.sk.snd_wnd
    }

    /// Whether the header contains only the next data or an ACK; unlike in [`Self::is_predicted`],
    /// the window may be new.
    #[inline(always)]
    pub(super) fn is_predicted_but_window(&self, segment: &Segment) -> bool {
        let prediction = Prediction { seq: self.sk.rcv_nxt, snd_nxt: self.sk.snd_nxt };
        prediction.matches(segment)
            && self.receiver.is_in_order()
            && self.connection.options.is_in_order(segment)
            && !self.is_accurate()
    }

    /// Whether the segment contains only the next data, and this end has no data to send and no
    /// unread data.
    fn is_next_data(&self, segment: &Segment) -> bool {
        self.connection.state == State::Established
            && self.is_predicted(segment)
            && segment.payload > 0
            && segment.ack == self.sk.snd_una
            && self.receiver.is_open_and_read(self.sk.rcv_nxt)
            && !EcnFlags::of(&self.sk).is_agreed()
            && !self.buffer.is_blocked
            && !self.has_unsent()
    }

    #[inline(always)]
    fn read_next_data(&mut self, segment: &Segment) -> u64 {
        self.rtt.last_us = None;
        self.note_options(segment);
        if segment.seq == self.receiver.window.left {
            self.connection.options.take(segment);
        }
        self.take_echo(segment);
        self.receiver.hold_next(segment.payload);
        self.sk.rcv_nxt = self.sk.rcv_nxt.wrapping_add(segment.payload);
        self.note_data_seen(segment);
        if segment.payload >= SHORT_BYTES {
            self.receiver.grow_window_into_room(segment.payload);
        }
        self.check_ack_before_read();
        self.receiver.read_held(segment.payload, self.sk.tcp_mstamp);
        self.clean_receive_buffer();
        segment.payload.into()
    }

    /// Whether the segment contains only data that continue the newest block beyond a hole, and
    /// this end has no data to send and no unread data.
    #[inline(always)]
    fn is_next_beyond_hole(&self, segment: &Segment) -> bool {
        is_plain_header(segment)
            && segment.payload >= SHORT_BYTES
            && segment.ack == self.sk.snd_una
            && self.has_known_window(segment)
            && self.receiver.is_next_beyond_hole(self.sk.rcv_nxt, segment.seq)
            && self.connection.state == State::Established
            && self.connection.options.is_sack
            && self.connection.options.is_in_order(segment)
            && !EcnFlags::of(&self.sk).is_agreed()
            && self.sk.packets_out == 0
            && !self.probe.is_out()
            && !self.buffer.is_blocked
            && !self.has_unsent()
    }

    /// `tcp_data_queue_ofo` for data that continue the newest block beyond a hole, with the steps
    /// before and after it.
    #[inline(always)]
    fn keep_next_beyond_hole(&mut self, segment: &Segment) {
        self.rtt.last_us = None;
        self.note_options(segment);
        // The window is unchanged, and nothing new is acknowledged.
        let is_news = self.peer_window.is_news(segment, &self.sk);
        if is_news {
            self.peer_window.told_at = segment.seq;
        }
        self.tell_slow_ack(if is_news { AckFlags::WIN_UPDATE } else { AckFlags::NONE });
        self.timer.probes_out = 0;
        self.take_echo(segment);
        self.receiver.grow_window_into_room(segment.payload);
        self.receiver.keep_next_beyond_hole(self.sk.rcv_nxt, segment.end_seq());
        self.sk.inet_conn.icsk_ack.pending |= ICSK_ACK_SCHED;
        self.check_ack(true);
        self.note_phase();
    }

    /// Whether an ACK acknowledges at least a whole segment, all segments were sent once, and none
    /// is missing. The header must be predicted, except possibly for its window, and the ACK must
    /// not answer a probe in flight.
    #[inline(always)]
    pub(super) fn is_plain_ack(&self, segment: &Segment) -> bool {
        self.connection.options.is_sack
            && self.ca_state() == CaState::Open as u8
            && self.sk.lost_out == 0
            && self.rtx.is_untouched()
            && !self.probe.is_reached_by(segment.ack)
            && self.rtx.first().is_some_and(|first| {
                !after(first.end_seq, segment.ack) && !TxSegment::is_syn(first)
            })
    }

    /// Whether the segment is a plain ACK like the last segment; its window may differ.
    #[inline(always)]
    pub(super) fn is_plain_ack_again(&self, segment: &Segment) -> bool {
        self.connection.expected.is_plain_ack(segment)
            && segment.seq == self.sk.rcv_nxt
            && !after(segment.ack, self.sk.snd_nxt)
            && self.connection.options.is_in_order(segment)
            && self.rtx.first().is_some_and(|first| !after(first.end_seq, segment.ack))
    }

    /// `tcp_ack` for a plain ACK, which is predicted unless its window is new.
    #[inline(always)]
    pub(super) fn handle_plain_ack(&mut self, segment: &Segment, is_predicted: bool) {
        let ack = segment.ack;
        let (prior_una, prior_delivered, prior_lost) =
            (self.sk.snd_una, self.sk.delivered, self.sk.lost);
        let is_reneging = self.recovery.is_reneging;
        let mut flags =
            AckFlags::SND_UNA_ADVANCED | AckFlags::WIN_UPDATE | AckFlags::SET_XMIT_TIMER;
        let mut rate = empty_rate_sample();
        if self.congestion.has_cong_control() {
            rate.prior_in_flight = self.in_flight();
        }
        if segment.seq == self.receiver.window.left {
            flags |= AckFlags::UPDATE_TS_RECENT;
            self.connection.options.take(segment);
        }
        self.sk.inet_conn.icsk_retransmits = 0;
        self.timer.probes_out = 0;
        if is_predicted {
            self.advance_una_from(segment);
        } else {
            flags |= AckFlags::SLOWPATH | self.update_window(segment);
            self.tell_slow_ack(flags);
        }
        flags |= self.take_plain(prior_una, &mut rate);
        self.rack_update_reo_wnd(rate.prior_delivered);
        let mut rexmit = Rexmit::None;
        if self.ca_state() != CaState::Open as u8 {
            // The algorithm requested a reduction.
            self.fast_retransmit_alert(prior_una, 0, &mut flags, &mut rexmit);
        }
        if flags.has(AckFlags::SET_XMIT_TIMER) {
            self.restart_timer();
        }
        let delivered = self.sk.delivered.wrapping_sub(prior_delivered);
        let lost = self.sk.lost.wrapping_sub(prior_lost);
        rate.is_ack_delayed = u8::from(flags.has(AckFlags::ACK_MAYBE_DELAYED));
        self.rate_generate(delivered, lost, is_reneging, &mut rate);
        self.control_congestion(ack, delivered, flags, &rate);
        self.transmit_recovery(rexmit);
    }

    /// `tcp_clean_rtx_queue` for a plain ACK.
    #[inline(always)]
    fn take_plain(&mut self, prior_una: u32, rate: &mut RateSample) -> AckFlags {
        let Untouched { first, last, count, .. } = self.take_off_untouched(false, rate);
        let mut flags = AckFlags::DATA_ACKED;
        if !after(first.end_seq, self.sk.high_seq) {
            flags |= AckFlags::ORIG_SACK_ACKED;
        }
        if self.rtx.is_empty() {
            self.buffer.chrono.stop(Limit::Busy, self.clock.now());
        }
        let now_us = self.sk.tcp_mstamp;
        let ca_rtt_us = now_us.saturating_sub(last.tx_mstamp) as u32;
        rate.rtt_us = i64::from(ca_rtt_us);
        if count == 1
            && self.sk.snd_una.wrapping_sub(prior_una) < self.sk.mss_cache
            && rate.prior_delivered.wrapping_add(1) == self.sk.delivered
        {
            flags |= AckFlags::ACK_MAYBE_DELAYED;
        }
        let rtt_us = now_us.saturating_sub(first.tx_mstamp) as u32;
        self.take_rtt(rtt_us, ca_rtt_us, flags.has(AckFlags::ACK_MAYBE_DELAYED));
        if first.seq != prior_una {
            self.check_sack_reordering(first.seq);
        }
        let delivered = self.sk.delivered.wrapping_sub(rate.prior_delivered);
        let in_flight = self.sk.mss_cache.wrapping_mul(delivered);
        let sample = AckSample { pkts_acked: count, rtt_us: ca_rtt_us as i32, in_flight };
        let requests = self.congestion.pkts_acked(&mut self.sk, &sample);
        self.serve(requests);
        flags
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_packet::{SackBlock, SackBlocks};
    use cwndlab_units::Duration;

    use super::*;
    use crate::linux::ack::AckFlags;
    use crate::linux::testing::{Pair, RECEIVER, SENDER};

    /// Two pairs of endpoints with the same history of `rounds` rounds.
    fn twins(rounds: usize) -> [Pair; 2] {
        [(); 2].map(|()| {
            let mut pair = Pair::established();
            for _ in 0..rounds {
                let segments = pair.write(12_000);
                let acks = pair.deliver(&segments);
                pair.answer(&acks);
            }
            pair
        })
    }

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

    #[test]
    fn any_news_in_the_header_is_unexpected() {
        let prediction = Prediction { seq: 7, snd_nxt: 50 };
        let flags = Flags(Flags::ACK);
        let expected = Segment { seq: 7, ack: 50, window: 10, flags, ..Segment::default() };
        assert!(prediction.matches(&expected));
        assert!(prediction.matches(&Segment { flags: Flags(Flags::ACK | Flags::PSH), ..expected }));
        let mut sacks = SackBlocks::default();
        sacks.push(SackBlock { start: 60, end: 70 });
        for unexpected in [
            Segment { seq: 8, ..expected },
            Segment { ack: 51, ..expected },
            Segment { flags: Flags(Flags::ACK | Flags::ECE), ..expected },
            Segment { sacks, ..expected },
        ] {
            assert!(!prediction.matches(&unexpected), "{unexpected:?}");
        }
    }

    #[test]
    fn the_short_way_of_data_leaves_the_same_state_as_the_long_one() {
        for rounds in 0..6 {
            let [mut short, mut long] = twins(rounds);
            let segments = short.write(10_000);
            assert_eq!(segments, long.write(10_000));
            let mut short_ways = 0;
            for (index, segment) in segments.iter().enumerate() {
                let now = short.now + Duration::from_millis(10 + index as u64);
                short_ways += u32::from(short.ends[RECEIVER].is_next_data(segment));
                let (read, _) = short.ends[RECEIVER].handle_segment_and_read(now, segment);
                long.ends[RECEIVER].handle_segment(now, segment);
                assert_eq!(read, long.ends[RECEIVER].read(now, u64::MAX));
                let is_same = short.state_of(RECEIVER) == long.state_of(RECEIVER);
                assert!(is_same, "segment {index} after {rounds} rounds");
            }
            assert!(short_ways > 0, "after {rounds} rounds");
        }
    }

    #[test]
    fn the_short_way_beyond_a_hole_leaves_the_same_state_as_the_long_one() {
        for lost in [vec![0], vec![1, 2], vec![0, 3], vec![2, 4, 9]] {
            let [mut short, mut long] = twins(5);
            let segments = short.write(40_000);
            assert_eq!(segments, long.write(40_000));
            let (resent, kept): (Vec<_>, Vec<_>) =
                segments.iter().enumerate().partition(|(index, _)| lost.contains(index));
            let mut short_ways = 0;
            for (index, (_, segment)) in kept.into_iter().chain(resent).enumerate() {
                let now = short.now + Duration::from_millis(10 + index as u64);
                let end = &mut short.ends[RECEIVER];
                short_ways +=
                    u32::from(!end.receiver.is_in_order() && end.is_next_beyond_hole(segment));
                let (read, _) = end.handle_segment_and_read(now, segment);
                long.ends[RECEIVER].handle_segment(now, segment);
                assert_eq!(read, long.ends[RECEIVER].read(now, u64::MAX));
                let is_same = short.state_of(RECEIVER) == long.state_of(RECEIVER);
                assert!(is_same, "segment {index} without {lost:?}");
            }
            assert!(short_ways > 5, "{short_ways} without {lost:?}");
        }
    }

    #[test]
    fn the_short_way_of_an_ack_leaves_the_same_state_as_the_long_one() {
        let (mut short_ways, mut unpredicted) = (0, 0);
        for (rounds, is_probed) in (0..6).flat_map(|rounds| [(rounds, false), (rounds, true)]) {
            let [mut short, mut long] = twins(rounds);
            let segments = short.write(30_000);
            assert_eq!(segments, long.write(30_000));
            if is_probed {
                for pair in [&mut short, &mut long] {
                    let sender = &mut pair.ends[SENDER];
                    sender.probe.begin(sender.sk.snd_nxt, false);
                }
            }
            let mut acks = short.deliver(&segments);
            assert_eq!(acks, long.deliver(&segments));
            // Every third window differs from the one before.
            for ack in acks.iter_mut().step_by(3) {
                ack.window += 1;
            }
            let now = short.now + Duration::from_millis(10);
            for ack in &acks {
                let [end, other] = [&mut short.ends[SENDER], &mut long.ends[SENDER]];
                if !(end.is_predicted_but_window(ack) && end.is_plain_ack(ack)) {
                    end.handle_segment(now, ack);
                    other.handle_segment(now, ack);
                    continue;
                }
                short_ways += 1;
                for end in [&mut *end, &mut *other] {
                    end.set_now(now);
                    end.note_options(ack);
                }
                let is_predicted = end.is_predicted(ack);
                unpredicted += u32::from(!is_predicted);
                let mut flags = if is_predicted { AckFlags::NONE } else { AckFlags::SLOWPATH };
                if ack.seq == other.receiver.window.left {
                    flags |= AckFlags::UPDATE_TS_RECENT;
                }
                end.handle_plain_ack(ack, is_predicted);
                other.handle_ack(ack, flags);
                let is_same = short.state_of(SENDER) == long.state_of(SENDER);
                assert!(is_same, "after {rounds} rounds");
            }
        }
        assert!(short_ways > 20, "{short_ways}");
        assert!(unpredicted > 10, "{unpredicted}");
    }

    #[test]
    fn what_is_out_of_order_takes_the_long_way() {
        let [mut pair, _] = twins(3);
        let segments = pair.write(10_000);
        assert!(!pair.ends[RECEIVER].is_next_data(&segments[1]));
        pair.deliver(&segments[1..2]);
        assert!(!pair.ends[RECEIVER].is_next_data(&segments[0]), "a gap is open");
        pair.deliver(&segments[..1]);
        assert!(pair.ends[RECEIVER].is_next_data(&segments[2]));
    }
}
