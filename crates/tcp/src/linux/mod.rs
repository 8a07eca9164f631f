//! The Linux endpoint: ACK state machine, SACK scoreboard, RACK-TLP (RFC 8985), PRR (RFC 6937),
//! RTO (RFC 6298) with F-RTO (RFC 5682), undo by timestamps and DSACK, rate samples, pacing, the
//! test whether the congestion window limits the sender, idle restart, delayed and quick ACKs, and
//! auto-tuned windows.
//!
//! The endpoint leaves out urgent data, MTU probing, TCP Fast Open and keep-alive.
//!
//! ```text
//!            SACK or duplicate ACK            loss seen by RACK
//!    Open <---------------------> Disorder ---------------------> Recovery
//!      ^ ECE   |  all above high_seq acknowledged    |               |
//!      |       v                                     |    timeout    |
//!      +----- CWR                                    +--> Loss <-----+
//! ```

mod accecn;
mod accecn_option;
mod ace;
mod ack;
mod clock;
mod connection;
mod ecn;
mod host_queue;
mod incoming;
mod metrics;
mod older;
mod options;
mod output;
mod pacer;
mod predicted;
mod probe;
#[cfg(test)]
mod properties;
mod prr;
mod rack;
mod rate;
mod receiver;
mod recovery;
mod rtt;
mod rtx;
mod sack;
mod send_buffer;
mod settings;
mod state;
#[cfg(test)]
mod testing;
mod timer;

pub use host_queue::HostTraits;
pub use settings::{
    BurstSettings, EcnMode, HeldAckSettings, LinuxSettings, OptionSettings, ReceiveSettings,
    ReorderingSettings, RepairSettings, SendSettings, TimerSettings, WindowReduction,
};

use cwndlab_cc::{Congestion, INFINITE_SSTHRESH, RateSample, TcpSock};
use cwndlab_units::{Duration, Rate, Time};

use crate::info::{CaState, Counters, Info, TcpEvent};
use crate::outbox::{Outbox, Polled};
use crate::parts::Parts;

use clock::{Clock, UPTIME_AT_START};
use connection::Connection;
use host_queue::HostQueue;
use options::PeerWindow;
use pacer::{Pacer, Push};
use probe::TailLossProbe;
use rack::Rack;
use rate::DeliveryRate;
use receiver::Receiver;
use recovery::Recovery;
use rtt::{Rtt, RttEstimator, WindowedMin};
use rtx::RtxQueue;
use sack::Scoreboard;
use send_buffer::SendBuffer;
use timer::RetransmitTimer;

/// One end of a connection that behaves like Linux.
#[derive(Debug)]
pub(crate) struct LinuxEndpoint {
    /// State that algorithms can read; the endpoint uses the same fields for its own state.
    sk: TcpSock,
    congestion: Congestion,
    clock: Clock,
    settings: LinuxSettings,
    connection: Connection,

    buffer: SendBuffer,
    rtx: RtxQueue,
    peer_window: PeerWindow,
    scoreboard: Scoreboard,
    rack: Rack,
    recovery: Recovery,
    probe: TailLossProbe,
    timer: RetransmitTimer,
    rtt: Rtt,
    rate: DeliveryRate,
    pacer: Pacer,
    /// Queue of the host below TCP; `None` without a host, so that packets are not limited.
    host: Option<HostQueue>,

    receiver: Receiver,

    out: Outbox,
    counters: Counters,
}

impl Drop for LinuxEndpoint {
    /// `tcp_cleanup_congestion_control`.
    fn drop(&mut self) {
        self.congestion.release(&mut self.sk);
    }
}

