//! CoDel (controlled delay, RFC 8289).
//!
//! ```text
//!                sojourn < target, or one packet left
//!      +-----------------------------------------------------+
//!      v                                                     |
//!   [ below ] --sojourn >= target--> [ above ] --for an interval--> [ dropping ]
//!      ^                                |                      |  drops again after
//!      +---------sojourn < target-------+                      |  interval / sqrt(count)
//!                                                              +--
//! ```
//!
//! All decisions are made when a packet is dequeued. Names are those of the pseudocode in RFC 8289
//! section 5. With ECN, a packet that would be dropped is marked and sent instead. This queue
//! contains all flows; [`super::FlowQueues`] has a separate CoDel queue for each flow.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};

use crate::Backlog;
use crate::packet::Packet;

/// A packet that waits in the queue.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<P> {
    pub(crate) packet: P,
    pub(crate) bytes: u32,
    pub(crate) arrived: Time,
}

/// Settings of CoDel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CodelSettings {
    pub(crate) target: Duration,
    pub(crate) interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub(crate) ecn: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Codel<P> {
    waiting: VecDeque<Waiting<P>>,
    backlog: Backlog,
    law: ControlLaw,
    ecn: bool,
    /// Length of the longest packet so far: CoDel never drops if the queue has at most this many
    /// bytes.
    max_packet: u32,
}

/// The part of CoDel's state that does not depend on the type of packets.
#[derive(Clone, Debug)]
struct ControlLaw {
    target: Duration,
    interval: Duration,
    /// Time at which the delay will have been above the target for an interval, if it is above
    /// now.
    first_above_time: Option<Time>,
    dropping: bool,
    drop_next: Time,
    count: u32,
    last_count: u32,
}

impl<P: Packet> Codel<P> {
    pub(crate) fn new(CodelSettings { target, interval, ecn }: CodelSettings) -> Self {
        let law = ControlLaw {
            target,
            interval,
            first_above_time: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
        };
        let (waiting, backlog) = (VecDeque::new(), Backlog::default());
        Self { waiting, backlog, law, ecn, max_packet: 0 }
    }

    pub(crate) fn push(&mut self, waiting: Waiting<P>) {
        self.expect_packets_of(waiting.bytes);
        self.backlog.add(waiting.bytes);
        self.waiting.push_back(waiting);
    }

    /// Changes the settings.
    pub(crate) fn tune(&mut self, CodelSettings { target, interval, ecn }: CodelSettings) {
        (self.law.target, self.law.interval, self.ecn) = (target, interval, ecn);
    }

    /// Sets the minimum for the length of the longest packet on this link, which other queues
    /// know, too.
    pub(crate) fn expect_packets_of(&mut self, bytes: u32) {
        self.max_packet = self.max_packet.max(bytes);
    }

    pub(crate) fn front(&self) -> Option<&Waiting<P>> {
        self.waiting.front()
    }

    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiting<P>> {
        self.waiting.iter()
    }

    /// Removes the first packet without applying the control law.
    pub(crate) fn pop_front(&mut self) -> Option<Waiting<P>> {
        let head = self.waiting.pop_front()?;
        self.backlog.remove(head.bytes);
        Some(head)
    }

    /// Removes a packet from the middle without applying the control law.
    pub(crate) fn remove(&mut self, index: usize) -> Option<Waiting<P>> {
        let gone = self.waiting.remove(index)?;
        self.backlog.remove(gone.bytes);
        Some(gone)
    }

    /// Dequeues the next packet, and returns whether it was marked; passes dropped packets to
    /// `dropped`.
    pub(crate) fn dequeue(
        &mut self,
        now: Time,
        mut dropped: impl FnMut(Waiting<P>),
    ) -> Option<(Waiting<P>, bool)> {
        let (mut head, mut ok_to_drop) = self.dodequeue(now)?;
        if self.law.dropping {
            if !ok_to_drop {
                self.law.dropping = false;
            }
            while now >= self.law.drop_next && self.law.dropping {
                self.law.count += 1;
                if self.mark(&mut head) {
                    self.law.drop_next = self.law.next_after(self.law.drop_next);
                    return Some((head, true));
                }
                dropped(head);
                let Some(next) = self.dodequeue(now) else {
                    self.law.dropping = false;
                    return None;
                };
                (head, ok_to_drop) = next;
                if ok_to_drop {
                    self.law.drop_next = self.law.next_after(self.law.drop_next);
                } else {
                    self.law.dropping = false;
                }
            }
        } else if ok_to_drop {
            let is_marked = self.mark(&mut head);
            let next = if is_marked {
                Some((head, true))
            } else {
                dropped(head);
                self.dodequeue(now).map(|(next, _)| (next, false))
            };
            self.law.begin_dropping(now);
            return next;
        }
        Some((head, false))
    }

    /// Removes the first packet of the queue. Returns whether it may be dropped.
    fn dodequeue(&mut self, now: Time) -> Option<(Waiting<P>, bool)> {
        let Some(head) = self.pop_front() else {
            self.law.first_above_time = None;
            return None;
        };
        let sojourn = now.saturating_since(head.arrived);
        let is_one_packet = self.backlog.bytes <= u64::from(self.max_packet);
        let ok_to_drop = self.law.ok_to_drop(now, sojourn, is_one_packet);
        Some((head, ok_to_drop))
    }

    fn mark(&self, waiting: &mut Waiting<P>) -> bool {
        let can = self.ecn && waiting.packet.ecn().is_capable();
        if can {
            waiting.packet.mark_ce();
        }
        can
    }
}

impl ControlLaw {
    fn ok_to_drop(&mut self, now: Time, sojourn: Duration, is_one_packet: bool) -> bool {
        if sojourn < self.target || is_one_packet {
            self.first_above_time = None;
            return false;
        }
        match self.first_above_time {
            None => {
                self.first_above_time = Some(now + self.interval);
                false
            }
            Some(time) => now >= time,
        }
    }

    /// Enters the dropping state; if the queue was in this state recently, drops begin near the
    /// previous rate.
    fn begin_dropping(&mut self, now: Time) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let is_recent = now.saturating_since(self.drop_next) < self.interval * 16;
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        self.drop_next = self.next_after(now);
        self.last_count = self.count;
    }

    /// The next time to drop, "t + interval / sqrt(count)"; the square root of IEEE 754 is exact
    /// on every machine.
    fn next_after(&self, time: Time) -> Time {
        let nanos = self.interval.as_nanos() as f64 / f64::from(self.count).sqrt();
        time + Duration::from_nanos(nanos as u64)
    }
}

#[cfg(test)]
mod tests;
