//! Sender and receiver of a classic endpoint: segments in, segments out.
//!
//! The SYN or first packet has sequence number 0, and the first byte of data has 1; a FIN follows
//! the last byte. The peer may start at another number. Timestamps are in microseconds. If the
//! application does not read, the advertised window closes; a separate ACK reopens it.

use std::sync::Arc;

use cwndlab_cc::INFINITE_SSTHRESH;
use cwndlab_packet::{Flags, SackBlock, SackBlocks, Segment, SynOptions};
use cwndlab_units::{Duration, Ecn, Stream, Time};

use super::receiver::Receiver;
use super::sender::{Ack, Sender};
use super::settings::{ClassicSettings, Handshake};
use crate::info::{CaState, Counters, Info, TcpEvent};
use crate::outbox::{Outbox, Polled};
use crate::parts::Parts;

/// Size of the send buffer beyond two congestion windows, so that an application's writes fit.
const SEND_BUFFER_EXTRA_BYTES: u64 = 128 * 1024;

/// Sequence number of the first byte of data, after the SYN.
const FIRST_BYTE: u32 = 1;

/// Segment size for a peer that does not announce one (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u32 = 536;

/// State of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
}

/// Control packets that wait to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Pending {
    syn: bool,
    syn_ack: bool,
}

/// Values that the peer has announced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Peer {
    /// Sequence number of the peer's first byte of data.
    first: u32,
    /// Shift that applies to the peer's window field.
    shift: u8,
    has_sack: bool,
    /// Position of the peer's FIN in its stream; the FIN counts as one byte.
    fin: Option<u64>,
}

/// One end of a connection with classic loss recovery.
#[derive(Debug)]
pub(crate) struct ClassicEndpoint {
    flow: u32,
    user: u16,
    settings: Arc<ClassicSettings>,
    state: State,
    pending: Pending,
    /// Time that the first packet waits for address resolution.
    address_wait: Duration,
    /// Time at which the address resolution ends.
    address_known: Time,
    sender: Sender,
    receiver: Receiver,
    peer: Peer,
    /// Shift that applies to the window field of this end.
    shift: u8,
    /// Timestamp that the next segment echoes: that of the last segment received in order (RFC
    /// 7323 section 4.3).
    echo_us: u32,
    /// Position of this end's FIN in its stream; the FIN counts as one byte.
    fin: Option<u64>,
    read: u64,
    /// Window that the last segment advertised.
    advertised: u64,
    counters: Counters,
    accounted: Time,
    reported: (u8, u8, u64),
    out: Outbox,
}

impl ClassicEndpoint {
    /// Creates an endpoint that neither listens nor connects.
    pub(crate) fn new(settings: ClassicSettings, parts: Parts) -> Self {
        let Parts { flow, user, congestion, seed, jiffies_phase } = parts;
        let settings = Arc::new(settings);
        let mut sender = Sender::new(Arc::clone(&settings), congestion, jiffies_phase);
        sender.sk.cc_random = seed;
        let address_wait = match u64::from(settings.address_wait_ms) {
            0 => 0,
            waits => Stream::new(seed, "address").below(waits),
        };
        let buffer = settings.receive_buffer_bytes;
        let shift = (0..14).find(|shift| buffer >> shift <= u32::from(u16::MAX)).unwrap_or(14);
        Self {
            flow,
            user,
            state: State::Closed,
            pending: Pending::default(),
            address_wait: Duration::from_millis(address_wait),
            address_known: Time::ZERO,
            sender,
            receiver: Receiver::new(),
            peer: Peer { first: FIRST_BYTE, shift: 0, has_sack: false, fin: None },
            shift,
            echo_us: 0,
            fin: None,
            read: 0,
            advertised: buffer.into(),
            counters: Counters::default(),
            accounted: Time::ZERO,
            reported: (0, 0, 0),
            out: Outbox::default(),
            settings,
        }
    }

    /// Opens the connection.
    pub(crate) fn connect(&mut self, now: Time) {
        self.accounted = now;
        self.sender.open(now);
        self.pending.syn = true;
        self.address_known = now + self.address_wait;
        self.state = State::SynSent;
        if self.settings.handshake == Handshake::FirstPacket {
            self.establish(now);
        }
    }

