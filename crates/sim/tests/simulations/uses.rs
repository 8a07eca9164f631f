//! Measurements of applications from their users' point of view, against closed forms.

use crate::setup::{Setup, algorithm, bottleneck, run_json};
use cwndlab_link::Traces;
use cwndlab_scenario::FlowSummary;
use serde_json::{Value, json};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// The link of these tests has 40 ms of RTT and almost no queue before an application sends.
const RTT_MS: f64 = 40.0;

fn setup(application: Value) -> Setup {
    Setup { application, duration_s: 60, ..Setup::new(vec![algorithm("cubic")]) }
}

fn run(application: Value) -> FlowSummary {
    setup(application).run().flows.swap_remove(0)
}

fn is_near(value: Option<f64>, expected: f64, tolerance: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() <= tolerance)
}

#[test]
fn a_response_takes_a_round_trip_and_its_transmission() {
    let flow = run(json!({
        "kind": "request_response", "request_bytes": 100, "response_bytes": 5_000,
        "think_ns": 100 * MS,
    }));
    // Four packets with 66 bytes of headers each enter the 10 Mbit/s link together.
    let expected_ms = RTT_MS + 5_264.0 * 8.0 / 10e6 * 1e3;
    for value in [flow.response_p50_ms, flow.response_p95_ms, flow.response_geometric_mean_ms] {
        assert!(is_near(value, expected_ms, 0.3), "{value:?}, not {expected_ms}");
    }
    // One response per exchange and think time, in the 59 s after the warm-up.
    let expected = 59_000.0 / (expected_ms + 100.0);
    assert!(is_near(flow.responses.map(|count| count as f64), expected, 2.0));
    assert_eq!((flow.video_startup_ms, flow.datagram_loss_pct), (None, None));
}

#[test]
fn the_slowest_responses_are_those_behind_a_full_queue() {
    let mut setup = setup(json!({
        "kind": "request_response", "request_bytes": 100, "response_bytes": 1_000,
        "think_ns": 50 * MS,
    }));
    setup.algorithms.push(algorithm("cubic"));
    let mut json = setup.json();
    json["flows"][1]["application"] = json!({"kind": "bulk"});
    let output = run_json(&json, &Traces::default());
    let flow = &output.flows[0];
    let full_queue_ms = 50.0 * 1_514.0 * 8.0 / 10e6 * 1e3;
    let p95_ms = flow.response_p95_ms.expect("responses");
    assert!(p95_ms > flow.response_p50_ms.expect("responses"));
    assert!((RTT_MS + 0.6 * full_queue_ms..500.0).contains(&p95_ms), "{p95_ms}");
    assert_eq!(output.flows[1].responses, None, "a flow that does not ask has no responses");
}

#[test]
fn a_page_is_a_document_then_its_objects_then_a_pause() {
    let page = json!({
        "kind": "web", "document_bytes": 10_000, "objects": 5, "object_bytes": 20_000,
        "parse_ns": 50 * MS, "think_ns": SECOND, "count": 10,
    });
    let mut setup = setup(page);
    setup.stack_overrides = json!({"initial_cwnd_pkts": 100});
    let flow = &setup.run().flows[0];
    assert_eq!(flow.delivered_bytes, 10 * (10_300 + 5 * 20_300));
    // Two round trips, the parse time, and 112 kB with headers through 10 Mbit/s.
    let expected_ms = 2.0 * RTT_MS + 50.0 + 111_800.0 * 1_514.0 / 1_448.0 * 8.0 / 10e6 * 1e3;
    let median_ms = flow.response_p50_ms.expect("pages");
    assert!((expected_ms - 5.0..expected_ms + 60.0).contains(&median_ms), "{median_ms}");
    assert!(flow.completion_ms.is_some());
    assert!(is_near(flow.responses.map(|count| count as f64), 10.0, 1.0));
}

#[test]
fn a_page_without_objects_is_its_document() {
    let flow = run(json!({"kind": "web", "document_bytes": 5_000, "objects": 0,
        "object_bytes": 1, "think_ns": 200 * MS, "count": 50}));
    assert_eq!(flow.delivered_bytes, 50 * 5_300);
    assert!(is_near(flow.response_p50_ms, RTT_MS + 5_564.0 * 8.0 / 10e6 * 1e3, 2.0));
}

fn video(rungs_bits_per_sec: &[u64]) -> Value {
    json!({"kind": "video", "rungs_bits_per_sec": rungs_bits_per_sec, "chunk_ns": 2 * SECOND,
           "buffer_ns": 24 * SECOND})
}

#[test]
fn a_video_reaches_its_highest_rate_where_the_link_has_room() {
    let mut setup = setup(video(&[500_000, 1_000_000, 2_000_000]));
    setup.forward = bottleneck(100_000_000, 500, 20);
    let flow = &setup.run().flows[0];
    assert_eq!(flow.video_rebuffering_pct, Some(0.0));
    // The bit rate rises once nine seconds are buffered, within a second or two.
    let bitrate = flow.video_bitrate_mbit_s.expect("chunks");
    assert!((1.7..=2.0).contains(&bitrate), "{bitrate}");
    // The first chunk: a handshake, a request, and its transmission with a small window.
    let startup_ms = flow.video_startup_ms.expect("a start");
    assert!((2.0 * RTT_MS..6.0 * RTT_MS).contains(&startup_ms), "{startup_ms}");
}

