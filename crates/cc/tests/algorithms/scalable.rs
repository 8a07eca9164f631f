//! Scalable TCP's steps, and the legacy window of Kelly's paper.

use crate::flow::{Flow, RECOVERY};

const RTT_NS: u64 = 100_000_000;

fn at(window: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("scalable", parameters);
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
fn a_loss_takes_as_many_round_trips_at_any_window() {
    // Kelly 2003, section 3: log(1 - b) / log(1 + a) = 13.4
    for window in [1_000, 10_000, 100_000] {
        let mut flow = at(window, &[]);
        flow.reduce(RECOVERY);
        assert_eq!(flow.sk.snd_cwnd, window - window / 8);
        let start_ns = flow.now_ns;
        while flow.sk.snd_cwnd < window {
            flow.run(RTT_NS / 100, RTT_NS);
        }
        let rounds = (flow.now_ns - start_ns) as f64 / RTT_NS as f64;
        let expected = -libm::log(1.0 - 0.125) / libm::log(1.01);
        assert!((rounds - expected).abs() < 0.2, "{window}: {rounds:.2}, {expected:.2}");
        assert_eq!(flow.phase(), "scalable");
    }
}

#[test]
fn linux_grows_as_reno_up_to_100_packets_and_never_halves() {
    let mut flow = at(50, &[]);
    assert_eq!(step(&mut flow), 1);
    assert_eq!(flow.phase(), "standard");
    flow.sk.snd_cwnd = 40;
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 35);
    let mut flow = at(300, &[]);
    assert_eq!(step(&mut flow), 3);
}

#[test]
fn the_papers_legacy_window_is_renos_altogether() {
    let legacy = [("legacy_window", 16)];
    let mut flow = at(16, &legacy);
    assert_eq!(step(&mut flow), 1);
    flow.sk.snd_cwnd = 16;
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 8);
    // above it, a packet takes 100 ACKs, where Reno's takes 50
    let mut flow = at(50, &legacy);
    assert_eq!(step(&mut flow), 0);
    assert_eq!(step(&mut flow), 1);
    flow.sk.snd_cwnd = 40;
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 35);
}
