//! `cargo +nightly fuzz run resolve_link`: any text is a link or an error; the core accepts or
//! refuses the link's path without a panic.
#![no_main]

#[path = "../../crates/texts/tests/resolved/mod.rs"]
mod resolved;

use cwndlab_cc::Algorithms;
use cwndlab_link::Traces;
use cwndlab_scenario::Scenario;
use cwndlab_sim::check;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|text: &str| {
    if let Some(path) = resolved::check(text) {
        if let Ok(scenario) = Scenario::from_json(&scenario_of(&path).to_string()) {
            let _ = check(&scenario, &Traces::new(), &Algorithms::default());
        }
    }
});

/// Returns a scenario with one CUBIC flow on this path, for one second.
fn scenario_of(path: &Value) -> Value {
    let end = json!({ "stack": "linux-6.1", "algorithm": "cubic" });
    json!({
        "version": 1,
        "seed": 1,
        "duration_ns": 1_000_000_000,
        "path": path,
        "flows": [{ "id": 0, "sender": end, "receiver": end }],
    })
}
