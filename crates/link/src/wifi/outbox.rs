//! Packets and events that have left a Wi-Fi channel and wait to be polled.

use std::collections::VecDeque;

use cwndlab_units::Time;

use crate::LinkEvent;

/// Packets and events that wait to be polled, in order. The packets themselves wait in their
/// lanes.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    /// Time of the first packet or event in the outbox.
    at: Time,
    /// The packets at the front; `Passed::NONE` if an event is at the front.
    first: Passed,
    /// Packets and events after `first`; if an event is at the front, all of them.
    rest: VecDeque<(Time, Emission)>,
}

/// The next packets of a lane; they were delivered together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Passed {
    pub(super) lane: usize,
    pub(super) packets: u32,
}

#[derive(Clone, Copy, Debug)]
enum Emission {
    Packets(Passed),
    Event(LinkEvent),
}

impl Passed {
    const NONE: Self = Self { lane: 0, packets: 0 };
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self { at: Time::NEVER, first: Passed::NONE, rest: VecDeque::new() }
    }

    /// Adds packets that a lane has delivered.
    pub(super) fn pass_on(&mut self, at: Time, passed: Passed) {
        if passed.packets > 0 {
            self.emit(at, Emission::Packets(passed));
        }
    }

    /// Adds an event.
    pub(super) fn tell(&mut self, at: Time, event: LinkEvent) {
        self.emit(at, Emission::Event(event));
    }

    fn emit(&mut self, at: Time, emission: Emission) {
        self.rest.push_back((at, emission));
        if self.at.is_never() {
            self.advance();
        }
    }

    /// Moves the next packets or event to the front.
    #[inline(never)]
    fn advance(&mut self) {
        self.at = self.rest.front().map_or(Time::NEVER, |&(at, _)| at);
        if let Some(&(_, Emission::Packets(passed))) = self.rest.front() {
            self.first = passed;
            self.rest.pop_front();
        }
    }

    /// Time of the first packet or event in the outbox.
    #[inline]
    pub(super) fn first_at(&self) -> Time {
        self.at
    }

    /// Whether packets are at the front.
    #[inline]
    pub(super) fn has_packet(&self) -> bool {
        self.first.packets > 0
    }

    /// The packets at the front, if any.
    #[inline]
    pub(super) fn first_train(&self) -> Option<Passed> {
        self.has_packet().then_some(self.first)
    }

    /// Removes the packet at the front; returns its time and its lane.
    ///
    /// # Panics
    /// Panics if no packet is at the front.
    #[inline]
    pub(super) fn take_packet(&mut self) -> (Time, usize) {
        let (at, lane) = (self.at, self.first.lane);
        self.first.packets =
            self.first.packets.checked_sub(1).expect("a packet is at the front of the outbox");
        if self.first.packets == 0 {
            self.advance();
        }
        (at, lane)
    }

    /// Removes the event at the front if it has happened by `now`. The event may be in the future:
    /// a queue with active management drops packets for the next frame of a transmission
    /// opportunity when this frame begins, which is a SIFS after the channel decides about it.
    pub(super) fn pop_event(&mut self, now: Time) -> Option<(Time, LinkEvent)> {
        if self.has_packet() || self.at > now {
            return None;
        }
        let (at, emission) = self.rest.pop_front()?;
        self.advance();
        match emission {
            Emission::Event(event) => Some((at, event)),
            Emission::Packets(_) => unreachable!("packets are at the front if no event is"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DropReason, LinkEventKind};

    fn us(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    #[test]
    fn packets_and_events_come_out_in_their_order() {
        let kind = LinkEventKind::Dropped { flow: 1, bytes: 1500, reason: DropReason::Loss };
        let event = LinkEvent { stage: 3, kind };
        let mut outbox = Outbox::new();
        assert!(outbox.first_at().is_never() && !outbox.has_packet());
        outbox.pass_on(us(1), Passed { lane: 2, packets: 0 });
        outbox.tell(us(1), event);
        outbox.pass_on(us(2), Passed { lane: 2, packets: 2 });
        outbox.pass_on(us(3), Passed { lane: 0, packets: 1 });
        outbox.tell(us(3), event);
        assert!(!outbox.has_packet());
        assert_eq!(outbox.pop_event(us(0)), None, "it has not happened yet");
        assert_eq!(outbox.pop_event(us(1)), Some((us(1), event)));
        assert_eq!(outbox.pop_event(us(2)), None, "packets are first");
        let lanes: Vec<_> = (0..3).map(|_| outbox.take_packet()).collect();
        assert_eq!(lanes, [(us(2), 2), (us(2), 2), (us(3), 0)]);
        assert_eq!((outbox.first_at(), outbox.has_packet()), (us(3), false));
        assert_eq!(outbox.pop_event(us(3)), Some((us(3), event)));
        assert!(outbox.first_at().is_never());
    }
}
