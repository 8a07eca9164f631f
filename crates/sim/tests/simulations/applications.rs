//! Each application: what it sends, when it sends, and when it is complete.

use crate::setup::{Setup, algorithm};
use serde_json::{Value, json};

fn setup(application: Value) -> Setup {
    Setup { application, duration_s: 30, ..Setup::new(vec![algorithm("cubic")]) }
}

#[test]
fn a_sized_transfer_delivers_its_bytes_and_completes() {
    for bytes in [1_u64, 1_448, 50_000, 3_000_000] {
        let flow = &setup(json!({"kind": "sized", "bytes": bytes})).run().flows[0];
        assert_eq!(flow.delivered_bytes, bytes);
        let completion_ms = flow.completion_ms.expect("an end that was reached");
        // At least a handshake and half a round trip, plus the transmission of the bytes.
        let least_ms = 60.0 + bytes as f64 * 8.0 / 10e6 * 1e3;
        assert!(completion_ms >= least_ms, "{bytes} bytes in {completion_ms} ms");
        assert!(completion_ms < 1.5 * least_ms + 200.0, "{bytes} bytes in {completion_ms} ms");
        assert!((flow.end_s - completion_ms / 1e3).abs() < 1e-9);
        if completion_ms < 1_000.0 {
            assert_eq!((flow.window_s, flow.goodput_mbit_s), (None, None), "all is warm-up");
        }
    }
}

#[test]
fn a_transfer_that_does_not_end_has_no_completion() {
    let flow = &setup(json!({"kind": "sized", "bytes": 1_u64 << 40})).run().flows[0];
    assert_eq!(flow.completion_ms, None);
    assert_eq!(flow.end_s, 30.0);
    assert_eq!(setup(json!({"kind": "bulk"})).run().flows[0].completion_ms, None);
}

#[test]
fn a_stopped_flow_ends_when_it_is_told_to() {
    let mut setup = setup(json!({"kind": "bulk"}));
    setup.stop_ns = Some(5_000_000_000);
    let output = setup.run();
    let flow = &output.flows[0];
    assert_eq!((flow.end_s, flow.window_s), (5.0, Some(4.0)));
    // Data in the send buffer are still sent, and then nothing more.
    let carried_s = flow.delivered_bytes as f64 * 8.0 / 9.5e6;
    assert!((4.5..7.0).contains(&carried_s), "{carried_s}");
}

#[test]
fn on_and_off_times_alternate() {
    let second = 1_000_000_000_u64;
    let mut setup = setup(json!({"kind": "on_off", "on_ns": second, "off_ns": 2 * second}));
    setup.record = json!({"sample_interval_ns": second / 2});
    let samples = setup.run().samples.expect("samples");
    let idle = samples.goodput_mbit_s.iter().filter(|goodput| **goodput < 0.5).count();
    let busy = samples.goodput_mbit_s.iter().filter(|goodput| **goodput > 7.0).count();
    // A third of 60 samples is on, and buffered data drain for a while.
    assert!((20..=40).contains(&idle) && busy >= 15, "{idle} idle, {busy} busy");
}

#[test]
fn drawn_times_differ_by_seed_and_have_their_mean() {
    let mean = 200_000_000_u64;
    for distribution in ["exponential", "pareto"] {
        let application = json!({
            "kind": "on_off", "on_ns": mean, "off_ns": mean, "distribution": distribution,
        });
        let mut setup = Setup { duration_s: 300, ..setup(application) };
        let goodput = |setup: &Setup| setup.run().flows[0].goodput_mbit_s.expect("a window");
        let first = goodput(&setup);
        // On for half of the time, and the buffer drains into the off periods.
        assert!((4.0..9.0).contains(&first), "{distribution}: {first}");
        setup.seed += 1;
        assert_ne!(first, goodput(&setup), "{distribution}");
    }
}

#[test]
fn requests_are_answered_one_after_the_other() {
    let application = json!({
        "kind": "request_response", "request_bytes": 200, "response_bytes": 10_000,
        "think_ns": 100_000_000, "count": 20,
    });
    let output = setup(application).run();
    let flow = &output.flows[0];
    assert_eq!(flow.delivered_bytes, 200_000);
    let completion_ms = flow.completion_ms.expect("20 of 20");
    // A handshake, then 20 times a round trip and the response's transmission, and 19 think times.
    let least_ms = 40.0 + 20.0 * (40.0 + 8.0) + 19.0 * 100.0;
    assert!((least_ms..least_ms + 100.0).contains(&completion_ms), "{completion_ms}");
}

#[test]
fn a_response_of_many_windows_arrives_whole() {
    let application = json!({
        "kind": "request_response", "request_bytes": 100_000, "response_bytes": 2_000_000,
        "count": 2,
    });
    let flow = &setup(application).run().flows[0];
    assert_eq!(flow.delivered_bytes, 4_000_000);
    assert!(flow.completion_ms.is_some());
}

#[test]
fn a_paced_application_sends_at_its_rate() {
    let application = json!({"kind": "paced", "bits_per_sec": 2_000_000, "write_bytes": 1_000});
    let mut setup = setup(application);
    let mean_bytes = |setup: &Setup| {
        let flow = &setup.run().flows[0];
        let goodput = flow.goodput_mbit_s.expect("a window");
        assert!((goodput - 2.0).abs() < 0.01, "{goodput}");
        flow.delivered_bytes as f64 / flow.sent_pkts as f64
    };
    // The Nagle algorithm joins writes while data are unacknowledged (RFC 9293 section 3.7.4).
    let joined = mean_bytes(&setup);
    assert!((1_300.0..1_448.0).contains(&joined), "{joined}");
    setup.stack_overrides = json!({"nagle": false});
    let apart = mean_bytes(&setup);
    assert!((999.0..1_010.0).contains(&apart), "{apart}");
}

