//! Any legal sequence of calls to any algorithm with any parameters: the window stays a window, and
//! nothing is written but what the kernel lets a BPF program write.

use std::collections::BTreeMap;

use cwndlab_cc::{
    AckSample, Algorithm, Congestion, CwndEvent, INFINITE_SSTHRESH, RateSample, TcpSock,
};
use proptest::prelude::*;

use crate::flow::{CWR, JIFFY_NS, LOSS, MSS_BYTES, OPEN, RECOVERY};

/// No sender has more in flight than a window of 2^30 bytes.
const LARGEST_WINDOW: u32 = 1 << 20;

#[derive(Clone, Debug)]
enum Operation {
    Ack { packets: u32, rtt_us: i32, is_ce: bool },
    Stretch { acks: u16, gap_us: u32 },
    Loss { is_mark: bool },
    Timeout,
    Undo,
    Idle { ms: u32, does_restart: bool },
    Received { is_ce: bool },
    Limited { is_cwnd_limited: bool },
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => (1..200u32, prop_oneof![Just(-1), 0..5_000_000i32, 1_000..200_000i32], any::<bool>())
            .prop_map(|(packets, rtt_us, is_ce)| Operation::Ack { packets, rtt_us, is_ce }),
        6 => (1..500u16, 1..20_000u32).prop_map(|(acks, gap_us)| Operation::Stretch { acks, gap_us }),
        2 => any::<bool>().prop_map(|is_mark| Operation::Loss { is_mark }),
        1 => Just(Operation::Timeout),
        1 => Just(Operation::Undo),
        1 => (0..1_000_000u32, any::<bool>())
            .prop_map(|(ms, does_restart)| Operation::Idle { ms, does_restart }),
        1 => any::<bool>().prop_map(|is_ce| Operation::Received { is_ce }),
        1 => any::<bool>().prop_map(|is_cwnd_limited| Operation::Limited { is_cwnd_limited }),
    ]
}

/// A value within each parameter's bounds: one of the two bounds, the default, or between.
fn parameters(algorithm: Algorithm, choices: &[u32]) -> BTreeMap<String, i64> {
    algorithm
        .parameters()
        .iter()
        .zip(choices.iter().cycle())
        .map(|(p, &choice)| {
            let value = match choice % 5 {
                0 => p.min,
                1 => p.max,
                2 | 3 => p.default,
                _ => p.min + i64::from(choice) % (p.max - p.min + 1),
            };
            (p.name.to_owned(), value)
        })
        .collect()
}

struct Model {
    congestion: Congestion,
    sk: TcpSock,
    now_ns: u64,
    jiffies_offset: u32,
    /// Its window follows losses and grows by what is acknowledged: not `fixed`, and not where
    /// `cong_control` has a model of its own.
    is_reactive: bool,
    /// How far the peer's clock of timestamps is ahead.
    peer_clock_ms: u32,
    /// An ACK adds about a packet for each that it acknowledges at most. One of hybla stands for
    /// 2^rho, and compound's delay window grows once a round trip.
    is_ack_clocked: bool,
    /// Illinois multiplies what it counted, in 1/128 packet for one; else none.
    multiplied_by: u32,
}

/// How much Illinois may make of what it counted while that was worth less.
fn multiplied_by(algorithm: Algorithm, values: &BTreeMap<String, i64>) -> u32 {
    let highest = algorithm.parameters().iter().find(|p| p.name == "alpha_max");
    let highest = highest.filter(|_| algorithm.name() == "illinois");
    // 128 with a small window
    highest.map_or(0, |p| values.get(p.name).copied().unwrap_or(p.default).max(128) as u32)
}

