//! Active queue management on whole paths: measurements of what FQ-CoDel and PIE promise.

use cwndlab_link::Traces;
use cwndlab_scenario::{FlowSummary, RunOutput};
use serde_json::{Value, json};

use crate::setup::{Setup, algorithm, bottleneck, run_json, wire};

/// A bottleneck with this queue.
fn path(mbit_s: u64, rtt_ms: u64, queue: &Value, algorithms: &[&str]) -> Setup {
    let mut forward = bottleneck(mbit_s * 1_000_000, 0, rtt_ms / 2);
    forward[0]["queue"] = queue.clone();
    Setup {
        forward,
        reverse: wire(rtt_ms / 2),
        duration_s: 40,
        record: json!({"sample_interval_ns": 10_000_000, "events": true}),
        ..Setup::new(algorithms.iter().copied().map(algorithm).collect())
    }
}

fn fq_codel() -> Value {
    json!({"kind": "fq_codel", "packets": 10_240})
}

fn drop_tail() -> Value {
    json!({"kind": "drop_tail", "packets": 250})
}

fn goodput(flow: &FlowSummary) -> f64 {
    flow.goodput_mbit_s.expect("a window")
}

/// Transmission time of a full-size packet at 20 Mbit/s.
const PACKET_MS: f64 = 1_514.0 * 8.0 / 20e3;

/// Runs a bulk flow and a flow that sends 1000 bytes every 20 ms.
fn with_a_sparse_flow(queue: &Value, bulk: &str) -> RunOutput {
    let mut scenario = path(20, 40, queue, &[bulk, "reno"]).json();
    scenario["flows"][1]["application"] =
        json!({"kind": "paced", "bits_per_sec": 400_000, "write_bytes": 1_000});
    run_json(&scenario, &Traces::default())
}

#[test]
fn a_sparse_flow_waits_for_no_more_than_the_packet_in_service() {
    for bulk in ["cubic", "reno", "bbr"] {
        let output = with_a_sparse_flow(&fq_codel(), bulk);
        let (bulk_flow, sparse) = (&output.flows[0], &output.flows[1]);
        // The transmission of the 1066 bytes takes some time itself.
        let base_ms = 40.0 + 1_066.0 * 8.0 / 20e3;
        let wait_ms = sparse.rtt_p99_ms.expect("samples") - base_ms;
        assert!(wait_ms < 1.1 * PACKET_MS, "{bulk}: {wait_ms} ms");
        assert_eq!(sparse.retransmitted_pkts, 0, "{bulk}");
        assert!(goodput(bulk_flow) > 0.75 * 20.0, "{bulk}: {}", goodput(bulk_flow));
    }
    // In a single queue, the sparse flow waits like the bulk flow.
    let output = with_a_sparse_flow(&drop_tail(), "cubic");
    let sparse = &output.flows[1];
    let wait_ms = sparse.queueing_delay_mean_ms.expect("samples");
    assert!(wait_ms > 50.0 * PACKET_MS, "{wait_ms} ms");
}

#[test]
fn bulk_flows_share_the_link_whatever_their_algorithms_are() {
    // A short path, so that each flow always has data to send: on a long path, CoDel's few
    // milliseconds of queue do not bridge a flow's reductions, and the other flow gets more.
    for pair in [["cubic", "bbr"], ["reno", "cubic"], ["reno", "bbr"], ["vegas", "cubic"]] {
        let output = path(20, 10, &fq_codel(), &pair).run();
        let rates: Vec<f64> = output.flows.iter().map(goodput).collect();
        assert!((rates[0] / rates[1] - 1.0).abs() < 0.05, "{pair:?}: {rates:?}");
        assert!(rates[0] + rates[1] > 0.94 * 20.0, "{pair:?}: {rates:?}");
    }
    // In one queue with CUBIC, Vegas gets only what CUBIC leaves.
    let output = path(20, 10, &drop_tail(), &["vegas", "cubic"]).run();
    assert!(3.0 * goodput(&output.flows[0]) < goodput(&output.flows[1]));
}