#[test]
fn a_paced_application_may_begin_as_bulk() {
    let application = json!({
        "kind": "paced", "bits_per_sec": 1_000_000, "write_bytes": 1_000,
        "bulk_for_ns": 2_000_000_000_u64,
    });
    let delivered = |duration_s: u64| {
        let setup = Setup { duration_s, ..setup(application.clone()) };
        setup.run().flows[0].delivered_bytes as f64
    };
    let (bulk, soon, later) = (delivered(2), delivered(4), delivered(8));
    assert!(bulk > 1_500_000.0, "2 s of bulk: {bulk}");
    let rate = (later - soon) * 8.0 / 4.0;
    assert!((0.99e6..1.01e6).contains(&rate), "{rate} bit/s after it");
}

#[test]
fn a_probe_is_bulk_then_silent_then_doubles_its_rate() {
    let application = json!({
        "kind": "probe", "bulk_for_ns": 2_000_000_000_u64, "pause_ns": 1_000_000_000_u64,
        "bits_per_sec": 250_000, "doubling_ns": 1_000_000_000_u64,
    });
    let delivered = |duration_s: u64| {
        let setup = Setup { duration_s, ..setup(application.clone()) };
        setup.run().flows[0].delivered_bytes as f64
    };
    let [bulk, silent, first, second, third] = [2, 3, 4, 5, 6].map(delivered);
    assert!(bulk > 1_500_000.0, "2 s of bulk: {bulk}");
    assert!(silent - bulk < 500_000.0, "the pause only empties the socket's buffer");
    for (bytes, kbit) in [(first - silent, 250.0), (second - first, 500.0), (third - second, 1e3)] {
        let found = bytes * 8.0 / 1_000.0;
        assert!((found - kbit).abs() < 40.0, "{found} instead of {kbit} kbit");
    }
}

#[test]
fn a_windowed_file_is_limited_by_its_blocks_outstanding() {
    // 4 blocks of 8 kB per round trip of at least 40 ms: at most 6.4 of the link's 10 Mbit/s.
    let application = |outstanding: u64| {
        json!({
            "kind": "windowed_file", "request_bytes": 8_000, "outstanding": outstanding,
            "total_bytes": 2_000_000,
        })
    };
    let few = setup(application(4)).run();
    let many = setup(application(64)).run();
    for output in [&few, &many] {
        assert_eq!(output.flows[0].delivered_bytes, 2_000_000);
    }
    let ms = |output: &cwndlab_scenario::RunOutput| output.flows[0].completion_ms.expect("an end");
    assert!(ms(&few) > 2_000_000.0 * 8.0 / 6.4e6 * 1e3, "{}", ms(&few));
    assert!(ms(&many) < 0.8 * ms(&few), "{} {}", ms(&many), ms(&few));
}

#[test]
fn an_sftp_client_is_limited_by_its_blocks_outstanding_in_both_directions() {
    // 4 blocks of 8 kB per round trip of at least 40 ms: at most 6.4 of the link's 10 Mbit/s.
    let ms = |is_upload: bool, outstanding: u64| {
        let application = json!({
            "kind": "sftp", "bytes": 2_001_000, "request_bytes": 8_000,
            "outstanding": outstanding, "is_upload": is_upload,
        });
        let output = setup(application).run();
        assert_eq!(output.flows[0].delivered_bytes, 2_001_000);
        output.flows[0].completion_ms.expect("an end")
    };
    for is_upload in [true, false] {
        let (few, many) = (ms(is_upload, 4), ms(is_upload, 64));
        assert!(few > 2_000_000.0 * 8.0 / 6.4e6 * 1e3, "{few}");
        assert!(many < 0.8 * few, "{many} {few}");
    }
    // The request takes another half round trip before the first block.
    let later_ms = ms(false, 4) - ms(true, 4);
    assert!((0.0..100.0).contains(&later_ms), "{later_ms}");
}

#[test]
fn chunks_over_http_wait_for_the_answer_to_the_one_before() {
    let completion_ms = |application: Value| {
        let output = setup(application).run();
        output.flows[0].completion_ms.expect("an end")
    };
    let http = |chunk_bytes: u64| json!({"kind": "http", "bytes": 2_000_000, "chunk_bytes": chunk_bytes, "is_upload": true});
    let whole = completion_ms(json!({"kind": "http", "bytes": 2_000_000, "is_upload": true}));
    assert_eq!(whole, completion_ms(http(2_000_000)));
    // The client waits for nine responses, each of which takes at least a round trip of 40 ms.
    let chunks = completion_ms(http(200_000));
    assert!((whole + 9.0 * 40.0..whole + 9.0 * 160.0).contains(&chunks), "{chunks} {whole}");
    let asked = setup(json!({"kind": "http", "bytes": 2_000_000, "is_upload": false})).run();
    assert_eq!(asked.flows[0].delivered_bytes, 2_000_300);
    let asked_ms = asked.flows[0].completion_ms.expect("an end");
    assert!((asked_ms - whole).abs() < 100.0, "{asked_ms} {whole}");
}
