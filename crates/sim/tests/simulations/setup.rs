//! Scenarios for tests, built from defaults: 10 Mbit/s, 40 ms, 50 packets, 10 s.

use cwndlab_cc::Algorithms;
use cwndlab_link::Traces;
use cwndlab_scenario::{RunOutput, Scenario};
use serde_json::{Value, json};

/// A scenario of flows with the same settings, except for those in lists.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) seed: u64,
    pub(crate) duration_s: u64,
    pub(crate) warm_up_s: u64,
    pub(crate) forward: Value,
    pub(crate) reverse: Value,
    pub(crate) record: Value,
    /// The congestion control of each flow.
    pub(crate) algorithms: Vec<String>,
    /// Parameters of every sender's algorithm.
    pub(crate) parameters: Value,
    /// Overrides of the stack profile at both ends of every flow.
    pub(crate) stack_overrides: Value,
    /// Application of every flow.
    pub(crate) application: Value,
    pub(crate) stop_ns: Option<u64>,
    /// Lists shorter than the number of flows continue with default values.
    pub(crate) starts_ns: Vec<u64>,
    pub(crate) directions: Vec<&'static str>,
    pub(crate) access_delays_ns: Vec<u64>,
}

impl Setup {
    pub(crate) fn new(algorithms: Vec<String>) -> Self {
        Self {
            seed: 1,
            duration_s: 10,
            warm_up_s: 1,
            forward: bottleneck(10_000_000, 50, 20),
            reverse: wire(20),
            record: json!({}),
            algorithms,
            parameters: json!({}),
            stack_overrides: json!({}),
            application: json!({"kind": "bulk"}),
            stop_ns: None,
            starts_ns: Vec::new(),
            directions: Vec::new(),
            access_delays_ns: Vec::new(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        let flows: Vec<Value> = self
            .algorithms
            .iter()
            .enumerate()
            .map(|(id, algorithm)| {
                let end = |parameters: &Value, algorithm: &str| {
                    json!({"stack": "linux-6.1", "algorithm": algorithm, "parameters": parameters,
                           "stack_overrides": self.stack_overrides})
                };
                json!({
                    "id": id,
                    "direction": self.directions.get(id).copied().unwrap_or("forward"),
                    "start_ns": self.starts_ns.get(id).copied().unwrap_or(0),
                    "stop_ns": self.stop_ns,
                    "application": self.application,
                    "access_delay_ns": self.access_delays_ns.get(id).copied().unwrap_or(0),
                    "sender": end(&self.parameters, algorithm),
                    "receiver": end(&json!({}), "reno"),
                })
            })
            .collect();
        json!({
            "version": 1, "seed": self.seed, "duration_ns": self.duration_s * 1_000_000_000,
            "warm_up_ns": self.warm_up_s * 1_000_000_000, "jiffies_phase_ns": 0,
            "path": {"kind": "wire", "forward": self.forward, "reverse": self.reverse},
            "flows": flows, "record": self.record,
        })
    }

    pub(crate) fn run(&self) -> RunOutput {
        self.run_with(&Traces::default())
    }

    pub(crate) fn run_with(&self, traces: &Traces) -> RunOutput {
        run_json(&self.json(), traces)
    }
}

/// Runs a scenario that extends a [`Setup`].
pub(crate) fn run_json(scenario: &Value, traces: &Traces) -> RunOutput {
    let scenario =
        Scenario::from_json(&scenario.to_string()).unwrap_or_else(|error| panic!("{error}"));
    cwndlab_sim::run(&scenario, traces, &Algorithms::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn algorithm(name: &str) -> String {
    name.into()
}

/// A drop-tail bottleneck with Ethernet framing.
pub(crate) fn bottleneck(bits_per_sec: u64, queue_pkts: u64, delay_ms: u64) -> Value {
    json!([{
        "rate": {"kind": "fixed", "bits_per_sec": bits_per_sec},
        "queue": {"kind": "drop_tail", "packets": queue_pkts},
        "delay_ns": delay_ms * 1_000_000, "framing_bytes": 14,
    }])
}

/// A wire with only a delay.
pub(crate) fn wire(delay_ms: u64) -> Value {
    json!([{"delay_ns": delay_ms * 1_000_000}])
}
