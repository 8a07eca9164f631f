//! 5G NR: the two directions share a carrier by slots and symbols (TDD), or each has a carrier
//! (FDD).

use cwndlab_units::Duration;

use super::{Band, Plan, Size, Sizes, ahead, behind, check_pattern, round_trips};
use crate::Direction;
use crate::cellular::error::CellError;
use crate::cellular::radio::{NrConfig, NrDuplex, SlotConfig};
use crate::channel::tables::nr;
use crate::channel::{Coding, FrequencyRange};

/// Headers of a block: MAC 3, RLC 3 (TS 38.321 section 6.1.2, TS 38.322 section 6.2.2, 18-bit
/// numbers).
const BLOCK_OVERHEAD: u32 = 6;
/// Headers of a packet: PDCP 3 bytes (TS 38.323 section 6.2.2), MAC subheader 3 bytes, because RLC
/// does not concatenate packets.
const PACKET_OVERHEAD: u32 = 6;

/// Slots that the base station needs to prepare a block: 5G-LENA's delay between layers. The time
/// of a user (N2) is less than one slot.
const BASE_PROCESSING_SLOTS: u64 = 2;
/// Slots that a user needs to prepare a block: less than one (N2).
const USER_PROCESSING_SLOTS: u64 = 1;
/// Slots that a user needs to decode a block: less than one (N1); the base station needs two.
const USER_DECODE_SLOTS: u64 = 1;
/// Slots that the base station needs to decode a block.
const BASE_DECODE_SLOTS: u64 = 2;

/// A slot with frequency-division duplex: the downlink uses one of its symbols for control.
const WHOLE_SLOT: SlotConfig = SlotConfig { downlink_symbols: 13, uplink_symbols: 14 };

pub(super) fn both(radio: &NrConfig) -> Result<[Plan; 2], CellError> {
    let &NrConfig { subcarrier_khz, bandwidth_mhz, downlink_layers, uplink_layers, .. } = radio;
    let range = radio.frequency_range.unwrap_or(nr::usual_range(subcarrier_khz));
    let elements = |bandwidth_mhz| {
        let resource_blocks = nr::resource_blocks(range, subcarrier_khz, bandwidth_mhz)
            .ok_or_else(|| no_bandwidth(range, subcarrier_khz, bandwidth_mhz))?;
        let (is_256qam, overhead) = (radio.is_256qam, radio.overhead_elements);
        Ok(Elements { resource_blocks, is_256qam, overhead })
    };
    let primary = elements(bandwidth_mhz)?;
    let whole = [WHOLE_SLOT];
    let duplex = radio.duplex.unwrap_or(NrDuplex::Tdd);
    let pattern = match (duplex, &radio.pattern[..]) {
        (NrDuplex::Fdd, []) => &whole,
        (_, pattern) => pattern,
    };
    for (slot, symbols) in pattern.iter().enumerate() {
        let [down, up] = [symbols.downlink_symbols, symbols.uplink_symbols].map(u32::from);
        let symbols = match duplex {
            NrDuplex::Tdd => down + up,
            NrDuplex::Fdd => down.max(up),
        };
        if symbols > 14 {
            return Err(CellError::Symbols { slot, symbols });
        }
    }
    for layers in [downlink_layers, uplink_layers] {
        // One codeword: TS 38.211 table 7.3.1.3-1.
        if layers == 0 || layers > 4 {
            return Err(CellError::Layers(layers, 4));
        }
    }
    let down = Symbols::new(pattern, |slot| slot.downlink_symbols);
    let up = Symbols::new(pattern, |slot| slot.uplink_symbols);
    let mut down_bands = vec![band(&primary, &down, downlink_layers)];
    if let Some(bandwidth_mhz) = radio.secondary_mhz {
        down_bands.push(band(&elements(bandwidth_mhz)?, &down, downlink_layers));
    }
    let down_plan = plan(down_bands, &down);
    let up_plan = plan(vec![band(&primary, &up, uplink_layers)], &up);
    check_pattern(&down_plan.classes, Direction::Forward)?;
    check_pattern(&up_plan.classes, Direction::Reverse)?;

    // TS 38.211 section 4.3.2: 1 ms over 2^mu.
    let interval = Duration::from_nanos(15_000_000 / u64::from(subcarrier_khz));
    // Feedback and grants need only one or two symbols, so slots without room for a block will do.
    let (answers, grants) = (&up.classes, &down.classes);
    let answered = 1 + radio.base_slots;
    let acknowledged = round_trips(&down_plan.classes, answers, radio.acknowledge_slots, answered);
    let granted = round_trips(&up_plan.classes, grants, answered, radio.grant_slots);
    let downlink = Plan {
        interval,
        processing: interval * BASE_PROCESSING_SLOTS,
        decode: interval * USER_DECODE_SLOTS,
        retransmit: acknowledged,
        ..down_plan
    };
    let uplink = Plan {
        interval,
        processing: interval * USER_PROCESSING_SLOTS,
        decode: interval * BASE_DECODE_SLOTS,
        retransmit: granted.clone(),
        respond: granted,
        ..up_plan
    };
    Ok([downlink, uplink])
}