impl LinuxEndpoint {
    pub(crate) fn new(settings: LinuxSettings, parts: Parts) -> Self {
        let Parts { flow, user, congestion, seed, jiffies_phase } = parts;
        // With a secret offset, the peer cannot observe the clock itself.
        let start =
            if settings.options.timestamp_offsets { Duration::ZERO } else { UPTIME_AT_START };
        let clock = Clock::new(jiffies_phase, start);
        let mss = settings.announced_mss();
        let rto_min_us = settings.timer.rto_min_ms * 1_000;
        let connection = Connection::new(flow, user, &settings, seed);
        let iss = connection.iss;
        let sk = TcpSock {
            cc_random: seed,
            cc_jiffies32: clock.jiffies().low_half(),
            tcp_clock_cache: start.as_nanos(),
            tcp_mstamp: start.as_micros(),
            snd_cwnd: settings.initial_cwnd_pkts,
            reordering: settings.reordering.reordering_pkts,
            mss_cache: mss,
            advmss: mss,
            snd_una: iss,
            snd_nxt: iss,
            app_limited: u32::MAX,
            ..TcpSock::default()
        };
        let rto = clock.jiffies_of_us(u64::from(settings.timer.rto_initial_ms) * 1_000);
        let rto_max = clock.jiffies_of_us(u64::from(settings.timer.rto_max_ms) * 1_000);
        Self {
            sk,
            congestion,
            clock,
            connection,
            buffer: SendBuffer::new(iss.wrapping_add(1), &settings),
            rtx: RtxQueue::new(),
            peer_window: PeerWindow::default(),
            scoreboard: Scoreboard::new(iss),
            rack: Rack::default(),
            recovery: Recovery::default(),
            probe: TailLossProbe::default(),
            timer: RetransmitTimer::new(rto, rto_max),
            rtt: Rtt {
                estimator: RttEstimator::new(rto_min_us),
                min: WindowedMin::new(settings.min_rtt_window()),
                last_us: None,
            },
            rate: DeliveryRate::default(),
            pacer: Pacer::default(),
            host: None,
            receiver: Receiver::new(&settings),
            settings,
            out: Outbox::default(),
            counters: Counters::default(),
        }
    }

    /// `tcp_mstamp_refresh`: sets all clocks to `now`.
    #[inline]
    fn set_now(&mut self, now: Time) {
        if now == self.clock.now() {
            return;
        }
        if self.clock.advance(now) {
            self.sk.cc_jiffies32 = self.clock.jiffies().low_half();
        }
        self.sk.tcp_clock_cache = self.clock.reading_ns(now);
        self.sk.tcp_mstamp = self.sk.tcp_clock_cache / 1_000;
    }

    /// `tcp_time_stamp`: the millisecond clock without the connection's offset, by which
    /// algorithms see `rcv_tsecr`.
    #[inline]
    fn clock_ms(&self) -> u32 {
        (self.sk.tcp_mstamp / 1_000) as u32
    }

    /// Timestamp of an outgoing segment: the clock plus the connection's offset.
    #[inline]
    fn timestamp(&self) -> u32 {
        self.clock_ms().wrapping_add(self.connection.options.offset)
    }

    #[inline]
    fn in_flight(&self) -> u32 {
        let sk = &self.sk;
        (sk.packets_out + sk.retrans_out).wrapping_sub(sk.sacked_out + sk.lost_out)
    }

    #[inline]
    fn ca_state(&self) -> u8 {
        self.sk.inet_conn.icsk_ca_state
    }

    #[inline]
    fn is_rack(&self) -> bool {
        self.settings.repair.rack && self.connection.options.is_sack
    }

    #[inline]
    fn in_cwnd_reduction(&self) -> bool {
        let state = self.ca_state();
        state == CaState::Cwr as u8 || state == CaState::Recovery as u8
    }

    fn event(&mut self, event: TcpEvent) {
        self.out.push_event(self.clock.now(), event);
    }

    /// Whether a poll would have no effect, and no retransmission is in flight.
    #[inline]
    pub(crate) fn may_wait(&self, now: Time) -> bool {
        // Separate comparisons are faster than computing the minimum.
        !self.buffer.is_corked
            && self.timer.fires > now
            && self.pacer.timer > now
            && self.receiver.acks.wake_time() > now
            && self.sk.retrans_out == 0
    }

