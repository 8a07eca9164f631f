//! LTE with a band for each direction: a slot is a subframe of 1 ms.

use cwndlab_units::Duration;

use super::{Plan, Size, Sizes, round_trips};
use crate::cellular::error::CellError;
use crate::channel::Coding;
use crate::channel::tables::lte;

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

pub(super) fn both(resource_blocks: u16, layers: u8, category: u8) -> Result<[Plan; 2], CellError> {
    if !lte::BANDWIDTHS.contains(&resource_blocks) {
        return Err(CellError::LteBandwidth(resource_blocks));
    }
    let unknown = CellError::Category { technology: "lte", category, known: "1 to 4" };
    let (Some([most_bits, most_block_bits]), Some(most_up)) =
        (lte::most_bits_down(category), lte::most_bits_up(category))
    else {
        return Err(unknown);
    };
    // TS 36.306 table 4.1-1: category 1 receives one layer.
    let most_layers = if category == 1 { 1 } else { 2 };
    if layers == 0 || layers > most_layers {
        return Err(CellError::Layers(layers, most_layers));
    }
    let group = lte::group_size(resource_blocks);
    let down = most_block_bits.min(most_bits / u32::from(layers));
    let downlink = plan(resource_blocks, group, 1, |scheme, resource_blocks| {
        u32::from(layers) * limited(scheme, resource_blocks, false, down)
    });
    // ns-3 gives away no fewer than 3 blocks up.
    let uplink = plan(resource_blocks, 1, 3, |scheme, resource_blocks| {
        limited(scheme, resource_blocks, true, most_up)
    });
    let respond = round_trips(&[1], &[1], 1 + BASE, GRANT);
    Ok([downlink, Plan { respond, ..uplink }])
}

fn plan(resource_blocks: u16, group: u16, least_units: u16, bits: impl Fn(u8, u16) -> u32) -> Plan {
    let coding = Coding::lte();
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

/// The block of a scheme, or the largest one of a lower scheme that the category can take.
fn limited(scheme: u8, resource_blocks: u16, is_uplink: bool, most_bits: u32) -> u32 {
    (0..=scheme)
        .rev()
        .map(|scheme| lte::block_bits(scheme, resource_blocks, is_uplink))
        .find(|&bits| bits <= most_bits)
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest block in each direction.
    fn peak_bits(resource_blocks: u16, layers: u8, category: u8) -> [u32; 2] {
        let plans = both(resource_blocks, layers, category).expect("a plan");
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
        // No column of the table meets both limits of category 1 at one bandwidth.
        assert_eq!(peak_bits(100, 1, 1), [10_296, 4_584]);
        assert_eq!(peak_bits(50, 1, 1), [9_912, 5_160]);
    }

    #[test]
    fn round_trip_is_eight_slots() {
        let [down, up] = both(50, 2, 3).expect("a plan");
        for slot in [0, 1, 7, 100] {
            assert_eq!(down.retransmission(slot), slot + 8);
            assert_eq!(up.retransmission(slot), slot + 8);
            assert_eq!(up.response(slot), slot + 8);
        }
        assert!(!down.has_grants() && up.has_grants());
    }

    #[test]
    fn impossible_combinations_are_refused() {
        assert_eq!(both(40, 1, 3).err(), Some(CellError::LteBandwidth(40)));
        assert_eq!(both(50, 2, 1).err(), Some(CellError::Layers(2, 1)));
        assert_eq!(both(50, 0, 3).err(), Some(CellError::Layers(0, 2)));
        let message = both(50, 1, 9).expect_err("no such category").to_string();
        assert_eq!(message, "lte: no category 9: use 1 to 4");
    }

    #[test]
    fn no_more_units_are_given_than_needed() {
        let [down, up] = both(50, 1, 3).expect("a plan");
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
