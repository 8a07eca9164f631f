//! Results from packets match the results of the simulator's endpoints.

use cwndlab_capture::{AnalysisConfig, Flow, Vantage, analyse};
use cwndlab_cc::Algorithms;
use cwndlab_link::Traces;
use cwndlab_scenario::{FlowSummary, Scenario};
use serde_json::{Value, json};

const WARM_UP_NS: u64 = 1_000_000_000;

struct Path {
    bits_per_sec: u64,
    queue_pkts: u64,
    delay_ms: u64,
    loss: Value,
    outages: Value,
}

impl Default for Path {
    fn default() -> Self {
        let (bits_per_sec, queue_pkts, delay_ms) = (10_000_000, 50, 20);
        Self { bits_per_sec, queue_pkts, delay_ms, loss: Value::Null, outages: json!([]) }
    }
}

/// The flows' own results, and the results from their packets.
fn simulate(algorithms: &[&str], path: &Path, bytes: Option<u64>) -> (Vec<FlowSummary>, Vec<Flow>) {
    let application =
        bytes.map_or(json!({"kind": "bulk"}), |bytes| json!({"kind": "sized", "bytes": bytes}));
    let end = |algorithm: &str| json!({"stack": "linux-6.1", "algorithm": algorithm, "parameters": {}, "stack_overrides": {}});
    let flows: Vec<Value> = algorithms
        .iter()
        .enumerate()
        .map(|(id, algorithm)| {
            json!({"id": id, "direction": "forward", "start_ns": 0, "stop_ns": null,
                   "application": application, "access_delay_ns": 0,
                   "sender": end(algorithm), "receiver": end("reno")})
        })
        .collect();
    let delay_ns = path.delay_ms * 1_000_000;
    let scenario = json!({
        "version": 1, "seed": 5, "duration_ns": 20_000_000_000_u64, "warm_up_ns": WARM_UP_NS,
        "path": {"kind": "wire", "forward": [{
            "rate": {"kind": "fixed", "bits_per_sec": path.bits_per_sec},
            "queue": {"kind": "drop_tail", "packets": path.queue_pkts},
            "delay_ns": delay_ns, "loss": path.loss, "outages": path.outages,
        }], "reverse": [{"delay_ns": delay_ns}]},
        "flows": flows, "record": {"pcap": "capture.pcap"},
    });
    let scenario = Scenario::from_json(&scenario.to_string()).expect("a scenario");
    let output =
        cwndlab_sim::run(&scenario, &Traces::default(), &Algorithms::default()).expect("run");
    let config = AnalysisConfig { warm_up_ns: WARM_UP_NS, ..AnalysisConfig::default() };
    let found = analyse(&output.pcap.expect("a capture")[..], config).expect("a capture");
    (output.flows, found)
}

fn mbit_s(flow: &Flow) -> f64 {
    let window_ns = flow.window_ns.expect("longer than the warm-up");
    flow.window_delivered_bytes as f64 * 8e3 / window_ns as f64
}

fn mean_ms(flow: &Flow) -> f64 {
    flow.rtts_us.iter().map(|&us| f64::from(us)).sum::<f64>() / flow.rtts_us.len() as f64 / 1e3
}

fn assert_near(what: &str, ours: f64, theirs: f64, share: f64) {
    assert!((ours - theirs).abs() <= share * theirs, "{what}: {ours} is not {theirs}");
}

