//! 5G NR: modulation and coding schemes, channel quality indicators and block sizes.

use serde::{Deserialize, Serialize};

use super::super::block_error::Curve;

/// A frequency range of NR: TS 38.101-1 and TS 38.101-2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrequencyRange {
    /// Frequency range 1: up to 7.125 GHz.
    Fr1,
    /// Frequency range 2: from 24.25 GHz on.
    Fr2,
}

/// A modulation and coding scheme of NR.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NrScheme {
    /// Bits per symbol.
    pub(crate) bits_per_symbol: u8,
    /// Code rate in units of 1/10240.
    rate: u16,
    /// Error curve of one code block.
    pub(crate) curve: Curve,
}

impl NrScheme {
    /// Information bits per coded bit.
    pub(crate) fn code_rate(&self) -> f64 {
        f64::from(self.rate) / 10_240.0
    }
}

/// Schemes of TS 38.214 table 5.1.3.1-1, up to 64QAM. The SINRs in decibels at block error rates
/// of 0.5 and 0.1 are interpolated from the link curves of 5G-LENA at the given code block size.
#[expect(clippy::approx_constant, reason = "the value 6.28 is in decibels and is not tau")]
pub(crate) const SCHEMES_64QAM: [NrScheme; 29] = [
    // Bits per symbol, code rate x 10240, code block, decibels at 0.5 and at 0.1.
    mcs(2, 1200, 3624, -1.23, -1.0),
    mcs(2, 1570, 3624, -0.76, -0.58),
    mcs(2, 1930, 3752, 0.02, 0.22),
    mcs(2, 2510, 3752, 0.99, 1.2),
    mcs(2, 3080, 8064, 1.76, 1.95),
    mcs(2, 3790, 8192, 2.52, 2.71),
    mcs(2, 4490, 8192, 3.27, 3.46),
    mcs(2, 5260, 8192, 3.9, 4.08),
    mcs(2, 6020, 8192, 4.65, 4.83),
    mcs(2, 6790, 8192, 5.42, 5.61),
    mcs(4, 3400, 8192, 6.13, 6.28),
    mcs(4, 3780, 8192, 6.82, 6.97),
    mcs(4, 4340, 8192, 7.57, 7.72),
    mcs(4, 4900, 8192, 8.34, 8.5),
    mcs(4, 5530, 8192, 9.17, 9.33),
    mcs(4, 6160, 8192, 10.09, 10.26),
    mcs(4, 6580, 8192, 10.65, 10.82),
    mcs(6, 4380, 8192, 11.42, 11.59),
    mcs(6, 4660, 8192, 12.03, 12.21),
    mcs(6, 5170, 8192, 12.97, 13.15),
    mcs(6, 5670, 7808, 13.83, 14.01),
    mcs(6, 6160, 8192, 14.68, 14.84),
    mcs(6, 6660, 8192, 15.59, 15.75),
    mcs(6, 7190, 8192, 16.45, 16.64),
    mcs(6, 7720, 8192, 17.53, 17.68),
    mcs(6, 8220, 8192, 18.37, 18.54),
    mcs(6, 8730, 8192, 19.46, 19.66),
    mcs(6, 9100, 8192, 20.42, 20.62),
    mcs(6, 9480, 928, 21.91, 22.64),
];

/// Schemes of TS 38.214 table 5.1.3.1-2, up to 256QAM.
pub(crate) const SCHEMES_256QAM: [NrScheme; 28] = [
    mcs(2, 1200, 3624, -1.23, -1.0),
    mcs(2, 1930, 3752, 0.02, 0.22),
    mcs(2, 3080, 8064, 1.76, 1.95),
    mcs(2, 4490, 8192, 3.27, 3.46),
    mcs(2, 6020, 8192, 4.65, 4.83),
    mcs(4, 3780, 8192, 6.82, 6.97),
    mcs(4, 4340, 8192, 7.57, 7.72),
    mcs(4, 4900, 8192, 8.34, 8.5),
    mcs(4, 5530, 8192, 9.17, 9.33),
    mcs(4, 6160, 8192, 10.09, 10.26),
    mcs(4, 6580, 8192, 10.65, 10.82),
    mcs(6, 4660, 8192, 12.03, 12.21),
    mcs(6, 5170, 8192, 12.97, 13.15),
    mcs(6, 5670, 7808, 13.83, 14.01),
    mcs(6, 6160, 8192, 14.68, 14.84),
    mcs(6, 6660, 8192, 15.59, 15.75),
    mcs(6, 7190, 8192, 16.45, 16.64),
    mcs(6, 7720, 8192, 17.53, 17.68),
    mcs(6, 8220, 8192, 18.37, 18.54),
    mcs(6, 8730, 8192, 19.46, 19.66),
    mcs(8, 6825, 8192, 20.61, 20.82),
    mcs(8, 7110, 8192, 21.23, 21.45),
    mcs(8, 7540, 8192, 22.22, 22.42),
    mcs(8, 7970, 8192, 23.06, 23.29),
    mcs(8, 8410, 8192, 24.12, 24.34),
    mcs(8, 8850, 8192, 25.03, 25.28),
    mcs(8, 9165, 8192, 26.2, 26.43),
    mcs(8, 9480, 5248, 26.79, 27.09),
];

