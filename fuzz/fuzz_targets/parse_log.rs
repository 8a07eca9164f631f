//! `cargo +nightly fuzz run parse_log`: any bytes give a valid log or an error.
#![no_main]

use cwndlab_trace::RateTrace;
use cwndlab_units::{Duration, Rate, Time};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    if let Ok(RateTrace::Log(log)) = RateTrace::parse_log(text) {
        assert!(log.period() > Duration::ZERO);
        let (mut now, end) = (Time::ZERO, Time::ZERO + log.period());
        let mut has_rate = false;
        while now < end {
            let (rate, until) = log.rate_at(now);
            assert!(until > now);
            has_rate |= rate > Rate::ZERO;
            now = until;
        }
        assert!(has_rate);
        assert_eq!(now, end);
    }
});
