//! Westwood+: the window after a loss is BWE x RTTmin, which the rate of the ACKs fills.

use cwndlab_cc::CwndEvent;

use crate::flow::{Flow, MSS_BYTES, RECOVERY};

const MS: u64 = 1_000_000;

/// An ACK with SACK blocks, or without news.
const SLOW_PATH: u32 = 1;

/// A flow past slow start with a constant window of `window`.
fn steady(window: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("westwood", parameters);
    flow.sk.snd_cwnd = window;
    flow.sk.snd_ssthresh = 2;
    flow.sk.is_cwnd_limited = 0;
    flow
}

/// The window with which a recovery would end now.
fn path_pkts(flow: &Flow) -> u32 {
    let mut sk = flow.sk.clone();
    let _ = flow.congestion.clone().cwnd_event(&mut sk, CwndEvent::CompleteCwr);
    assert_eq!(sk.snd_cwnd, sk.snd_ssthresh);
    sk.snd_cwnd
}

#[test]
fn the_window_after_a_loss_is_bandwidth_times_least_rtt() {
    // 100 packets in 40 ms; then a queue of the same length, which the loss drains
    let mut flow = steady(100, &[]);
    flow.run(2_000 * MS, 40 * MS);
    assert!(path_pkts(&flow).abs_diff(100) <= 2, "{}", path_pkts(&flow));
    flow.sk.snd_cwnd = 200;
    flow.run(2_000 * MS, 80 * MS);
    flow.reduce(RECOVERY);
    assert!(flow.sk.snd_cwnd.abs_diff(100) <= 2, "{}", flow.sk.snd_cwnd);
}

#[test]
fn a_loss_without_a_queue_costs_nothing() {
    for (window, rtt_ms) in [(50, 20), (400, 100), (3_000, 200)] {
        let mut flow = steady(window, &[]);
        flow.run(4_000 * MS, rtt_ms * MS);
        flow.reduce(RECOVERY);
        // a sample may contain one packet more or less
        let off = flow.sk.snd_cwnd.abs_diff(window);
        assert!(off <= 2 + window / 100, "{window} in {rtt_ms} ms: {}", flow.sk.snd_cwnd);
    }
}

#[test]
fn during_recovery_half_the_window_is_the_aim_unless_asked_for_the_path() {
    let mut flow = steady(100, &[]);
    flow.run(2_000 * MS, 40 * MS);
    assert_eq!(flow.congestion.ssthresh(&mut flow.sk), 50);

    // Grieco, Mascolo 2004: ssthresh = BWE * RTTmin at the third duplicate ACK, cwnd is not raised
    let mut flow = steady(100, &[("at_loss", 1)]);
    flow.run(2_000 * MS, 40 * MS);
    let aim = flow.congestion.ssthresh(&mut flow.sk);
    assert_eq!(aim, path_pkts(&flow).min(100));
    assert!(aim >= 98, "{aim}");
    flow.sk.snd_cwnd = 10;
    assert_eq!(flow.congestion.ssthresh(&mut flow.sk), 10);
}

/// Progress of the estimate after the rate doubled, from 0 to 1, according to the filters.
fn after_samples(samples: u32, single: bool) -> f64 {
    let (mut first, mut second) = (0.0, 0.0);
    for _ in 0..samples {
        if single {
            second += (1.0 - second) / 10.0;
        } else {
            first += (1.0 - first) / 8.0;
            second += (first - second) / 8.0;
        }
    }
    second
}

#[test]
fn the_filter_has_two_stages_in_linux_and_one_in_the_paper() {
    for (parameters, single) in [(&[][..], false), (&[("single_filter", 1)][..], true)] {
        let mut flow = steady(400, parameters);
        flow.run(4_000 * MS, 40 * MS);
        let before = f64::from(path_pkts(&flow));
        flow.sk.snd_cwnd = 800;
        // a sample ends at the first tick beyond 12, the whole ticks in 50 ms
        for samples in [4, 8, 16] {
            let mut flow = flow.clone();
            flow.run(u64::from(samples) * 52 * MS, 40 * MS);
            let come = f64::from(path_pkts(&flow)) / before - 1.0;
            let earlier = after_samples(samples - 1, single);
            let expected = after_samples(samples, single);
            let range = earlier - 0.02..expected + 0.02;
            assert!(range.contains(&come), "{samples} samples: {come:.3} of {expected:.3}");
        }
    }
}

#[test]
fn duplicate_acks_count_once() {
    // every tenth packet is late: nine duplicate ACKs, then all ten packets are acknowledged
    let mut flow = steady(100, &[]);
    flow.run(2_000 * MS, 40 * MS);
    let in_order = path_pkts(&flow);
    for ack in 0..5_000 {
        flow.advance(40 * MS / 100);
        if ack % 10 == 9 {
            flow.sk.snd_una = flow.sk.snd_una.wrapping_add(10 * MSS_BYTES);
        }
        let _ = flow.congestion.in_ack_event(&mut flow.sk, SLOW_PATH);
    }
    assert!(path_pkts(&flow).abs_diff(in_order) <= 2, "{} for {in_order}", path_pkts(&flow));
}

#[test]
fn a_timeout_sets_the_threshold_and_measures_the_path_anew() {
    let mut flow = steady(100, &[]);
    flow.run(2_000 * MS, 40 * MS);
    // the path has become twice as long, which looks like a queue until the timeout
    flow.sk.snd_cwnd = 200;
    flow.run(2_000 * MS, 80 * MS);
    let path = path_pkts(&flow);
    assert!(path.abs_diff(100) <= 2, "{path}");
    flow.time_out();
    assert_eq!((flow.sk.snd_cwnd, flow.sk.snd_ssthresh), (1, path));
    flow.open();
    flow.sk.snd_cwnd = 200;
    flow.run(2_000 * MS, 80 * MS);
    assert!(path_pkts(&flow).abs_diff(200) <= 5, "{}", path_pkts(&flow));
}

#[test]
fn it_grows_as_reno() {
    let mut flow = Flow::new("westwood", &[]);
    flow.ack(10, 40_000);
    assert_eq!((flow.sk.snd_cwnd, flow.phase()), (20, "slow_start"));
    flow.sk.snd_ssthresh = 20;
    for _ in 0..20 {
        flow.ack(1, 40_000);
    }
    assert_eq!((flow.sk.snd_cwnd, flow.phase()), (21, "avoidance"));
}

#[test]
fn no_window_is_below_two() {
    let flow = Flow::new("westwood", &[]);
    assert_eq!(path_pkts(&flow), 2);
}
