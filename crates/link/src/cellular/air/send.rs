//! Transmission of a block: its contents, whether it is decoded, and how the outcome is handled.

use cwndlab_units::Time;

use super::Air;
use crate::cellular::bearer::Range;
use crate::cellular::block::BlockRecord;
use crate::cellular::carrier::Carrier;
use crate::cellular::config::BlockErrors;
use crate::cellular::harq::Attempt;
use crate::channel::{Decibel, Energy};
use crate::packet::Packet;

impl<P: Packet> Air<P> {
    /// Sends a new block in this number of units; sends padding if no data wait.
    pub(super) fn send_new(
        &mut self,
        number: usize,
        slot: u64,
        now: Time,
        (index, scheme, class, units): (usize, u8, u8, u16),
    ) {
        let Carrier { band, radios, .. } = &mut self.carriers[number];
        let size = band.size(class, scheme, units);
        let user = &mut self.users[index];
        let room = user.room(&self.plan, now, size);
        let range = user.bearer.take(now, room.into(), &mut self.outbox);
        if let Some(access) = &mut user.access {
            access.handle_grant(&self.plan, slot, room.into(), range.is_some());
        }
        radios[index].next_block = slot + self.plan.spacing;
        let Some(range) = range else {
            self.handle_padding(slot, now, index, scheme, units, size.bits);
            return;
        };
        let spare = u64::from(room).saturating_sub(range.end - range.start);
        let tells = match &mut user.access {
            Some(access) => access.tells(now, spare, user.bearer.waiting(now) == 0),
            None => false,
        };
        let (bits, transmission, energy) = (size.bits, 1, Energy::default());
        let attempt =
            Attempt { slot, range, class, scheme, units, bits, transmission, energy, tells };
        self.send(number, slot, now, index, attempt);
    }

    /// Handles a grant that was not needed: if the block fails, no data are lost.
    fn handle_padding(
        &mut self,
        slot: u64,
        now: Time,
        index: usize,
        scheme: u8,
        units: u16,
        bits: u32,
    ) {
        if let Some(access) = &mut self.users[index].access {
            access.handle_report(&self.plan, slot, 0);
        }
        let range = Range { start: 0, end: 0 };
        let (class, transmission, energy, tells) = (1, 1, Energy::default(), true);
        let attempt =
            Attempt { slot, range, class, scheme, units, bits, transmission, energy, tells };
        self.record(now, index, &attempt, true, 0.0);
    }

    /// Sends a block, decides whether it is decoded, and handles the outcome.
    pub(super) fn send(
        &mut self,
        number: usize,
        slot: u64,
        now: Time,
        index: usize,
        attempt: Attempt,
    ) {
        let Attempt { range, transmission, .. } = attempt;
        let carrier = &mut self.carriers[number];
        let decibels = self.blocks.is_some().then(|| carrier.radios[index].sinr.decibels_at(now));
        let energy = match &self.rules.errors {
            BlockErrors::Curves => carrier.decode(index, slot, now, &attempt),
            BlockErrors::Given { ppb } => {
                let rate = ppb[usize::from(transmission).min(ppb.len()) - 1];
                (carrier.radios[index].draws.bits(slot) < rate.threshold()).then(Energy::default)
            }
        };
        let is_decoded = energy.is_none();
        let (user, radio) = (&mut self.users[index], &mut carrier.radios[index]);
        if transmission == 1 {
            radio.adaptation.learn(&carrier.band.coding, is_decoded);
        }
        let out_at = self.plan.decoded_at(slot);
        let is_given_up = transmission >= self.rules.transmissions
            || radio.feedback.bits(slot) < self.rules.feedback_error;
        if is_decoded {
            user.bearer.handle_decoded(out_at, range, &mut self.outbox);
        } else if is_given_up {
            user.bearer.handle_failed(out_at, range, &mut self.outbox);
        }
        let again = self.plan.retransmission(slot);
        if is_decoded || is_given_up {
            if self.plan.processes < usize::MAX {
                radio.harq.set_busy(again);
            }
            if let Some(access) = &mut user.access
                && attempt.tells
            {
                let waiting = user.bearer.waiting(now);
                access.handle_report(&self.plan, slot, waiting);
            }
        } else {
            let (transmission, energy) = (transmission + 1, energy.unwrap_or_default());
            radio.harq.set_pending(Attempt { slot: again, transmission, energy, ..attempt });
        }
        user.bearer.active_at = user.bearer.active_at.max(now);
        self.record(now, index, &attempt, is_decoded, decibels.unwrap_or(0.0));
    }

    /// Records a transmission of a block, if blocks are recorded.
    fn record(&mut self, at: Time, index: usize, attempt: &Attempt, is_decoded: bool, sinr: f64) {
        let Some(blocks) = &mut self.blocks else { return };
        blocks.push(BlockRecord {
            at,
            direction: self.direction,
            port: index as u16 + 1,
            scheme: attempt.scheme,
            units: attempt.units,
            bits: attempt.bits,
            payload_bytes: (attempt.range.end - attempt.range.start) as u32,
            transmission: attempt.transmission,
            is_decoded,
            sinr: Decibel::from_milli((sinr * 1000.0) as i32),
        });
    }
}
