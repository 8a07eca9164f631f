//! Reception of frames: path loss, noise, and the bit errors that the code does not correct.
//!
//! A packet of L bits is received with the probability (1 - e)^L. The bit error rate e is the
//! union bound of the weights of the industry-standard convolutional code (Haccoun and Begin 1989)
//! over the bit errors of the modulation in white noise. The decoder has soft decisions as in Pei
//! and Henderson 2010, "Validation of OFDM error rate model in ns-3", or hard decisions as in
//! Lacage and Henderson 2006, "Yet another network simulator". Frames that are sent at the same
//! time are noise to each other, so a strong frame may be received (capture). The model leaves out
//! LDPC, gains from antenna diversity, and different conditions for the symbols of one frame.

use cwndlab_units::{Stream, Time};

use super::config::{Band, ErrorCurve, NodeConfig, RadioConfig, Standard, WifiConfig, WifiError};
use super::phy::{Coding, Mode, Modulation};

/// Transmission powers of the nodes of one channel, and path losses between them.
#[derive(Clone, Debug)]
pub(crate) struct Radio {
    nodes: Vec<NodeConfig>,
    config: RadioConfig,
    /// Path loss over the first metre in decibels.
    first_metre_db: f64,
    noise_mw: f64,
    /// Signal-to-noise ratio in the decoder, divided by that at the antenna.
    efficiency: f64,
    channel_hz: f64,
    streams: f64,
    /// Keys of the random numbers for the frames of each node; they are combined with the time of
    /// the frame.
    keys: Vec<u64>,
}

impl Radio {
    /// Creates the radio model of a channel.
    ///
    /// # Errors
    /// Returns an error if the distance between two nodes that communicate is out of range.
    pub(crate) fn new(
        config: &WifiConfig,
        radio: RadioConfig,
        run_seed: u64,
        name: &str,
    ) -> Result<Self, WifiError> {
        let band = match (config.standard, config.band) {
            (Standard::B | Standard::G, _) | (_, Some(Band::Ghz2)) => Band::Ghz2,
            _ => Band::Ghz5,
        };
        // 20 log10(4 pi f / c) at the centres of the bands, 2.437 and 5.250 GHz.
        let first_metre_db = match band {
            Band::Ghz2 => 40.18,
            Band::Ghz5 => 46.85,
        };
        // Boltzmann's constant times 290 K is -174 dBm/Hz.
        let bandwidth_db = 10.0 * libm::log10(f64::from(config.channel_mhz) * 1e6);
        let noise_dbm = -174.0 + bandwidth_db + radio.noise_figure_mdb as f64 / 1e3;
        let nodes: Vec<NodeConfig> = config.nodes().collect();
        let keys = (0..nodes.len())
            .map(|node| Stream::new(run_seed, &format!("{name}.{node}.errors")).next_u64())
            .collect();
        let noise_mw = from_db(noise_dbm);
        let made = Self {
            nodes,
            config: radio,
            first_metre_db,
            noise_mw,
            efficiency: from_db(-radio.implementation_loss_mdb.unwrap_or(0) as f64 / 1e3),
            channel_hz: f64::from(config.channel_mhz) * 1e6,
            streams: f64::from(config.spatial_streams),
            keys,
        };
        for station in 1..made.nodes.len() {
            if !(1.0..=1e9).contains(&made.distance_mm(0, station)) {
                return Err(WifiError::Position(station));
            }
        }
        Ok(made)
    }

    fn distance_mm(&self, from: usize, to: usize) -> f64 {
        let (from, to) = (&self.nodes[from], &self.nodes[to]);
        let (x, y) = (from.x_mm.saturating_sub(to.x_mm), from.y_mm.saturating_sub(to.y_mm));
        libm::hypot(x as f64, y as f64)
    }

    /// Received power at `to` when `from` sends, in milliwatts.
    fn received_mw(&self, from: usize, to: usize) -> f64 {
        let decades = libm::log10((self.distance_mm(from, to) / 1e3).max(1e-3));
        let exponent = f64::from(self.config.path_loss_exponent_milli) / 1e3;
        // The first metre is free space; the received power is at most the sent power.
        let exponent = if decades > 0.0 { exponent } else { 2.0 };
        let loss_db = (self.first_metre_db + 10.0 * exponent * decades).max(0.0);
        from_db(self.config.power_mdbm as f64 / 1e3 - loss_db)
    }

    /// Signal to noise and interference ratio when the nodes in `others` send at the same time.
    pub(crate) fn sinr(&self, from: usize, to: usize, others: impl Iterator<Item = usize>) -> f64 {
        let interference: f64 = others.map(|other| self.received_mw(other, to)).sum();
        self.received_mw(from, to) / (self.noise_mw + interference)
    }

