//! Packets on their way through the core network to the cell.

use std::collections::VecDeque;

use cwndlab_units::Time;

/// They come in the order in which they were sent, and often several at once.
#[derive(Clone, Debug)]
pub(super) struct Coming<P> {
    runs: VecDeque<Run>,
    packets: VecDeque<P>,
}

/// Packets for one user that come at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) at: Time,
    pub(super) user: u16,
    pub(super) packets: u32,
}

impl<P> Coming<P> {
    pub(super) fn new() -> Self {
        Self { runs: VecDeque::new(), packets: VecDeque::new() }
    }

    /// A packet comes for a user at `at`, not before those that were given earlier.
    #[inline]
    pub(super) fn push(&mut self, at: Time, user: u16, packet: P) {
        match self.runs.back_mut() {
            Some(run) if run.at == at && run.user == user => run.packets += 1,
            _ => self.runs.push_back(Run { at, user, packets: 1 }),
        }
        self.packets.push_back(packet);
    }

    /// When the first one comes.
    #[inline]
    pub(super) fn first_at(&self) -> Time {
        self.runs.front().map_or(Time::NEVER, |run| run.at)
    }

    /// Takes out the first run, if it comes until `now`; its packets are the next of
    /// [`Coming::packets`].
    pub(super) fn pop_run(&mut self, now: Time) -> Option<Run> {
        if self.first_at() <= now { self.runs.pop_front() } else { None }
    }

    /// Takes out the first packets.
    #[inline]
    pub(super) fn take_packets(&mut self, count: u32) -> impl Iterator<Item = P> {
        (0..count).map_while(|_| self.packets.pop_front())
    }
}
