//! One direction of a cell's radio: for each slot, which users are served, the blocks that are
//! sent, and whether they are decoded.
//!
//! Slots in which no measured user is active are skipped; this does not affect background users.

mod send;

use cwndlab_units::Time;

use super::access::Access;
use super::aqm::Aqm;
use super::bearer::Bearer;
use super::block::BlockRecord;
use super::carrier::Carrier;
use super::check::check_direction;
use super::config::{BlockErrors, CellConfig};
use super::core::Core;
use super::error::CellError;
use super::outbox::Outbox;
use super::plan::Plan;
use super::scheduler::Candidate;
use super::user::User;
use crate::channel::Draws;
use crate::event::DropReason;
use crate::packet::{Admission, Packet};
use crate::{Backlog, Direction};

/// One direction of a cell's radio.
#[derive(Clone, Debug)]
pub(crate) struct Air<P> {
    direction: Direction,
    pub(crate) plan: Plan,
    rules: Rules,
    pub(crate) users: Vec<User<P>>,
    carriers: Vec<Carrier>,
    pub(crate) outbox: Outbox,
    /// The next slot in which there is work; `u64::MAX` if there is none.
    next: u64,
    /// Start time of the slot `next`; never if there is no such slot.
    slot_at: Time,
    /// The first slot that has not been processed yet.
    fresh: u64,
    /// Data that become ready after this time need no slot before `next`.
    sooner_until: Time,
    /// Time at which the next lost block stops delaying later data.
    timer: Time,
    /// Records of the blocks sent, if blocks are recorded.
    pub(crate) blocks: Option<Vec<BlockRecord>>,
    shares: Vec<(Candidate, u16)>,
}

/// How blocks fail.
#[derive(Clone, Debug)]
struct Rules {
    errors: BlockErrors,
    transmissions: u8,
    /// Probability that the sender receives the report of a failed transmission as a success, in
    /// units of 2^-64.
    feedback_error: u64,
}

impl<P: Packet> Air<P> {
    pub(crate) fn new(
        direction: Direction,
        mut plan: Plan,
        cell: &CellConfig,
        core: Option<Core>,
        run_seed: u64,
        name: &str,
    ) -> Result<Self, CellError> {
        let (config, side) = match direction {
            Direction::Forward => (&cell.downlink, "down"),
            Direction::Reverse => (&cell.uplink, "up"),
        };
        check_direction(direction, config, &plan)?;
        let bands = core::mem::take(&mut plan.bands);
        let mut users = Vec::new();
        for index in 0..cell.users.len() {
            let component = format!("{name}.{}", index + 1);
            let draws = |what| Draws::new(run_seed, &format!("{component}.{side}.{what}"));
            let access = cell
                .access
                .as_ref()
                .filter(|_| plan.has_grants())
                .map(|access| Access::new(access, &plan, draws("request").unit(0)));
            users.push(User {
                bearer: Bearer::new(
                    config,
                    plan.processing,
                    plan.packet_overhead,
                    Aqm::new(config, plan.processing, run_seed, &format!("{component}.{side}.aqm")),
                ),
                access,
                blocked_until: Time::ZERO,
                busy_since: Time::ZERO,
            });
        }
        let carriers = bands.into_iter().enumerate().map(|(number, band)| match number {
            0 => Carrier::new(band, cell, direction, side, run_seed, name),
            _ => {
                let side = format!("{side}.{}", number + 1);
                Carrier::new(band, cell, direction, &side, run_seed, name)
            }
        });
        Ok(Self {
            direction,
            rules: Rules {
                errors: config.block_errors.clone(),
                transmissions: config.transmissions,
                feedback_error: config.feedback_error.threshold(),
            },
            users,
            carriers: carriers.collect(),
            outbox: Outbox::new(core),
            next: u64::MAX,
            slot_at: Time::NEVER,
            fresh: 0,
            sooner_until: Time::NEVER,
            timer: Time::NEVER,
            blocks: None,
            shares: Vec::new(),
            plan,
        })
    }

    /// Time at which the radio next has work.
    #[inline]
    pub(crate) fn next_at(&self) -> Time {
        self.slot_at.min(self.timer)
    }

    /// Schedules the slot for data that arrive at `at`. Returns whether this slot may be earlier
    /// than the next slot so far.
    #[inline(always)]
    pub(crate) fn expect(&mut self, at: Time) -> bool {
        let earliest = at + self.plan.processing;
        // Skips the division in the usual case, in which a slot is due soon anyway.
        let is_sooner = earliest <= self.sooner_until;
        if is_sooner {
            self.hasten(earliest);
        }
        is_sooner
    }

    /// Schedules the first slot at or after `earliest`.
    #[inline(never)]
    fn hasten(&mut self, earliest: Time) {
        let slot = self.plan.slot_from(earliest).max(self.plan.next_slot(self.fresh));
        self.set_next(self.next.min(slot));
    }

