//! Packets on their way through the core network to the cell.

use std::collections::VecDeque;

use cwndlab_units::Time;

use crate::Backlog;
use crate::packet::Packet;

/// They come in the order in which they were sent, and often several at once.
#[derive(Clone, Debug)]
pub(super) struct Coming<P> {
    runs: VecDeque<Run>,
    packets: VecDeque<P>,
    /// When the first one comes.
    first_at: Time,
}

/// Packets for one user that come at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) at: Time,
    pub(super) user: u16,
    pub(super) size: Backlog,
}

impl<P: Packet> Coming<P> {
    pub(super) fn new() -> Self {
        Self { runs: VecDeque::new(), packets: VecDeque::new(), first_at: Time::NEVER }
    }

    /// Packets come for a user at `at`, not before those that were given earlier. Returns how many.
    #[inline]
    #[expect(clippy::manual_inspect, reason = "`inspect` has no length that `extend` relies on")]
    pub(super) fn push(
        &mut self,
        at: Time,
        user: u16,
        packets: impl Iterator<Item = P>,
    ) -> Backlog {
        let (before, mut bytes) = (self.packets.len(), 0);
        self.packets.extend(packets.map(|packet| {
            bytes += u64::from(packet.wire_bytes());
            packet
        }));
        let size = Backlog { packets: (self.packets.len() - before) as u32, bytes };
        match self.runs.back_mut() {
            Some(run) if run.at == at && run.user == user => run.size = run.size + size,
            _ => {
                self.first_at = self.first_at.min(at);
                self.runs.push_back(Run { at, user, size });
            }
        }
        size
    }

    /// When the first one comes; never if there is none.
    #[inline]
    pub(super) fn first_at(&self) -> Time {
        self.first_at
    }

    /// Takes out the first run, if it comes until `now`; [`Coming::take_packets`] must take its packets.
    pub(super) fn pop_run(&mut self, now: Time) -> Option<Run> {
        if self.first_at > now {
            return None;
        }
        let run = self.runs.pop_front();
        self.first_at = self.runs.front().map_or(Time::NEVER, |run| run.at);
        run
    }

    /// Takes out the first packets.
    #[inline]
    pub(super) fn take_packets(&mut self, count: u32) -> impl Iterator<Item = P> {
        self.packets.drain(..count as usize)
    }

    /// Takes out the first packet.
    pub(super) fn pop_packet(&mut self) -> Option<P> {
        self.packets.pop_front()
    }
}