/// Scheme with the same efficiency, for each channel quality indicator from 1 to 15: TS 38.214
/// table 5.2.2.1-2.
pub(crate) const SCHEME_OF_QUALITY_64QAM: [u8; 15] =
    [0, 0, 2, 4, 6, 8, 11, 13, 15, 18, 20, 22, 24, 26, 28];

/// The same as [`SCHEME_OF_QUALITY_64QAM`] for TS 38.214 table 5.2.2.1-3.
pub(crate) const SCHEME_OF_QUALITY_256QAM: [u8; 15] =
    [0, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27];

/// Bandwidths in MHz and their numbers of resource blocks: TS 38.101-1 and 38.101-2 table 5.3.2-1.
/// Empty if the frequency range does not have this subcarrier spacing.
pub(crate) const fn bandwidths(
    range: FrequencyRange,
    subcarrier_khz: u32,
) -> &'static [(u32, u16)] {
    match (range, subcarrier_khz) {
        (FrequencyRange::Fr1, 15) => &[
            (5, 25),
            (10, 52),
            (15, 79),
            (20, 106),
            (25, 133),
            (30, 160),
            (35, 188),
            (40, 216),
            (45, 242),
            (50, 270),
        ],
        (FrequencyRange::Fr1, 30) => &[
            (5, 11),
            (10, 24),
            (15, 38),
            (20, 51),
            (25, 65),
            (30, 78),
            (35, 92),
            (40, 106),
            (45, 119),
            (50, 133),
            (60, 162),
            (70, 189),
            (80, 217),
            (90, 245),
            (100, 273),
        ],
        (FrequencyRange::Fr1, 60) => &[
            (10, 11),
            (15, 18),
            (20, 24),
            (25, 31),
            (30, 38),
            (35, 44),
            (40, 51),
            (45, 58),
            (50, 65),
            (60, 79),
            (70, 93),
            (80, 107),
            (90, 121),
            (100, 135),
        ],
        (FrequencyRange::Fr2, 60) => &[(50, 66), (100, 132), (200, 264)],
        (FrequencyRange::Fr2, 120) => &[(50, 32), (100, 66), (200, 132), (400, 264)],
        _ => &[],
    }
}

/// The default frequency range for a subcarrier spacing.
pub(crate) const fn usual_range(subcarrier_khz: u32) -> FrequencyRange {
    if subcarrier_khz < 120 { FrequencyRange::Fr1 } else { FrequencyRange::Fr2 }
}

/// The number of resource blocks for a bandwidth.
pub(crate) fn resource_blocks(
    range: FrequencyRange,
    subcarrier_khz: u32,
    bandwidth_mhz: u32,
) -> Option<u16> {
    let known = bandwidths(range, subcarrier_khz);
    known.iter().find(|&&(mhz, _)| mhz == bandwidth_mhz).map(|&(_, blocks)| blocks)
}

/// The resources that a block can use in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Resources {
    pub(crate) resource_blocks: u16,
    pub(crate) symbols: u8,
    /// Number of resource elements per resource block for reference signals and other overhead.
    pub(crate) overhead: u16,
    pub(crate) layers: u8,
}