    fn set_next(&mut self, slot: u64) {
        self.next = slot;
        if slot == u64::MAX {
            (self.slot_at, self.sooner_until) = (Time::NEVER, Time::NEVER);
            return;
        }
        let before = self.plan.slot_before(slot).filter(|&before| before >= self.fresh);
        self.slot_at = self.plan.start(slot);
        self.sooner_until = before.map_or(Time::ZERO, |before| self.plan.start(before));
    }

    /// Time at which the drop or mark of an arriving packet is reported: downlink packets are
    /// handled when the radio next works.
    fn seen_at(&self, at: Time) -> Time {
        match self.direction {
            Direction::Forward => self.plan.start(self.plan.slot_from(at + self.plan.processing)),
            Direction::Reverse => at,
        }
    }

    /// Passes an arriving packet to a queue with active queue management.
    #[cold]
    fn manage(&mut self, at: Time, (user, stage): (usize, u16), packet: P) -> Admission {
        let seen_at = self.seen_at(at);
        self.outbox.set_user(user, stage);
        let User { bearer, access, blocked_until, .. } = &mut self.users[user];
        let admission = bearer.manage(at, seen_at, packet, &mut self.outbox);
        if let Some(access) = access
            && admission != Admission::Dropped
        {
            access.ask(&self.plan, at.max(*blocked_until));
        }
        self.expect(at);
        admission
    }

    /// Drops a packet that arrives for or from a user.
    #[cold]
    pub(crate) fn drop_packet(
        &mut self,
        at: Time,
        (user, stage): (usize, u16),
        packet: &P,
        reason: DropReason,
    ) {
        let drops_at = self.seen_at(at);
        self.outbox.set_user(user, stage);
        self.users[user].bearer.drop_packet(drops_at, packet, reason, &mut self.outbox);
    }

    /// Handles a packet that arrives for or from a user; `stage` is the number of its stage in the
    /// link.
    #[inline(always)]
    pub(crate) fn handle_packet(
        &mut self,
        at: Time,
        (user, stage): (usize, u16),
        packet: P,
    ) -> Admission {
        self.users[user].note_arrival(at);
        let User { bearer, access, blocked_until, .. } = &mut self.users[user];
        if bearer.is_managed() {
            return self.manage(at, (user, stage), packet);
        }
        if let Some(reason) = bearer.drop_on_arrival(packet.wire_bytes()) {
            self.drop_packet(at, (user, stage), &packet, reason);
            self.expect(at);
            return Admission::Dropped;
        }
        bearer.enqueue(at, packet);
        if let Some(access) = access {
            access.ask(&self.plan, at.max(*blocked_until));
        }
        self.expect(at);
        Admission::Queued
    }

    /// Whether a batch of packets for a user can be queued without deciding on each packet.
    pub(crate) fn has_room(&self, user: usize, size: Backlog) -> bool {
        let User { bearer, access, .. } = &self.users[user];
        access.is_none() && bearer.has_room(size)
    }

    /// Queues a batch of packets for a user; the queue must have room for all of them.
    pub(crate) fn handle_packets(
        &mut self,
        at: Time,
        user: usize,
        size: Backlog,
        packets: impl Iterator<Item = P>,
    ) {
        let user = &mut self.users[user];
        user.note_arrival(at);
        user.bearer.enqueue_together(at, size, packets);
        self.expect(at);
    }

    /// Moves the first delivered packet to `place`; returns the time of delivery and the user.
    ///
    /// # Panics
    /// Panics if no packet has been delivered.
    #[inline]
    pub(crate) fn move_packet(&mut self, place: &mut Option<P>) -> (Time, u16) {
        let (at, user) = self.outbox.take_packet();
        self.users[usize::from(user)].bearer.move_packet(place);
        (at, user)
    }

    /// Suspends the service of a user until `until`.
    pub(crate) fn block(&mut self, user: usize, until: Time) {
        self.users[user].blocked_until = until;
    }

    /// Handles a user's handover to another cell.
    pub(crate) fn handle_handover(
        &mut self,
        now: Time,
        user: usize,
        stage: u16,
        is_lossless: bool,
    ) {
        self.outbox.set_user(user, stage);
        let User { bearer, access, .. } = &mut self.users[user];
        bearer.handle_handover(now, is_lossless, &mut self.outbox);
        for carrier in &mut self.carriers {
            carrier.radios[user].harq.clear();
        }
        if let Some(access) = access {
            access.clear();
        }
        self.plan_next();
    }

    /// Performs the work that is due at [`Air::next_at`]; `stage` returns the stage number of a
    /// user for events.
    pub(crate) fn work(&mut self, stage: impl Fn(usize) -> u16) {
        if self.timer < self.slot_at {
            self.run_timer(self.timer, stage);
        } else {
            self.run_slot(self.next, self.slot_at, stage);
        }
        self.plan_next();
    }

    fn run_timer(&mut self, now: Time, stage: impl Fn(usize) -> u16) {
        for (index, user) in self.users.iter_mut().enumerate() {
            if user.bearer.timer() <= now {
                self.outbox.set_user(index, stage(index));
                user.bearer.release(now, &mut self.outbox);
            }
        }
    }

