//! Hybrid ARQ: the stop-and-wait processes of one user in one direction.

use std::collections::VecDeque;

use super::bearer::Range;
use crate::channel::Energy;

/// Busy HARQ processes of a user, and blocks that must be sent again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Harq {
    /// Slots in which the busy processes become free, in ascending order.
    busy_until: VecDeque<u64>,
    /// Blocks that must be sent again, in the order in which they are due.
    pending: VecDeque<Attempt>,
}

/// A block and the state of its transmissions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// Earliest slot for the block's next transmission.
    pub(crate) slot: u64,
    pub(crate) range: Range,
    /// Capacity class of the slot for which the block was built.
    pub(crate) class: u8,
    pub(crate) scheme: u8,
    pub(crate) units: u16,
    pub(crate) bits: u32,
    /// Number of the block's next transmission, from 1.
    pub(crate) transmission: u8,
    /// Combined energy of the block's earlier transmissions.
    pub(crate) energy: Energy,
    /// Whether the block carries a buffer status report.
    pub(crate) tells: bool,
}

impl Harq {
    /// Frees the processes that finish by `slot`. Returns whether one of `processes` processes is
    /// free then.
    pub(crate) fn free_one(&mut self, slot: u64, processes: usize) -> bool {
        while self.busy_until.front().is_some_and(|&until| until <= slot) {
            self.busy_until.pop_front();
        }
        self.busy_until.len() + self.pending.len() < processes
    }

    /// Occupies a process until the outcome of its block is known.
    pub(crate) fn set_busy(&mut self, until: u64) {
        self.busy_until.push_back(until);
    }

    /// Schedules a block for retransmission, which keeps its process occupied.
    pub(crate) fn set_pending(&mut self, attempt: Attempt) {
        let place = self.pending.partition_point(|other| other.slot <= attempt.slot);
        self.pending.insert(place, attempt);
    }

    /// The first block that must be sent again by `slot`, if any.
    pub(crate) fn due(&self, slot: u64) -> Option<&Attempt> {
        self.pending.front().filter(|attempt| attempt.slot <= slot)
    }

    pub(crate) fn pop(&mut self) -> Option<Attempt> {
        self.pending.pop_front()
    }

    /// Slot of the next retransmission; `u64::MAX` if none is pending.
    pub(crate) fn next_slot(&self) -> u64 {
        self.pending.front().map_or(u64::MAX, |attempt| attempt.slot)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Resets the state when the user leaves the cell.
    pub(crate) fn clear(&mut self) {
        self.busy_until.clear();
        self.pending.clear();
    }
}
