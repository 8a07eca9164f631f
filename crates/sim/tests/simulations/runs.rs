//! Whole runs against known results: closed forms, conservation, and identical bytes when repeated.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::setup::{Setup, algorithm, bottleneck, run_json, wire};
use cwndlab_cc::Algorithms;
use cwndlab_link::{RateTrace, Traces};
use cwndlab_scenario::{RunOutput, Scenario};
use cwndlab_sim::RunError;
use serde_json::json;

const MSS_BYTES: f64 = 1_448.0;
const FULL_FRAME_BYTES: f64 = 1_514.0;

fn assert_near(value: f64, expected: f64, tolerance_pct: f64) {
    let error_pct = 100.0 * (value - expected) / expected;
    assert!(error_pct.abs() <= tolerance_pct, "{value} is {error_pct:.2} % off {expected}");
}

#[test]
fn links_count_from_the_end_of_the_warm_up() {
    let run = |warm_up_s: u64, duration_s: u64| {
        Setup { duration_s, warm_up_s, ..Setup::new(vec![algorithm("cubic")]) }.run().links
    };
    let (all, before, after) = (run(0, 10), run(0, 4), run(4, 10));
    for ((all, before), after) in all.iter().zip(&before).zip(&after) {
        assert_eq!(after.arrived_pkts, all.arrived_pkts - before.arrived_pkts, "{}", all.link);
        assert_eq!(after.delivered_pkts, all.delivered_pkts - before.delivered_pkts);
        assert_eq!(after.dropped_pkts, all.dropped_pkts - before.dropped_pkts);
        assert_eq!(after.arrived_bytes, all.arrived_bytes - before.arrived_bytes);
    }
    let mean = |seconds: f64, pkts: Option<f64>| seconds * pkts.expect("a queue");
    let sum = mean(4.0, before[0].queue_mean_pkts) + mean(6.0, after[0].queue_mean_pkts);
    assert!((sum - mean(10.0, all[0].queue_mean_pkts)).abs() < 1e-6);
}

#[test]
fn the_same_scenario_and_seed_give_the_same_output() {
    let setup = Setup {
        forward: json!([{
            "rate": {"kind": "fixed", "bits_per_sec": 10_000_000},
            "queue": {"kind": "drop_tail", "packets": 50},
            "delay_ns": 20_000_000, "loss": {"kind": "iid", "ppb": 5_000_000},
            "jitter": {"kind": "uniform", "max_ns": 2_000_000},
        }]),
        record: json!({
            "sample_interval_ns": 50_000_000, "events": true, "ack_trace": true, "pcap": "x.pcap",
        }),
        ..Setup::new(vec![algorithm("cubic"), algorithm("reno")])
    };
    // Debug text, because an undefined value is NaN, which does not equal itself.
    let [first, second] = [setup.run(), setup.run()].map(|output| format!("{output:?}"));
    assert!(first == second);
    let other = Setup { seed: setup.seed + 1, ..setup };
    assert!(first != format!("{:?}", other.run()));
}

#[test]
fn a_flow_alone_gets_the_rate_less_headers() {
    for (name, mbit_s) in [("reno", 5.0), ("cubic", 50.0), ("highspeed", 20.0)] {
        let bits_per_sec = mbit_s * 1e6;
        let bdp_pkts = (bits_per_sec * 0.04 / 8.0 / FULL_FRAME_BYTES) as u64 + 1;
        let setup = Setup {
            forward: bottleneck(bits_per_sec as u64, bdp_pkts, 20),
            duration_s: 60,
            ..Setup::new(vec![algorithm(name)])
        };
        let output = setup.run();
        let flow = &output.flows[0];
        let goodput = flow.goodput_mbit_s.expect("a window");
        assert_near(goodput, mbit_s * MSS_BYTES / FULL_FRAME_BYTES, 1.0);
        // Carried bytes include retransmissions, so the utilisation is almost complete.
        assert_near(flow.utilisation_pct.expect("a rate"), 100.0, 1.0);
        assert_eq!(flow.timeouts, Some(0), "{name}");
        // The empty path, plus the transmission of a packet between a SYN and a full segment in
        // size.
        let base_ms = 40.0 + FULL_FRAME_BYTES * 8.0 / bits_per_sec * 1e3;
        let smallest_ms = flow.rtt_base_ms.expect("samples");
        assert!(40.0 < smallest_ms && smallest_ms < base_ms + 0.01, "{name}: {smallest_ms} ms");
        let queue_ms = bdp_pkts as f64 * FULL_FRAME_BYTES * 8.0 / bits_per_sec * 1e3;
        let p99_ms = flow.rtt_p99_ms.expect("samples");
        assert!(base_ms < p99_ms && p99_ms <= base_ms + queue_ms + 41.0, "{name}: {p99_ms} ms");
    }
}

