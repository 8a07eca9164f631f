//! The ratio of signal to noise and interference over time.

use cwndlab_units::Time;

use super::coding::{Coding, Report};
use super::decibel::{Decibel, ratio};
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

    /// Adds a transmission at a time not before the last one asked for to the energy of those before
    /// it, unless that is enough. `is_enough` takes that energy and the ratio in decibels, and holds
    /// for all that is above what it holds for.
    pub(crate) fn receive(
        &mut self,
        at: Time,
        before: Energy,
        is_enough: impl Fn(f64, f64) -> bool,
    ) -> Option<Energy> {
        let level = self.level_at(at);
        let [least, most] = level.decibels;
        let [least_before, most_before] = before.bounds();
        if is_enough(least_before, least) {
            return None;
        }
        let sum = self.exact_sum(before);
        // Mostly it is not by far, and of what arrives in the end nobody asks exactly.
        if most.is_finite() && !is_enough(most_before, most) {
            return Some(Energy { sum, last: Some(level) });
        }
        let decibels = self.exact(level);
        (!is_enough(sum, decibels)).then(|| Energy { sum: sum + ratio(decibels), last: None })
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

    /// The ratio at a time, as far as it is known without much work.
    fn level_at(&mut self, at: Time) -> Level {
        let steady = self.steady_at(at);
        let bounds = self.fading.as_mut().map_or([0.0, 0.0], |fading| fading.bounds_at(at));
        Level {
            at,
            steady,
            decibels: [steady + bounds[0] - ROUNDING, steady + bounds[1] + ROUNDING],
        }
    }

    /// Two values between which the ratio is for certain.
    fn bounds_at(&mut self, at: Time) -> [f64; 2] {
        self.level_at(at).decibels
    }

    /// The same ratio in decibels.
    fn exact(&self, Level { at, steady, .. }: Level) -> f64 {
        steady + self.fading.as_ref().map_or(0.0, |fading| fading.decibels_at(at))
    }

    fn exact_sum(&self, Energy { sum, last }: Energy) -> f64 {
        last.map_or(sum, |level| sum + ratio(self.exact(level)))
    }

    fn steady_at(&mut self, at: Time) -> f64 {
        let drift: f64 = self.drifts.iter_mut().map(|drift| drift.decibels_at(at)).sum();
        self.mean + drift
    }

    /// Decibels at a time not before the last one asked for.
    pub(crate) fn decibels_at(&mut self, at: Time) -> f64 {
        let steady = self.steady_at(at);
        self.exact(Level { at, steady, decibels: [0.0; 2] })
    }
}

/// A ratio at a time: what changes slowly, and two values between which all of it is for certain.
#[derive(Clone, Copy, Debug)]
struct Level {
    at: Time,
    steady: f64,
    decibels: [f64; 2],
}

/// The ratios of a block's transmissions, added up; of the last one only the bounds may be known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Energy {
    sum: f64,
    last: Option<Level>,
}

impl Energy {
    /// Two values between which it is for certain.
    fn bounds(&self) -> [f64; 2] {
        let last = |level: Level| level.decibels.map(|decibels| self.sum + ratio(decibels));
        self.last.map_or([self.sum; 2], last)
    }
}

/// Decibels that rounding can come to, and far more.
const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_added_up_as_if_every_ratio_were_known() {
        let fading = FadingConfig { doppler_mhz: 50_000, branches: 2, rice_mdb: None };
        let new = || Sinr::new(Decibel::from_whole(3), &[], Some(&fading), 5, "user", "down");
        let (mut sinr, mut exact) = (new(), new());
        let (mut energy, mut sum) = (Energy::default(), 0.0);
        let mut failures = 0;
        for step in 0..4_000 {
            let at = Time::from_micros(500 * step);
            // From never enough to nearly always.
            let needed = f64::from(step as u32 % 97) / 8.0 + 0.1;
            let is_enough = |before: f64, decibels: f64| before + ratio(decibels) >= needed;
            let decibels = exact.decibels_at(at);
            let received = sinr.receive(at, energy, is_enough);
            assert_eq!(received.is_none(), is_enough(sum, decibels), "step {step}");
            sum = if received.is_none() { 0.0 } else { sum + ratio(decibels) };
            energy = received.unwrap_or_default();
            failures += u32::from(received.is_some());
            assert_eq!(sinr.exact_sum(energy), sum, "step {step}");
        }
        assert!((500..3_500).contains(&failures), "{failures}");
    }
}
