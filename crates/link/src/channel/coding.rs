//! Modulation and coding schemes: selection of a scheme from a channel report, and error rates.

use super::block_error::{Curve, HsdpaErrors, hsdpa_decibels, hsdpa_quality};
use super::decibel::decibels;
use super::tables::{lte, nr};

/// The modulation and coding schemes of one direction, in ascending order of efficiency.
#[derive(Clone, Debug)]
pub(crate) enum Coding {
    /// Schemes whose errors follow error curves.
    Curves(Curves),
    /// HSDPA, with a scheme for each channel quality indicator.
    Hsdpa(Box<HsdpaErrors>),
    /// A single scheme with given error probabilities.
    Single,
}

/// Schemes whose errors follow error curves.
#[derive(Clone, Debug)]
pub(crate) struct Curves {
    schemes: Vec<CodedScheme>,
    /// Minimum SINR in decibels for each channel quality index, from 1 on.
    thresholds: Vec<f64>,
    /// Maximum length of a code block.
    most_bits: u32,
}

#[derive(Clone, Copy, Debug)]
struct CodedScheme {
    curve: Curve,
    /// Gain of incremental redundancy over repetition, in decibels.
    combining_gain: f64,
}

/// A report of the channel quality.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Report {
    /// SINR in decibels, in steps; for HSDPA, the channel quality indicator. `None` if the user is
    /// out of range.
    pub(crate) value: Option<f64>,
    /// Lower end of the SINRs that give the same report: at least `from` and less than `below`.
    from: f64,
    /// Upper end of the SINRs that give the same report.
    below: f64,
}

impl Report {
    /// Whether an SINR certainly gives the same report.
    #[inline]
    pub(crate) fn holds(&self, decibels: f64) -> bool {
        self.from <= decibels && decibels < self.below
    }
}

/// Upper bound on rounding errors in decibels, with a large margin.
const ROUNDING: f64 = 1e-9;

impl Coding {
    pub(crate) fn lte(is_256qam: bool) -> Self {
        let (table, quality) = if is_256qam {
            (&lte::SCHEMES_256QAM[..], &lte::SCHEME_OF_QUALITY_256QAM)
        } else {
            (&lte::SCHEMES[..], &lte::SCHEME_OF_QUALITY)
        };
        let schemes = table.iter().map(|scheme| {
            let code_rate = scheme.efficiency / f64::from(scheme.bits_per_symbol);
            CodedScheme { curve: scheme.curve, combining_gain: combining_gain(code_rate) }
        });
        // TS 36.212 section 5.1.2.
        Self::curves(schemes.collect(), quality, 6144)
    }

    pub(crate) fn nr(is_256qam: bool) -> Self {
        let (table, quality) = if is_256qam {
            (&nr::SCHEMES_256QAM[..], &nr::SCHEME_OF_QUALITY_256QAM)
        } else {
            (&nr::SCHEMES_64QAM[..], &nr::SCHEME_OF_QUALITY_64QAM)
        };
        let schemes = table.iter().map(|scheme| CodedScheme {
            curve: scheme.curve,
            combining_gain: combining_gain(scheme.code_rate()),
        });
        // TS 38.212 section 5.2.2, base graph 1.
        Self::curves(schemes.collect(), quality, 8448)
    }

    pub(crate) fn hsdpa() -> Self {
        Self::Hsdpa(Box::new(HsdpaErrors::new()))
    }

    fn curves(schemes: Vec<CodedScheme>, scheme_of_quality: &[u8], most_bits: u32) -> Self {
        // TS 36.213 section 7.2.3: the highest index whose block error rate is at most 0.1.
        let threshold = |&scheme: &u8| schemes[usize::from(scheme)].curve.tenth;
        let thresholds = scheme_of_quality.iter().map(threshold).collect();
        Self::Curves(Curves { schemes, thresholds, most_bits })
    }

    /// Number of schemes.
    pub(crate) fn count(&self) -> u8 {
        match self {
            Self::Curves(curves) => curves.schemes.len() as u8,
            Self::Hsdpa(_) => 30,
            Self::Single => 1,
        }
    }

    /// The channel report for an SINR.
    pub(crate) fn report(&self, decibels: f64) -> Report {
        let [lowest, highest] = [f64::NEG_INFINITY, f64::INFINITY];
        match self {
            Self::Curves(Curves { thresholds, .. }) => {
                let quality = thresholds.partition_point(|&threshold| threshold <= decibels);
                let value = quality.checked_sub(1).map(|index| thresholds[index]);
                let below = thresholds.get(quality).copied().unwrap_or(highest);
                Report { value, from: value.unwrap_or(lowest), below }
            }
            Self::Hsdpa(_) => {
                let quality = libm::floor(hsdpa_quality(decibels)).min(30.0);
                let value = (quality >= 1.0).then_some(quality);
                let from = value.map_or(lowest, |quality| hsdpa_decibels(quality) + ROUNDING);
                let next = hsdpa_decibels(value.map_or(1.0, |quality| quality + 1.0)) - ROUNDING;
                Report { value, from, below: if quality < 30.0 { next } else { highest } }
            }
            Self::Single => Report { value: Some(0.0), from: lowest, below: highest },
        }
    }

