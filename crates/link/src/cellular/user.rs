//! A user with a port in one direction: all that is its own.

use cwndlab_units::{Duration, Time};

use super::access::Access;
use super::bearer::Bearer;
use super::harq::{Attempt, Harq};
use super::plan::{Plan, Size};
use crate::channel::{Adaptation, Coding, Draws, Sinr, ratio};
use crate::packet::Packet;

/// A user with a port, in this direction.
#[derive(Clone, Debug)]
pub(crate) struct User<P> {
    pub(crate) bearer: Bearer<P>,
    pub(crate) harq: Harq,
    pub(crate) access: Option<Access>,
    pub(crate) sinr: Sinr,
    pub(crate) adaptation: Adaptation,
    pub(crate) draws: Draws,
    pub(crate) feedback: Draws,
    /// Before this there is no service.
    pub(crate) blocked_until: Time,
    /// The first slot that may carry a block for it.
    pub(crate) next_block: u64,
    /// Since when it has sent without a pause.
    pub(crate) busy_since: Time,
}

/// A pause after which HSUPA's grant begins small again.
pub(crate) const RAMP_PAUSE: Duration = Duration::from_millis(200);

impl<P: Packet> User<P> {
    /// The first slot from `fresh` on in which it has something to do.
    pub(crate) fn next_slot(&self, plan: &Plan, fresh: u64) -> u64 {
        let waits_until = self.bearer.waits_until();
        let mut next = if waits_until.is_never() {
            u64::MAX
        } else if waits_until <= plan.start(fresh) {
            fresh
        } else {
            plan.slot_from(waits_until)
        };
        if next != u64::MAX {
            next = next.max(self.next_block);
            if let Some(access) = &self.access {
                next = next.max(access.next_slot());
            }
        }
        next = next.min(self.harq.next_slot());
        if next != u64::MAX && self.blocked_until > plan.start(next.max(fresh)) {
            return plan.slot_from(self.blocked_until);
        }
        next.max(fresh)
    }

    /// Decodes a block that is sent in a slot, which begins at `now`, by its scheme's error curve.
    /// The ratios of its transmissions, added up, if that fails.
    pub(crate) fn decode(
        &mut self,
        coding: &Coding,
        slot: u64,
        now: Time,
        attempt: &Attempt,
    ) -> Option<f64> {
        let Attempt { scheme, bits, transmission, energy, .. } = *attempt;
        let draw = self.draws.unit(slot);
        let failed = self.sinr.unless(now, |decibels| {
            let combined = match transmission {
                1 => decibels,
                _ => coding.combined(scheme, energy + ratio(decibels), transmission),
            };
            coding.is_decoded(scheme, combined, bits, draw)
        });
        failed.map(|decibels| energy + ratio(decibels))
    }

    /// What a new block has room for: less than its size while HSUPA's grant grows.
    pub(crate) fn room(&self, plan: &Plan, now: Time, size: Size) -> u32 {
        let Some(ramp) = plan.ramp else { return size.payload_bytes };
        let since = now.saturating_since(self.busy_since).as_nanos();
        let length = ramp.length.as_nanos();
        let grown = u64::from(size.payload_bytes) * since.min(length) / length;
        let whole = grown as u32 / ramp.least_bytes * ramp.least_bytes;
        whole.clamp(ramp.least_bytes, size.payload_bytes)
    }
}
