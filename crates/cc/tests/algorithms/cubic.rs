//! CUBIC's curve and HyStart, compared with their definitions.

use cwndlab_cc::AckSample;

use crate::flow::{Flow, LOSS, RECOVERY};

/// C in packets/s^3 with the default `bic_scale`.
const C: f64 = 410.0 / 1024.0;

const BETA: f64 = 717.0 / 1024.0;

const MS: u64 = 1_000_000;

/// A flow that had a loss at `window` packets and follows only the curve.
fn after_loss(window: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("cubic", parameters);
    flow.sk.snd_cwnd = window;
    flow.reduce(RECOVERY);
    flow
}

/// K in seconds after a loss at `window`; the remaining window is rounded down to packets.
fn k_s(window: u32) -> f64 {
    let rest = (f64::from(window) * BETA).floor();
    libm::cbrt((f64::from(window) - rest) / C)
}

#[test]
fn the_window_follows_the_curve() {
    // RFC 9438 section 4.2, figure 1
    for window in [100, 1_000, 10_000] {
        let rtt_ns = 20 * MS;
        let mut flow = after_loss(window, &[("tcp_friendliness", 0)]);
        let start_ns = flow.now_ns;
        let k = k_s(window);
        for step in 1..=40 {
            flow.run((k * 1e9 / 20.0) as u64, rtt_ns);
            let t = (flow.now_ns - start_ns) as f64 / 1e9;
            let curve = f64::from(window) + C * libm::pow(t - k, 3.0);
            // The target is computed one RTT ahead and reached an RTT later, in steps of a packet;
            // after these two, it may be off by a tick, and the root of K by 0.2 %.
            let slope = 3.0 * C * (t - k) * (t - k);
            let allowed = 1.5 + slope * (rtt_ns as f64 / 1e9 + 0.004 + 0.002 * k);
            let off = f64::from(flow.sk.snd_cwnd) - curve;
            assert!(off.abs() <= allowed, "W_max {window}, step {step}: {off:+.2} of {allowed:.2}");
            let phase = if step < 20 { "concave" } else { "convex" };
            // the phase changes within an update of K
            assert!(step == 20 || step == 19 || flow.phase() == phase, "{step} {}", flow.phase());
        }
    }
}

#[test]
fn k_is_the_time_to_return_to_the_last_maximum() {
    for window in [50, 500, 5_000] {
        let mut flow = after_loss(window, &[("tcp_friendliness", 0)]);
        flow.run((k_s(window) * 1e9) as u64, 20 * MS);
        assert!(flow.sk.snd_cwnd.abs_diff(window) <= 1, "{} of {window}", flow.sk.snd_cwnd);
    }
}

#[test]
fn a_loss_leaves_beta_and_a_shrinking_flow_remembers_less() {
    let mut flow = after_loss(1_000, &[("tcp_friendliness", 0)]);
    assert_eq!(flow.sk.snd_cwnd, 700);
    // a second loss, below the last maximum: W_max = 700 (1 + beta) / 2 = 595
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 490);
    flow.run((libm::cbrt((595.0 - 490.0) / C) * 1e9) as u64, 20 * MS);
    assert!(flow.sk.snd_cwnd.abs_diff(595) <= 1, "{}", flow.sk.snd_cwnd);

    let mut flow = after_loss(1_000, &[("tcp_friendliness", 0), ("fast_convergence", 0)]);
    flow.reduce(RECOVERY);
    flow.run((libm::cbrt((700.0 - 490.0) / C) * 1e9) as u64, 20 * MS);
    assert!(flow.sk.snd_cwnd.abs_diff(700) <= 1, "{}", flow.sk.snd_cwnd);
}

#[test]
fn the_old_clamp_makes_the_curve_a_line() {
    // at most 16 packets per round trip, as CUBIC inherited from BIC; at the start of a K of 14 s
    // the curve would grow by 60
    let grown = |max_increment: i64| {
        let parameters = [("tcp_friendliness", 0), ("max_increment", max_increment)];
        let mut flow = after_loss(10_000, &parameters);
        let before = flow.sk.snd_cwnd;
        flow.run(1_000 * MS, 100 * MS);
        flow.sk.snd_cwnd - before
    };
    assert!((150..=170).contains(&grown(16)), "{}", grown(16));
    assert!(grown(0) > 2 * grown(16), "{} without it", grown(0));
    // where the curve is flat, the limit has no effect
    let near = |max_increment: i64| {
        let mut flow =
            after_loss(100, &[("tcp_friendliness", 0), ("max_increment", max_increment)]);
        flow.run(4_000 * MS, 100 * MS);
        flow.sk.snd_cwnd
    };
    assert_eq!(near(16), near(0));
}

