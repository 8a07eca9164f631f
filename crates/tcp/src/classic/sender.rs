//! The sending half: windows, losses and their repair.
//!
//! ```text
//!             duplicate ACKs                    all of the flight acknowledged
//!   +------+ ----------------> +----------+ ------------------------+
//!   | open |                   | recovery |  (Reno: any new data)   |
//!   +------+ <---------------- +----------+ <-----------------------+
//!     ^  |                       |
//!     |  | timeout               | timeout
//!     |  +-----> +------+ <------+
//!     +--------- | loss |   slow start from the first hole on
//!   flight       +------+
//!   acknowledged
//! ```
//!
//! The window lives in [`TcpSock`] and its size after a loss comes from the congestion control; what
//! recovery adds to it (inflation) and takes from it is here. Sequence numbers count payload bytes
//! from 0; the packet or SYN that opens the connection is counted apart.

use std::collections::VecDeque;
use std::sync::Arc;

use cwndlab_cc::{AckSample, Congestion, CwndEvent, TcpSock};
use cwndlab_units::{Duration, Time};

use super::scoreboard::Scoreboard;
use super::settings::{ClassicSettings, Handshake, Recovery, RttSampling};
use super::timer::RtoEstimator;

/// States of the ACK state machine as algorithms know them: `TCP_CA_Open` and so on.
const CA_OPEN: u8 = 0;
const CA_RECOVERY: u8 = 3;
const CA_LOSS: u8 = 4;

/// What an ACK says to the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack<'a> {
    /// The next byte that the receiver expects.
    pub(crate) next: u64,
    /// SACK blocks.
    pub(crate) blocks: &'a [(u64, u64)],
    /// When the segment left that the ACK echoes.
    pub(crate) echo: Option<Time>,
    /// Whether the ACK carried nothing else: only such a one can be a duplicate.
    pub(crate) is_bare: bool,
    /// The receive window.
    pub(crate) window_bytes: u64,
}

/// A range to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transmit {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_retransmission: bool,
}

/// What a recorder may want to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SenderEvent {
    RecoveryEntered,
    RecoveryLeft,
    Timeout,
}

/// How the window moves between a loss and its repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Open,
    Recovery,
    Loss,
}

/// Sends one direction of a connection.
#[derive(Debug)]
pub(crate) struct Sender {
    settings: Arc<ClassicSettings>,
    recovery: Recovery,
    pub(crate) sk: TcpSock,
    congestion: Congestion,
    phase: Phase,
    /// First byte not acknowledged, next to send, highest sent, and end of what was written.
    una: u64,
    nxt: u64,
    max: u64,
    written: u64,
    /// The SYN or first packet is in flight.
    opening: bool,
    peer_window: u64,
    duplicate_acks: u32,
    /// Highest byte sent when the last loss was noticed: no duplicate ACK below it counts again
    /// (RFC 6582 section 3.2, step 1).
    recover: Option<u64>,
    /// The first unacknowledged segment is to be sent again whatever the window says.
    resend_first: bool,
    /// Fall and Floyd's estimate of packets in flight in recovery.
    pipe: i64,
    /// Packets that FACK's recovery lets be in flight, and whether this ACK takes one away.
    allowance: u32,
    takes_one: bool,
    is_first_partial_ack: bool,
    scoreboard: Scoreboard,
    /// End of each retransmitted hole in rising order, and the highest byte sent before it.
    repairs: VecDeque<(u64, u64)>,
    estimator: RtoEstimator,
    timer: Time,
    /// End and departure of the segment being timed.
    timed: Option<(u64, Time)>,
    last_rtt: Option<Duration>,
    last_event: Option<SenderEvent>,
    pub(crate) counters: SenderCounters,
}

/// What the sender counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct SenderCounters {
    pub(crate) retransmitted_segments: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) timeouts: u64,
}

