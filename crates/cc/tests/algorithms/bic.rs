//! BIC's search, step by step, and the variants of the paper.

use crate::flow::{Flow, RECOVERY};

const RTT_NS: u64 = 100_000_000;

/// The steps in the header comment, which Linux doubles.
const SINGLE_STEPS: [(&str, i64); 1] = [("count_acks", 0)];

/// A flow whose last loss was at `maximum` packets, with a window of `window`.
fn searching(maximum: u32, window: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("bic", parameters);
    flow.sk.snd_cwnd = maximum;
    flow.reduce(RECOVERY);
    flow.sk.snd_cwnd = window;
    flow.sk.snd_ssthresh = 2;
    flow
}

/// Growth in one round trip.
fn step(flow: &mut Flow) -> u32 {
    let before = flow.sk.snd_cwnd;
    for _ in 0..before {
        flow.advance(RTT_NS / u64::from(before));
        flow.ack(1, 100_000);
    }
    flow.sk.snd_cwnd - before
}

#[test]
fn a_round_trip_goes_a_quarter_of_the_way_and_16_packets_at_most() {
    for (distance, expected, phase) in [
        (400, 16, "additive"),
        (100, 16, "additive"),
        (48, 10, "binary_search"), // 12 at first, 9 at the end
        (20, 4, "binary_search"),
    ] {
        let mut flow = searching(1_000, 1_000 - distance, &SINGLE_STEPS);
        let grown = step(&mut flow);
        assert!(grown.abs_diff(expected) <= 1, "{distance} below: grew by {grown}");
        let mut flow = searching(1_000, 1_000 - distance, &SINGLE_STEPS);
        flow.ack(1, 100_000);
        assert_eq!(flow.phase(), phase, "{distance} below");
    }
}

#[test]
fn around_the_maximum_a_packet_takes_five_round_trips() {
    // search_divisor / smooth_part = 4/20 packets per round trip, from 7 packets below to 3 above
    for window in [994, 1_000] {
        let mut flow = searching(1_000, window, &SINGLE_STEPS);
        let grown: u32 = (0..10).map(|_| step(&mut flow)).sum();
        assert!((1..=3).contains(&grown), "from {window}: {grown} in ten round trips");
    }
}

#[test]
fn beyond_the_maximum_the_search_runs_backwards() {
    for (beyond, expected) in [(12, 4), (30, 10), (48, 16), (500, 16)] {
        let mut flow = searching(1_000, 1_000 + beyond, &SINGLE_STEPS);
        let grown = step(&mut flow);
        assert!(grown >= expected && grown <= expected + expected / 2, "{beyond}: {grown}");
        assert_eq!(flow.phase(), "max_probing");
    }
}

#[test]
fn the_papers_search_halves_the_way_and_then_doubles_the_steps() {
    // Xu, Harfoush, Rhee 2004: the target is the midpoint, Smax = 32, beta = 0.125
    let paper = [("search_divisor", 2), ("max_increment", 32), ("beta", 896), ("count_acks", 0)];
    let mut flow = searching(1_000, 1_000 - 48, &paper);
    let mut left = 48;
    // steps shrink towards the target, so a round trip covers 1 - e^(-1/2) of the distance
    for _ in 0..3 {
        left -= step(&mut flow);
    }
    assert!((10..=12).contains(&left), "{left} of 48 left after three round trips");

    let mut flow = searching(1_000, 1_000 + 4, &paper);
    let steps: Vec<u32> = (0..3).map(|_| step(&mut flow)).collect();
    assert!(steps[1] >= 2 * steps[0] && steps[2] >= 2 * steps[1] - 2, "{steps:?}");
    let mut flow = searching(1_000, 1_000 + 200, &paper);
    assert!(step(&mut flow).abs_diff(32) <= 1);

    let mut flow = Flow::new("bic", &paper);
    flow.sk.snd_cwnd = 800;
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 700);
}

#[test]
fn up_to_the_low_window_it_is_reno() {
    for (window, rest) in [(14, 7), (15, 11), (2, 2)] {
        let mut flow = Flow::new("bic", &[]);
        flow.sk.snd_cwnd = window;
        flow.reduce(RECOVERY);
        // 15 * 819 / 1024 = 11.99
        assert_eq!(flow.sk.snd_cwnd, rest, "{window}");
    }
    let mut flow = searching(14, 7, &[]);
    for round in 1..=6 {
        step(&mut flow);
        assert_eq!(flow.sk.snd_cwnd, 7 + round);
        assert_eq!(flow.phase(), "below_low_window");
    }
}

#[test]
fn a_shrinking_flow_remembers_less() {
    let maximum = |fast_convergence: i64| {
        let mut flow = searching(1_000, 900, &[("fast_convergence", fast_convergence)]);
        flow.reduce(RECOVERY);
        while flow.phase() != "max_probing" {
            step(&mut flow);
        }
        flow.sk.snd_cwnd
    };
    // 900 (1 + 0.8) / 2 = 809.9
    assert!((809..=811).contains(&maximum(1)), "{}", maximum(1));
    assert!((900..=902).contains(&maximum(0)), "{}", maximum(0));
}

#[test]
fn a_timeout_forgets_the_maximum() {
    let mut flow = searching(1_000, 800, &[]);
    flow.time_out();
    flow.open();
    flow.sk.snd_cwnd = 400;
    flow.sk.snd_ssthresh = 2;
    // no maximum: at least a packet per 20 ACKs, while the distance would allow one per 16
    let grown = step(&mut flow);
    assert!(grown >= 400 / 20, "{grown}");
    assert_eq!(flow.phase(), "max_probing");
}

#[test]
fn linux_doubles_every_step_with_delayed_acks_and_without() {
    let grown = |packets_per_ack: u32, parameters: &[(&str, i64)]| {
        let mut flow = searching(2_000, 1_000, parameters);
        for _ in 0..1_000 / packets_per_ack {
            flow.advance(RTT_NS / 1_000 * u64::from(packets_per_ack));
            flow.ack(packets_per_ack, 100_000);
        }
        flow.sk.snd_cwnd - 1_000
    };
    // 31/16 packets per ACK are the minimum of the mean
    assert_eq!((grown(1, &[]), grown(2, &[])), (31, 32));
    assert_eq!((grown(1, &SINGLE_STEPS), grown(2, &SINGLE_STEPS)), (16, 16));
}

#[test]
fn a_first_threshold_can_be_set() {
    assert_eq!(Flow::new("bic", &[("initial_ssthresh", 77)]).sk.snd_ssthresh, 77);
}
