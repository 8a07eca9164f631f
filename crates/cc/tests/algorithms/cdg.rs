//! CDG's probability, its consequences, and the draws of the kernel.

use cwndlab_cc::CwndEvent;

use crate::chance::replay_by_chance;
use crate::flow::{CWR, Flow, OPEN, RECOVERY};
use crate::replay::trace;

const BASE_US: i32 = 40_000;

/// A flow in congestion avoidance with this many packets.
fn at(window: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("cdg", parameters);
    flow.sk.snd_cwnd = window;
    flow.sk.snd_ssthresh = 2;
    // not an idle restart, but it makes this window that of the state
    let _ = flow.congestion.cwnd_event(&mut flow.sk, CwndEvent::CwndRestart);
    flow
}

/// A round trip in one ACK; after two, the gradient of the next one is known. Returns whether CDG
/// requests a reduction.
fn round(flow: &mut Flow, rtt_us: i32) -> bool {
    let window = flow.sk.snd_cwnd;
    flow.advance(rtt_us as u64 * 1_000);
    flow.ack(window, rtt_us);
    flow.asked.reduces
}

/// The endpoint's reaction to a request.
fn reduce(flow: &mut Flow) {
    flow.reduce(CWR);
    flow.sk.inet_conn.icsk_ca_state = OPEN;
}

#[test]
fn the_probability_is_that_of_the_paper() {
    // sums of gradients over G, in us and 1/s: P = 1 - exp(-g / G)
    for (gradient_us, factor) in [(0, 42), (500, 42), (5_000, 42), (20_000, 42), (20_000, 333)] {
        let parameters = [("window", 1), ("backoff_factor", factor), ("hystart_detect", 0)];
        let mut flow = at(20, &parameters);
        round(&mut flow, BASE_US);
        round(&mut flow, BASE_US);
        let draws = 4_000;
        let reductions = (0..draws)
            .filter(|&seed| {
                let mut flow = flow.clone();
                flow.sk.cc_random = seed;
                round(&mut flow, BASE_US + gradient_us)
            })
            .count();
        let p = 1.0 - libm::exp(-f64::from(gradient_us) * factor as f64 / 1e6);
        let expected = p * draws as f64;
        let deviation = libm::sqrt(expected * (1.0 - p));
        let error = reductions as f64 - expected;
        assert!(error.abs() <= 4.0 * deviation, "{gradient_us} us: {reductions}, not {expected}");
    }
}

#[test]
fn a_back_off_leaves_seven_tenths_and_grows_again_as_reno() {
    let mut flow = at(100, &[("backoff_factor", 65_535), ("window", 1), ("hystart_detect", 0)]);
    round(&mut flow, BASE_US);
    round(&mut flow, BASE_US);
    let window = flow.sk.snd_cwnd;
    assert!(round(&mut flow, BASE_US + 5_000));
    assert_eq!(flow.phase(), "backoff");
    reduce(&mut flow);
    assert_eq!(flow.sk.snd_cwnd, window * 724 / 1024);
    let after = flow.sk.snd_cwnd;
    // the gradient across the reduction is ignored, then one of 0 follows
    for _ in 0..3 {
        assert!(!round(&mut flow, BASE_US));
    }
    assert_eq!((flow.sk.snd_cwnd, flow.phase()), (after + 3, "avoidance"));
}

#[test]
fn five_back_offs_without_effect_and_the_gradient_is_ignored() {
    let mut flow = at(1_000, &[("backoff_factor", 65_535), ("window", 1), ("hystart_detect", 0)]);
    let mut rtt_us = BASE_US;
    let mut reductions = 0;
    // another flow always fills the queue
    for _ in 0..60 {
        rtt_us += 1_000;
        if round(&mut flow, rtt_us) {
            reductions += 1;
            reduce(&mut flow);
        }
    }
    assert_eq!((reductions, flow.phase()), (5, "compete"));
    // it drains, so back-offs have an effect again
    round(&mut flow, rtt_us - 10_000);
    assert_eq!(flow.phase(), "avoidance");
    assert!(round(&mut flow, rtt_us));
}

#[test]
fn a_loss_takes_half_of_what_the_window_would_be_without_back_offs() {
    let mut flow = at(100, &[("backoff_factor", 65_535), ("window", 1), ("hystart_detect", 0)]);
    round(&mut flow, BASE_US);
    round(&mut flow, BASE_US);
    for rtt_us in [BASE_US + 5_000, BASE_US + 10_000] {
        assert!(round(&mut flow, rtt_us));
        reduce(&mut flow);
        round(&mut flow, BASE_US);
        round(&mut flow, BASE_US);
    }
    let window = flow.sk.snd_cwnd;
    assert!((51..=57).contains(&window), "{window}");
    // half of 100, and of the packets added since then
    flow.reduce(RECOVERY);
    assert!((50..=54).contains(&flow.sk.snd_cwnd), "{} from {window}", flow.sk.snd_cwnd);

    let mut flow = at(100, &[("use_shadow", 0)]);
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 50);
}

#[test]
fn the_tolerant_variant_keeps_the_window_unless_the_queue_is_full() {
    let tolerant = [("use_tolerance", 1), ("backoff_factor", 0), ("window", 1)];
    // both extremes rise: the queue has room, so it did not cause the loss
    let mut flow = at(100, &tolerant);
    for rtt_us in [40_000, 40_000, 41_000] {
        round(&mut flow, rtt_us);
    }
    let window = flow.sk.snd_cwnd;
    assert_eq!(flow.congestion.ssthresh(&mut flow.sk), window);
    // the minimum rises, the maximum does not: the queue is full
    let mut flow = at(100, &tolerant);
    for least_us in [40_000, 41_000, 42_000, 43_000] {
        flow.ack(98, least_us);
        flow.ack(2, 60_000);
    }
    assert!(flow.congestion.ssthresh(&mut flow.sk) < flow.sk.snd_cwnd);
}

#[test]
fn does_as_the_kernels_module() {
    let Some(rows) = trace("cdg") else { return };
    let chance = replay_by_chance("cdg", &rows);
    println!("{} draws, {}", chance.draws, chance.outcome);
    let outcome = &chance.outcome;
    assert!(chance.draws > 300 && outcome.changes > 500, "{outcome}");
    assert!(outcome.differences.is_empty(), "{outcome}");
}