impl Sender {
    pub(crate) fn new(settings: Arc<ClassicSettings>, congestion: Congestion) -> Self {
        let mut sk = TcpSock {
            snd_cwnd: settings.initial_window_pkts,
            snd_cwnd_clamp: settings.window_limit_pkts,
            snd_ssthresh: settings.window_limit_pkts,
            mss_cache: settings.segment_bytes,
            advmss: settings.segment_bytes,
            ..TcpSock::default()
        };
        congestion.attach(&mut sk);
        Self {
            estimator: RtoEstimator::new(
                settings.rtt_tick(),
                settings.rto_initial(),
                settings.rto_min(),
                settings.rto_max(),
            ),
            recovery: settings.recovery,
            settings,
            sk,
            congestion,
            phase: Phase::Open,
            una: 0,
            nxt: 0,
            max: 0,
            written: 0,
            opening: false,
            peer_window: u64::MAX,
            duplicate_acks: 0,
            recover: None,
            resend_first: false,
            pipe: 0,
            allowance: 0,
            takes_one: false,
            is_first_partial_ack: false,
            scoreboard: Scoreboard::default(),
            repairs: VecDeque::new(),
            timer: Time::NEVER,
            timed: None,
            last_rtt: None,
            last_event: None,
            counters: SenderCounters::default(),
        }
    }

    fn segment(&self) -> u64 {
        self.settings.segment_bytes.into()
    }

    fn packets(&self, bytes: u64) -> u32 {
        bytes.div_ceil(self.segment()).try_into().unwrap_or(u32::MAX)
    }

    /// Algorithms read the time from the socket; jiffies are ticks of 4 ms.
    fn set_clock(&mut self, now: Time) {
        self.sk.tcp_mstamp = now.as_micros();
        self.sk.tcp_clock_cache = now.as_nanos();
        self.sk.cc_jiffies32 = (now.as_millis() / 4) as u32;
    }

    /// Shows the algorithm where the connection stands.
    fn publish(&mut self) {
        self.sk.snd_una = self.una as u32;
        self.sk.snd_nxt = self.nxt as u32;
        self.sk.packets_out = self.packets(self.nxt - self.una);
        self.sk.sacked_out = self.packets(self.scoreboard.sacked_bytes());
        self.sk.lost_out = self.packets(self.scoreboard.waiting_bytes());
        // A classic sender does not ask whether it uses the window that it opens.
        self.sk.is_cwnd_limited = 1;
        self.sk.max_packets_out = self.sk.packets_out;
    }

    /// The packet or SYN that opens the connection leaves.
    pub(crate) fn open(&mut self, now: Time) {
        self.set_clock(now);
        self.congestion.init(&mut self.sk);
        self.opening = true;
        self.timed = Some((0, now));
        self.timer = now + self.estimator.rto();
    }

    /// The opening packet is acknowledged.
    pub(crate) fn handle_opened(&mut self, now: Time) {
        if !std::mem::take(&mut self.opening) {
            return;
        }
        self.set_clock(now);
        self.take_timing(now, 0);
        if self.settings.handshake_opens_window {
            self.grow();
        }
        self.timer = if self.max > self.una { now + self.estimator.rto() } else { Time::NEVER };
    }

    /// Whether the opening packet must be sent once more.
    pub(crate) fn is_opening(&self) -> bool {
        self.opening
    }

