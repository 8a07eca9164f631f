//! LTE: modulation and coding schemes, channel quality indicators and block sizes.

use super::super::block_error::Curve;
use super::lte_block_bits::BLOCK_BITS;

/// A modulation and coding scheme of LTE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LteScheme {
    /// Bits per symbol in the downlink.
    pub(crate) bits_per_symbol: u8,
    /// Columns of [`BLOCK_BITS`] for the downlink and the uplink.
    block_column: [u8; 2],
    /// Information bits per symbol.
    pub(crate) efficiency: f64,
    /// Error curve of a code block of 6144 bits.
    pub(crate) curve: Curve,
}

/// Schemes of TS 36.213 tables 7.1.7.1-1 (downlink) and 8.6.1-1 (uplink); efficiencies from
/// R1-081483. The SINRs in decibels at block error rates of 0.5 and 0.1 are from the
/// mutual-information curves of ns-3's lte module.
pub(crate) const SCHEMES: [LteScheme; 29] = [
    // Bits per symbol, column down, column up, efficiency, decibels at 0.5 and at 0.1.
    mcs(2, 0, 0, 0.15, -7.4, -7.28),
    mcs(2, 1, 1, 0.19, -6.44, -6.31),
    mcs(2, 2, 2, 0.23, -6.01, -5.88),
    mcs(2, 3, 3, 0.31, -4.67, -4.54),
    mcs(2, 4, 4, 0.38, -3.59, -3.45),
    mcs(2, 5, 5, 0.49, -2.56, -2.43),
    mcs(2, 6, 6, 0.6, -1.62, -1.49),
    mcs(2, 7, 7, 0.74, -0.58, -0.45),
    mcs(2, 8, 8, 0.88, 0.44, 0.57),
    mcs(2, 9, 9, 1.03, 1.32, 1.44),
    mcs(4, 9, 10, 1.18, 3.22, 3.35),
    mcs(4, 10, 10, 1.33, 3.59, 3.73),
    mcs(4, 11, 11, 1.48, 4.37, 4.52),
    mcs(4, 12, 12, 1.7, 5.25, 5.41),
    mcs(4, 13, 13, 1.91, 6.25, 6.4),
    mcs(4, 14, 14, 2.16, 7.17, 7.33),
    mcs(4, 15, 15, 2.41, 8.12, 8.29),
    mcs(6, 15, 16, 2.57, 9.61, 9.78),
    mcs(6, 16, 17, 2.73, 10.02, 10.2),
    mcs(6, 17, 18, 3.03, 11.0, 11.17),
    mcs(6, 18, 19, 3.32, 11.93, 12.11),
    mcs(6, 19, 19, 3.61, 12.91, 13.1),
    mcs(6, 20, 20, 3.9, 13.84, 14.04),
    mcs(6, 21, 21, 4.21, 14.75, 14.96),
    mcs(6, 22, 22, 4.52, 15.63, 15.84),
    mcs(6, 23, 23, 4.82, 16.55, 16.76),
    mcs(6, 24, 24, 5.12, 17.47, 17.69),
    mcs(6, 25, 25, 5.33, 18.42, 18.67),
    mcs(6, 26, 26, 5.55, 19.25, 19.51),
];

/// Scheme with the same efficiency, for each channel quality indicator from 1 to 15: TS 36.213
/// table 7.2.3-1, mapped to the schemes in [`SCHEMES`] as in ns-3.
pub(crate) const SCHEME_OF_QUALITY: [u8; 15] =
    [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28];