#[test]
fn linux_2_6_24_kept_four_fifths_and_started_slowly_to_the_end() {
    let old = [("beta", 819), ("hystart", 0)];
    let mut flow = Flow::new("cubic", &old);
    assert_eq!(slow_start(&mut flow, 100_000, 1_000, |_| 50_000), u32::MAX);
    flow.sk.snd_cwnd = 1_000;
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 799);
    // W(t) and K for this beta
    let k = libm::cbrt((1_000.0 - 799.0) / C);
    flow.run((k * 1e9) as u64, 20 * MS);
    assert!(flow.sk.snd_cwnd.abs_diff(1_000) <= 1, "{}", flow.sk.snd_cwnd);
}

#[test]
fn the_friendly_line_is_that_of_reno_with_this_beta() {
    // RFC 8312 section 4.2, equation 4: 3 (1 - beta) / (1 + beta) packets per round trip
    let mut flow = after_loss(40, &[]);
    let start = flow.sk.snd_cwnd;
    let rounds = 20;
    flow.run(rounds * 10 * MS, 10 * MS);
    let expected = 3.0 * (1.0 - BETA) / (1.0 + BETA) * rounds as f64;
    let grown = f64::from(flow.sk.snd_cwnd - start);
    // the line consists of whole packets, which the window follows within a round trip
    assert!((grown - expected).abs() <= 2.0, "grew by {grown}, the line by {expected:.1}");
    assert_eq!(flow.phase(), "friendly");
}

#[test]
fn the_curve_stands_still_while_idle() {
    let rtt_ns = 20 * MS;
    let mut busy = after_loss(1_000, &[]);
    let mut idle = after_loss(1_000, &[]);
    busy.run(2_000 * MS, rtt_ns);
    idle.run(2_000 * MS, rtt_ns);
    idle.idle(60_000 * MS);
    busy.run(1_000 * MS, rtt_ns);
    idle.run(1_000 * MS, rtt_ns);
    assert!(
        idle.sk.snd_cwnd.abs_diff(busy.sk.snd_cwnd) <= 1,
        "{} after an idle minute, {} without",
        idle.sk.snd_cwnd,
        busy.sk.snd_cwnd
    );
}

#[test]
fn a_timeout_forgets_the_maximum() {
    let mut flow = after_loss(1_000, &[]);
    flow.time_out();
    flow.open();
    flow.sk.snd_cwnd = 500;
    flow.sk.snd_ssthresh = 2;
    // no W_max: at least a packet per 20 acknowledged
    flow.run(100 * MS, 100 * MS);
    assert!(flow.sk.snd_cwnd >= 500 + 500 / 20, "{}", flow.sk.snd_cwnd);
    assert_eq!(flow.sk.inet_conn.icsk_ca_state, 0);
    assert_ne!(flow.sk.inet_conn.icsk_ca_state, LOSS);
}

/// Slow start on a path of `rtt_us` whose ACKs arrive `gap_us` apart, round by round; `queue`
/// returns the increase of the RTT at a window. Returns the window at the end of slow start.
fn slow_start(flow: &mut Flow, rtt_us: u64, gap_us: u64, queue_us: impl Fn(u32) -> u64) -> u32 {
    for _round in 0..12 {
        let packets = flow.sk.snd_cwnd;
        let mut train_us = 0;
        let rtt_now_us = rtt_us + queue_us(packets);
        for _ in 0..packets {
            flow.ack(1, rtt_now_us as i32);
            if flow.sk.snd_cwnd >= flow.sk.snd_ssthresh {
                return flow.sk.snd_cwnd;
            }
            flow.advance(gap_us * 1_000);
            train_us += gap_us;
        }
        flow.advance(rtt_now_us.saturating_sub(train_us) * 1_000);
    }
    u32::MAX
}

#[test]
fn hystart_ends_slow_start_when_a_train_is_half_the_path() {
    // A path of 100 ms, an ACK per millisecond: in the round of 80 packets, the train exceeds half
    // the path after 51 ACKs
    let train = [("hystart_detect", 1)];
    let mut flow = Flow::new("cubic", &train);
    let window = slow_start(&mut flow, 100_000, 1_000, |_| 0);
    assert!(window.abs_diff(80 + 51) <= 3, "{window}");
    // a paced sender's train may be as long as the path: 101 ACKs in the round of 160
    let mut paced = Flow::new("cubic", &train);
    paced.sk.inet_conn.icsk_inet.sk.sk_pacing_status = 1;
    let window = slow_start(&mut paced, 100_000, 1_000, |_| 0);
    assert!(window.abs_diff(160 + 101) <= 3, "{window}");
    // and, at a low rate, 1 ms longer
    let mut slow = Flow::new("cubic", &train);
    slow.sk.inet_conn.icsk_inet.sk.sk_pacing_status = 1;
    slow.sk.inet_conn.icsk_inet.sk.sk_pacing_rate = 1_000_000;
    assert_eq!(slow_start(&mut slow, 100_000, 1_000, |_| 0), window + 1);
    // ACKs too far apart do not form a train
    let mut sparse = Flow::new("cubic", &train);
    assert_eq!(slow_start(&mut sparse, 100_000, 2_001, |_| 0), u32::MAX);
}