    /// Runs the timers that are due, and then returns all outputs.
    #[inline]
    pub(crate) fn poll(&mut self, now: Time) -> Polled<'_> {
        let mut next = self.next_timer();
        if self.buffer.is_corked || next <= now {
            next = self.run_due(now);
        }
        self.out.give(next)
    }

    /// Runs the timers that are due, and returns the time at which the next timer is due.
    #[cold]
    fn run_due(&mut self, now: Time) -> Time {
        self.set_now(now);
        self.connection.expected.forget();
        if self.buffer.is_corked {
            self.buffer.is_corked = false;
            self.write_xmit_apart(Push::All);
        }
        while self.next_timer() <= now {
            self.run_timers();
        }
        self.next_timer()
    }

    #[inline]
    fn next_timer(&self) -> Time {
        self.timer.fires.min(self.pacer.timer).min(self.receiver.acks.wake_time())
    }

    /// RTT sample of the last segment that was processed, in microseconds.
    #[inline]
    pub(crate) fn last_rtt_us(&self) -> Option<u32> {
        self.rtt.last_us
    }

    pub(crate) fn counters(&self) -> Counters {
        let mut counters = self.counters;
        self.buffer.chrono.add_to(&mut counters, self.clock.now());
        counters
    }

    pub(crate) fn cwnd_pkts(&self) -> u32 {
        self.sk.snd_cwnd
    }

    pub(crate) fn srtt_us(&self) -> u32 {
        self.sk.srtt_us >> 3
    }

    pub(crate) fn info(&self) -> Info {
        let sk = &self.sk;
        let first_byte = self.connection.iss.wrapping_add(1);
        // As in the kernel, `bytes_acked` includes the SYN of an end that opened actively.
        let low = sk.snd_una.wrapping_sub(first_byte);
        let syn = u64::from((sk.bytes_acked as u32).wrapping_sub(low));
        let una = if sk.snd_una == self.connection.iss { 0 } else { sk.bytes_acked - syn };
        let nxt = una + u64::from(sk.snd_nxt.wrapping_sub(sk.snd_una));
        let nxt = if sk.snd_nxt == self.connection.iss || sk.snd_una == self.connection.iss {
            0
        } else {
            nxt
        };
        let pacing = sk.inet_conn.icsk_inet.sk.sk_pacing_rate;
        Info {
            cwnd_pkts: self.cwnd_pkts(),
            ssthresh_pkts: (sk.snd_ssthresh < INFINITE_SSTHRESH).then_some(sk.snd_ssthresh),
            srtt_us: self.srtt_us(),
            rttvar_us: sk.mdev_us >> 2,
            min_rtt_us: (sk.rtt_min_us != u32::MAX).then_some(sk.rtt_min_us),
            rto: self.clock.duration_of(self.timer.rto),
            unacked_pkts: sk.packets_out,
            sacked_pkts: sk.sacked_out,
            lost_pkts: sk.lost_out,
            retrans_pkts: sk.retrans_out,
            delivered_ce_pkts: self.sk.delivered_ce,
            in_flight_pkts: self.in_flight(),
            retransmits: sk.inet_conn.icsk_retransmits.into(),
            backoff: self.timer.backoff,
            ca_state: CaState::from_u8(self.ca_state()),
            snd_una_bytes: una,
            snd_nxt_bytes: nxt,
            snd_wnd_bytes: sk.snd_wnd,
            notsent_bytes: self.buffer.unsent(sk.snd_nxt),
            pacing_rate: (pacing != u64::MAX).then(|| Rate::from_bits_per_sec(pacing * 8)),
            delivery_rate: self.rate.rate(sk.mss_cache),
            phase: sk.cc_phase,
        }
    }
}

/// Returns an empty rate sample, to which no segment has contributed.
fn empty_rate_sample() -> RateSample {
    RateSample { rtt_us: -1, ..RateSample::default() }
}

#[cfg(test)]
mod tests {
    use crate::linux::testing::{Pair, SENDER};

    #[test]
    fn bytes_are_counted_from_the_first_of_the_stream() {
        let mut pair = Pair::established();
        let before = pair.ends[SENDER].info();
        assert_eq!((before.snd_una_bytes, before.snd_nxt_bytes), (0, 0));
        let segments = pair.write(14_480);
        let sent = pair.ends[SENDER].info();
        assert_eq!((sent.snd_una_bytes, sent.snd_nxt_bytes), (0, 14_480));
        assert_eq!((sent.unacked_pkts, sent.in_flight_pkts, sent.notsent_bytes), (10, 10, 0));
        let acks = pair.deliver(&segments);
        pair.answer(&acks);
        let acked = pair.ends[SENDER].info();
        assert_eq!((acked.snd_una_bytes, acked.unacked_pkts), (14_480, 0));
    }

    #[test]
    fn a_poll_runs_the_timers_that_are_due_and_says_when_the_next_one_is() {
        let mut pair = Pair::established();
        pair.write(1_448);
        let end = &mut pair.ends[SENDER];
        let due = end.poll(pair.now).next;
        assert!(due > pair.now && end.counters.tail_loss_probes == 0);
        let next = end.poll(due).next;
        assert!(next > due && end.counters.tail_loss_probes == 1);
    }
}
