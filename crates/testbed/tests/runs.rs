//! Scenarios on the kernel of this machine.
//!
//! Skipped, with the reason, where runs are not possible.

#![cfg(target_os = "linux")]

use cwndlab_emu::what_is_missing;
use cwndlab_link::Traces;
use cwndlab_scenario::{RunOutput, Scenario};
use cwndlab_testbed::{KernelOutput, RunError, Turn, protocol::KernelNames, run};
use serde_json::{Value, json};

/// Algorithms that are built into every kernel.
const ALGORITHMS: [&str; 2] = ["reno", "cubic"];

fn scenario(changes: &Value) -> Scenario {
    let stage = json!({
        "rate": {"kind": "fixed", "bits_per_sec": 20_000_000},
        "queue": {"kind": "drop_tail", "packets": 60},
        "delay_ns": 10_000_000,
    });
    let mut scenario = json!({
        "version": 1, "seed": 1, "duration_ns": 2_000_000_000_u64, "warm_up_ns": 500_000_000,
        "path": {"kind": "wire", "forward": [stage], "reverse": [stage]},
        "flows": [flow(0, &json!({}))],
        "record": {"sample_interval_ns": 100_000_000, "events": true, "pcap": "capture.pcap"},
    });
    merge(&mut scenario, changes);
    Scenario::from_json(&scenario.to_string()).expect("a scenario")
}

fn flow(id: usize, changes: &Value) -> Value {
    let end = json!({"stack": "linux-6.1", "algorithm": ALGORITHMS[id % 2]});
    let mut flow = json!({"id": id, "sender": end, "receiver": end});
    merge(&mut flow, changes);
    flow
}

fn merge(value: &mut Value, changes: &Value) {
    for (key, change) in changes.as_object().expect("an object") {
        value[key] = change.clone();
    }
}

/// `None`, with the reason printed, where kernel runs are not possible.
fn run_here(changes: &Value) -> Option<(Scenario, KernelOutput)> {
    if let Some(reason) = what_is_missing() {
        println!("skipped: {reason}");
        return None;
    }
    let scenario = scenario(changes);
    let done = run(
        &scenario,
        &Traces::new(),
        &KernelNames::new(),
        Turn::Wait("a test", Box::new(|_| {})),
        true,
    )
    .expect("a run");
    assert_eq!(done.report.ring_drops, 0);
    assert_eq!(done.report.refused, 0);
    Some((scenario, done))
}

fn mbit_s(output: &RunOutput) -> Vec<f64> {
    output.flows.iter().map(|flow| flow.goodput_mbit_s.expect("a window")).collect()
}

#[test]
fn a_bulk_flow_fills_the_link_and_every_table() {
    let Some((_, done)) = run_here(&json!({"warm_up_ns": 0})) else { return };
    let output = &done.output;
    let flow = &output.flows[0];
    let goodput = mbit_s(output)[0];
    assert!((17.5..20.0).contains(&goodput), "{goodput} of 19.3 Mbit/s, {:?}", done.report);
    assert!(flow.stack.starts_with("linux-"), "{}", flow.stack);
    assert_ne!(flow.stack, "linux-6.1", "it is the kernel's own");
    let (base, median) = (flow.rtt_base_ms.expect("known"), flow.rtt_p50_ms.expect("known"));
    assert!((20.0..25.0).contains(&base) && base < median && median < 60.0, "{base} {median}");
    // Without a warm-up, links count the slow start that overflows a queue of 60 packets: dropped
    // packets were retransmitted, except those dropped at the very end.
    let link = &output.links[0];
    let events = output.events.as_ref().expect("asked for");
    let dropped = |before_s: f64| {
        let all = events.t_s.iter().zip(&events.event);
        all.filter(|(t_s, event)| **t_s < before_s && **event == "queue_overflow").count() as u64
    };
    assert!(link.dropped_pkts > 0);
    assert_eq!(link.dropped_pkts, dropped(2.0));
    assert!(flow.retransmitted_pkts >= dropped(1.8), "{flow:?} {link:?}");
    assert!(flow.recoveries.expect("alone in its namespace") > 0);
    assert_eq!(flow.sent_pkts, link.arrived_pkts - 2, "all but SYN and its ACK have payload");
    let utilisation = flow.utilisation_pct.expect("a rate");
    assert!((90.0..101.0).contains(&utilisation), "{utilisation}");
    let samples = output.samples.as_ref().expect("asked for");
    assert_eq!(samples.t_s.len(), 20);
    assert!(samples.t_s.is_sorted() && (samples.t_s[0] - 0.1).abs() < 1e-9);
    assert!(samples.queue_pkts.iter().max() > Some(&30), "{:?}", samples.queue_pkts);
    assert!(samples.cwnd_pkts.iter().all(|&cwnd| cwnd > 0));
    assert!(events.t_s.is_sorted());
    assert!(events.event.contains(&"queue_overflow") && events.event.contains(&"recovery"));
    let pcap = output.pcap.as_ref().expect("asked for");
    assert!(pcap.len() as u64 > flow.sent_pkts * 68);
}

