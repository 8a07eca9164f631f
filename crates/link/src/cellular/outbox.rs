//! What has left the radio of a direction and waits to be polled.

use std::collections::VecDeque;

use cwndlab_units::Time;

use super::core::Core;
use crate::event::{DropReason, LinkEvent, LinkEventKind};

/// When packets and events of a direction are out, each in order of their times. The packets
/// themselves wait in their users' lines.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    /// What packets go through after the radio: the core on their way up.
    core: Option<Core>,
    /// Whose packets are put in now.
    user: u16,
    stage: u16,
    exits: VecDeque<Exit>,
    events: VecDeque<(Time, LinkEvent)>,
    /// When the first packet is out, and when the first event happened.
    packet_at: Time,
    event_at: Time,
}

/// The next packets of a user, which come out together.
#[derive(Clone, Copy, Debug)]
struct Exit {
    at: Time,
    user: u16,
    packets: u32,
}

impl Outbox {
    pub(crate) fn new(core: Option<Core>) -> Self {
        Self {
            core,
            user: 0,
            stage: 0,
            exits: VecDeque::new(),
            events: VecDeque::new(),
            packet_at: Time::NEVER,
            event_at: Time::NEVER,
        }
    }

    /// Says of which user, and of which stage of the link, what follows is.
    pub(crate) fn set_user(&mut self, user: usize, stage: u16) {
        self.user = user as u16;
        self.stage = stage;
    }

    /// So many packets of the user come out of the radio.
    pub(crate) fn push(&mut self, at: Time, packets: usize) {
        if packets == 0 {
            return;
        }
        let at = self.core.as_mut().map_or(at, |core| core.leave(at));
        self.packet_at = self.packet_at.min(at);
        let exit = Exit { at, user: self.user, packets: packets as u32 };
        if self.exits.back().is_none_or(|last| last.at <= at) {
            self.exits.push_back(exit);
        } else {
            // A timer may give out something before a block that was decided earlier.
            let place = later(&self.exits, |exit| exit.at <= at);
            self.exits.insert(place, exit);
        }
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

    /// When the first packet is out.
    #[inline]
    pub(crate) fn packet_at(&self) -> Time {
        self.packet_at
    }

    /// When the first event happened.
    #[inline]
    pub(crate) fn event_at(&self) -> Time {
        self.event_at
    }

    /// Takes out the first packet: its time and user.
    ///
    /// # Panics
    /// If none is out.
    #[inline]
    pub(crate) fn take_packet(&mut self) -> (Time, u16) {
        let exit = self.exits.front_mut().expect("a packet is out");
        let first = (exit.at, exit.user);
        exit.packets -= 1;
        if exit.packets == 0 {
            self.exits.pop_front();
            self.packet_at = self.exits.front().map_or(Time::NEVER, |exit| exit.at);
        }
        first
    }

    pub(crate) fn pop_event(&mut self) -> Option<(Time, LinkEvent)> {
        let item = self.events.pop_front();
        self.event_at = self.events.front().map_or(Time::NEVER, |&(at, _)| at);
        item
    }
}

/// The place behind the last item that is early enough, looked for from the back.
fn later<T>(items: &VecDeque<T>, is_early: impl Fn(&T) -> bool) -> usize {
    let mut place = items.len();
    while place > 0 && !is_early(&items[place - 1]) {
        place -= 1;
    }
    place
}
