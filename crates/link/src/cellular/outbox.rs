//! What has left the radio of a direction and waits to be polled.

use std::collections::VecDeque;

use cwndlab_units::Time;

use super::core::Core;
use crate::event::{DropReason, LinkEvent, LinkEventKind};

/// Packets and news of a direction, each in order of their times.
#[derive(Clone, Debug)]
pub(crate) struct Outbox<P> {
    /// What packets go through after the radio: the core on their way up.
    core: Option<Core>,
    /// Whose packets are put in now.
    user: u16,
    stage: u16,
    packets: VecDeque<(Time, u16, P)>,
    news: VecDeque<(Time, LinkEvent)>,
    /// When the first packet is out, and when the first piece of news happened.
    packet_at: Time,
    news_at: Time,
}

impl<P> Outbox<P> {
    pub(crate) fn new(core: Option<Core>) -> Self {
        Self {
            core,
            user: 0,
            stage: 0,
            packets: VecDeque::new(),
            news: VecDeque::new(),
            packet_at: Time::NEVER,
            news_at: Time::NEVER,
        }
    }

    /// Says of which user, and of which stage of the link, what follows is.
    pub(crate) fn set_user(&mut self, user: usize, stage: u16) {
        self.user = user as u16;
        self.stage = stage;
    }

    /// A packet comes out of the radio.
    pub(crate) fn push(&mut self, at: Time, packet: P) {
        let at = self.core.as_mut().map_or(at, |core| core.leave(at));
        self.packet_at = self.packet_at.min(at);
        let item = (at, self.user, packet);
        if self.packets.back().is_none_or(|last| last.0 <= at) {
            self.packets.push_back(item);
        } else {
            // A timer may give out something before a block that was decided earlier.
            let place = later(&self.packets, |item| item.0 <= at);
            self.packets.insert(place, item);
        }
    }

    pub(crate) fn tell_drop(&mut self, at: Time, flow: u32, bytes: u32, reason: DropReason) {
        self.news_at = self.news_at.min(at);
        let kind = LinkEventKind::Dropped { flow, bytes, reason };
        let place = later(&self.news, |item| item.0 <= at);
        self.news.insert(place, (at, LinkEvent { stage: self.stage, kind }));
    }

    /// When the first packet is out.
    #[inline]
    pub(crate) fn packet_at(&self) -> Time {
        self.packet_at
    }

    /// When the first piece of news happened.
    #[inline]
    pub(crate) fn news_at(&self) -> Time {
        self.news_at
    }

    /// When the first of both is.
    #[inline]
    pub(crate) fn next_at(&self) -> Time {
        self.packet_at.min(self.news_at)
    }

    /// The first packet with its time and user.
    #[inline]
    pub(crate) fn pop_packet(&mut self) -> Option<(Time, u16, P)> {
        let item = self.packets.pop_front();
        self.packet_at = self.packets.front().map_or(Time::NEVER, |&(at, _, _)| at);
        item
    }

    pub(crate) fn pop_news(&mut self) -> Option<(Time, LinkEvent)> {
        let item = self.news.pop_front();
        self.news_at = self.news.front().map_or(Time::NEVER, |&(at, _)| at);
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
