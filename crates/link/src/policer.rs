//! A policer: packets that exceed a rate by more than a burst are dropped, not queued.
//!
//! The policer is a single token bucket, as network operators and content networks use it (only
//! the committed bucket of RFC 2697; Flach and others, "An Internet-Wide Analysis of Traffic
//! Policing", SIGCOMM 2016).

use cwndlab_units::Time;

use crate::config::PoliceConfig;

#[derive(Clone, Debug)]
pub(crate) struct Policer {
    bits_per_sec: u64,
    /// Tokens in billionths of a bit: in a nanosecond, as many arrive as the rate has bits per
    /// second.
    tokens: u128,
    most: u128,
    /// Time at which the tokens were last counted.
    counted_at: Time,
}

const NANOBITS_PER_BYTE: u128 = 8_000_000_000;

impl Policer {
    /// Creates a policer whose token bucket is full.
    pub(crate) fn new(config: &PoliceConfig) -> Self {
        let most = u128::from(config.burst.0) * NANOBITS_PER_BYTE;
        let bits_per_sec = config.rate.bits_per_sec();
        Self { bits_per_sec, tokens: most, most, counted_at: Time::ZERO }
    }

    /// Removes the tokens for a packet that arrives now, and returns whether there were enough.
    pub(crate) fn passes(&mut self, now: Time, bytes: u32) -> bool {
        let elapsed = now.saturating_since(self.counted_at).as_nanos();
        let earned = u128::from(elapsed) * u128::from(self.bits_per_sec);
        self.tokens = self.most.min(self.tokens + earned);
        self.counted_at = now;
        let needed = u128::from(bytes) * NANOBITS_PER_BYTE;
        let passes = needed <= self.tokens;
        if passes {
            self.tokens -= needed;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::{Bytes, Rate};
    use proptest::prelude::*;

    use super::*;

    fn policer(mbit_s: u64, burst: u64) -> Policer {
        let rate = Rate::from_mbit_per_sec(mbit_s);
        Policer::new(&PoliceConfig { rate, burst: Bytes(burst) })
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        // 12 Mbit/s: a packet of 1500 bytes per millisecond.
        let mut policer = policer(12, 15_000);
        let at_once = (0..20).filter(|_| policer.passes(Time::ZERO, 1_500)).count();
        assert_eq!(at_once, 10);
        let later = (1..=1_000).filter(|&us| policer.passes(Time::from_micros(us * 100), 1_500));
        assert_eq!(later.count(), 100);
    }

    proptest! {
        #[test]
        fn no_more_passes_than_burst_and_rate_allow(
            gaps_us in prop::collection::vec(0_u64..3_000, 1..300),
            burst in 1_500_u64..50_000,
        ) {
            let mut policer = policer(8, burst);
            let (mut now, mut passed) = (Time::ZERO, 0);
            for gap in gaps_us {
                now = Time::from_nanos(now.as_nanos() + gap * 1_000);
                passed += u64::from(policer.passes(now, 1_500)) * 1_500;
                // One byte per microsecond.
                prop_assert!(passed <= burst + now.as_micros());
            }
        }
    }
}