/// Schemes of TS 36.213 table 7.1.7.1-1A, the downlink with 256QAM. Up to 64QAM, the curves are
/// those of the same column and modulation in [`SCHEMES`]. No link curves for 256QAM in LTE were
/// available. The curves used are those of NR with the same efficiency, minus 2 dB, by which LTE's
/// curves are better for all schemes with 64QAM. Efficiencies are the bits of 100 resource blocks
/// over 120 elements per block, and over 136 for the last scheme.
pub(crate) const SCHEMES_256QAM: [LteScheme; 28] = [
    SCHEMES[0],
    SCHEMES[2],
    SCHEMES[4],
    SCHEMES[6],
    SCHEMES[8],
    SCHEMES[11],
    SCHEMES[12],
    SCHEMES[13],
    SCHEMES[14],
    SCHEMES[15],
    SCHEMES[16],
    SCHEMES[18],
    SCHEMES[19],
    SCHEMES[20],
    SCHEMES[21],
    SCHEMES[22],
    SCHEMES[23],
    SCHEMES[24],
    SCHEMES[25],
    SCHEMES[26],
    mcs(8, 25, 25, 5.315, 18.56, 18.77),
    mcs(8, 27, 27, 5.549, 19.21, 19.43),
    mcs(8, 28, 28, 5.926, 20.31, 20.51),
    mcs(8, 29, 29, 6.143, 20.85, 21.07),
    mcs(8, 30, 30, 6.559, 22.09, 22.31),
    mcs(8, 31, 31, 6.765, 22.64, 22.87),
    mcs(8, 32, 32, 7.063, 23.74, 23.98),
    mcs(8, 33, 33, 7.198, 24.29, 24.53),
];

/// The same as [`SCHEME_OF_QUALITY`] for TS 36.213 table 7.2.3-2.
pub(crate) const SCHEME_OF_QUALITY_256QAM: [u8; 15] =
    [0, 2, 4, 6, 8, 10, 11, 13, 15, 17, 19, 21, 23, 25, 27];

/// Numbers of resource blocks for 1.4, 3, 5, 10, 15 and 20 MHz: TS 36.101 table 5.6-1.
pub(crate) const BANDWIDTHS: [u16; 6] = [6, 15, 25, 50, 75, 100];

/// Size of a resource block group in the downlink: TS 36.213 table 7.1.6.1-1.
pub(crate) const fn group_size(resource_blocks: u16) -> u16 {
    match resource_blocks {
        0..=10 => 1,
        11..=26 => 2,
        27..=63 => 3,
        _ => 4,
    }
}

/// Capabilities of a handset category: TS 36.306 tables 4.1-1 and 4.1-2; from category 13 on,
/// table 4.1A-1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Category {
    /// Maximum number of bits that the handset receives in an interval.
    pub(crate) down_bits: u32,
    /// Maximum number of bits in one block; from category 3 on, no block exceeds it.
    pub(crate) down_block_bits: u32,
    /// Maximum number of bits that the handset sends in an interval on one carrier and one layer.
    pub(crate) up_bits: u32,
    /// Maximum number of layers in the downlink.
    pub(crate) layers: u8,
    /// Whether the handset supports 256QAM in the downlink.
    pub(crate) is_256qam: bool,
}

/// The capabilities of categories from 1 on. From category 13 on, a handset has a separate
/// category for the uplink; it is assumed to send 64QAM, like handsets of categories 5 and 8.
pub(crate) const CATEGORIES: [Category; 16] = [
    Category { down_block_bits: 10_296, ..category(10_296, 5_160, 1, false) },
    Category { down_block_bits: 51_024, ..category(51_024, 25_456, 2, false) },
    category(102_048, 51_024, 2, false),
    category(150_752, 51_024, 2, false),
    category(299_552, 75_376, 4, false),
    category(301_504, 51_024, 4, false),
    category(301_504, 51_024, 4, false),
    category(2_998_560, 75_376, 8, false),
    category(452_256, 51_024, 4, false),
    category(452_256, 51_024, 4, false),
    category(603_008, 51_024, 4, true),
    category(603_008, 51_024, 4, true),
    category(391_632, 75_376, 4, true),
    category(3_916_560, 75_376, 8, true),
    category(807_744, 75_376, 4, true),
    category(1_051_360, 75_376, 4, true),
];

const fn category(down_bits: u32, up_bits: u32, layers: u8, is_256qam: bool) -> Category {
    Category { down_bits, down_block_bits: u32::MAX, up_bits, layers, is_256qam }
}

/// Direction, which selects a column of [`BLOCK_BITS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Down,
    Up,
}

