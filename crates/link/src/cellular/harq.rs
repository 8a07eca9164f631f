//! Hybrid ARQ: stop-and-wait processes of one user in one direction.

use std::collections::VecDeque;

use super::bearer::Range;
use crate::channel::Energy;

/// The processes that are busy and the blocks that are to be sent again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Harq {
    /// When each busy process is free again, in order.
    busy_until: VecDeque<u64>,
    /// In the order in which they are due.
    pending: VecDeque<Attempt>,
}

/// A block with what is known of its transmissions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// The slot from which on it is sent.
    pub(crate) slot: u64,
    pub(crate) range: Range,
    /// The class of the slot that it was made for.
    pub(crate) class: u8,
    pub(crate) scheme: u8,
    pub(crate) units: u16,
    pub(crate) bits: u32,
    /// Which transmission this is, from 1 on.
    pub(crate) transmission: u8,
    /// That of those before.
    pub(crate) energy: Energy,
    /// Whether it carries a report of what waits.
    pub(crate) tells: bool,
}

impl Harq {
    /// Releases the processes that are done by a slot. `true` if one of `processes` is free then.
    pub(crate) fn free_one(&mut self, slot: u64, processes: usize) -> bool {
        while self.busy_until.front().is_some_and(|&until| until <= slot) {
            self.busy_until.pop_front();
        }
        self.busy_until.len() + self.pending.len() < processes
    }

    /// A process waits for what becomes of its block.
    pub(crate) fn set_busy(&mut self, until: u64) {
        self.busy_until.push_back(until);
    }

    /// A block is to be sent again; its process, which is busy anyway, is this.
    pub(crate) fn set_pending(&mut self, attempt: Attempt) {
        let place = self.pending.partition_point(|other| other.slot <= attempt.slot);
        self.pending.insert(place, attempt);
    }

    /// The block that is due in a slot, if any.
    pub(crate) fn due(&self, slot: u64) -> Option<&Attempt> {
        self.pending.front().filter(|attempt| attempt.slot <= slot)
    }

    pub(crate) fn pop(&mut self) -> Option<Attempt> {
        self.pending.pop_front()
    }

    /// The slot in which a block is due.
    pub(crate) fn next_slot(&self) -> u64 {
        self.pending.front().map_or(u64::MAX, |attempt| attempt.slot)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Forgets everything, as when the cell is left.
    pub(crate) fn clear(&mut self) {
        self.busy_until.clear();
        self.pending.clear();
    }
}