    /// Waits for a connection.
    pub(crate) fn listen(&mut self) {
        self.state = State::Listen;
    }

    fn establish(&mut self, now: Time) {
        self.state = State::Established;
        self.out.push_event(now, TcpEvent::Established);
    }

    // ---- input --------------------------------------------------------------------------------

    /// Processes a segment from the network.
    pub(crate) fn handle_segment(&mut self, now: Time, segment: &Segment) {
        self.account(now);
        if segment.flags.has(Flags::SYN) {
            self.handle_syn(now, segment);
        }
        if self.state == State::SynReceived && segment.flags.has(Flags::ACK) {
            self.sender.handle_opened(now);
            self.establish(now);
        }
        if self.state == State::Established {
            self.handle_payload(now, segment);
            if segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::SYN) {
                self.handle_ack(now, segment);
            }
        }
        self.report(now);
    }

    fn handle_syn(&mut self, now: Time, segment: &Segment) {
        if let Some(options) = segment.syn {
            // Window scaling needs both ends (RFC 7323 section 1.3).
            if options.window_scale.is_none() {
                self.shift = 0;
            }
            self.peer.shift = options.window_scale.unwrap_or(0);
            self.peer.has_sack = options.is_sack_permitted;
            let mss = if options.mss == 0 { DEFAULT_MSS } else { options.mss.into() };
            self.sender.limit_segment(mss);
        }
        self.sender.note_window(segment.window.into());
        self.peer.first = segment.seq.wrapping_add(FIRST_BYTE);
        self.note_timestamp(segment);
        match self.state {
            State::Listen => {
                self.accounted = now;
                if self.settings.handshake == Handshake::FirstPacket {
                    self.sender.open_passively(now);
                    self.establish(now);
                } else {
                    self.sender.open(now);
                    self.state = State::SynReceived;
                }
                self.address_known = now + self.address_wait;
                self.pending.syn_ack = true;
            }
            State::SynSent | State::Established if segment.flags.has(Flags::ACK) => {
                if self.settings.handshake == Handshake::ThreeWay {
                    self.receiver.demand_ack(now);
                }
                self.sender.handle_opened(now);
                if self.state == State::SynSent {
                    self.establish(now);
                }
            }
            // The peer repeats its SYN because our answer was lost.
            State::SynReceived | State::Established => self.pending.syn_ack = true,
            State::SynSent | State::Closed => {}
        }
    }

    fn handle_payload(&mut self, now: Time, segment: &Segment) {
        let has_fin = segment.flags.has(Flags::FIN);
        if segment.payload == 0 && !has_fin {
            return;
        }
        let start = nearest(self.receiver.next(), segment.seq.wrapping_sub(self.peer.first));
        let Some(start) = start else { return };
        let data_end = start + u64::from(segment.payload);
        let before = self.receiver.next();
        // A stream ends only once, and not before data that already arrived.
        if has_fin && data_end >= before {
            self.peer.fin.get_or_insert(data_end);
        }
        let end = data_end + u64::from(has_fin && self.peer.fin == Some(data_end));
        let window_end = before + u64::from(self.settings.receive_buffer_bytes);
        if start == end || start > window_end {
            self.receiver.demand_ack(now);
            return;
        }
        self.receiver.handle_data(now, start, end, &self.settings);
        if end <= before {
            self.counters.duplicate_segments += 1;
        }
        if self.receiver.next() > before {
            self.note_timestamp(segment);
        }
        if self.has_fin() && self.peer.fin.is_some_and(|fin| before <= fin) {
            self.out.push_event(now, TcpEvent::PeerFinished);
        }
    }

    fn note_timestamp(&mut self, segment: &Segment) {
        if let Some((value, _)) = segment.timestamps {
            self.echo_us = value;
        }
    }

    fn handle_ack(&mut self, now: Time, segment: &Segment) {
        let una = self.sender.una();
        let Some(next) = nearest(una, segment.ack.wrapping_sub(FIRST_BYTE)) else { return };
        let mut blocks = [(0, 0); SackBlocks::MAX];
        let mut count = 0;
        for block in segment.sacks.as_slice() {
            let start = nearest(una, block.start.wrapping_sub(FIRST_BYTE));
            let end = nearest(una, block.end.wrapping_sub(FIRST_BYTE));
            if let (Some(start), Some(end)) = (start, end) {
                blocks[count] = (start, end);
                count += 1;
            }
        }
        let echo = segment.timestamps.filter(|_| self.settings.overhead.timestamp_bytes > 0);
        let ack = Ack {
            next,
            blocks: &blocks[..count],
            echo: echo.map(|(_, echo_us)| sent_at(now, echo_us)),
            is_bare: segment.payload == 0 && !segment.flags.has(Flags::FIN),
            window_bytes: u64::from(segment.window) << self.peer.shift,
        };
        self.sender.handle_ack(now, ack);
    }

    // ---- output -------------------------------------------------------------------------------

    /// Runs timers that are due, and then returns all segments and events.
    pub(crate) fn poll(&mut self, now: Time) -> Polled<'_> {
        loop {
            if self.sender.timer() <= now {
                self.handle_timeout(now);
            }
            let Some(segment) = self.next_segment(now) else { break };
            self.counters.segments_out += 1;
            self.out.push_segment(segment);
        }
        let is_first_due = self.pending.syn || self.pending.syn_ack;
        let syn_due = if is_first_due { self.address_known } else { Time::NEVER };
        self.out.give(self.sender.timer().min(self.receiver.ack_due()).min(syn_due))
    }

    fn handle_timeout(&mut self, now: Time) {
        self.account(now);
        if self.sender.is_opening() {
            self.pending.syn |= matches!(self.state, State::SynSent | State::Established);
            self.pending.syn_ack |= self.state == State::SynReceived;
        }
        self.sender.handle_timeout(now);
        self.report(now);
    }

    fn next_segment(&mut self, now: Time) -> Option<Segment> {
        if self.address_known <= now {
            if std::mem::take(&mut self.pending.syn) {
                return Some(self.syn(now, Flags::SYN));
            }
            if std::mem::take(&mut self.pending.syn_ack) {
                return Some(self.syn(now, Flags::SYN | Flags::ACK));
            }
        }
        if self.state != State::Established {
            return None;
        }
        // The ACK of the handshake precedes the data that follow it.
        let is_due = self.receiver.ack_due() <= now;
        if is_due && self.sender.nxt() == 0 && self.receiver.next() == 0 {
            return Some(self.bare_ack(now));
        }
        self.account(now);
        if let Some(transmit) = self.sender.poll_transmit(now) {
            let has_fin = self.fin.is_some_and(|fin| transmit.end > fin);
            let payload = (transmit.end - transmit.start) as u32 - u32::from(has_fin);
            let fin_bit = if has_fin { Flags::FIN } else { 0 };
            let seq = (transmit.start as u32).wrapping_add(FIRST_BYTE);
            self.counters.retransmitted_segments += u64::from(transmit.is_retransmission);
            self.receiver.note_ack_sent();
            return Some(self.segment(now, seq, payload, Flags::ACK | fin_bit));
        }
        if is_due {
            self.counters.delayed_acks += u64::from(self.receiver.is_ack_delayed());
            return Some(self.bare_ack(now));
        }
        None
    }

    fn bare_ack(&mut self, now: Time) -> Segment {
        self.receiver.note_ack_sent();
        let seq = (self.sender.nxt() as u32).wrapping_add(FIRST_BYTE);
        let mut segment = self.segment(now, seq, 0, Flags::ACK);
        if self.peer.has_sack {
            for &(start, end) in self.receiver.sack_blocks(&self.settings).as_slice() {
                let wire = |offset: u64| (offset as u32).wrapping_add(self.peer.first);
                segment.sacks.push(SackBlock { start: wire(start), end: wire(end) });
            }
            let blocks = segment.sacks.as_slice().len() as u32;
            segment.header_bytes += (blocks * self.settings.overhead.sack_block_bytes) as u16;
        }
        segment
    }

    fn syn(&mut self, now: Time, flags: u16) -> Segment {
        let options = SynOptions {
            mss: self.settings.segment_bytes.try_into().unwrap_or(u16::MAX),
            window_scale: Some(self.shift),
            is_sack_permitted: self.settings.sack_blocks > 0,
        };
        let mut segment = self.segment(now, 0, 0, flags);
        segment.syn = Some(options);
        segment.window = segment.window.max((self.advertised.min(u64::from(u16::MAX))) as u16);
        // No options on the wire, as for a SYN in ns-2.
        segment.header_bytes = self.settings.overhead.header_bytes as u16;
        segment
    }

    fn segment(&mut self, now: Time, seq: u32, payload: u32, flags: u16) -> Segment {
        let has_timestamps = self.settings.overhead.timestamp_bytes > 0;
        let fin = u64::from(self.has_fin());
        let unread = self.receiver.next() - fin - self.read;
        self.advertised = u64::from(self.settings.receive_buffer_bytes).saturating_sub(unread);
        // ns-2 counts the option in data segments only.
        let option = if payload > 0 { self.settings.overhead.timestamp_bytes } else { 0 };
        Segment {
            flow: self.flow,
            user: self.user,
            seq,
            ack: (self.receiver.next() as u32).wrapping_add(self.peer.first),
            payload,
            window: (self.advertised >> self.shift).min(u64::from(u16::MAX)) as u16,
            flags: Flags(flags),
            ecn: Ecn::NotEct,
            timestamps: has_timestamps.then_some((now.as_micros() as u32, self.echo_us)),
            header_bytes: (self.settings.overhead.header_bytes + option) as u16,
            ..Segment::default()
        }
    }

    // ---- the application ----------------------------------------------------------------------

    /// Writes to the send buffer. Returns the number of bytes that were accepted.
    pub(crate) fn write(&mut self, now: Time, bytes: u64) -> u64 {
        self.account(now);
        let taken = if self.fin.is_some() { 0 } else { bytes.min(self.send_space()) };
        self.sender.write(taken);
        taken
    }

    /// Number of bytes that [`ClassicEndpoint::write`] would accept now.
    pub(crate) fn send_space(&self) -> u64 {
        let window = u64::from(self.settings.window_limit_pkts) * 2;
        let buffer = window * u64::from(self.settings.segment_bytes) + SEND_BUFFER_EXTRA_BYTES;
        buffer.saturating_sub(self.sender.buffered())
    }

    /// Reads up to `max` bytes and returns their number. Sends an ACK if the advertised window was
    /// nearly closed.
    pub(crate) fn read(&mut self, now: Time, max: u64) -> u64 {
        let bytes = self.readable().min(max);
        self.read += bytes;
        let segment = u64::from(self.settings.segment_bytes);
        if bytes > 0 && self.advertised < 2 * segment && self.state == State::Established {
            self.receiver.demand_ack(now);
        }
        bytes
    }

    /// Number of bytes received in order and not read yet.
    pub(crate) fn readable(&self) -> u64 {
        self.receiver.next() - u64::from(self.has_fin()) - self.read
    }

    /// Ends the stream of this end after the data written so far.
    pub(crate) fn close(&mut self, now: Time) {
        self.account(now);
        if self.fin.is_none() {
            self.fin = Some(self.sender.written());
            self.sender.write(1);
        }
    }

    /// Whether the handshake is complete.
    pub(crate) fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Whether the peer has closed its side and the application has read all of the peer's data.
    pub(crate) fn peer_has_finished(&self) -> bool {
        self.has_fin() && self.readable() == 0
    }

    /// Whether the peer's FIN and all data before it have arrived.
    fn has_fin(&self) -> bool {
        self.peer.fin.is_some_and(|fin| self.receiver.next() > fin)
    }

    /// Whether both ends have closed and all data are acknowledged and read.
    pub(crate) fn is_closed(&self) -> bool {
        self.peer_has_finished() && self.fin.is_some_and(|fin| self.sender.una() > fin)
    }

    // ---- observable state ---------------------------------------------------------------------

    pub(crate) fn cwnd_pkts(&self) -> u32 {
        self.sender.sk.snd_cwnd
    }

    pub(crate) fn srtt_us(&self) -> u32 {
        self.sender.sk.srtt_us >> 3
    }

    /// A snapshot of the sender's state.
    pub(crate) fn info(&self) -> Info {
        let sk = &self.sender.sk;
        let data_end = self.fin.unwrap_or(u64::MAX);
        Info {
            cwnd_pkts: self.cwnd_pkts(),
            ssthresh_pkts: (sk.snd_ssthresh < INFINITE_SSTHRESH).then_some(sk.snd_ssthresh),
            srtt_us: self.srtt_us(),
            rttvar_us: sk.mdev_us >> 2,
            min_rtt_us: (sk.rtt_min_us != u32::MAX).then_some(sk.rtt_min_us),
            rto: self.sender.estimator().rto(),
            unacked_pkts: sk.packets_out,
            sacked_pkts: sk.sacked_out,
            lost_pkts: sk.lost_out,
            retrans_pkts: 0,
            delivered_ce_pkts: 0,
            in_flight_pkts: self.sender.in_flight(),
            retransmits: sk.inet_conn.icsk_retransmits.into(),
            backoff: self.sender.estimator().doublings(),
            ca_state: CaState::from_u8(sk.inet_conn.icsk_ca_state),
            snd_una_bytes: self.sender.una().min(data_end),
            snd_nxt_bytes: self.sender.nxt().min(data_end),
            snd_wnd_bytes: self.sender.peer_window().try_into().unwrap_or(u32::MAX),
            notsent_bytes: self.sender.unsent(),
            pacing_rate: None,
            delivery_rate: None,
            phase: sk.cc_phase,
        }
    }

    /// Counters since the creation of the endpoint.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// RTT sample of the last segment, in microseconds.
    pub(crate) fn last_rtt_us(&self) -> Option<u32> {
        let rtt = self.sender.last_rtt()?;
        Some(u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX))
    }

    /// Adds the time since the last call to the counters of busy and limited time.
    fn account(&mut self, now: Time) {
        let passed = now.saturating_since(self.accounted);
        self.accounted = now;
        if self.sender.buffered() == 0 {
            return;
        }
        self.counters.busy += passed;
        if self.sender.is_blocked_by_peer() {
            self.counters.rwnd_limited += passed;
        } else if self.sender.unsent() == 0 && self.send_space() == 0 {
            self.counters.sndbuf_limited += passed;
        }
    }

    /// Converts state changes of the sender to events and counters.
    fn report(&mut self, now: Time) {
        let before = self.reported;
        let sk = &self.sender.sk;
        let is = (sk.inet_conn.icsk_ca_state, sk.cc_phase, self.sender.counters.timeouts);
        self.reported = is;
        self.counters.timeouts = is.2;
        self.counters.recoveries = self.sender.counters.fast_retransmits;
        if is.2 != before.2 {
            self.out.push_event(now, TcpEvent::Timeout(sk.inet_conn.icsk_retransmits.into()));
        }
        if is.0 != before.0 {
            self.out.push_event(now, TcpEvent::State(CaState::from_u8(is.0)));
        }
        if is.1 != before.1 {
            self.out.push_event(now, TcpEvent::Phase(is.1));
        }
    }
}

