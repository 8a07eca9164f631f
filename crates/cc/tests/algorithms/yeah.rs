//! YeAH by the rules of Baiocchi, Castellani and Vacirca 2007.

use crate::flow::{Flow, RECOVERY};
use crate::path::{Path, round};

/// A path that 1,000 packets fill.
const PATH: Path = Path { base_us: 100_000, packet_us: 100 };

/// A flow with this window that knows the path's RTT.
fn with_window(window_pkts: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("yeah", parameters);
    flow.sk.snd_ssthresh = 2;
    PATH.run(&mut flow, 2);
    flow.sk.snd_cwnd = window_pkts;
    flow.sk.snd_cwnd_cnt = 0;
    // ends the round that began with another window
    flow.ack(1, PATH.rtt_us(window_pkts) as i32);
    flow.sk.snd_cwnd = window_pkts;
    flow
}

#[test]
fn fast_is_scalable_and_slow_is_reno() {
    // one per 100 acknowledged: 4 per round trip with 400, and one with fewer than 100
    for (window, grown) in [(400, 4), (800, 8), (50, 1)] {
        let mut flow = with_window(window, &[]);
        PATH.run(&mut flow, 1);
        assert!(flow.sk.snd_cwnd.abs_diff(window + grown) <= 1, "{window}: {}", flow.sk.snd_cwnd);
        assert_eq!(flow.phase(), "fast");
    }
    // L > 1/8: a queue of an eighth of the RTT, which is more than 80 packets
    let mut flow = with_window(50, &[]);
    round(&mut flow, PATH.base_us + PATH.base_us / 7);
    for _ in 0..8 {
        round(&mut flow, PATH.base_us + PATH.base_us / 7);
    }
    assert_eq!((flow.sk.snd_cwnd, flow.phase()), (59, "slow"));
}

#[test]
fn the_path_is_filled_and_the_queue_kept_short() {
    let mut flow = with_window(900, &[]);
    for _ in 0..40 {
        PATH.run(&mut flow, 10);
        let queue = PATH.queue_pkts(flow.sk.snd_cwnd);
        // alpha = 80 packets, plus those that Fast adds until this is detected
        assert!(queue <= 80.0 + 25.0, "{queue}");
    }
    assert!(flow.sk.snd_cwnd >= 1_000, "{}", flow.sk.snd_cwnd);
}

#[test]
fn decongestion_takes_out_what_waits() {
    // Q of 1,200: cwnd (rtt - base) / rtt = 200
    let mut flow = with_window(1_200, &[]);
    PATH.run(&mut flow, 1);
    assert!(flow.sk.snd_cwnd.abs_diff(1_000) <= 20, "{}", flow.sk.snd_cwnd);
    assert_eq!(flow.sk.snd_ssthresh, flow.sk.snd_cwnd);
    assert_eq!(flow.phase(), "decongest");
    // gamma removes only a part of it
    let mut flow = with_window(1_200, &[("gamma", 4)]);
    PATH.run(&mut flow, 1);
    assert!(flow.sk.snd_cwnd.abs_diff(1_150) <= 20, "{}", flow.sk.snd_cwnd);
}

#[test]
fn linux_takes_half_the_window_at_most_and_the_paper_all_of_the_queue() {
    // 3,000 packets on a path of 1,000: Q = 2,000
    let rest = |parameters: &[(&str, i64)]| {
        let mut flow = with_window(3_000, parameters);
        PATH.run(&mut flow, 1);
        (flow.sk.snd_cwnd, flow.sk.snd_ssthresh)
    };
    let (cwnd, ssthresh) = rest(&[]);
    assert!(cwnd.abs_diff(1_500) <= 20, "{cwnd}");
    assert_eq!(ssthresh, cwnd);
    let (cwnd, ssthresh) = rest(&[("epsilon", 0), ("halve_ssthresh", 1)]);
    assert!(cwnd.abs_diff(1_000) <= 20, "{cwnd}");
    assert_eq!(ssthresh, cwnd / 2);
}

/// A round of Slow: a queue of other flows' packets, with L > 1/8 and Q > alpha.
fn slow_round(flow: &mut Flow) {
    round(flow, PATH.base_us + PATH.base_us / 4);
}

#[test]
fn beside_greedy_flows_it_keeps_renos_window() {
    // The queue is that of other flows: it stays whatever YeAH removes, and Q = cwnd / 5 is above
    // alpha.
    let mut flow = with_window(1_000, &[]);
    for _ in 0..100 {
        slow_round(&mut flow);
    }
    // it gave way at first, but not below half of the 800 that the first decongestion left, plus
    // one packet per round trip since then
    assert!(flow.sk.snd_cwnd.abs_diff(400 + 100) <= 5, "{}", flow.sk.snd_cwnd);
}

#[test]
fn a_loss_costs_the_queue_or_against_greedy_flows_half() {
    let loss = |slow_rounds: u32, queueing_us: u32, window: u32| {
        let mut flow = with_window(window, &[]);
        for _ in 0..slow_rounds {
            round(&mut flow, PATH.base_us + queueing_us);
            flow.sk.snd_cwnd = window;
        }
        flow.sk.snd_cwnd = window;
        flow.reduce(RECOVERY);
        flow.sk.snd_cwnd
    };
    // no queue: an eighth
    assert_eq!(loss(3, 0, 800), 700);
    // L above 1/8, Q = 200 (1/3) / (4/3) = 50 packets: less than half, more than an eighth
    assert_eq!(loss(3, 33_340, 200), 150);
    // Q of almost the whole window: half of it
    assert_eq!(loss(3, 2_000_000, 60), 30);
    // rho = 16 rounds of Slow: half, for any Q
    assert_eq!(loss(14, 33_340, 200), 150);
    assert_eq!(loss(18, 33_340, 200), 100);
}

#[test]
fn fast_rounds_forget_the_greedy_flows() {
    let renos = |fast_rounds: u32| {
        let mut flow = with_window(1_000, &[("epsilon", 0)]);
        for _ in 0..20 {
            slow_round(&mut flow);
        }
        for _ in 0..fast_rounds {
            round(&mut flow, PATH.base_us);
        }
        // decongestion would leave a quarter of it, but stops at Reno's window
        for _ in 0..2 {
            flow.sk.snd_cwnd = 1_000;
            round(&mut flow, 4 * PATH.base_us);
        }
        flow.sk.snd_cwnd
    };
    // not yet after 40 rounds of Fast; after 60 (zeta = 50), as if it were alone
    assert!(renos(40) > renos(60), "{} and {}", renos(40), renos(60));
}
