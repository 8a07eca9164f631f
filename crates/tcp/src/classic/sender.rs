//! The sending half of a classic endpoint: windows, losses, and the repair of losses.
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
//! The congestion window is in [`TcpSock`], and congestion control computes its size after a loss;
//! this module inflates and deflates it in recovery. Sequence numbers count payload bytes from 0;
//! the packet or SYN that opens the connection is counted separately.

use std::sync::Arc;

use cwndlab_cc::{AckSample, Congestion, CwndEvent, JIFFY, Requests, TcpSock};
use cwndlab_units::{Duration, Time};

use super::scoreboard::Scoreboard;
use super::settings::{ClassicSettings, Handshake, Recovery, RttReport, RttSampling};
use super::timer::RtoEstimator;
use fine_timer::FineTimer;

mod fine_timer;
mod recovery;

/// State of the ACK state machine that algorithms see, with the kernel's number: `TCP_CA_Open`.
const CA_OPEN: u8 = 0;
/// State `TCP_CA_CWR` with the kernel's number.
const CA_CWR: u8 = 2;
/// State `TCP_CA_Recovery` with the kernel's number.
const CA_RECOVERY: u8 = 3;
/// State `TCP_CA_Loss` with the kernel's number.
const CA_LOSS: u8 = 4;

/// Contents of an ACK, for the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack<'a> {
    /// The next byte that the receiver expects.
    pub(crate) next: u64,
    /// SACK blocks.
    pub(crate) blocks: &'a [(u64, u64)],
    /// Time at which the segment was sent that the ACK echoes.
    pub(crate) echo: Option<Time>,
    /// Whether the segment contains nothing except the ACK; only then can the ACK be a duplicate.
    pub(crate) is_bare: bool,
    /// The receive window.
    pub(crate) window_bytes: u64,
}

/// A range of bytes to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transmit {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_retransmission: bool,
}

/// Phase of loss recovery.
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
    segment_bytes: u32,
    pub(crate) sk: TcpSock,
    congestion: Congestion,
    /// Whether the algorithm is listed in
    /// [`LossRules::reduces_flight`](super::settings::LossRules).
    reduces_flight: bool,
    /// Time from the last tick of the algorithms' clock to the start of the run.
    jiffies_phase: Duration,
    phase: Phase,
    stream: Stream,
    /// Whether the SYN or first packet is in flight.
    opening: bool,
    peer_window: u64,
    /// Whether one segment may be sent although the receive window is closed, because the timer
    /// expired.
    is_probing: bool,
    repair: Repair,
    scoreboard: Scoreboard,
    rtt: Timing,
    pub(crate) counters: SenderCounters,
}

/// Position of the sender in its stream, in bytes from the beginning of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Stream {
    /// First byte that is not acknowledged.
    una: u64,
    /// Next byte to send.
    nxt: u64,
    /// Position after the highest byte that was sent.
    max: u64,
    /// Position after the last byte that the application has written.
    written: u64,
}

/// State of the repair of a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Repair {
    duplicate_acks: u32,
    /// Highest byte that was sent when the last loss was detected: duplicate ACKs below it do not
    /// count again (RFC 6582 section 3.2, step 1).
    recover: Option<u64>,
    /// Whether the first unacknowledged segment must be retransmitted, regardless of the window.
    resend_first: bool,
    /// Number of packets in flight during recovery, as Fall and Floyd estimate it.
    pipe: i64,
    /// Number of packets that FACK's recovery allows in flight.
    allowance: u32,
    /// Whether the present ACK reduces the number that is allowed in flight.
    takes_one: bool,
    prr: PrrState,
    is_first_partial_ack: bool,
}

/// Round-trip times, and the timers derived from them.
#[derive(Debug)]
struct Timing {
    estimator: RtoEstimator,
    fine_timer: Option<FineTimer>,
    timer: Time,
    /// End and send time of the segment whose round-trip time is being measured.
    timed: Option<(u64, Time)>,
    last_rtt: Option<Duration>,
    /// The RTT that was last passed to the algorithm.
    reported_rtt: Option<Duration>,
}

