//! Packets that cross the core network on their way to the cell.

use std::collections::VecDeque;

use cwndlab_units::Time;

use crate::Backlog;
use crate::packet::Packet;

/// Packets in the order in which they were sent; packets often arrive in groups.
#[derive(Clone, Debug)]
pub(super) struct Coming<P> {
    runs: VecDeque<Run>,
    packets: VecDeque<P>,
    /// Arrival time of the first packet.
    first_at: Time,
}

/// Packets for one user that arrive at the same time.
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

    /// Adds packets that arrive for a user at `at`, which is not before the arrival of earlier
    /// packets. Returns the total size of the packets.
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

    /// Arrival time of the first packet; never if there is no packet.
    #[inline]
    pub(super) fn first_at(&self) -> Time {
        self.first_at
    }

    /// Removes the first group of packets if it arrives by `now`; the caller must then call
    /// [`Coming::take_packets`].
    pub(super) fn pop_run(&mut self, now: Time) -> Option<Run> {
        if self.first_at > now {
            return None;
        }
        let run = self.runs.pop_front();
        self.first_at = self.runs.front().map_or(Time::NEVER, |run| run.at);
        run
    }

    /// Removes the first `count` packets.
    #[inline]
    pub(super) fn take_packets(&mut self, count: u32) -> impl Iterator<Item = P> {
        self.packets.drain(..count as usize)
    }

    /// Removes the first packet.
    pub(super) fn pop_packet(&mut self) -> Option<P> {
        self.packets.pop_front()
    }
}
