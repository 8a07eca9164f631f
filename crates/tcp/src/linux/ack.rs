//! Processing of an ACK: the data that it acknowledges, its RTT sample, and the reaction to it.

use core::ops::{BitOr, BitOrAssign};

use cwndlab_cc::{AckSample, RateSample};
use cwndlab_packet::seq::{after, before};
use cwndlab_packet::{Flags, Segment};

use super::rate::take_rate;
use super::rtx::{
    EVER_RETRANS, LOST, RETRANS, SACKED_ACKED, SACKED_RETRANS, SHARES_BUFFER, TxSegment, Untouched,
};
use super::send_buffer::Limit;
use super::{LinuxEndpoint, empty_rate_sample};
use crate::info::CaState;

/// Flag of `CA_ACK_*`, for the argument of `in_ack_event`.
const CA_ACK_SLOWPATH: u32 = 1;
const CA_ACK_WIN_UPDATE: u32 = 2;
const CA_ACK_ECE: u32 = 4;

/// Results of the processing of an ACK: a set of Linux's bits `FLAG_*`, which are passed to
/// `cong_control`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct AckFlags(u32);

/// The data to send at the end of ACK processing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rexmit {
    None,
    /// Lost segments.
    Lost,
    /// New data are sent first (F-RTO).
    New,
}

/// Results of the SACK blocks of one ACK.
#[derive(Debug)]
pub(crate) struct SackState {
    pub(crate) flags: AckFlags,
    /// Sequence number of the lowest segment that was never retransmitted and was sacked below the
    /// highest sacked one.
    pub(super) reord: u32,
    /// Send time of the first newly sacked segment that was never retransmitted.
    pub(crate) first_sackt: Option<u64>,
    /// Send time of the last newly sacked segment that was never retransmitted.
    pub(crate) last_sackt: u64,
    pub(crate) sack_delivered: u32,
    pub(crate) rate: RateSample,
}

/// Summary of the segments that an ACK has removed from the retransmit queue.
struct Acked {
    flags: AckFlags,
    count: u32,
    /// Send time of the first segment that was neither retransmitted nor sacked before.
    first_ackt: Option<u64>,
    /// Send time of the last segment that was neither retransmitted nor sacked before.
    last_ackt: u64,
    /// Lowest sequence number of the segments that were neither retransmitted nor sacked before.
    reord: u32,
}

impl AckFlags {
    pub(crate) const NONE: Self = Self(0);
    /// The segment has data.
    pub(crate) const DATA: Self = Self(0x01);
    /// The segment's window is newer than the known window.
    pub(crate) const WIN_UPDATE: Self = Self(0x02);
    /// New data were acknowledged for the first time.
    pub(crate) const DATA_ACKED: Self = Self(0x04);
    /// Retransmitted data were acknowledged for the first time.
    pub(crate) const RETRANS_DATA_ACKED: Self = Self(0x08);
    /// A SYN was acknowledged for the first time.
    pub(crate) const SYN_ACKED: Self = Self(0x10);
    /// Data were sacked for the first time.
    pub(crate) const DATA_SACKED: Self = Self(0x20);
    pub(crate) const ECE: Self = Self(0x40);
    /// A retransmission was found to be lost.
    pub(crate) const LOST_RETRANS: Self = Self(0x80);
    /// The header of the segment was not predicted.
    pub(crate) const SLOWPATH: Self = Self(0x100);
    /// A segment below the end of recovery that was never retransmitted was delivered.
    pub(crate) const ORIG_SACK_ACKED: Self = Self(0x200);
    pub(crate) const SND_UNA_ADVANCED: Self = Self(0x400);
    /// The ACK reports a duplicate segment (DSACK).
    pub(crate) const DSACKING_ACK: Self = Self(0x800);
    /// The retransmission timer must be set again.
    pub(crate) const SET_XMIT_TIMER: Self = Self(0x1000);
    /// The first segment is sacked but not acknowledged, because the peer discarded it.
    pub(crate) const SACK_RENEGING: Self = Self(0x2000);
    /// The segment's timestamp must be echoed from now on.
    pub(crate) const UPDATE_TS_RECENT: Self = Self(0x4000);
    /// The ACK covers a single segment, so the receiver may have delayed it.
    pub(crate) const ACK_MAYBE_DELAYED: Self = Self(0x10000);
    /// The reported duplicate is a tail loss probe.
    pub(crate) const DSACK_TLP: Self = Self(0x20000);

