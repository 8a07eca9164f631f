//! Mean path loss in decibels, and the link budget that converts path loss to a mean SINR.
//!
//! The models are those of COST 231 final report section 4.4 (Hata's model to 2 GHz), TR 36.942
//! section 4.5.2 (macro cell, urban) and TR 38.901 table 7.4.1-1 (UMa, UMi, indoor office), with
//! distances in metres. They contain only the mean path loss; [`super::DriftConfig`] models
//! shadowing.

use serde::{Deserialize, Serialize};

use super::decibel::Decibel;

/// A path-loss model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathLoss {
    /// Free space.
    FreeSpace,
    /// COST 231 Hata, suburban: from 1.5 to 2 GHz, 1 to 20 km.
    Cost231Suburban,
    /// COST 231 Hata, dense urban.
    Cost231Urban,
    /// TR 36.942, urban macro cell, antenna 15 m above the rooftops.
    MacroUrban,
    /// TR 38.901 urban macro cell with a line of sight.
    UmaLineOfSight,
    /// TR 38.901 urban macro cell without a line of sight.
    UmaObstructed,
    /// TR 38.901 urban micro cell with a line of sight.
    UmiLineOfSight,
    /// TR 38.901 urban micro cell without a line of sight.
    UmiObstructed,
    /// TR 38.901 indoor office with a line of sight.
    IndoorLineOfSight,
    /// TR 38.901 indoor office without a line of sight.
    IndoorObstructed,
}

/// Positions of the two antennas, and their frequency.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Place {
    /// Horizontal distance between the antennas, in metres.
    pub distance_m: f64,
    /// Height of the base station's antenna, in metres.
    pub base_height_m: f64,
    /// Height of the user's antenna, in metres.
    pub user_height_m: f64,
    /// Carrier frequency in gigahertz.
    pub frequency_ghz: f64,
}

impl Place {
    /// Distance between the antennas, including the difference in height, in metres.
    fn direct_m(&self) -> f64 {
        libm::hypot(self.distance_m, self.base_height_m - self.user_height_m)
    }

    /// Breakpoint distance of TR 38.901 table 7.4.1-1 note 1, with effective heights that are 1 m
    /// lower.
    fn breakpoint_m(&self) -> f64 {
        let heights = (self.base_height_m - 1.0) * (self.user_height_m - 1.0);
        4.0 * heights * self.frequency_ghz * 1e9 / LIGHT_M_PER_S
    }
}

impl PathLoss {
    /// Mean path loss between the antennas in decibels.
    pub fn decibels(self, place: &Place) -> f64 {
        let frequency = 20.0 * libm::log10(place.frequency_ghz);
        let direct = libm::log10(place.direct_m());
        match self {
            Self::FreeSpace => 32.45 + frequency + 20.0 * direct,
            Self::Cost231Suburban => cost231(place),
            Self::Cost231Urban => cost231(place) + 3.0,
            Self::MacroUrban => {
                let above_roofs = 15.0;
                40.0 * (1.0 - 0.004 * above_roofs) * libm::log10(place.distance_m / 1000.0)
                    - 18.0 * libm::log10(above_roofs)
                    + 21.0 * libm::log10(place.frequency_ghz * 1000.0)
                    + 80.0
            }
            Self::UmaLineOfSight => two_slopes(place, 28.0, 22.0, 9.0),
            Self::UmaObstructed => {
                let height = 0.6 * (place.user_height_m - 1.5);
                let obstructed = 13.54 + 39.08 * direct + frequency - height;
                obstructed.max(Self::UmaLineOfSight.decibels(place))
            }
            Self::UmiLineOfSight => two_slopes(place, 32.4, 21.0, 9.5),
            Self::UmiObstructed => {
                let height = 0.3 * (place.user_height_m - 1.5);
                let obstructed = 22.4 + 35.3 * direct + 1.065 * frequency - height;
                obstructed.max(Self::UmiLineOfSight.decibels(place))
            }
            Self::IndoorLineOfSight => 32.4 + 17.3 * direct + frequency,
            Self::IndoorObstructed => {
                let obstructed = 17.3 + 38.3 * direct + 1.245 * frequency;
                obstructed.max(Self::IndoorLineOfSight.decibels(place))
            }
        }
    }
}

/// Link budget of a radio link, without the path loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Transmit power relative to 1 mW.
    pub power: Decibel,
    /// Gains of both antennas, minus losses in walls and bodies.
    pub gain: Decibel,
    /// Noise that the receiver adds to thermal noise.
    pub noise_figure: Decibel,
    /// Interference of other cells relative to noise: 0 dB if both are equal; absent if there is
    /// no interference.
    pub interference: Option<Decibel>,
    /// Bandwidth in hertz.
    pub bandwidth_hz: u64,
}

