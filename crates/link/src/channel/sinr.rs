//! The ratio of signal to noise and interference over time.

use cwndlab_units::Time;

use super::coding::{Coding, Report};
use super::decibel::Decibel;
use super::drift::{Drift, DriftConfig};
use super::fading::{Fading, FadingConfig};

/// The ratio of one user in one direction.
#[derive(Clone, Debug)]
pub(crate) struct Sinr {
    mean: f64,
    drifts: Vec<Drift>,
    fading: Option<Fading>,
}

impl Sinr {
    /// `user` names what both directions share, such as `cell.1`, and `way` the direction.
    pub(crate) fn new(
        mean: Decibel,
        drifts: &[DriftConfig],
        fading: Option<&FadingConfig>,
        run_seed: u64,
        user: &str,
        direction: &str,
    ) -> Self {
        let drift =
            |(number, config)| Drift::new(config, run_seed, &format!("{user}.drift.{number}"));
        Self {
            mean: mean.as_f64(),
            drifts: drifts.iter().enumerate().map(drift).collect(),
            fading: fading
                .map(|config| Fading::new(config, run_seed, &format!("{user}.{direction}.fading"))),
        }
    }

    /// The ratio at a time not before the last one asked for, unless it is enough; `is_enough`
    /// holds for every ratio above one for which it holds.
    pub(crate) fn unless(&mut self, at: Time, is_enough: impl Fn(f64) -> bool) -> Option<f64> {
        let [least, _] = self.bounds_at(at);
        if is_enough(least) {
            return None;
        }
        let exact = self.decibels_at(at);
        (!is_enough(exact)).then_some(exact)
    }

    /// The report of the ratio at a time not before the last one asked for; the last report, if it
    /// holds still, is found without a look at the others.
    pub(crate) fn report_at(&mut self, at: Time, last: Report, coding: &Coding) -> Report {
        let [least, most] = self.bounds_at(at);
        if last.holds(least) && last.holds(most) {
            return last;
        }
        let report = coding.report(least);
        if report.holds(most) { report } else { coding.report(self.decibels_at(at)) }
    }

    /// Two values between which the ratio is for certain.
    fn bounds_at(&mut self, at: Time) -> [f64; 2] {
        let steady = self.steady_at(at);
        let bounds = self.fading.as_mut().map_or([0.0, 0.0], |fading| fading.bounds_at(at));
        [steady + bounds[0] - ROUNDING, steady + bounds[1] + ROUNDING]
    }

    fn steady_at(&mut self, at: Time) -> f64 {
        let drift: f64 = self.drifts.iter_mut().map(|drift| drift.decibels_at(at)).sum();
        self.mean + drift
    }

    /// Decibels at a time not before the last one asked for.
    pub(crate) fn decibels_at(&mut self, at: Time) -> f64 {
        let fading = self.fading.as_ref().map_or(0.0, |fading| fading.decibels_at(at));
        self.steady_at(at) + fading
    }
}

/// Decibels that rounding can come to, and far more.
const ROUNDING: f64 = 1e-9;