    pub(crate) const ACKED: Self = Self(Self::DATA_ACKED.0 | Self::SYN_ACKED.0);
    pub(crate) const NOT_DUP: Self = Self(Self::DATA.0 | Self::WIN_UPDATE.0 | Self::ACKED.0);
    pub(crate) const CA_ALERT: Self =
        Self(Self::DATA_SACKED.0 | Self::ECE.0 | Self::DSACKING_ACK.0);
    pub(crate) const FORWARD_PROGRESS: Self = Self(Self::ACKED.0 | Self::DATA_SACKED.0);

    /// Whether any of the given bits is set.
    #[inline]
    pub(crate) const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// Whether all of the given bits are set.
    #[inline]
    pub(crate) const fn has_all(self, all: Self) -> bool {
        self.0 & all.0 == all.0
    }

    #[inline]
    pub(crate) fn remove(&mut self, these: Self) {
        self.0 &= !these.0;
    }

    /// The bits in the form that algorithms receive.
    #[inline]
    pub(crate) const fn bits(self) -> i32 {
        self.0 as i32
    }
}

impl BitOr for AckFlags {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for AckFlags {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl SackState {
    pub(crate) fn new(rate: RateSample) -> Self {
        Self {
            flags: AckFlags::NONE,
            reord: 0,
            first_sackt: None,
            last_sackt: 0,
            sack_delivered: 0,
            rate,
        }
    }
}

impl Acked {
    fn none(snd_nxt: u32) -> Self {
        Self { flags: AckFlags::NONE, count: 0, first_ackt: None, last_ackt: 0, reord: snd_nxt }
    }
}

impl LinuxEndpoint {
    /// `tcp_ack`: processes an ACK. `flags` contains SLOWPATH unless the header was predicted, and
    /// DATA if there is a payload. The acknowledged number is not beyond `snd_nxt`.
    pub(crate) fn handle_ack(&mut self, segment: &Segment, mut flags: AckFlags) {
        let ack = segment.ack;
        let prior_una = self.sk.snd_una;
        if self.sk.packets_out == 0 && ack == prior_una && segment.sacks.is_empty() {
            return self.handle_ack_of_nothing(segment, flags);
        }
        let is_sack_reneg = self.recovery.is_reneging;
        let prior_delivered = self.sk.delivered;
        let is_accurate = self.is_accurate();
        let is_later =
            is_accurate && self.connection.options.age(segment).is_some_and(|age| age < 0);
        let prior_lost = self.sk.lost;
        let mut rexmit = Rexmit::None;
        let mut duplicates = 0;
        let mut state = SackState::new(empty_rate_sample());

        if before(ack, prior_una) {
            if !segment.sacks.is_empty() && self.connection.options.is_sack {
                flags |= self.handle_sacks(&segment.sacks, ack, prior_una, &mut state);
                self.fast_retransmit_alert(prior_una, 0, &mut flags, &mut rexmit);
                self.transmit_recovery(rexmit);
            }
            return;
        }
        if after(ack, prior_una) {
            flags |= AckFlags::SND_UNA_ADVANCED;
            self.sk.inet_conn.icsk_retransmits = 0;
        }
        let prior_highest =
            if self.connection.options.is_sack { self.highest_sack() } else { self.sk.snd_una };
        let prior_packets = self.sk.packets_out;
        state.rate.prior_in_flight = self.in_flight();

        if flags.has(AckFlags::UPDATE_TS_RECENT) {
            self.connection.options.take(segment);
        }
        if flags.has(AckFlags::SND_UNA_ADVANCED) && !flags.has(AckFlags::SLOWPATH) {
            flags |= AckFlags::WIN_UPDATE;
            self.advance_una_from(segment);
        } else {
            flags |= self.update_window(segment);
            if !segment.sacks.is_empty() && self.connection.options.is_sack {
                flags |= self.handle_sacks(&segment.sacks, ack, prior_una, &mut state);
            }
            if self.is_congestion_echoed(segment) {
                flags |= AckFlags::ECE;
            }
            self.count_delivered(state.sack_delivered, flags.has(AckFlags::ECE));
            if !is_accurate {
                self.tell_slow_ack(flags);
            }
        }
        self.accept_cwr(segment);
        self.timer.probes_out = 0;

        if prior_packets == 0 {
            if is_accurate {
                self.handle_marks(segment, 0, is_later, &mut flags);
            }
            if flags.has(AckFlags::DSACKING_ACK) {
                self.fast_retransmit_alert(prior_una, 0, &mut flags, &mut rexmit);
            }
            self.handle_probe_ack();
            self.handle_tlp_ack(ack, flags);
            return;
        }

        flags |= self.clean_rtx_queue(prior_highest, prior_una, &mut state, flags);
        if is_accurate {
            let acked = self.sk.delivered.wrapping_sub(prior_delivered);
            self.handle_marks(segment, acked, is_later, &mut flags);
        }
        self.rack_update_reo_wnd(state.rate.prior_delivered);
        if self.probe.is_out() {
            self.handle_tlp_ack(ack, flags);
        }
        if self.is_dubious(flags) {
            if !flags.has(AckFlags::SND_UNA_ADVANCED | AckFlags::NOT_DUP | AckFlags::DSACKING_ACK) {
                duplicates = 1;
            }
            self.fast_retransmit_alert(prior_una, duplicates, &mut flags, &mut rexmit);
        }
        if flags.has(AckFlags::SET_XMIT_TIMER) {
            self.restart_timer();
        }
        let delivered = self.sk.delivered.wrapping_sub(prior_delivered);
        let lost = self.sk.lost.wrapping_sub(prior_lost);
        state.rate.is_ack_delayed = u8::from(flags.has(AckFlags::ACK_MAYBE_DELAYED));
        self.rate_generate(delivered, lost, is_sack_reneg, &mut state.rate);
        self.control_congestion(ack, delivered, flags, &state.rate);
        self.transmit_recovery(rexmit);
    }