    /// Bit error rate after the decoder.
    pub(crate) fn bit_error_rate(&self, mode: &Mode, sinr: f64) -> f64 {
        // The configuration rejects 802.11b together with a radio.
        let Modulation::Ofdm { coding, data_bits, symbol } = mode.modulation else { return 0.0 };
        let sinr = sinr * self.efficiency;
        match self.config.error_curve.unwrap_or_default() {
            ErrorCurve::Nist => coding.soft_error_rate(sinr),
            ErrorCurve::Yans => {
                let data_bits_per_sec = data_bits as f64 / (symbol.as_nanos() as f64 / 1e9);
                let redundancy = coding.rate_denominator as f64 / coding.rate_numerator as f64;
                let coded_bits_per_sec = data_bits_per_sec * redundancy / self.streams;
                coding.hard_error_rate(sinr * self.channel_hz / coded_bits_per_sec)
            }
        }
    }

    /// Random numbers for the packets of the frame that `node` begins to send at `start`. They
    /// depend on the time, not on how many numbers were drawn before.
    pub(crate) fn draws(&self, node: usize, start: Time) -> Stream {
        Stream::new(self.keys[node].wrapping_add(start.as_nanos()), "frame")
    }
}

/// Probability that this number of bytes is received without an error.
pub(crate) fn success(bit_error_rate: f64, bytes: u64) -> f64 {
    if bit_error_rate >= 1.0 {
        return 0.0;
    }
    libm::exp((8 * bytes) as f64 * libm::log1p(-bit_error_rate))
}

impl Coding {
    /// The union bound on the bit error rate with soft decisions, at this signal-to-noise ratio.
    fn soft_error_rate(self, sinr: f64) -> f64 {
        // Gray-coded square constellations in white noise (Proakis, Digital Communications, 5.2).
        let (share, scale) = match self.bits_per_carrier {
            1 => (1.0, 1.0),
            2 => (1.0, 2.0),
            4 => (0.75, 10.0),
            6 => (7.0 / 12.0, 42.0),
            _ => (15.0 / 32.0, 170.0),
        };
        let raw = share * 0.5 * libm::erfc(libm::sqrt(sinr / scale));
        let distance = libm::sqrt(4.0 * raw * (1.0 - raw));
        let (weights, free_distance, step): (&[f64], i32, i32) = match self.rate_denominator {
            2 => (&RATE_1_2, 10, 2),
            3 => (&RATE_2_3, 6, 1),
            4 => (&RATE_3_4, 5, 1),
            _ => (&RATE_5_6, 4, 1),
        };
        let mut power = libm::pow(distance, f64::from(free_distance));
        let factor = libm::pow(distance, f64::from(step));
        let mut sum = 0.0;
        for weight in weights {
            sum += weight * power;
            power *= factor;
        }
        (sum / (2.0 * self.rate_numerator as f64)).min(1.0)
    }

    /// The first two terms of the union bound on the bit error rate with hard decisions, at this
    /// ratio of energy per coded bit to noise density.
    fn hard_error_rate(self, energy_over_noise: f64) -> f64 {
        let points = f64::from(1_u32 << self.bits_per_carrier);
        let raw = if self.bits_per_carrier == 1 {
            0.5 * libm::erfc(libm::sqrt(energy_over_noise))
        } else {
            let bits = self.bits_per_carrier as f64;
            let argument = libm::sqrt(1.5 * bits * energy_over_noise / (points - 1.0));
            let one = (1.0 - 1.0 / libm::sqrt(points)) * libm::erfc(argument);
            (1.0 - (1.0 - one) * (1.0 - one)) / bits
        };
        let (free_distance, paths): (u32, [f64; 2]) = match self.rate_denominator {
            2 => (10, [11.0, 0.0]),
            3 => (6, [1.0, 16.0]),
            4 => (5, [8.0, 31.0]),
            _ => (4, [14.0, 69.0]),
        };
        // ns-3 uses only one term for BPSK.
        let terms = if self.bits_per_carrier == 1 { 1 } else { 2 };
        let errors = (free_distance..).zip(paths).take(terms);
        errors.map(|(distance, paths)| paths * wrong_path(raw, distance)).sum::<f64>().min(1.0)
    }
}

/// Probability that a decoder with hard decisions selects a path that differs in `distance` bits,
/// if each bit is wrong with the probability `raw` (Proakis, Digital Communications, 8.2.5).
fn wrong_path(raw: f64, distance: u32) -> f64 {
    let term = |wrong: u32| {
        let choices = (0..wrong)
            .fold(1.0, |product, step| product * f64::from(distance - step) / f64::from(step + 1));
        choices
            * libm::pow(raw, f64::from(wrong))
            * libm::pow(1.0 - raw, f64::from(distance - wrong))
    };
    let most: f64 = (distance / 2 + 1..=distance).map(term).sum();
    if distance % 2 == 0 { most + 0.5 * term(distance / 2) } else { most }
}