#[test]
fn hystart_ends_slow_start_when_the_delay_has_grown_by_an_eighth() {
    let at = |growth_us: u64| {
        let mut flow = Flow::new("cubic", &[("hystart_detect", 2)]);
        slow_start(&mut flow, 80_000, 3_000, |window| if window >= 40 { growth_us } else { 0 })
    };
    assert_eq!(at(10_000), u32::MAX);
    let window = at(10_001);
    // nine samples into the first round with at least 40 packets
    assert!((40..=89).contains(&window), "{window}");
    // bounds of the eighth: 4 ms on a short path, 16 ms on a long path
    let short = |growth_us: u64| {
        let mut flow = Flow::new("cubic", &[("hystart_detect", 2)]);
        slow_start(&mut flow, 8_000, 3_000, |window| if window >= 40 { growth_us } else { 0 })
    };
    assert_eq!(short(4_000), u32::MAX);
    assert!(short(4_001) < u32::MAX);
    let long = |growth_us: u64| {
        let mut flow = Flow::new("cubic", &[("hystart_detect", 2)]);
        slow_start(&mut flow, 800_000, 3_000, |window| if window >= 40 { growth_us } else { 0 })
    };
    assert_eq!(long(16_000), u32::MAX);
    assert!(long(16_001) < u32::MAX);
}

#[test]
fn hystart_looks_from_its_low_window_on_and_can_be_off() {
    let mut flow = Flow::new("cubic", &[("hystart_low_window", 1_000)]);
    assert!(slow_start(&mut flow, 10_000, 1_000, |_| 0) >= 1_000);
    let mut flow = Flow::new("cubic", &[("hystart", 0)]);
    assert_eq!(slow_start(&mut flow, 10_000, 1_000, |_| 0), u32::MAX);
    let flow = Flow::new("cubic", &[("hystart", 0), ("initial_ssthresh", 77)]);
    assert_eq!(flow.sk.snd_ssthresh, 77);
}

/// Values that a running Linux 6.1 computed: packets below the last maximum, and K in 1/1024 s.
/// There is a window for each guess of the cube root, for which another guess would give another K.
#[rustfmt::skip]
const K_OF_LINUX: [(u32, u32); 56] = [
    (26, 4116), (29, 4271), (33, 4456), (36, 4587), (39, 4714), (42, 4832), (45, 4945),
    (49, 5088), (52, 5185), (55, 5284), (58, 5379), (61, 5472), (65, 5585), (68, 5671),
    (71, 5754), (74, 5834), (77, 5911), (81, 6013), (84, 6086), (87, 6159), (90, 6228),
    (93, 6296), (97, 6386), (100, 6451), (103, 6512), (106, 6575), (109, 6636), (113, 6715),
    (116, 6777), (119, 6834), (122, 6892), (125, 6948), (129, 7021), (132, 7075), (17, 3573),
    (138, 7180), (141, 7232), (145, 7298), (148, 7349), (151, 7399), (154, 7448), (157, 7495),
    (161, 7558), (164, 7606), (167, 7651), (170, 7698), (173, 7742), (177, 7801), (180, 7846),
    (23, 3951), (186, 7931), (189, 7974), (193, 8031), (196, 8072), (199, 8112), (202, 8154),
];

/// K, the sixth word of both the kernel's state and ours.
fn k_of(packets_below: u32) -> u32 {
    let mut flow = Flow::new("cubic", &[]);
    flow.sk.snd_cwnd = packets_below + 10;
    flow.congestion.ssthresh(&mut flow.sk);
    (flow.sk.snd_cwnd, flow.sk.snd_ssthresh, flow.sk.is_cwnd_limited) = (10, 5, 1);
    let sample = AckSample { pkts_acked: 1, rtt_us: 10_000, in_flight: 10 };
    let _ = flow.congestion.pkts_acked(&mut flow.sk, &sample);
    let _ = flow.congestion.cong_avoid(&mut flow.sk, 1_000, 1);
    (flow.sk.inet_conn.icsk_ca_priv[2] >> 32) as u32
}

#[test]
fn k_is_linux_s_to_the_tick() {
    for (packets_below, k) in K_OF_LINUX {
        assert_eq!(k_of(packets_below), k, "{packets_below} packets below the last maximum");
    }
}

#[test]
fn the_cube_root_is_off_by_less_than_a_quarter_percent_and_by_nothing_on_average() {
    let mut sum = 0.0;
    for packets in 16..4_000 {
        let exact = libm::cbrt(f64::from(packets) / C) * 1_024.0;
        let error = f64::from(k_of(packets)) / exact - 1.0;
        assert!(error.abs() < 0.002_5, "{packets}: {error}");
        sum += error;
    }
    assert!((sum / 3_984.0).abs() < 0.000_2, "{}", sum / 3_984.0);
}