    /// Processes an ACK as [`Self::handle_ack`] does, if no data are in flight and no new data are
    /// acknowledged, for example when only the peer sends data.
    #[inline(never)]
    fn handle_ack_of_nothing(&mut self, segment: &Segment, mut flags: AckFlags) {
        let is_accurate = self.is_accurate();
        let is_later =
            is_accurate && self.connection.options.age(segment).is_some_and(|age| age < 0);
        if flags.has(AckFlags::UPDATE_TS_RECENT) {
            self.connection.options.take(segment);
        }
        flags |= self.update_window(segment);
        if self.is_congestion_echoed(segment) {
            flags |= AckFlags::ECE;
        }
        if is_accurate {
            self.handle_marks(segment, 0, is_later, &mut flags);
        } else {
            self.tell_slow_ack(flags);
        }
        self.accept_cwr(segment);
        self.timer.probes_out = 0;
        self.handle_probe_ack();
        self.handle_tlp_ack(segment.ack, flags);
    }

    /// Notifies the algorithm of an ACK that was not predicted, with the ACK's marks and window
    /// update.
    #[inline(always)]
    pub(super) fn tell_slow_ack(&mut self, flags: AckFlags) {
        let mut event = CA_ACK_SLOWPATH;
        if flags.has(AckFlags::ECE) {
            event |= CA_ACK_ECE;
        }
        if flags.has(AckFlags::WIN_UPDATE) {
            event |= CA_ACK_WIN_UPDATE;
        }
        let requests = self.congestion.in_ack_event(&mut self.sk, event);
        self.serve(requests);
    }

    /// Advances `snd_una` after a predicted ACK.
    #[inline(always)]
    pub(super) fn advance_una_from(&mut self, segment: &Segment) {
        self.peer_window.told_at = segment.seq;
        self.advance_una(segment.ack);
        let requests = self.congestion.in_ack_event(&mut self.sk, CA_ACK_WIN_UPDATE);
        self.serve(requests);
    }

    #[inline]
    fn advance_una(&mut self, ack: u32) {
        let sk = &mut self.sk;
        sk.bytes_acked += u64::from(ack.wrapping_sub(sk.snd_una));
        sk.snd_una = ack;
    }

    /// `tcp_count_delivered`.
    #[inline]
    pub(crate) fn count_delivered(&mut self, packets: u32, is_ece: bool) {
        self.sk.delivered = self.sk.delivered.wrapping_add(packets);
        if is_ece {
            self.sk.delivered_ce = self.sk.delivered_ce.wrapping_add(packets);
        }
    }

