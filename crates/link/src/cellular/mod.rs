//! A radio cell: UMTS with HSPA, LTE or 5G NR, both directions and all users in one link.
//!
//! ```text
//!  port 0 -> core -> [queue of each user] -> scheduler -> block -> HARQ -> RLC, in order -> port 1..n
//!  port 0 <- core <- RLC, in order <- HARQ <- block <- scheduler, grants <- [queue of each user] <-
//! ```
//!
//! In every slot the scheduler gives users parts of the band; a part, the scheme that the reports
//! call for, and the standard's tables make a transport block of so many bytes. Packets lie in
//! blocks as bytes of a stream. A block fails by its channel, is sent again a round trip of HARQ
//! later, and what comes after it waits for it. That is what a transport protocol notices: bursts
//! of a slot's length, stalls of a round trip, a queue of one's own, and, on the way up, packets that
//! leave together because a grant came.
//!
//! What is decided in a slot is decided at its beginning, including whether the block is decoded, as
//! that follows from the seed and the slot. So a cell costs one step per slot in which a user has
//! something to do, and nothing in others. Left out: control channels and their errors, random
//! access, selectivity in frequency, power control, RLC's window and its limit of retransmissions.

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

/// A radio cell: port 0 is the network's side, ports from 1 on are users.
///
/// Stage `2 (p - 1)` is the way down to port `p`, the next one the way up from it.
#[derive(Clone, Debug)]
pub struct Cell<P> {
    wake: Time,
    /// When anything else is due than a packet that is out.
    rest_at: Time,
    /// When the radio or a handover has something to do.
    due: Time,
    down: Air<P>,
    up: Air<P>,
    core: Core,
    /// What is between the network and the cell.
    coming: Coming<P>,
    mobility: Vec<Mobility>,
    /// Whether silence has consequences.
    may_sleep: bool,
    /// Of all users, when the next handover begins.
    handover_at: Time,
    /// What is lost before the queue: the chance down and up, and of each user the draws.
    losses: [Probability; 2],
    loss_draws: Vec<[Stream; 2]>,
    /// Of each user, if they are policed.
    policers: Vec<Policer>,
}

impl<P: Packet> Cell<P> {
    /// The cell of a run with this seed; `name` names its streams.
    ///
    /// # Errors
    /// If the settings contradict each other or the standards.
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

    /// Keeps a record of every block from now on.
    pub fn record_blocks(&mut self) {
        self.down.blocks = Some(Vec::new());
        self.up.blocks = Some(Vec::new());
    }

    /// The blocks that were sent since the last call, those down before those up; none unless
    /// [`Cell::record_blocks`] was called.
    pub fn take_blocks(&mut self) -> Vec<BlockRecord> {
        let mut blocks = Vec::new();
        for air in [&mut self.down, &mut self.up] {
            blocks.extend(air.blocks.iter_mut().flat_map(|blocks| blocks.drain(..)));
        }
        blocks
    }

    /// When the radio or a handover has something to do.
    fn next_at(&self) -> Time {
        self.down.next_at().min(self.up.next_at()).min(self.handover_at)
    }

    /// Works out again when what is due, after anything but a packet's leaving has changed.
    #[inline]
    fn set_wake(&mut self) {
        let radio = self.down.next_at().min(self.up.next_at());
        self.due = radio.min(self.handover_at);
        let work_at = if radio.is_never() { radio } else { self.due };
        let event_at = self.down.outbox.event_at().min(self.up.outbox.event_at());
        self.rest_at = event_at.min(work_at);
        self.wake = self.packet_at().min(self.rest_at);
    }

    /// When the first packet is out.
    #[inline]
    fn packet_at(&self) -> Time {
        self.down.outbox.packet_at().min(self.up.outbox.packet_at())
    }

    /// When [`Cell::work`] is due: a handover alone wakes nobody.
    fn work_at(&self) -> Time {
        let radio = self.down.next_at().min(self.up.next_at());
        if radio.is_never() { radio } else { radio.min(self.handover_at) }
    }

    /// Does the next thing that is due, after what came through the core until then.
    fn work(&mut self) {
        let due = self.next_at();
        self.admit_until(due);
        // What came may have found its user asleep, so that there is nothing to do yet.
        if self.handover_at <= due {
            self.begin_handover();
        } else if self.down.next_at() <= due {
            self.down.work(|user| 2 * user as u16);
            self.expect_next();
        } else if self.up.next_at() <= due {
            self.up.work(|user| 2 * user as u16 + 1);
        }
    }

    /// Does everything that is due until `now`.
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

    /// Sees to it that what is still in the core finds the radio at work.
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

    /// A user that has been silent may have to wake up for a packet.
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

    /// [`Link::poll`] where more than packets that are out may be due.
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

    /// A stage's user, at `now`.
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
        // Mostly packets of a block come one after the other, and nothing else between them.
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
