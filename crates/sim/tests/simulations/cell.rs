//! TCP over radio cells.

use cwndlab_link::Traces;
use cwndlab_scenario::{FlowSummary, RunOutput};
use serde_json::{Value, json};

use crate::setup::run_json;

const MS: u64 = 1_000_000;

/// A direction of scheme 20 in which the first transmission of one block in ten fails.
fn direction(core_ms: u64, queue_bytes: u64) -> Value {
    json!({
        "core_delay_ns": core_ms * MS, "queue_bytes": queue_bytes,
        "scheduler": {"kind": "proportional_fair", "window": 100},
        "adaptation": {"kind": "fixed", "scheme": 20},
        "block_errors": {"kind": "given", "ppb": [100_000_000, 20_000_000]},
    })
}

/// LTE of 10 MHz: 19.8 Mbit/s in blocks, a tenth of which are sent twice.
pub(crate) fn lte(users: usize) -> Value {
    json!({
        "kind": "cell",
        "radio": {"kind": "lte", "resource_blocks": 50, "layers": 1, "category": 4},
        "downlink": direction(10, 500_000),
        "uplink": direction(10, 500_000),
        "access": {"request_period_ns": 10 * MS, "first_grant_bytes": 100, "keep_alive_ns": 5 * MS},
        "users": vec![json!({"downlink_mdb": 15_000, "uplink_mdb": 15_000}); users],
    })
}

/// The callbox of the 5G thesis: 7 slots and 6 symbols down, 2 slots up, requests every 20 ms, and
/// room for 75 packets.
fn callbox(keep_alive_ms: u64) -> Value {
    let mut pattern = vec![json!({"downlink_symbols": 13}); 7];
    pattern.push(json!({"downlink_symbols": 6}));
    pattern.extend([json!({"uplink_symbols": 14}), json!({"uplink_symbols": 14})]);
    let side = |queue: Value| {
        let mut side = queue;
        side["core_delay_ns"] = json!(MS / 2);
        side["adaptation"] = json!({"kind": "fixed", "scheme": 15});
        side["block_errors"] = json!({"kind": "given", "ppb": [0]});
        side
    };
    json!({
        "kind": "cell",
        "radio": {
            "kind": "nr", "subcarrier_khz": 30, "bandwidth_mhz": 50, "pattern": pattern,
            "downlink_layers": 1, "uplink_layers": 1, "is_256qam": true, "overhead_elements": 24,
            "base_slots": 4, "acknowledge_slots": 2, "grant_slots": 2,
        },
        "downlink": side(json!({"queue_packets": 75})),
        "uplink": side(json!({"queue_bytes": 500_000})),
        "access": {"request_period_ns": 20 * MS, "keep_alive_ns": keep_alive_ms * MS},
        "users": [{"downlink_mdb": 16_500, "uplink_mdb": 16_500}],
    })
}

pub(crate) fn bulk(id: usize, user: usize, direction: &str, algorithm: &str) -> Value {
    let end = json!({"stack": "linux-6.1", "algorithm": algorithm, "parameters": {},
                     "stack_overrides": {}});
    json!({"id": id, "user": user, "direction": direction, "start_ns": 0,
           "sender": end, "receiver": end})
}

pub(crate) fn run(path: &Value, flows: &[Value]) -> RunOutput {
    let scenario = json!({
        "version": 1, "seed": 5, "duration_ns": 30_000 * MS, "warm_up_ns": 3_000 * MS,
        "path": path, "flows": flows, "record": {},
    });
    run_json(&scenario, &Traces::default())
}

fn goodput(flow: &FlowSummary) -> f64 {
    flow.goodput_mbit_s.expect("a rate")
}

#[test]
fn one_flow_fills_the_cell_and_its_queue_is_its_round_trip() {
    let output = run(&lte(1), &[bulk(0, 1, "forward", "cubic")]);
    let flow = &output.flows[0];
    // 2481 bytes per slot less 4 bytes, 90.7 % of the slots, 1448 of 1504 bytes.
    let whole = 2_477.0 * 8e-3 * 0.907 * 1_448.0 / 1_504.0;
    assert!((goodput(flow) / whole - 1.0).abs() < 0.03, "{} of {whole}", goodput(flow));
    // 500 kB at 18 Mbit/s take 222 ms, on top of 40 ms.
    let round_trip = flow.rtt_mean_ms.expect("a round trip");
    assert!((150.0..265.0).contains(&round_trip), "{round_trip}");
}