    /// `tcp_ack_update_window`: updates the peer's window (RFC 9293 section 3.10.7.4).
    pub(super) fn update_window(&mut self, segment: &Segment) -> AckFlags {
        let window = self.peer_window.of(segment);
        let mut flags = AckFlags::NONE;
        if self.peer_window.is_news(segment, &self.sk) {
            flags |= AckFlags::WIN_UPDATE;
            self.peer_window.told_at = segment.seq;
            if self.sk.snd_wnd != window {
                self.sk.snd_wnd = window;
                if self.has_unsent() {
                    self.check_idle_restart();
                }
                self.peer_window.note(window);
            }
        }
        self.advance_una(segment.ack);
        flags
    }

    #[inline]
    fn is_dubious(&self, flags: AckFlags) -> bool {
        !flags.has(AckFlags::NOT_DUP)
            || flags.has(AckFlags::CA_ALERT)
            || self.ca_state() != CaState::Open as u8
    }

    /// `tcp_clean_rtx_queue`: removes acknowledged segments from the queue.
    fn clean_rtx_queue(
        &mut self,
        prior_highest: u32,
        prior_una: u32,
        state: &mut SackState,
        ack_flags: AckFlags,
    ) -> AckFlags {
        let is_ece = ack_flags.has(AckFlags::ECE);
        let prior_sacked = self.sk.sacked_out;
        let is_untouched =
            self.connection.options.is_sack && self.sk.lost_out == 0 && self.rtx.is_untouched();
        let is_any = self.rtx.first().is_some_and(|first| !after(first.end_seq, self.sk.snd_una));
        let acked = if !is_any {
            Acked::none(self.sk.snd_nxt)
        } else if is_untouched && !self.rtx.first().is_some_and(TxSegment::is_syn) {
            self.take_untouched(is_ece, state)
        } else {
            self.take_each(is_ece, state)
        };
        let Acked { mut flags, count: acked, first_ackt, last_ackt, reord } = acked;
        if self.rtx.is_empty() {
            self.buffer.chrono.stop(Limit::Busy, self.clock.now());
        } else if self.rtx.get(self.rtx.head()).flags & SACKED_ACKED != 0 {
            flags |= AckFlags::SACK_RENEGING;
        }

        let now = self.sk.tcp_mstamp;
        let (mut seq_rtt, mut sack_rtt, mut ca_rtt) = (None, None, None);
        if let Some(first) = first_ackt.filter(|_| !flags.has(AckFlags::RETRANS_DATA_ACKED)) {
            // Saturates, as a segment sent ahead of its pacing is stamped with its due time.
            seq_rtt = Some(now.saturating_sub(first) as u32);
            ca_rtt = Some(now.saturating_sub(last_ackt) as u32);
            let advance = self.sk.snd_una.wrapping_sub(prior_una);
            if acked == 1
                && prior_sacked == 0
                && advance < self.sk.mss_cache
                && state.rate.prior_delivered.wrapping_add(1) == self.sk.delivered
                && !(flags | ack_flags).has(AckFlags::CA_ALERT | AckFlags::SYN_ACKED)
            {
                flags |= AckFlags::ACK_MAYBE_DELAYED;
            }
        }
        if let Some(first) = state.first_sackt {
            sack_rtt = Some(now.saturating_sub(first) as u32);
            ca_rtt = Some(now.saturating_sub(state.last_sackt) as u32);
        }
        let has_rtt = self.update_rtt(flags, seq_rtt, sack_rtt, ca_rtt, state);
        if flags.has(AckFlags::ACKED) {
            flags |= AckFlags::SET_XMIT_TIMER;
            if self.connection.options.is_sack {
                if before(reord, prior_highest) {
                    self.check_sack_reordering(reord);
                }
            } else {
                self.remove_duplicate_acks(acked, is_ece);
                if flags.has(AckFlags::RETRANS_DATA_ACKED) {
                    flags.remove(AckFlags::ORIG_SACK_ACKED);
                }
            }
        } else if let (Some(head), Some(sack_rtt), true) = (self.rtx.first(), sack_rtt, has_rtt) {
            // The timer restarts only for data sent after the head was (re)transmitted.
            if u64::from(sack_rtt) > now.saturating_sub(head.tx_mstamp) {
                flags |= AckFlags::SET_XMIT_TIMER;
            }
        }
        let in_flight = self
            .sk
            .mss_cache
            .wrapping_mul(self.sk.delivered.wrapping_sub(state.rate.prior_delivered));
        let sample = AckSample { pkts_acked: acked, rtt_us: state.rate.rtt_us as i32, in_flight };
        let requests = self.congestion.pkts_acked(&mut self.sk, &sample);
        self.serve(requests);
        flags
    }

