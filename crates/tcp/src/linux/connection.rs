//! Segments and the application's calls: the handshake, arriving data, reading and writing.

use cwndlab_cc::{ICSK_ACK_NOW, ICSK_ACK_PUSHED, ICSK_ACK_SCHED};
use cwndlab_packet::seq::before;
use cwndlab_packet::{Flags, Segment, SynOptions};
use cwndlab_units::{Ecn, Time};

use super::LinuxEndpoint;
use super::accecn::AccEcn;
use super::ack::AckFlags;
use super::ecn::EcnFlags;
use super::incoming::Rest;
use super::metrics::Metrics;
use super::options::Options;
use super::pacer::Push;
use super::predicted::Expected;
use super::receiver::{AckSchedule, Arrival, DataSeen, MAX_QUICK_ACKS, Receiver, SHORT_BYTES};
use super::rtx::TxSegment;
use super::send_buffer::Limit;
use super::settings::{HEADER_BYTES, LinuxSettings};
use super::state::State;
use super::timer::Pending;
use crate::info::TcpEvent;

/// Segment size for a peer that does not announce one (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u32 = 536;

/// Identity and state of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    pub(super) state: State,
    pub(super) flow: u32,
    pub(super) user: u16,
    /// Initial sequence number.
    pub(super) iss: u32,
    /// Values cached from earlier connections between the same hosts.
    pub(super) metrics: Metrics,
    pub(super) options: Options,
    pub(super) expected: Expected,
    pub(super) accecn: AccEcn,
    /// The phase of the algorithm that was last reported.
    told_phase: u8,
}

impl Connection {
    /// Creates a closed connection.
    pub(super) fn new(flow: u32, user: u16, settings: &LinuxSettings, seed: u64) -> Self {
        Self {
            state: State::Closed,
            flow,
            user,
            // Initial sequence number and timestamp offset are random per connection
            // (RFC 6528 section 3, RFC 7323 section 5.4); no behaviour depends on them.
            iss: (seed >> 32) as u32,
            metrics: Metrics::new(settings.cached_ssthresh),
            options: Options::new(settings, seed as u32),
            expected: Expected::default(),
            accecn: AccEcn::default(),
            told_phase: 0,
        }
    }

    /// Records the algorithm's phase. Returns the phase if it differs from the one last reported.
    #[inline]
    fn take_phase(&mut self, phase: u8) -> Option<u8> {
        if phase == self.told_phase {
            return None;
        }
        self.told_phase = phase;
        Some(phase)
    }
}

impl LinuxEndpoint {
    // Calls of the application.

    pub(crate) fn connect(&mut self, now: Time) {
        self.set_now(now);
        self.connection.state = State::SynSent;
        self.congestion.attach(&mut self.sk);
        self.send_syn(Flags::SYN | self.ask_for_ecn());
        let seq = self.connection.iss;
        let mut segment = TxSegment::syn(seq, self.sk.tcp_mstamp);
        self.stamp_rate(&mut segment);
        self.rtx.push(segment);
        self.sk.packets_out = 1;
        self.sk.snd_nxt = segment.end_seq;
        self.reset_timer(Pending::Retransmit, self.timer.rto);
    }

    pub(crate) fn listen(&mut self) {
        self.connection.state = State::Listen;
    }

    #[inline]
    pub(crate) fn is_established(&self) -> bool {
        self.connection.state == State::Established
    }

    pub(crate) fn is_closed(&self) -> bool {
        let has_finished =
            self.buffer.is_fin_queued && self.sk.packets_out == 0 && !self.has_unsent();
        (has_finished && self.receiver.is_finished) || self.connection.state == State::Reset
    }

    pub(crate) fn peer_has_finished(&self) -> bool {
        self.receiver.is_finished && self.receiver.readable() == 0
    }

    /// Number of bytes that [`LinuxEndpoint::write`] would accept. After a write that was not
    /// fully accepted, the application waits until a third of the buffer is free.
    #[inline]
    pub(crate) fn send_space(&self) -> u64 {
        if self.buffer.is_blocked || self.buffer.is_fin_queued || !self.is_established() {
            return 0;
        }
        // A partly filled segment accepts more, however much memory is used.
        self.buffer.sndbuf_bytes.saturating_sub(self.buffer.queued_bytes).max(1)
    }

