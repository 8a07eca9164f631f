//! Fast fading of a moving receiver among scattered waves.
//!
//! The channel is a sum of waves from evenly distributed directions (Clarke 1968), with the
//! spectrum of Jakes 1974 and the autocorrelation `J0(2 pi f_d t)`. It is a function of time, so
//! intervals without traffic cost nothing and the channel does not depend on when it is queried.
//! Several branches of equal mean power represent a wide band and multiple antennas, both of which
//! reduce fading. A wave of constant amplitude in addition to the scattered waves makes the fading
//! Rician. Fading is flat: the same in the whole band.

use core::f64::consts::{LN_10, SQRT_2, TAU};

use cwndlab_units::{Duration, Stream, Time};
use serde::{Deserialize, Serialize};

use super::decibel::{BELOW, Decibel, decibels, decibels_below, ratio};
use super::series::{PowerSeries, REACH, Series, Stretch, ninth_power};

/// How a user's channel fades.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FadingConfig {
    /// Maximum Doppler shift (speed times frequency, divided by the speed of light) in thousandths
    /// of a hertz: 5800 for 3 km/h at 2.1 GHz.
    pub doppler_mhz: u32,
    /// Number of independent branches whose powers are averaged: receive antennas times frequency
    /// diversity.
    pub branches: u8,
    /// Power of the direct wave relative to the scattered waves; absent if there is no direct
    /// wave.
    #[serde(default)]
    pub rice_mdb: Option<Decibel>,
}

impl FadingConfig {
    /// Maximum number of branches.
    pub const MOST_BRANCHES: u8 = 16;
}

/// Number of waves in one branch. The autocorrelation of the amplitude differs from `J0` by
/// `J_WAVES`, which is negligible for many coherence times; that of the power differs from `J0^2`
/// by 1 in `WAVES - 1`. The number is odd, because two waves from opposite sides would form a
/// standing wave, whose mean over time differs from the mean over all channels.
const WAVES: usize = 25;

/// A fading channel with a mean power of 1.
#[derive(Clone, Debug)]
pub(crate) struct Fading {
    branches: Vec<Branch>,
    /// Amplitude of the direct wave.
    steady: f64,
    /// Amplitude of each scattered wave of a branch.
    scattered: f64,
    /// Angular frequency of the wave with the largest Doppler shift, in radians per nanosecond.
    fastest: f64,
    /// Half of the length of a stretch of time in which a Taylor series approximates the waves.
    half: Duration,
    stretch: Option<Stretch>,
    /// Power of all branches in the present stretch of time.
    power: PowerSeries,
    /// Maximum remainder of the branches' Taylor series.
    remainder: f64,
    /// Time of the last query of bounds.
    asked_at: Time,
}

#[derive(Clone, Debug)]
struct Branch {
    /// Phases of the waves in units of 2^-64 turns.
    phases: [i64; WAVES],
    /// Frequencies of the waves in units of 2^-64 turns per nanosecond.
    shifts: [i64; WAVES],
}

impl Fading {
    pub(crate) fn new(config: &FadingConfig, run_seed: u64, component: &str) -> Self {
        let mut random = Stream::new(run_seed, component);
        let doppler_hz = f64::from(config.doppler_mhz) / 1000.0;
        let branches: Vec<Branch> =
            (0..config.branches).map(|_| Branch::new(doppler_hz, &mut random)).collect();
        let shifts = branches.iter().flat_map(|branch| &branch.shifts);
        let most = shifts.map(|shift| shift.unsigned_abs()).max().unwrap_or(0).max(1);
        let fastest = most as f64 * (TAU / TURN);
        let half = Duration::from_nanos((REACH / fastest) as u64).min(LONGEST_HALF);
        let rice = config.rice_mdb.map_or(0.0, |rice| ratio(rice.as_f64()));
        Self {
            branches,
            steady: libm::sqrt(rice / (rice + 1.0)),
            scattered: libm::sqrt(1.0 / ((rice + 1.0) * WAVES as f64)),
            fastest,
            half,
            stretch: None,
            power: PowerSeries::default(),
            remainder: 0.0,
            asked_at: Time::ZERO,
        }
    }