/// Block size in bits on one, two or four layers.
pub(crate) fn block_bits(scheme: &LteScheme, resource_blocks: u16, way: Way, layers: u8) -> u32 {
    let column = usize::from(scheme.block_column[way as usize]);
    let bits = |blocks: u16| BLOCK_BITS[usize::from(blocks) - 1][column];
    match layers {
        1 => bits(resource_blocks),
        // TS 36.213 sections 7.1.7.2.2 and 7.1.7.2.5.
        2 if resource_blocks <= 55 => bits(2 * resource_blocks),
        2 => two_layer_bits(bits(resource_blocks)),
        _ if resource_blocks <= 27 => bits(4 * resource_blocks),
        _ => four_layer_bits(bits(resource_blocks)),
    }
}

/// TS 36.213 table 7.1.7.2.2-1: block size on two layers for a block size on one layer. Smaller
/// sizes are not in the table and are doubled.
fn two_layer_bits(one: u32) -> u32 {
    let place = TWO_LAYERS.binary_search_by_key(&one, |&(bits, _)| bits);
    place.map_or(2 * one, |place| TWO_LAYERS[place].1)
}

#[rustfmt::skip]
const TWO_LAYERS: [(u32, u32); 120] = [
    (1544, 3112), (1608, 3240), (1672, 3368), (1736, 3496), (1800, 3624), (1864, 3752),
    (1928, 3880), (1992, 4008), (2024, 4008), (2088, 4136), (2152, 4264), (2216, 4392),
    (2280, 4584), (2344, 4776), (2408, 4776), (2472, 4968), (2536, 5160), (2600, 5160),
    (2664, 5352), (2728, 5544), (2792, 5544), (2856, 5736), (2984, 5992), (3112, 6200),
    (3240, 6456), (3368, 6712), (3496, 6968), (3624, 7224), (3752, 7480), (3880, 7736),
    (4008, 7992), (4136, 8248), (4264, 8504), (4392, 8760), (4584, 9144), (4776, 9528),
    (4968, 9912), (5160, 10296), (5352, 10680), (5544, 11064), (5736, 11448), (5992, 11832),
    (6200, 12576), (6456, 12960), (6712, 13536), (6968, 14112), (7224, 14688), (7480, 14688),
    (7736, 15264), (7992, 15840), (8248, 16416), (8504, 16992), (8760, 17568), (9144, 18336),
    (9528, 19080), (9912, 19848), (10296, 20616), (10680, 21384), (11064, 22152), (11448, 22920),
    (11832, 23688), (12216, 24496), (12576, 25456), (12960, 25456), (13536, 27376), (14112, 28336),
    (14688, 29296), (15264, 30576), (15840, 31704), (16416, 32856), (16992, 34008), (17568, 35160),
    (18336, 36696), (19080, 37888), (19848, 39232), (20616, 40576), (21384, 42368), (22152, 43816),
    (22920, 45352), (23688, 46888), (24496, 48936), (25456, 51024), (26416, 52752), (27376, 55056),
    (28336, 57336), (29296, 59256), (30576, 61664), (31704, 63776), (32856, 66592), (34008, 68808),
    (35160, 71112), (36696, 73712), (37888, 76208), (39232, 78704), (40576, 81176), (42368, 84760),
    (43816, 87936), (45352, 90816), (46888, 93800), (48936, 97896), (51024, 101840), (52752, 105528),
    (55056, 110136), (57336, 115040), (59256, 119816), (61664, 124464), (63776, 128496), (66592, 133208),
    (68808, 137792), (71112, 142248), (73712, 146856), (75376, 149776), (76208, 152976), (78704, 157432),
    (81176, 161760), (84760, 169544), (87936, 175600), (90816, 181656), (93800, 187712), (97896, 195816),
];

/// Block size on four layers, in place of TS 36.213 table 7.1.7.2.5-1, which was not available:
/// the largest size with equal code blocks that exceeds four times the size on one layer by at
/// most a thousandth. The largest results, 299856 and 391656, equal those of the table (TS 36.306
/// table 4.1-1).
fn four_layer_bits(one: u32) -> u32 {
    let most = 4 * one + 4 * one / 1000;
    (0..=most / 8)
        .rev()
        .map(|bytes| 8 * bytes)
        .find(|&bits| has_equal_code_blocks(bits))
        .unwrap_or(0)
}