#[test]
fn every_application_does_on_sockets_what_it_is() {
    let application = |id, application: Value| flow(id, &json!({"application": application}));
    let flows = [
        application(0, json!({"kind": "sized", "bytes": 300_000})),
        application(1, json!({"kind": "on_off", "on_ns": 100_000_000, "off_ns": 200_000_000})),
        application(
            2,
            json!({"kind": "request_response", "request_bytes": 200, "response_bytes": 20_000,
                   "think_ns": 50_000_000, "count": 5}),
        ),
        application(3, json!({"kind": "paced", "bits_per_sec": 1_000_000, "write_bytes": 1_000})),
        application(
            4,
            json!({"kind": "windowed_file", "request_bytes": 32_768, "outstanding": 2,
                   "total_bytes": 400_000}),
        ),
    ];
    let slow = json!({"flows": flows, "warm_up_ns": 0, "record": {}});
    let Some((_, done)) = run_here(&slow) else { return };
    let flows = &done.output.flows;
    let delivered: Vec<u64> = flows.iter().map(|flow| flow.delivered_bytes).collect();
    assert_eq!((delivered[0], delivered[2], delivered[4]), (300_000, 100_000, 400_000));
    let completed: Vec<bool> = flows.iter().map(|flow| flow.completion_ms.is_some()).collect();
    assert_eq!(completed, [true, false, true, false, true]);
    // 1 Mbit/s for 2 s minus the handshake; on-off traffic is active a third of the time.
    assert!((230_000..=250_000).contains(&delivered[3]), "{delivered:?}");
    assert!(delivered[1] > 100_000, "{delivered:?}");
    // Two blocks of 32 KiB per round trip of 20 ms, plus their transmission time.
    let file_ms = flows[4].completion_ms.expect("complete");
    assert!((120.0..700.0).contains(&file_ms), "{file_ms}");
    // Five requests with four pauses of 50 ms in between.
    let exchange_ms = flows[2].completion_ms.expect("complete");
    assert!((300.0..900.0).contains(&exchange_ms), "{exchange_ms}");
    assert!(flows.iter().all(|flow| flow.timeouts.is_some()), "Linux counts them since 6.7");
    assert!(flows.iter().all(|flow| flow.recoveries.is_none()), "a namespace counts all together");
}

#[test]
fn flows_of_several_algorithms_share_both_directions() {
    let up = json!({"direction": "reverse"});
    let late = json!({"start_ns": 300_000_000, "stop_ns": 1_500_000_000});
    let flows = json!([flow(7, &json!({})), flow(8, &late), flow(9, &up)]);
    let Some((scenario, done)) = run_here(&json!({"flows": flows})) else { return };
    let rates = mbit_s(&done.output);
    // The second flow ran for 0.7 s of the first flow's 1.5 s.
    let down = rates[0] + rates[1] * 0.7 / 1.5;
    assert!(down < 19.7 && down > 12.0, "{rates:?}");
    assert!(rates[2] > 10.0 && rates[2] < 19.7, "up has its own link: {rates:?}");
    for (flow, config) in done.output.flows.iter().zip(&scenario.flows) {
        assert_eq!(flow.flow, config.id);
        assert_eq!(flow.algorithm, config.sender.algorithm);
        assert_eq!(flow.direction, config.direction.name());
    }
    let stopped = &done.output.flows[1];
    assert_eq!((stopped.start_s, stopped.end_s, stopped.window_s), (0.3, 1.5, Some(0.7)));
    let samples = done.output.samples.expect("asked for");
    let times = |id| {
        let rows = samples.flow.iter().zip(&samples.t_s).filter(move |row| *row.0 == id);
        rows.map(|row| *row.1).collect::<Vec<_>>()
    };
    assert_eq!((times(7).len(), times(9).len()), (20, 20));
    assert!(times(8).iter().all(|&t| t > 0.3 && t <= 1.5), "{:?}", times(8));
}

#[test]
fn what_the_kernel_cannot_do_is_refused_with_its_place() {
    let refused = |changes: Value, expected: &str| {
        let scenario = scenario(&changes);
        let error = run(
            &scenario,
            &Traces::new(),
            &KernelNames::new(),
            Turn::Wait("a test", Box::new(|_| {})),
            true,
        )
        .expect_err("no");
        assert!(error.to_string().contains(expected), "{error}");
        error
    };
    let delayed = json!({"flows": [flow(0, &json!({"access_delay_ns": 5}))]});
    refused(
        delayed,
        "flows[0].access_delay_ns: the kernel backend does not support an additional delay",
    );
    refused(json!({"record": {"ack_trace": true}}), "record.ack_trace");
    if let Some(reason) = what_is_missing() {
        println!("skipped: {reason}");
        return;
    }
    let end = json!({"stack": "linux-6.1", "algorithm": "nonsuch"});
    let unknown = json!({"flows": [flow(0, &json!({"receiver": end}))]});
    let error = refused(
        unknown,
        "flows[0].receiver.algorithm: this kernel does not contain the algorithm nonsuch",
    );
    assert!(matches!(error, RunError::UnknownAlgorithm { .. }));
}
