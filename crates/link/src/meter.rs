//! Counts of a link's stage: since the start, and since the start of a measurement window.

use cwndlab_units::Time;

use crate::{Backlog, Counters, DropReason, Drops, Tally};

/// Counts of a stage since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) arrived: Tally,
    pub(crate) delivered: Tally,
    pub(crate) dropped: Tally,
    pub(crate) drops: Drops,
    pub(crate) marked: Tally,
    /// Sum over all packets of their time in the queue, in nanoseconds.
    ///
    /// The sum wraps around, which does not affect differences.
    pub(crate) queue_time: u64,
}

/// Counts of a stage, and their values at the start of the measurement window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    pub(crate) counts: Counts,
    before: Counts,
    since: Time,
}

impl Meter {
    /// Counts a packet that arrives at the stage.
    #[inline]
    pub(crate) fn arrive(&mut self, bytes: u32) {
        self.counts.arrived.add(bytes);
    }

    /// Counts several packets that arrive together.
    #[inline]
    pub(crate) fn arrive_together(&mut self, packets: Backlog) {
        self.counts.arrived.packets += u64::from(packets.packets);
        self.counts.arrived.bytes += packets.bytes;
    }

    /// Counts packets that leave the stage.
    #[inline]
    pub(crate) fn deliver(&mut self, packets: Backlog) {
        self.counts.delivered.packets += u64::from(packets.packets);
        self.counts.delivered.bytes += packets.bytes;
    }

    /// Counts a dropped packet.
    pub(crate) fn drop(&mut self, bytes: u32, reason: DropReason) {
        self.counts.dropped.add(bytes);
        self.counts.drops.add(reason);
    }

    /// Counts a packet that was marked with ECN's Congestion Experienced.
    pub(crate) fn mark(&mut self, bytes: u32) {
        self.counts.marked.add(bytes);
    }

    /// Time at which the measurement window began.
    pub(crate) fn since(&self) -> Time {
        self.since
    }

    /// Begins a measurement window at `now`, at which the counts have these values.
    pub(crate) fn begin_window(&mut self, counts: Counts, now: Time) {
        (self.before, self.since) = (counts, now);
    }

    /// Counts of the measurement window that ends at `now`, at which the counts have these values.
    pub(crate) fn counters(&self, counts: Counts, queue_max_packets: u32, now: Time) -> Counters {
        let before = &self.before;
        let window = now.saturating_since(self.since);
        let queue_time = counts.queue_time.wrapping_sub(before.queue_time);
        let is_time = window.as_nanos() > 0;
        Counters {
            window,
            arrived: counts.arrived - before.arrived,
            delivered: counts.delivered - before.delivered,
            dropped: counts.dropped - before.dropped,
            drops: counts.drops - before.drops,
            marked: counts.marked - before.marked,
            offered: None,
            queue_mean_packets: is_time.then(|| queue_time as f64 / window.as_nanos() as f64),
            queue_max_packets,
        }
    }
}

/// Number of packets in a queue, now and over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Occupancy {
    backlog: Backlog,
    /// Maximum number of packets since the measurement window began.
    most: u32,
    /// Integral over time of the number of packets, in packet-nanoseconds up to the last change;
    /// the integral wraps around.
    time: u64,
    changed_at: Time,
}

impl Occupancy {
    /// Packets that wait.
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Maximum number of packets since the measurement window began.
    pub(crate) fn most(&self) -> u32 {
        self.most
    }

    /// Adds a packet.
    #[inline]
    pub(crate) fn enter(&mut self, at: Time, bytes: u32) {
        self.add(at, bytes);
        self.note_most();
    }

    /// Adds packets that arrive at the same time.
    #[inline]
    pub(crate) fn enter_together(&mut self, at: Time, packets: Backlog) {
        self.pass_time(at);
        self.backlog = self.backlog + packets;
        self.note_most();
    }

    /// Adds a packet. Because other packets may then have to leave, the caller must call
    /// [`Occupancy::note_most`] afterwards.
    #[inline]
    pub(crate) fn add(&mut self, at: Time, bytes: u32) {
        self.pass_time(at);
        self.backlog.add(bytes);
    }

    /// Updates the maximum with the current number of packets.
    #[inline]
    pub(crate) fn note_most(&mut self) {
        self.most = self.most.max(self.backlog.packets);
    }

    /// Removes packets.
    #[inline]
    pub(crate) fn leave(&mut self, at: Time, gone: Backlog) {
        self.pass_time(at);
        self.backlog.packets -= gone.packets;
        self.backlog.bytes -= gone.bytes;
    }

    /// Integral over time of the number of packets up to `at`, in packet-nanoseconds.
    #[inline]
    pub(crate) fn pass_time(&mut self, at: Time) -> u64 {
        let nanos = at.saturating_since(self.changed_at).as_nanos();
        let packets = u64::from(self.backlog.packets);
        self.time = self.time.wrapping_add(nanos.wrapping_mul(packets));
        self.changed_at = at;
        self.time
    }

    /// Restarts the maximum.
    pub(crate) fn begin_window(&mut self) {
        self.most = self.backlog.packets;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_counts_what_comes_after_its_beginning() {
        let mut meter = Meter::default();
        meter.arrive(1500);
        meter.deliver(Backlog { packets: 1, bytes: 1500 });
        meter.begin_window(meter.counts, Time::from_secs(1));
        meter.arrive(1000);
        meter.arrive(500);
        meter.drop(500, DropReason::Overflow);
        let counts = Counts { queue_time: 3_000_000_000, ..meter.counts };
        let counters = meter.counters(counts, 7, Time::from_secs(3));
        assert_eq!(counters.arrived, Tally { packets: 2, bytes: 1500 });
        assert_eq!(counters.delivered, Tally::default());
        assert_eq!(counters.dropped, Tally { packets: 1, bytes: 500 });
        assert_eq!(counters.drops.overflow, 1);
        assert_eq!(counters.queue_mean_packets, Some(1.5));
        assert_eq!(counters.queue_max_packets, 7);
    }

    #[test]
    fn occupancy_is_packets_over_time_and_their_maximum() {
        let mut queue = Occupancy::default();
        queue.enter(Time::from_nanos(10), 100);
        queue.enter(Time::from_nanos(15), 200);
        assert_eq!(queue.pass_time(Time::from_nanos(20)), 5 + 2 * 5);
        queue.leave(Time::from_nanos(30), Backlog { packets: 2, bytes: 300 });
        assert_eq!(queue.pass_time(Time::from_nanos(100)), 5 + 2 * 15);
        assert_eq!((queue.backlog(), queue.most()), (Backlog::default(), 2));
        queue.begin_window();
        assert_eq!(queue.most(), 0);
    }
}