/// Returns the stream position nearest to `reference` whose lower 32 bits are `low`; `None` if it
/// is negative.
fn nearest(reference: u64, low: u32) -> Option<u64> {
    let ahead = low.wrapping_sub(reference as u32) as i32;
    reference.checked_add_signed(ahead.into())
}

/// Returns the time at which the segment was sent whose timestamp is echoed.
fn sent_at(now: Time, echo_us: u32) -> Time {
    let ago = (now.as_micros() as u32).wrapping_sub(echo_us);
    Time::from_nanos(now.as_nanos().saturating_sub(u64::from(ago) * 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_go_on_beyond_the_wrap_of_sequence_numbers() {
        let turn = 1_u64 << 32;
        assert_eq!(nearest(0, 5), Some(5));
        assert_eq!(nearest(0, u32::MAX), None);
        assert_eq!(nearest(turn - 10, 5), Some(turn + 5));
        assert_eq!(nearest(turn + 5, u32::MAX), Some(turn - 1));
        assert_eq!(nearest(3 * turn, 0), Some(3 * turn));
    }

    #[test]
    fn echoed_timestamps_survive_their_wrap() {
        let now = Time::from_micros((1 << 32) + 7);
        assert_eq!(sent_at(now, u32::MAX), Time::from_micros(u64::from(u32::MAX)));
    }
}
