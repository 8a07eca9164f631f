//! The signal to interference and noise ratio (SINR) over time.

use cwndlab_units::Time;

use super::coding::{Coding, Report};
use super::decibel::{Decibel, ratio};
use super::drift::{Drift, DriftConfig};
use super::fading::{Fading, FadingConfig};

/// The SINR of one user in one direction.
#[derive(Clone, Debug)]
pub(crate) struct Sinr {
    mean: f64,
    drifts: Vec<Drift>,
    fading: Option<Fading>,
}

impl Sinr {
    /// `user`, such as `cell.1`, is in the names of random streams that both directions share;
    /// `direction` is in the names of those for one direction.
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

    /// Adds a transmission to the energy `before` of earlier transmissions; returns `None` if the
    /// result is enough to decode the block. `is_enough` gets that energy and the SINR in
    /// decibels, and must be monotonic in both. Times must not decrease.
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
        // Usually the energy is clearly not enough, and its exact value is often never needed.
        if most.is_finite() && !is_enough(most_before, most) {
            return Some(Energy { sum, last: Some(level) });
        }
        let decibels = self.exact(level);
        (!is_enough(sum, decibels)).then(|| Energy { sum: sum + ratio(decibels), last: None })
    }

    /// The channel report for the SINR at `at`. First checks whether the last report is still
    /// valid. Times must not decrease.
    pub(crate) fn report_at(&mut self, at: Time, last: Report, coding: &Coding) -> Report {
        let [least, most] = self.bounds_at(at);
        if last.holds(least) && last.holds(most) {
            return last;
        }
        let report = coding.report(least);
        if report.holds(most) { report } else { coding.report(self.decibels_at(at)) }
    }

    /// The SINR at a time, as exactly as is possible without much computation.
    fn level_at(&mut self, at: Time) -> Level {
        let steady = self.steady_at(at);
        let bounds = self.fading.as_mut().map_or([0.0, 0.0], |fading| fading.bounds_at(at));
        Level {
            at,
            steady,
            decibels: [steady + bounds[0] - ROUNDING, steady + bounds[1] + ROUNDING],
        }
    }

    /// Lower and upper bound of the SINR in decibels.
    fn bounds_at(&mut self, at: Time) -> [f64; 2] {
        self.level_at(at).decibels
    }

    /// The exact SINR of this level in decibels.
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

    /// The SINR in decibels at `at`; times must not decrease.
    pub(crate) fn decibels_at(&mut self, at: Time) -> f64 {
        let steady = self.steady_at(at);
        self.exact(Level { at, steady, decibels: [0.0; 2] })
    }
}

/// An SINR at a time: its slow part, and bounds of the total SINR.
#[derive(Clone, Copy, Debug)]
struct Level {
    at: Time,
    steady: f64,
    decibels: [f64; 2],
}

/// Sum of the SINRs of a block's transmissions; for the last transmission, possibly only bounds
/// are known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Energy {
    sum: f64,
    last: Option<Level>,
}

impl Energy {
    /// Lower and upper bound of the sum.
    fn bounds(&self) -> [f64; 2] {
        let last = |level: Level| level.decibels.map(|decibels| self.sum + ratio(decibels));
        self.last.map_or([self.sum; 2], last)
    }
}

/// Upper bound on rounding errors in decibels, with a large margin.
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
            // From never enough to almost always enough.
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
