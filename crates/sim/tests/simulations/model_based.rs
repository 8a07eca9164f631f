//! bbr, cdg, dctcp and nv on whole paths: measurements of what each algorithm promises.

use cwndlab_link::Traces;
use cwndlab_scenario::RunOutput;
use serde_json::json;

use crate::setup::{Setup, algorithm, bottleneck, run_json, wire};

const PAYLOAD_SHARE: f64 = 1_448.0 / 1_514.0;
/// Factor by which BBR paces below its bandwidth estimate.
const PACING_MARGIN: f64 = 0.99;

/// A path with a queue of one bandwidth-delay product; `rtt_ms` is the RTT without queueing.
fn path(mbit_s: u64, rtt_ms: u64) -> Setup {
    let bdp_pkts = mbit_s * rtt_ms * 1_000 / 8 / 1_514 + 1;
    Setup {
        forward: bottleneck(mbit_s * 1_000_000, bdp_pkts, rtt_ms / 2),
        reverse: wire(rtt_ms / 2),
        duration_s: 30,
        record: json!({"sample_interval_ns": 10_000_000, "events": true}),
        ..Setup::new(vec![algorithm("bbr")])
    }
}

/// The phases that a flow reported, with their start times.
fn phases(output: &RunOutput) -> Vec<(f64, u32)> {
    let events = output.events.as_ref().expect("asked for");
    let all = events.t_s.iter().zip(&events.event).zip(&events.value);
    all.filter(|((_, event), _)| **event == "phase").map(|((&t, _), &v)| (t, v as u32)).collect()
}

