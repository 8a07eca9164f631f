//! `cargo +nightly fuzz run parse_log`: any bytes give a valid log or an error.
#![no_main]

#[path = "../../crates/trace/tests/accepted/mod.rs"]
mod accepted;

use cwndlab_trace::RateTrace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    if let Ok(trace) = RateTrace::parse_log(text) {
        accepted::check(&trace);
    }
});