    /// Certain bounds of [`Fading::decibels_at`], which are tight and cheap if queried often.
    /// Times must not decrease.
    pub(crate) fn bounds_at(&mut self, at: Time) -> [f64; 2] {
        let since = at.saturating_since(self.asked_at);
        self.asked_at = at;
        let place = self.stretch.and_then(|stretch| stretch.place(at));
        let Some(x) = place.or_else(|| (since < self.half / 2).then(|| self.begin_stretch(at)))
        else {
            let exact = self.decibels_at(at);
            return [exact, exact];
        };
        let power = self.power.at(x);
        // If both parts of an amplitude `a` have errors of up to `e`, the error of the power is up
        // to `2 sqrt(2) e a + 2 e^2`, and the amplitudes of `n` branches with a total power `p` add
        // up to at most `sqrt(n p)`.
        let error = self.scattered * (self.remainder * ninth_power(x.abs()) + SINE_ERRORS);
        let branches = self.branches.len() as f64;
        let amplitudes = libm::sqrt(branches * power);
        let wrong = 2.0 * error * (SQRT_2 * amplitudes + branches * error);
        let least = power - wrong;
        let low = decibels_below(least / branches);
        // The logarithm is below its tangent.
        let spread = BELOW + 10.0 / LN_10 * (2.0 * wrong / least);
        [low, if least > 0.0 && spread < 1.0 { low + spread } else { f64::INFINITY }]
    }

    /// Computes the Taylor series of a stretch of time that begins at `from`; returns the position
    /// of `from` in it.
    fn begin_stretch(&mut self, from: Time) -> f64 {
        let stretch = Stretch::new(from, self.fastest, self.half);
        let turns = self.fastest * (TURN / TAU);
        (self.power, self.remainder) = (PowerSeries::default(), 0.0);
        for branch in &self.branches {
            let waves = branch.waves(stretch.middle()).zip(&branch.shifts);
            let series = Series::new(waves.map(|(wave, &shift)| (wave, shift as f64 / turns)));
            self.power.add(&series, self.steady, self.scattered);
            self.remainder = self.remainder.max(series.remainder());
        }
        self.stretch = Some(stretch);
        stretch.place(from).expect("a stretch of time contains its beginning")
    }

    /// Power at a time, in decibels relative to the mean power.
    pub(crate) fn decibels_at(&self, at: Time) -> f64 {
        let sum: f64 = self.branches.iter().map(|branch| self.power(branch, at)).sum();
        decibels(sum / self.branches.len() as f64)
    }

    fn power(&self, branch: &Branch, at: Time) -> f64 {
        let (real, imaginary) = branch.amplitude(at);
        let real = self.steady + self.scattered * real;
        let imaginary = self.scattered * imaginary;
        real * real + imaginary * imaginary
    }
}

impl Branch {
    fn new(doppler_hz: f64, random: &mut Stream) -> Self {
        // About a quarter of the angle between two waves, where the shifts of waves from left and
        // right differ most; varied between branches.
        let first = 0.15 + 0.2 * random.unit();
        let turns_per_nano = doppler_hz * 1e-9 * TURN;
        Self {
            phases: core::array::from_fn(|_| random.next_u64() as i64),
            shifts: core::array::from_fn(|wave| {
                let angle = TAU * (wave as f64 + first) / WAVES as f64;
                (turns_per_nano * libm::cos(angle)) as i64
            }),
        }
    }

    fn amplitude(&self, at: Time) -> (f64, f64) {
        let sum = |(real, imaginary), [cosine, sine]: [f64; 2]| (real + cosine, imaginary + sine);
        self.waves(at).fold((0.0, 0.0), sum)
    }

