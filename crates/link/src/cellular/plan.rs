//! What one direction of a technology can do: when, how much at once, and how soon it answers.

mod lte;
mod nr;
mod technology;
mod umts;

use cwndlab_units::{Duration, Time};

pub(crate) use technology::plans;

use super::error::CellError;
use crate::Direction;
use crate::channel::Coding;

/// One direction of a technology, without state.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Length of a slot: the time between two decisions of the scheduler.
    pub(crate) interval: Duration,
    /// By slot of the pattern: 0 for one without room for data of this direction, else how good it is.
    classes: Vec<u8>,
    /// By slot of the pattern: slots to the first with room for data, which may be itself.
    ahead: Vec<u16>,
    /// By slot of the pattern: slots back to the last with room for data before it.
    behind: Vec<u16>,
    /// Whether each user has all units for itself.
    pub(crate) is_dedicated: bool,
    /// Slots from one block for a user to the next.
    pub(crate) spacing: u64,
    /// From a packet's arrival until a block can carry it.
    pub(crate) processing: Duration,
    /// From the end of a block's slot until its packets are out.
    pub(crate) decode: Duration,
    /// HARQ processes of a user.
    pub(crate) processes: usize,
    /// By slot of the pattern: slots from a block to its retransmission.
    retransmit: Vec<u32>,
    /// By slot of the pattern: slots from what a user sends to the block that answers it; empty if
    /// nobody needs leave.
    respond: Vec<u32>,
    /// What each packet costs besides its own bytes.
    pub(crate) packet_overhead: u32,
    /// How long a grant grows from one unit of payload to all, and that unit.
    pub(crate) ramp: Option<Ramp>,
    /// One for each carrier, whose slots are the same.
    pub(crate) bands: Vec<Band>,
}

/// How much the blocks of a carrier hold.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    /// Parts in which it is given away.
    pub(crate) units: u16,
    pub(crate) coding: Coding,
    sizes: Sizes,
}

/// What a block has room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Size {
    /// The standard's transport block size.
    pub(crate) bits: u32,
    /// What is left for packets.
    pub(crate) payload_bytes: u32,
}

/// What blocks have room for, by class, scheme and units.
#[derive(Clone, Debug)]
struct Sizes {
    schemes: u8,
    units: u16,
    /// By class less 1, scheme, and units less 1.
    table: Vec<Size>,
    /// By class less 1, and scheme.
    least_units: Vec<u16>,
}

impl Sizes {
    /// The sizes of so many classes, schemes and units. No user is given fewer than `least` units,
    /// if there are so many.
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

/// HSUPA's grant after a pause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ramp {
    pub(crate) length: Duration,
    pub(crate) least_bytes: u32,
}

impl Plan {
    /// How good a slot is: 0 if it is not of this direction.
    #[inline]
    pub(crate) fn class(&self, slot: u64) -> u8 {
        self.classes[self.place(slot)]
    }

    #[inline]
    fn place(&self, slot: u64) -> usize {
        if self.classes.len() == 1 { 0 } else { (slot % self.classes.len() as u64) as usize }
    }

    /// The first slot of this direction that is not before `slot`.
    #[inline]
    pub(crate) fn next_slot(&self, slot: u64) -> u64 {
        slot + u64::from(self.ahead[self.place(slot)])
    }

    /// The last slot of this direction before `slot`, if there is one.
    #[inline]
    pub(crate) fn slot_before(&self, slot: u64) -> Option<u64> {
        slot.checked_sub(u64::from(self.behind[self.place(slot)]))
    }

    /// The first slot of this direction that does not begin before `at`.
    pub(crate) fn slot_from(&self, at: Time) -> u64 {
        self.next_slot(at.as_nanos().div_ceil(self.interval.as_nanos()))
    }

    /// When a slot begins.
    #[inline]
    pub(crate) fn start(&self, slot: u64) -> Time {
        Time::from_nanos(slot.saturating_mul(self.interval.as_nanos()))
    }

    /// When the packets of a block sent in `slot` are out.
    #[inline]
    pub(crate) fn decoded_at(&self, slot: u64) -> Time {
        self.start(slot + 1) + self.decode
    }

    /// When a block sent in `slot` may be sent again.
    #[inline]
    pub(crate) fn retransmission(&self, slot: u64) -> u64 {
        slot + u64::from(self.retransmit[self.place(slot)])
    }

    /// When what a user sends in `slot` is answered by a block that it may send.
    #[inline]
    pub(crate) fn response(&self, slot: u64) -> u64 {
        slot + u64::from(self.respond[self.place(slot)])
    }

    /// Whether users need leave to send.
    pub(crate) fn has_grants(&self) -> bool {
        !self.respond.is_empty()
    }
}

impl Band {
    /// What a block has room for in a slot of a class.
    #[inline]
    pub(crate) fn size(&self, class: u8, scheme: u8, units: u16) -> Size {
        self.sizes.size(class, scheme, units)
    }

    /// The fewest units that one user is given whose block has room for anything; all if none has.
    #[inline]
    pub(crate) fn least_units(&self, class: u8, scheme: u8) -> u16 {
        self.sizes.least_units[self.sizes.row(class, scheme)]
    }

    /// The fewest units, from `least` on, whose block has room for `bytes`; all if none has.
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

/// Slots from each slot of the pattern through the answers of both sides: to the next slot of
/// `answer` not before `after` slots later, and from there to the next of `own` not before `then`.
///
/// Nothing is asked of slots that are not of `own`.
fn round_trips(own: &[u8], answer: &[u8], after: u32, then: u32) -> Vec<u32> {
    let next = |classes: &[u8], from: u32| {
        let is_right = |&slot: &u32| classes[slot as usize % classes.len()] > 0;
        (from..).find(is_right).expect("the pattern has a slot for each direction")
    };
    (0..own.len() as u32).map(|slot| next(own, next(answer, slot + after) + then) - slot).collect()
}

/// Slots from each slot of the pattern to the next with room; as many as there are if none has.
fn ahead(classes: &[u8]) -> Vec<u16> {
    let to_next = |slot| {
        let slots = classes.iter().cycle().skip(slot).take(classes.len());
        slots.take_while(|&&class| class == 0).count() as u16
    };
    (0..classes.len()).map(to_next).collect()
}

/// Slots from each slot of the pattern back to the last with room before it; the pattern has one.
fn behind(classes: &[u8]) -> Vec<u16> {
    let to_last = |slot| {
        let before = classes.iter().rev().cycle().skip(classes.len() - slot);
        1 + before.take(classes.len()).take_while(|&&class| class == 0).count() as u16
    };
    (0..classes.len()).map(to_last).collect()
}

/// The direction's slots, for errors.
fn check_pattern(classes: &[u8], direction: Direction) -> Result<(), CellError> {
    if classes.len() <= 1000 && classes.iter().any(|&class| class > 0) {
        Ok(())
    } else {
        Err(CellError::EmptyPattern(direction))
    }
}
