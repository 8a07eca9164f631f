//! A radio cell: UMTS with HSPA, LTE or 5G NR, both directions and all users in one link.
//!
//! ```text
//!  port 0 -> core -> [queue of each user] -> scheduler -> block -> HARQ -> RLC, in order -> port 1..n
//!  port 0 <- core <- RLC, in order <- HARQ <- block <- scheduler, grants <- [queue of each user] <-
//! ```
//!
//! In every slot, the scheduler allocates parts of the band to users. The size of a transport
//! block follows from the allocated part, the modulation and coding scheme that fits the channel
//! reports, and the tables of the standard. Blocks carry packets as bytes of a stream. Whether a
//! block is decoded depends on its user's channel. A failed block is sent again one HARQ round
//! trip later, and the data behind it wait. A transport protocol sees bursts as long as a slot,
//! stalls of a HARQ round trip, a separate queue for each user, and uplink packets that leave
//! together because a grant arrived.
//!
//! All decisions for a slot are made at its beginning, including whether the block is decoded,
//! which follows from the seed and the slot. A cell therefore costs one step for each slot in
//! which a user is active, and nothing for other slots. The model leaves out control channels and
//! their errors, random access, frequency selectivity, power control, RLC's window, and RLC's
//! limit on retransmissions.

mod access;
mod air;
mod aqm;
mod bearer;
mod block;
mod carrier;
mod check;
mod coming;
mod config;
mod core;
mod demand;
mod error;
mod harq;
mod mobility;
mod outbox;
mod passage;
mod plan;
mod radio;
mod scheduler;
mod user;

use cwndlab_units::{Output, Stream, Time};

pub use block::BlockRecord;
pub use config::{
    AccessConfig, BackgroundConfig, BlockErrors, CellConfig, DirectionConfig, HandoverConfig,
    ReportsConfig, RlcConfig, RrcConfig, SchedulerConfig, UserConfig,
};
pub use error::CellError;
pub use radio::{LteConfig, NrConfig, NrDuplex, RadioConfig, SlotConfig, UmtsDownlink, UmtsUplink};

use self::core::Core;
use crate::counters::{Backlog, Counters};
use crate::event::LinkEvent;
use crate::packet::{Admission, Packet};
use crate::policer::Policer;
use crate::{Direction, Link, Probability, Stages};
use air::Air;
use bearer::Bearer;
use coming::Coming;
use mobility::Mobility;

/// A radio cell: port 0 is the network's side, and the ports from 1 on are users.
///
/// Stage `2 (p - 1)` is the downlink to port `p`, and stage `2 (p - 1) + 1` is the uplink from
/// this port.
#[derive(Clone, Debug)]
pub struct Cell<P> {
    wake: Time,
    /// Time at which the next action is due, except for polling a packet that is ready to leave.
    rest_at: Time,
    /// Time at which the radio or a handover is next due.
    due: Time,
    down: Air<P>,
    up: Air<P>,
    core: Core,
    /// Packets that cross the core network on their way to the cell.
    coming: Coming<P>,
    mobility: Vec<Mobility>,
    /// Whether users have RRC states, so that a time without traffic has consequences.
    may_sleep: bool,
    /// Time of the next handover of any user.
    handover_at: Time,
    /// Probability of loss before the queue: downlink, then uplink.
    losses: [Probability; 2],
    /// Random numbers for this loss, by user.
    loss_draws: Vec<[Stream; 2]>,
    /// Policer of each user; empty if users are not policed.
    policers: Vec<Policer>,
}