#[test]
fn packets_are_conserved() {
    let setup = Setup {
        forward: json!([
            {"rate": {"kind": "fixed", "bits_per_sec": 20_000_000},
             "queue": {"kind": "drop_tail", "packets": 30}, "delay_ns": 5_000_000},
            {"rate": {"kind": "fixed", "bits_per_sec": 8_000_000},
             "queue": {"kind": "drop_tail", "packets": 20}, "delay_ns": 15_000_000,
             "loss": {"kind": "iid", "ppb": 2_000_000}},
        ]),
        stop_ns: Some(8_000_000_000),
        warm_up_s: 0,
        ..Setup::new(vec![algorithm("reno"), algorithm("cubic"), algorithm("highspeed")])
    };
    // The flows close at 8 s, so no packet is in flight at the end.
    let output = setup.run();
    for link in &output.links {
        let gone = link.delivered_pkts + link.dropped_pkts;
        assert_eq!(link.arrived_pkts, gone, "{}", link.link);
    }
    assert_eq!(output.links[0].delivered_pkts, output.links[1].arrived_pkts);
    let dropped: u64 = output.links[..2].iter().map(|link| link.dropped_pkts).sum();
    assert!(dropped > 0);
    for flow in &output.flows {
        // All bytes that were written before the close have arrived once.
        let new_pkts = flow.sent_pkts - flow.retransmitted_pkts;
        let least = flow.delivered_bytes.div_ceil(MSS_BYTES as u64);
        assert!(least <= new_pkts && new_pkts <= least + least / 20 + 10, "{flow:?}");
        assert!(flow.retransmitted_pkts > 0);
    }
    assert!(output.flows.iter().map(|flow| flow.retransmitted_pkts).sum::<u64>() >= dropped);
}

#[test]
fn reno_under_random_loss_follows_the_square_root_law() {
    // Mathis et al. 1997 with an ACK for every second segment, but byte counting: the window grows
    // by one segment per round trip, so W = sqrt(3 / 2p); the link's rate is so high that no queue
    // forms.
    for loss_ppb in [1_000_000, 4_000_000_u64] {
        let setup = Setup {
            forward: json!([{
                "rate": {"kind": "fixed", "bits_per_sec": 1_000_000_000},
                "delay_ns": 25_000_000, "loss": {"kind": "iid", "ppb": loss_ppb},
            }]),
            reverse: wire(25),
            duration_s: 400,
            ..Setup::new(vec![algorithm("reno")])
        };
        let flow = &setup.run().flows[0];
        let probability = loss_ppb as f64 / 1e9;
        let expected_pkts = libm::sqrt(1.5 / probability);
        assert_near(flow.cwnd_mean_pkts.expect("samples"), expected_pkts, 15.0);
        assert_near(flow.retransmitted_pct.expect("segments"), probability * 100.0, 20.0);
    }
}

#[test]
fn equal_flows_share_equally() {
    let setup = Setup {
        forward: bottleneck(20_000_000, 70, 20),
        duration_s: 120,
        ..Setup::new(vec![algorithm("reno"); 4])
    };
    let output = setup.run();
    let goodputs: Vec<f64> =
        output.flows.iter().map(|flow| flow.goodput_mbit_s.expect("a window")).collect();
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|goodput| goodput * goodput).sum();
    let jain = sum * sum / (goodputs.len() as f64 * squares);
    assert!(jain > 0.9, "{goodputs:?}: {jain}");
    assert_near(sum, 20.0 * MSS_BYTES / 1_500.0, 1.5);
}

#[test]
fn a_later_flow_starts_when_it_is_told_to() {
    let mut setup = Setup {
        duration_s: 20,
        record: json!({"sample_interval_ns": 100_000_000}),
        ..Setup::new(vec![algorithm("reno"), algorithm("cubic")])
    };
    setup.starts_ns = vec![0, 7_500_000_000];
    let output = setup.run();
    let samples = output.samples.expect("samples");
    let second = samples.flow.iter().zip(&samples.t_s).filter(|(flow, _)| **flow == 1);
    let first_s = second.map(|(_, t_s)| *t_s).fold(f64::INFINITY, f64::min);
    assert!((7.5..=7.6).contains(&first_s), "{first_s}");
    assert_eq!((output.flows[1].start_s, output.flows[1].end_s), (7.5, 20.0));
    assert_eq!(output.flows[1].window_s, Some(11.5));
    assert!(output.flows[1].goodput_mbit_s.expect("a window") > 1.0);
}

