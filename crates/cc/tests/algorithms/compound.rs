//! Compound TCP's two windows, compared with draft-sridharan-tcpm-ctcp-02.

use crate::flow::{Flow, RECOVERY};

const BASE_US: u32 = 100_000;

/// A flow past slow start on a path of 100 ms.
fn at(window: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("compound", parameters);
    flow.sk.snd_cwnd = window;
    flow.sk.snd_ssthresh = 2;
    flow.sk.srtt_us = BASE_US << 3;
    flow
}

/// Acknowledges one window at this RTT. Returns the growth of the window.
fn round(flow: &mut Flow, rtt_us: u32) -> i64 {
    let before = flow.sk.snd_cwnd;
    flow.sk.srtt_us = rtt_us << 3;
    for _ in 0..before {
        flow.advance(u64::from(rtt_us) * 1_000 / u64::from(before));
        flow.ack(1, rtt_us as i32);
    }
    i64::from(flow.sk.snd_cwnd) - i64::from(before)
}

/// The RTT with `packets` of a window in the queue: diff = win (1 - base / RTT).
fn with_queue(window: u32, packets: f64) -> u32 {
    (f64::from(BASE_US) / (1.0 - packets / f64::from(window))) as u32
}

#[test]
fn without_a_queue_a_round_adds_an_eighth_of_the_power() {
    // equation 3 and Reno's packet: alpha win^k in total
    for window in [100, 1_000, 10_000] {
        let mut flow = at(window, &[]);
        round(&mut flow, BASE_US);
        let measured: i64 = (0..4).map(|_| round(&mut flow, BASE_US)).sum();
        let mut expected = f64::from(window) + libm::pow(f64::from(window), 0.75) / 8.0;
        let from = expected;
        for _ in 0..4 {
            expected += libm::pow(expected, 0.75) / 8.0;
        }
        let off = measured as f64 - (expected - from);
        assert!(
            off.abs() < 1.5 + 0.01 * (expected - from),
            "{window}: {measured}, {:.1}",
            expected - from
        );
        assert_eq!(flow.phase(), "growing");
    }
}

#[test]
fn up_to_38_packets_it_is_reno() {
    let mut flow = at(20, &[]);
    for _ in 0..15 {
        assert!(round(&mut flow, BASE_US) <= 1);
        assert_eq!(flow.phase(), "standard");
    }
    flow.sk.snd_cwnd = 30;
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 15);
    // without this threshold, the delay window opens
    let mut flow = at(30, &[("low_window", 0)]);
    let grown: i64 = (0..10).map(|_| round(&mut flow, BASE_US)).sum();
    assert!(grown > 15, "{grown}");
}

/// A flow whose delay window has grown for some rounds, and that growth.
fn with_delay_window(parameters: &[(&str, i64)]) -> (Flow, u32) {
    let mut flow = at(200, parameters);
    for _ in 0..10 {
        round(&mut flow, BASE_US);
    }
    let delay_window = flow.sk.snd_cwnd - 200 - 10;
    assert!(delay_window > 50, "{delay_window}");
    (flow, delay_window)
}

#[test]
fn a_queue_of_gamma_takes_its_size_off_the_delay_window() {
    for (queue, is_grown) in [(28.0, true), (33.0, false)] {
        let (mut flow, _) = with_delay_window(&[]);
        let before = flow.sk.snd_cwnd;
        let grown = round(&mut flow, with_queue(before, queue));
        if is_grown {
            assert!(grown > 1, "{grown}");
        } else {
            // equation 4, and Reno's packet
            assert!((grown - (1 - queue as i64)).abs() <= 1, "{grown}");
            assert_eq!(flow.phase(), "yielding");
        }
    }
}

#[test]
fn a_lasting_queue_leaves_renos_window() {
    let (mut flow, delay_window) = with_delay_window(&[]);
    let before = flow.sk.snd_cwnd;
    for _ in 0..10 {
        round(&mut flow, 2 * BASE_US);
    }
    // the delay window is 0; the loss window grew by a packet per round
    assert!(flow.sk.snd_cwnd.abs_diff(before - delay_window + 10) <= 2, "{}", flow.sk.snd_cwnd);
    assert_eq!(round(&mut flow, 2 * BASE_US), 1);
}

#[test]
fn to_yield_is_not_to_start_slowly() {
    // after a loss, the threshold is the whole window, which shrinks below it
    let (mut flow, _) = with_delay_window(&[]);
    flow.reduce(RECOVERY);
    let after_loss = flow.sk.snd_cwnd;
    // the round with the loss
    round(&mut flow, 2 * BASE_US);
    for _ in 0..3 {
        round(&mut flow, 2 * BASE_US);
        assert_eq!(flow.phase(), "yielding");
        assert!(flow.sk.snd_cwnd < after_loss - 20, "{} of {after_loss}", flow.sk.snd_cwnd);
    }
}

