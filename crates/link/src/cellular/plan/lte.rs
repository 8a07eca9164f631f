//! LTE with frequency-division duplex (FDD): a slot of the model is a subframe of 1 ms.

use cwndlab_units::Duration;

use super::{Band, Plan, Size, Sizes, round_trips};
use crate::cellular::error::CellError;
use crate::cellular::radio::{LteCarrier, LteConfig};
use crate::channel::Coding;
use crate::channel::tables::lte::{self, Category, LteScheme, Way};

/// Subframes from a block to its acknowledgement. The reaction of the base station takes 3 more
/// subframes, and a block follows its grant after 4: TS 36.213 sections 7.3 and 8.0, which gives
/// the round trip of 8 ms in TS 36.321.
const ACKNOWLEDGE: u32 = 4;
/// Subframes that the base station needs to react.
const BASE: u32 = 3;
/// Subframes from a grant to its block.
const GRANT: u32 = 4;

/// Processing delay from TR 36.912 table 16.2.1-1: 1 ms for processing, 1 ms for the block, 1.5 ms
/// for decoding, and on average 0.5 ms until the next subframe, 4 ms in total.
const PROCESSING: Duration = Duration::from_millis(1);
const DECODE: Duration = Duration::from_micros(1_500);

/// Maximum number of carriers: TS 36.300 section 5.5.
const MOST_CARRIERS: usize = 5;

/// Headers of a block: MAC subheader 2, RLC 2 (TS 36.321 section 6.2.1, TS 36.322 section 6.2.1).
const BLOCK_OVERHEAD: u32 = 4;
/// Headers of a packet: PDCP 2, RLC length indicator 2 (TS 36.323 section 6.2.3; 11.5 bits, rounded
/// up).
const PACKET_OVERHEAD: u32 = 4;

pub(super) fn both(radio: &LteConfig) -> Result<[Plan; 2], CellError> {
    let &LteConfig { resource_blocks, layers, category: number, .. } = radio;
    let category = usize::from(number).checked_sub(1).and_then(|index| lte::CATEGORIES.get(index));
    let Some(category) = category else {
        let known = "1 to 16";
        return Err(CellError::Category { technology: "lte", category: number, known });
    };
    let first = LteCarrier { resource_blocks, layers: None, is_256qam: None };
    let mut left = category.down_bits;
    let mut bands = Vec::new();
    for carrier in [first].iter().chain(&radio.secondary) {
        let layers = carrier.layers.unwrap_or(layers);
        let is_256qam = carrier.is_256qam.or(radio.is_256qam).unwrap_or(false);
        check(carrier.resource_blocks, layers, is_256qam, number, category)?;
        let band = downlink(carrier.resource_blocks, layers, is_256qam, category, left);
        // TS 36.306 limits the bits that a handset receives in an interval on all carriers.
        left -= band.size(1, band.coding.count() - 1, band.units).bits;
        bands.push(band);
    }
    if bands.len() > MOST_CARRIERS {
        return Err(CellError::Carriers(bands.len()));
    }
    // ns-3 allocates at least 3 resource blocks in the uplink.
    let uplink = band(resource_blocks, 1, 3, false, |scheme, resource_blocks| {
        let bits = |scheme: &LteScheme| lte::block_bits(scheme, resource_blocks, Way::Up, 1);
        limited(&lte::SCHEMES[..=usize::from(scheme)], category.up_bits, bits)
    });
    let respond = round_trips(&[1], &[1], 1 + BASE, GRANT);
    Ok([plan(bands), Plan { respond, ..plan(vec![uplink]) }])
}

/// Checks that a handset of this category supports the carrier's settings.
fn check(
    resource_blocks: u16,
    layers: u8,
    is_256qam: bool,
    number: u8,
    category: &Category,
) -> Result<(), CellError> {
    if !lte::BANDWIDTHS.contains(&resource_blocks) {
        return Err(CellError::LteBandwidth(resource_blocks));
    }
    // Two codewords with one, two or four layers each: TS 36.211 table 6.3.3.2-1.
    if ![1, 2, 4, 8].contains(&layers) || layers > category.layers {
        return Err(CellError::LteLayers { layers, category: number, most: category.layers });
    }
    if is_256qam && !category.is_256qam {
        return Err(CellError::No256Qam(number));
    }
    Ok(())
}

