//! BBR's states, model and special cases, with one ACK per round trip.

use cwndlab_cc::{CwndEvent, RateSample};

use crate::flow::{Flow, LOSS, MSS_BYTES, OPEN, RECOVERY};

const RTT_US: u64 = 40_000;
/// 10 packets per millisecond.
const BDP_PKTS: u32 = 400;
const GAIN_ONE: f64 = 256.0;

/// A flow, and the path that its ACKs represent.
#[derive(Clone)]
struct Path {
    flow: Flow,
    rtt_us: u64,
    is_app_limited: bool,
}

impl Path {
    fn new(parameters: &[(&str, i64)]) -> Self {
        let mut flow = Flow::new("bbr", parameters);
        flow.sk.srtt_us = (RTT_US as u32) << 3;
        flow.sk.rtt_min_us = RTT_US as u32;
        flow.sk.delivered = 1;
        flow.congestion.init(&mut flow.sk);
        Self { flow, rtt_us: RTT_US, is_app_limited: false }
    }

    /// A round trip that ends with an ACK of this many packets, with this many in flight.
    fn round(&mut self, delivered: u32, losses: u32, in_flight: u32) {
        self.flow.advance(self.rtt_us * 1_000);
        self.ack(delivered, delivered, losses, in_flight);
    }

    /// An ACK of `acked` packets; `delivered` is the number delivered in the last round trip.
    fn ack(&mut self, acked: u32, delivered: u32, losses: u32, in_flight: u32) {
        let flow = &mut self.flow;
        let sk = &mut flow.sk;
        sk.delivered += acked;
        sk.lost += losses;
        let prior_delivered = sk.delivered - delivered;
        sk.delivered_mstamp = sk.tcp_mstamp;
        sk.packets_out = in_flight;
        let sample = RateSample {
            prior_delivered,
            delivered: delivered as i32,
            interval_us: self.rtt_us as i64,
            rtt_us: self.rtt_us as i64,
            losses: losses as i32,
            acked_sacked: acked,
            prior_in_flight: in_flight + acked,
            is_app_limited: self.is_app_limited.into(),
            ..RateSample::default()
        };
        let _ = flow.congestion.cong_control(sk, sk.snd_una, 0, &sample);
    }

    /// Pacing rate: a gain times `packets` per RTT, minus the margin of 1 %.
    fn gain_over(&self, packets: u32) -> f64 {
        let rate = f64::from(packets * MSS_BYTES) / (RTT_US as f64 / 1e6);
        self.flow.sk.inet_conn.icsk_inet.sk.sk_pacing_rate as f64 / rate / 0.99
    }

    fn cwnd(&self) -> u32 {
        self.flow.sk.snd_cwnd
    }

    /// Advances to ProbeBW, with the pipe full.
    fn until_probe_bw(&mut self) {
        let mut delivered = 10;
        while self.flow.phase() != "probe_bw" {
            self.round(delivered, 0, delivered);
            delivered = (delivered * 2).min(BDP_PKTS);
            assert!(self.flow.now_ns < 1_000_000_000, "in {}", self.flow.phase());
        }
    }
}

fn assert_near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 0.01, "{value}, not {expected}");
}

#[test]
fn startup_doubles_until_the_bandwidth_stops_growing_three_times() {
    let mut path = Path::new(&[]);
    // before the first sample: the window of 10 in the handshake's RTT
    assert_near(path.gain_over(10), 739.0 / GAIN_ONE);
    let mut delivered = 10;
    while delivered < BDP_PKTS {
        path.round(delivered, 0, 2 * delivered);
        assert_eq!(path.flow.phase(), "startup");
        assert_near(path.gain_over(delivered), 739.0 / GAIN_ONE);
        delivered *= 2;
    }
    // 400 is 1.25 times 320; after that there is no growth
    path.round(BDP_PKTS, 0, 2 * BDP_PKTS);
    for _ in 0..2 {
        path.round(BDP_PKTS, 0, 2 * BDP_PKTS);
        assert_eq!(path.flow.phase(), "startup");
    }
    path.round(BDP_PKTS, 0, 2 * BDP_PKTS);
    assert_eq!(path.flow.phase(), "drain");
    assert_near(path.gain_over(BDP_PKTS), 88.0 / GAIN_ONE);
    path.round(BDP_PKTS, 0, BDP_PKTS + 50);
    assert_eq!(path.flow.phase(), "drain");
    path.round(BDP_PKTS, 0, BDP_PKTS);
    assert_eq!(path.flow.phase(), "probe_bw");
}

#[test]
fn a_growth_of_less_than_a_quarter_counts_as_none() {
    let mut path = Path::new(&[]);
    for delivered in [100, 124, 124, 124] {
        assert_eq!(path.flow.phase(), "startup");
        path.round(delivered, 0, 1_000);
    }
    assert_eq!(path.flow.phase(), "drain");
    let mut path = Path::new(&[]);
    for delivered in [100, 125, 157, 197, 247, 309, 387] {
        path.round(delivered, 0, 1_000);
        assert_eq!(path.flow.phase(), "startup");
    }
}

