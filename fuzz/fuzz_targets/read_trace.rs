//! `cargo +nightly fuzz run read_trace`: any bytes are a recorded link or an error.
#![no_main]

#[path = "../../crates/trace/tests/accepted/mod.rs"]
mod accepted;

use cwndlab_trace::{ReadOptions, RateTrace, Reading, TraceKind, read, read_folder};
use libfuzzer_sys::fuzz_target;

/// Checks that the content of the converted trace is a valid trace that is read as the same trace.
fn check(reading: &Reading) {
    accepted::check(&reading.trace);
    let again = match reading.kind() {
        TraceKind::Mahimahi => RateTrace::parse_mahimahi(&reading.content),
        TraceKind::Log => RateTrace::parse_log(&reading.content),
    };
    assert_eq!(again.as_ref(), Ok(&reading.trace));
    assert!(!reading.understood.to_string().contains('\n'));
}

fuzz_target!(|content: &[u8]| {
    let told = ReadOptions {
        column: Some("2".to_owned()),
        unit: Some("bytes".to_owned()),
        time_column: Some("1".to_owned()),
        time_unit: Some("ms".to_owned()),
    };
    for options in [ReadOptions::default(), told] {
        if let Ok(reading) = read(content, &options) {
            check(&reading);
        }
    }
    let files = ["down-pdo", "up-pdo", "down-delay-light-pdo"].map(|name| (name.to_owned(), content));
    if let Ok(path) = read_folder(&files) {
        check(&path.down.trace);
    }
});