    /// The best scheme for a reported value and a margin in decibels; the lowest scheme if none is
    /// robust enough.
    pub(crate) fn scheme(&self, reported: f64, margin: f64) -> u8 {
        match self {
            Self::Curves(curves) => {
                let decibels = reported + margin;
                let fits = |scheme: &CodedScheme| scheme.curve.tenth <= decibels;
                curves.schemes.partition_point(fits).saturating_sub(1) as u8
            }
            // The conversion rounds down.
            Self::Hsdpa(_) => ((reported + margin / 1.02).clamp(1.0, 30.0) as u8) - 1,
            Self::Single => 0,
        }
    }

    /// Error rate of a scheme's block at an SINR.
    #[cfg(test)]
    pub(crate) fn error_rate(&self, scheme: u8, decibels: f64, bits: u32) -> f64 {
        match self {
            Self::Curves(curves) => {
                let curve = &curves.schemes[usize::from(scheme)].curve;
                curve.error_rate(decibels, bits, curves.most_bits)
            }
            Self::Hsdpa(errors) => errors.rate(decibels, scheme + 1),
            Self::Single => 0.0,
        }
    }

    /// Whether a block with this scheme is decoded at an SINR, which is the case if `draw`, from 0
    /// up to but not including 1, is at least the error rate.
    pub(crate) fn is_decoded(&self, scheme: u8, decibels: f64, bits: u32, draw: f64) -> bool {
        match self {
            Self::Curves(curves) => {
                let curve = &curves.schemes[usize::from(scheme)].curve;
                curve.is_decoded(decibels, bits, curves.most_bits, draw)
            }
            Self::Hsdpa(errors) => errors.is_decoded(decibels, scheme + 1, draw),
            Self::Single => true,
        }
    }

    /// The effective SINR, in decibels, of several transmissions of a block, whose SINRs add up to
    /// `sum`.
    pub(crate) fn combined(&self, scheme: u8, sum: f64, transmissions: u8) -> f64 {
        let gain = match self {
            Self::Curves(curves) if transmissions > 1 => {
                curves.schemes[usize::from(scheme)].combining_gain
            }
            _ => 0.0,
        };
        decibels(sum) + gain
    }
}

/// Gain of incremental redundancy over energy combining, simplified: 0 dB up to a code rate of
/// 1/2, 1 dB from 3/4 on, and linear in between (WIRELESS.md section 1.5).
fn combining_gain(code_rate: f64) -> f64 {
    ((code_rate - 0.5) * 4.0).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_thresholds_are_those_of_the_curves() {
        let expected = [
            -7.28, -5.88, -3.45, -1.49, 0.57, 3.35, 4.52, 6.40, 8.29, 10.20, 12.11, 14.04, 15.84,
            17.69, 19.51,
        ];
        let Coding::Curves(curves) = Coding::lte(false) else { panic!("LTE has curves") };
        assert_eq!(curves.thresholds, expected);
        let coding = Coding::lte(false);
        assert_eq!(coding.report(-7.3).value, None);
        assert_eq!(coding.report(9.0).value, Some(8.29));
        assert_eq!(coding.scheme(8.29, 0.0), 16);
        assert_eq!(coding.scheme(8.29, 1.5), 17);
        assert_eq!(coding.scheme(-7.28, -5.0), 0);
    }

    #[test]
    fn a_reported_scheme_fails_at_most_one_time_in_ten() {
        for coding in [false, true].into_iter().flat_map(|is| [Coding::lte(is), Coding::nr(is)]) {
            for tenths in -60..300 {
                let decibels = f64::from(tenths) / 10.0;
                let Some(reported) = coding.report(decibels).value else { continue };
                let scheme = coding.scheme(reported, 0.0);
                let rate = coding.error_rate(scheme, decibels, 5000);
                assert!(rate < 0.25, "{decibels} dB, scheme {scheme}: {rate}");
            }
        }
    }

    #[test]
    fn a_second_transmission_hardly_fails_on_a_channel_that_stays() {
        let coding = Coding::lte(false);
        for scheme in 0..29 {
            let Coding::Curves(curves) = &coding else { panic!("LTE has curves") };
            let once = curves.schemes[usize::from(scheme)].curve.tenth;
            let twice = coding.combined(scheme, 2.0 * super::super::decibel::ratio(once), 2);
            assert!(twice >= once + 3.0);
            assert!(coding.error_rate(scheme, twice, 6144) < 1e-3);
        }
    }
}