#[test]
fn blocks_that_fail_are_not_seen_as_losses() {
    let mut roomy = lte(1);
    roomy["downlink"]["queue_bytes"] = json!(50_000_000);
    let ordered = run(&roomy, &[bulk(0, 1, "forward", "reno")]);
    assert_eq!(ordered.flows[0].retransmitted_pkts, 0);
    // Without in-order delivery, hundreds of packets in retransmitted blocks arrive 8 ms late.
    roomy["downlink"]["rlc"] = json!({"kind": "transparent"});
    let unordered = run(&roomy, &[bulk(0, 1, "forward", "reno")]);
    assert!(
        unordered.flows[0].retransmitted_pkts > 10,
        "{}",
        unordered.flows[0].retransmitted_pkts
    );
}

#[test]
fn users_share_the_cell_but_not_their_queues() {
    let both = run(&lte(2), &[bulk(0, 1, "forward", "cubic"), bulk(1, 2, "forward", "cubic")]);
    let share = goodput(&both.flows[1]) / goodput(&both.flows[0]);
    assert!((0.95..1.05).contains(&share), "{share}");

    // A user that sends little has a queue of its own, regardless of the other user's queue.
    let mut little = bulk(1, 2, "forward", "cubic");
    little["application"] = json!({"kind": "paced", "bits_per_sec": 500_000, "write_bytes": 1_448});
    let round_trip =
        |output: &RunOutput, flow: usize| output.flows[flow].rtt_mean_ms.expect("a round trip");
    let alone = run(&lte(2), &[little.clone()]);
    let beside = run(&lte(2), &[bulk(0, 1, "forward", "cubic"), little]);
    assert!(round_trip(&beside, 0) > 150.0, "{}", round_trip(&beside, 0));
    let more = round_trip(&beside, 1) - round_trip(&alone, 0);
    assert!(more < 5.0, "{more} ms more than alone");
}

#[test]
fn both_directions_are_their_own_but_for_the_acks() {
    let down = goodput(&run(&lte(1), &[bulk(0, 1, "forward", "cubic")]).flows[0]);
    let flows = [bulk(0, 1, "forward", "cubic"), bulk(1, 1, "reverse", "cubic")];
    let both = run(&lte(1), &flows);
    // Each flow's ACKs wait in the other flow's full queue, so a window lasts for a longer time.
    assert!(goodput(&both.flows[0]) > 0.75 * down, "{} of {down}", goodput(&both.flows[0]));
    assert!(goodput(&both.flows[1]) > 12.0, "{}", goodput(&both.flows[1]));
}

#[test]
fn an_uplink_without_keep_alive_bunches_acks_until_a_shallow_queue_overflows() {
    // WIRELESS.md section 9.4, the mechanism of hypothesis 2: windows leave in bursts.
    let rate = |keep_alive_ms, algorithm| {
        goodput(&run(&callbox(keep_alive_ms), &[bulk(0, 1, "forward", algorithm)]).flows[0])
    };
    let bunched = rate(0, "cubic");
    let smooth = rate(1_000, "cubic");
    assert!(smooth > 75.0, "{smooth}");
    assert!(bunched < 0.65 * smooth, "{bunched} of {smooth}");
}

#[test]
fn a_cell_that_cannot_be_is_refused_with_the_reason() {
    let refuse = |path: Value| {
        let scenario = json!({
            "version": 1, "seed": 5, "duration_ns": 1_000 * MS, "warm_up_ns": 0,
            "path": path, "flows": [bulk(0, 1, "forward", "reno")], "record": {},
        });
        let scenario = cwndlab_scenario::Scenario::from_json(&scenario.to_string());
        let algorithms = cwndlab_cc::Algorithms::default();
        match scenario {
            Ok(scenario) => cwndlab_sim::run(&scenario, &Traces::default(), &algorithms)
                .expect_err("a refusal")
                .to_string(),
            Err(error) => error.to_string(),
        }
    };
    let with = |pointer: &str, value: Value| {
        let mut path = lte(1);
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        path.pointer_mut(parent).expect("a place")[key] = value;
        refuse(path)
    };
    let said = with("/radio/resource_blocks", json!(40));
    assert!(
        said.contains("40 resource blocks are not possible: use 6, 15, 25, 50, 75 or 100"),
        "{said}"
    );
    let said = with("/radio/category", json!(17));
    assert!(said.contains("there is no handset category 17: use 1 to 16"), "{said}");
    let said = with("/downlink/adaptation/scheme", json!(29));
    assert!(said.contains("there is no modulation and coding scheme 29: use at most 28"), "{said}");
    let said = with("/downlink/sceme", json!(1));
    assert!(said.contains("sceme"), "{said}");
    let said = with("/access", Value::Null);
    assert!(said.contains("need the table `access`"), "{said}");
}
