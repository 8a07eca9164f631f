//! Packets and events of one direction of a cell that have left the radio and wait to be polled.

use std::collections::VecDeque;

use cwndlab_units::Time;

use super::core::Core;
use crate::event::{DropReason, LinkEvent, LinkEventKind};

/// Times of the packets and events of one direction, each in order. The packets themselves wait in
/// the users' lines.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    /// Delay after the radio: in the uplink, that of the core network.
    core: Option<Core>,
    /// User of the packets and events that are added next.
    user: u16,
    /// Stage of the packets and events that are added next.
    stage: u16,
    /// The next packets to leave, before all others.
    first: Exit,
    /// The packets that leave after `first`.
    exits: VecDeque<Exit>,
    events: VecDeque<(Time, LinkEvent)>,
    /// Time of the first event.
    event_at: Time,
}

/// Packets of one user that leave at the same time.
#[derive(Clone, Copy, Debug)]
struct Exit {
    at: Time,
    user: u16,
    packets: u32,
}

impl Exit {
    const NONE: Self = Self { at: Time::NEVER, user: 0, packets: 0 };
}

impl Outbox {
    pub(crate) fn new(core: Option<Core>) -> Self {
        Self {
            core,
            user: 0,
            stage: 0,
            first: Exit::NONE,
            exits: VecDeque::new(),
            events: VecDeque::new(),
            event_at: Time::NEVER,
        }
    }

    /// Sets the user and the stage of the link for the packets and events that are added next.
    pub(crate) fn set_user(&mut self, user: usize, stage: u16) {
        self.user = user as u16;
        self.stage = stage;
    }

    /// Adds packets of the current user, which leave the radio at `at`.
    pub(crate) fn push(&mut self, at: Time, packets: usize) {
        if packets == 0 {
            return;
        }
        let at = self.core.as_mut().map_or(at, |core| core.leave(at));
        let mut exit = Exit { at, user: self.user, packets: packets as u32 };
        if at < self.first.at {
            core::mem::swap(&mut self.first, &mut exit);
            if exit.packets > 0 {
                self.exits.push_front(exit);
            }
            return;
        }
        // A timer may release packets earlier than a block whose outcome was decided before.
        let place = later(&self.exits, |exit| exit.at <= at);
        self.exits.insert(place, exit);
    }

    pub(crate) fn emit_drop(&mut self, at: Time, flow: u32, bytes: u32, reason: DropReason) {
        self.emit(at, LinkEventKind::Dropped { flow, bytes, reason });
    }

    pub(crate) fn emit_mark(&mut self, at: Time, flow: u32, bytes: u32) {
        self.emit(at, LinkEventKind::Marked { flow, bytes });
    }

    fn emit(&mut self, at: Time, kind: LinkEventKind) {
        self.event_at = self.event_at.min(at);
        let place = later(&self.events, |event| event.0 <= at);
        self.events.insert(place, (at, LinkEvent { stage: self.stage, kind }));
    }

    /// Time at which the first packet is ready to leave.
    #[inline]
    pub(crate) fn packet_at(&self) -> Time {
        self.first.at
    }

    /// Time of the first event.
    #[inline]
    pub(crate) fn event_at(&self) -> Time {
        self.event_at
    }

    /// Removes the first packet; returns its departure time and its user.
    ///
    /// # Panics
    /// Panics if no packet is left.
    #[inline]
    pub(crate) fn take_packet(&mut self) -> (Time, u16) {
        let Exit { at, user, packets } = self.first;
        self.first.packets = packets.checked_sub(1).expect("a packet has left the radio");
        if packets == 1 {
            self.first = self.exits.pop_front().unwrap_or(Exit::NONE);
        }
        (at, user)
    }

    pub(crate) fn pop_event(&mut self) -> Option<(Time, LinkEvent)> {
        let item = self.events.pop_front();
        self.event_at = self.events.front().map_or(Time::NEVER, |&(at, _)| at);
        item
    }
}

/// Index after the last item that is not later than the given time, found by a search from the
/// back.
fn later<T>(items: &VecDeque<T>, is_early: impl Fn(&T) -> bool) -> usize {
    let mut place = items.len();
    while place > 0 && !is_early(&items[place - 1]) {
        place -= 1;
    }
    place
}