impl Budget {
    /// Mean SINR after this path loss.
    pub fn sinr(&self, loss_decibels: f64) -> Decibel {
        let thermal = THERMAL_DBM_PER_HZ + super::decibel::decibels(self.bandwidth_hz as f64);
        let rise = self.interference.map_or(0.0, |interference| {
            super::decibel::decibels(1.0 + super::decibel::ratio(interference.as_f64()))
        });
        let noise = thermal + self.noise_figure.as_f64() + rise;
        let signal = self.power.as_f64() + self.gain.as_f64() - loss_decibels;
        Decibel::from_milli(libm::round((signal - noise) * 1000.0) as i32)
    }
}

fn cost231(place: &Place) -> f64 {
    let frequency = libm::log10(place.frequency_ghz * 1000.0);
    let base = libm::log10(place.base_height_m);
    let user = (1.1 * frequency - 0.7) * place.user_height_m - (1.56 * frequency - 0.8);
    46.3 + 33.9 * frequency - 13.82 * base - user
        + (44.9 - 6.55 * base) * libm::log10(place.distance_m / 1000.0)
}

/// Path loss as in TR 38.901: one slope up to the breakpoint, and 40 dB per decade beyond it.
fn two_slopes(place: &Place, constant: f64, slope: f64, bend: f64) -> f64 {
    let breakpoint = place.breakpoint_m();
    let direct = libm::log10(place.direct_m());
    let frequency = 20.0 * libm::log10(place.frequency_ghz);
    if place.distance_m <= breakpoint {
        return constant + slope * direct + frequency;
    }
    let height = place.base_height_m - place.user_height_m;
    let corner = libm::log10(breakpoint * breakpoint + height * height);
    constant + 40.0 * direct + frequency - bend * corner
}

const LIGHT_M_PER_S: f64 = 299_792_458.0;
/// Thermal noise at 290 K, in dBm per hertz.
const THERMAL_DBM_PER_HZ: f64 = -174.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn place(distance_m: f64, frequency_ghz: f64) -> Place {
        Place { distance_m, base_height_m: 25.0, user_height_m: 1.5, frequency_ghz }
    }

    fn assert_near(ours: f64, expected: f64, tolerance: f64) {
        assert!((ours - expected).abs() <= tolerance, "{ours}, expected {expected}");
    }

    #[test]
    fn macro_urban_is_the_formula_of_tr_36_942() {
        // 128.1 + 37.6 log10 km at 2 GHz, 120.9 + 37.6 log10 km at 900 MHz.
        assert_near(PathLoss::MacroUrban.decibels(&place(1000.0, 2.0)), 128.1, 0.1);
        assert_near(PathLoss::MacroUrban.decibels(&place(10_000.0, 2.0)), 128.1 + 37.6, 0.1);
        assert_near(PathLoss::MacroUrban.decibels(&place(1000.0, 0.9)), 120.9, 0.1);
    }

    #[test]
    fn hata_is_hata() {
        // By hand: 46.3 + 33.9 * 3.2553 - 13.82 * 1.4771 - 0.0430 + 35.2250 * 0.30103.
        let place = Place {
            distance_m: 2000.0,
            base_height_m: 30.0,
            user_height_m: 1.5,
            frequency_ghz: 1.8,
        };
        assert_near(PathLoss::Cost231Suburban.decibels(&place), 146.80, 0.02);
        assert_near(PathLoss::Cost231Urban.decibels(&place), 149.80, 0.02);
    }

    #[test]
    fn slopes_meet_at_the_breakpoint() {
        for model in [PathLoss::UmaLineOfSight, PathLoss::UmiLineOfSight] {
            let corner = place(0.0, 3.5).breakpoint_m();
            let near = model.decibels(&place(corner * 0.9999, 3.5));
            let far = model.decibels(&place(corner * 1.0001, 3.5));
            assert_near(near, far, 0.2);
        }
    }

    #[test]
    fn an_obstacle_never_helps() {
        let pairs = [
            (PathLoss::UmaLineOfSight, PathLoss::UmaObstructed),
            (PathLoss::UmiLineOfSight, PathLoss::UmiObstructed),
            (PathLoss::IndoorLineOfSight, PathLoss::IndoorObstructed),
        ];
        for (open, obstructed) in pairs {
            let mut last = 0.0;
            for distance_m in [3.0, 10.0, 50.0, 200.0, 1000.0] {
                let loss = obstructed.decibels(&place(distance_m, 3.9));
                assert!(loss >= open.decibels(&place(distance_m, 3.9)));
                assert!(loss > last, "{obstructed:?} at {distance_m} m");
                last = loss;
            }
        }
    }

    #[test]
    fn budget_adds_up() {
        // Budget: 46 dBm, 15 dBi, 10 MHz, noise figure 9 dB: noise -95 dBm; a loss of 128.1 dB
        // leaves 28 dB.
        let budget = Budget {
            power: Decibel::from_whole(46),
            gain: Decibel::from_whole(15),
            noise_figure: Decibel::from_whole(9),
            interference: None,
            bandwidth_hz: 10_000_000,
        };
        assert_eq!(budget.sinr(128.1), Decibel::from_milli(27_900));
        let disturbed = Budget { interference: Some(Decibel::ZERO), ..budget };
        assert_eq!(budget.sinr(100.0) - disturbed.sinr(100.0), Decibel::from_milli(3_010));
    }
}