/// Block size in bits: TS 38.214 section 5.1.3.2.
pub(crate) fn block_bits(scheme: &NrScheme, resources: Resources) -> u32 {
    let elements = (12 * u32::from(resources.symbols)).saturating_sub(resources.overhead.into());
    let elements = elements.min(156) * u32::from(resources.resource_blocks);
    // Exact, because the rate is an integer in units of 1/10240.
    let scaled = u64::from(elements)
        * u64::from(scheme.rate)
        * u64::from(scheme.bits_per_symbol)
        * u64::from(resources.layers);
    if scaled == 0 {
        return 0;
    }
    if scaled <= 3824 * RATE_SCALE {
        let information = (scaled / RATE_SCALE) as u32;
        let shift = information.max(1).ilog2().saturating_sub(6).max(3);
        let rounded = ((information >> shift) << shift).max(24);
        let place = SMALL_BLOCKS.partition_point(|&bits| u32::from(bits) < rounded);
        return SMALL_BLOCKS[place].into();
    }
    let surplus = scaled - 24 * RATE_SCALE;
    let shift = (surplus / RATE_SCALE).ilog2() - 5;
    // "Round" in the standard: ties round up.
    let unit = RATE_SCALE << shift;
    let rounded = ((((2 * surplus + unit) / (2 * unit)) << shift) as u32).max(3840);
    let code_blocks = if scheme.rate <= 2_560 {
        (rounded + 24).div_ceil(3816)
    } else if rounded > 8424 {
        (rounded + 24).div_ceil(8424)
    } else {
        1
    };
    8 * code_blocks * (rounded + 24).div_ceil(8 * code_blocks) - 24
}

/// The unit of [`NrScheme::rate`].
const RATE_SCALE: u64 = 10_240;

/// Sizes of small blocks: TS 38.214 table 5.1.3.2-1.
const SMALL_BLOCKS: [u16; 93] = [
    24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184,
    192, 208, 224, 240, 256, 272, 288, 304, 320, 336, 352, 368, 384, 408, 432, 456, 480, 504, 528,
    552, 576, 608, 640, 672, 704, 736, 768, 808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192,
    1224, 1256, 1288, 1320, 1352, 1416, 1480, 1544, 1608, 1672, 1736, 1800, 1864, 1928, 2024, 2088,
    2152, 2216, 2280, 2408, 2472, 2536, 2600, 2664, 2728, 2792, 2856, 2976, 3104, 3240, 3368, 3496,
    3624, 3752, 3824,
];

const fn mcs(bits_per_symbol: u8, rate: u16, bits: u32, half: f64, tenth: f64) -> NrScheme {
    NrScheme { bits_per_symbol, rate, curve: Curve { half, tenth, bits } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(scheme: usize, symbols: u8, overhead: u16) -> u32 {
        let resources = Resources { resource_blocks: 133, symbols, overhead, layers: 1 };
        block_bits(&SCHEMES_256QAM[scheme], resources)
    }

    #[test]
    fn block_sizes_of_50_mhz_are_those_of_the_standard() {
        // For 133 resource blocks, table 2: a downlink slot of 13 symbols, a special slot of 6 and
        // an uplink slot of 14, with 24 elements of reference signals; srsRAN's implementation
        // gives the same sizes.
        let spots = [
            (5, 26_120, 9_480, 28_168),
            (10, 45_096, 16_392, 49_176),
            (13, 58_384, 21_000, 63_528),
            (15, 67_584, 25_104, 73_776),
            (16, 73_776, 26_632, 79_896),
            (17, 79_896, 28_680, 86_040),
            (20, 94_248, 33_816, 102_416),
            (27, 129_128, 47_112, 143_400),
        ];
        for (scheme, down, special, up) in spots {
            let ours = (bits(scheme, 13, 24), bits(scheme, 6, 24), bits(scheme, 14, 24));
            assert_eq!(ours, (down, special, up), "scheme {scheme}");
        }
    }

    #[test]
    fn small_blocks_are_from_the_table() {
        for resource_blocks in 1..30 {
            let resources = Resources { resource_blocks, symbols: 6, overhead: 24, layers: 1 };
            for scheme in &SCHEMES_64QAM {
                let bits = block_bits(scheme, resources);
                let is_listed = SMALL_BLOCKS.iter().any(|&listed| u32::from(listed) == bits);
                assert!(is_listed || bits > 3824, "{bits}");
            }
        }
        assert!(SMALL_BLOCKS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn block_sizes_never_fall_with_more_of_anything() {
        for table in [&SCHEMES_64QAM[..], &SCHEMES_256QAM[..]] {
            // In the standard, table 1 decreases slightly from index 9 to 10 and from 16 to 17.
            for scheme in table {
                let mut last = 0;
                for resource_blocks in 1..=273 {
                    let resources =
                        Resources { resource_blocks, symbols: 12, overhead: 12, layers: 1 };
                    let bits = block_bits(scheme, resources);
                    assert!(bits >= last && bits % 8 == 0);
                    last = bits;
                }
            }
        }
    }
}