/// A downlink carrier on which a handset can receive at most this many bits in an interval.
fn downlink(
    resource_blocks: u16,
    layers: u8,
    is_256qam: bool,
    category: &Category,
    most_bits: u32,
) -> Band {
    let codewords = layers.min(2);
    let most = category.down_block_bits.min(most_bits / u32::from(codewords));
    let schemes = if is_256qam { &lte::SCHEMES_256QAM[..] } else { &lte::SCHEMES[..] };
    let group = lte::group_size(resource_blocks);
    band(resource_blocks, group, 1, is_256qam, |scheme, resource_blocks| {
        let bits = |scheme: &LteScheme| {
            lte::block_bits(scheme, resource_blocks, Way::Down, layers / codewords)
        };
        u32::from(codewords) * limited(&schemes[..=usize::from(scheme)], most, bits)
    })
}

fn band(
    resource_blocks: u16,
    group: u16,
    least_units: u16,
    is_256qam: bool,
    bits: impl Fn(u8, u16) -> u32,
) -> Band {
    let coding = Coding::lte(is_256qam);
    let units = resource_blocks.div_ceil(group);
    let sizes = Sizes::new(1, coding.count(), units, least_units, |_, scheme, units| {
        let bits = bits(scheme, (units * group).min(resource_blocks));
        Size { bits, payload_bytes: (bits / 8).saturating_sub(BLOCK_OVERHEAD) }
    });
    Band { units, coding, sizes }
}

fn plan(bands: Vec<Band>) -> Plan {
    Plan {
        interval: Duration::from_millis(1),
        classes: vec![1],
        ahead: vec![0],
        behind: vec![1],
        is_dedicated: false,
        spacing: 1,
        processing: PROCESSING,
        decode: DECODE,
        processes: 8,
        retransmit: round_trips(&[1], &[1], ACKNOWLEDGE, 1 + BASE),
        respond: Vec::new(),
        packet_overhead: PACKET_OVERHEAD,
        ramp: None,
        bands,
    }
}

