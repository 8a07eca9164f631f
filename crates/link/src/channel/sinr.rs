//! The ratio of signal to noise and interference over time.

use cwndlab_units::Time;

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
        way: &str,
    ) -> Self {
        let drift =
            |(number, config)| Drift::new(config, run_seed, &format!("{user}.drift.{number}"));
        Self {
            mean: mean.as_f64(),
            drifts: drifts.iter().enumerate().map(drift).collect(),
            fading: fading
                .map(|config| Fading::new(config, run_seed, &format!("{user}.{way}.fading"))),
        }
    }

    /// Decibels at a time not before the last one asked for.
    pub(crate) fn decibels_at(&mut self, at: Time) -> f64 {
        let drift: f64 = self.drifts.iter_mut().map(|drift| drift.decibels_at(at)).sum();
        let fading = self.fading.as_ref().map_or(0.0, |fading| fading.decibels_at(at));
        self.mean + drift + fading
    }
}
