//! Illinois' two functions of the delay, by Liu, Basar and Srikant 2006.

use crate::flow::{Flow, LOSS, RECOVERY};
use crate::path::round;

const BASE_US: u32 = 50_000;

/// D, the maximum queueing delay.
const LONGEST_US: u32 = 100_000;

/// A flow with this window that has measured both extremes of the delay, now at `delay_us`.
fn at_delay(window_pkts: u32, delay_us: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("illinois", parameters);
    flow.sk.snd_ssthresh = 2;
    for rtt_us in [BASE_US, BASE_US + LONGEST_US, BASE_US + delay_us, BASE_US + delay_us] {
        flow.sk.snd_cwnd = window_pkts;
        round(&mut flow, rtt_us);
    }
    flow.sk.snd_cwnd = window_pkts;
    flow.ack(1, (BASE_US + delay_us) as i32);
    flow.sk.snd_cwnd = window_pkts;
    flow.sk.snd_cwnd_cnt = 0;
    flow
}

/// The paper's curve k1 / (k2 + d) through (D/100, maximum) and (D, minimum).
fn alpha(delay_us: f64, most: f64, least: f64) -> f64 {
    let longest = f64::from(LONGEST_US);
    let low = longest / 100.0;
    if delay_us <= low {
        return most;
    }
    let k1 = (longest - low) * least * most / (most - least);
    let k2 = (longest - low) * least / (most - least) - low;
    k1 / (k2 + delay_us)
}

/// The paper's line from (D/10, 1/8) to (8 D/10, 1/2).
fn beta(delay_us: f64) -> f64 {
    let share = (delay_us / f64::from(LONGEST_US) - 0.1) / 0.7;
    0.125 + (0.5 - 0.125) * share.clamp(0.0, 1.0)
}

#[test]
fn the_increase_follows_the_papers_curve() {
    for delay_us in [2_000, 5_000, 10_000, 20_000, 40_000, 60_000, 80_000, 100_000] {
        // alpha is in 1/128: 38 of these are 0.3
        let expected = alpha(f64::from(delay_us), 10.0, 38.0 / 128.0);
        let mut flow = at_delay(1_000, delay_us, &[]);
        let rounds = 40;
        for _ in 0..rounds {
            round(&mut flow, BASE_US + delay_us);
        }
        let grown = f64::from(flow.sk.snd_cwnd - 1_000) / f64::from(rounds);
        // a step is late by the excess that was counted, a part of an ACK in 1,000 / alpha of them
        let error = grown / expected - 1.0;
        assert!((-0.08..0.03).contains(&error), "{delay_us} us: {grown:.2}, curve {expected:.2}");
        assert_eq!(flow.phase(), "adaptive");
    }
}

#[test]
fn the_decrease_follows_the_papers_line() {
    for delay_us in [0, 9_000, 11_000, 20_000, 45_000, 60_000, 79_000, 81_000, 100_000] {
        let mut flow = at_delay(6_400, delay_us, &[]);
        flow.reduce(RECOVERY);
        let given_up = 1.0 - f64::from(flow.sk.snd_cwnd) / 6_400.0;
        // beta is in 1/64, rounded down
        let low = beta(f64::from(delay_us));
        assert!((low - given_up).abs() < 1.0 / 64.0 + 0.001, "{delay_us} us: {given_up}, {low}");
    }
}

#[test]
fn a_short_queue_counts_after_five_rounds() {
    let mut flow = at_delay(1_000, LONGEST_US, &[]);
    let mut rounds = 0;
    loop {
        flow.sk.snd_cwnd = 1_000;
        flow.sk.snd_cwnd_cnt = 0;
        round(&mut flow, BASE_US);
        rounds += 1;
        if flow.sk.snd_cwnd > 1_005 {
            break;
        }
        assert!(rounds < 20);
    }
    assert_eq!(rounds, 5, "theta");
}

#[test]
fn a_small_window_is_renos() {
    let mut flow = at_delay(14, 0, &[]);
    for _ in 0..5 {
        flow.sk.snd_cwnd = 14;
        flow.sk.snd_cwnd_cnt = 0;
        round(&mut flow, BASE_US);
        assert_eq!((flow.sk.snd_cwnd, flow.phase()), (15, "standard"));
    }
    flow.sk.snd_cwnd = 14;
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 7);
}

#[test]
fn a_timeout_makes_it_reno_until_the_round_is_over() {
    let mut flow = at_delay(1_000, 5_000, &[]);
    flow.time_out();
    assert_eq!(flow.sk.inet_conn.icsk_ca_state, LOSS);
    flow.open();
    flow.sk.snd_cwnd = 1_000;
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 500);
}

#[test]
fn what_was_counted_with_a_small_alpha_is_multiplied_by_a_large_one_as_in_linux() {
    let mut flow = at_delay(1_000, LONGEST_US, &[("theta", 1)]);
    // 0.3 per round trip: nearly 3,000 are counted when the queue has been empty for a round
    for _ in 0..2 {
        round(&mut flow, BASE_US + LONGEST_US);
    }
    assert_eq!(flow.sk.snd_cwnd, 1_000);
    let mut highest_step = 0;
    for _ in 0..1_100 {
        let before = flow.sk.snd_cwnd;
        flow.ack(1, BASE_US as i32);
        highest_step = highest_step.max(flow.sk.snd_cwnd - before);
    }
    assert!((25..=31).contains(&highest_step), "{highest_step}");
}