#[test]
fn a_loss_halves_both_windows_and_an_undo_gives_them_back() {
    let (mut flow, delay_window) = with_delay_window(&[]);
    let before = flow.sk.snd_cwnd;
    let mut undone = flow.clone();
    flow.reduce(RECOVERY);
    assert!(flow.sk.snd_cwnd.abs_diff(before / 2) <= 1, "{} of {before}", flow.sk.snd_cwnd);
    let halved = flow.sk.snd_cwnd;
    for _ in 0..10 {
        round(&mut flow, 2 * BASE_US);
    }
    let kept = halved + 10 - flow.sk.snd_cwnd;
    assert!(kept.abs_diff(delay_window / 2) <= 2, "{kept} of {delay_window}");

    undone.reduce(RECOVERY);
    undone.sk.snd_cwnd = undone.congestion.undo_cwnd(&mut undone.sk);
    undone.sk.snd_ssthresh = 2;
    assert_eq!(undone.sk.snd_cwnd, before);
    for _ in 0..10 {
        round(&mut undone, 2 * BASE_US);
    }
    let taken = before + 10 - undone.sk.snd_cwnd;
    assert!(taken.abs_diff(delay_window) <= 2, "{taken} of {delay_window}");
}

#[test]
fn a_gentler_beta_is_made_up_by_the_delay_window() {
    let (mut flow, _) = with_delay_window(&[("beta", 256)]);
    let before = flow.sk.snd_cwnd;
    flow.reduce(RECOVERY);
    assert!(flow.sk.snd_cwnd.abs_diff(before * 3 / 4) <= 1, "{} of {before}", flow.sk.snd_cwnd);
}

/// gamma, found as the longest queue at which the window still grows.
fn gamma(flow: &Flow) -> u32 {
    let mut packets = 1;
    loop {
        let mut probe = flow.clone();
        probe.sk.snd_cwnd = 2_000;
        probe.sk.snd_ssthresh = 2;
        round(&mut probe, BASE_US);
        let window = probe.sk.snd_cwnd;
        round(&mut probe, with_queue(window, f64::from(packets) - 0.5));
        if probe.phase() == "yielding" || packets > 100 {
            return packets - 1;
        }
        packets += 1;
    }
}

#[test]
fn gamma_follows_renos_part_of_the_queue_within_5_and_30() {
    let after_losses = |queue: f64, parameters: &[(&str, i64)]| {
        let mut flow = at(100, parameters);
        for _ in 0..30 {
            flow.sk.snd_cwnd = 100;
            flow.sk.snd_ssthresh = 2;
            round(&mut flow, BASE_US);
            round(&mut flow, with_queue(100, queue));
            round(&mut flow, with_queue(100, queue));
            flow.reduce(RECOVERY);
        }
        gamma(&flow)
    };
    assert!(gamma(&at(100, &[])).abs_diff(30) <= 1);
    // three quarters of the queued packets
    for (queue, expected) in [(20.0, 15), (12.0, 9), (2.0, 5), (60.0, 30)] {
        let found = after_losses(queue, &[]);
        assert!(found.abs_diff(expected) <= 1, "{queue} queued: gamma {found}");
    }
    let fixed = |gamma| after_losses(20.0, &[("gamma_autotune", 0), ("gamma", gamma)]);
    assert!(
        fixed(30).abs_diff(30) <= 1 && fixed(7).abs_diff(7) <= 1,
        "{}, {}",
        fixed(30),
        fixed(7)
    );
}

#[test]
fn a_timeout_forgets_the_delay_window_and_the_base_rtt() {
    let (mut flow, _) = with_delay_window(&[]);
    flow.time_out();
    flow.open();
    flow.sk.snd_cwnd = 200;
    flow.sk.snd_ssthresh = 2;
    // the path has become twice as long, which is not a queue
    round(&mut flow, 2 * BASE_US);
    assert!(round(&mut flow, 2 * BASE_US) > 1);
    assert_eq!(flow.phase(), "growing");
}

#[test]
fn slow_start_has_no_delay_window() {
    let mut flow = Flow::new("compound", &[]);
    flow.sk.srtt_us = BASE_US << 3;
    for _ in 0..5 {
        let before = i64::from(flow.sk.snd_cwnd);
        assert_eq!(round(&mut flow, BASE_US), before);
        assert_eq!(flow.phase(), "slow_start");
    }
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 160);
}