pub(crate) fn from_db(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

/// Bit weights of the code with generators 133 and 171 and of its punctured versions, beginning at
/// the free distance (Haccoun and Begin 1989, "High-rate punctured convolutional codes for Viterbi
/// and sequential decoding", table II).
const RATE_1_2: [f64; 9] =
    [36.0, 211.0, 1404.0, 11633.0, 77433.0, 502690.0, 3322763.0, 21292910.0, 134365911.0];
const RATE_2_3: [f64; 10] =
    [3.0, 70.0, 285.0, 1276.0, 6160.0, 27128.0, 117019.0, 498860.0, 2103891.0, 8784123.0];
const RATE_3_4: [f64; 10] = [
    42.0,
    201.0,
    1492.0,
    10469.0,
    62935.0,
    379644.0,
    2253373.0,
    13073811.0,
    75152755.0,
    428005675.0,
];
const RATE_5_6: [f64; 10] = [
    92.0,
    528.0,
    8694.0,
    79453.0,
    792114.0,
    7375573.0,
    67884974.0,
    610875423.0,
    5427275376.0,
    47664215639.0,
];

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::wifi::phy::Phy;

    pub(crate) const SETTINGS: RadioConfig = RadioConfig {
        power_mdbm: 16_000,
        noise_figure_mdb: 7_000,
        path_loss_exponent_milli: 3_000,
        error_curve: None,
        implementation_loss_mdb: None,
    };

    fn mode(index: u8) -> Mode {
        let phy = Phy::new(&WifiConfig::new(Standard::N, 1)).expect("a channel");
        *phy.mode(index).expect("a rate")
    }

    fn radio(error_curve: ErrorCurve, implementation_loss_mdb: i64) -> Radio {
        let mut config = WifiConfig::new(Standard::N, 1);
        config.stations[0].x_mm = 10_000;
        let settings = RadioConfig {
            error_curve: Some(error_curve),
            implementation_loss_mdb: Some(implementation_loss_mdb),
            ..SETTINGS
        };
        Radio::new(&config, settings, 1, "wifi").expect("a radio")
    }

    fn loss_with(radio: &Radio, index: u8, snr_db: f64, bytes: u64) -> f64 {
        1.0 - success(radio.bit_error_rate(&mode(index), from_db(snr_db)), bytes)
    }

    fn loss(index: u8, snr_db: f64, bytes: u64) -> f64 {
        loss_with(&radio(ErrorCurve::Nist, 0), index, snr_db, bytes)
    }

    #[test]
    fn hard_decisions_are_those_of_the_closed_formulas() {
        // By hand from P of Proakis (8.2-28): 10 p^3 q^2 + 5 p^4 q + p^5 and 3 p^2 q^2 + 4 p^3 q +
        // p^4.
        assert!((wrong_path(0.1, 5) - 0.00856).abs() < 1e-12);
        assert!((wrong_path(0.1, 4) - 0.0280).abs() < 1e-12);
        // BPSK 1/2 of 802.11n at 6.5 Mbit/s: 13 Mbit/s of coded bits in 20 MHz.
        let yans = radio(ErrorCurve::Yans, 0);
        let raw = 0.5 * libm::erfc(libm::sqrt(20.0 / 13.0));
        let found = yans.bit_error_rate(&mode(0), 1.0);
        assert!((found - 11.0 * wrong_path(raw, 10)).abs() < 1e-12, "{found}");
        // QPSK's bits have the error rate of two BPSK signals with half the power each.
        let raw = 0.5 * libm::erfc(libm::sqrt(2.0 * 20.0 / 26.0));
        let found = yans.bit_error_rate(&mode(1), 2.0);
        assert!((found - 11.0 * wrong_path(raw - raw * raw / 2.0, 10)).abs() < 1e-3 * found);
    }

    #[test]
    fn hard_decisions_lose_what_ns_3_loses() {
        // ns-3.37's YansErrorRateModel: 1500 bytes of 802.11n, 20 MHz, one stream.
        let measured = [
            (1.5, 3.370e-2),
            (4.5, 3.316e-2),
            (8.0, 3.602e-3),
            (11.5, 7.680e-3),
            (16.0, 2.486e-5),
            (20.5, 2.244e-4),
            (22.0, 3.269e-5),
            (24.0, 1.372e-5),
        ];
        let yans = radio(ErrorCurve::Yans, 0);
        for (index, (snr_db, expected)) in measured.into_iter().enumerate() {
            let found = loss_with(&yans, index as u8, snr_db, 1500);
            assert!(
                (found / expected - 1.0).abs() < 1e-3,
                "MCS {index}: {found} beside {expected}"
            );
        }
    }

    #[test]
    fn every_curve_falls_with_the_signal_and_moves_with_the_receiver() {
        for curve in [ErrorCurve::Nist, ErrorCurve::Yans] {
            let [good, bad] = [0, 3_000].map(|loss_mdb| radio(curve, loss_mdb));
            for index in 0..8 {
                let losses: Vec<f64> =
                    (-5..40).map(|db| loss_with(&good, index, f64::from(db), 1500)).collect();
                assert!(losses.windows(2).all(|pair| pair[0] >= pair[1]), "{curve:?} {index}");
                assert!(losses[0] > 0.5 && losses[44] < 1e-3, "{curve:?} {index}");
                let moved =
                    loss_with(&bad, index, 18.0, 1500) - loss_with(&good, index, 15.0, 1500);
                assert!(moved.abs() < 1e-9, "{curve:?} {index}");
            }
        }
    }

    #[test]
    fn losses_are_those_of_ns_3() {
        // Two points for which ns-3's examples state the loss: at 14.25 dB, MCS 3 loses about 1 %
        // and MCS 4 everything; at 15.4 dB, MCS 4 loses 98.8 %.
        let three = loss(3, 14.25, 1000);
        assert!((0.001..0.03).contains(&three), "{three}");
        assert!(loss(4, 14.25, 1000) > 0.999);
        let four = loss(4, 15.4, 1500);
        assert!((0.95..0.999).contains(&four), "{four}");
        for index in 0..8 {
            assert!(loss(index, 29.0, 1500) < 1e-3, "MCS {index}");
        }
    }

    #[test]
    fn faster_rates_need_a_better_signal() {
        // The ratio in decibels at which a tenth of the frames of 1500 bytes is lost.
        let needed: Vec<f64> = (0..8)
            .map(|index| {
                let is_enough = |tenths: &i32| loss(index, f64::from(*tenths) / 10.0, 1500) < 0.1;
                f64::from((-100..400).find(is_enough).expect("some signal is enough")) / 10.0
            })
            .collect();
        assert!(needed.windows(2).all(|pair| pair[0] < pair[1]), "{needed:?}");
        // The sensitivities that 802.11-2012 table 20-22 requires, with a noise figure of 10 dB and
        // an implementation loss of 5 dB, above the noise in 20 MHz.
        let asked = [-82.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0, -64.0];
        for (needed, asked) in needed.iter().zip(asked) {
            let beyond = needed - (asked + 101.0 - 15.0);
            assert!((-0.1..2.0).contains(&beyond), "{needed} for {asked} dBm");
        }
    }

    #[test]
    fn signals_fall_with_distance_as_configured() {
        let mut config = WifiConfig::new(Standard::N, 2);
        config.stations[0].x_mm = 10_000;
        config.stations[1].y_mm = -20_000;
        let radio = Radio::new(&config, SETTINGS, 1, "wifi").expect("a radio");
        let db = |ratio: f64| 10.0 * libm::log10(ratio);
        // 16 dBm - 46.85 dB - 30 dB above a floor of -94 dBm.
        let near = db(radio.sinr(1, 0, core::iter::empty()));
        assert!((near - 33.14).abs() < 0.02, "{near}");
        let far = db(radio.sinr(0, 2, core::iter::empty()));
        assert!((near - far - 9.03).abs() < 0.01, "{far}");
        // When both send, noise hardly matters.
        let both = db(radio.sinr(1, 0, core::iter::once(2)));
        assert!((both - 9.03).abs() < 0.03, "{both}");
    }

    #[test]
    fn the_first_metre_is_free_space_and_nothing_is_gained_on_it() {
        let gain_db = |x_mm| {
            let mut config = WifiConfig::new(Standard::N, 1);
            config.stations[0].x_mm = x_mm;
            let radio = Radio::new(&config, SETTINGS, 1, "wifi").expect("a radio");
            10.0 * libm::log10(radio.received_mw(1, 0)) - 16.0
        };
        assert!((gain_db(1_000) + 46.85).abs() < 1e-9);
        assert!((gain_db(100) + 26.85).abs() < 1e-9);
        assert!((gain_db(10_000) + 76.85).abs() < 1e-9);
        assert!(gain_db(1).abs() < 1e-9);
    }

    #[test]
    fn nodes_at_one_place_are_refused() {
        let config = WifiConfig::new(Standard::A, 1);
        let error = Radio::new(&config, SETTINGS, 1, "wifi").expect_err("no distance");
        assert_eq!(error, WifiError::Position(1));
    }
}