    /// `tcp_sendmsg`.
    pub(crate) fn write(&mut self, now: Time, bytes: u64) -> u64 {
        if self.send_space() == 0 {
            return 0;
        }
        self.set_now(now);
        self.connection.expected.forget_data();
        self.check_app_limited();
        if self.sk.packets_out == 0 && !self.has_unsent() {
            self.check_idle_restart();
        }
        let mss = u64::from(self.sk.mss_cache);
        let mut filled = self.buffer.in_tail(self.sk.snd_nxt) % mss;
        let segments_before = self.counters.segments_out;
        let mut written = 0;
        let mut has_tail = self.has_unsent();
        let tail_bytes = self.buffer.tail_bytes(self.peer_window.max_bytes, mss);
        let is_offloaded = self.settings.segmentation_offload;
        let push_bytes = if is_offloaded { tail_bytes } else { mss };
        let has_room = is_offloaded && self.buffer.in_tail(self.sk.snd_nxt) < tail_bytes;
        if filled > 0 || has_room {
            self.buffer.unmark_push();
        }
        let mut is_full = false;
        while written < bytes && !is_full {
            // Segment by segment where a push or a send may follow, otherwise as many as possible.
            let left = bytes - written;
            let piece = if filled == 0 && left >= mss && self.has_unsent() {
                self.buffer.segments_until_push(self.peer_window.max_bytes, mss).min(left / mss)
                    * mss
            } else {
                left.min(mss - filled)
            };
            // With segmentation offload, a push follows when the tail buffer is full.
            let room = tail_bytes.saturating_sub(self.buffer.in_tail(self.sk.snd_nxt));
            let room = if room > 0 { room } else { tail_bytes };
            let piece = if is_offloaded { piece.min(room) } else { piece };
            let taken = if has_tail && is_offloaded {
                self.buffer.take_into_tail(piece, tail_bytes, self.sk.snd_nxt, self.sk.mss_cache)
            } else {
                self.buffer.take(piece, self.sk.snd_nxt, self.sk.mss_cache)
            };
            if taken == 0 {
                break;
            }
            // With segmentation offload, the tail buffer may still accept more.
            is_full = taken < piece && !is_offloaded;
            has_tail = true;
            written += taken;
            filled = (filled + taken) % mss;
            let is_tail_full = !is_offloaded || self.buffer.in_tail(self.sk.snd_nxt) >= tail_bytes;
            if filled == 0 && is_tail_full && written < bytes {
                if self.buffer.needs_push(self.peer_window.max_bytes) {
                    self.buffer.mark_push();
                    self.write_xmit_apart(Push::Forced);
                    has_tail = self.has_unsent();
                } else if self.buffer.unsent(self.sk.snd_nxt) == push_bytes {
                    self.write_xmit_apart(Push::One);
                    has_tail = self.has_unsent();
                }
            }
        }
        if written < bytes {
            self.buffer.is_blocked = true;
        }
        if written > 0 && self.has_unsent() {
            self.buffer.mark_push();
        }
        if self.has_unsent() {
            self.buffer.chrono.start(Limit::Busy, now);
            let unsent = self.buffer.unsent(self.sk.snd_nxt);
            self.buffer.is_corked = self.counters.segments_out != segments_before
                && unsent < mss
                && self.sk.packets_out > 0;
            if !self.buffer.is_corked {
                self.write_xmit_apart(if written < bytes { Push::Forced } else { Push::All });
            }
        }
        self.note_phase();
        written
    }

    /// `tcp_recvmsg`: the application reads at most `max` bytes. Returns the number of bytes.
    #[inline(never)]
    pub(crate) fn read(&mut self, now: Time, max: u64) -> u64 {
        if self.receiver.readable() == 0 {
            return 0;
        }
        self.set_now(now);
        let bytes = self.receiver.read(max, self.sk.tcp_mstamp);
        self.clean_receive_buffer();
        bytes
    }

    pub(crate) fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// Ends the stream: a FIN follows the data written so far.
    pub(crate) fn close(&mut self, now: Time) {
        if self.buffer.is_fin_queued || !self.is_established() {
            return;
        }
        self.set_now(now);
        self.connection.expected.forget();
        self.buffer.is_fin_queued = true;
        self.buffer.write_seq = self.buffer.write_seq.wrapping_add(1);
        self.write_xmit_apart(Push::All);
    }