#[test]
fn data_and_acks_in_both_directions_share_the_links() {
    let alone = Setup {
        forward: bottleneck(10_000_000, 60, 20),
        reverse: json!([{
            "rate": {"kind": "fixed", "bits_per_sec": 2_000_000},
            "queue": {"kind": "drop_tail", "bytes": 40_000},
            "delay_ns": 20_000_000, "framing_bytes": 14,
        }]),
        duration_s: 30,
        ..Setup::new(vec![algorithm("cubic")])
    };
    let mut both = Setup { algorithms: vec![algorithm("cubic"); 2], ..alone.clone() };
    both.directions = vec!["forward", "reverse"];
    let (alone, both) = (alone.run(), both.run());
    assert_eq!(both.flows[1].direction, "reverse");
    let upload = both.flows[1].goodput_mbit_s.expect("a window");
    assert!(1.0 < upload && upload < 2.0, "{upload}");
    // The download's ACKs wait behind the upload's data.
    let rtt = |output: &RunOutput| output.flows[0].rtt_p50_ms.expect("samples");
    assert!(rtt(&both) > rtt(&alone) + 20.0, "{} {}", rtt(&both), rtt(&alone));
    let goodput = |output: &RunOutput| output.flows[0].goodput_mbit_s.expect("a window");
    assert!(goodput(&both) < goodput(&alone));
}

#[test]
fn access_delay_adds_to_the_round_trip_twice() {
    let mut setup =
        Setup { duration_s: 5, ..Setup::new(vec![algorithm("fixed"), algorithm("fixed")]) };
    setup.parameters = json!({"window_pkts": 4});
    setup.access_delays_ns = vec![0, 30_000_000];
    let output = setup.run();
    let base = |flow: usize| output.flows[flow].rtt_base_ms.expect("samples");
    assert!((base(1) - base(0) - 60.0).abs() < 1.0, "{} {}", base(0), base(1));
}

#[test]
fn an_outage_ends_in_timeouts_and_then_in_a_full_link() {
    let mut setup = Setup {
        duration_s: 30,
        record: json!({"events": true}),
        ..Setup::new(vec![algorithm("cubic")])
    };
    setup.forward[0]["outages"] =
        json!([{"start_ns": 10_000_000_000_u64, "stop_ns": 13_000_000_000_u64}]);
    let output = setup.run();
    let flow = &output.flows[0];
    let count = flow.timeouts.expect("the simulator counts them");
    assert!((3..=6).contains(&count), "{count}");
    let events = output.events.expect("events");
    let timeouts: Vec<f64> = events
        .event
        .iter()
        .zip(&events.t_s)
        .filter(|(event, _)| **event == "timeout")
        .map(|(_, t_s)| *t_s)
        .collect();
    assert_eq!(timeouts.len() as u64, count);
    let gaps: Vec<f64> = timeouts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for pair in gaps.windows(2) {
        assert!((pair[1] / pair[0] - 2.0).abs() < 0.2, "no doubling: {timeouts:?}");
    }
    let lost_s = 3.0 + gaps.last().expect("several timeouts");
    let expected = 10.0 * MSS_BYTES / FULL_FRAME_BYTES * (29.0 - lost_s) / 29.0;
    assert!(flow.goodput_mbit_s.expect("a window") > 0.93 * expected);
}

#[test]
fn a_step_of_the_rate_is_followed() {
    let mut setup = Setup {
        duration_s: 40,
        record: json!({"sample_interval_ns": 1_000_000_000}),
        ..Setup::new(vec![algorithm("cubic")])
    };
    setup.forward[0]["schedule"] =
        json!([{"at_ns": 20_000_000_000_u64, "bits_per_sec": 3_000_000}]);
    let output = setup.run();
    let samples = output.samples.expect("samples");
    let mean = |from: usize, to: usize| {
        samples.goodput_mbit_s[from..to].iter().sum::<f64>() / (to - from) as f64
    };
    assert_near(mean(2, 19), 10.0 * MSS_BYTES / FULL_FRAME_BYTES, 2.0);
    assert_near(mean(24, 40), 3.0 * MSS_BYTES / FULL_FRAME_BYTES, 3.0);
    assert_near(output.flows[0].utilisation_pct.expect("a rate"), 100.0, 2.0);
}

