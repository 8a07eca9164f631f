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
    /// The next packets, and those behind them.
    first: Exit,
    exits: VecDeque<Exit>,
    events: VecDeque<(Time, LinkEvent)>,
    /// When the first event happened.
    event_at: Time,
}

/// The next packets of a user, which come out together.
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
        let mut exit = Exit { at, user: self.user, packets: packets as u32 };
        if at < self.first.at {
            core::mem::swap(&mut self.first, &mut exit);
            if exit.packets > 0 {
                self.exits.push_front(exit);
            }
            return;
        }
        // A timer may give out something before a block that was decided earlier.
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

    /// When the first packet is out.
    #[inline]
    pub(crate) fn packet_at(&self) -> Time {
        self.first.at
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
        let Exit { at, user, packets } = self.first;
        self.first.packets = packets.checked_sub(1).expect("a packet is out");
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

/// The place behind the last item that is early enough, looked for from the back.
fn later<T>(items: &VecDeque<T>, is_early: impl Fn(&T) -> bool) -> usize {
    let mut place = items.len();
    while place > 0 && !is_early(&items[place - 1]) {
        place -= 1;
    }
    place
}