#[test]
fn a_video_settles_about_the_rate_of_the_link() {
    let flow = run(video(&[1_000_000, 3_000_000, 6_000_000, 12_000_000, 24_000_000]));
    let bitrate = flow.video_bitrate_mbit_s.expect("chunks");
    assert!((5.0..9.8).contains(&bitrate), "{bitrate}");
    assert_eq!(flow.video_rebuffering_pct, Some(0.0));
}

#[test]
fn a_video_stands_still_for_what_the_link_lacks_of_its_lowest_rate() {
    let flow = run(video(&[20_000_000]));
    // Two seconds of video take over four seconds to arrive at 9.6 Mbit/s of payload.
    let expected_pct = 100.0 * (1.0 - 9.65 / 20.0);
    assert!(is_near(flow.video_rebuffering_pct, expected_pct, 4.0), "{flow:?}");
    assert_eq!(flow.video_bitrate_mbit_s, Some(20.0));
}

fn call(bytes: u64, interval_ms: u64) -> Value {
    json!({"kind": "datagrams", "bytes": bytes, "interval_ns": interval_ms * MS})
}

#[test]
fn a_call_alone_loses_nothing_and_takes_the_delay_of_the_path() {
    let flow = run(call(172, 20));
    assert_eq!(flow.datagram_loss_pct, Some(0.0));
    let expected_ms = 20.0 + (172.0 + 28.0 + 14.0) * 8.0 / 10e6 * 1e3;
    assert!(is_near(flow.datagram_delay_p95_ms, expected_ms, 1e-6), "{flow:?}");
    assert!(is_near(flow.goodput_mbit_s, 172.0 * 8.0 / 0.02 / 1e6, 1e-4), "{flow:?}");
    assert_eq!((flow.sent_pkts, flow.retransmitted_pkts), (3_001, 0));
    assert_eq!((flow.algorithm.as_str(), flow.stack.as_str()), ("none", "none"));
    assert_eq!((flow.cwnd_mean_pkts, flow.rtt_base_ms), (None, None));
}

#[test]
fn a_call_loses_what_a_link_loses() {
    let mut setup = setup(call(172, 2));
    setup.forward[0]["loss"] = json!({"kind": "iid", "ppb": 100_000_000});
    let flow = &setup.run().flows[0];
    assert!(is_near(flow.datagram_loss_pct, 10.0, 1.0), "{flow:?}");
}

#[test]
fn more_than_a_link_carries_is_lost() {
    // With headers, 1,514 bytes per millisecond, 12.1 Mbit/s, into 10 Mbit/s.
    let output = Setup { warm_up_s: 0, ..setup(call(1_472, 1)) }.run();
    let lost_pct = 100.0 * (1.0 - 10.0 / (1_514.0 * 8.0 / 1e3));
    assert!(is_near(output.flows[0].datagram_loss_pct, lost_pct, 0.2), "{:?}", output.flows[0]);
    // Packets that neither arrived nor were dropped are in the queue or on the wire.
    let (flow, link) = (&output.flows[0], &output.links[0]);
    let arrived_pkts = flow.delivered_bytes / 1_472;
    let under_way_pkts = flow.sent_pkts - arrived_pkts - link.dropped_pkts;
    assert!((50..=50 + 20).contains(&under_way_pkts), "{under_way_pkts}");
}

#[test]
fn a_call_behind_a_bulk_transfer_waits_in_its_queue() {
    let mut setup = setup(call(172, 20));
    setup.algorithms.push(algorithm("cubic"));
    let mut json = setup.json();
    json["flows"][1]["application"] = json!({"kind": "bulk"});
    let flow = &run_json(&json, &Traces::default()).flows[0];
    let full_queue_ms = 50.0 * 1_514.0 * 8.0 / 10e6 * 1e3;
    let delay_ms = flow.datagram_delay_p95_ms.expect("arrivals");
    assert!((20.0 + 0.8 * full_queue_ms..21.0 + full_queue_ms).contains(&delay_ms), "{delay_ms}");
}

#[test]
fn bad_values_are_refused_by_name() {
    let error = |application: Value| {
        let json = setup(application).json().to_string();
        cwndlab_scenario::Scenario::from_json(&json).expect_err("a bad application").to_string()
    };
    assert!(error(video(&[])).contains("rungs_bits_per_sec"));
    assert!(error(video(&[2, 1])).contains("rungs_bits_per_sec"));
    let short = json!({"kind": "video", "rungs_bits_per_sec": [1], "chunk_ns": 2, "buffer_ns": 19});
    assert!(error(short).contains("buffer_ns"));
    assert!(error(call(1_473, 20)).contains("flows[0].application.bytes"));
    assert!(error(call(100, 0)).contains("interval_ns"));
}