/// Whether all code blocks of a transport block have the same size, and the interleaver supports
/// this size: TS 36.212 section 5.1.2 and table 5.1.3-3.
fn has_equal_code_blocks(bits: u32) -> bool {
    let with_check = bits + 24;
    let blocks = if with_check <= 6144 { 1 } else { with_check.div_ceil(6120) };
    let all = if blocks == 1 { with_check } else { with_check + 24 * blocks };
    let size = all / blocks;
    let step = match size {
        ..=512 => 8,
        513..=1024 => 16,
        1025..=2048 => 32,
        _ => 64,
    };
    all % blocks == 0 && (40..=6144).contains(&size) && size % step == 0
}

const fn mcs(
    bits_per_symbol: u8,
    column_down: u8,
    column_up: u8,
    efficiency: f64,
    half: f64,
    tenth: f64,
) -> LteScheme {
    LteScheme {
        bits_per_symbol,
        block_column: [column_down, column_up],
        efficiency,
        curve: Curve { half, tenth, bits: 6144 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_sizes_are_those_of_the_standard() {
        // TS 36.213 table 7.1.7.2.1-1: (resource blocks, column) -> bits.
        let spots = [
            (1, 0, 16),
            (1, 6, 328),
            (6, 26, 4392),
            (15, 13, 3880),
            (25, 20, 11448),
            (50, 19, 21384),
            (50, 26, 36696),
            (75, 22, 40576),
            (100, 0, 2792),
            (100, 21, 51024),
            (100, 26, 75376),
            (110, 26, 75376),
        ];
        for (blocks, column, bits) in spots {
            assert_eq!(BLOCK_BITS[blocks - 1][column], bits, "{blocks} blocks, column {column}");
        }
    }

    #[test]
    fn block_sizes_grow_with_blocks_and_columns() {
        for row in &BLOCK_BITS[1..] {
            // Column 26 assumes more elements per block than the first column of 256QAM.
            for columns in [&row[..27], &row[27..]] {
                assert!(columns.windows(2).all(|pair| pair[0] <= pair[1]), "{row:?}");
            }
            assert!(row.iter().all(|bits| bits % 8 == 0));
        }
        for column in 0..34 {
            let sizes = || BLOCK_BITS[1..].iter().map(|row| row[column]);
            assert!(sizes().zip(sizes().skip(1)).all(|(few, more)| few <= more), "{column}");
        }
    }

    #[test]
    fn blocks_on_several_layers_are_those_of_the_standard() {
        // TS 36.306 table 4.1-1: the largest blocks of 64QAM and 256QAM on two and four layers.
        let largest = |scheme, layers| block_bits(scheme, 100, Way::Down, layers);
        let (qam64, qam256) = (&SCHEMES[28], &SCHEMES_256QAM[27]);
        assert_eq!([1, 2, 4].map(|layers| largest(qam64, layers)), [75_376, 149_776, 299_856]);
        assert_eq!([1, 2, 4].map(|layers| largest(qam256, layers)), [97_896, 195_816, 391_656]);
        assert_eq!(block_bits(qam64, 50, Way::Down, 2), 75_376);
    }

    #[test]
    fn every_block_has_equal_code_blocks() {
        for &bits in BLOCK_BITS.iter().flatten().chain(TWO_LAYERS.iter().map(|(_, two)| two)) {
            assert!(has_equal_code_blocks(bits), "{bits}");
        }
        // Every size of more than 55 resource blocks is in the table of two layers.
        for &one in BLOCK_BITS[55..].iter().flatten().filter(|&&bits| bits >= 1544) {
            assert!(TWO_LAYERS.binary_search_by_key(&one, |&(bits, _)| bits).is_ok(), "{one}");
        }
        assert!(TWO_LAYERS.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
    }

    #[test]
    fn better_schemes_need_better_channels() {
        for table in [&SCHEMES[..], &SCHEMES_256QAM[..]] {
            for pair in table.windows(2) {
                assert!(pair[0].curve.half < pair[1].curve.half);
                assert!(pair[0].efficiency < pair[1].efficiency);
                assert!(pair[0].curve.half < pair[0].curve.tenth);
            }
        }
    }
}