#[test]
fn codel_keeps_the_standing_delay_of_each_queue_below_its_target() {
    for (algorithm, flows) in [("reno", 1), ("cubic", 1), ("cubic", 4)] {
        for target_ms in [5_u32, 20] {
            let target_ns = target_ms * 1_000_000;
            let queue = json!({"kind": "fq_codel", "packets": 10_240, "target_ns": target_ns});
            let output = path(20, 40, &queue, &vec![algorithm; flows]).run();
            for flow in &output.flows {
                let delay_ms = flow.queueing_delay_mean_ms.expect("samples");
                let share = delay_ms / f64::from(target_ms);
                assert!((0.4..1.0).contains(&share), "{flows} {algorithm}: {delay_ms} ms");
            }
        }
    }
}

/// Mean queue between two times, in milliseconds at this rate.
fn queue_ms(output: &RunOutput, mbit_s: f64, from_s: f64, to_s: f64) -> f64 {
    let samples = output.samples.as_ref().expect("asked for");
    let rows = samples.flow.iter().zip(&samples.t_s).zip(&samples.queue_bytes);
    let queues: Vec<f64> = rows
        .filter(|((flow, t_s), _)| **flow == 0 && (from_s..to_s).contains(*t_s))
        .map(|(_, &bytes)| bytes as f64 * 8.0 / (mbit_s * 1e3))
        .collect();
    queues.iter().sum::<f64>() / queues.len() as f64
}

/// Asserts that this queue, without the packet in service, is near a target of PIE.
fn assert_near(queue_ms: f64, mbit_s: f64, target_ms: f64) {
    let waiting_ms = queue_ms - 1_514.0 * 8.0 / (mbit_s * 1e3);
    let off_pct = 100.0 * (waiting_ms / target_ms - 1.0);
    assert!(off_pct.abs() < 15.0, "{waiting_ms} ms at {mbit_s} Mbit/s, not {target_ms} ms");
}

#[test]
fn pie_keeps_the_queueing_delay_of_five_flows_near_its_target() {
    for target_ms in [15, 30] {
        let pie = json!({"kind": "pie", "packets": 1_000, "target_ns": target_ms * 1_000_000});
        let output = path(10, 40, &pie, &["reno"; 5]).run();
        assert_near(queue_ms(&output, 10.0, 10.0, 40.0), 10.0, f64::from(target_ms));
        let together: f64 = output.flows.iter().map(goodput).sum();
        assert!(together > 0.93 * 10.0, "{together}");
    }
}

#[test]
fn pie_with_marks_keeps_its_target_and_loses_nothing() {
    let pie = json!({"kind": "pie", "packets": 1_000, "ecn": true});
    let setup =
        Setup { stack_overrides: json!({"ecn": "active"}), ..path(10, 40, &pie, &["reno"; 2]) };
    let output = setup.run();
    assert_near(queue_ms(&output, 10.0, 10.0, 40.0), 10.0, 15.0);
    let events = output.events.as_ref().expect("asked for");
    let settled = |name: &str| {
        let all = events.t_s.iter().zip(&events.event);
        all.filter(|(t_s, event)| **t_s > 10.0 && **event == name).count()
    };
    // Only slow start exceeds the probability up to which PIE marks packets.
    assert_eq!((settled("aqm_drop"), settled("queue_overflow")), (0, 0));
    assert!(settled("ecn_mark") > 30, "{}", settled("ecn_mark"));
}

#[test]
fn pie_finds_back_to_its_target_after_a_step_of_the_rate() {
    let pie = json!({"kind": "pie", "packets": 1_000});
    let mut setup = path(10, 40, &pie, &["reno"; 5]);
    setup.forward[0]["schedule"] = json!([
        {"at_ns": 15_000_000_000_u64, "bits_per_sec": 4_000_000},
        {"at_ns": 30_000_000_000_u64, "bits_per_sec": 10_000_000},
    ]);
    setup.duration_s = 45;
    let output = setup.run();
    // A queue of 15 ms becomes 37 ms at the lower rate, and is too short when the rate increases
    // again.
    assert!(queue_ms(&output, 4.0, 15.0, 16.0) > 25.0);
    assert_near(queue_ms(&output, 4.0, 17.0, 30.0), 4.0, 15.0);
    assert!(queue_ms(&output, 10.0, 30.0, 31.0) < 15.0);
    assert_near(queue_ms(&output, 10.0, 32.0, 45.0), 10.0, 15.0);
}