    /// `tcp_cleanup_rbuf`: after a read, sends an ACK if one is due or the window has opened.
    #[inline(always)]
    pub(super) fn clean_receive_buffer(&mut self) {
        let rcv_nxt = self.sk.rcv_nxt;
        let pending = self.sk.inet_conn.icsk_ack.pending;
        let receiver = &mut self.receiver;
        let is_time = pending & ICSK_ACK_SCHED != 0 && {
            let unacknowledged = rcv_nxt.wrapping_sub(receiver.window.left);
            unacknowledged > receiver.acks.rcv_mss
                || (pending & ICSK_ACK_PUSHED != 0
                    && !receiver.acks.is_interactive()
                    && receiver.readable() == 0)
        };
        if is_time || receiver.offers_twice_the_window(rcv_nxt) {
            self.send_ack_here();
        }
    }

    // The handshake.

    fn syn_options(&self) -> SynOptions {
        SynOptions {
            mss: self.settings.announced_mss() as u16,
            window_scale: Some(self.receiver.window.scale()),
            is_sack_permitted: self.connection.options.is_sack,
        }
    }

    pub(super) fn send_syn(&mut self, bits: u16) {
        let mss = self.settings.announced_mss();
        let is_reply = bits & Flags::ACK != 0;
        let ts_bytes = self.connection.options.timestamp_bytes();
        let window_mss = if is_reply { mss - ts_bytes } else { mss };
        let window = self.receiver.window.begin(self.sk.rcv_nxt, window_mss);
        let mut bits = bits;
        let flags = EcnFlags::of(&self.sk);
        if is_reply && flags.is_classic() {
            bits |= Flags::ECE;
        } else if is_reply && flags.is_accurate() {
            bits |= self.answer_syn_accurately();
        }
        // MSS 4, SACK permitted 2, timestamps 10, padding 1, window scale 3: 20 bytes.
        let mut segment = Segment {
            flow: self.connection.flow,
            user: self.connection.user,
            seq: self.connection.iss,
            ack: if is_reply { self.sk.rcv_nxt } else { 0 },
            window,
            flags: Flags(bits),
            timestamps: self
                .connection
                .options
                .is_timestamps
                .then(|| (self.timestamp(), self.connection.options.recent)),
            syn: Some(self.syn_options()),
            header_bytes: (HEADER_BYTES + 8 + ts_bytes) as u16,
            ecn: self.syn_field(),
            ..Segment::default()
        };
        if is_reply && flags.is_accurate() {
            self.connection.accecn.bytes.put_into_syn_ack(&mut segment);
        }
        self.counters.segments_out += 1;
        self.out.push_segment(segment);
    }

