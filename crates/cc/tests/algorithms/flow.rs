//! A sender as far as an algorithm sees it: a socket, a clock, and the order in which the Linux
//! endpoint calls hooks for an ACK, a loss, a timeout and an idle period.

use std::collections::BTreeMap;

use cwndlab_cc::{AckSample, Algorithm, Congestion, CwndEvent, RateSample, Requests, TcpSock};

pub(crate) const OPEN: u8 = 0;
pub(crate) const DISORDER: u8 = 1;
pub(crate) const CWR: u8 = 2;
pub(crate) const RECOVERY: u8 = 3;
pub(crate) const LOSS: u8 = 4;

/// Tick of the kernel's clock, HZ = 250.
pub(crate) const JIFFY_NS: u64 = 4_000_000;

pub(crate) const MSS_BYTES: u32 = 1448;

#[derive(Clone)]
pub(crate) struct Flow {
    pub(crate) congestion: Congestion,
    pub(crate) sk: TcpSock,
    pub(crate) now_ns: u64,
    /// Request of the algorithm at the last ACK.
    pub(crate) asked: Requests,
    /// Offset of the clock's ticks, to begin shortly before they wrap.
    pub(crate) jiffies_offset: u32,
}

impl Flow {
    pub(crate) fn new(name: &str, parameters: &[(&str, i64)]) -> Self {
        let algorithm = Algorithm::by_name(name).expect("an algorithm of this name");
        let parameters: BTreeMap<String, i64> =
            parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let congestion = Congestion::new(algorithm, &parameters).expect("known parameters");
        let sk = TcpSock {
            is_cwnd_limited: 1,
            mss_cache: MSS_BYTES,
            cc_random: 1,
            ..Default::default()
        };
        let mut flow =
            Self { congestion, sk, now_ns: 0, asked: Requests::NONE, jiffies_offset: 1_000_000 };
        flow.advance(0);
        flow.congestion.attach(&mut flow.sk);
        flow.congestion.init(&mut flow.sk);
        flow
    }

    /// Advances the time.
    pub(crate) fn advance(&mut self, ns: u64) {
        self.now_ns += ns;
        self.sk.tcp_clock_cache = self.now_ns;
        self.sk.tcp_mstamp = self.now_ns / 1_000;
        self.sk.cc_jiffies32 = ((self.now_ns / JIFFY_NS) as u32).wrapping_add(self.jiffies_offset);
    }

    /// An ACK of `packets` in state Open while the window is full.
    pub(crate) fn ack(&mut self, packets: u32, rtt_us: i32) {
        let sk = &mut self.sk;
        // the whole window was sent before this ACK arrived
        sk.snd_nxt = sk.snd_una.wrapping_add(sk.snd_cwnd.wrapping_mul(MSS_BYTES));
        sk.snd_una = sk.snd_una.wrapping_add(packets.wrapping_mul(MSS_BYTES));
        sk.delivered = sk.delivered.wrapping_add(packets);
        sk.packets_out = sk.snd_cwnd;
        sk.max_packets_out = sk.snd_cwnd;
        sk.lsndtime = sk.cc_jiffies32;
        let sample = AckSample { pkts_acked: packets, rtt_us, in_flight: sk.snd_cwnd };
        let _ = self.congestion.in_ack_event(sk, 0);
        let _ = self.congestion.pkts_acked(sk, &sample);
        if self.congestion.has_cong_control() {
            let sample = RateSample {
                delivered: packets as i32,
                interval_us: i64::from(rtt_us.max(1)),
                rtt_us: i64::from(rtt_us),
                acked_sacked: packets,
                prior_in_flight: sk.snd_cwnd,
                ..RateSample::default()
            };
            self.asked = self.congestion.cong_control(sk, sk.snd_una, 0, &sample);
        } else {
            self.asked = self.congestion.cong_avoid(sk, sk.snd_una, packets);
        }
    }

    /// A loss or a congestion mark, with an instantaneous recovery.
    pub(crate) fn reduce(&mut self, state: u8) {
        let sk = &mut self.sk;
        sk.prior_cwnd = sk.snd_cwnd;
        sk.snd_cwnd_cnt = 0;
        sk.snd_ssthresh = self.congestion.ssthresh(sk);
        self.congestion.set_state(sk, state);
        sk.inet_conn.icsk_ca_state = state;
        sk.snd_cwnd = sk.snd_ssthresh;
        let _ = self.congestion.cwnd_event(sk, CwndEvent::CompleteCwr);
        self.open();
    }

    /// A retransmission timeout; [`Flow::open`] ends its recovery.
    pub(crate) fn time_out(&mut self) {
        let sk = &mut self.sk;
        sk.prior_cwnd = sk.snd_cwnd;
        sk.snd_ssthresh = self.congestion.ssthresh(sk);
        let _ = self.congestion.cwnd_event(sk, CwndEvent::Loss);
        sk.snd_cwnd = 1;
        sk.snd_cwnd_cnt = 0;
        self.congestion.set_state(sk, LOSS);
        sk.inet_conn.icsk_ca_state = LOSS;
    }

    /// Everything is recovered.
    pub(crate) fn open(&mut self) {
        self.congestion.set_state(&mut self.sk, OPEN);
        self.sk.inet_conn.icsk_ca_state = OPEN;
    }

    /// An idle period, then the first packet; the window is kept.
    pub(crate) fn idle(&mut self, ns: u64) {
        self.sk.lsndtime = self.sk.cc_jiffies32;
        self.advance(ns);
        let _ = self.congestion.cwnd_event(&mut self.sk, CwndEvent::TxStart);
        self.sk.lsndtime = self.sk.cc_jiffies32;
    }

    /// Single-packet ACKs, evenly spaced over round trips, for this time.
    pub(crate) fn run(&mut self, ns: u64, rtt_ns: u64) {
        let end_ns = self.now_ns + ns;
        while self.now_ns < end_ns {
            self.advance(rtt_ns / u64::from(self.sk.snd_cwnd));
            self.ack(1, (rtt_ns / 1_000) as i32);
        }
    }

    /// The phase that the algorithm reported.
    pub(crate) fn phase(&self) -> &'static str {
        self.congestion.algorithm().phases()[usize::from(self.sk.cc_phase)]
    }
}