impl Timing {
    fn new(settings: &ClassicSettings) -> Self {
        Self {
            estimator: RtoEstimator::new(
                settings.rtt_tick(),
                settings.rto_initial(),
                settings.rto_min(),
                settings.rto_max(),
            ),
            fine_timer: settings.fine_retransmission.then(|| FineTimer::new(settings)),
            timer: Time::NEVER,
            timed: None,
            last_rtt: None,
            reported_rtt: None,
        }
    }
}

/// Packets in flight when recovery began, and packets delivered and sent since then.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct PrrState {
    pub(crate) flight: u32,
    pub(crate) delivered: u32,
    pub(crate) out: u32,
}

/// Counters of the sender's events.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct SenderCounters {
    pub(crate) retransmitted_segments: u64,
    pub(crate) fast_retransmits: u64,
    pub(crate) timeouts: u64,
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.congestion.release(&mut self.sk);
    }
}

impl Sender {
    pub(crate) fn new(
        settings: Arc<ClassicSettings>,
        congestion: Congestion,
        jiffies_phase: Duration,
    ) -> Self {
        let mut sk = TcpSock {
            snd_cwnd: settings.initial_window_pkts,
            snd_cwnd_clamp: settings.window_limit_pkts,
            snd_ssthresh: settings.window_limit_pkts,
            mss_cache: settings.segment_bytes,
            advmss: settings.segment_bytes,
            ..TcpSock::default()
        };
        congestion.attach(&mut sk);
        let reducers = &settings.loss_rules.reduces_flight;
        Self {
            reduces_flight: reducers.iter().any(|name| name == congestion.algorithm().name()),
            rtt: Timing::new(&settings),
            recovery: settings.recovery,
            segment_bytes: settings.segment_bytes,
            settings,
            sk,
            congestion,
            jiffies_phase,
            phase: Phase::Open,
            stream: Stream::default(),
            opening: false,
            peer_window: u64::MAX,
            is_probing: false,
            repair: Repair::default(),
            scoreboard: Scoreboard::default(),
            counters: SenderCounters::default(),
        }
    }

    fn segment(&self) -> u64 {
        self.segment_bytes.into()
    }

    fn packets(&self, bytes: u64) -> u32 {
        bytes.div_ceil(self.segment()).try_into().unwrap_or(u32::MAX)
    }

    /// Updates the clocks in the socket, from which algorithms read the time.
    fn set_clock(&mut self, now: Time) {
        self.sk.tcp_mstamp = now.as_micros();
        self.sk.tcp_clock_cache = now.as_nanos();
        self.sk.cc_jiffies32 = ((now + self.jiffies_phase).as_nanos() / JIFFY.as_nanos()) as u32;
    }

    /// Writes the state of the connection to the socket, where the algorithm can read it.
    fn publish(&mut self) {
        self.sk.snd_una = self.stream.una as u32;
        self.sk.snd_nxt = self.stream.nxt as u32;
        self.sk.packets_out = self.packets(self.stream.nxt - self.stream.una);
        self.sk.sacked_out = self.packets(self.scoreboard.sacked_bytes());
        self.sk.lost_out = self.packets(self.scoreboard.waiting_bytes());
        // A classic sender does not check whether it uses the window that it opens.
        self.sk.is_cwnd_limited = 1;
        self.sk.max_packets_out = self.sk.packets_out;
    }

    /// Starts the connection: the first packet or SYN leaves.
    pub(crate) fn open(&mut self, now: Time) {
        self.set_clock(now);
        self.congestion.init(&mut self.sk);
        self.opening = true;
        self.rtt.timed = Some((0, now));
        self.rtt.timer = now + self.rtt.estimator.rto();
    }

    /// Starts a connection that the peer has opened, if this end's answer needs no retransmission.
    pub(crate) fn open_passively(&mut self, now: Time) {
        self.set_clock(now);
        self.congestion.init(&mut self.sk);
    }

    /// Limits segments to the peer's maximum of `mss` bytes.
    pub(crate) fn limit_segment(&mut self, mss: u32) {
        self.segment_bytes = self.settings.segment_bytes.min(mss);
        self.sk.mss_cache = self.segment_bytes;
        self.sk.advmss = self.segment_bytes;
    }

    /// Sets the peer's window from its SYN, in which the window is not scaled.
    pub(crate) fn note_window(&mut self, bytes: u64) {
        self.peer_window = bytes;
    }