    /// The ECN field of a SYN or SYN-ACK (RFC 8257 section 3.5).
    pub(super) fn syn_field(&self) -> Ecn {
        if self.congestion.needs_ecn() { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// Retransmits a SYN or SYN-ACK. A retransmitted SYN no longer requests ECN, because the
    /// request may be the reason why there was no answer (RFC 3168 section 6.1.1.1); accurate ECN
    /// is requested twice.
    pub(crate) fn resend_syn(&mut self) {
        let is_reply = self.connection.state == State::SynReceived;
        let more = match (is_reply, self.asks_again()) {
            (true, _) => Flags::ACK,
            (false, true) => self.ask_for_ecn(),
            (false, false) => 0,
        };
        self.send_syn(Flags::SYN | more);
    }

    /// Records the options of the peer's SYN.
    fn take_syn(&mut self, segment: &Segment) {
        self.sk.rcv_nxt = segment.seq.wrapping_add(1);
        self.receiver.window.left = self.sk.rcv_nxt;
        let options = segment.syn.unwrap_or_default();
        self.connection.options.is_sack &= options.is_sack_permitted;
        self.connection.options.is_timestamps &= segment.timestamps.is_some();
        match options.window_scale {
            Some(shift) => self.peer_window.scale = shift.min(14),
            None => self.receiver.window.set_scale(0),
        }
        if let Some((tsval, _)) = segment.timestamps {
            self.connection.options.recent = tsval;
        }
        let ts_bytes = self.connection.options.timestamp_bytes();
        let peer = if options.mss == 0 { DEFAULT_MSS } else { u32::from(options.mss).max(48) };
        self.sk.mss_cache = peer.min(self.settings.announced_mss()) - ts_bytes;
        self.sk.advmss = self.settings.announced_mss() - ts_bytes;
        self.peer_window.told_at = segment.seq;
    }

    fn handle_syn(&mut self, segment: &Segment) {
        self.take_syn(segment);
        self.agree_on_ecn(segment);
        self.sk.snd_wnd = segment.window.into();
        self.peer_window.max_bytes = self.sk.snd_wnd;
        self.connection.state = State::SynReceived;
        self.send_syn(Flags::SYN | Flags::ACK);
        self.sk.snd_nxt = self.connection.iss.wrapping_add(1);
        self.sk.packets_out = 1;
        self.rtx.push(TxSegment::syn(self.connection.iss, self.sk.tcp_mstamp));
        self.reset_timer(Pending::Retransmit, self.timer.rto);
    }

    /// `tcp_rcv_synsent_state_process`: handles the SYN-ACK.
    fn handle_syn_ack(&mut self, segment: &Segment) {
        if segment.ack != self.sk.snd_nxt {
            return;
        }
        self.take_syn(segment);
        let is_syn_marked = self.agree_on_ecn(segment);
        self.note_options(segment);
        self.sk.snd_wnd = segment.window.into();
        self.peer_window.max_bytes = self.sk.snd_wnd;
        self.handle_ack(segment, AckFlags::SLOWPATH);
        self.establish();
        if is_syn_marked {
            self.enter_cwr();
        }
        self.answer_syn_ack(segment, true);
    }

    /// `tcp_init_transfer`.
    fn establish(&mut self) {
        self.connection.state = State::Established;
        self.buffer.write_seq = self.sk.snd_nxt;
        self.buffer.short_end = self.sk.snd_una;
        self.scoreboard.highest_seq = self.sk.snd_una;
        self.sk.high_seq = self.sk.snd_nxt;
        // If the SYN was retransmitted more than once, the first window is one segment (RFC 5681
        // section 3.1).
        self.sk.snd_cwnd =
            if self.sk.total_retrans > 1 { 1 } else { self.settings.initial_cwnd_pkts };
        self.sk.inet_conn.icsk_retransmits = 0;
        self.sk.snd_cwnd_stamp = self.sk.cc_jiffies32;
        self.sk.lsndtime = self.sk.cc_jiffies32;
        if self.settings.pacing || self.host.is_some_and(|host| host.traits.is_pacing) {
            self.sk.inet_conn.icsk_inet.sk.sk_pacing_status = 1;
        }
        if let Some(ssthresh) = self.connection.metrics.ssthresh_pkts() {
            self.sk.snd_ssthresh = ssthresh;
        }
        self.congestion.init(&mut self.sk);
        let mss = self.sk.advmss;
        self.receiver.open(mss, self.settings.initial_cwnd_pkts, self.sk.tcp_mstamp);
        self.expand_send_buffer();
        self.event(TcpEvent::Established);
    }

    // Segments.

    #[inline]
    pub(super) fn note_options(&mut self, segment: &Segment) {
        let options = &mut self.sk.rx_opt;
        match segment.timestamps.filter(|_| self.connection.options.is_timestamps) {
            Some((tsval, tsecr)) => {
                options.saw_tstamp = 1;
                options.rcv_tsval = tsval;
                // 0 means that no timestamp is echoed.
                options.rcv_tsecr =
                    if tsecr == 0 { 0 } else { tsecr.wrapping_sub(self.connection.options.offset) };
            }
            None => options.saw_tstamp = 0,
        }
    }

    pub(crate) fn handle_segment(&mut self, now: Time, segment: &Segment) {
        self.set_now(now);
        self.rtt.last_us = None;
        let rest = if self.is_plain_ack_again(segment) {
            self.note_options(segment);
            Rest::PlainAck { is_predicted: self.has_known_window(segment) }
        } else {
            self.handle_unexpected(segment)
        };
        if let Rest::PlainAck { is_predicted } = rest {
            self.handle_plain_ack(segment, is_predicted);
        }
        if let Rest::PlainAck { is_predicted } | Rest::Follow { is_predicted } = rest {
            self.follow_segment(is_predicted);
        }
        if self.timer.is_postponed {
            self.schedule_loss_probe(true);
        }
        self.note_phase();
    }

    /// Handles a segment that does not continue a sequence of plain ACKs. Returns what remains to be
    /// done for it: of a plain ACK, everything.
    #[inline(never)]
    fn handle_unexpected(&mut self, segment: &Segment) -> Rest {
        self.connection.expected.forget();
        if self.is_established() || self.handle_handshake(segment) {
            self.handle_established(segment)
        } else {
            Rest::Nothing
        }
    }

    /// Handles a segment of a connection that is not established. Returns whether the segment must
    /// then also be handled as one of an established connection.
    #[cold]
    fn handle_handshake(&mut self, segment: &Segment) -> bool {
        let has_syn = segment.flags.has(Flags::SYN);
        let has_ack = segment.flags.has(Flags::ACK);
        let has_reset = segment.flags.has(Flags::RST);
        let is_answer = has_ack && segment.ack == self.sk.snd_nxt;
        match self.connection.state {
            State::SynSent if has_reset && !is_answer => {}
            State::SynReceived if has_reset && segment.seq != self.sk.rcv_nxt => {}
            State::SynSent | State::SynReceived if has_reset => self.reset(),
            State::Listen if has_syn => self.handle_syn(segment),
            State::SynSent if has_syn && has_ack => self.handle_syn_ack(segment),
            State::SynReceived if has_syn => self.answer_another_syn(segment),
            State::SynReceived if is_answer => {
                self.note_options(segment);
                let is_syn_ack_marked = self.take_answer_to_syn_ack(segment);
                let window = self.peer_window.of(segment);
                self.handle_ack(segment, AckFlags::SLOWPATH);
                self.sk.snd_wnd = window;
                self.peer_window.note(window);
                // The kernel has no full socket until now, so the algorithm has seen nothing so
                // far.
                self.congestion.attach(&mut self.sk);
                self.establish();
                if is_syn_ack_marked {
                    self.enter_cwr();
                }
                return true;
            }
            _ => {}
        }
        false
    }

    #[inline]
    pub(crate) fn note_phase(&mut self) {
        if let Some(phase) = self.connection.take_phase(self.sk.cc_phase) {
            self.event(TcpEvent::Phase(phase));
        }
    }

    /// Acts after a segment was processed: sends data and an ACK, and unblocks the application.
    #[inline(always)]
    fn follow_segment(&mut self, is_predicted: bool) {
        let has_checked_space = self.has_unsent() && self.write_xmit(Push::All);
        if self.sk.inet_conn.icsk_ack.pending & ICSK_ACK_SCHED != 0 {
            self.check_ack(!is_predicted);
        }
        if !has_checked_space {
            self.check_space();
        }
    }

    pub(crate) fn enter_quick_ack(&mut self, max: u32) {
        self.receiver.enter_quick_acks(max);
    }

    /// Uses received data as an RTT sample for buffer tuning: from the echoed timestamp, or
    /// otherwise from the time in which a window of data arrives.
    #[inline]
    pub(super) fn take_echo(&mut self, segment: &Segment) {
        if let Some((_, tsecr)) = segment.timestamps {
            if self.receiver.tuning.is_new_echo(tsecr) {
                let is_full = segment.payload >= self.receiver.acks.rcv_mss;
                let now_ms = self.timestamp();
                self.receiver.tuning.take_echo(tsecr, now_ms, is_full);
            }
        } else {
            let Receiver { tuning, window, .. } = &mut self.receiver;
            tuning.take_window(self.sk.rcv_nxt, window.size, self.sk.tcp_mstamp);
        }
    }

    /// `tcp_data_queue`.
    pub(super) fn handle_data(&mut self, segment: &Segment, end: u32, is_predicted: bool) {
        self.take_echo(segment);
        if is_predicted && self.receiver.fin_seq.is_none() {
            if let Some(free_bytes) = self.receiver.take_next(self.sk.rcv_nxt, segment.payload) {
                self.sk.rcv_nxt = end;
                self.note_data_received(segment, free_bytes);
                return;
            }
        }
        self.handle_any_data(segment, end);
    }

    /// Handles data as [`Self::handle_data`] does; they need not be next in order or fit the
    /// window.
    #[inline(never)]
    fn handle_any_data(&mut self, segment: &Segment, end: u32) {
        let data_end = segment.seq.wrapping_add(segment.payload);
        if segment.flags.has(Flags::FIN) {
            self.receiver.fin_seq = Some(data_end);
        }
        let rcv_nxt = self.sk.rcv_nxt;
        // If ACKs are held back and this segment displaces a SACK block, the old blocks are
        // reported at once; this segment is reported by the next ACK.
        let is_answered = self.receiver.acks.has_held_back()
            && self.receiver.would_forget_block(rcv_nxt, segment.seq, data_end);
        if is_answered {
            self.send_ack();
        }
        let (arrival, rcv_nxt) = if segment.payload > 0 {
            self.receiver.handle_data(rcv_nxt, segment.seq, data_end)
        } else {
            (Arrival::InOrder { has_filled_gap: false, free_bytes: 0 }, rcv_nxt)
        };
        if !self.settings.options.dsack {
            self.receiver.sacks.forget_duplicate();
        }
        self.sk.rcv_nxt = rcv_nxt;
        if let Arrival::InOrder { has_filled_gap, free_bytes } = arrival {
            if has_filled_gap {
                self.sk.inet_conn.icsk_ack.pending |= ICSK_ACK_NOW;
            }
            self.note_data_received(segment, free_bytes);
            if self.receiver.fin_seq == Some(rcv_nxt) && !self.receiver.is_finished {
                self.sk.rcv_nxt = rcv_nxt.wrapping_add(1);
                self.receiver.is_finished = true;
                self.sk.inet_conn.icsk_ack.pending |= ICSK_ACK_SCHED | ICSK_ACK_NOW;
                self.event(TcpEvent::PeerFinished);
            }
        } else {
            self.note_data_not_in_order(segment, arrival);
            if is_answered {
                self.sk.inet_conn.icsk_ack.pending &= !ICSK_ACK_SCHED;
            }
        }
        debug_assert!(!before(end, segment.seq));
    }

    fn note_data_not_in_order(&mut self, segment: &Segment, arrival: Arrival) {
        match arrival {
            Arrival::InOrder { .. } => {}
            Arrival::OutOfOrder { free_bytes } => {
                self.check_ce(segment.ecn);
                self.sk.inet_conn.icsk_ack.pending |= ICSK_ACK_SCHED;
                // A duplicate ACK without SACK must not change the window (RFC 5681 section 2).
                if self.connection.options.is_sack && segment.payload >= SHORT_BYTES {
                    self.receiver.grow_window(segment.payload, free_bytes);
                }
            }
            Arrival::Duplicate => {
                self.counters.duplicate_segments += 1;
                self.connection.accecn.bytes.note_duplicate(segment.seq);
                self.enter_quick_ack(MAX_QUICK_ACKS);
                self.sk.inet_conn.icsk_ack.pending |= ICSK_ACK_SCHED;
            }
            Arrival::OutOfWindow => {
                self.enter_quick_ack(MAX_QUICK_ACKS);
                self.sk.inet_conn.icsk_ack.pending |= ICSK_ACK_SCHED;
            }
        }
    }

    /// `tcp_event_data_recv`: handles the arrival of data; the buffer has room for a window of
    /// `free_bytes`.
    fn note_data_received(&mut self, segment: &Segment, free_bytes: u32) {
        self.note_data_seen(segment);
        if segment.payload >= SHORT_BYTES {
            self.receiver.grow_window(segment.payload, free_bytes);
        }
    }

    /// Handles the arrival of data as [`Self::note_data_received`] does, but leaves the window
    /// unchanged.
    #[inline(always)]
    pub(super) fn note_data_seen(&mut self, segment: &Segment) {
        let bytes = segment.payload;
        let seen = DataSeen {
            bytes,
            is_pushed: segment.flags.has(Flags::PSH),
            advmss: self.sk.advmss,
            window: self.receiver.window.size,
            rto: self.timer.rto,
        };
        let pending = self.receiver.acks.note_data(seen, self.clock.jiffies());
        self.sk.inet_conn.icsk_ack.pending |= pending;
        self.check_ce(segment.ecn);
    }

    /// `__tcp_ack_snd_check`: sends the ACK that is due, or delays it.
    #[inline(always)]
    pub(super) fn check_ack(&mut self, is_slow_path: bool) {
        let receiver = &mut self.receiver;
        let unacknowledged = self.sk.rcv_nxt.wrapping_sub(receiver.window.left);
        let is_more_than_one = unacknowledged > receiver.acks.rcv_mss
            && receiver.window_to_offer() >= receiver.window.size;
        let is_asked = self.sk.inet_conn.icsk_ack.pending & ICSK_ACK_NOW != 0;
        let leaves_now = if is_more_than_one || receiver.acks.is_quick() || is_asked {
            true
        } else if !is_slow_path || receiver.is_in_order() {
            self.delay_ack()
        } else {
            !self.connection.options.is_sack || self.hold_ack_back()
        };
        if leaves_now {
            self.send_ack();
        }
    }

    /// Sends or delays the ACK that is due for in-order data, which the application is about to
    /// read.
    ///
    /// The read itself acknowledges more than one segment, so no timer is set in this case.
    #[inline(always)]
    pub(super) fn check_ack_before_read(&mut self) {
        let receiver = &mut self.receiver;
        let unacknowledged = self.sk.rcv_nxt.wrapping_sub(receiver.window.left);
        if unacknowledged <= receiver.acks.rcv_mss {
            return self.check_ack(false);
        }
        let pending = self.sk.inet_conn.icsk_ack.pending;
        if receiver.window_to_offer() >= receiver.window.size
            || receiver.acks.is_quick()
            || pending & ICSK_ACK_NOW != 0
            || receiver.acks.would_not_wait(&self.clock, self.sk.srtt_us, pending)
        {
            self.send_ack_here();
        }
    }

    /// Delays the ACK. Returns whether the ACK must leave now instead.
    #[inline(always)]
    fn delay_ack(&mut self) -> bool {
        let pending = &mut self.sk.inet_conn.icsk_ack.pending;
        let leaves_now = self.receiver.acks.delay(&self.clock, self.sk.srtt_us, *pending);
        if !leaves_now {
            *pending |= AckSchedule::DELAYED;
        }
        leaves_now
    }

    /// Holds back an ACK that reports a hole. Returns whether the ACK must leave now instead.
    #[inline(never)]
    fn hold_ack_back(&mut self) -> bool {
        let (known_us, srtt_us) = (self.receiver.tuning.rtt_us(), self.sk.srtt_us);
        let rtt_us = if srtt_us > 0 { known_us.min(srtt_us) } else { known_us };
        self.receiver.acks.hold_back(self.sk.rcv_nxt, rtt_us, self.clock.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::testing::{Pair, RECEIVER, SENDER};
    use crate::profile::Profile;

    #[test]
    fn a_phase_is_reported_when_it_changes() {
        let profile = Profile::by_name("linux-6.1").expect("exists");
        let mut connection = Connection::new(0, 1, profile.linux().expect("linux"), 7);
        let told = [0, 2, 2, 1, 0].map(|phase| connection.take_phase(phase));
        assert_eq!(told, [None, Some(2), None, Some(1), Some(0)]);
    }

    #[test]
    fn both_have_the_segment_size_of_the_handshake() {
        let pair = Pair::established();
        assert_eq!(pair.ends.each_ref().map(|end| end.sk.mss_cache), [1_448; 2]);
    }

    #[test]
    fn a_fin_rides_on_the_last_data_and_is_acknowledged() {
        let mut pair = Pair::established();
        pair.ends[SENDER].write(pair.now, 100);
        pair.ends[SENDER].close(pair.now);
        let segments = pair.sent_by(SENDER);
        assert!(segments.last().expect("data").flags.has(Flags::FIN));
        let acks = pair.deliver(&segments);
        assert!(pair.ends[RECEIVER].peer_has_finished());
        pair.answer(&acks);
        assert!(!pair.ends[SENDER].is_closed(), "the peer has not closed");
        assert_eq!(pair.ends[SENDER].sk.packets_out, 0);
    }

    #[test]
    fn a_buffer_that_is_full_takes_nothing_until_a_third_is_free() {
        let mut pair = Pair::established();
        let segments = pair.write(1 << 20);
        assert_eq!(pair.ends[SENDER].send_space(), 0);
        let acks = pair.deliver(&segments);
        pair.answer(&acks);
        assert!(pair.ends[SENDER].send_space() > 0);
    }
}
