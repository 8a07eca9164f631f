//! Properties of one direction of a radio technology: slots, block sizes and response times.

mod lte;
mod nr;
mod technology;
mod umts;

use cwndlab_units::{Duration, Time};

pub(crate) use technology::plans;

use super::error::CellError;
use crate::Direction;
use crate::channel::Coding;

/// Properties of one direction of a radio technology, without any state.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Length of a slot, which is the time between two decisions of the scheduler.
    pub(crate) interval: Duration,
    /// For each slot of the pattern: 0 if the slot carries no data of this direction, and
    /// otherwise its capacity class.
    classes: Vec<u8>,
    /// For each slot of the pattern: number of slots to the next slot that carries data; 0 if the
    /// slot itself does.
    ahead: Vec<u16>,
    /// For each slot of the pattern: number of slots back to the previous slot that carries data.
    behind: Vec<u16>,
    /// Whether each user has all units of the band to itself.
    pub(crate) is_dedicated: bool,
    /// Minimum number of slots from one block of a user to the next.
    pub(crate) spacing: u64,
    /// Time from the arrival of a packet until a block can carry it.
    pub(crate) processing: Duration,
    /// Time from the end of a block's slot until the block's packets are delivered.
    pub(crate) decode: Duration,
    /// Number of HARQ processes of each user.
    pub(crate) processes: usize,
    /// For each slot of the pattern: number of slots from a block to its retransmission.
    retransmit: Vec<u32>,
    /// For each slot of the pattern: number of slots from a user's request or report to the block
    /// that is granted in response; empty if users need no grants.
    respond: Vec<u32>,
    /// Bytes of headers that are added to each packet.
    pub(crate) packet_overhead: u32,
    /// How HSUPA's grant grows after a pause, and the smallest payload of a grant.
    pub(crate) ramp: Option<Ramp>,
    /// Properties of each carrier; all carriers have the same slots.
    pub(crate) bands: Vec<Band>,
}

/// The block sizes on a carrier.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    /// Number of units in which the band is allocated.
    pub(crate) units: u16,
    pub(crate) coding: Coding,
    sizes: Sizes,
}

/// Size of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Size {
    /// The transport block size of the standard.
    pub(crate) bits: u32,
    /// Bytes of the block that can carry packets.
    pub(crate) payload_bytes: u32,
}

/// Block sizes by capacity class, modulation and coding scheme, and number of units.
#[derive(Clone, Debug)]
struct Sizes {
    schemes: u8,
    units: u16,
    /// Sizes in the order of capacity class minus 1, scheme, and units minus 1.
    table: Vec<Size>,
    /// Minimum number of units, by capacity class minus 1 and scheme.
    least_units: Vec<u16>,
}

impl Sizes {
    /// Block sizes for these numbers of classes, schemes and units. A user gets at least `least`
    /// units, if the band has so many.
    fn new(
        classes: u8,
        schemes: u8,
        units: u16,
        least: u16,
        size: impl Fn(u8, u8, u16) -> Size,
    ) -> Self {
        let (mut table, mut least_units) = (Vec::new(), Vec::new());
        for class in 1..=classes {
            for scheme in 0..schemes {
                let row = table.len();
                table.extend((1..=units).map(|units| size(class, scheme, units)));
                let has_room = |&units: &u16| {
                    let size: &Size = &table[row + usize::from(units) - 1];
                    size.payload_bytes > 0
                };
                least_units.push((least.min(units)..units).find(has_room).unwrap_or(units));
            }
        }
        Self { schemes, units, table, least_units }
    }

    #[inline]
    fn row(&self, class: u8, scheme: u8) -> usize {
        (usize::from(class) - 1) * usize::from(self.schemes) + usize::from(scheme)
    }

    #[inline]
    fn size(&self, class: u8, scheme: u8, units: u16) -> Size {
        self.table[self.row(class, scheme) * usize::from(self.units) + usize::from(units) - 1]
    }
}

/// Growth of HSUPA's uplink grant after a pause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ramp {
    pub(crate) length: Duration,
    pub(crate) least_bytes: u32,
}

impl Plan {
    /// Capacity class of a slot; 0 if the slot carries no data of this direction.
    #[inline]
    pub(crate) fn class(&self, slot: u64) -> u8 {
        self.classes[self.place(slot)]
    }

    #[inline]
    fn place(&self, slot: u64) -> usize {
        if self.classes.len() == 1 { 0 } else { (slot % self.classes.len() as u64) as usize }
    }

