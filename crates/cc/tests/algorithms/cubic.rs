//! CUBIC's curve and HyStart, each against its definition.

use crate::flow::{Flow, LOSS, RECOVERY};

/// C in packets/s^3 with the default `bic_scale`.
const C: f64 = 410.0 / 1024.0;

const BETA: f64 = 717.0 / 1024.0;

const MS: u64 = 1_000_000;

/// A flow that lost at `window` packets and follows the curve alone.
fn after_loss(window: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("cubic", parameters);
    flow.sk.snd_cwnd = window;
    flow.reduce(RECOVERY);
    flow
}

/// K in seconds after a loss at `window`, whose rest is rounded down to packets.
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
            // The target is taken one RTT ahead and reached an RTT later, in steps of a packet;
            // behind these two it may be a tick off, and the root of K 0.2 %.
            let slope = 3.0 * C * (t - k) * (t - k);
            let allowed = 1.5 + slope * (rtt_ns as f64 / 1e9 + 0.004 + 0.002 * k);
            let off = f64::from(flow.sk.snd_cwnd) - curve;
            assert!(off.abs() <= allowed, "W_max {window}, step {step}: {off:+.2} of {allowed:.2}");
            let phase = if step < 20 { "concave" } else { "convex" };
            // the phase turns within an update of K
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
    // loses again below the last maximum: W_max = 700 (1 + beta) / 2 = 595
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
    // at most 16 packets a round trip, as CUBIC had from BIC; at the start of a K of 14 s the
    // curve wants 60
    let grown = |max_increment: i64| {
        let parameters = [("tcp_friendliness", 0), ("max_increment", max_increment)];
        let mut flow = after_loss(10_000, &parameters);
        let before = flow.sk.snd_cwnd;
        flow.run(1_000 * MS, 100 * MS);
        flow.sk.snd_cwnd - before
    };
    assert!((150..=170).contains(&grown(16)), "{}", grown(16));
    assert!(grown(0) > 2 * grown(16), "{} without it", grown(0));
    // where the curve is flat the clamp does not matter
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
    // W(t) and K follow from this beta
    let k = libm::cbrt((1_000.0 - 799.0) / C);
    flow.run((k * 1e9) as u64, 20 * MS);
    assert!(flow.sk.snd_cwnd.abs_diff(1_000) <= 1, "{}", flow.sk.snd_cwnd);
}

#[test]
fn the_friendly_line_is_that_of_reno_with_this_beta() {
    // RFC 8312 section 4.2, equation 4: 3 (1 - beta) / (1 + beta) packets a round trip
    let mut flow = after_loss(40, &[]);
    let start = flow.sk.snd_cwnd;
    let rounds = 20;
    flow.run(rounds * 10 * MS, 10 * MS);
    let expected = 3.0 * (1.0 - BETA) / (1.0 + BETA) * rounds as f64;
    let grown = f64::from(flow.sk.snd_cwnd - start);
    // the line's packets are whole, and the window follows it within a round trip
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
    // no W_max: at least a packet for 20 acknowledged
    flow.run(100 * MS, 100 * MS);
    assert!(flow.sk.snd_cwnd >= 500 + 500 / 20, "{}", flow.sk.snd_cwnd);
    assert_eq!(flow.sk.inet_conn.icsk_ca_state, 0);
    assert_ne!(flow.sk.inet_conn.icsk_ca_state, LOSS);
}

/// Slow start on a path of `rtt_us` whose ACKs come back `gap_us` apart, one round at a time;
/// `queue` gives the RTT's growth at a window. Returns the window at which slow start ended.
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
    // 100 ms, an ACK a millisecond: in the round of 80 packets the train exceeds half the path
    // after 51 ACKs
    let train = [("hystart_detect", 1)];
    let mut flow = Flow::new("cubic", &train);
    let window = slow_start(&mut flow, 100_000, 1_000, |_| 0);
    assert!(window.abs_diff(80 + 51) <= 3, "{window}");
    // a paced sender's train may be as long as the path: 101 ACKs of the round of 160
    let mut paced = Flow::new("cubic", &train);
    paced.sk.inet_conn.icsk_inet.sk.sk_pacing_status = 1;
    let window = slow_start(&mut paced, 100_000, 1_000, |_| 0);
    assert!(window.abs_diff(160 + 101) <= 3, "{window}");
    // and, at a low rate, 1 ms longer
    let mut slow = Flow::new("cubic", &train);
    slow.sk.inet_conn.icsk_inet.sk.sk_pacing_status = 1;
    slow.sk.inet_conn.icsk_inet.sk.sk_pacing_rate = 1_000_000;
    assert_eq!(slow_start(&mut slow, 100_000, 1_000, |_| 0), window + 1);
    // ACKs too far apart are no train
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
    // nine samples into the first round at or above 40 packets
    assert!((40..=89).contains(&window), "{window}");
    // bounds of the eighth: 4 ms on a short path, 16 ms on a long one
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

/// The guesses of `cubic_root` in the source.
fn guesses() -> Vec<u32> {
    let source = include_str!("../../../../algorithms/cubic.c");
    let table = source.split("[8] = ").nth(1).expect("the table");
    let table = table.split("};").next().expect("its end");
    table
        .split(|c: char| !c.is_ascii_digit())
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().expect("digits"))
        .collect()
}

/// Relative error of one Newton step from `guess`/64 to the cube root `root`, 341/1024 for a third.
fn newton_error(guess: u32, root: f64) -> f64 {
    let x = f64::from(guess) / 64.0;
    (2.0 * x + root * root * root / (x * x)) * 341.0 / 1024.0 / root - 1.0
}

#[test]
fn a_guess_of_the_cube_root_has_no_error_on_average_over_its_numbers() {
    let guesses = guesses();
    assert_eq!(guesses.len(), 56);
    for (guess, leading) in guesses.into_iter().zip(8..) {
        let low = libm::cbrt(f64::from(leading));
        let high = libm::cbrt(f64::from(leading) + 1.0);
        let errors = |guess: u32| {
            (0..64)
                .map(move |i| newton_error(guess, low + (high - low) * (f64::from(i) + 0.5) / 64.0))
        };
        let mean = |guess: u32| (errors(guess).sum::<f64>() / 64.0).abs();
        // of the two sides from which Newton's step may come, the guess is above
        assert!(mean(guess) <= mean(guess + 1), "{leading}: {guess} or {}", guess + 1);
        assert!(mean(guess) <= mean(guess - 1), "{leading}: {guess} or {}", guess - 1);
        assert!(f64::from(guess) / 64.0 > low, "{leading}");
        let worst = errors(guess).map(f64::abs).fold(0.0, f64::max);
        assert!(worst < 0.002, "{leading}: {worst}");
    }
}
