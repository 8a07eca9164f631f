//! Properties of every trace that a parser accepts, for the tests and the fuzz targets.

use cwndlab_trace::RateTrace;
use cwndlab_units::{Rate, Time};

/// Checks an accepted trace of any origin.
///
/// # Panics
/// If a link cannot follow the trace.
pub(crate) fn check(trace: &RateTrace) {
    match trace {
        RateTrace::Mahimahi(trace) => {
            let stamps = trace.stamps_ms();
            assert!(stamps.is_sorted());
            assert!(stamps[stamps.len() - 1] > 0);
            assert_eq!(trace.opportunities(), stamps.len());
            let lap = Time::ZERO + trace.period();
            let at_zero = stamps.partition_point(|&stamp| stamp == 0);
            assert_eq!(trace.opportunities_until(lap), (stamps.len() + at_zero) as u64);
        }
        RateTrace::Log(log) => {
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
    }
}
