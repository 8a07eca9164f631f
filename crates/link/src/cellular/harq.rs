//! Hybrid ARQ: the stop-and-wait processes of one user in one direction.

use std::collections::VecDeque;

use super::bearer::Range;
use crate::channel::Energy;

/// Busy processes, and blocks to send again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Harq {
    /// Slots at which the busy processes become free, in order.
    busy_until: VecDeque<u64>,
    /// Blocks to send again, in the order in which they are due.
    pending: VecDeque<Attempt>,
}

/// A block with the state of its transmissions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// Earliest slot of its transmission.
    pub(crate) slot: u64,
    pub(crate) range: Range,
    /// Class of the slot for which the block was built.
    pub(crate) class: u8,
    pub(crate) scheme: u8,
    pub(crate) units: u16,
    pub(crate) bits: u32,
    /// Number of the transmission, from 1 on.
    pub(crate) transmission: u8,
    /// Combined energy of the earlier transmissions.
    pub(crate) energy: Energy,
    /// Whether the block carries a buffer status report.
    pub(crate) tells: bool,
}

impl Harq {
    /// Releases processes that are free by `slot`. Returns whether one of `processes` is free then.
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

    /// The first block that is due by `slot`, if any.
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
