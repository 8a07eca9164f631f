//! Veno by the rules of Fu and Liew 2003.

use crate::flow::{Flow, RECOVERY};
use crate::path::Path;

const PATH: Path = Path { base_us: 50_000, packet_us: 1_000 };

/// A flow with this window that knows the path.
fn with_window(window_pkts: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("veno", parameters);
    flow.sk.snd_ssthresh = 2;
    flow.sk.snd_cwnd = 10;
    PATH.run(&mut flow, 1);
    flow.sk.snd_cwnd = window_pkts;
    flow.sk.snd_cwnd_cnt = 0;
    PATH.run(&mut flow, 1);
    flow.sk.snd_cwnd = window_pkts;
    flow.sk.snd_cwnd_cnt = 0;
    flow
}

#[test]
fn a_loss_with_a_short_queue_costs_a_fifth_and_with_a_long_one_half() {
    // beta = 3 packets; cwnd (rtt - base) / rtt of them are queued
    for (window, rest) in [(40, 32), (50, 40), (52, 41), (54, 27), (100, 50)] {
        let mut flow = with_window(window, &[]);
        flow.reduce(RECOVERY);
        assert_eq!(flow.sk.snd_cwnd, rest, "of {window}");
    }
    // a queue twice as long is still short
    let mut patient = with_window(55, &[("beta", 12)]);
    patient.reduce(RECOVERY);
    assert_eq!(patient.sk.snd_cwnd, 44);
}

#[test]
fn the_window_grows_half_as_fast_once_the_queue_is_long() {
    let mut short = with_window(30, &[]);
    PATH.run(&mut short, 10);
    assert_eq!((short.sk.snd_cwnd, short.phase()), (40, "available"));
    let mut long = with_window(80, &[]);
    PATH.run(&mut long, 20);
    assert_eq!((long.sk.snd_cwnd, long.phase()), (90, "full"));
}

#[test]
fn slow_start_is_renos() {
    let mut flow = Flow::new("veno", &[]);
    PATH.run(&mut flow, 1);
    assert_eq!((flow.sk.snd_cwnd, flow.phase()), (20, "slow_start"));
    flow.sk.snd_ssthresh = 25;
    PATH.run(&mut flow, 1);
    assert_eq!((flow.sk.snd_cwnd, flow.phase()), (25, "available"));
}

#[test]
fn losses_of_the_radio_cost_less_than_renos() {
    // every 500th packet, on a path whose queue limit is never reached
    let path = Path { base_us: 200_000, packet_us: 100 };
    let mean = |name: &str| {
        let mut flow = Flow::new(name, &[]);
        flow.sk.snd_ssthresh = 2;
        for _ in 0..200 {
            for _ in 0..500 {
                flow.advance(u64::from(path.base_us) * 1_000 / u64::from(flow.sk.snd_cwnd));
                flow.ack(1, path.base_us as i32);
            }
            flow.reduce(RECOVERY);
        }
        200.0 * 500.0 * f64::from(path.base_us) * 1e3 / flow.now_ns as f64
    };
    // AIMD with decrease b has a window of sqrt((2 - b) / (2 b) / p): in squared windows, 1/5 gives
    // 3 times that of 1/2
    let ratio = mean("veno") / mean("reno");
    assert!((ratio - libm::sqrt(3.0)).abs() < 0.1, "{ratio:.2} times Reno's window");
}
