//! Measurements of wires and traces: response functions of TCP, queues, and replay of traces.

use std::fs;
use std::path::Path;

use cwndlab_cc::Algorithms;
use cwndlab_link::{
    AnyLink, Link, Packet, QueueConfig, RateConfig, RateTrace, StageConfig, Traces,
};
use cwndlab_scenario::{FlowSummary, Scenario};
use cwndlab_units::{Duration, Ecn, Output, Rate, Stream, Time};
use serde_json::{Value, json};

use crate::Report;

pub(crate) fn measure(report: &Report) {
    for (name, every) in [("0.001", 1_000_u64), ("0.0001", 10_000)] {
        report.measure(&format!("plain.reno.window.p={name}"), || {
            responding("reno", every, 50, 600).cwnd_mean_pkts.expect("the flow lived")
        });
    }
    for (name, every) in [("0.0001", 10_000_u64), ("0.00001", 100_000)] {
        let ids = ["window", "standard"].map(|against| format!("plain.cubic.{against}.p={name}"));
        if ids.iter().any(|id| report.wants(id)) {
            let window = responding("cubic", every, 50, 1_200).cwnd_mean_pkts;
            for id in ids {
                report.measure(&id, || window.expect("the flow lived"));
            }
        }
    }
    report.measure("plain.reno.utilisation.queue=bdp", || utilisation(100));
    report.measure("plain.reno.utilisation.queue=0", || utilisation(4));
    report.measure("plain.reno.loss.queue=bdp", || {
        let flow = alone_on_a_wire(100);
        flow.recoveries.expect("the simulator counts them") as f64 / flow.sent_pkts as f64 * 1e4
    });
    for load in [0.3, 0.5, 0.8] {
        report.measure(&format!("plain.m-d-1.wait.load={load}"), || mean_wait_ms(load));
    }
    if let Some(folder) = &report.traces {
        traces(report, folder);
    }
}

/// Runs a flow over a path without a queue that loses one packet in `every`. The RTT is twice
/// `half_rtt_ms`.
fn responding(algorithm: &str, every: u64, half_rtt_ms: u64, seconds: u64) -> FlowSummary {
    let delay_ns = half_rtt_ms * 1_000_000;
    let forward = json!({"delay_ns": delay_ns, "loss": {"kind": "periodic", "every": every}});
    one_flow(
        algorithm,
        forward,
        delay_ns,
        seconds,
        json!({"receive_buffer_max_bytes": 67_108_864,
        "send_buffer_max_bytes": 67_108_864}),
    )
}

/// Runs Reno for 20 minutes on a wire with a bandwidth-delay product of 100 packets.
fn alone_on_a_wire(queue_pkts: u32) -> FlowSummary {
    let forward = json!({
        "rate": {"kind": "fixed", "bits_per_sec": 12_000_000}, "delay_ns": 50_000_000,
        "queue": {"kind": "drop_tail", "packets": queue_pkts}});
    // Paced, because a window that leaves in bursts needs queue space for the bursts.
    one_flow("reno", forward, 50_000_000, 1_200, json!({"pacing": true}))
}

fn utilisation(queue_pkts: u32) -> f64 {
    alone_on_a_wire(queue_pkts).utilisation_pct.expect("a rate")
}

fn one_flow(
    algorithm: &str,
    forward: Value,
    reverse_ns: u64,
    seconds: u64,
    overrides: Value,
) -> FlowSummary {
    // RFC 9438's response function applies to CUBIC without fast convergence.
    let parameters = if algorithm == "cubic" { json!({"fast_convergence": 0}) } else { json!({}) };
    let end = json!({"stack": "linux-6.1", "algorithm": algorithm, "parameters": parameters,
        "stack_overrides": overrides});
    let scenario = json!({
        "version": 1, "seed": 1, "duration_ns": seconds * 1_000_000_000,
        "warm_up_ns": 60_000_000_000_u64, "jiffies_phase_ns": 0,
        "path": {"kind": "wire", "forward": [forward], "reverse": [{"delay_ns": reverse_ns}]},
        "flows": [{"id": 0, "sender": end, "receiver": end}]});
    let scenario = Scenario::from_json(&scenario.to_string()).expect("a valid scenario");
    let output = cwndlab_sim::run(&scenario, &Traces::new(), &Algorithms::default());
    output.expect("a run").flows.remove(0)
}

