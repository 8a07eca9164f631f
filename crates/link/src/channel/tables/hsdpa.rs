//! HSDPA: transport block sizes by channel quality indicator and handset category.

/// Block size in bits for each channel quality index from 1 to 30: TS 25.214 table 7D (category
/// 10). Every value is a valid size of TS 25.321 annex A.
pub(crate) const BLOCK_BITS: [u16; 30] = [
    137, 173, 233, 317, 377, 461, 650, 792, 931, 1262, 1483, 1742, 2279, 2583, 3319, 3565, 4189,
    4664, 5287, 5887, 6554, 7168, 9719, 11418, 14411, 17237, 21754, 23370, 24222, 25558,
];

/// Capabilities of a handset category: TS 25.306 table 5.1a.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Category {
    /// Maximum number of bits that the handset receives in an interval.
    pub(crate) most_bits: u32,
    /// Minimum number of intervals from one block to the next.
    pub(crate) spacing: u32,
}

/// The capabilities of categories 1 to 12.
pub(crate) const fn category(number: u8) -> Option<Category> {
    let (most_bits, spacing) = match number {
        1 | 2 => (7_298, 3),
        3 | 4 => (7_298, 2),
        5 | 6 => (7_298, 1),
        7 | 8 => (14_411, 1),
        9 => (20_251, 1),
        10 => (27_952, 1),
        11 => (3_630, 2),
        12 => (3_630, 1),
        _ => return None,
    };
    Some(Category { most_bits, spacing })
}

/// Number of MAC-d PDUs in a block of this size. A PDU has 336 bits, of which 320 are payload, and
/// the block header has 21 bits.
pub(crate) const fn units(block_bits: u32) -> u32 {
    block_bits.saturating_sub(21) / 336
}

/// Payload of a MAC-d PDU in bytes.
pub(crate) const UNIT_BYTES: u32 = 40;

/// Block size in bits for a category and a channel quality indicator: the size in the table, but
/// at most what the category supports. The tables for lower categories stop slightly below that,
/// at other sizes.
pub(crate) fn block_bits(category: Category, quality: u8) -> u32 {
    u32::from(BLOCK_BITS[usize::from(quality) - 1]).min(category.most_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_sizes_are_legal() {
        // TS 25.321 annex A: 125 + 12 k for k < 40, then 296 (2085/2048)^k.
        let legal: Vec<u32> = (0..40)
            .map(|k| 125 + 12 * k)
            .chain((40..254).map(|k| (296.0 * libm::pow(2085.0 / 2048.0, f64::from(k))) as u32))
            .collect();
        for bits in BLOCK_BITS {
            assert!(legal.contains(&u32::from(bits)), "{bits}");
        }
    }

    #[test]
    fn peak_rates_are_those_of_the_categories() {
        // RLC rate in kbit/s: units of 320 bits in 2 ms, at the largest permitted block.
        let rlc_kbit_s = |number| {
            let category = category(number).expect("a category");
            units(category.most_bits) * 320 / 2 / category.spacing
        };
        assert_eq!(rlc_kbit_s(6), 3_360);
        assert_eq!(rlc_kbit_s(8), 6_720);
        assert_eq!(rlc_kbit_s(10), 13_280);
        assert_eq!(rlc_kbit_s(12), 1_600);
        assert_eq!(rlc_kbit_s(11), 800);
        assert!(category(13).is_none() && category(0).is_none());
    }

    #[test]
    fn units_by_quality_are_those_of_the_table() {
        let expected = [
            0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 9, 10, 12, 13, 15, 17, 19, 21, 28, 33, 42,
            51, 64, 69, 72, 76,
        ];
        for (bits, expected) in BLOCK_BITS.into_iter().zip(expected) {
            assert_eq!(units(bits.into()), expected, "{bits}");
        }
    }
}
