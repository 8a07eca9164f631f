//! The counters of a wire, which are settled only when they are read.

use cwndlab_units::{Bytes, Time};

use super::Wire;
use crate::Stages;
use crate::counters::{Backlog, Counters, Tally};
use crate::meter::Counts;
use crate::packet::Packet;

impl<P: Packet> Stages for Wire<P> {
    fn stages(&self) -> usize {
        1
    }

    fn counters(&mut self, stage: usize, now: Time) -> Counters {
        debug_assert_eq!(stage, 0, "a wire has one stage");
        let counts = self.settled_counts(now);
        let offered = self.offered(stage, now);
        Counters { offered, ..self.meter.counters(counts, self.longest.packets(), now) }
    }

    fn offered(&mut self, stage: usize, now: Time) -> Option<Bytes> {
        debug_assert_eq!(stage, 0, "a wire has one stage");
        let since = self.meter.since();
        // Capacity at time 0 belongs to the run.
        let earlier = if since > Time::ZERO { self.server.offered(since) } else { Some(Bytes(0)) };
        Some(self.server.offered(now)? - earlier?)
    }

    fn backlog(&mut self, stage: usize, now: Time) -> Backlog {
        debug_assert_eq!(stage, 0, "a wire has one stage");
        self.dequeue_until(now);
        self.ring.pass(now);
        self.total_backlog()
    }

    fn begin_window(&mut self, now: Time) {
        let backlog = self.backlog(0, now);
        self.longest.set(backlog.packets);
        let counts = self.settled_counts(now);
        self.meter.begin_window(counts, now);
    }
}

impl<P: Packet> Wire<P> {
    pub(super) fn total_backlog(&self) -> Backlog {
        let waiting =
            self.on_dequeue.as_ref().map_or_else(Backlog::default, |aqm| aqm.queue.backlog());
        self.ring.backlog() + waiting
    }

    /// Counts at `now`: packets that are neither dropped nor still on the wire are delivered, and
    /// queueing time after `now` is subtracted.
    fn settled_counts(&mut self, now: Time) -> Counts {
        self.dequeue_until(now);
        self.ring.pass(now);
        let mut counts = self.meter.counts;
        counts.arrived = self.ring.pushed() + counts.dropped;
        let mut inside = Tally::default();
        self.ring.iter().for_each(|slot| inside.add(slot.bytes));
        if let Some(aqm) = &self.on_dequeue {
            aqm.queue.for_each(|waiting| {
                counts.arrived.add(waiting.bytes);
                inside.add(waiting.bytes);
                let waited = now.as_nanos() - waiting.arrived.as_nanos();
                counts.queue_time = counts.queue_time.wrapping_add(waited);
            });
        }
        counts.delivered = counts.arrived - counts.dropped - inside;
        for slot in self.ring.waiting() {
            let to_come = slot.served.as_nanos().wrapping_sub(now.as_nanos());
            counts.queue_time = counts.queue_time.wrapping_sub(to_come);
        }
        counts
    }
}
