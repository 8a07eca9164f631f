//! bbr3 on whole paths, based on the test cases of draft-ietf-ccwg-bbr, "BBR Example Test Cases".

use cwndlab_scenario::RunOutput;
use serde_json::json;

use crate::setup::{Setup, algorithm, bottleneck, wire};

const PAYLOAD_SHARE: f64 = 1_448.0 / 1_514.0;

/// Phases in the order of the C file.
const STARTUP: u32 = 1;
const DRAIN: u32 = 2;
const DOWN: u32 = 3;
const CRUISE: u32 = 4;
const REFILL: u32 = 5;
const UP: u32 = 6;
const PROBE_RTT: u32 = 7;

/// A path with a queue of one bandwidth-delay product.
fn path(name: &str, mbit_s: u64, rtt_ms: u64) -> Setup {
    let bdp_pkts = mbit_s * rtt_ms * 1_000 / 8 / 1_514 + 1;
    Setup {
        forward: bottleneck(mbit_s * 1_000_000, bdp_pkts, rtt_ms / 2),
        reverse: wire(rtt_ms / 2),
        duration_s: 20,
        record: json!({"sample_interval_ns": 10_000_000, "events": true}),
        ..Setup::new(vec![algorithm(name)])
    }
}

/// The phases that the flow reported, with their start times.
fn phases(output: &RunOutput) -> Vec<(f64, u32)> {
    let events = output.events.as_ref().expect("asked for");
    let all = events.t_s.iter().zip(&events.event).zip(&events.value);
    all.filter(|((_, event), _)| **event == "phase").map(|((&t, _), &v)| (t, v as u32)).collect()
}

#[test]
fn startup_finds_the_bottleneck_and_drain_empties_the_queue() {
    for (mbit_s, rtt_ms) in [(10, 40), (50, 40)] {
        let output = path("bbr3", mbit_s, rtt_ms).run();
        let order: Vec<u32> = phases(&output).iter().map(|(_, phase)| *phase).collect();
        assert_eq!(order[..2], [STARTUP, DRAIN], "{mbit_s} Mbit/s, {rtt_ms} ms");
        let goodput = output.flows[0].goodput_mbit_s.expect("a window");
        let bottleneck = mbit_s as f64 * PAYLOAD_SHARE;
        assert!(goodput > 0.93 * bottleneck, "{mbit_s} Mbit/s, {rtt_ms} ms: {goodput}");
    }
}

#[test]
fn a_cycle_goes_down_cruises_refills_and_goes_up() {
    let output = path("bbr3", 10, 40).run();
    let reported = phases(&output);
    for pair in reported.windows(2) {
        let (from, to) = (pair[0].1, pair[1].1);
        let is_legal = to == PROBE_RTT
            || matches!(
                (from, to),
                (STARTUP, DRAIN)
                    | (DRAIN | UP, DOWN | CRUISE)
                    | (DOWN, CRUISE | REFILL)
                    | (CRUISE, REFILL)
                    | (REFILL, UP)
                    | (PROBE_RTT, CRUISE)
            );
        assert!(is_legal, "from {from} to {to} at {} s", pair[1].0);
    }
    let ups = reported.iter().filter(|(_, phase)| *phase == UP).count();
    assert!((4..=20).contains(&ups), "a probe each 2 to 3 s or 63 round trips: {ups}");
}

#[test]
fn it_probes_the_rtt_every_five_seconds_for_200_ms() {
    let output = path("bbr3", 10, 40).run();
    let reported = phases(&output);
    let probes: Vec<usize> =
        (0..reported.len() - 1).filter(|&n| reported[n].1 == PROBE_RTT).collect();
    assert!((2..=4).contains(&probes.len()), "{reported:?}");
    for &n in &probes {
        let length_s = reported[n + 1].0 - reported[n].0;
        assert!((0.2..0.4).contains(&length_s), "{length_s} s");
    }
    for pair in probes.windows(2) {
        let gap_s = reported[pair[1]].0 - reported[pair[0]].0;
        assert!((5.0..6.0).contains(&gap_s), "{gap_s} s");
    }
}

#[test]
fn it_loses_less_than_version_1_in_a_short_queue() {
    let retransmitted = |name: &str| {
        let mut setup = path(name, 50, 40);
        setup.forward = bottleneck(50_000_000, 30, 20);
        setup.run().flows[0].retransmitted_pct
    };
    let (v1, v3) = (retransmitted("bbr"), retransmitted("bbr3"));
    assert!(v3 < v1, "version 1 {v1:?} %, version 3 {v3:?} %");
}
