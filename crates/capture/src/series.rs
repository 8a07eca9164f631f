//! The time series of one direction of a connection.

use crate::{AnalysisConfig, FlowSample};

/// Complete intervals of a time series, and the current interval.
#[derive(Debug)]
pub(crate) struct Series {
    /// Length of an interval; 0 means no time series.
    step_ns: u64,
    max_samples: usize,
    now: Interval,
    samples: Vec<FlowSample>,
}

#[derive(Debug, Default)]
struct Interval {
    end_ns: u64,
    delivered_bytes: u64,
    sent_bytes: u64,
    rtt_sum_us: f64,
    rtt_count: u64,
}

impl Series {
    pub(crate) fn new(begin_ns: u64, config: AnalysisConfig) -> Self {
        let step_ns = config.sample_interval_ns;
        let end_ns = begin_ns.saturating_add(step_ns);
        let now = Interval { end_ns, ..Interval::default() };
        Self { step_ns, max_samples: config.max_samples, now, samples: Vec::new() }
    }

    pub(crate) fn handle_sent(&mut self, payload_bytes: u32) {
        self.now.sent_bytes += u64::from(payload_bytes);
    }

    pub(crate) fn handle_delivered(&mut self, bytes: u64) {
        self.now.delivered_bytes += bytes;
    }

    pub(crate) fn handle_rtt(&mut self, rtt_us: u32) {
        self.now.rtt_sum_us += f64::from(rtt_us);
        self.now.rtt_count += 1;
    }

    /// Ends the intervals that are over at `at_ns`.
    pub(crate) fn advance(&mut self, at_ns: u64, srtt_us: Option<f64>, inflight_bytes: u64) {
        if self.step_ns == 0 {
            return;
        }
        while self.now.end_ns <= at_ns && self.samples.len() < self.max_samples {
            let end_ns = self.now.end_ns.saturating_add(self.step_ns);
            let over = std::mem::replace(&mut self.now, Interval { end_ns, ..Interval::default() });
            self.samples.push(FlowSample {
                at_ns: over.end_ns,
                delivered_bytes: over.delivered_bytes,
                sent_bytes: over.sent_bytes,
                rtt_us: (over.rtt_count > 0).then(|| over.rtt_sum_us / over.rtt_count as f64),
                srtt_us,
                inflight_bytes,
            });
        }
    }

    /// Returns the intervals up to the one in which the flow ended.
    pub(crate) fn into_samples(self, end_ns: u64) -> Vec<FlowSample> {
        let mut samples = self.samples;
        samples.retain(|sample| sample.at_ns < end_ns.saturating_add(self.step_ns));
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_counts_for_the_interval_in_which_it_does() {
        let config = AnalysisConfig { sample_interval_ns: 10, ..AnalysisConfig::default() };
        let mut series = Series::new(100, config);
        series.handle_sent(7);
        series.handle_rtt(3);
        series.handle_rtt(4);
        series.advance(125, Some(1.0), 9);
        series.handle_delivered(5);
        series.advance(140, None, 0);
        let samples = series.into_samples(125);
        let counted: Vec<_> = samples
            .iter()
            .map(|sample| (sample.at_ns, sample.sent_bytes, sample.delivered_bytes, sample.rtt_us))
            .collect();
        assert_eq!(counted, [(110, 7, 0, Some(3.5)), (120, 0, 0, None), (130, 0, 5, None)]);
        assert_eq!((samples[0].srtt_us, samples[0].inflight_bytes), (Some(1.0), 9));
    }
}