    /// Removes acknowledged segments if none was sacked, lost or retransmitted: only the first and
    /// the last segment need to be examined.
    #[inline(never)]
    fn take_untouched(&mut self, is_ece: bool, state: &mut SackState) -> Acked {
        let Untouched { first, last, count, .. } = self.take_off_untouched(is_ece, &mut state.rate);
        let mut flags = AckFlags::DATA_ACKED;
        if !after(first.end_seq, self.sk.high_seq) {
            flags |= AckFlags::ORIG_SACK_ACKED;
        }
        let (first_ackt, last_ackt) = (Some(first.tx_mstamp), last.tx_mstamp);
        Acked { flags, count, first_ackt, last_ackt, reord: first.seq }
    }

    /// Removes the segments below `snd_una`, of which there must be at least one, from a queue in
    /// which no segment was sacked, lost or retransmitted.
    #[inline(always)]
    pub(super) fn take_off_untouched(&mut self, is_ece: bool, rate: &mut RateSample) -> Untouched {
        let taken = self.rtx.pop_untouched(self.sk.snd_una);
        let Untouched { first, last, count, shared } = &taken;
        self.count_delivered(*count, is_ece);
        self.rack_advance(0, last.end_seq, last.tx_mstamp);
        take_rate(&mut self.sk, last, rate);
        self.sk.packets_out -= count;
        let bytes = last.end_seq.wrapping_sub(first.seq) - last.control.sequence_space();
        self.buffer.release_several(bytes, *count, *shared);
        taken
    }

    /// Removes acknowledged segments one by one.
    #[inline(never)]
    fn take_each(&mut self, is_ece: bool, state: &mut SackState) -> Acked {
        let Acked { mut flags, count: mut acked, mut first_ackt, mut last_ackt, mut reord } =
            Acked::none(self.sk.snd_nxt);
        while !self.rtx.is_empty() {
            let number = self.rtx.head();
            let segment = *self.rtx.get(number);
            if after(segment.end_seq, self.sk.snd_una) {
                break;
            }
            if segment.flags & RETRANS != 0 {
                if segment.flags & SACKED_RETRANS != 0 {
                    self.sk.retrans_out -= 1;
                }
                flags |= AckFlags::RETRANS_DATA_ACKED;
            } else if segment.flags & SACKED_ACKED == 0 {
                last_ackt = segment.tx_mstamp;
                first_ackt.get_or_insert(last_ackt);
                if before(segment.seq, reord) {
                    reord = segment.seq;
                }
                if !after(segment.end_seq, self.sk.high_seq) {
                    flags |= AckFlags::ORIG_SACK_ACKED;
                }
            }
            if segment.flags & SACKED_ACKED != 0 {
                self.sk.sacked_out -= 1;
            } else if self.connection.options.is_sack {
                self.count_delivered(1, is_ece);
                if !self.is_spurious_retransmission(&segment) {
                    self.rack_advance(segment.flags, segment.end_seq, segment.tx_mstamp);
                }
            }
            if segment.flags & LOST != 0 {
                self.sk.lost_out -= 1;
            }
            self.sk.packets_out -= 1;
            acked += 1;
            self.rate_delivered(number, &mut state.rate);
            if !segment.control.has(Flags::SYN) {
                flags |= AckFlags::DATA_ACKED;
                let is_shared = segment.flags & SHARES_BUFFER != 0
                    || segment.flags & SACKED_ACKED != 0
                        && self.rtx.is_sacked(number.wrapping_add(1));
                self.buffer.release(segment.payload(), is_shared);
            } else {
                flags |= AckFlags::SYN_ACKED;
                self.recovery.retrans_stamp = 0;
            }
            self.rtx.pop();
        }
        Acked { flags, count: acked, first_ackt, last_ackt, reord }
    }

