//! LTE: modulation and coding schemes, channel quality, block sizes.

use super::super::block_error::Curve;
use super::lte_block_bits::BLOCK_BITS;

/// A modulation and coding scheme of LTE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LteScheme {
    /// Bits in a symbol of the downlink.
    pub(crate) bits_per_symbol: u8,
    /// Column of [`BLOCK_BITS`] in the downlink and the uplink.
    block_column: [u8; 2],
    /// Information bits in a symbol.
    pub(crate) efficiency: f64,
    /// Block errors of a code block of 6144 bits.
    pub(crate) curve: Curve,
}

/// TS 36.213 tables 7.1.7.1-1 (downlink) and 8.6.1-1 (uplink); efficiencies after R1-081483. The
/// ratios in decibels at block error rates of 0.5 and 0.1 come from the mutual-information curves of
/// ns-3's lte module.
pub(crate) const SCHEMES: [LteScheme; 29] = [
    // Bits in a symbol, column down, column up, efficiency, decibels at 0.5 and at 0.1.
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

/// The scheme of the same efficiency as each channel quality index from 1 to 15: TS 36.213 table
/// 7.2.3-1 joined with the schemes above as in ns-3.
pub(crate) const SCHEME_OF_QUALITY: [u8; 15] =
    [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28];

/// The numbers of resource blocks of 1.4, 3, 5, 10, 15 and 20 MHz: TS 36.101 table 5.6-1.
pub(crate) const BANDWIDTHS: [u16; 6] = [6, 15, 25, 50, 75, 100];

/// Resource blocks that the downlink gives away together: TS 36.213 table 7.1.6.1-1.
pub(crate) const fn group_size(resource_blocks: u16) -> u16 {
    match resource_blocks {
        0..=10 => 1,
        11..=26 => 2,
        27..=63 => 3,
        _ => 4,
    }
}

/// The most bits that a category receives in an interval, and in one block: TS 36.306 table 4.1-1.
pub(crate) const fn most_bits_down(category: u8) -> Option<[u32; 2]> {
    Some(match category {
        1 => [10_296, 10_296],
        2 => [51_024, 51_024],
        3 => [102_048, 75_376],
        4 => [150_752, 75_376],
        _ => return None,
    })
}

/// The most bits that a category sends in an interval: TS 36.306 table 4.1-2.
pub(crate) const fn most_bits_up(category: u8) -> Option<u32> {
    Some(match category {
        1 => 5_160,
        2 => 25_456,
        3 | 4 => 51_024,
        _ => return None,
    })
}

/// Bits of a block on one layer.
pub(crate) fn block_bits(scheme: u8, resource_blocks: u16, is_uplink: bool) -> u32 {
    let column = SCHEMES[usize::from(scheme)].block_column[usize::from(is_uplink)];
    BLOCK_BITS[usize::from(resource_blocks) - 1][usize::from(column)]
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
            assert!(row.windows(2).all(|pair| pair[0] < pair[1]), "{row:?}");
            assert!(row.iter().all(|bits| bits % 8 == 0));
        }
        for column in 0..27 {
            let sizes = || BLOCK_BITS[1..].iter().map(|row| row[column]);
            assert!(sizes().zip(sizes().skip(1)).all(|(few, more)| few <= more), "{column}");
        }
    }

    #[test]
    fn better_schemes_need_better_channels() {
        for pair in SCHEMES.windows(2) {
            assert!(pair[0].curve.half < pair[1].curve.half);
            assert!(pair[0].efficiency < pair[1].efficiency);
            assert!(pair[0].curve.half < pair[0].curve.tenth);
        }
    }
}