impl Model {
    /// Calls hooks and asserts what must hold after each.
    fn hook<R>(&mut self, call: impl FnOnce(&mut Congestion, &mut TcpSock) -> R) -> R {
        let before = self.sk.clone();
        let answer = call(&mut self.congestion, &mut self.sk);
        let after = &self.sk;
        let mut allowed = before;
        allowed.snd_cwnd = after.snd_cwnd;
        allowed.snd_ssthresh = after.snd_ssthresh;
        allowed.snd_cwnd_cnt = after.snd_cwnd_cnt;
        allowed.snd_cwnd_stamp = after.snd_cwnd_stamp;
        allowed.ecn_flags = after.ecn_flags;
        allowed.app_limited = after.app_limited;
        allowed.inet_conn.icsk_ca_priv = after.inet_conn.icsk_ca_priv;
        allowed.inet_conn.icsk_ack = after.inet_conn.icsk_ack;
        let sk = &mut allowed.inet_conn.icsk_inet.sk;
        sk.sk_pacing_rate = after.inet_conn.icsk_inet.sk.sk_pacing_rate;
        sk.sk_pacing_status = after.inet_conn.icsk_inet.sk.sk_pacing_status;
        // what only the simulator has
        allowed.cc_params = after.cc_params;
        allowed.cc_random = after.cc_random;
        allowed.cc_phase = after.cc_phase;
        allowed.cc_ack_rcv_nxt = after.cc_ack_rcv_nxt;
        allowed.cc_requests = after.cc_requests;
        assert_eq!(allowed, *after, "a field was written that the kernel forbids");
        assert!(after.snd_cwnd >= 1, "no window");
        assert!(after.snd_cwnd <= after.snd_cwnd_clamp, "window above its clamp");
        assert!(after.snd_ssthresh <= INFINITE_SSTHRESH, "threshold {}", after.snd_ssthresh);
        assert!(
            usize::from(after.cc_phase) < self.congestion.algorithm().phases().len().max(1),
            "phase without a name"
        );
        answer
    }

    fn advance(&mut self, ns: u64) {
        self.now_ns += ns;
        self.sk.tcp_clock_cache = self.now_ns;
        self.sk.tcp_mstamp = self.now_ns / 1_000;
        self.sk.cc_jiffies32 = ((self.now_ns / JIFFY_NS) as u32).wrapping_add(self.jiffies_offset);
    }

    fn state(&mut self, state: u8) {
        self.hook(|c, sk| c.set_state(sk, state));
        self.sk.inet_conn.icsk_ca_state = state;
    }

    fn threshold(&mut self) -> u32 {
        let before = self.sk.snd_cwnd;
        let answer = self.hook(Congestion::ssthresh);
        assert!(answer >= 2, "threshold {answer}");
        assert!(
            answer <= before.max(2) || !self.is_reactive,
            "a loss at {before} raises the threshold to {answer}"
        );
        answer
    }

    fn ack(&mut self, packets: u32, rtt_us: i32, is_ce: bool) {
        let sk = &mut self.sk;
        let packets = packets.min(sk.snd_cwnd);
        // the window was sent in full before this ACK came
        sk.snd_nxt = sk.snd_una.wrapping_add(sk.snd_cwnd.wrapping_mul(MSS_BYTES));
        sk.snd_una = sk.snd_una.wrapping_add(packets.wrapping_mul(MSS_BYTES));
        sk.packets_out = sk.snd_cwnd;
        sk.max_packets_out = sk.snd_cwnd;
        let prior_delivered = sk.delivered.wrapping_sub(sk.snd_cwnd - packets);
        sk.delivered = sk.delivered.wrapping_add(packets);
        sk.delivered_mstamp = sk.tcp_mstamp;
        sk.delivered_ce = sk.delivered_ce.wrapping_add(if is_ce { packets } else { 0 });
        sk.lsndtime = sk.cc_jiffies32;
        let now_ms = (self.now_ns / 1_000_000) as u32;
        sk.rx_opt.saw_tstamp = 1;
        sk.rx_opt.rcv_tsecr = now_ms.wrapping_sub(rtt_us.max(0) as u32 / 1_000);
        sk.rx_opt.rcv_tsval = now_ms.wrapping_add(self.peer_clock_ms);
        let sample = AckSample { pkts_acked: packets, rtt_us, in_flight: sk.snd_cwnd };
        let flags = if is_ce { 4 } else { 0 };
        let delivery = RateSample {
            prior_delivered,
            delivered: sk.snd_cwnd as i32,
            losses: i32::from(is_ce),
            is_app_limited: u8::from(sk.is_cwnd_limited == 0),
            interval_us: i64::from(rtt_us),
            rtt_us: i64::from(rtt_us),
            acked_sacked: packets,
            prior_in_flight: sk.snd_cwnd,
            ..RateSample::default()
        };
        let una = sk.snd_una;
        self.hook(|c, sk| c.in_ack_event(sk, flags));
        self.hook(|c, sk| c.pkts_acked(sk, &sample));
        if self.congestion.has_cong_control() {
            self.hook(|c, sk| c.cong_control(sk, una, 0, &delivery));
        } else {
            let before = self.sk.snd_cwnd;
            let counted = u64::from(self.sk.snd_cwnd_cnt + packets);
            let multiplied = counted * u64::from(self.multiplied_by) / 128 / u64::from(before);
            self.hook(|c, sk| c.cong_avoid(sk, una, packets));
            let grown = self.sk.snd_cwnd.saturating_sub(before);
            // credit that a slower growth left behind is worth a packet, see tcp_cong_avoid_ai()
            assert!(
                u64::from(grown) <= multiplied.max(u64::from(packets) + 1) || !self.is_ack_clocked,
                "{:?}: {packets} acknowledged, grown from {before} by {grown}",
                self.congestion.algorithm()
            );
        }
    }

