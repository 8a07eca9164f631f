//! `cargo +nightly fuzz run parse_light`: any bytes are packet trains or an error.
#![no_main]

use cwndlab_trace::LightTrace;
use cwndlab_units::Time;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    if let Ok(trace) = LightTrace::parse(text) {
        for index in 0..trace.trains() {
            let train = trace.train(index);
            assert!(train.delay >= trace.shortest_delay());
            assert!(!train.offsets_us.is_empty() && train.offsets_us.is_sorted());
        }
        for at in [0, 1, 999_999_999, u64::MAX / 2].map(Time::from_nanos) {
            trace.delay_at(trace.train_at(at), at);
        }
        assert!(!trace.to_string().contains('\n'));
    }
});