impl<P: Packet> Cell<P> {
    /// Creates the cell for the run with this seed; `name` is the prefix of the names of its
    /// random streams.
    ///
    /// # Errors
    /// Returns an error if the settings contradict each other or the standards.
    pub fn new(config: &CellConfig, run_seed: u64, name: &str) -> Result<Self, CellError> {
        check::check(config)?;
        let [down, up] = plan::plans(&config.radio)?;
        if up.has_grants() != config.access.is_some() {
            return Err(CellError::Access);
        }
        if let Some(access) = &config.access
            && access.request_period < up.interval
        {
            return Err(CellError::RequestPeriod(access.request_period));
        }
        let user = |index: usize| format!("{name}.{}", index + 1);
        let mobility: Vec<Mobility> = (0..config.users.len())
            .map(|index| Mobility::new(config.rrc, config.handover, run_seed, &user(index)))
            .collect();
        let losses = |index: usize| {
            ["down", "up"].map(|direction| {
                Stream::new(run_seed, &format!("{}.{direction}.loss", user(index)))
            })
        };
        let core_up = Core::new(&config.uplink, run_seed, &format!("{name}.up.core"));
        let mut cell = Self {
            wake: Time::NEVER,
            rest_at: Time::NEVER,
            due: Time::NEVER,
            down: Air::new(Direction::Forward, down, config, None, run_seed, name)?,
            up: Air::new(Direction::Reverse, up, config, Some(core_up), run_seed, name)?,
            core: Core::new(&config.downlink, run_seed, &format!("{name}.down.core")),
            coming: Coming::new(),
            handover_at: Time::NEVER,
            mobility,
            may_sleep: config.rrc.is_some(),
            losses: [config.downlink.residual_loss, config.uplink.residual_loss],
            loss_draws: (0..config.users.len()).map(losses).collect(),
            policers: (config.users.iter().zip(config.police.iter().cycle()))
                .map(|(_, police)| Policer::new(police))
                .collect(),
        };
        cell.find_handover();
        cell.due = cell.next_at();
        Ok(cell)
    }

    /// Starts recording every block.
    pub fn record_blocks(&mut self) {
        self.down.blocks = Some(Vec::new());
        self.up.blocks = Some(Vec::new());
    }

    /// Returns the blocks sent since the last call, downlink first; returns none unless
    /// [`Cell::record_blocks`] was called.
    pub fn take_blocks(&mut self) -> Vec<BlockRecord> {
        let mut blocks = Vec::new();
        for air in [&mut self.down, &mut self.up] {
            blocks.extend(air.blocks.iter_mut().flat_map(|blocks| blocks.drain(..)));
        }
        blocks
    }

    /// Time at which the radio or a handover is next due.
    fn next_at(&self) -> Time {
        self.down.next_at().min(self.up.next_at()).min(self.handover_at)
    }

    /// Updates the times of the next actions; needed after every change except the departure of a
    /// packet.
    #[inline]
    fn set_wake(&mut self) {
        let radio = self.down.next_at().min(self.up.next_at());
        self.due = radio.min(self.handover_at);
        let work_at = if radio.is_never() { radio } else { self.due };
        let event_at = self.down.outbox.event_at().min(self.up.outbox.event_at());
        self.rest_at = event_at.min(work_at);
        self.wake = self.packet_at().min(self.rest_at);
    }

    /// Time at which the first packet is ready to leave.
    #[inline]
    fn packet_at(&self) -> Time {
        self.down.outbox.packet_at().min(self.up.outbox.packet_at())
    }

    /// Time at which [`Cell::work`] is next due; never if only handovers remain.
    fn work_at(&self) -> Time {
        let radio = self.down.next_at().min(self.up.next_at());
        if radio.is_never() { radio } else { radio.min(self.handover_at) }
    }

    /// Admits the packets that have crossed the core network, and then performs the next action
    /// that is due.
    fn work(&mut self) {
        let due = self.next_at();
        self.admit_until(due);
        // An admitted packet may have found its user asleep, so that nothing is due yet.
        if self.handover_at <= due {
            self.begin_handover();
        } else if self.down.next_at() <= due {
            self.down.work(|user| 2 * user as u16);
            self.expect_next();
        } else if self.up.next_at() <= due {
            self.up.work(|user| 2 * user as u16 + 1);
        }
    }

    /// Performs all actions that are due until `now`.
    fn work_until(&mut self, now: Time) {
        while self.next_at() <= now {
            self.work();
        }
    }

