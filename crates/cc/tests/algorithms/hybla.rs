//! Hybla's steps compared with its formulas: rho = RTT / 25 ms.

use std::collections::BTreeMap;

use cwndlab_cc::{Algorithm, Congestion, TcpSock};

use crate::flow::{DISORDER, Flow, RECOVERY};

/// A flow whose handshake took `rtt_us`, in the kernel's state when it calls init.
fn on_path(rtt_us: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("hybla", parameters);
    flow.sk.srtt_us = rtt_us << 3;
    flow.sk.snd_cwnd = 10;
    flow.congestion.attach(&mut flow.sk);
    flow.congestion.init(&mut flow.sk);
    flow
}

#[test]
fn the_first_window_is_rho() {
    for (rtt_us, window) in [(1_000, 1), (40_100, 1), (50_000, 2), (100_000, 4), (600_000, 24)] {
        assert_eq!(on_path(rtt_us, &[]).sk.snd_cwnd, window, "{rtt_us} us");
    }
    assert_eq!(on_path(100_000, &[("rtt0", 50)]).sk.snd_cwnd, 2);
}

#[test]
fn an_ack_adds_two_to_the_rho_less_one_in_slow_start() {
    // rho is in eighths: 40.1 ms are 12/8, 100 ms 32/8
    for (rtt_us, rho) in
        [(10_000, 1.0), (25_000, 1.0), (40_100, 1.5), (75_000, 3.0), (100_000, 4.0)]
    {
        let mut flow = on_path(rtt_us, &[]);
        let before = flow.sk.snd_cwnd;
        for _ in 0..100 {
            // an ACK for two packets counts once
            flow.ack(2, rtt_us as i32);
        }
        let grown = f64::from(flow.sk.snd_cwnd - before);
        let expected = 100.0 * (libm::pow(2.0, rho) - 1.0);
        assert!((grown - expected).abs() <= 1.0 + 0.005 * expected, "{rtt_us}: {grown}");
        assert_eq!(flow.phase(), "slow_start");
    }
}

#[test]
fn a_long_path_gains_as_many_packets_per_second_as_one_of_25_ms() {
    // Caini, Firrincieli 2004: the rate grows by rho^2 / RTT^2 = 1 / RTT0^2 for any RTT
    for (rtt_ms, tolerance) in [(100, 0.08), (200, 0.04), (400, 0.02)] {
        let mut flow = on_path(rtt_ms * 1_000, &[]);
        let rho = rtt_ms / 25;
        flow.sk.snd_cwnd = 20 * rho;
        flow.sk.snd_ssthresh = 2;
        flow.run(3_000_000_000, u64::from(rtt_ms) * 1_000_000);
        let grown_per_s = f64::from(flow.sk.snd_cwnd - 20 * rho) / (f64::from(rtt_ms) / 1e3);
        let expected = 3.0 / (0.025 * 0.025);
        // steps of 1/128 packet are truncated, which matters if rho^2 / cwnd is small
        let off = 1.0 - grown_per_s / expected;
        assert!((0.0..tolerance).contains(&off), "{rtt_ms} ms: {grown_per_s:.0} of {expected:.0}");
    }
}

#[test]
fn an_ack_adds_rho_squared_over_the_window_after_slow_start() {
    let mut flow = on_path(100_000, &[]);
    flow.sk.snd_cwnd = 64;
    flow.sk.snd_ssthresh = 2;
    // 16/64 packet per ACK
    for _ in 0..4 {
        flow.ack(1, 100_000);
    }
    assert_eq!(flow.sk.snd_cwnd, 65);
    assert_eq!(flow.phase(), "avoidance");
}

#[test]
fn a_window_too_large_for_its_steps_grows_as_renos() {
    // rho = 1: 128/4000 of 1/128 packet rounds to 0
    let mut flow = on_path(10_000, &[]);
    flow.sk.snd_cwnd = 4_000;
    flow.sk.snd_ssthresh = 2;
    for _ in 0..4_000 {
        flow.ack(1, 10_000);
    }
    assert_eq!(flow.sk.snd_cwnd, 4_001);
}

#[test]
fn slow_start_ends_at_the_threshold_and_the_window_at_65535() {
    let mut flow = on_path(400_000, &[]);
    flow.sk.snd_ssthresh = 100;
    flow.ack(1, 400_000);
    assert_eq!(flow.sk.snd_cwnd, 100);
    let mut flow = on_path(400_000, &[]);
    for _ in 0..3 {
        flow.ack(1, 400_000);
    }
    assert_eq!(flow.sk.snd_cwnd, 65_535);
}

#[test]
fn rho_follows_the_lowest_smoothed_rtt() {
    let mut flow = on_path(100_000, &[]);
    flow.sk.srtt_us = 200_000 << 3;
    flow.ack(1, 200_000);
    let after_higher = flow.sk.snd_cwnd;
    assert_eq!(after_higher, 4 + 15);
    flow.sk.srtt_us = 50_000 << 3;
    flow.ack(1, 50_000);
    assert_eq!(flow.sk.snd_cwnd, after_higher + 3);
}

#[test]
fn while_a_loss_is_repaired_it_is_reno() {
    let mut flow = on_path(100_000, &[]);
    flow.sk.snd_cwnd = 50;
    flow.congestion.set_state(&mut flow.sk, DISORDER);
    flow.ack(1, 100_000);
    assert_eq!(flow.sk.snd_cwnd, 51);
    assert_eq!(flow.phase(), "reno");
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 25);
}

#[test]
fn without_an_rtt_rho_is_one() {
    // a socket without a sample, as after a handshake with a retransmitted SYN
    let algorithm = Algorithm::by_name("hybla").expect("hybla");
    let mut congestion = Congestion::new(algorithm, &BTreeMap::new()).expect("no parameters");
    let mut sk = TcpSock::default();
    congestion.attach(&mut sk);
    congestion.init(&mut sk);
    assert_eq!(sk.snd_cwnd, 1);
}

#[test]
fn the_powers_are_those_of_two() {
    let source = include_str!("../../../../algorithms/hybla.c");
    let table = source.split("[HYBLA_RHO_ONE] = {").nth(1).expect("the table");
    let table = table.split('}').next().expect("its end");
    for (eighths, word) in (0..8).zip(table.split(',')) {
        let power: f64 = word.trim().parse().expect("digits");
        let exact = 128.0 * libm::pow(2.0, f64::from(eighths) / 8.0);
        assert!((power - exact).abs() <= 1.0, "{eighths}: {power} for {exact:.2}");
    }
}