    /// Real and imaginary parts of the waves.
    fn waves(&self, at: Time) -> impl Iterator<Item = [f64; 2]> {
        let nanos = at.as_nanos() as i64;
        self.phases.iter().zip(&self.shifts).map(move |(&phase, &shift)| {
            let phase = phase.wrapping_add(shift.wrapping_mul(nanos));
            let phase = (phase >> 32) as i32;
            [sine(phase.wrapping_add(QUARTER_TURN)), sine(phase)]
        })
    }
}

/// Upper bound on the errors of [`sine`] and of rounding in each part of a sum of waves and its
/// series, with a margin: 4e-6 for each wave, and as much for each power in the series, in total
/// up to `e^REACH`.
const SINE_ERRORS: f64 = WAVES as f64 * 5e-6 * 9.0;

/// Maximum time for which a Taylor series is used, however slowly the channel changes.
const LONGEST_HALF: Duration = Duration::from_secs(1);

/// A full turn in units of 2^-64 turns.
const TURN: f64 = 18_446_744_073_709_551_616.0;
/// A quarter of a turn in units of 2^-32 turns.
const QUARTER_TURN: i32 = 1 << 30;

/// Sine of a phase in units of 2^-32 turns: the Taylor polynomial up to the ninth power, accurate
/// to 4e-6. The sine of a library would take as long as all other work for an interval.
#[inline]
fn sine(phase: i32) -> f64 {
    // The second and third quarters are mirrored to the first and fourth.
    let folded =
        if phase.wrapping_add(QUARTER_TURN) < 0 { i32::MIN.wrapping_sub(phase) } else { phase };
    let x = f64::from(folded) * (TAU / 4_294_967_296.0);
    let s = x * x;
    let series = 1.0 / 120.0 + s * (-1.0 / 5_040.0 + s * (1.0 / 362_880.0));
    x * (1.0 + s * (-1.0 / 6.0 + s * series))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rayleigh(seed: u64, doppler_mhz: u32, branches: u8) -> Fading {
        Fading::new(&FadingConfig { doppler_mhz, branches, rice_mdb: None }, seed, "fading")
    }

    /// Times at intervals of `step_us`.
    fn times(n: u64, step_us: u64) -> impl Iterator<Item = Time> {
        (0..n).map(move |i| Time::from_micros(i * step_us))
    }

    #[test]
    fn sine_is_that_of_the_library() {
        for i in 0..1000_i64 {
            let turns = (i as f64 + 0.37) / 1000.0 - 0.5;
            let exact = libm::sin(TAU * turns);
            let ours = sine((turns * 4_294_967_296.0) as i32);
            assert!((ours - exact).abs() < 4e-6, "{turns}: {ours} {exact}");
        }
    }

    #[test]
    fn bounds_hold_and_are_close() {
        for (doppler_mhz, branches, rice) in [(7_000, 2, None), (300_000, 1, Some(3)), (0, 4, None)]
        {
            let rice_mdb = rice.map(Decibel::from_whole);
            let config = FadingConfig { doppler_mhz, branches, rice_mdb };
            let mut fading = Fading::new(&config, 3, "fading");
            let (mut widths, mut n) = (0.0, 0.0);
            // Steps of up to a stretch's length, and some longer ones.
            for (step, at) in times(20_000, 97).chain(times(2_000, 7_301)).enumerate() {
                let at = Time::from_secs(if step < 20_000 { 0 } else { 2 }) + (at - Time::ZERO);
                let [least, most] = fading.bounds_at(at);
                let exact = fading.decibels_at(at);
                assert!(least <= exact && exact <= most, "{at:?}: {least} {exact} {most}");
                widths += (most - least).min(30.0);
                n += 1.0;
            }
            assert!(widths / n < 0.05, "{doppler_mhz} mHz: {} dB", widths / n);
        }
    }

    #[test]
    fn autocorrelation_is_that_of_clarke() {
        // 10 Hz: coherence time 42 ms; within 0.05 until then, as WIRELESS.md section 10.8
        // requires.
        let n = 400_000;
        let mut worst = 0.0_f64;
        for lag in 0..42 {
            let mut sum = 0.0;
            for seed in 0..4 {
                let branch = rayleigh(seed, 10_000, 1).branches.remove(0);
                sum += times(n / 40, 20_000)
                    .map(|at| {
                        let (a, b) = branch.amplitude(at);
                        let later = at + Duration::from_millis(lag);
                        let (c, d) = branch.amplitude(later);
                        (a * c + b * d) / WAVES as f64
                    })
                    .sum::<f64>()
                    / (n / 40) as f64;
            }
            let exact = libm::j0(TAU * 0.01 * lag as f64);
            worst = worst.max((sum / 4.0 - exact).abs());
        }
        assert!(worst < 0.05, "{worst}");
    }

    #[test]
    fn power_has_mean_one_and_the_variance_of_its_branches() {
        for (branches, variance) in [(1, 1.0), (2, 0.5), (4, 0.25)] {
            let (mut sum, mut squares, mut n) = (0.0, 0.0, 0.0);
            for seed in 0..40 {
                let fading = rayleigh(seed, 50_000, branches);
                for at in times(5_000, 7_001) {
                    let power = ratio(fading.decibels_at(at));
                    sum += power;
                    squares += power * power;
                    n += 1.0;
                }
            }
            let mean = sum / n;
            let ours = squares / n - mean * mean;
            assert!((mean - 1.0).abs() < 0.03, "{branches} branches: mean {mean}");
            // A finite number of waves fades slightly less: 1 - 1/WAVES.
            let expected = variance * (1.0 - 1.0 / WAVES as f64);
            assert!((ours / expected - 1.0).abs() < 0.08, "{branches} branches: {ours}");
        }
    }

    #[test]
    fn levels_are_crossed_as_often_and_fades_last_as_long_as_rice_says() {
        // S. O. Rice 1948: sqrt(2 pi) f_d rho e^(-rho^2) upward crossings per second, and fades of
        // mean length (e^(rho^2) - 1) / (rho f_d sqrt(2 pi)).
        let doppler_hz = 20.0;
        for rho in [0.3_f64, 0.7, 1.0] {
            let (mut crossings, mut below, seconds) = (0.0, 0.0, 20 * 20);
            for seed in 0..20 {
                let fading = rayleigh(100 + seed, 20_000, 1);
                let mut was_below = false;
                for at in times(20 * 2_000, 500) {
                    let is_below = fading.decibels_at(at) < decibels(rho * rho);
                    crossings += f64::from(u8::from(was_below && !is_below));
                    below += f64::from(u8::from(is_below)) * 0.0005;
                    was_below = is_below;
                }
            }
            let root = libm::sqrt(TAU);
            let rate = root * doppler_hz * rho * libm::exp(-rho * rho);
            let fade = (libm::exp(rho * rho) - 1.0) / (rho * doppler_hz * root);
            let ours = crossings / f64::from(seconds);
            assert!((ours / rate - 1.0).abs() < 0.12, "rho {rho}: {ours} a second, {rate}");
            let ours = below / crossings;
            assert!((ours / fade - 1.0).abs() < 0.12, "rho {rho}: {ours} s, {fade} s");
        }
    }

    #[test]
    fn a_steady_wave_takes_the_fades_away() {
        let strong = FadingConfig {
            doppler_mhz: 10_000,
            branches: 1,
            rice_mdb: Some(Decibel::from_whole(15)),
        };
        let fading = Fading::new(&strong, 3, "fading");
        let deepest = times(10_000, 1_000).map(|at| fading.decibels_at(at)).fold(0.0, f64::min);
        assert!(deepest > -6.0, "{deepest}");
        let deepest = times(10_000, 1_000)
            .map(|at| rayleigh(3, 10_000, 1).decibels_at(at))
            .fold(0.0, f64::min);
        assert!(deepest < -15.0, "{deepest}");
    }
}
