//! Received segments of an established connection, and their validation: sequence number (RFC 9293
//! section 3.10.7.4), timestamp (RFC 7323 section 5), and RST (RFC 5961 section 3).

use cwndlab_packet::seq::{after, before, earlier};
use cwndlab_packet::{Flags, Segment};
use cwndlab_units::Time;

use super::LinuxEndpoint;
use super::ack::AckFlags;
use super::predicted::Expected;
use super::receiver::MAX_QUICK_ACKS;
use super::state::State;
use crate::info::TcpEvent;

/// `TCP_PAWS_WINDOW`: number of milliseconds by which a timestamp may be older than the last one.
const TIMESTAMP_SLACK_MS: i32 = 1;

/// How to handle a received segment, according to its sequence number, timestamp and RST.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Accept,
    /// Answer with an ACK that states the expected sequence number.
    Answer,
    /// Answer as in `Answer`, but limit the rate of answers.
    AnswerInvalid,
    /// The peer resets the connection.
    Reset,
    Ignore,
}

/// Sequence numbers that this end accepts.
#[derive(Clone, Copy, Debug)]
struct Acceptable {
    /// Next sequence number expected.
    next: u32,
    /// Left edge of the window, which is the `rcv_nxt` of the last ACK.
    left: u32,
    /// Right edge of the window.
    right: u32,
}

impl Acceptable {
    /// Validates a segment that ends before the sequence number `end` (RFC 9293 section 3.10.7.4).
    fn judge(self, segment: &Segment, end: u32) -> Verdict {
        let is_in_window = !before(end, self.left) && !after(segment.seq, self.right);
        match (is_in_window, segment.flags.has(Flags::RST)) {
            (true, false) => Verdict::Accept,
            (false, false) => Verdict::Answer,
            (false, true) => Verdict::Ignore,
            // A RST is valid only with the exact number (RFC 5961 section 3.2); others are
            // challenged.
            (true, true) if segment.seq == self.next => Verdict::Reset,
            (true, true) => Verdict::AnswerInvalid,
        }
    }
}

/// Steps that remain to be done for a segment.
#[derive(Clone, Copy)]
pub(super) enum Rest {
    /// Everything: the segment is a plain ACK.
    PlainAck {
        is_predicted: bool,
    },
    /// The answer, after the segment was processed.
    Follow {
        is_predicted: bool,
    },
    Nothing,
}

impl LinuxEndpoint {
    /// `tcp_rcv_established`. Returns what remains to be done.
    pub(super) fn handle_established(&mut self, segment: &Segment) -> Rest {
        if segment.flags.has(Flags::SYN) {
            // A repeated SYN-ACK: our ACK was lost.
            self.answer_syn_ack(segment, false);
            return Rest::Nothing;
        }
        self.note_options(segment);
        let end = segment.end_seq();
        let has_data = end != segment.seq;
        let is_usual = self.is_predicted_but_window(segment);
        let is_predicted = is_usual && self.has_known_window(segment);
        let is_plain_ack =
            is_usual && !has_data && segment.ack != self.sk.snd_una && self.is_plain_ack(segment);
        if is_plain_ack {
            // While a probe is out, one of the next ACKs may answer it.
            if !self.probe.is_out() {
                self.connection.expected = Expected::PlainAck;
            }
            Rest::PlainAck { is_predicted }
        } else if self.handle_any(segment, end, is_predicted) {
            Rest::Follow { is_predicted }
        } else {
            Rest::Nothing
        }
    }

    /// Handles any segment, predicted or not. Returns whether it was acceptable.
    fn handle_any(&mut self, segment: &Segment, end: u32, is_predicted: bool) -> bool {
        let has_data = end != segment.seq;
        if !is_predicted && !self.accept(segment, end) {
            return false;
        }
        // Linux does not answer, although RFC 9293 section 3.10.7.4 requires it.
        if after(segment.ack, self.sk.snd_nxt) {
            return false;
        }
        self.count_field(segment);
        let mut flags = if is_predicted {
            AckFlags::NONE
        } else {
            AckFlags::SLOWPATH | AckFlags::UPDATE_TS_RECENT
        };
        if is_predicted && segment.seq == self.receiver.window.left {
            flags |= AckFlags::UPDATE_TS_RECENT;
        } else if !is_predicted && after(segment.seq, self.receiver.window.left) {
            flags.remove(AckFlags::UPDATE_TS_RECENT);
        }
        if has_data {
            flags |= AckFlags::DATA;
        }
        // Linux skips ACK processing for a predicted data segment that acknowledges nothing new.
        let is_news = !is_predicted || segment.ack != self.sk.snd_una || !has_data;
        if is_news {
            self.handle_ack(segment, flags);
        } else if flags.has(AckFlags::UPDATE_TS_RECENT) {
            self.connection.options.take(segment);
        }
        if has_data {
            self.handle_data(segment, end, is_predicted);
        }
        true
    }

    /// `tcp_validate_incoming`: answers unacceptable segments. Returns whether the segment is
    /// acceptable.
    pub(super) fn accept(&mut self, segment: &Segment, end: u32) -> bool {
        let verdict = if !segment.flags.has(Flags::RST) && self.is_ghost(segment) {
            Verdict::Answer
        } else {
            self.acceptable().judge(segment, end)
        };
        match verdict {
            Verdict::Accept | Verdict::Ignore => {}
            Verdict::Answer => self.answer_unacceptable(segment, end),
            Verdict::AnswerInvalid => self.answer_invalid(),
            Verdict::Reset => self.reset(),
        }
        verdict == Verdict::Accept
    }