    fn reduce(&mut self, state: u8) {
        self.sk.prior_cwnd = self.sk.snd_cwnd;
        self.sk.snd_cwnd_cnt = 0;
        self.sk.snd_ssthresh = self.threshold();
        self.state(state);
        if !self.congestion.has_cong_control() {
            self.sk.snd_cwnd = self.sk.snd_cwnd.min(self.sk.snd_ssthresh);
        }
        self.hook(|c, sk| c.cwnd_event(sk, CwndEvent::CompleteCwr));
        self.state(OPEN);
    }

    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Ack { packets, rtt_us, is_ce } => {
                self.advance(u64::try_from(rtt_us.max(0)).expect("not negative") * 1_000);
                self.ack(packets, rtt_us, is_ce);
            }
            Operation::Stretch { acks, gap_us } => {
                for _ in 0..acks {
                    self.advance(u64::from(gap_us) * 1_000);
                    self.ack(2, 20_000, false);
                }
            }
            Operation::Loss { is_mark } => self.reduce(if is_mark { CWR } else { RECOVERY }),
            Operation::Timeout => {
                self.sk.prior_cwnd = self.sk.snd_cwnd;
                self.sk.snd_ssthresh = self.threshold();
                self.hook(|c, sk| c.cwnd_event(sk, CwndEvent::Loss));
                self.sk.snd_cwnd = 1;
                self.sk.snd_cwnd_cnt = 0;
                self.state(LOSS);
                self.advance(1_000_000_000);
                self.ack(1, -1, false);
                self.state(OPEN);
            }
            Operation::Undo => {
                let window = self.hook(Congestion::undo_cwnd);
                assert!(window >= self.sk.snd_cwnd || !self.is_reactive, "undo to {window}");
                self.sk.snd_cwnd = window;
            }
            Operation::Idle { ms, does_restart } => {
                self.sk.lsndtime = self.sk.cc_jiffies32;
                self.advance(u64::from(ms) * 1_000_000);
                if does_restart {
                    self.hook(|c, sk| c.cwnd_event(sk, CwndEvent::CwndRestart));
                    self.sk.snd_cwnd = self.sk.snd_cwnd.min(10);
                }
                self.hook(|c, sk| c.cwnd_event(sk, CwndEvent::TxStart));
            }
            Operation::Received { is_ce } => {
                let event = if is_ce { CwndEvent::EcnIsCe } else { CwndEvent::EcnNoCe };
                self.hook(|c, sk| c.cwnd_event(sk, event));
            }
            Operation::Limited { is_cwnd_limited } => {
                self.sk.is_cwnd_limited = u8::from(is_cwnd_limited);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_algorithm_keeps_a_window_and_to_its_own_fields(
        operations in prop::collection::vec(operation(), 1..60),
        choices in prop::collection::vec(any::<u32>(), 12),
        window in prop_oneof![1..100u32, 1..LARGEST_WINDOW],
        jiffies_offset in prop_oneof![Just(u32::MAX - 500), any::<u32>()],
        sequence in any::<u32>(),
        is_tuned in any::<bool>(),
    ) {
        for algorithm in Algorithm::all() {
            let values = if is_tuned { parameters(algorithm, &choices) } else { BTreeMap::new() };
            let congestion = Congestion::new(algorithm, &values).expect("within bounds");
            let mut model = Model {
                is_reactive: algorithm.name() != "fixed" && !congestion.has_cong_control(),
                peer_clock_ms: sequence.rotate_left(choices[0] % 32),
                congestion,
                sk: TcpSock {
                    snd_cwnd: window,
                    snd_cwnd_clamp: LARGEST_WINDOW,
                    snd_una: sequence,
                    snd_nxt: sequence,
                    is_cwnd_limited: 1,
                    mss_cache: MSS_BYTES,
                    ..TcpSock::default()
                },
                now_ns: 0,
                jiffies_offset,
                is_ack_clocked: !["fixed", "hybla", "compound"].contains(&algorithm.name()),
                multiplied_by: multiplied_by(algorithm, &values),
            };
            model.advance(1_000_000);
            model.congestion.attach(&mut model.sk);
            model.hook(Congestion::init);
            for operation in &operations {
                model.apply(operation);
            }
            model.hook(Congestion::release);
        }
    }
}
