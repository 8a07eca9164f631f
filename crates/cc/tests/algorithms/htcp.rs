//! H-TCP's alpha and adaptive beta, compared with draft-leith-tcp-htcp-06.

use crate::flow::{Flow, OPEN, RECOVERY};

const MS: u64 = 1_000_000;

/// The draft's H-TCP: beta is one half, and alpha is not scaled.
const DRAFT: [(&str, i64); 2] = [("adaptive_backoff", 0), ("use_rtt_scaling", 0)];

/// A flow with this window that has just recovered from a loss.
fn after_congestion(window: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("htcp", parameters);
    flow.sk.snd_cwnd = 2 * window;
    flow.ack(1, -1);
    flow.reduce(RECOVERY);
    flow.sk.snd_cwnd = window;
    flow.sk.snd_ssthresh = 2;
    flow
}

/// alpha in packets per round trip, `seconds` after the last congestion.
fn alpha(seconds: f64) -> f64 {
    let d = seconds - 1.0;
    if d <= 0.0 { 1.0 } else { 1.0 + 10.0 * d + d * d / 4.0 }
}

/// Packets that a round trip adds now, averaged over ten round trips.
fn measured_alpha(flow: &mut Flow, rtt_ns: u64) -> f64 {
    let before = flow.sk.snd_cwnd;
    flow.run(10 * rtt_ns, rtt_ns);
    f64::from(flow.sk.snd_cwnd - before) / 10.0
}

#[test]
fn alpha_is_the_drafts_function_of_the_time_since_congestion() {
    for seconds in [2.0, 5.0, 10.0f64] {
        let mut flow = after_congestion(5_000, &DRAFT);
        let rtt_ns = 10 * MS;
        flow.run((seconds * 1e9) as u64, rtt_ns);
        let measured = measured_alpha(&mut flow, rtt_ns);
        let expected = alpha(seconds + 0.05);
        // whole packets, rounded down, while the window grows
        assert!((measured / expected - 1.0).abs() < 0.05, "{seconds} s: {measured}, {expected:.1}");
        assert_eq!(flow.phase(), "high_speed");
    }
    let mut flow = after_congestion(100, &DRAFT);
    assert!((0.9..=1.0).contains(&measured_alpha(&mut flow, 50 * MS)));
    assert_eq!(flow.phase(), "low_speed");
}

#[test]
fn epochs_last_as_long_as_the_drafts_table_says() {
    // Table 1, RTT 100 ms: seconds from half of the window to the window. The table was computed
    // without the first second of alpha = 1, which applies here, and with ((D - 1) / 2)^2 instead
    // of the 0.5 (D - 1)^2 of the draft's formula.
    for (window, table_s) in [(2_000, 4.3), (5_000, 6.6), (10_000, 9.2)] {
        let mut flow = after_congestion(window / 2, &DRAFT);
        let start_ns = flow.now_ns;
        while flow.sk.snd_cwnd < window {
            flow.run(10 * MS, 100 * MS);
        }
        let epoch_s = (flow.now_ns - start_ns) as f64 / 1e9;
        assert!((epoch_s / (table_s + 1.0) - 1.0).abs() < 0.03, "{window}: {epoch_s:.2}");
    }
}

#[test]
fn alpha_is_scaled_by_the_rtt_within_a_tenth_and_twice() {
    // draft section 5: K = RTT / 100 ms
    let at = |rtt_ms: u64| {
        let parameters = [("adaptive_backoff", 0)];
        let mut flow = after_congestion(5_000, &parameters);
        flow.run(10_000 * MS, rtt_ms * MS);
        measured_alpha(&mut flow, rtt_ms * MS)
    };
    let reference = at(100);
    for (rtt_ms, factor) in [(200, 2.0), (400, 2.0), (48, 0.5), (8, 0.1), (4, 0.1)] {
        let scaled = at(rtt_ms);
        // the duration of ten long round trips also increases alpha
        let expected = reference * factor;
        assert!((scaled / expected - 1.0).abs() < 0.16, "{rtt_ms} ms: {scaled}, {expected:.1}");
    }
}

/// A flow that fills a path of `rtt_min_ms` and its queue up to `rtt_max_ms`, has a loss, and
/// repeats this with `second_window`. Returns the share of the window that the last loss left.
fn kept(rtt_min_ms: u64, rtt_max_ms: u64, second_window: u32, parameters: &[(&str, i64)]) -> f64 {
    let mut flow = Flow::new("htcp", parameters);
    flow.sk.is_cwnd_limited = 0;
    for window in [400, 400, 400, second_window] {
        flow.sk.snd_ssthresh = 2;
        flow.sk.snd_cwnd = window;
        flow.run(1_000 * MS, rtt_min_ms * MS);
        // only steps of up to 20 ms count
        for rtt_ms in (rtt_min_ms..=rtt_max_ms).step_by(10) {
            flow.run(500 * MS, rtt_ms * MS);
        }
        flow.run(1_000 * MS, rtt_max_ms * MS);
        flow.sk.snd_cwnd = 1_280;
        flow.reduce(RECOVERY);
    }
    f64::from(flow.sk.snd_cwnd) / 1_280.0
}

#[test]
fn a_loss_leaves_the_part_that_was_not_queue() {
    // the maximum RTT decays by a twentieth of the difference at each loss
    for (rtt_min_ms, rtt_max_ms, share) in [(80, 120, 0.667), (60, 80, 0.75), (100, 110, 0.8)] {
        let measured = kept(rtt_min_ms, rtt_max_ms, 400, &[]);
        assert!((measured - share).abs() < 0.03, "{rtt_min_ms}/{rtt_max_ms}: {measured:.3}");
    }
    // a queue larger than the path, or a path too short for an adaptation
    for (rtt_min_ms, rtt_max_ms) in [(40, 120), (8, 12)] {
        let measured = kept(rtt_min_ms, rtt_max_ms, 400, &[]);
        assert!((measured - 0.5).abs() < 0.001, "{rtt_min_ms}/{rtt_max_ms}: {measured:.3}");
    }
    assert!((kept(80, 120, 400, &[("adaptive_backoff", 0)]) - 0.5).abs() < 0.001);
}

#[test]
fn a_throughput_that_changed_by_a_fifth_halves_the_window() {
    for (window, share) in [(400, 0.667), (440, 0.667), (300, 0.5), (550, 0.5)] {
        let measured = kept(80, 120, window, &[]);
        assert!((measured - share).abs() < 0.03, "{window}: {measured:.3}");
    }
    let steady = kept(80, 120, 300, &[("use_bandwidth_switch", 0)]);
    assert!((steady - 0.667).abs() < 0.03, "{steady:.3}");
}

#[test]
fn an_undo_restores_the_time_of_the_last_congestion() {
    let mut flow = after_congestion(5_000, &DRAFT);
    flow.run(5_000 * MS, 10 * MS);
    flow.sk.prior_cwnd = flow.sk.snd_cwnd;
    flow.sk.snd_ssthresh = flow.congestion.ssthresh(&mut flow.sk);
    flow.congestion.set_state(&mut flow.sk, RECOVERY);
    flow.sk.snd_cwnd = flow.congestion.undo_cwnd(&mut flow.sk);
    flow.congestion.set_state(&mut flow.sk, OPEN);
    flow.sk.snd_ssthresh = 2;
    let measured = measured_alpha(&mut flow, 10 * MS);
    assert!(measured > 0.9 * alpha(5.0), "{measured}, where alpha(5 s) = {}", alpha(5.0));
}