    fn begin_handover(&mut self) {
        let at = self.handover_at;
        for index in 0..self.mobility.len() {
            if self.mobility[index].handover_at <= at {
                let is_lossless = self.mobility[index].begin_handover();
                let until = self.mobility[index].blocked_until;
                self.down.block(index, until);
                self.up.block(index, until);
                self.down.handle_handover(at, index, 2 * index as u16, is_lossless);
                self.up.handle_handover(at, index, 2 * index as u16 + 1, is_lossless);
            }
        }
        self.expect_next();
        self.find_handover();
    }

    /// Schedules the radio for the first packet that is still in the core network.
    fn expect_next(&mut self) {
        let first = self.coming.first_at();
        if !first.is_never() {
            self.down.expect(first);
        }
    }

    fn find_handover(&mut self) {
        let times = self.mobility.iter().map(|mobility| mobility.handover_at);
        self.handover_at = times.min().unwrap_or(Time::NEVER);
    }

    /// Wakes up a user for a packet, if the user had no traffic for long enough to sleep.
    #[inline(never)]
    fn wake_user(&mut self, at: Time, user: usize, direction: Direction) {
        let active = self.down.users[user].bearer.active_at;
        let active = active.max(self.up.users[user].bearer.active_at);
        let before = self.mobility[user].blocked_until;
        self.mobility[user].handle_packet(at, direction, active);
        let until = self.mobility[user].blocked_until;
        if until != before {
            self.down.block(user, until);
            self.up.block(user, until);
            self.down.plan_next();
            self.up.plan_next();
            self.expect_next();
        }
    }

    /// Does the work of [`Link::poll`] when events or work of the radio may also be due.
    #[inline(never)]
    fn work_and_poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        loop {
            let (down, up) = (self.down.outbox.event_at(), self.up.outbox.event_at());
            let (event, packet) = (down.min(up), self.packet_at());
            let due = self.work_at();
            if due <= now && due < packet.min(event) {
                self.work();
                continue;
            }
            self.set_wake();
            if event <= now && event <= packet {
                let outbox = if down <= up { &mut self.down.outbox } else { &mut self.up.outbox };
                let (at, event) = outbox.pop_event().expect("there is an event");
                self.set_wake();
                return Some(Output::Event { at, event });
            }
            return if packet <= now { self.pop_packet() } else { None };
        }
    }

    /// The user of a stage, updated to `now`.
    fn bearer_at(&mut self, stage: usize, now: Time) -> &mut Bearer<P> {
        self.work_until(now);
        self.admit_until(now);
        self.set_wake();
        let air = if stage % 2 == 0 { &mut self.down } else { &mut self.up };
        &mut air.users[stage / 2].bearer
    }
}

impl<P: Packet> Link<P> for Cell<P> {
    #[inline(never)]
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission {
        self.work_before(now);
        if port == 0 { self.handle_down(now, packet) } else { self.handle_up(now, port, packet) }
    }

    #[inline]
    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        if self.wake > now {
            return None;
        }
        // Usually the packets of a block are polled one after the other, with nothing in between.
        if self.rest_at > self.wake { self.pop_packet() } else { self.work_and_poll(now) }
    }

    #[inline]
    fn wake_time(&self) -> Time {
        self.wake
    }
}

impl<P: Packet> Stages for Cell<P> {
    fn stages(&self) -> usize {
        2 * self.mobility.len()
    }

    fn stages_of(&self, direction: Direction, user: u16) -> Vec<usize> {
        vec![2 * (usize::from(user) - 1) + usize::from(direction == Direction::Reverse)]
    }

    fn counters(&mut self, stage: usize, now: Time) -> Counters {
        self.bearer_at(stage, now).counters(now)
    }

    fn backlog(&mut self, stage: usize, now: Time) -> Backlog {
        self.bearer_at(stage, now).backlog()
    }

    fn begin_window(&mut self, now: Time) {
        for stage in 0..self.stages() {
            self.bearer_at(stage, now).begin_window(now);
        }
    }
}