    /// The first slot with data of this direction at or after `slot`.
    #[inline]
    pub(crate) fn next_slot(&self, slot: u64) -> u64 {
        slot + u64::from(self.ahead[self.place(slot)])
    }

    /// The last slot with data of this direction before `slot`, if any.
    #[inline]
    pub(crate) fn slot_before(&self, slot: u64) -> Option<u64> {
        slot.checked_sub(u64::from(self.behind[self.place(slot)]))
    }

    /// The first slot with data of this direction that begins at or after `at`.
    pub(crate) fn slot_from(&self, at: Time) -> u64 {
        self.next_slot(at.as_nanos().div_ceil(self.interval.as_nanos()))
    }

    /// Start time of a slot.
    #[inline]
    pub(crate) fn start(&self, slot: u64) -> Time {
        Time::from_nanos(slot.saturating_mul(self.interval.as_nanos()))
    }

    /// Time at which the packets of a block sent in `slot` are delivered.
    #[inline]
    pub(crate) fn decoded_at(&self, slot: u64) -> Time {
        self.start(slot + 1) + self.decode
    }

    /// The slot in which a block that was sent in `slot` can be sent again.
    #[inline]
    pub(crate) fn retransmission(&self, slot: u64) -> u64 {
        slot + u64::from(self.retransmit[self.place(slot)])
    }

    /// The slot of the block that is granted in response to a request or report sent in `slot`.
    #[inline]
    pub(crate) fn response(&self, slot: u64) -> u64 {
        slot + u64::from(self.respond[self.place(slot)])
    }

    /// Whether users need grants before they can send.
    pub(crate) fn has_grants(&self) -> bool {
        !self.respond.is_empty()
    }
}

impl Band {
    /// Block size in a slot of this capacity class.
    #[inline]
    pub(crate) fn size(&self, class: u8, scheme: u8, units: u16) -> Size {
        self.sizes.size(class, scheme, units)
    }

    /// Minimum number of units for a block with any payload; all units if no number suffices.
    #[inline]
    pub(crate) fn least_units(&self, class: u8, scheme: u8) -> u16 {
        self.sizes.least_units[self.sizes.row(class, scheme)]
    }

    /// Minimum number of units, at least `least`, for a block with `bytes` of payload; all units
    /// if no number suffices.
    pub(crate) fn units_for(&self, class: u8, scheme: u8, bytes: u64, least: u16) -> u16 {
        let fits = |units| u64::from(self.size(class, scheme, units).payload_bytes) >= bytes;
        let most = self.units;
        if most <= least || !fits(most - 1) {
            return most;
        }
        let (mut few, mut enough) = (least - 1, most - 1);
        while enough - few > 1 {
            let middle = few + (enough - few) / 2;
            if fits(middle) { enough = middle } else { few = middle }
        }
        enough
    }
}

/// For each slot of the pattern, the number of slots to the end of a response: first to the next
/// slot of `answer` that is at least `after` slots later, and then to the next slot of `own` that
/// is at least `then` slots later.
///
/// The results for slots that are not in `own` are not used.
fn round_trips(own: &[u8], answer: &[u8], after: u32, then: u32) -> Vec<u32> {
    let next = |classes: &[u8], from: u32| {
        let is_right = |&slot: &u32| classes[slot as usize % classes.len()] > 0;
        (from..).find(is_right).expect("the pattern has a slot for each direction")
    };
    (0..own.len() as u32).map(|slot| next(own, next(answer, slot + after) + then) - slot).collect()
}

/// For each slot of the pattern, the number of slots to the next slot with data; the pattern's
/// length if no slot has data.
fn ahead(classes: &[u8]) -> Vec<u16> {
    let to_next = |slot| {
        let slots = classes.iter().cycle().skip(slot).take(classes.len());
        slots.take_while(|&&class| class == 0).count() as u16
    };
    (0..classes.len()).map(to_next).collect()
}

/// For each slot, the number of slots back to the previous slot with data; the pattern must
/// contain one.
fn behind(classes: &[u8]) -> Vec<u16> {
    let to_last = |slot| {
        let before = classes.iter().rev().cycle().skip(classes.len() - slot);
        1 + before.take(classes.len()).take_while(|&&class| class == 0).count() as u16
    };
    (0..classes.len()).map(to_last).collect()
}

/// Checks that the pattern has a valid length and a slot for this direction.
fn check_pattern(classes: &[u8], direction: Direction) -> Result<(), CellError> {
    if classes.len() <= 1000 && classes.iter().any(|&class| class > 0) {
        Ok(())
    } else {
        Err(CellError::EmptyPattern(direction))
    }
}
