//! Output of the Linux endpoint: retransmissions, ACKs, and new data as far as the windows, pacing
//! and Nagle's algorithm allow.

use cwndlab_cc::{CwndEvent, RequestedAck, Requests};
use cwndlab_packet::seq::{after, before, earlier};
use cwndlab_packet::{Flags, Segment};
use cwndlab_units::Ecn;

use super::LinuxEndpoint;
use super::ack::Rexmit;
use super::ecn::{EcnFlags, Marking};
use super::pacer::Push;
use super::rtx::{EVER_RETRANS, SACKED_RETRANS, TxSegment};
use super::send_buffer::Limit;
use super::settings::{HEADER_BYTES, TIMESTAMP_BYTES};
use super::timer::Pending;

/// Pacing rate in slow start as a percentage of the window per RTT (`tcp_pacing_ss_ratio`);
/// afterwards, it is 120 % (`tcp_pacing_ca_ratio`).
const PACING_SLOW_START_PCT: u64 = 200;
/// Pacing rate after slow start as a percentage of the window per RTT (`tcp_pacing_ca_ratio`).
const PACING_AVOIDANCE_PCT: u64 = 120;

/// The next segment that is cut from the unsent data.
#[derive(Clone, Copy)]
pub(super) struct NewSegment {
    pub(super) end: u32,
    pub(super) is_fin: bool,
    /// Whether the segment is shorter than a full segment and has no FIN.
    pub(super) is_partial: bool,
    /// Whether the segment ends a full buffer, which accepts no more data, so that even a short
    /// segment does not wait.
    pub(super) ends_buffer: bool,
}