    fn acceptable(&self) -> Acceptable {
        let (next, window) = (self.sk.rcv_nxt, &self.receiver.window);
        Acceptable { next, left: window.left, right: next.wrapping_add(window.left_bytes(next)) }
    }

    /// `tcp_paws_discard`: whether the timestamp is older than that of the last segment received
    /// in order.
    fn is_ghost(&self, segment: &Segment) -> bool {
        let Some(age_ms) = self.connection.options.age(segment) else { return false };
        age_ms > TIMESTAMP_SLACK_MS && !self.is_reordered_ack(segment, age_ms)
    }

    /// `tcp_disordered_ack`: whether the segment is a duplicate ACK that was overtaken within a
    /// timeout.
    fn is_reordered_ack(&self, segment: &Segment, age_ms: i32) -> bool {
        let rto_ms = self.clock.us_of(self.timer.rto) / 1_000;
        segment.payload == 0
            && segment.seq == self.sk.rcv_nxt
            && segment.ack == self.sk.snd_una
            && !self.peer_window.is_news(segment, &self.sk)
            && u64::from(age_ms.unsigned_abs()) <= rto_ms
    }

    /// `tcp_send_dupack`: answers an unacceptable segment with the expected sequence number, and
    /// reports duplicate data.
    fn answer_unacceptable(&mut self, segment: &Segment, end: u32) {
        if end == segment.seq {
            return self.answer_invalid();
        }
        if before(segment.seq, self.sk.rcv_nxt) {
            self.enter_quick_ack(MAX_QUICK_ACKS);
            self.counters.duplicate_segments += 1;
            self.connection.accecn.bytes.note_duplicate(segment.seq);
            if self.settings.options.dsack {
                let end = earlier(end, self.sk.rcv_nxt);
                self.receiver.sacks.note_duplicate(segment.seq, end);
            }
        }
        self.send_ack();
    }

    /// Answers an unacceptable segment without data, unless another one was answered shortly
    /// before. Without this limit, two ends that consider each other's ACKs invalid would never
    /// stop.
    pub(super) fn answer_invalid(&mut self) {
        let limit_us = u64::from(self.settings.invalid_ratelimit_ms) * 1_000;
        let limit = self.clock.jiffies_of_us(limit_us);
        if self.receiver.acks.take_invalid(self.clock.jiffies(), limit) {
            self.send_ack();
        }
    }

    /// Resets the connection and sends a RST.
    pub(super) fn refuse(&mut self) {
        self.send_reset();
        self.reset();
    }

    /// Marks the connection as reset and stops all timers.
    pub(super) fn reset(&mut self) {
        self.connection.state = State::Reset;
        self.timer.clear();
        self.receiver.acks.stop();
        self.pacer.timer = Time::NEVER;
        self.event(TcpEvent::Reset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::testing::{Pair, RECEIVER};

    #[test]
    fn a_segment_is_judged_by_the_window_and_a_reset_by_the_exact_number() {
        let acceptable = Acceptable { next: 100, left: 90, right: 200 };
        let judge = |seq, payload, bits| {
            let segment = Segment { seq, payload, flags: Flags(bits), ..Segment::default() };
            acceptable.judge(&segment, segment.end_seq())
        };
        let data = [(80, 9), (80, 10), (150, 10), (200, 10), (201, 10)];
        let verdicts = data.map(|(seq, payload)| judge(seq, payload, Flags::ACK));
        let (taken, answered) = (Verdict::Accept, Verdict::Answer);
        assert_eq!(verdicts, [answered, taken, taken, taken, answered]);
        let resets = [89, 99, 100, 201].map(|seq| judge(seq, 0, Flags::RST));
        let (ignored, invalid) = (Verdict::Ignore, Verdict::AnswerInvalid);
        assert_eq!(resets, [ignored, invalid, Verdict::Reset, ignored]);
    }

    fn reset_at(offset: u32) -> (Pair, usize) {
        let mut pair = Pair::established();
        let seq = pair.ends[RECEIVER].sk.rcv_nxt.wrapping_add(offset);
        let flags = Flags(Flags::RST);
        let answers = pair.deliver(&[Segment { seq, flags, ..Segment::default() }]);
        (pair, answers.len())
    }

    /// Tests RFC 5961 section 3.2.
    #[test]
    fn only_the_exact_number_resets_and_one_in_the_window_is_asked_about() {
        let states = [0, 1, 1 << 30].map(|offset| {
            let (pair, answers) = reset_at(offset);
            (pair.ends[RECEIVER].connection.state == State::Reset, answers)
        });
        assert_eq!(states, [(true, 0), (false, 1), (false, 0)]);
    }

    /// Tests RFC 7323 section 5.3.
    #[test]
    fn an_old_timestamp_is_answered_and_its_data_are_not_taken() {
        let mut pair = Pair::established();
        let mut segments = pair.write(3_000);
        let (tsval, tsecr) = segments[1].timestamps.expect("timestamps are on");
        pair.deliver(&segments[..1]);
        let rcv_nxt = pair.ends[RECEIVER].sk.rcv_nxt;
        segments[1].timestamps = Some((tsval.wrapping_sub(10), tsecr));
        assert_eq!(pair.deliver(&segments[1..2]).len(), 1);
        assert_eq!(pair.ends[RECEIVER].sk.rcv_nxt, rcv_nxt);
    }
}