#[test]
fn a_limited_application_does_not_end_startup_nor_lower_the_bandwidth() {
    let mut path = Path::new(&[]);
    path.round(100, 0, 100);
    path.is_app_limited = true;
    for _ in 0..20 {
        path.round(10, 0, 10);
    }
    assert_eq!(path.flow.phase(), "startup");
    assert_near(path.gain_over(100), 739.0 / GAIN_ONE);
    // a higher bandwidth counts all the same
    path.round(200, 0, 200);
    assert_near(path.gain_over(200), 739.0 / GAIN_ONE);
}

#[test]
fn probe_bw_goes_round_in_eight_phases_from_any_but_the_second() {
    let mut path = Path::new(&[]);
    path.until_probe_bw();
    let cycle = |path: &mut Path| -> Vec<f64> {
        (0..16)
            .map(|_| {
                // longer than the lowest RTT, with the data in flight at which each phase ends
                path.rtt_us = RTT_US + 1;
                path.round(BDP_PKTS, 0, BDP_PKTS + BDP_PKTS / 4);
                (path.gain_over(BDP_PKTS) * 100.0).round() / 100.0
            })
            .collect()
    };
    let gains = cycle(&mut path);
    let up = gains.iter().position(|&gain| gain == 1.25).expect("it probes");
    let wanted = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    assert_eq!(gains[up..up + 8], wanted);

    let mut first_gains: Vec<f64> = (0..200)
        .map(|seed| {
            let mut path = Path::new(&[]);
            path.flow.sk.cc_random = seed;
            path.until_probe_bw();
            (path.gain_over(BDP_PKTS) * 100.0).round() / 100.0
        })
        .collect();
    first_gains.sort_by(f64::total_cmp);
    // 1.25 once in seven times, and never 0.75
    let ups = first_gains.iter().filter(|&&gain| gain == 1.25).count();
    assert!((15..45).contains(&ups), "{ups} of 200");
    assert_eq!(first_gains.iter().filter(|&&gain| gain == 1.0).count(), 200 - ups);
}

#[test]
fn the_window_is_twice_the_bdp_and_three_bursts() {
    let mut path = Path::new(&[("extra_acked_gain", 0)]);
    path.until_probe_bw();
    for _ in 0..3 {
        path.round(BDP_PKTS, 0, BDP_PKTS);
    }
    // 14.5 Mbyte/s: a burst is 1/1024 s at this rate, 9 packets
    let burst = 9;
    let wanted = 2 * BDP_PKTS + 3 * burst;
    assert!((wanted..=wanted + 4).contains(&path.cwnd()), "{} and {wanted}", path.cwnd());
}

#[test]
fn acks_in_bunches_get_room_in_the_window_while_they_last() {
    let mut path = Path::new(&[]);
    path.until_probe_bw();
    // `count` ACKs in a round trip with equal shares: all but the first part is excess
    let mut window_after = |rounds: u32, count: u32| {
        // the path compensates for an earlier excess
        path.flow.advance(2 * RTT_US * 1_000);
        for _ in 0..rounds * count {
            path.flow.advance(RTT_US * 1_000 / u64::from(count));
            path.ack(BDP_PKTS / count, BDP_PKTS, 0, BDP_PKTS);
        }
        path.cwnd()
    };
    // the aggregation of Startup's ACKs is forgotten after ten round trips
    let even = window_after(20, 100);
    let bunches = window_after(4, 4);
    assert!((80..=110).contains(&(bunches - even)), "{even}, then {bunches}");
    assert!(window_after(11, 100).abs_diff(even) <= 8);
}

#[test]
fn ten_seconds_without_a_lower_rtt_lead_to_a_short_window() {
    let mut path = Path::new(&[("extra_acked_gain", 0)]);
    path.until_probe_bw();
    path.round(BDP_PKTS, 0, BDP_PKTS);
    let before = path.cwnd();
    path.rtt_us = RTT_US + 1_000;
    let mut rounds = 0;
    while path.flow.phase() == "probe_bw" {
        path.round(BDP_PKTS, 0, BDP_PKTS);
        rounds += 1;
    }
    // min_rtt was last measured in the first round trip
    let since_s = path.flow.now_ns as f64 / 1e9;
    assert!((10.0..10.2).contains(&since_s), "{since_s} s, {rounds} rounds");
    assert_eq!((path.flow.phase(), path.cwnd()), ("probe_rtt", 4));
    assert!(path.flow.sk.app_limited > 0);

    // 200 ms after four packets are in flight, and a round trip
    path.rtt_us = RTT_US;
    let start_ns = path.flow.now_ns;
    path.round(BDP_PKTS, 0, 4);
    while path.flow.phase() == "probe_rtt" {
        assert_eq!(path.cwnd(), 4);
        path.round(4, 0, 4);
    }
    let length_ms = (path.flow.now_ns - start_ns) / 1_000_000;
    assert!((240..=300).contains(&length_ms), "{length_ms} ms");
    assert_eq!(path.flow.phase(), "probe_bw");
    assert!(path.cwnd().abs_diff(before) <= 20, "{} of {before}", path.cwnd());
}

