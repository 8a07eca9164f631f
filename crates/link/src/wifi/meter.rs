//! What one lane has counted.

use cwndlab_units::Time;

use crate::{Backlog, Counters, DropReason, Drops, Tally};

/// Counts of one lane, from the beginning and from the beginning of the window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    now: Counts,
    before: Counts,
    window_start: Time,
    backlog: Backlog,
    queue_max: u32,
    /// When the backlog changed last.
    changed: Time,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    arrived: Tally,
    delivered: Tally,
    dropped: Tally,
    drops: Drops,
    /// Packets in the lane, summed over time in nanoseconds. It wraps, which differences do not see.
    queue_time: u64,
}

impl Meter {
    pub(crate) fn refuse(&mut self, bytes: u32, reason: DropReason) {
        self.now.arrived.add(bytes);
        self.now.dropped.add(bytes);
        self.now.drops.add(reason);
    }

    pub(crate) fn accept(&mut self, at: Time, bytes: u32) {
        self.pass_time(at);
        self.now.arrived.add(bytes);
        self.backlog.add(bytes);
        self.queue_max = self.queue_max.max(self.backlog.packets);
    }

    pub(crate) fn drop(&mut self, at: Time, bytes: u32, reason: DropReason) {
        self.pass_time(at);
        self.now.dropped.add(bytes);
        self.now.drops.add(reason);
        self.backlog.remove(bytes);
    }

    pub(crate) fn deliver(&mut self, at: Time, bytes: u32) {
        self.pass_time(at);
        self.now.delivered.add(bytes);
        self.backlog.remove(bytes);
    }

    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }

    pub(crate) fn begin_window(&mut self, at: Time) {
        self.pass_time(at);
        self.before = self.now;
        self.window_start = at;
        self.queue_max = self.backlog.packets;
    }

    pub(crate) fn counters(&mut self, at: Time) -> Counters {
        self.pass_time(at);
        let window = at.saturating_since(self.window_start);
        let queue_time = self.now.queue_time.wrapping_sub(self.before.queue_time);
        let is_time = window.as_nanos() > 0;
        Counters {
            window,
            arrived: self.now.arrived - self.before.arrived,
            delivered: self.now.delivered - self.before.delivered,
            dropped: self.now.dropped - self.before.dropped,
            drops: self.now.drops - self.before.drops,
            marked: Tally::default(),
            offered: None,
            queue_mean_packets: is_time.then(|| queue_time as f64 / window.as_nanos() as f64),
            queue_max_packets: self.queue_max,
        }
    }

    fn pass_time(&mut self, at: Time) {
        let nanos = at.saturating_since(self.changed).as_nanos();
        let packets = u64::from(self.backlog.packets);
        self.now.queue_time = self.now.queue_time.wrapping_add(nanos.wrapping_mul(packets));
        self.changed = at;
    }
}