/// Bits of the block with the highest scheme whose block has at most `most_bits`; 0 if there is no
/// such scheme.
fn limited(schemes: &[LteScheme], most_bits: u32, bits: impl Fn(&LteScheme) -> u32) -> u32 {
    schemes.iter().rev().map(bits).find(|&bits| bits <= most_bits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plans(resource_blocks: u16, layers: u8, category: u8) -> Result<[Plan; 2], CellError> {
        both(&LteConfig { resource_blocks, layers, category, is_256qam: None, secondary: vec![] })
    }

    /// A configuration with this number of carriers of 20 MHz each.
    fn carriers(category: u8, layers: u8, is_256qam: bool, count: usize) -> LteConfig {
        let further = LteCarrier { resource_blocks: 100, layers: None, is_256qam: None };
        LteConfig {
            resource_blocks: 100,
            layers,
            category,
            is_256qam: Some(is_256qam),
            secondary: vec![further; count - 1],
        }
    }

    /// Total bits of the largest downlink blocks in an interval.
    fn down_bits(radio: &LteConfig) -> u32 {
        let [down, _] = both(radio).expect("a plan");
        let largest = |band: &Band| band.size(1, band.coding.count() - 1, band.units).bits;
        down.bands.iter().map(largest).sum()
    }

    #[test]
    fn categories_reach_their_peak() {
        // TS 36.306 tables 4.1-1 and 4.1A-1: bits received in 1 ms by each category, with the
        // carriers that this takes. Categories 15 and 16 have a range; this is its upper end.
        let rows = [
            (1, 1, false, 1, 10_296),
            (2, 2, false, 1, 51_024),
            (3, 2, false, 1, 102_048),
            (4, 2, false, 1, 150_752),
            (5, 4, false, 1, 299_552),
            (6, 2, false, 2, 301_504),
            (7, 2, false, 2, 301_504),
            (8, 8, false, 5, 2_998_560),
            (9, 2, false, 3, 452_256),
            (10, 2, false, 3, 452_256),
            (11, 2, false, 4, 603_008),
            (12, 2, false, 4, 603_008),
            (13, 4, true, 1, 391_632),
            (14, 8, true, 5, 3_916_560),
            (15, 4, false, 3, 807_744),
            (16, 4, true, 3, 1_051_360),
        ];
        for (category, layers, is_256qam, count, peak) in rows {
            let bits = down_bits(&carriers(category, layers, is_256qam, count));
            let share = f64::from(bits) / f64::from(peak);
            assert!((0.98..=1.0).contains(&share), "category {category}: {bits} of {peak}");
        }
    }

    #[test]
    fn a_carrier_may_differ_from_the_first() {
        let mut radio = carriers(15, 4, false, 3);
        radio.secondary[1] =
            LteCarrier { resource_blocks: 50, layers: Some(2), is_256qam: Some(true) };
        // 2 x 2 x 149776 and 2 x 48936.
        assert_eq!(down_bits(&radio), 599_104 + 97_872);
        let six = both(&carriers(16, 2, false, 6)).expect_err("too many").to_string();
        assert_eq!(six, "lte: 6 carriers are too many: use at most 5");
    }

    /// Bits of the largest block in each direction.
    fn peak_bits(resource_blocks: u16, layers: u8, category: u8) -> [u32; 2] {
        let plans = plans(resource_blocks, layers, category).expect("a plan");
        plans.map(|plan| plan.bands[0].size(1, 28, plan.bands[0].units).bits)
    }

    #[test]
    fn peak_rates_are_those_of_the_categories() {
        // In kbit/s, because a slot is 1 ms: WIRELESS.md section 10.1.
        assert_eq!(peak_bits(100, 2, 3), [102_048, 51_024]);
        assert_eq!(peak_bits(100, 2, 4), [150_752, 51_024]);
        assert_eq!(peak_bits(50, 2, 4), [73_392, 36_696]);
        assert_eq!(peak_bits(50, 1, 4), [36_696, 36_696]);
        assert_eq!(peak_bits(25, 1, 3), [18_336, 18_336]);
        assert_eq!(peak_bits(100, 4, 5), [299_552, 75_376]);
        assert_eq!(peak_bits(100, 4, 6), [299_552, 51_024]);
        let config = carriers(13, 4, true, 1);
        let [down, _] = both(&config).expect("a plan");
        assert_eq!(down.bands[0].size(1, 27, down.bands[0].units).bits, 391_632);
        // No column of the table meets both limits of category 1 at one bandwidth.
        assert_eq!(peak_bits(100, 1, 1), [10_296, 4_584]);
        assert_eq!(peak_bits(50, 1, 1), [9_912, 5_160]);
    }

    #[test]
    fn round_trip_is_eight_slots() {
        let [down, up] = plans(50, 2, 3).expect("a plan");
        for slot in [0, 1, 7, 100] {
            assert_eq!(down.retransmission(slot), slot + 8);
            assert_eq!(up.retransmission(slot), slot + 8);
            assert_eq!(up.response(slot), slot + 8);
        }
        assert!(!down.has_grants() && up.has_grants());
    }

    #[test]
    fn impossible_combinations_are_refused() {
        assert_eq!(plans(40, 1, 3).err(), Some(CellError::LteBandwidth(40)));
        let message = |resource_blocks, layers, category| {
            plans(resource_blocks, layers, category).expect_err("not possible").to_string()
        };
        assert_eq!(
            message(50, 2, 1),
            "a handset of LTE category 1 does not support 2 spatial layers: use 1, 2, 4 or 8 \
             layers, at most 1, or another `category`"
        );
        assert_eq!(
            message(50, 3, 9),
            "a handset of LTE category 9 does not support 3 spatial layers: use 1, 2, 4 or 8 \
             layers, at most 4, or another `category`"
        );
        assert_eq!(message(50, 1, 17), "lte: there is no handset category 17: use 1 to 16");
        assert_eq!(message(50, 1, 0), "lte: there is no handset category 0: use 1 to 16");
        let config = carriers(9, 2, true, 1);
        let message = both(&config).expect_err("no 256QAM").to_string();
        assert_eq!(
            message,
            "lte: a handset of category 9 does not support 256QAM: use a \
            category from 11 to 16"
        );
    }

    #[test]
    fn no_more_units_are_given_than_needed() {
        let [down, up] = plans(50, 1, 3).expect("a plan");
        for plan in [down, up] {
            for bytes in [1_u64, 40, 400, 1500, 3000, 4000, 1 << 40] {
                let band = &plan.bands[0];
                let units = band.units_for(1, 20, bytes, band.least_units(1, 20));
                let payload = |units| u64::from(band.size(1, 20, units).payload_bytes);
                assert!(payload(units) >= bytes || units == band.units);
                assert!(units == band.least_units(1, 20) || payload(units - 1) < bytes);
            }
        }
    }
}