    /// Whether the last ACK echoes a timestamp from before this retransmission, which shows that
    /// the original arrived.
    fn is_spurious_retransmission(&self, segment: &TxSegment) -> bool {
        segment.flags & RETRANS != 0 && self.is_echo_before((segment.tx_mstamp / 1_000) as u32)
    }

    /// Whether the last ACK echoes a timestamp from before `stamp` (RFC 3522).
    #[inline]
    pub(crate) fn is_echo_before(&self, stamp: u32) -> bool {
        let options = &self.sk.rx_opt;
        options.saw_tstamp != 0 && options.rcv_tsecr != 0 && before(options.rcv_tsecr, stamp)
    }

    /// `tcp_ack_update_rtt`: processes the RTT sample of an ACK. Returns whether there was a
    /// sample.
    #[inline(always)]
    fn update_rtt(
        &mut self,
        flags: AckFlags,
        seq_rtt: Option<u32>,
        sack_rtt: Option<u32>,
        mut ca_rtt: Option<u32>,
        state: &mut SackState,
    ) -> bool {
        let mut rtt = seq_rtt.or(sack_rtt);
        let options = &self.sk.rx_opt;
        if rtt.is_none()
            && options.saw_tstamp != 0
            && options.rcv_tsecr != 0
            && flags.has(AckFlags::ACKED)
        {
            // RFC 7323 section 4.1: only ACKs that acknowledge new data give a sample.
            let delta = self.clock_ms().wrapping_sub(options.rcv_tsecr);
            if delta < i32::MAX as u32 / 1_000 {
                rtt = Some(delta.max(1) * 1_000);
                ca_rtt = rtt;
            }
        }
        state.rate.rtt_us = ca_rtt.map_or(-1, i64::from);
        let (Some(rtt_us), Some(ca_rtt)) = (rtt, ca_rtt) else { return false };
        self.take_rtt(rtt_us, ca_rtt, flags.has(AckFlags::ACK_MAYBE_DELAYED));
        true
    }

    /// Whether retransmitted data may still be in flight.
    pub(crate) fn is_any_retransmission_out(&self) -> bool {
        self.sk.retrans_out > 0
            || self.rtx.first().is_some_and(|segment| segment.flags & EVER_RETRANS != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::testing::{Pair, SENDER};

    #[test]
    fn flags_come_and_go() {
        let mut flags = AckFlags::DATA | AckFlags::SYN_ACKED;
        assert!(flags.has(AckFlags::ACKED) && !flags.has_all(AckFlags::ACKED));
        flags |= AckFlags::DATA_ACKED;
        assert!(flags.has_all(AckFlags::ACKED));
        flags.remove(AckFlags::ACKED);
        assert_eq!(flags, AckFlags::DATA);
    }

    /// BPF algorithms test these bits, so they must equal the kernel's.
    #[test]
    fn bits_are_the_kernels() {
        assert_eq!(AckFlags::NOT_DUP.bits(), 0x17);
        assert_eq!(AckFlags::CA_ALERT.bits(), 0x860);
    }

    #[test]
    fn an_ack_takes_off_what_it_acknowledges_and_tells_the_round_trip_time() {
        let mut pair = Pair::established();
        let segments = pair.write(14_480);
        let acks = pair.deliver(&segments);
        pair.answer(&acks);
        let sender = &pair.ends[SENDER];
        assert_eq!(sender.sk.snd_una, acks.last().expect("an ACK").ack);
        assert_eq!(sender.rtt.last_us, Some(20_000));
        assert_eq!(sender.sk.packets_out, sender.rtx.len());
        assert_eq!(sender.sk.delivered, 1 + 10, "with the SYN");
    }

    #[test]
    fn an_ack_of_what_was_acknowledged_before_changes_no_numbers() {
        let mut pair = Pair::established();
        let segments = pair.write(14_480);
        let acks = pair.deliver(&segments);
        pair.answer(&acks);
        let sk = pair.ends[SENDER].sk.clone();
        pair.answer(&acks[..1]);
        let after = &pair.ends[SENDER].sk;
        assert_eq!((after.snd_una, after.delivered), (sk.snd_una, sk.delivered));
        assert_eq!((after.snd_cwnd, after.bytes_acked), (sk.snd_cwnd, sk.bytes_acked));
    }
}