    /// The application wrote so many bytes more.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// Bytes written and not yet acknowledged.
    pub(crate) fn buffered(&self) -> u64 {
        self.written - self.una
    }

    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }

    /// When the retransmission timer runs out.
    pub(crate) fn timer(&self) -> Time {
        self.timer
    }

    pub(crate) fn estimator(&self) -> &RtoEstimator {
        &self.estimator
    }

    /// The RTT that the last ACK gave.
    pub(crate) fn last_rtt(&self) -> Option<Duration> {
        self.last_rtt
    }

    /// What happened since the last call.
    pub(crate) fn take_event(&mut self) -> Option<SenderEvent> {
        self.last_event.take()
    }

    pub(crate) fn congestion(&self) -> &Congestion {
        &self.congestion
    }

    /// Packets in flight, as this sender's recovery counts them.
    pub(crate) fn in_flight(&self) -> u32 {
        match (self.recovery, self.phase) {
            (Recovery::Sack, Phase::Recovery) => self.pipe.max(0).try_into().unwrap_or(u32::MAX),
            (Recovery::Fack, _) => self.packets(
                self.nxt
                    - self.una
                    - self.scoreboard.sacked_bytes()
                    - self.scoreboard.waiting_bytes(),
            ),
            _ => self.packets(self.nxt - self.una),
        }
    }

    // ---- what arrives -------------------------------------------------------------------------

    /// An ACK arrived.
    pub(crate) fn handle_ack(&mut self, now: Time, ack: Ack<'_>) {
        self.last_rtt = None;
        if ack.next > self.max || ack.next < self.una {
            return;
        }
        self.set_clock(now);
        let window_moved =
            std::mem::replace(&mut self.peer_window, ack.window_bytes) != ack.window_bytes;
        let news = self.take_blocks(ack.blocks);
        if self.settings.rtt_sampling == RttSampling::EveryAck {
            self.take_echo(now, ack.echo);
        }
        if ack.next > self.una {
            self.handle_new_ack(now, ack.next);
        } else if self.max > self.una && ack.is_bare && (!window_moved || news) {
            self.handle_duplicate(now, news);
        }
        self.publish();
    }

    fn take_blocks(&mut self, blocks: &[(u64, u64)]) -> bool {
        if !matches!(self.recovery, Recovery::Sack | Recovery::Fack) {
            return false;
        }
        let mut news = false;
        for &(start, end) in blocks {
            let start = start.max(self.una);
            if start < end && end <= self.max {
                news |= self.scoreboard.insert(start, end);
            }
        }
        news
    }

    /// Every ACK gives a sample and starts the timer anew.
    fn take_echo(&mut self, now: Time, echo: Option<Time>) {
        let Some(sent) = echo else { return };
        self.estimator.take_echo(sent, now);
        self.estimator.end_backoff();
        self.note_rtt(now.saturating_since(sent));
        if self.max > self.una {
            self.timer = now + self.estimator.rto();
        }
    }

    fn note_rtt(&mut self, rtt: Duration) {
        self.last_rtt = Some(rtt);
        let rtt_us = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX).max(1);
        self.sk.rtt_min_us = self.sk.rtt_min_us.min(rtt_us);
        let srtt = self.estimator.srtt().unwrap_or(rtt);
        self.sk.srtt_us = u32::try_from(srtt.as_micros() * 8).unwrap_or(u32::MAX);
        self.sk.mdev_us =
            u32::try_from(self.estimator.rttvar().as_micros() * 4).unwrap_or(u32::MAX);
    }

    /// Ends the timing of the timed segment if `acknowledged` covers it.
    fn take_timing(&mut self, now: Time, acknowledged: u64) {
        let Some((_, sent)) = self.timed.take_if(|timed| acknowledged >= timed.0) else { return };
        self.estimator.end_backoff();
        if self.settings.rtt_sampling == RttSampling::OneSegment {
            self.estimator.take_timed(sent, now);
            self.note_rtt(now.saturating_since(sent));
        }
    }

    fn handle_new_ack(&mut self, now: Time, next: u64) {
        let acknowledged = self.packets(next - self.una);
        let in_flight = self.in_flight();
        self.una = next;
        self.nxt = self.nxt.max(next);
        self.scoreboard.advance(next);
        self.duplicate_acks = 0;
        self.sk.delivered += acknowledged;
        self.sk.bytes_acked = next;
        self.take_timing(now, next);
        self.publish();
        let rtt_us = self.last_rtt.map_or(-1, |rtt| rtt.as_micros().try_into().unwrap_or(-1));
        let sample = AckSample { pkts_acked: acknowledged, rtt_us, in_flight };
        self.congestion.pkts_acked(&mut self.sk, &sample);

        let restart_timer = match self.phase {
            Phase::Recovery if self.has_recovered() => {
                self.leave_recovery();
                true
            }
            Phase::Recovery => self.handle_partial_ack(acknowledged),
            Phase::Open | Phase::Loss => {
                if self.phase == Phase::Loss && self.has_recovered() {
                    self.enter(Phase::Open);
                }
                self.grow();
                true
            }
        };
        if self.max == self.una && !self.opening {
            self.timer = Time::NEVER;
        } else if restart_timer {
            self.timer = now + self.estimator.rto();
        }
    }

    /// Opens the window for one ACK, however much it acknowledges (RFC 5681 section 3.1).
    fn grow(&mut self) {
        self.publish();
        let una = self.sk.snd_una;
        self.congestion.cong_avoid(&mut self.sk, una, 1);
    }

    /// Whether all that was in flight at the loss is acknowledged. Reno does not ask.
    fn has_recovered(&self) -> bool {
        let reno = self.recovery == Recovery::Reno && self.phase == Phase::Recovery;
        reno || self.recover.is_none_or(|recover| self.una >= recover)
    }

    fn leave_recovery(&mut self) {
        self.repairs.clear();
        match self.recovery {
            Recovery::Reno | Recovery::NewReno => self.sk.snd_cwnd = self.sk.snd_ssthresh,
            Recovery::Tahoe | Recovery::Sack | Recovery::Fack => {}
        }
        self.enter(Phase::Open);
        self.last_event = Some(SenderEvent::RecoveryLeft);
    }

    /// New data are acknowledged, but not all of the flight. Returns whether the timer starts anew.
    fn handle_partial_ack(&mut self, acknowledged: u32) -> bool {
        match self.recovery {
            // RFC 6582 section 3.2, step 3: the next hole, and the window smaller by what left the
            // network; the timer starts anew for the first partial ACK only.
            Recovery::NewReno => {
                self.resend_first = true;
                self.sk.snd_cwnd = self.sk.snd_cwnd.saturating_sub(acknowledged) + 1;
                std::mem::take(&mut self.is_first_partial_ack)
            }
            // The retransmission and the original both left the pipe (Fall and Floyd, 1996).
            Recovery::Sack => {
                self.pipe -= 2;
                self.find_losses();
                true
            }
            Recovery::Fack => {
                self.find_losses();
                self.find_lost_retransmission();
                self.halve_rate();
                true
            }
            Recovery::Tahoe | Recovery::Reno => true,
        }
    }

    fn handle_duplicate(&mut self, now: Time, news: bool) {
        if self.recovery == Recovery::Sack && !news && self.phase != Phase::Recovery {
            return;
        }
        self.duplicate_acks += 1;
        match (self.phase, self.recovery) {
            (Phase::Recovery, Recovery::Sack) => {
                self.pipe -= 1;
                self.find_losses();
            }
            (Phase::Recovery, Recovery::Fack) => {
                self.find_losses();
                self.find_lost_retransmission();
                self.halve_rate();
            }
            // RFC 5681 section 3.2, step 4: each duplicate ACK is a segment that left the network.
            (Phase::Recovery, _) => self.sk.snd_cwnd += 1,
            (_, Recovery::Fack) => {
                if self.has_gap() && self.may_enter_recovery() {
                    self.enter_recovery(now);
                }
            }
            _ => {
                let threshold = self.settings.duplicate_ack_threshold;
                if self.duplicate_acks == threshold && self.may_enter_recovery() {
                    self.enter_recovery(now);
                }
            }
        }
    }

    /// The highest SACK is more than the threshold above the first hole.
    fn has_gap(&self) -> bool {
        self.scoreboard.highest().is_some_and(|top| top > self.una + self.fack_distance())
    }

    /// A segment is lost if the highest SACKed one is more than the threshold above it.
    fn fack_distance(&self) -> u64 {
        u64::from(self.settings.duplicate_ack_threshold + 1) * self.segment()
    }

    /// Duplicate ACKs of a flight whose loss is being repaired already do not count again.
    fn may_enter_recovery(&self) -> bool {
        self.recover.is_none_or(|recover| self.una > recover)
    }

    fn enter_recovery(&mut self, now: Time) {
        let in_flight = self.in_flight();
        self.counters.fast_retransmits += 1;
        self.last_event = Some(SenderEvent::RecoveryEntered);
        self.recover = Some(self.max);
        self.sk.prior_cwnd = self.sk.snd_cwnd;
        self.sk.snd_ssthresh = self.congestion.ssthresh(&mut self.sk);
        self.sk.high_seq = self.max as u32;
        self.is_first_partial_ack = true;
        self.resend_first = true;
        self.timed = None;
        self.timer = now + self.estimator.rto();
        let threshold = self.settings.duplicate_ack_threshold;
        match self.recovery {
            Recovery::Tahoe => {
                self.sk.snd_cwnd = 1;
                self.sk.snd_cwnd_cnt = 0;
                self.nxt = self.una;
                self.resend_first = false;
                self.congestion.cwnd_event(&mut self.sk, CwndEvent::Loss);
                return self.enter(Phase::Loss);
            }
            Recovery::Reno | Recovery::NewReno => {
                self.sk.snd_cwnd = self.sk.snd_ssthresh + threshold;
            }
            Recovery::Sack => {
                self.sk.snd_cwnd = self.sk.snd_ssthresh;
                self.pipe = i64::from(in_flight) - i64::from(threshold);
            }
            Recovery::Fack => {
                self.allowance = self.sk.snd_cwnd;
                self.takes_one = false;
                self.sk.snd_cwnd = self.sk.snd_ssthresh;
                self.find_losses();
                self.halve_rate();
            }
        }
        self.sk.snd_cwnd_cnt = 0;
        self.enter(Phase::Recovery);
        self.find_losses();
    }

    /// Gives up the holes that the SACK blocks show to be lost.
    fn find_losses(&mut self) {
        let edge = match self.recovery {
            Recovery::Sack => {
                let above = u64::from(self.settings.duplicate_ack_threshold) * self.segment();
                self.scoreboard.edge_below_sacked(above)
            }
            Recovery::Fack => {
                self.scoreboard.highest().map_or(0, |top| top.saturating_sub(self.fack_distance()))
            }
            Recovery::Tahoe | Recovery::Reno | Recovery::NewReno => return,
        };
        self.scoreboard.raise_lost(edge);
    }

    /// Sends the first hole once more if segments that left after its retransmission are SACKed as
    /// far above as makes a loss. Without this nothing would end the recovery: every duplicate ACK
    /// restarts the timer of a sender of this kind.
    fn find_lost_retransmission(&mut self) {
        while self.repairs.front().is_some_and(|repair| repair.0 <= self.una) {
            self.repairs.pop_front();
        }
        let Some(highest) = self.scoreboard.highest() else { return };
        let (distance, max) = (self.fack_distance(), self.max);
        if let Some(repair) = self.repairs.front_mut()
            && highest >= repair.1 + distance
        {
            repair.1 = max;
            self.resend_first = true;
        }
    }

    fn note_repair(&mut self, end: u64) {
        self.scoreboard.repair(end);
        if self.repairs.back().is_none_or(|last| last.0 < end) {
            self.repairs.push_back((end, self.max));
        }
    }

    /// Every second ACK takes one packet out of flight until `ssthresh` are left, and no ACK lets
    /// go more than one packet.
    fn halve_rate(&mut self) {
        self.allowance -= u32::from(self.takes_one);
        self.takes_one = !self.takes_one;
        self.allowance = self.allowance.min(self.in_flight() + 1).max(self.sk.snd_ssthresh);
    }

    fn enter(&mut self, phase: Phase) {
        let state = match phase {
            Phase::Open => CA_OPEN,
            Phase::Recovery => CA_RECOVERY,
            Phase::Loss => CA_LOSS,
        };
        self.phase = phase;
        self.congestion.set_state(&mut self.sk, state);
        self.sk.inet_conn.icsk_ca_state = state;
        if phase == Phase::Open {
            self.sk.inet_conn.icsk_retransmits = 0;
        }
    }

    /// The retransmission timer ran out: slow start from the first unacknowledged segment on, and
    /// the whole flight is sent again (RFC 5681 section 3.1; Jacobson, 1988).
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.timer = Time::NEVER;
        self.set_clock(now);
        self.estimator.back_off();
        self.timed = None;
        if !self.opening && self.max == self.una {
            return;
        }
        self.timer = now + self.estimator.rto();
        if self.opening && self.max == self.una {
            return;
        }
        self.counters.timeouts += 1;
        self.last_event = Some(SenderEvent::Timeout);
        // A second timeout of the same segment leaves the threshold (RFC 5681 section 3.1).
        if self.sk.inet_conn.icsk_retransmits == 0 {
            self.sk.prior_cwnd = self.sk.snd_cwnd;
            self.sk.snd_ssthresh = self.congestion.ssthresh(&mut self.sk);
        }
        self.sk.inet_conn.icsk_retransmits = self.sk.inet_conn.icsk_retransmits.saturating_add(1);
        self.recover = Some(self.max);
        self.sk.high_seq = self.max as u32;
        self.sk.snd_cwnd = 1;
        self.sk.snd_cwnd_cnt = 0;
        self.nxt = self.una;
        self.duplicate_acks = 0;
        self.resend_first = false;
        self.repairs.clear();
        self.scoreboard.clear(self.una);
        self.congestion.cwnd_event(&mut self.sk, CwndEvent::Loss);
        self.enter(Phase::Loss);
        self.publish();
    }

    // ---- what leaves --------------------------------------------------------------------------

    /// The next segment, if one may leave now. It counts as sent.
    pub(crate) fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        if self.opening && self.settings.handshake == Handshake::ThreeWay {
            return None;
        }
        let segment = self.segment();
        if std::mem::take(&mut self.resend_first) {
            let end = self.max.min(self.una + segment);
            self.note_repair(end);
            return Some(self.note_sent(now, self.una, end));
        }
        if self.phase == Phase::Recovery
            && self.has_room_in_recovery()
            && let Some((start, end)) = self.scoreboard.next_lost(segment)
        {
            self.note_repair(end);
            self.pipe += 1;
            return Some(self.note_sent(now, start, end));
        }
        let end = self.written.min(self.nxt + segment);
        if end <= self.nxt || !self.has_room(end) {
            return None;
        }
        let start = self.nxt;
        self.nxt = end;
        self.pipe += 1;
        Some(self.note_sent(now, start, end))
    }

    fn has_room_in_recovery(&self) -> bool {
        match self.recovery {
            Recovery::Sack => self.pipe < i64::from(self.sk.snd_cwnd),
            Recovery::Fack => self.in_flight() < self.allowance,
            Recovery::Tahoe | Recovery::Reno | Recovery::NewReno => false,
        }
    }

    /// Whether the windows let data go out up to `end`.
    fn has_room(&self, end: u64) -> bool {
        if end - self.una > self.peer_window {
            return false;
        }
        let flight = self.packets(end - self.una) + u32::from(self.opening);
        let within_limit = flight <= self.settings.window_limit_pkts;
        match (self.recovery, self.phase) {
            // SACKed packets make room, beyond the limit too, which bounds the window only.
            (Recovery::Fack, Phase::Recovery) => self.has_room_in_recovery(),
            (Recovery::Fack, _) => self.in_flight() + u32::from(self.opening) < self.sk.snd_cwnd,
            (Recovery::Sack, Phase::Recovery) => within_limit && self.has_room_in_recovery(),
            _ => within_limit && flight <= self.sk.snd_cwnd + self.limited_transmit(),
        }
    }

    /// What the first duplicate ACKs add to the window (RFC 3042).
    fn limited_transmit(&self) -> u32 {
        let may = self.settings.limited_transmit
            && self.phase == Phase::Open
            && self.duplicate_acks < self.settings.duplicate_ack_threshold;
        if may { self.duplicate_acks } else { 0 }
    }

    fn note_sent(&mut self, now: Time, start: u64, end: u64) -> Transmit {
        let is_retransmission = start < self.max;
        if is_retransmission {
            self.counters.retransmitted_segments += 1;
            self.sk.total_retrans += 1;
        } else if self.timed.is_none() {
            self.timed = Some((end, now));
        }
        if self.max == self.una && !self.opening {
            self.sk.lsndtime = self.sk.cc_jiffies32;
        }
        self.max = self.max.max(end);
        if self.timer.is_never() {
            self.timer = now + self.estimator.rto();
        }
        self.publish();
        Transmit { start, end, is_retransmission }
    }
}
