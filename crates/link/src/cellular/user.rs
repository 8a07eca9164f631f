//! The state of a measured user in one direction, as far as it does not depend on the carrier.

use cwndlab_units::{Duration, Time};

use super::access::Access;
use super::bearer::Bearer;
use super::plan::{Plan, Size};
use crate::packet::Packet;

/// A measured user of a cell, in one direction.
#[derive(Clone, Debug)]
pub(crate) struct User<P> {
    pub(crate) bearer: Bearer<P>,
    pub(crate) access: Option<Access>,
    /// Time until which the user cannot be served.
    pub(crate) blocked_until: Time,
    /// Time since when the user's packets have arrived without a pause.
    pub(crate) busy_since: Time,
}

/// Pause after which HSUPA's grant restarts at its smallest size.
const RAMP_PAUSE: Duration = Duration::from_millis(200);

impl<P: Packet> User<P> {
    /// Records that a packet arrived for the queue.
    #[inline]
    pub(crate) fn note_arrival(&mut self, at: Time) {
        if at.saturating_since(self.bearer.active_at) > RAMP_PAUSE {
            self.busy_since = at;
        }
    }

    /// The first slot, not before `fresh`, in which the user needs work. `next_block` is the first
    /// slot for a new block, and `again` is the slot of the next retransmission.
    pub(crate) fn next_slot(&self, plan: &Plan, fresh: u64, next_block: u64, again: u64) -> u64 {
        let waits_until = self.bearer.waits_until();
        let mut next = if waits_until.is_never() {
            u64::MAX
        } else if waits_until <= plan.start(fresh) {
            fresh
        } else {
            plan.slot_from(waits_until)
        };
        if next != u64::MAX {
            next = next.max(next_block);
            if let Some(access) = &self.access {
                next = next.max(access.next_slot());
            }
        }
        next = next.min(again);
        if next != u64::MAX && self.blocked_until > plan.start(next.max(fresh)) {
            return plan.slot_from(self.blocked_until);
        }
        next.max(fresh)
    }

    /// Room for payload in a new block: less than the block's size while HSUPA's grant grows.
    pub(crate) fn room(&self, plan: &Plan, now: Time, size: Size) -> u32 {
        let Some(ramp) = plan.ramp else { return size.payload_bytes };
        let since = now.saturating_since(self.busy_since).as_nanos();
        let length = ramp.length.as_nanos();
        let grown = u64::from(size.payload_bytes) * since.min(length) / length;
        let whole = grown as u32 / ramp.least_bytes * ramp.least_bytes;
        whole.clamp(ramp.least_bytes, size.payload_bytes)
    }
}