#[test]
fn a_mahimahi_trace_is_used_to_nine_tenths() {
    // 12 Mbit/s for 1 s, then 3 Mbit/s for 1 s: a period of 2 s.
    let mut text = String::new();
    for ms in 1..=2_000 {
        if ms <= 1_000 || ms % 4 == 0 {
            text.push_str(&format!("{ms}\n"));
        }
    }
    let mut traces = Traces::default();
    traces.insert("two-rates", RateTrace::parse_mahimahi(text.as_bytes()).expect("a good trace"));
    let rate = json!({"kind": "mahimahi", "path": "two-rates"});
    for name in ["reno", "cubic"] {
        let setup = Setup {
            forward: json!([{"rate": rate, "delay_ns": 20_000_000,
                "queue": {"kind": "drop_tail", "packets": 250}}]),
            duration_s: 60,
            ..Setup::new(vec![algorithm(name)])
        };
        let output = setup.run_with(&traces);
        let link = &output.links[0];
        // 30 periods without the warm-up, which is the first second of a period.
        assert_eq!(link.offered_bytes, Some((30 * 1_250 - 1_000) * 1_504));
        let used = link.delivered_bytes as f64 / link.offered_bytes.expect("a trace") as f64;
        assert!(used > 0.9, "{name}: {used}");
        let flow = &output.flows[0];
        assert!(flow.utilisation_pct.expect("a trace") > 90.0, "{name}");
    }
}

#[test]
fn a_receiver_that_wakes_up_later_acknowledges_together_what_came_together() {
    // Bursts of ten packets every 10 ms.
    let text = (1..=100).map(|n| format!("{}\n", n * 10).repeat(10)).collect::<String>();
    let mut traces = Traces::default();
    traces.insert("bursts", RateTrace::parse_mahimahi(text.as_bytes()).expect("a good trace"));
    let rate = json!({"kind": "mahimahi", "path": "bursts"});
    let run = |wake_us: u32, read_us: u32| {
        let setup = Setup {
            forward: json!([{"rate": rate, "delay_ns": 20_000_000,
                "queue": {"kind": "drop_tail", "packets": 250}}]),
            duration_s: 10,
            ..Setup::new(vec![algorithm("cubic")])
        };
        let mut scenario = setup.json();
        scenario["flows"][0]["receiver"]["host"] = json!({
            "queue_packets": 10_000, "bits_per_sec": 100_000_000_000_u64, "wake_ns": wake_us * 1_000,
            "read_ns": read_us * 1_000, "receive_packet_ns": 10_000,
            "receive_buffer_bytes": 1_000_000,
        });
        let output = run_json(&scenario, &traces);
        (output.links[1].arrived_pkts, output.flows[0].goodput_mbit_s)
    };
    let ((many, before), (few, after)) = (run(0, 0), run(100, 0));
    assert!(2 * few < many, "{few} of {many} acknowledgements");
    let [before, after] = [before, after].map(|goodput| goodput.expect("a goodput"));
    assert_near(after, before, 2.0);
    // Still awake for the fourth packet: a busy application does not need to wake up again.
    let (sleepy, awake) = (run(35, 0).0, run(35, 15).0);
    assert!(awake > sleepy, "{awake} of {sleepy} acknowledgements");
    assert!(awake < many, "{awake} of {many} acknowledgements");
}

#[test]
fn errors_name_the_place() {
    let base = Setup::new(vec![algorithm("reno")]).json();
    for (from, to, place) in [
        ("\"reno\"", "\"rneo\"", "flows[0].sender.algorithm"),
        ("linux-6.1", "linux-9.9", "flows[0].sender.stack"),
        ("\"parameters\":{}", "\"parameters\":{\"bogus\":1}", "flows[0].sender.parameters"),
        (
            "\"stack_overrides\":{}",
            "\"stack_overrides\":{\"bogus\":1}",
            "flows[0].sender.stack_overrides",
        ),
        (
            "{\"bits_per_sec\":10000000,\"kind\":\"fixed\"}",
            "{\"kind\":\"mahimahi\",\"path\":\"none\"}",
            "path.forward[0]",
        ),
    ] {
        let text = base.to_string();
        assert!(text.contains(from), "{from} not in {text}");
        let scenario = Scenario::from_json(&text.replace(from, to)).expect("well-formed");
        let error = cwndlab_sim::run(&scenario, &Traces::default(), &Algorithms::default())
            .expect_err(place);
        assert!(error.to_string().starts_with(place), "{error}");
    }
}