    fn run_slot(&mut self, slot: u64, now: Time, stage: impl Fn(usize) -> u16) {
        self.fresh = slot + 1;
        for number in 0..self.carriers.len() {
            self.run_carrier(number, slot, now, &stage);
        }
    }

    /// Processes a slot of one carrier; data that still wait can use the next carrier.
    #[inline]
    fn run_carrier(&mut self, number: usize, slot: u64, now: Time, stage: &impl Fn(usize) -> u16) {
        let class = self.plan.class(slot);
        let carrier = &mut self.carriers[number];
        carrier.candidates.clear();
        let mut left = carrier.band.units;
        for index in 0..self.users.len() {
            let user = &mut self.users[index];
            if user.bearer.is_idle() && user.access.is_none() {
                continue;
            }
            self.outbox.set_user(index, stage(index));
            user.bearer.refresh(now, &mut self.outbox);
            let Carrier { band, scheduler, radios, candidates, .. } = &mut self.carriers[number];
            let radio = &mut radios[index];
            if user.blocked_until > now || radio.next_block > slot {
                continue;
            }
            if let Some(attempt) = radio.harq.due(slot) {
                let units = attempt.units;
                let fits = attempt.class <= class && (units <= left || self.plan.is_dedicated);
                if fits {
                    let attempt = radio.harq.pop().expect("a slot is due at this time");
                    if !self.plan.is_dedicated {
                        left -= units;
                    }
                    scheduler.note(index, attempt.bits);
                    self.send(number, slot, now, index, attempt);
                }
                continue;
            }
            if !radio.harq.free_one(slot, self.plan.processes) {
                continue;
            }
            let waiting = user.bearer.waiting(now);
            let wanted = match &mut user.access {
                Some(access) => {
                    let wanted = access.wanted(slot, waiting);
                    if wanted == 0 && waiting > 0 && radio.harq.is_idle() {
                        access.ask(&self.plan, now);
                    }
                    wanted
                }
                None => waiting,
            };
            if wanted == 0 {
                continue;
            }
            let Some(scheme) = radio.adaptation.scheme(&band.coding, now) else { continue };
            if self.plan.is_dedicated {
                self.send_new(number, slot, now, (index, scheme, class, 1));
                continue;
            }
            let full = band.size(class, scheme, band.units);
            if full.payload_bytes == 0 {
                // The slot is too short for so poor a channel; a later one has room.
                continue;
            }
            let full_bits = full.bits;
            let least = band.least_units(class, scheme);
            let units = band.units_for(class, scheme, wanted, least);
            candidates.push(Candidate { user: index, scheme, least, units, full_bits });
        }
        if !self.plan.is_dedicated {
            self.share(number, slot, now, class, left, stage);
        }
    }

    fn share(
        &mut self,
        number: usize,
        slot: u64,
        now: Time,
        class: u8,
        left: u16,
        stage: &impl Fn(usize) -> u16,
    ) {
        let carrier = &mut self.carriers[number];
        carrier.add_background(class, now);
        if let &[candidate] = carrier.candidates.as_slice() {
            if let Some(units) = carrier.scheduler.serve_alone(&candidate, left) {
                self.serve(number, slot, now, class, (candidate, units), stage);
            }
        } else {
            let mut shares = core::mem::take(&mut self.shares);
            carrier.scheduler.share(&mut carrier.candidates, left, |candidate, units| {
                shares.push((*candidate, units));
            });
            for share in shares.drain(..) {
                self.serve(number, slot, now, class, share, stage);
            }
            self.shares = shares;
        }
        self.carriers[number].scheduler.end_slot(slot);
    }

    /// Allocates units of the band to a candidate.
    fn serve(
        &mut self,
        number: usize,
        slot: u64,
        now: Time,
        class: u8,
        (candidate, units): (Candidate, u16),
        stage: &impl Fn(usize) -> u16,
    ) {
        let Candidate { user, scheme, .. } = candidate;
        let Carrier { band, scheduler, .. } = &mut self.carriers[number];
        scheduler.note(user, band.size(class, scheme, units).bits);
        if user < self.users.len() {
            self.outbox.set_user(user, stage(user));
            self.send_new(number, slot, now, (user, scheme, class, units));
        }
    }

    /// Determines the next slot with work.
    pub(crate) fn plan_next(&mut self) {
        let mut next = u64::MAX;
        let mut timer = Time::NEVER;
        for (index, user) in self.users.iter().enumerate() {
            if user.bearer.is_idle() {
                continue;
            }
            let radios = || self.carriers.iter().map(|carrier| &carrier.radios[index]);
            let fresh = radios().map(|radio| radio.next_block).min().unwrap_or(0);
            let again = radios().map(|radio| radio.harq.next_slot()).min().unwrap_or(u64::MAX);
            next = next.min(user.next_slot(&self.plan, self.fresh, fresh, again));
            timer = timer.min(user.bearer.timer());
        }
        self.timer = timer;
        self.set_next(if next == u64::MAX { next } else { self.plan.next_slot(next) });
    }
}
