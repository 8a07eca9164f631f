//! Executes one run for `make bench`, which measures this program from outside. Prints the totals
//! of the run as JSON.
//!
//! Usage: `benchmark dumbbell|gigabit|window|wifi|hsdpa|lte|nr|PATH.json [--flows N] [--seconds N]
//! [--samples] [--window N] [--algorithm NAME] [--mbit N] [--ms N] [--repeat N]`. `PATH.json`
//! contains the path of a scenario. A run of 0 seconds ends at once and measures the fixed cost of
//! a run.

mod cells;

use std::fs;
use std::process::ExitCode;

use cwndlab_cc::Algorithms;
use cwndlab_link::Traces;
use cwndlab_scenario::{RunOutput, Scenario};
use serde_json::{Value, json};

const MSS_BYTES: u64 = 1_448;
const FRAMING_BYTES: u64 = 14;
const PACKET_BYTES: u64 = MSS_BYTES + 52 + FRAMING_BYTES;

struct Options {
    case: String,
    flows: u64,
    seconds: u64,
    window: u64,
    samples: bool,
    /// Rate of the case `dumbbell`, in Mbit/s.
    mbit: u64,
    /// Round-trip time of the case `dumbbell`, in ms.
    ms: u64,
    /// Number of times that the scenario is read and run.
    repeat: u64,
    /// Congestion control of the senders in all cases except `gigabit` and `window`.
    algorithm: String,
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!(
            "usage: benchmark dumbbell|gigabit|window|wifi|hsdpa|lte|nr|PATH.json [--flows N] \
             [--seconds N] [--samples] [--window N] [--algorithm NAME] [--mbit N] [--ms N] \
             [--repeat N]"
        );
        return ExitCode::from(2);
    };
    let scenario = match options.case.as_str() {
        "dumbbell" => dumbbell(&options),
        "gigabit" => gigabit(&options),
        "window" => window(&options),
        "wifi" => wifi(&options),
        other => {
            let Some(path) = cells::cell(other).or_else(|| read_path(other)) else {
                eprintln!("benchmark: unknown case {other}");
                return ExitCode::from(2);
            };
            let is_fixed = options.algorithm == "fixed";
            let window = json!({"window_pkts": options.window});
            let parameters = if is_fixed { window } else { json!({}) };
            scenario(&options, &path, &options.algorithm, &parameters, &large_buffers())
        }
    };
    let (json, algorithms) = (scenario.to_string(), Algorithms::default());
    let run = || {
        let scenario = Scenario::from_json(&json).expect("a valid scenario");
        cwndlab_sim::run(&scenario, &Traces::default(), &algorithms).expect("a run")
    };
    let baseline_kib = peak_kib();
    for _ in 1..options.repeat {
        run();
    }
    println!("{}", totals(&run(), baseline_kib));
    ExitCode::SUCCESS
}

fn options() -> Option<Options> {
    let mut arguments = std::env::args().skip(1);
    let mut options = Options {
        case: arguments.next()?,
        flows: 1,
        seconds: 300,
        window: 100,
        samples: false,
        mbit: 50,
        ms: 40,
        repeat: 1,
        algorithm: "cubic".to_owned(),
    };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--samples" => options.samples = true,
            "--flows" => options.flows = arguments.next()?.parse().ok()?,
            "--seconds" => options.seconds = arguments.next()?.parse().ok()?,
            "--window" => options.window = arguments.next()?.parse().ok()?,
            "--mbit" => options.mbit = arguments.next()?.parse().ok()?,
            "--ms" => options.ms = arguments.next()?.parse().ok()?,
            "--repeat" => options.repeat = arguments.next()?.parse().ok()?,
            "--algorithm" => options.algorithm = arguments.next()?,
            _ => return None,
        }
    }
    Some(options)
}

/// Reads the path from a file, if the argument names a file.
fn read_path(case: &str) -> Option<Value> {
    let text = case.ends_with(".json").then(|| fs::read_to_string(case))?.ok()?;
    serde_json::from_str(&text).ok()
}

/// One flow (CUBIC by default) over 50 Mbit/s, 40 ms and a queue of one bandwidth-delay product.
fn dumbbell(options: &Options) -> Value {
    let (bits_per_sec, delay_ns) = (options.mbit * 1_000_000, options.ms * 500_000);
    let bdp_bytes = bits_per_sec * options.ms / 1_000 / 8;
    let bottleneck = json!({
        "rate": {"kind": "fixed", "bits_per_sec": bits_per_sec},
        "queue": {"kind": "drop_tail", "packets": bdp_bytes / PACKET_BYTES + 1},
        "delay_ns": delay_ns, "framing_bytes": FRAMING_BYTES,
    });
    let back = json!({"delay_ns": delay_ns, "framing_bytes": FRAMING_BYTES});
    let path = wire(&bottleneck, &back);
    // Data that fill the path and its queue once exceed the default buffers of 6 MB.
    let overrides = if bdp_bytes > 1_000_000 { large_buffers() } else { json!({}) };
    scenario(options, &path, &options.algorithm, &json!({}), &overrides)
}