impl LinuxEndpoint {
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        before(self.sk.snd_nxt, self.buffer.write_seq)
    }

    #[inline]
    pub(super) fn window_end(&self) -> u32 {
        self.sk.snd_una.wrapping_add(self.sk.snd_wnd)
    }

    /// Describes the next new segment; there must be unsent data.
    #[inline]
    pub(super) fn next_new(&self) -> NewSegment {
        let left = self.buffer.write_seq.wrapping_sub(self.sk.snd_nxt);
        let mss = self.sk.mss_cache;
        if let Some(end) = self.buffer.buffer_end(self.sk.snd_nxt) {
            let left = end.wrapping_sub(self.sk.snd_nxt);
            let end = self.sk.snd_nxt.wrapping_add(left.min(mss));
            let ends_buffer = left <= mss;
            return NewSegment { end, is_fin: false, is_partial: left < mss, ends_buffer };
        }
        if left > mss + 1 {
            let end = self.sk.snd_nxt.wrapping_add(mss);
            return NewSegment { end, is_fin: false, is_partial: false, ends_buffer: false };
        }
        // A FIN is part of the last segment, even a full one.
        let has_fin = self.buffer.is_fin_queued;
        let bytes = if has_fin { left } else { left.min(mss) };
        let end = self.sk.snd_nxt.wrapping_add(bytes);
        let is_partial = bytes < mss && !has_fin;
        NewSegment { end, is_fin: has_fin, is_partial, ends_buffer: false }
    }

    /// `tcp_mss_split_point`: the part of a segment that fits the peer's window, if the segment is
    /// the last of a burst. Only one short segment may be in flight, except for a forced push.
    pub(super) fn cut_to_window(&self, next: NewSegment, push: Push) -> Option<NewSegment> {
        let end = self.window_end();
        if !after(next.end, end) {
            return Some(next);
        }
        let is_held = push == Push::All && self.is_held_by_nagle();
        let may_be_short = after(end, self.sk.snd_nxt) && !is_held;
        let cut = NewSegment { end, is_fin: false, is_partial: true, ends_buffer: false };
        may_be_short.then_some(cut)
    }

    pub(crate) fn is_next_in_window(&self) -> bool {
        !after(self.next_new().end, self.window_end())
    }

    /// `tcp_write_xmit`: sends new data. Returns whether this included all that
    /// [`Self::check_space`] does.
    #[inline(always)]
    pub(crate) fn write_xmit(&mut self, push: Push) -> bool {
        if self.host.is_none() {
            self.write_xmit_over::<false>(push)
        } else {
            self.write_xmit_to_host(push)
        }
    }

    /// Calls [`Self::write_xmit`]. This function is not inlined, so that it is compiled only once.
    #[inline(never)]
    pub(super) fn write_xmit_apart(&mut self, push: Push) -> bool {
        self.write_xmit(push)
    }

    #[inline(never)]
    fn write_xmit_to_host(&mut self, push: Push) -> bool {
        self.write_xmit_over::<true>(push)
    }

    /// Sends new data, with a host that may refuse packets or without a host.
    #[inline(always)]
    fn write_xmit_over<const IS_HOST: bool>(&mut self, push: Push) -> bool {
        let is_probe = push == Push::Probe;
        if self.settings.segmentation_offload {
            self.pacer.burst_pkts = self.burst_pkts();
        } else {
            // `tcp_write_xmit` calls this at every write; without offload, the result is not
            // needed.
            self.congestion.min_tso_segs(&mut self.sk);
        }
        let mut sent = 0;
        let mut is_rwnd_limited = false;
        let mut is_waiting = false;
        let mut in_flight = self.in_flight();
        // Without a host, a send buffer that grows between bursts also grows at a full window, so
        // once after all bursts is enough.
        let mut grows = false;
        if !IS_HOST && !is_probe && self.has_plain_data(in_flight) {
            sent = self.transmit_train(in_flight);
            in_flight += sent;
            // After the last but one.
            grows = sent > 1;
        }
        // If a train has filled the window, nothing more can be sent.
        let is_full = sent > 0 && in_flight >= self.sk.snd_cwnd && !self.buffer.is_fin_queued;
        while !is_full
            && self.has_unsent()
            && (!IS_HOST && self.is_in_burst() || !self.pacer.wait(&self.sk, self.clock.now()))
        {
            if in_flight >= self.sk.snd_cwnd && !is_probe && !self.buffer.is_fin_queued {
                break;
            }
            if IS_HOST && self.settings.bursts.bursts_span_buffers && in_flight < self.sk.snd_cwnd {
                self.fill_first_buffer(in_flight);
            }
            let mut next = self.next_new();
            if in_flight >= self.sk.snd_cwnd && !is_probe && !next.is_fin {
                break;
            }
            if !IS_HOST && self.is_in_burst() {
                next = self.cut_to_window(next, push).unwrap_or(next);
            }
            if after(next.end, self.window_end()) {
                is_rwnd_limited = true;
                break;
            }
            let may_wait = next.is_partial && !next.ends_buffer;
            if may_wait && push == Push::All && self.is_held_by_nagle() {
                break;
            }
            if IS_HOST {
                let burst = self.send_burst(next, in_flight, push);
                in_flight += burst.sent_pkts;
                sent += burst.sent_pkts;
                is_waiting = burst.is_cwnd_limited;
                if burst.sent_pkts > 0 && self.buffer.grows_between_bursts {
                    self.grow_unless_full(in_flight);
                }
                if burst.is_last || !push.is_all() {
                    break;
                }
                continue;
            }
            self.transmit_new(next.end, next.is_fin, in_flight);
            if next.is_partial {
                self.buffer.short_end = next.end;
            }
            if next.ends_buffer {
                self.pacer.end_burst();
            }
            in_flight += 1;
            sent += 1;
            grows |= !self.pacer.has_open_burst();
            if is_probe || (push == Push::One && !self.is_in_burst()) {
                break;
            }
        }
        self.pacer.end_burst();
        grows &= self.buffer.grows_between_bursts;
        if grows && self.buffer.is_blocked {
            self.grow_send_buffer();
        }
        let now = self.clock.now();
        if is_rwnd_limited {
            self.buffer.chrono.start(Limit::ReceiveWindow, now);
        } else {
            self.buffer.chrono.stop(Limit::ReceiveWindow, now);
        }
        let is_cwnd_limited = in_flight >= self.sk.snd_cwnd || is_waiting;
        if sent > 0 || is_cwnd_limited {
            self.validate_cwnd(is_cwnd_limited);
        }
        if sent > 0 {
            self.unblock_application();
            if self.in_cwnd_reduction() {
                self.recovery.prr.note_sent(sent);
            }
            // A postponed probe has already passed the test of `may_probe`.
            if !is_probe && (self.timer.is_postponed || self.may_probe()) {
                self.schedule_loss_probe(false);
            } else if self.sk.packets_out == sent || self.timer.pending == Pending::LossProbe {
                // Nothing else was in flight, or the timer was set for a probe.
                self.rearm_rto();
            }
        } else if self.sk.packets_out == 0
            && self.has_unsent()
            && self.timer.pending == Pending::Nothing
        {
            self.arm_probe_timer();
        }
        grows
    }

    /// Whether the next segment is in the same buffer as the last one.
    #[inline]
    fn is_in_burst(&self) -> bool {
        self.pacer.has_open_burst() && !self.rtx.is_empty()
    }

    /// Puts the next segment into a new buffer or into the buffer of the last segment.
    #[inline(never)]
    fn share_buffer(&mut self) {
        let is_new = !self.is_in_burst();
        if is_new {
            self.buffer.split();
        } else {
            self.rtx.share_last();
        }
        self.pacer.fill_burst(is_new);
    }

    /// `tcp_minshall_check`: whether a short segment is in flight, so that another must wait (RFC
    /// 896 in Minshall's variant).
    #[inline]
    fn is_held_by_nagle(&self) -> bool {
        self.settings.nagle
            && self.sk.packets_out > 0
            && after(self.buffer.short_end, self.sk.snd_una)
            && !after(self.buffer.short_end, self.sk.snd_nxt)
    }

    /// `tcp_update_pacing_rate`.
    #[inline]
    pub(crate) fn update_pacing_rate(&mut self) {
        let sk = &mut self.sk;
        let percent = if sk.snd_cwnd < sk.snd_ssthresh / 2 {
            PACING_SLOW_START_PCT
        } else {
            PACING_AVOIDANCE_PCT
        };
        let mut rate = u64::from(sk.mss_cache) * ((1_000_000 / 100) << 3) * percent;
        rate *= u64::from(sk.snd_cwnd.max(sk.packets_out));
        if sk.srtt_us > 0 {
            rate /= u64::from(sk.srtt_us);
        }
        let sock = &mut sk.inet_conn.icsk_inet.sk;
        sock.sk_pacing_rate = rate.min(sock.sk_max_pacing_rate);
    }

    /// Whether the next segments differ only in their sequence numbers: they are not paced, share
    /// no buffers, carry no SACK blocks or marks, and are not the first in flight.
    #[inline]
    fn has_plain_data(&self, in_flight: u32) -> bool {
        in_flight > 0
            && !self.settings.segmentation_offload
            && self.sk.inet_conn.icsk_inet.sk.sk_pacing_status == 0
            && !EcnFlags::of(&self.sk).is_agreed()
            && self.receiver.sacks.is_empty()
    }

    /// Sends a train of full segments, limited by the data, the windows and the next PSH. Returns
    /// the number of segments. Their common header is computed once.
    #[inline(always)]
    fn transmit_train(&mut self, in_flight: u32) -> u32 {
        let (seq, mss) = (self.sk.snd_nxt, self.sk.mss_cache);
        let window = self.window_end().wrapping_sub(seq) as i32;
        let bytes = self.buffer.plain_bytes(seq).min(window.max(0) as u32);
        let room = self.sk.snd_cwnd.saturating_sub(in_flight);
        if room == 0 || bytes < mss {
            return 0;
        }
        let count = room.min(bytes / mss);
        let now = self.clock.jiffies();
        self.receiver.acks.note_data_sent(now);
        let tx_mstamp = self.pacer.depart(&mut self.sk);
        let end_seq = seq.wrapping_add(mss);
        let mut sent = TxSegment { seq, end_seq, tx_mstamp, ..TxSegment::default() };
        self.stamp_rate(&mut sent);
        self.sk.snd_nxt = self.rtx.push_train(sent, count);
        let first = self.compose(seq, mss, 0, Ecn::NotEct);
        self.out.push_train(first, count);
        let has_acknowledged = self.sk.inet_conn.icsk_ack.pending != 0;
        self.note_ack_sent();
        if has_acknowledged && count > 1 {
            self.receiver.acks.note_data_sent(now);
        }
        self.sk.packets_out += count;
        self.sk.lsndtime = self.sk.cc_jiffies32;
        self.counters.segments_out += u64::from(count);
        self.pacer.note_segments(count);
        self.buffer.chrono.start(Limit::Busy, self.clock.now());
        count
    }

    /// Sends the next new segment, which ends at `end` at most.
    #[inline(always)]
    pub(super) fn transmit_new(&mut self, end: u32, is_fin: bool, in_flight: u32) {
        let seq = self.sk.snd_nxt;
        let payload = end.wrapping_sub(seq) - u32::from(is_fin);
        let mut control = if is_fin { Flags::FIN } else { 0 };
        if self.buffer.take_push(end) {
            control |= Flags::PSH;
        }
        self.note_data_sent(in_flight);
        let tx_mstamp = if self.is_in_burst() {
            self.pacer.pace_in_burst(&mut self.sk, payload)
        } else {
            self.pacer.pace(&mut self.sk, payload)
        };
        let Marking { bits, ecn } = self.mark_segment(payload > 0);
        self.send(seq, payload, control | bits, ecn);
        self.note_ack_sent();
        self.sk.snd_nxt = end;
        let control = Flags(control);
        let mut segment =
            TxSegment { seq, end_seq: end, tx_mstamp, control, ..TxSegment::default() };
        self.stamp_rate(&mut segment);
        if self.settings.segmentation_offload {
            self.share_buffer();
            self.buffer.note_left(end);
        }
        self.rtx.push(segment);
        self.buffer.chrono.start(Limit::Busy, self.clock.now());
        self.sk.packets_out += 1;
    }

    /// `tcp_event_data_sent`.
    #[inline]
    fn note_data_sent(&mut self, in_flight: u32) {
        if in_flight == 0 {
            self.tell_window(CwndEvent::TxStart);
        }
        self.pacer.note_segments(1);
        self.sk.lsndtime = self.sk.cc_jiffies32;
        self.receiver.acks.note_data_sent(self.clock.jiffies());
    }

    /// Sends a segment of the retransmit queue again (`__tcp_retransmit_skb`).
    pub(crate) fn transmit_again(&mut self, number: u32) {
        let mut segment = *self.rtx.get(number);
        if segment.seq == self.connection.iss.wrapping_add(1) {
            self.connection.accecn.bytes.note_first_data_again();
        }
        self.note_data_sent(self.in_flight());
        segment.tx_mstamp = self.pacer.pace(&mut self.sk, segment.payload());
        self.stamp_rate(&mut segment);
        segment.flags |= EVER_RETRANS;
        *self.rtx.get_mut(number) = segment;
        self.rtx.list_as_newest(number);
        self.sk.total_retrans += 1;
        self.counters.retransmitted_segments += 1;
        debug_assert!(!segment.control.has(Flags::SYN), "a SYN is not data");
        let Marking { bits, ecn } = self.mark_segment(false);
        self.send(segment.seq, segment.payload(), segment.control.0 | bits, ecn);
        self.note_ack_sent();
    }

    /// `tcp_retransmit_skb`: sends a segment again, and counts it as retransmitted.
    pub(crate) fn retransmit(&mut self, number: u32) {
        self.transmit_again(number);
        // After an undo, a timeout may repeat a retransmission that is still in flight.
        let segment = self.rtx.get_mut(number);
        if segment.flags & SACKED_RETRANS == 0 {
            segment.flags |= SACKED_RETRANS;
            self.sk.retrans_out += 1;
        }
        self.rtx.update_waiting(number);
        if self.recovery.retrans_stamp == 0 {
            let sent_ms = (self.rtx.get(number).tx_mstamp / 1_000) as u32;
            self.recovery.retrans_stamp = sent_ms.max(1);
        }
        self.recovery.undo_retrans = self.recovery.undo_retrans.max(0) + 1;
    }

    /// `tcp_xmit_retransmit_queue`: retransmits lost segments, those with the lowest sequence
    /// numbers first, as far as the window allows.
    pub(crate) fn retransmit_lost(&mut self) {
        if self.sk.packets_out == 0 {
            return;
        }
        let mut is_head_sent = false;
        while self.sk.retrans_out < self.sk.lost_out && !self.pacer.wait(&self.sk, self.clock.now())
        {
            if self.in_flight() >= self.sk.snd_cwnd {
                break;
            }
            let Some(number) = self.rtx.next_waiting() else { break };
            let is_head = number == self.rtx.head();
            if !is_head && after(self.rtx.get(number).end_seq, self.window_end()) {
                break;
            }
            if self.host.is_some() && (self.wait_for_departures() || !self.try_reserve()) {
                break;
            }
            self.retransmit(number);
            if self.in_cwnd_reduction() {
                self.recovery.prr.note_sent(1);
            }
            is_head_sent |= is_head && self.timer.pending != Pending::Reordering;
        }
        if is_head_sent {
            self.reset_xmit_timer(Pending::Retransmit, self.timer.rto);
        }
    }

    /// `tcp_xmit_recovery`: sends the data that the processing of an ACK requested.
    #[inline(always)]
    pub(crate) fn transmit_recovery(&mut self, rexmit: Rexmit) {
        if rexmit != Rexmit::None {
            self.transmit_asked(rexmit);
        }
    }

    #[inline(never)]
    fn transmit_asked(&mut self, rexmit: Rexmit) {
        match rexmit {
            Rexmit::None => return,
            Rexmit::Lost => {}
            Rexmit::New => {
                self.write_xmit_apart(Push::All);
                if after(self.sk.snd_nxt, self.sk.high_seq) {
                    return;
                }
                self.recovery.is_frto = false;
            }
        }
        self.retransmit_lost();
    }

    /// Sends a segment; every segment carries an ACK.
    #[inline(always)]
    fn send(&mut self, seq: u32, payload: u32, bits: u16, ecn: Ecn) {
        let segment = self.compose(seq, payload, bits, ecn);
        self.counters.segments_out += 1;
        self.out.push_segment(segment);
        let has_counts = self.connection.accecn.bytes.is_due && bits & Flags::RST == 0;
        if has_counts || !self.receiver.sacks.is_empty() {
            self.add_options(has_counts);
        }
    }

    /// Adds SACK blocks to the segment sent last, and the option of accurate ECN if `has_counts`
    /// is true.
    #[inline(never)]
    fn add_options(&mut self, has_counts: bool) {
        let segment = self.out.last_segment();
        let sacks = &mut self.receiver.sacks;
        let blocks = if self.connection.options.is_sack { sacks.count() } else { 0 };
        if has_counts {
            let mtu_bytes = self.settings.mtu_bytes;
            self.connection.accecn.bytes.put_into(segment, blocks, mtu_bytes);
        }
        if blocks > 0 {
            sacks.put_into(segment);
        }
    }

    /// Composes a segment of this connection, without SACK blocks and the option of accurate ECN.
    #[inline(always)]
    fn compose(&mut self, seq: u32, payload: u32, bits: u16, ecn: Ecn) -> Segment {
        // First, so that the other values need not be kept across the call.
        let window = self.receiver.select_window(self.sk.rcv_nxt);
        let mut header = HEADER_BYTES;
        let mut timestamps = None;
        if self.connection.options.is_timestamps {
            timestamps = Some((self.timestamp(), self.connection.options.recent));
            header += TIMESTAMP_BYTES;
        }
        Segment {
            flow: self.connection.flow,
            user: self.connection.user,
            seq,
            ack: self.sk.rcv_nxt,
            payload,
            window,
            flags: Flags(Flags::ACK | bits),
            ecn,
            timestamps,
            header_bytes: header as u16,
            ..Segment::default()
        }
    }

    /// Carries out the requests that the algorithm made in a hook.
    #[inline]
    pub(crate) fn serve(&mut self, requests: Requests) {
        if let Some(ack) = requests.ack {
            self.send_partial_ack(ack);
        }
        if requests.reduces {
            self.enter_cwr();
        }
    }

    /// Notifies the algorithm of a window event and carries out its requests.
    pub(crate) fn tell_window(&mut self, event: CwndEvent) {
        let requests = self.congestion.cwnd_event(&mut self.sk, event);
        self.serve(requests);
    }

    /// `__tcp_send_ack` with an `rcv_nxt` that the algorithm selects: DCTCP acknowledges the data
    /// that arrived before the congestion mark changed (RFC 8257 section 3.2).
    #[cold]
    fn send_partial_ack(&mut self, RequestedAck { rcv_nxt, is_ece }: RequestedAck) {
        let ecn = if self.congestion.needs_ecn() { Ecn::Ect0 } else { Ecn::NotEct };
        let bits = if is_ece { Flags::ECE } else { 0 };
        self.send(self.sk.snd_nxt, 0, bits, ecn);
        self.out.last_segment().ack = rcv_nxt;
        if rcv_nxt == self.sk.rcv_nxt {
            self.note_ack_sent();
        }
    }

    /// Sends an ACK without data.
    #[inline(never)]
    pub(crate) fn send_ack(&mut self) {
        self.send_ack_here();
    }

    /// Inlined [`Self::send_ack`].
    #[inline(always)]
    pub(super) fn send_ack_here(&mut self) {
        let Marking { bits, ecn } = self.mark_segment(false);
        self.send(self.sk.snd_nxt, 0, bits, ecn);
        self.note_ack_sent();
        if self.host.is_some() {
            self.reserve_for_ack();
        }
    }

    /// After the override timer has expired, sends a segment into a window that has no room for a
    /// full segment (RFC 9293 section 3.8.6.2.1). Returns whether there was room.
    pub(crate) fn send_into_window(&mut self) -> bool {
        let window_end = self.window_end();
        if !before(self.sk.snd_nxt, window_end) {
            return false;
        }
        let next = self.next_new();
        let end = earlier(next.end, window_end);
        if end != next.end {
            self.buffer.push_at(end);
        }
        self.transmit_new(end, next.is_fin && end == next.end, self.in_flight());
        self.rearm_rto();
        true
    }

    /// Probes a closed window with an empty segment whose sequence number is already acknowledged
    /// (RFC 9293 section 3.8.6.1).
    pub(crate) fn send_window_probe(&mut self) {
        let bits = self.count_bits();
        self.send(self.sk.snd_una.wrapping_sub(1), 0, bits, Ecn::NotEct);
    }

    /// Sends a RST (RFC 9293 section 3.10.7.4).
    pub(super) fn send_reset(&mut self) {
        self.send(self.sk.snd_nxt, 0, Flags::RST, Ecn::NotEct);
    }

    /// `tcp_event_ack_sent`.
    #[inline]
    fn note_ack_sent(&mut self) {
        let pending = core::mem::take(&mut self.sk.inet_conn.icsk_ack.pending);
        self.receiver.acks.note_sent(pending);
    }
}

