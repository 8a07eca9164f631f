//! Link adaptation: from late and coarse reports to a scheme, with an outer loop.

use cwndlab_units::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::coding::{Coding, Report};
use super::decibel::Decibel;
use super::sinr::Sinr;
use crate::Probability;

/// How the scheme follows the channel.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AdaptationConfig {
    /// By reports of the channel's quality.
    Reports {
        /// Time from one report to the next.
        #[serde(rename = "period_ns")]
        period: Duration,
        /// Time from the measurement to the first block that knows of it.
        #[serde(rename = "delay_ns")]
        delay: Duration,
        /// The outer loop; without it the scheme is what the report asks for.
        #[serde(default)]
        outer_loop: Option<OuterLoopConfig>,
    },
    /// Always the same scheme.
    Fixed {
        /// Its index; for HSDPA the channel quality less 1.
        scheme: u8,
    },
}

/// A margin that moves until blocks fail as often as they should.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OuterLoopConfig {
    /// How often a first transmission should fail.
    #[serde(rename = "target_ppb")]
    pub target: Probability,
    /// How much a failure takes off the margin.
    pub step_mdb: Decibel,
}

/// The margin stays within so many decibels.
const MOST_MARGIN: f64 = 10.0;

/// The scheme of one user in one direction.
#[derive(Clone, Debug)]
pub(crate) struct Adaptation {
    fixed: Option<u8>,
    period: Duration,
    delay: Duration,
    /// When the report in use is replaced.
    next_report: Time,
    /// A channel of its own to look at, as times must not go back.
    sinr: Sinr,
    /// The last one.
    report: Report,
    /// What follows from the report and the margin.
    scheme: Option<u8>,
    margin: f64,
    up: f64,
    down: f64,
}

impl Adaptation {
    /// `phase` is the first time, less than a period, at which the channel is measured.
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

    /// The scheme for a block sent at `at`; none if the user is out of range.
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

    /// Tells the outer loop of a first transmission.
    pub(crate) fn learn(&mut self, coding: &Coding, is_decoded: bool) {
        let margin = if is_decoded { self.margin + self.up } else { self.margin - self.down };
        self.margin = margin.clamp(-MOST_MARGIN, MOST_MARGIN);
        self.choose_scheme(coding);
    }
}