    /// Handles the acknowledgement of the packet that opens the connection.
    pub(crate) fn handle_opened(&mut self, now: Time) {
        if !std::mem::take(&mut self.opening) {
            return;
        }
        self.set_clock(now);
        let has_echo = self.settings.rtt_sampling == RttSampling::EveryAck
            && self.settings.handshake == Handshake::ThreeWay;
        if let (true, Some((_, sent))) = (has_echo, self.rtt.timed) {
            self.take_echo(now, Some(sent));
        }
        self.take_timing(now, 0);
        if self.settings.handshake_opens_window {
            self.grow();
        }
        self.rtt.timer = if self.stream.max > self.stream.una {
            now + self.rtt.estimator.rto()
        } else {
            Time::NEVER
        };
    }

    /// Whether the packet that opens the connection is not acknowledged yet.
    pub(crate) fn is_opening(&self) -> bool {
        self.opening
    }

    /// Appends `bytes` bytes written by the application.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.stream.written += bytes;
    }

    /// Whether the receive window prevents the next segment from being sent.
    pub(crate) fn is_blocked_by_peer(&self) -> bool {
        let next = self.stream.written.min(self.stream.nxt + self.segment());
        next > self.stream.nxt && next - self.stream.una > self.peer_window
    }

    /// Number of bytes written but not acknowledged.
    pub(crate) fn buffered(&self) -> u64 {
        self.stream.written - self.stream.una
    }

    pub(crate) fn una(&self) -> u64 {
        self.stream.una
    }

    pub(crate) fn nxt(&self) -> u64 {
        self.stream.nxt
    }

    pub(crate) fn peer_window(&self) -> u64 {
        self.peer_window
    }

    pub(crate) fn written(&self) -> u64 {
        self.stream.written
    }

    /// Number of bytes written but never sent.
    pub(crate) fn unsent(&self) -> u64 {
        self.stream.written - self.stream.max
    }

    /// Time at which the retransmission timer expires.
    pub(crate) fn timer(&self) -> Time {
        self.rtt.timer
    }

    pub(crate) fn estimator(&self) -> &RtoEstimator {
        &self.rtt.estimator
    }

    /// RTT sample of the last ACK.
    pub(crate) fn last_rtt(&self) -> Option<Duration> {
        self.rtt.last_rtt
    }

    /// RTT that was passed to the algorithm with the last ACK.
    #[cfg(test)]
    pub(crate) fn reported_rtt(&self) -> Option<Duration> {
        self.rtt.reported_rtt
    }

    /// Number of packets in flight, as the recovery of this sender counts them.
    pub(crate) fn in_flight(&self) -> u32 {
        match (self.recovery, self.phase) {
            (Recovery::Sack, Phase::Recovery) => {
                self.repair.pipe.max(0).try_into().unwrap_or(u32::MAX)
            }
            (Recovery::Fack, _) | (Recovery::Prr, Phase::Recovery) => self.outstanding(),
            (_, Phase::Loss) if self.repairs_after_timeouts() => self.outstanding(),
            _ => self.packets(self.stream.nxt - self.stream.una),
        }
    }

    fn has_scoreboard(&self) -> bool {
        matches!(self.recovery, Recovery::Sack | Recovery::Prr | Recovery::Fack)
    }

    /// Whether only data that SACK does not report are retransmitted after a timeout, instead of
    /// all data in flight.
    fn repairs_after_timeouts(&self) -> bool {
        self.settings.loss_rules.sacks_outlive_timeouts && self.has_scoreboard()
    }

    /// Number of packets that were sent and are neither acknowledged, reported by SACK nor lost.
    fn outstanding(&self) -> u32 {
        let gone = self.scoreboard.sacked_bytes() + self.scoreboard.waiting_bytes();
        self.packets(self.stream.nxt - self.stream.una - gone)
    }

    // ---- input --------------------------------------------------------------------------------

    /// Processes an ACK.
    pub(crate) fn handle_ack(&mut self, now: Time, ack: Ack<'_>) {
        (self.rtt.last_rtt, self.rtt.reported_rtt) = (None, None);
        if ack.next > self.stream.max || ack.next < self.stream.una {
            return;
        }
        self.set_clock(now);
        let window_moved =
            std::mem::replace(&mut self.peer_window, ack.window_bytes) != ack.window_bytes;
        let known = self.stream.una + self.scoreboard.sacked_bytes();
        let news = self.take_blocks(ack.blocks);
        if self.settings.rtt_sampling == RttSampling::EveryAck {
            self.take_echo(now, ack.echo);
        }
        if ack.next > self.stream.una {
            self.handle_new_ack(now, ack.next);
        } else if self.stream.max > self.stream.una && ack.is_bare && (!window_moved || news) {
            self.handle_duplicate(now, news);
        }
        if self.recovery == Recovery::Prr && self.phase == Phase::Recovery {
            let delivered =
                (self.stream.una + self.scoreboard.sacked_bytes()).saturating_sub(known);
            self.reduce_proportionally(self.packets(delivered));
        }
        self.publish();
    }

    /// Records SACK blocks, unless all data in flight are being retransmitted anyway. Returns
    /// whether the blocks report anything new.
    fn take_blocks(&mut self, blocks: &[(u64, u64)]) -> bool {
        let is_forgetful = self.phase == Phase::Loss && !self.repairs_after_timeouts();
        if !self.has_scoreboard() || is_forgetful {
            return false;
        }
        let mut news = false;
        for &(start, end) in blocks {
            let start = start.max(self.stream.una);
            if start < end && end <= self.stream.max {
                news |= self.scoreboard.insert(start, end);
            }
        }
        news
    }

    /// Uses the echoed timestamp of an ACK as an RTT sample, and restarts the timer.
    fn take_echo(&mut self, now: Time, echo: Option<Time>) {
        let Some(sent) = echo else { return };
        let rtt = self.settings.echoed_rtt(sent, now);
        self.rtt.estimator.take_echo(rtt);
        self.rtt.estimator.end_backoff();
        self.rtt.last_rtt = Some(now.saturating_since(sent));
        self.note_rtt(rtt);
        if self.stream.max > self.stream.una {
            self.rtt.timer = now + self.rtt.estimator.rto();
        }
    }

    fn note_rtt(&mut self, rtt: Duration) {
        let rtt_us = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX).max(1);
        self.sk.rtt_min_us = self.sk.rtt_min_us.min(rtt_us);
        let srtt = self.rtt.estimator.srtt().unwrap_or(rtt);
        self.sk.srtt_us = u32::try_from(srtt.as_micros() * 8).unwrap_or(u32::MAX);
        self.rtt.reported_rtt = Some(match self.settings.rtt_report {
            RttReport::Sample => rtt,
            RttReport::Smoothed => srtt,
        });
        self.sk.mdev_us =
            u32::try_from(self.rtt.estimator.rttvar().as_micros() * 4).unwrap_or(u32::MAX);
    }

    /// Ends the measurement of a segment's round-trip time if `acknowledged` covers the segment.
    fn take_timing(&mut self, now: Time, acknowledged: u64) {
        let Some((_, sent)) = self.rtt.timed.take_if(|timed| acknowledged >= timed.0) else {
            return;
        };
        self.rtt.estimator.end_backoff();
        if self.settings.rtt_sampling == RttSampling::OneSegment {
            self.rtt.estimator.take_timed(sent, now);
            self.rtt.last_rtt = Some(now.saturating_since(sent));
            self.note_rtt(now.saturating_since(sent));
        }
    }

    fn handle_new_ack(&mut self, now: Time, next: u64) {
        let acknowledged = self.packets(next - self.stream.una);
        let in_flight = self.in_flight();
        self.stream.una = next;
        self.stream.nxt = self.stream.nxt.max(next);
        self.scoreboard.advance(next);
        self.repair.duplicate_acks = 0;
        self.sk.delivered += acknowledged;
        self.sk.bytes_acked = next;
        self.take_timing(now, next);
        if let Some(timer) = &mut self.rtt.fine_timer {
            timer.note_acknowledged(now, next);
        }
        self.publish();
        let rtt_us =
            self.rtt.reported_rtt.map_or(-1, |rtt| rtt.as_micros().try_into().unwrap_or(-1));
        let sample = AckSample { pkts_acked: acknowledged, rtt_us, in_flight };
        let requests = self.congestion.pkts_acked(&mut self.sk, &sample);
        self.serve(requests);

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
        self.look_after_retransmission(now);
        if self.stream.max == self.stream.una && !self.opening && !self.is_blocked_by_peer() {
            self.rtt.timer = Time::NEVER;
        } else if restart_timer {
            self.rtt.timer = now + self.rtt.estimator.rto();
        }
    }

    /// Increases the window for one ACK, however many bytes the ACK acknowledges (RFC 5681 section
    /// 3.1).
    fn grow(&mut self) {
        self.publish();
        let una = self.sk.snd_una;
        let requests = self.congestion.cong_avoid(&mut self.sk, una, 1);
        self.serve(requests);
    }

    /// Sets the slow start threshold after a loss.
    pub(super) fn reduce_threshold(&mut self) {
        let window = self.sk.snd_cwnd;
        self.sk.prior_cwnd = window;
        if self.reduces_flight {
            self.sk.snd_cwnd = self.outstanding();
        }
        self.sk.snd_ssthresh = self.congestion.ssthresh(&mut self.sk);
        self.sk.snd_cwnd = window;
    }

    /// Carries out the requests of the algorithm. The window is reduced at once, as after an ECN
    /// echo (RFC 3168 section 6.1.2), unless a loss has already reduced it. Classic receivers
    /// report no marks, so no algorithm requests an ACK.
    pub(super) fn serve(&mut self, requests: Requests) {
        debug_assert_eq!(requests.ack, None);
        if !requests.reduces || self.phase != Phase::Open {
            return;
        }
        self.sk.prior_cwnd = self.sk.snd_cwnd;
        self.sk.snd_ssthresh = self.congestion.ssthresh(&mut self.sk);
        self.set_state(CA_CWR);
        self.sk.snd_cwnd = self.sk.snd_cwnd.min(self.sk.snd_ssthresh);
        self.sk.snd_cwnd_cnt = 0;
        self.tell(CwndEvent::CompleteCwr);
        self.set_state(CA_OPEN);
    }

    /// Notifies the algorithm of a window event and carries out its requests.
    pub(super) fn tell(&mut self, event: CwndEvent) {
        let requests = self.congestion.cwnd_event(&mut self.sk, event);
        self.serve(requests);
    }

    fn set_state(&mut self, state: u8) {
        self.congestion.set_state(&mut self.sk, state);
        self.sk.inet_conn.icsk_ca_state = state;
    }

    fn enter(&mut self, phase: Phase) {
        let state = match phase {
            Phase::Open => CA_OPEN,
            Phase::Recovery => CA_RECOVERY,
            Phase::Loss => CA_LOSS,
        };
        self.phase = phase;
        self.set_state(state);
        if phase == Phase::Open {
            self.sk.inet_conn.icsk_retransmits = 0;
        }
    }

    /// Handles the expiry of the retransmission timer: slow start begins at the first
    /// unacknowledged segment.
    ///
    /// All data in flight are retransmitted (RFC 5681 section 3.1; Jacobson, 1988), or only the
    /// bytes that no SACK block covers
    /// ([`LossRules::sacks_outlive_timeouts`](super::settings::LossRules)).
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.rtt.timer = Time::NEVER;
        self.set_clock(now);
        self.rtt.estimator.back_off();
        self.rtt.timed = None;
        if self.stream.max == self.stream.una {
            // The opening packet was lost, or the receive window is closed (RFC 9293 section
            // 3.8.6.1).
            self.is_probing = !self.opening && self.is_blocked_by_peer();
            if self.opening || self.is_probing {
                self.rtt.timer = now + self.rtt.estimator.rto();
            }
            return;
        }
        self.rtt.timer = now + self.rtt.estimator.rto();
        self.counters.timeouts += 1;
        let is_first = self.sk.inet_conn.icsk_retransmits == 0;
        if is_first || self.settings.loss_rules.every_timeout_reduces {
            self.reduce_threshold();
        }
        self.sk.inet_conn.icsk_retransmits = self.sk.inet_conn.icsk_retransmits.saturating_add(1);
        self.repair.recover = Some(self.stream.max);
        self.sk.high_seq = self.stream.max as u32;
        self.sk.snd_cwnd = 1;
        self.sk.snd_cwnd_cnt = 0;
        self.repair.duplicate_acks = 0;
        self.repair.resend_first = false;
        if self.repairs_after_timeouts() {
            self.scoreboard.give_up(self.stream.max);
        } else {
            self.stream.nxt = self.stream.una;
            self.scoreboard.clear(self.stream.una);
        }
        self.tell(CwndEvent::Loss);
        self.enter(Phase::Loss);
        self.publish();
    }

    // ---- output -------------------------------------------------------------------------------

    /// Returns the next segment if one may leave now, and counts the segment as sent.
    pub(crate) fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        if self.opening && self.settings.handshake == Handshake::ThreeWay {
            return None;
        }
        let segment = self.segment();
        if std::mem::take(&mut self.repair.resend_first) {
            let end = self.stream.max.min(self.stream.una + segment);
            self.scoreboard.repair_first(end, self.stream.max);
            return Some(self.note_sent(now, self.stream.una, end));
        }
        let may_repair = self.phase != Phase::Open && self.has_room_for_repair();
        let lost = if may_repair { self.scoreboard.next_lost(segment) } else { None };
        if let Some((start, end)) = lost {
            self.scoreboard.repair(start, end, self.stream.max);
            self.repair.pipe += 1;
            return Some(self.note_sent(now, start, end));
        }
        let end = self.stream.written.min(self.stream.nxt + segment);
        if end <= self.stream.nxt || !self.take_room(end) {
            return None;
        }
        let start = self.stream.nxt;
        self.stream.nxt = end;
        self.repair.pipe += 1;
        Some(self.note_sent(now, start, end))
    }

    /// Whether a lost segment may be retransmitted now, in recovery or after a timeout.
    fn has_room_for_repair(&self) -> bool {
        match (self.recovery, self.phase) {
            (_, Phase::Loss) => {
                self.repairs_after_timeouts() && self.in_flight() < self.sk.snd_cwnd
            }
            (Recovery::Sack, _) => self.repair.pipe < i64::from(self.sk.snd_cwnd),
            (Recovery::Prr, _) => self.in_flight() < self.sk.snd_cwnd,
            (Recovery::Fack, _) => self.in_flight() < self.repair.allowance,
            (Recovery::Tahoe | Recovery::Reno | Recovery::NewReno, _) => false,
        }
    }

    /// Returns whether the windows allow data up to `end` to be sent. If they do not, one probe is
    /// allowed.
    fn take_room(&mut self, end: u64) -> bool {
        if end - self.stream.una > self.peer_window {
            return std::mem::take(&mut self.is_probing);
        }
        let flight = self.packets(end - self.stream.una) + u32::from(self.opening);
        let within_limit = flight <= self.settings.window_limit_pkts;
        match (self.recovery, self.phase) {
            // SACKed packets free room even beyond the limit, which bounds only the window.
            (Recovery::Fack, Phase::Recovery) => self.has_room_for_repair(),
            (Recovery::Fack, _) => self.in_flight() + u32::from(self.opening) < self.sk.snd_cwnd,
            (Recovery::Sack | Recovery::Prr, Phase::Recovery) => {
                within_limit && self.has_room_for_repair()
            }
            (_, Phase::Loss) if self.repairs_after_timeouts() => {
                within_limit && self.has_room_for_repair()
            }
            _ => within_limit && flight <= self.sk.snd_cwnd + self.limited_transmit(),
        }
    }

    /// Number of segments by which the first duplicate ACKs extend the window (RFC 3042).
    fn limited_transmit(&self) -> u32 {
        let may = self.settings.limited_transmit
            && self.phase == Phase::Open
            && self.repair.duplicate_acks < self.settings.duplicate_ack_threshold;
        if may { self.repair.duplicate_acks } else { 0 }
    }

    fn note_sent(&mut self, now: Time, start: u64, end: u64) -> Transmit {
        let is_retransmission = start < self.stream.max;
        if is_retransmission {
            self.counters.retransmitted_segments += 1;
            self.sk.total_retrans += 1;
        } else if self.rtt.timed.is_none() {
            self.rtt.timed = Some((end, now));
        }
        if self.stream.max == self.stream.una && !self.opening {
            self.sk.lsndtime = self.sk.cc_jiffies32;
        }
        self.stream.max = self.stream.max.max(end);
        self.repair.prr.out += u32::from(self.phase == Phase::Recovery);
        if let Some(timer) = &mut self.rtt.fine_timer {
            timer.note_sent(now, end);
        }
        if self.rtt.timer.is_never() {
            self.rtt.timer = now + self.rtt.estimator.rto();
        }
        self.publish();
        Transmit { start, end, is_retransmission }
    }
}
