//! LTE with a band for each direction: a slot is a subframe of 1 ms.

use cwndlab_units::Duration;

use super::{Plan, Size, Sizes, round_trips};
use crate::cellular::error::CellError;
use crate::cellular::radio::LteConfig;
use crate::channel::Coding;
use crate::channel::tables::lte::{self, LteScheme, Way};

/// Acknowledged 4 subframes later, answered 3 subframes after that, sent 4 subframes after a grant:
/// TS 36.213 sections 7.3 and 8.0, and so the round trip of 8 ms of TS 36.321.
const ACKNOWLEDGE: u32 = 4;
const BASE: u32 = 3;
const GRANT: u32 = 4;

/// TR 36.912 table 16.2.1-1: 1 ms to process, 1 ms of alignment and block, 1.5 ms to decode: 4 ms on
/// average, as half a subframe is waited for the next one.
const PROCESSING: Duration = Duration::from_millis(1);
const DECODE: Duration = Duration::from_micros(1_500);

/// MAC subheader 2, RLC 2 (TS 36.321 section 6.2.1, TS 36.322 section 6.2.1).
const BLOCK_OVERHEAD: u32 = 4;
/// PDCP 2, RLC length indicator 2 (TS 36.323 section 6.2.3; 11.5 bits, rounded up).
const PACKET_OVERHEAD: u32 = 4;

pub(super) fn both(radio: &LteConfig) -> Result<[Plan; 2], CellError> {
    let &LteConfig { resource_blocks, layers, category: number, .. } = radio;
    let is_256qam = radio.is_256qam.unwrap_or(false);
    if !lte::BANDWIDTHS.contains(&resource_blocks) {
        return Err(CellError::LteBandwidth(resource_blocks));
    }
    let category = usize::from(number).checked_sub(1).and_then(|index| lte::CATEGORIES.get(index));
    let Some(category) = category else {
        let known = "1 to 16";
        return Err(CellError::Category { technology: "lte", category: number, known });
    };
    // Two codewords of one, two or four layers each: TS 36.211 table 6.3.3.2-1.
    if ![1, 2, 4, 8].contains(&layers) || layers > category.layers {
        return Err(CellError::LteLayers { layers, category: number, most: category.layers });
    }
    if is_256qam && !category.is_256qam {
        return Err(CellError::No256Qam(number));
    }
    let codewords = layers.min(2);
    let most = category.down_block_bits.min(category.down_bits / u32::from(codewords));
    let schemes = if is_256qam { &lte::SCHEMES_256QAM[..] } else { &lte::SCHEMES[..] };
    let group = lte::group_size(resource_blocks);
    let downlink = plan(resource_blocks, group, 1, is_256qam, |scheme, resource_blocks| {
        let bits = |scheme: &LteScheme| {
            lte::block_bits(scheme, resource_blocks, Way::Down, layers / codewords)
        };
        u32::from(codewords) * limited(&schemes[..=usize::from(scheme)], most, bits)
    });
    // ns-3 gives away no fewer than 3 blocks up.
    let uplink = plan(resource_blocks, 1, 3, false, |scheme, resource_blocks| {
        let bits = |scheme: &LteScheme| lte::block_bits(scheme, resource_blocks, Way::Up, 1);
        limited(&lte::SCHEMES[..=usize::from(scheme)], category.up_bits, bits)
    });
    let respond = round_trips(&[1], &[1], 1 + BASE, GRANT);
    Ok([downlink, Plan { respond, ..uplink }])
}

fn plan(
    resource_blocks: u16,
    group: u16,
    least_units: u16,
    is_256qam: bool,
    bits: impl Fn(u8, u16) -> u32,
) -> Plan {
    let coding = Coding::lte(is_256qam);
    let units = resource_blocks.div_ceil(group);
    let sizes = Sizes::new(1, coding.count(), units, least_units, |_, scheme, units| {
        let bits = bits(scheme, (units * group).min(resource_blocks));
        Size { bits, payload_bytes: (bits / 8).saturating_sub(BLOCK_OVERHEAD) }
    });
    Plan {
        interval: Duration::from_millis(1),
        classes: vec![1],
        ahead: vec![0],
        units,
        is_dedicated: false,
        spacing: 1,
        processing: PROCESSING,
        decode: DECODE,
        processes: 8,
        retransmit: round_trips(&[1], &[1], ACKNOWLEDGE, 1 + BASE),
        respond: Vec::new(),
        coding,
        sizes,
        packet_overhead: PACKET_OVERHEAD,
        ramp: None,
    }
}

/// The block of the last of these schemes, or of the best before it that the category can take.
fn limited(schemes: &[LteScheme], most_bits: u32, bits: impl Fn(&LteScheme) -> u32) -> u32 {
    schemes.iter().rev().map(bits).find(|&bits| bits <= most_bits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plans(resource_blocks: u16, layers: u8, category: u8) -> Result<[Plan; 2], CellError> {
        both(&LteConfig { resource_blocks, layers, category, is_256qam: None })
    }

    /// The largest block in each direction.
    fn peak_bits(resource_blocks: u16, layers: u8, category: u8) -> [u32; 2] {
        let plans = plans(resource_blocks, layers, category).expect("a plan");
        plans.map(|plan| plan.size(1, 28, plan.units).bits)
    }

    #[test]
    fn peak_rates_are_those_of_the_categories() {
        // kbit/s, as a slot is 1 ms: WIRELESS.md section 10.1.
        assert_eq!(peak_bits(100, 2, 3), [102_048, 51_024]);
        assert_eq!(peak_bits(100, 2, 4), [150_752, 51_024]);
        assert_eq!(peak_bits(50, 2, 4), [73_392, 36_696]);
        assert_eq!(peak_bits(50, 1, 4), [36_696, 36_696]);
        assert_eq!(peak_bits(25, 1, 3), [18_336, 18_336]);
        assert_eq!(peak_bits(100, 4, 5), [299_552, 75_376]);
        assert_eq!(peak_bits(100, 4, 6), [299_552, 51_024]);
        let config =
            LteConfig { resource_blocks: 100, layers: 4, category: 13, is_256qam: Some(true) };
        let [down, _] = both(&config).expect("a plan");
        assert_eq!(down.size(1, 27, down.units).bits, 391_632);
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
        assert_eq!(message(50, 2, 1), "lte: 2 layers: category 1 has 1, 2, 4 or 8, at most 1");
        assert_eq!(message(50, 3, 9), "lte: 3 layers: category 9 has 1, 2, 4 or 8, at most 4");
        assert_eq!(message(50, 1, 17), "lte: no category 17: use 1 to 16");
        assert_eq!(message(50, 1, 0), "lte: no category 0: use 1 to 16");
        let config =
            LteConfig { resource_blocks: 50, layers: 2, category: 9, is_256qam: Some(true) };
        let message = both(&config).expect_err("no 256QAM").to_string();
        assert_eq!(message, "lte: category 9 has no 256QAM: use 11 to 16");
    }

    #[test]
    fn no_more_units_are_given_than_needed() {
        let [down, up] = plans(50, 1, 3).expect("a plan");
        for plan in [down, up] {
            for bytes in [1_u64, 40, 400, 1500, 3000, 4000, 1 << 40] {
                let units = plan.units_for(1, 20, bytes, plan.least_units(1, 20));
                let payload = |units| u64::from(plan.size(1, 20, units).payload_bytes);
                assert!(payload(units) >= bytes || units == plan.units);
                assert!(units == plan.least_units(1, 20) || payload(units - 1) < bytes);
            }
        }
    }
}
