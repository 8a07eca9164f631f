//! Westwood of 2001: the filter of its equation 3, and the functions f1 to f6.

use crate::flow::{Flow, MSS_BYTES, RECOVERY};

const MS: u64 = 1_000_000;

fn steady(window: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("westwood-2001", parameters);
    flow.sk.snd_cwnd = window;
    flow.sk.snd_ssthresh = 2;
    flow.sk.is_cwnd_limited = 0;
    flow
}

/// BWE * RTTmin / a, obtained like the threshold of a loss in congestion avoidance.
fn path_pkts(flow: &Flow) -> u32 {
    let mut sk = flow.sk.clone();
    sk.snd_cwnd = 1_000_000;
    sk.snd_ssthresh = 2;
    flow.congestion.clone().ssthresh(&mut sk)
}

#[test]
fn the_filter_has_the_time_constant_tau() {
    for tau_ms in [100, 500, 2_000] {
        let mut flow = steady(400, &[("tau_ms", tau_ms as i64)]);
        flow.run(tau_ms * MS, 40 * MS);
        let come = f64::from(path_pkts(&flow)) / 400.0;
        let expected = 1.0 - libm::exp(-1.0);
        assert!((come - expected).abs() < 0.02, "tau {tau_ms} ms: {come:.3}, {expected:.3}");
        flow.run(10 * tau_ms * MS, 40 * MS);
        assert!(path_pkts(&flow).abs_diff(400) <= 2, "{}", path_pkts(&flow));
    }
}

#[test]
fn silence_counts_as_samples_of_zero() {
    // tau = 500 ms: each 250 ms of silence leaves (2 tau - 250) / (2 tau + 250) = 0.6 of BWE. The
    // previous sample is part of the first interval, and the sample that ends the silence is small.
    let mut flow = steady(400, &[]);
    flow.run(5_000 * MS, 40 * MS);
    flow.advance(1_001 * MS);
    flow.ack(1, 40_000);
    let left = f64::from(path_pkts(&flow)) / 400.0;
    let first = 0.6 + 0.2; // the other half of the first interval has the last sample's rate
    let expected = first * 0.6 * 0.6 * 0.6;
    assert!((left - expected).abs() < 0.02, "{left:.3} left, {expected:.3}");
    flow.advance(3_600_000 * MS);
    flow.ack(1, 40_000);
    assert_eq!(path_pkts(&flow), 2);
}

/// ACKs in bursts of twenty, ten microseconds apart, at 100 packets per 40 ms in total.
fn in_bursts(name: &str) -> f64 {
    let mut flow = Flow::new(name, &[]);
    flow.sk.snd_cwnd = 100;
    flow.sk.snd_ssthresh = 2;
    flow.sk.is_cwnd_limited = 0;
    for _ in 0..1_000 {
        for _ in 0..20 {
            flow.advance(10_000);
            flow.ack(1, 40_000);
        }
        flow.advance(8 * MS - 200_000);
    }
    flow.reduce(RECOVERY);
    f64::from(flow.sk.snd_ssthresh) / 100.0
}

#[test]
fn acks_in_bursts_deceive_it_and_not_westwood_plus() {
    // Grieco, Mascolo 2004, section 2.1: the reason for Westwood+
    let (old, new) = (in_bursts("westwood-2001"), in_bursts("westwood"));
    assert!(old > 3.0, "{old:.2} of the rate");
    assert!((new - 1.0).abs() < 0.06, "{new:.2} of the rate");
}

#[test]
fn a_loss_sets_the_threshold_and_lowers_the_window_but_never_raises_it() {
    let mut flow = steady(100, &[]);
    flow.run(5_000 * MS, 40 * MS);
    flow.sk.snd_cwnd = 300;
    flow.reduce(RECOVERY);
    assert!(flow.sk.snd_cwnd.abs_diff(100) <= 1, "{}", flow.sk.snd_cwnd);
    assert_eq!(flow.sk.snd_ssthresh, flow.sk.snd_cwnd);
    // in slow start, the window is below the path's
    flow.sk.snd_cwnd = 30;
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 30);
    assert!(flow.sk.snd_ssthresh.abs_diff(100) <= 1, "{}", flow.sk.snd_ssthresh);
}

/// The threshold after an event in slow start or in congestion avoidance, over BWE * RTTmin.
fn share(flow: &mut Flow, in_slow_start: bool, is_timeout: bool) -> f64 {
    flow.sk.snd_cwnd = 1_000;
    flow.sk.snd_ssthresh = if in_slow_start { 2_000 } else { 2 };
    if is_timeout {
        flow.time_out();
        assert_eq!(flow.sk.snd_cwnd, 1, "f4 and f6");
        flow.open();
    } else {
        flow.reduce(RECOVERY);
    }
    f64::from(flow.sk.snd_ssthresh) / 1_000.0
}

#[test]
fn the_reduction_factor_grows_in_slow_start_and_falls_back_to_one() {
    let mut flow = steady(1_000, &[("reduction", 1)]);
    flow.run(10_000 * MS, 40 * MS);
    let mut expect = |in_slow_start: bool, is_timeout: bool, a: f64| {
        let measured = share(&mut flow, in_slow_start, is_timeout);
        assert!((measured - 1.0 / a).abs() < 0.01, "{measured:.3}, a = {a}");
    };
    expect(false, false, 1.0); // f1
    expect(true, false, 1.25); // f2
    expect(true, false, 1.5);
    expect(true, true, 2.5); // f5
    expect(true, true, 3.5);
    expect(true, true, 4.0); // the maximum
    expect(true, false, 4.0);
    expect(false, true, 1.0); // f3
    expect(true, false, 1.25);
}

#[test]
fn without_reduction_the_threshold_is_the_path_always() {
    let mut flow = steady(1_000, &[]);
    flow.run(10_000 * MS, 40 * MS);
    for (in_slow_start, is_timeout) in [(true, false), (true, true), (false, false), (false, true)]
    {
        let measured = share(&mut flow, in_slow_start, is_timeout);
        assert!((measured - 1.0).abs() < 0.01, "{measured:.3}");
    }
}

#[test]
fn duplicate_acks_count_once() {
    let mut flow = steady(100, &[]);
    flow.run(5_000 * MS, 40 * MS);
    for ack in 0..10_000 {
        flow.advance(40 * MS / 100);
        if ack % 10 == 9 {
            flow.sk.snd_una = flow.sk.snd_una.wrapping_add(10 * MSS_BYTES);
        }
        let _ = flow.congestion.in_ack_event(&mut flow.sk, 1);
    }
    assert!(path_pkts(&flow).abs_diff(100) <= 1, "{}", path_pkts(&flow));
}

#[test]
fn an_undo_takes_the_reduction_factor_back() {
    let mut flow = steady(1_000, &[("reduction", 1)]);
    flow.run(10_000 * MS, 40 * MS);
    share(&mut flow, true, false);
    flow.congestion.undo_cwnd(&mut flow.sk);
    let again = share(&mut flow, true, false);
    assert!((again - 0.8).abs() < 0.01, "{again:.3}");
}