fn no_bandwidth(range: FrequencyRange, subcarrier_khz: u32, bandwidth_mhz: u32) -> CellError {
    let known = nr::bandwidths(range, subcarrier_khz).iter().map(|&(mhz, _)| mhz).collect();
    CellError::NrBandwidth { bandwidth_mhz, subcarrier_khz, known }
}

/// The part of a slot that can carry data.
struct Elements {
    resource_blocks: u16,
    is_256qam: bool,
    overhead: u16,
}

/// The slots of a direction, classified by their number of symbols.
struct Symbols {
    /// Class of each slot: 0 for no symbols, and otherwise the position of its number of symbols
    /// in `counts`, from 1.
    classes: Vec<u8>,
    /// All numbers of symbols that occur in the pattern, in ascending order.
    counts: Vec<u8>,
}

impl Symbols {
    fn new(pattern: &[SlotConfig], symbols: impl Fn(&SlotConfig) -> u8) -> Self {
        let mut counts: Vec<u8> = pattern.iter().map(&symbols).filter(|&count| count > 0).collect();
        counts.sort_unstable();
        counts.dedup();
        let class = |slot| counts.partition_point(|&count| count < symbols(slot)) as u8 + 1;
        let class_or_none = |slot| if symbols(slot) == 0 { 0 } else { class(slot) };
        Self { classes: pattern.iter().map(class_or_none).collect(), counts }
    }
}

fn band(elements: &Elements, symbols: &Symbols, layers: u8) -> Band {
    let Elements { resource_blocks, is_256qam, overhead } = *elements;
    let coding = Coding::nr(is_256qam);
    let table = if is_256qam { &nr::SCHEMES_256QAM[..] } else { &nr::SCHEMES_64QAM[..] };
    let group = group_size(resource_blocks);
    let units = resource_blocks.div_ceil(group);
    let classes = symbols.counts.len() as u8;
    let sizes = Sizes::new(classes, coding.count(), units, 1, |class, scheme, units| {
        let resources = nr::Resources {
            resource_blocks: (units * group).min(resource_blocks),
            symbols: symbols.counts[usize::from(class) - 1],
            overhead,
            layers,
        };
        let bits = nr::block_bits(&table[usize::from(scheme)], resources);
        Size { bits, payload_bytes: (bits / 8).saturating_sub(BLOCK_OVERHEAD) }
    });
    Band { units, coding, sizes }
}

fn plan(bands: Vec<Band>, symbols: &Symbols) -> Plan {
    // The last scheme of a class has the largest block.
    let first = &bands[0];
    let last = first.coding.count() - 1;
    let has_room = |class| first.size(class, last, first.units).payload_bytes > 0;
    let class_or_none = |&class: &u8| if class > 0 && has_room(class) { class } else { 0 };
    let classes: Vec<u8> = symbols.classes.iter().map(class_or_none).collect();
    Plan {
        interval: Duration::ZERO,
        ahead: ahead(&classes),
        behind: behind(&classes),
        classes,
        is_dedicated: false,
        spacing: 1,
        processing: Duration::ZERO,
        decode: Duration::ZERO,
        // TS 38.331: nrofHARQ-ProcessesForPDSCH.
        processes: 16,
        retransmit: Vec::new(),
        respond: Vec::new(),
        packet_overhead: PACKET_OVERHEAD,
        ramp: None,
        bands,
    }
}

/// Size of a resource block group: TS 38.214 table 5.1.2.2.1-1, configuration 1.
const fn group_size(resource_blocks: u16) -> u16 {
    match resource_blocks {
        0..=36 => 2,
        37..=72 => 4,
        73..=144 => 8,
        _ => 16,
    }
}
