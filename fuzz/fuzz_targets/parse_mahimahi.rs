//! `cargo +nightly fuzz run parse_mahimahi`: any bytes give a valid trace or an error.
#![no_main]

use cwndlab_trace::RateTrace;
use cwndlab_units::Time;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    if let Ok(RateTrace::Mahimahi(trace)) = RateTrace::parse_mahimahi(text) {
        let stamps = trace.stamps_ms();
        assert!(stamps.is_sorted());
        assert!(stamps[stamps.len() - 1] > 0);
        let lap = Time::ZERO + trace.period();
        assert!(trace.opportunities_until(lap) >= stamps.len() as u64);
    }
});