#[cfg(test)]
mod tests {
    use crate::linux::testing::{Pair, SENDER};
    use crate::outbox::Outbox;

    /// Two pairs of endpoints whose senders have an open window and data to fill it.
    fn twins() -> [Pair; 2] {
        [(); 2].map(|()| {
            let mut pair = Pair::established();
            pair.write(60_000);
            pair.ends[SENDER].sk.snd_cwnd += 5;
            pair
        })
    }

    #[test]
    fn a_train_leaves_the_same_state_as_its_segments_one_by_one() {
        let [mut train, mut single] = twins();
        let end = &mut train.ends[SENDER];
        let in_flight = end.in_flight();
        assert!(end.has_plain_data(in_flight));
        let count = end.transmit_train(in_flight);
        assert_eq!(count, 5);
        for sent in 0..count {
            let end = &mut single.ends[SENDER];
            let next = end.next_new();
            end.transmit_new(next.end, next.is_fin, in_flight + sent);
        }
        // The same segments leave, as one output or as several.
        let sent = [&mut train, &mut single].map(|pair| {
            let segments = pair.sent_by(SENDER);
            pair.ends[SENDER].out = Outbox::default();
            segments
        });
        assert_eq!(sent[0], sent[1]);
        assert!(train.state_of(SENDER) == single.state_of(SENDER));
    }

    #[test]
    fn a_train_ends_where_the_window_of_the_peer_does() {
        let [mut pair, _] = twins();
        let end = &mut pair.ends[SENDER];
        end.sk.snd_wnd = end.sk.snd_nxt.wrapping_sub(end.sk.snd_una) + 2 * 1_448 + 100;
        assert_eq!(end.transmit_train(end.in_flight()), 2);
        assert!(!end.is_next_in_window());
    }
}
