//! Link adaptation: selects a modulation and coding scheme from delayed and coarse channel
//! reports, with an outer loop.

use cwndlab_units::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::coding::{Coding, Report};
use super::decibel::Decibel;
use super::sinr::Sinr;
use crate::Probability;

/// How the modulation and coding scheme follows the quality of the channel.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AdaptationConfig {
    /// The scheme follows the channel quality reports.
    Reports {
        /// Interval between reports.
        #[serde(rename = "period_ns")]
        period: Duration,
        /// Time from the measurement of a report to the first block that uses it.
        #[serde(rename = "delay_ns")]
        delay: Duration,
        /// The outer loop; if absent, the scheme follows only the report.
        #[serde(default)]
        outer_loop: Option<OuterLoopConfig>,
    },
    /// The scheme is always the same.
    Fixed {
        /// Index of the scheme; for HSDPA, the channel quality indicator minus 1.
        scheme: u8,
    },
}

/// An outer loop: adjusts a margin so that the first transmissions of blocks fail at a target
/// rate.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OuterLoopConfig {
    /// Target probability that a first transmission fails.
    #[serde(rename = "target_ppb")]
    pub target: Probability,
    /// Amount by which the margin is reduced after a failure.
    pub step_mdb: Decibel,
}

/// Maximum absolute value of the margin, in decibels.
const MOST_MARGIN: f64 = 10.0;

/// The modulation and coding scheme of one user in one direction.
#[derive(Clone, Debug)]
pub(crate) struct Adaptation {
    fixed: Option<u8>,
    period: Duration,
    delay: Duration,
    /// Time at which the next report takes effect.
    next_report: Time,
    /// The channel as seen by reports; separate, because the times of queries must not decrease.
    sinr: Sinr,
    /// The last report.
    report: Report,
    /// The scheme for the present report and margin.
    scheme: Option<u8>,
    margin: f64,
    up: f64,
    down: f64,
}

impl Adaptation {
    /// `phase` is the time of the first measurement, which is less than a period.
    pub(crate) fn new(
        config: &AdaptationConfig,
        coding: &Coding,
        mut sinr: Sinr,
        phase: Duration,
    ) -> Self {
        let (fixed, period, delay, outer_loop) = match *config {
            AdaptationConfig::Reports { period, delay, outer_loop } => {
                (None, period, delay, outer_loop)
            }
            AdaptationConfig::Fixed { scheme } => {
                (Some(scheme), Duration::MAX, Duration::ZERO, None)
            }
        };
        let (up, down) = outer_loop.map_or((0.0, 0.0), |outer| {
            let (down, target) = (outer.step_mdb.as_f64(), outer.target.as_f64());
            (down * target / (1.0 - target), down)
        });
        let report = coding.report(sinr.decibels_at(Time::ZERO));
        let next_report = if fixed.is_some() { Time::NEVER } else { Time::ZERO + phase + delay };
        let (scheme, margin) = (None, 0.0);
        let mut adaptation =
            Self { fixed, period, delay, next_report, sinr, report, scheme, margin, up, down };
        adaptation.choose_scheme(coding);
        adaptation
    }

    /// The scheme for a block sent at `at`; `None` if the user is out of range.
    #[inline]
    pub(crate) fn scheme(&mut self, coding: &Coding, at: Time) -> Option<u8> {
        if at >= self.next_report {
            self.take_report(coding, at);
        }
        self.scheme
    }

    fn choose_scheme(&mut self, coding: &Coding) {
        let best = |reported| coding.scheme(reported, self.margin);
        self.scheme = self.fixed.or_else(|| self.report.value.map(best));
    }

    fn take_report(&mut self, coding: &Coding, at: Time) {
        let since = (at - self.next_report).as_nanos();
        let latest =
            self.next_report + Duration::from_nanos(since - since % self.period.as_nanos());
        self.next_report = latest + self.period;
        let report = self.sinr.report_at(latest - self.delay, self.report, coding);
        if report != self.report {
            self.report = report;
            self.choose_scheme(coding);
        }
    }

    /// Reports the outcome of a first transmission to the outer loop.
    pub(crate) fn learn(&mut self, coding: &Coding, is_decoded: bool) {
        let margin = if is_decoded { self.margin + self.up } else { self.margin - self.down };
        self.margin = margin.clamp(-MOST_MARGIN, MOST_MARGIN);
        self.choose_scheme(coding);
    }
}