#[test]
fn goodput_round_trips_and_retransmissions_are_the_endpoints() {
    let lossy = json!({"kind": "iid", "ppb": 5_000_000});
    for (algorithms, path) in [
        (&["reno"][..], Path::default()),
        (&["cubic", "reno", "cubic"], Path { queue_pkts: 100, ..Path::default() }),
        (&["cubic"], Path { loss: lossy, ..Path::default() }),
        (&["bbr"], Path { queue_pkts: 15, ..Path::default() }),
        (&["cubic"], Path { bits_per_sec: 50_000_000, delay_ms: 5, ..Path::default() }),
    ] {
        let (summaries, found) = simulate(algorithms, &path, None);
        assert_eq!(found.len(), summaries.len());
        for (flow, summary) in found.iter().zip(&summaries) {
            let name = &summary.algorithm;
            assert_eq!((flow.vantage, flow.is_sender_client), (Vantage::Sender, Some(true)));
            assert_eq!(flow.mss_bytes, 1_448);
            assert_eq!(flow.sent_pkts, summary.sent_pkts, "{name}");
            assert_eq!(flow.retransmitted_pkts, summary.retransmitted_pkts, "{name}");
            assert_eq!(flow.bursts, summary.retransmission_bursts, "{name}");
            let longest = (flow.bursts > 0).then_some(flow.longest_burst_pkts);
            assert_eq!(longest, summary.retransmission_burst_max_pkts, "{name}");
            assert_eq!(flow.timeouts, summary.timeouts, "{name}");
            let goodput = summary.goodput_mbit_s.expect("a goodput");
            assert_near("goodput", mbit_s(flow), goodput, 0.01);
            assert_near("RTT", mean_ms(flow), summary.rtt_mean_ms.expect("RTTs"), 0.01);
            let base_ms = f64::from(flow.rtt_base_us.expect("a base")) / 1e3;
            assert_near("base RTT", base_ms, summary.rtt_base_ms.expect("a base"), 0.01);
        }
    }
}

#[test]
fn timeouts_are_told_from_other_retransmissions() {
    // Nothing arrives for 1.5 s, so the timer expires several times.
    let outages =
        json!([{"start_ns": 5_000_000_000_u64, "stop_ns": 6_500_000_000_u64, "kind": "drop"}]);
    for algorithm in ["reno", "cubic", "bbr"] {
        let path = Path { outages: outages.clone(), ..Path::default() };
        let (summaries, found) = simulate(&[algorithm], &path, None);
        let timeouts = summaries[0].timeouts.expect("a simulator knows");
        assert!(timeouts >= 2, "{timeouts}");
        assert_eq!(found[0].timeouts, Some(timeouts), "{algorithm}");
        let events = found[0].events.iter().filter(|event| event.event == "timeout").count();
        assert_eq!(events as u64, timeouts);
    }
}

#[test]
fn timeouts_in_small_windows_are_within_one_in_ten_of_the_endpoints() {
    // One packet in four is lost, so every kind of recovery occurs.
    let loss = json!({"kind": "iid", "ppb": 250_000_000});
    let (summaries, found) = simulate(&["reno", "cubic"], &Path { loss, ..Path::default() }, None);
    for (flow, summary) in found.iter().zip(&summaries) {
        assert_eq!(flow.retransmitted_pkts, summary.retransmitted_pkts);
        let ours = flow.timeouts.expect("beside the sender") as f64;
        let theirs = summary.timeouts.expect("a simulator knows") as f64;
        assert!(theirs >= 5.0, "{theirs}");
        assert!((ours - theirs).abs() <= (0.1 * theirs).max(1.0), "{ours} {theirs}");
    }
}

#[test]
fn a_transfer_with_an_end_has_a_completion_time() {
    let (summaries, found) = simulate(&["cubic"], &Path::default(), Some(2_000_000));
    assert_eq!(found[0].delivered_bytes, 2_000_000);
    let completion_ms = summaries[0].completion_ms.expect("complete");
    // The sender learns one one-way delay later that the last byte was read.
    let ours_ms = found[0].completion_ns.expect("complete") as f64 / 1e6;
    assert!((ours_ms - completion_ms - 20.0).abs() < 1.0, "{ours_ms} {completion_ms}");
}

#[test]
fn the_time_series_adds_up_to_the_totals() {
    let (_, found) = simulate(&["cubic"], &Path::default(), None);
    let delivered: u64 = found[0].samples.iter().map(|sample| sample.delivered_bytes).sum();
    assert_near("delivered", delivered as f64, found[0].delivered_bytes as f64, 0.01);
    let inflight = found[0].samples.iter().map(|sample| sample.inflight_bytes).max();
    // 50 packets of queue and a delay of 40 ms at 10 Mbit/s.
    let most = (50 + 34 + 2) * 1_448;
    assert!(inflight.is_some_and(|bytes| bytes > most / 2 && bytes <= most * 2), "{inflight:?}");
}