/// A packet of 1500 bytes.
#[derive(Clone, Copy)]
struct Full {
    arrived: Time,
}

impl Packet for Full {
    fn wire_bytes(&self) -> u32 {
        1500
    }

    fn flow(&self) -> u32 {
        0
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn mark_ce(&mut self) {}
}

/// Mean waiting time of Poisson arrivals at a server with a service time of 1 ms.
fn mean_wait_ms(load: f64) -> f64 {
    let stage = StageConfig {
        rate: RateConfig::Fixed { rate: Rate::from_mbit_per_sec(12) },
        ..StageConfig::default()
    };
    let mut link: AnyLink<Full> =
        AnyLink::one_way(&[stage], &Traces::new(), 1, "forward").expect("valid");
    let mut random = Stream::new(17, "arrivals");
    let (mut now, mut waits_ms, mut left) = (Time::ZERO, 0.0, 0_u32);
    for _ in 0..1_000_000 {
        now += Duration::from_nanos(random.exponential(1e6 / load) as u64);
        while link.wake_time() <= now {
            if let Some(Output::Packet { at, packet, .. }) = link.poll(now) {
                waits_ms += (at - packet.arrived).as_millis_f64() - 1.0;
                left += 1;
            }
        }
        link.handle_packet(now, 0, Full { arrived: now });
    }
    waits_ms / f64::from(left)
}

/// Measures every Mahimahi trace in a folder; the name of each measurement contains the name of
/// the file.
fn traces(report: &Report, folder: &Path) {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("a folder of traces")
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|end| end == "down" || end == "up"))
        .collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let text = fs::read(&path).expect("a readable trace");
        let Ok(trace) = RateTrace::parse_mahimahi(&text) else { continue };
        let mean = trace.mean_rate().as_mbit_per_sec_f64();
        report.measure(&format!("trace.mean.{name}"), || mean);
        let replay = Replay::new(&trace);
        report.measure(&format!("trace.opportunities.{name}"), || replay.opportunities as f64);
        report.measure(&format!("trace.period.{name}"), || replay.period.as_secs_f64());
        let rate = replay.opportunities as f64 * 1504.0 * 8e-6 / trace.period().as_secs_f64();
        report.measure(&format!("trace.replay.{name}"), || rate / mean);
    }
}

/// Deliveries of a trace to a source that always has packets to send.
struct Replay {
    /// Packets of 1504 bytes, including framing, in the first repetition of the trace.
    opportunities: u64,
    /// Time from the first packet to the first packet of the next repetition of the trace.
    period: Duration,
}

impl Replay {
    fn new(trace: &RateTrace) -> Self {
        let round = Time::ZERO + trace.period();
        let mut traces = Traces::new();
        traces.insert("trace", trace.clone());
        let stage = StageConfig {
            rate: RateConfig::Mahimahi { path: "trace".into(), light: None },
            queue: QueueConfig::default(),
            ..StageConfig::default()
        };
        let link = AnyLink::one_way(&[stage], &traces, 1, "forward");
        let mut link: AnyLink<Full> = link.expect("valid");
        for _ in 0..100 {
            link.handle_packet(Time::ZERO, 0, Full { arrived: Time::ZERO });
        }
        let (mut first, mut opportunities) = (None, 0);
        loop {
            let now = link.wake_time();
            if let Some(Output::Packet { at, .. }) = link.poll(now) {
                let first = *first.get_or_insert(at);
                if at > round {
                    return Self { opportunities, period: at - first };
                }
                opportunities += 1;
                link.handle_packet(now, 0, Full { arrived: now });
            }
        }
    }
}
