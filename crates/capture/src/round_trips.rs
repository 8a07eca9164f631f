//! Round-trip times of one direction of a connection: minimum, smoothed, and all samples of the
//! measurement window.

/// Samples of the round-trip time and the values derived from them.
#[derive(Debug, Default)]
pub(crate) struct RoundTrips {
    base_us: Option<u32>,
    srtt_us: Option<f64>,
    in_window_us: Vec<u32>,
}

impl RoundTrips {
    /// Records the handshake's round-trip time, which is not a sample of a data segment.
    pub(crate) fn handle_handshake(&mut self, rtt_us: u32) {
        self.lower_base(rtt_us);
        self.srtt_us.get_or_insert(f64::from(rtt_us));
    }

    pub(crate) fn handle_sample(&mut self, rtt_us: u32, is_in_window: bool) {
        self.lower_base(rtt_us);
        let sample_us = f64::from(rtt_us);
        // RFC 6298 section 2.3, alpha 1/8.
        self.srtt_us = Some(self.srtt_us.map_or(sample_us, |srtt| srtt + (sample_us - srtt) / 8.0));
        if is_in_window {
            self.in_window_us.push(rtt_us);
        }
    }

    fn lower_base(&mut self, rtt_us: u32) {
        self.base_us = Some(self.base_us.map_or(rtt_us, |base| base.min(rtt_us)));
    }

    /// Discards the samples, because the measurement window begins again.
    pub(crate) fn forget_samples(&mut self) {
        self.in_window_us.clear();
    }

    /// The minimum round-trip time over the lifetime of the connection.
    pub(crate) fn base_us(&self) -> Option<u32> {
        self.base_us
    }

    /// The smoothed round-trip time (RFC 6298 section 2).
    pub(crate) fn srtt_us(&self) -> Option<f64> {
        self.srtt_us
    }

    /// The smoothed round-trip time in whole nanoseconds; 0 before the first sample.
    pub(crate) fn srtt_ns(&self) -> u64 {
        (self.srtt_us.unwrap_or(0.0) * 1e3) as u64
    }

    /// Estimate of the one-way delay: half of the minimum round-trip time.
    pub(crate) fn one_way_ns(&self) -> u64 {
        self.base_us.map_or(0, |us| u64::from(us) * 500)
    }

    /// The samples of the measurement window, sorted.
    pub(crate) fn into_sorted_us(mut self) -> Vec<u32> {
        self.in_window_us.sort_unstable();
        self.in_window_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_smoothed_and_those_of_the_window_kept() {
        let mut round_trips = RoundTrips::default();
        assert_eq!((round_trips.one_way_ns(), round_trips.srtt_ns()), (0, 0));
        round_trips.handle_handshake(16_000);
        round_trips.handle_sample(24_000, false);
        assert_eq!((round_trips.srtt_us(), round_trips.base_us()), (Some(17_000.0), Some(16_000)));
        for rtt_us in [30_000, 20_000] {
            round_trips.handle_sample(rtt_us, true);
        }
        assert_eq!(round_trips.one_way_ns(), 8_000_000);
        assert_eq!(round_trips.into_sorted_us(), [20_000, 30_000]);
    }
}