#[test]
fn a_lower_rtt_or_a_pause_makes_a_short_window_needless() {
    let mut path = Path::new(&[]);
    path.until_probe_bw();
    for _ in 0..1_000 {
        path.round(BDP_PKTS, 0, BDP_PKTS);
        assert_eq!(path.flow.phase(), "probe_bw", "the lowest RTT was seen again");
        path.rtt_us -= 1;
    }
    // the application pauses: the queue is empty when it continues
    let mut path = Path::new(&[]);
    path.until_probe_bw();
    path.flow.sk.app_limited = 1;
    path.flow.idle(11_000_000_000);
    assert_near(path.gain_over(BDP_PKTS), 1.0);
    path.rtt_us = RTT_US + 1_000;
    path.round(4, 0, 4);
    assert_eq!(path.flow.phase(), "probe_bw");
}

#[test]
fn a_recovery_conserves_packets_for_a_round_and_then_returns() {
    let mut path = Path::new(&[]);
    path.until_probe_bw();
    for _ in 0..3 {
        path.round(BDP_PKTS, 0, BDP_PKTS);
    }
    let before = path.cwnd();
    let threshold = path.flow.sk.snd_ssthresh;
    let ssthresh = path.flow.congestion.ssthresh(&mut path.flow.sk);
    assert_eq!(ssthresh, threshold, "a loss is not a signal");
    path.flow.congestion.set_state(&mut path.flow.sk, RECOVERY);
    path.flow.sk.inet_conn.icsk_ca_state = RECOVERY;
    path.round(10, 5, 300);
    assert_eq!(path.cwnd(), 310, "one for each that left");
    path.flow.congestion.set_state(&mut path.flow.sk, OPEN);
    path.flow.sk.inet_conn.icsk_ca_state = OPEN;
    path.round(10, 0, 300);
    assert!(path.cwnd().abs_diff(before) <= 4, "{} of {before}", path.cwnd());

    // also after a timeout: the endpoint sets one packet, and slow start restores the window
    path.flow.time_out();
    path.flow.sk.inet_conn.icsk_ca_state = LOSS;
    path.round(1, 0, 1);
    assert_eq!(path.cwnd(), 4);
    path.flow.open();
    path.round(4, 0, 4);
    assert!(path.cwnd().abs_diff(before) <= 4, "{} of {before}", path.cwnd());
}

#[test]
fn heavy_losses_at_an_even_rate_are_a_policers() {
    let mut path = Path::new(&[]);
    path.until_probe_bw();
    // a quarter of the packets is dropped; 100 packets per round trip pass
    let mut rounds = 0;
    while path.gain_over(100) > 1.01 {
        path.round(100, 34, BDP_PKTS);
        rounds += 1;
        assert!(rounds < 60, "pacing {} of the policer's rate", path.gain_over(100));
    }
    assert!(rounds >= 8, "two intervals of four rounds at least, not {rounds}");
    // it keeps this rate for 48 rounds, then probes again in its cycle of eight
    let mut kept = 0;
    path.rtt_us = RTT_US + 1;
    while path.gain_over(100) < 1.01 {
        path.round(100, 0, 100);
        kept += 1;
        assert!(kept < 60);
    }
    assert!((47..=57).contains(&kept), "{kept} rounds");

    // a loss of one packet in ten is not enough
    let mut path = Path::new(&[]);
    path.until_probe_bw();
    for _ in 0..60 {
        path.round(BDP_PKTS, BDP_PKTS / 10, BDP_PKTS);
        assert!(path.gain_over(BDP_PKTS) > 0.7);
    }
}

#[test]
fn bursts_are_single_packets_at_low_rates() {
    let mut flow = Flow::new("bbr", &[]);
    let mut segments = |bytes_per_sec| {
        flow.sk.inet_conn.icsk_inet.sk.sk_pacing_rate = bytes_per_sec;
        flow.congestion.min_tso_segs(&mut flow.sk)
    };
    assert_eq!([segments(149_999), segments(150_000)], [Some(1), Some(2)]);
    assert_eq!(flow.congestion.sndbuf_expand(&mut flow.sk), Some(3));
    // TCP's own timer paces unless the qdisc does
    assert_eq!(flow.sk.inet_conn.icsk_inet.sk.sk_pacing_status, 1);
    flow.sk.inet_conn.icsk_inet.sk.sk_pacing_status = 2;
    flow.congestion.init(&mut flow.sk);
    assert_eq!(flow.sk.inet_conn.icsk_inet.sk.sk_pacing_status, 2);
    // a window that was reduced spuriously
    flow.sk.snd_cwnd = 7;
    let _ = flow.congestion.cwnd_event(&mut flow.sk, CwndEvent::Loss);
    assert_eq!(flow.congestion.undo_cwnd(&mut flow.sk), 7);
}