#[test]
fn a_run_that_is_stopped_ends_long_before_its_end() {
    let setup = Setup { duration_s: 1_000_000, ..Setup::new(vec![algorithm("reno")]) };
    let scenario = Scenario::from_json(&setup.json().to_string()).expect("well-formed");
    let stop = AtomicBool::new(false);
    let error = std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            cwndlab_sim::run_unless_stopped(
                &scenario,
                &Traces::default(),
                &Algorithms::default(),
                &stop,
            )
        });
        stop.store(true, Ordering::Relaxed);
        running.join().expect("no panic").expect_err("minutes of computing")
    });
    assert_eq!(error, RunError::Stopped);
}

#[test]
fn a_threshold_is_remembered_from_one_connection_to_the_next_where_the_stack_caches_it() {
    let first_threshold = |is_cached: bool| {
        let setup = Setup {
            application: json!({"kind": "sized", "bytes": 1_000_000}),
            starts_ns: vec![0, 4_000_000_000],
            stack_overrides: json!({"cached_ssthresh": is_cached}),
            record: json!({"sample_interval_ns": 10_000_000}),
            ..Setup::new(vec![algorithm("reno"), algorithm("reno")])
        };
        let output = setup.run();
        assert!(output.flows[0].completion_ms.is_some_and(|ms| ms < 4_000.0));
        let samples = output.samples.expect("samples");
        let of_second = samples.flow.iter().zip(&samples.t_s).zip(&samples.ssthresh_pkts);
        let mut of_second = of_second.filter(|((flow, t_s), _)| **flow == 1 && **t_s > 4.05);
        *of_second.next().expect("the second flow has samples").1
    };
    assert!(first_threshold(false).is_nan(), "a first threshold is infinite");
    assert!(first_threshold(true) >= 2.0);
}

/// First ssthresh of a connection after earlier runs' connections between the same hosts.
fn threshold_after(before: &[&str], stack_overrides: serde_json::Value) -> f64 {
    let setup = Setup {
        duration_s: 12, // so that none of them ends within a recovery
        application: json!({"kind": "sized", "bytes": 1_000_000}),
        stack_overrides,
        record: json!({"sample_interval_ns": 10_000_000}),
        ..Setup::new(vec![algorithm("reno")])
    };
    let mut scenario = setup.json();
    let earlier = |name: &&str| {
        let mut flow = scenario["flows"][0].clone();
        flow["sender"]["algorithm"] = json!(name);
        flow["application"] = json!({"kind": "bulk"});
        json!([flow])
    };
    let flows: Vec<_> = before.iter().map(earlier).collect();
    scenario["before"] = json!(flows);
    let output = run_json(&scenario, &Traces::default());
    assert_eq!(output.flows.len(), 1, "of the runs before nothing is told");
    let samples = output.samples.expect("samples");
    assert!(samples.t_s[0] < 0.02, "the clock begins with the run itself");
    samples.ssthresh_pkts[4]
}

#[test]
fn hosts_remember_the_runs_before_where_the_stack_does() {
    let caches = |is_cached: bool| json!({"cached_ssthresh": is_cached});
    assert!(threshold_after(&[], caches(true)).is_nan(), "there was nothing before");
    assert!(threshold_after(&["reno"], caches(false)).is_nan(), "this stack forgets");
    let after_reno = threshold_after(&["reno"], caches(true));
    let after_cubic = threshold_after(&["cubic"], caches(true));
    assert!(after_reno >= 2.0);
    // CUBIC reduces by three tenths and Reno by half: the most recent earlier run determines the
    // threshold.
    assert!(after_cubic > after_reno, "{after_cubic} {after_reno}");
    let last_is_reno = threshold_after(&["cubic", "reno"], caches(true));
    assert!(last_is_reno < after_cubic, "{last_is_reno}");
}

#[test]
fn what_is_wrong_with_a_run_before_names_it() {
    let mut scenario = Setup::new(vec![algorithm("reno")]).json();
    let flow = scenario["flows"][0].clone();
    let error = |before: serde_json::Value| {
        scenario["before"] = before;
        match Scenario::from_json(&scenario.to_string()) {
            Ok(scenario) => {
                cwndlab_sim::check(&scenario, &Traces::default(), &Algorithms::default())
                    .expect_err("a bad run before")
                    .to_string()
            }
            Err(error) => error.to_string(),
        }
    };
    let mut error = error;
    assert!(error(json!([[]])).starts_with("before[0]: the list of flows is empty"));
    let mut late = flow.clone();
    late["start_ns"] = json!(u64::MAX / 2);
    assert!(error(json!([[flow.clone()], [late]])).starts_with("before[1][0].start_ns"));
    let mut unknown = flow.clone();
    unknown["sender"]["algorithm"] = json!("rano");
    let message = error(json!([[flow, unknown]]));
    assert!(message.starts_with("before[0][1].id"), "{message}");
}