/// One flow over 1 Gbit/s with a buffer of 12 MB, so that slow start loses thousands of segments.
fn gigabit(options: &Options) -> Value {
    let bottleneck = json!({
        "rate": {"kind": "fixed", "bits_per_sec": 1_000_000_000},
        "queue": {"kind": "drop_tail", "bytes": 12_000_000},
        "delay_ns": 20_000_000, "framing_bytes": FRAMING_BYTES,
    });
    let back = json!({"delay_ns": 20_000_000, "framing_bytes": FRAMING_BYTES});
    let parameters = json!({"hystart": 0});
    scenario(options, &wire(&bottleneck, &back), "cubic", &parameters, &large_buffers())
}

/// One flow with a window of a given size, which exactly fills its path; after 3 s, every 100th
/// segment is lost.
///
/// The receiver acknowledges every segment beyond a gap at once, because the benchmark counts
/// ACKs.
fn window(options: &Options) -> Value {
    let round_trip_ms = 100;
    let bottleneck = json!({
        "rate": {"kind": "fixed",
            "bits_per_sec": options.window * PACKET_BYTES * 8 * 1_000 / round_trip_ms},
        "delay_ns": round_trip_ms * 500_000, "framing_bytes": FRAMING_BYTES,
        "schedule": [{"at_ns": 3_000_000_000_u64, "loss": {"kind": "periodic", "every": 100}}],
    });
    let back = json!({"delay_ns": round_trip_ms * 500_000});
    let parameters = json!({"window_pkts": options.window});
    let mut overrides = large_buffers();
    overrides["compressed_sack_limit"] = json!(0);
    overrides["send_buffer_bytes"] = json!(1_u64 << 28);
    scenario(options, &wire(&bottleneck, &back), "fixed", &parameters, &overrides)
}

/// Stations with one flow each, which send to the access point of an 802.11n channel of 65 Mbit/s.
fn wifi(options: &Options) -> Value {
    let path = json!({
        "kind": "wifi", "standard": "802.11n", "rate_control": {"kind": "fixed", "index": 7},
        "aggregation": {}, "stations": vec![json!({}); options.flows as usize],
    });
    let mut scenario = scenario(options, &path, &options.algorithm, &json!({}), &json!({}));
    for (index, flow) in scenario["flows"].as_array_mut().expect("a list").iter_mut().enumerate() {
        flow["user"] = json!(index + 1);
        flow["direction"] = json!("reverse");
    }
    scenario
}

fn large_buffers() -> Value {
    json!({"receive_buffer_max_bytes": 1_u64 << 28, "send_buffer_max_bytes": 1_u64 << 28})
}

fn wire(forward: &Value, reverse: &Value) -> Value {
    json!({"kind": "wire", "forward": [forward], "reverse": [reverse]})
}

fn scenario(
    options: &Options,
    path: &Value,
    algorithm: &str,
    parameters: &Value,
    overrides: &Value,
) -> Value {
    let end = json!({
        "stack": "linux-6.1", "algorithm": algorithm, "parameters": parameters,
        "stack_overrides": overrides,
    });
    // Flows start 0.1 s apart; if there are many, all start in the first 2 s.
    let gap_ns = 100_000_000.min(2_000_000_000 / options.flows);
    let is_short = options.seconds == 0;
    let start_ns = |id: u64| if is_short { 0 } else { id * gap_ns };
    let flows: Vec<Value> = (0..options.flows)
        .map(|id| json!({"id": id, "start_ns": start_ns(id), "sender": end, "receiver": end}))
        .collect();
    json!({
        "version": 1, "seed": 1, "duration_ns": (options.seconds * 1_000_000_000).max(1),
        "warm_up_ns": 1_000_000_000, "jiffies_phase_ns": 0,
        "path": path,
        "flows": flows,
        "record": {"sample_interval_ns": options.samples.then_some(100_000_000)},
    })
}

fn totals(output: &RunOutput, baseline_kib: u64) -> Value {
    let delivered_bytes: u64 = output.flows.iter().map(|flow| flow.delivered_bytes).sum();
    json!({
        "delivered_segments": delivered_bytes / MSS_BYTES,
        "acks": output.links.iter().filter(|link| link.link.contains("reverse"))
            .map(|link| link.delivered_pkts).sum::<u64>(),
        "retransmitted": output.flows.iter().map(|flow| flow.retransmitted_pkts).sum::<u64>(),
        "goodput_mbit_s": output.flows.iter().filter_map(|flow| flow.goodput_mbit_s).sum::<f64>(),
        "cwnd_mean_pkts": output.flows[0].cwnd_mean_pkts,
        "samples": output.samples.as_ref().map(|samples| samples.t_s.len()),
        "baseline_kib": baseline_kib,
        "peak_kib": peak_kib(),
    })
}

/// Peak memory of this process in KiB; 0 if the system does not report it.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