/// Median of the pacing rate, in Mbit/s: the rate of the six phases with a gain of 1.
fn cruising_mbit_s(output: &RunOutput, from_s: f64) -> f64 {
    let samples = output.samples.as_ref().expect("asked for");
    let mut rates: Vec<f64> = samples
        .t_s
        .iter()
        .zip(&samples.pacing_rate_mbit_s)
        .filter(|(t, _)| **t > from_s)
        .map(|(_, &rate)| rate)
        .collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

#[test]
fn bbr_estimates_the_bottleneck_to_two_per_cent() {
    for (mbit_s, rtt_ms) in [(2, 60), (10, 40), (10, 200), (50, 20), (100, 40)] {
        let output = path(mbit_s, rtt_ms).run();
        let bottleneck = mbit_s as f64 * PAYLOAD_SHARE;
        let estimate = cruising_mbit_s(&output, 5.0) / PACING_MARGIN;
        let error_pct = 100.0 * (estimate / bottleneck - 1.0);
        assert!(error_pct.abs() < 2.0, "{mbit_s} Mbit/s, {rtt_ms} ms: {error_pct:+.2} %");
        let flow = &output.flows[0];
        let goodput = flow.goodput_mbit_s.expect("a window");
        assert!(goodput > 0.93 * bottleneck, "{mbit_s} Mbit/s, {rtt_ms} ms: {goodput}");
        // A Reno flow would fill the queue, which is as long as the path; BBR only fills it with
        // its probes and three bursts of two packets.
        let queueing_ms = flow.queueing_delay_mean_ms.expect("samples");
        let bursts_ms = 6.0 * 1_514.0 * 8.0 / (mbit_s as f64 * 1e3);
        let most_ms = 0.3 * rtt_ms as f64 + bursts_ms;
        assert!(queueing_ms < most_ms, "{mbit_s} Mbit/s, {rtt_ms} ms: {queueing_ms}");
    }
}

#[test]
fn bbr_follows_the_bottleneck_up_and_down() {
    let mut setup = path(20, 40);
    setup.forward[0]["schedule"] = json!([
        {"at_ns": 10_000_000_000_u64, "bits_per_sec": 5_000_000},
        {"at_ns": 20_000_000_000_u64, "bits_per_sec": 20_000_000},
    ]);
    let output = setup.run();
    let samples = output.samples.as_ref().expect("asked for");
    let median = |from: f64, to: f64| {
        let mut rates: Vec<f64> = samples
            .t_s
            .iter()
            .zip(&samples.pacing_rate_mbit_s)
            .filter(|(t, _)| (from..to).contains(*t))
            .map(|(_, &rate)| rate / PACING_MARGIN / PAYLOAD_SHARE)
            .collect();
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    // After ten round trips, the old rate leaves the filter; probes with a gain of 1.25 find the
    // new one.
    for (from, to, mbit_s) in [(5.0, 9.9, 20.0), (13.0, 19.9, 5.0), (24.0, 29.9, 20.0)] {
        let estimate = median(from, to);
        assert!((estimate / mbit_s - 1.0).abs() < 0.03, "from {from} s: {estimate}");
    }
}

#[test]
fn bbr_reports_its_phases_and_empties_the_queue_every_ten_seconds() {
    let output = path(10, 40).run();
    let reported = phases(&output);
    let order: Vec<u32> = reported.iter().map(|(_, phase)| *phase).collect();
    // Startup, drain, probe_bw, then probe_rtt and back again.
    assert_eq!(&order[..3], [1, 2, 3]);
    assert_eq!(order[3..], [4, 3].repeat((order.len() - 3) / 2));
    let probes: Vec<f64> =
        reported.iter().filter(|(_, phase)| *phase == 4).map(|(t, _)| *t).collect();
    assert!((2..=3).contains(&probes.len()), "{probes:?}");
    assert!((10.0..10.6).contains(&(probes[1] - probes[0])), "{probes:?}");
    for (index, (t, phase)) in reported.iter().enumerate() {
        if *phase == 4 {
            let length_s = reported[index + 1].0 - t;
            assert!((0.2..0.35).contains(&length_s), "{length_s} s at {t}");
        }
    }
}

#[test]
fn paced_packets_do_not_queue_behind_each_other() {
    // An ACK of two packets releases two packets at once; pacing sends them one by one.
    let deepest = |name: &str| {
        let setup = Setup {
            forward: json!([{
                "rate": {"kind": "fixed", "bits_per_sec": 100_000_000},
                "queue": {"kind": "drop_tail", "packets": 1000},
                "delay_ns": 20_000_000, "framing_bytes": 14,
            }]),
            application: json!({"kind": "paced", "bits_per_sec": 4_000_000, "write_bytes": 100_000}),
            ..Setup::new(vec![algorithm(name)])
        };
        setup.run().links[0].queue_max_pkts
    };
    let (reno, bbr) = (deepest("reno"), deepest("bbr"));
    assert!(bbr * 2 < reno, "bbr {bbr}, reno {reno}");
}

#[test]
fn dctcp_holds_the_queue_at_the_mark_and_the_link_full() {
    let run = |name: &str| {
        let mut scenario = Setup {
            forward: json!([{
                "rate": {"kind": "fixed", "bits_per_sec": 50_000_000},
                "queue": {"kind": "step", "mark_packets": 20, "packets": 200},
                "delay_ns": 5_000_000, "framing_bytes": 14,
            }]),
            reverse: wire(5),
            duration_s: 20,
            stack_overrides: json!({"ecn": "active"}),
            ..Setup::new(vec![algorithm(name), algorithm(name)])
        }
        .json();
        for flow in scenario["flows"].as_array_mut().expect("flows") {
            flow["receiver"]["algorithm"] = json!(name);
        }
        run_json(&scenario, &Traces::default())
    };
    let (dctcp, reno) = (run("dctcp"), run("reno"));
    let goodput = |output: &RunOutput| -> f64 {
        output.flows.iter().filter_map(|flow| flow.goodput_mbit_s).sum::<f64>()
    };
    let queue = |output: &RunOutput| output.links[0].queue_mean_pkts.expect("a queue");
    assert!(goodput(&dctcp) > 0.995 * 50.0 * PAYLOAD_SHARE, "{}", goodput(&dctcp));
    assert!((12.0..25.0).contains(&queue(&dctcp)), "{} queued", queue(&dctcp));
    assert!(goodput(&reno) < goodput(&dctcp), "{} for reno", goodput(&reno));
    assert_eq!(dctcp.flows.iter().map(|flow| flow.retransmitted_pkts).sum::<u64>(), 0);
    // More of dctcp's packets are marked, and each mark reduces the window by less.
    assert!(dctcp.links[0].marked_pkts > 3 * reno.links[0].marked_pkts);
}

#[test]
fn cdg_and_nv_keep_the_queue_short_where_reno_fills_it() {
    let queueing_ms = |name: &str| {
        let setup = Setup { algorithms: vec![algorithm(name)], ..path(20, 40) };
        let output = setup.run();
        let flow = &output.flows[0];
        let share = flow.goodput_mbit_s.expect("a window") / (20.0 * PAYLOAD_SHARE);
        assert!(share > 0.8, "{name} uses {share}");
        assert_eq!(flow.timeouts, Some(0));
        flow.queueing_delay_mean_ms.expect("samples")
    };
    let reno = queueing_ms("reno");
    for name in ["cdg", "nv"] {
        let own = queueing_ms(name);
        assert!(own < 0.6 * reno, "{name} {own} ms, reno {reno} ms");
    }
}

#[test]
fn cdg_survives_beside_reno() {
    let setup = Setup {
        algorithms: vec![algorithm("cdg"), algorithm("reno")],
        duration_s: 120,
        ..path(10, 40)
    };
    let output = setup.run();
    let [cdg, reno] = [0, 1].map(|flow| output.flows[flow].goodput_mbit_s.expect("a window"));
    // Without the shadow window and the limit on ineffective back-offs, cdg gets almost nothing.
    assert!(cdg / (cdg + reno) > 0.15, "cdg {cdg}, reno {reno}");
}
