//! A one-way link: packets pass a policer, loss and outages, then a queue, then a rate, then a
//! delay.
//!
//! ```text
//!   handle_packet(port 0) -> [ police, loss, outage ] -> [ queue -> server ] -> [ delay ] -> poll: port 1
//! ```
//!
//! The time at which a packet leaves the server and the time at which it arrives are computed when
//! the packet is queued, because everything that determines them is known by then. One ring buffer
//! holds the packet until it arrives, which costs one wake-up. Only queues that decide on dequeue
//! (CoDel, FQ-CoDel, DualPI2, ACK filters) hold packets before the ring until they are dequeued,
//! which costs a second wake-up.

mod build;
mod counts;
mod dequeue;
mod ingress;
mod longest;
mod on_dequeue;
mod repeat;
mod steady;

use std::collections::VecDeque;

use cwndlab_units::{Output, Time};

use crate::Link;
use crate::counters::Backlog;
use crate::delay::Delay;
use crate::event::{DropReason, LinkEvent, LinkEventKind};
use crate::meter::Meter;
use crate::packet::{Admission, Packet};
use crate::queue::{Arrival, Queue, Verdict};
use crate::rate::Server;
use crate::ring::Ring;
use ingress::IngressFilter;
use longest::LongestQueue;
use on_dequeue::OnDequeue;
use steady::Steady;

/// A packet is prefetched when this number of packets is before it.
const PREFETCHED_PACKETS: usize = 4;

/// A one-way link: packets enter at port 0 and leave at port 1.
#[derive(Clone, Debug)]
pub struct Wire<P> {
    /// Time at which the wire next has output to poll.
    wake: Time,
    /// Time of the next action that is not an arrival: an event, or the next dequeue.
    other_at: Time,
    /// All packets whose departure time is known.
    ring: Ring<P>,
    server: Server,
    queue: Queue,
    delay: Delay,
    framing_bytes: u32,
    /// Whether the wire has more than a queue that decides on arrival: loss, outages, a maximum
    /// packet length, or a queue that decides on dequeue.
    has_ingress: bool,
    timing: Timing,
    /// How the last packet was handled.
    steady: Steady,
    /// Filters before the queue, if any.
    ingress: Option<Box<IngressFilter>>,
    /// The queue that replaces `queue`, if the wire's queue decides on dequeue.
    on_dequeue: Option<Box<OnDequeue<P>>>,
    events: VecDeque<(Time, LinkEventKind)>,
    /// Events that are known in advance, in reverse order.
    scheduled: Vec<(Time, LinkEventKind)>,
    meter: Meter,
    /// Maximum number of packets in the queue and in service since the measurement window began.
    longest: LongestQueue,
}

/// How the arrival time of a packet follows from its service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Timing {
    /// The delay is the one that applies when the packet is sent.
    Retime,
    /// As in netem without a rate: the delay is the one that applies when the packet enters the
    /// wire, and packets are sorted by arrival time.
    KeepDelay,
    /// As in netem with a rate.
    KeepRate,
}

impl<P: Packet> Link<P> for Wire<P> {
    #[inline(always)]
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission {
        debug_assert_eq!(port, 0, "a wire takes packets at port 0");
        let bytes = packet.wire_bytes() + self.framing_bytes;
        if self.has_ingress {
            if let Some(reason) = self.ingress_drop(now, bytes, &packet) {
                return self.drop_packet(now, packet.flow(), bytes, reason);
            }
            if self.on_dequeue.is_some() {
                return self.enqueue_for_aqm(now, bytes, packet);
            }
        }
        self.admit(now, bytes, packet)
    }

    #[inline(always)]
    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        debug_assert!(!now.is_never(), "the time of a call is not `Time::NEVER`");
        if now < self.wake {
            None
        } else if self.other_at <= now {
            self.poll_other(now)
        } else {
            Some(self.deliver())
        }
    }

    #[inline]
    fn poll_ahead(&mut self, now: Time, before: Time) -> Option<Output<P, LinkEvent>> {
        debug_assert!(now < self.wake, "actions that are due must come before new packets");
        // Only netem without a rate lets a packet overtake, and packets that have not left the
        // server belong to the backlog.
        let is_certain = self.timing != Timing::KeepDelay
            && self.ring.first_arrival() < before.min(self.other_at)
            && self.ring.first_served() <= now;
        is_certain.then(|| self.deliver())
    }

    #[inline]
    fn wake_time(&self) -> Time {
        self.wake
    }
}

impl<P: Packet> Wire<P> {
    /// Number of packets on the wire: in the queue, in service or in flight.
    pub fn packets_inside(&self) -> usize {
        self.ring.len()
            + self.on_dequeue.as_ref().map_or(0, |aqm| aqm.queue.backlog().packets as usize)
    }

    #[inline(never)]
    fn poll_other(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        self.dequeue_until(now);
        let due = self.ring.first_arrival();
        if self.event_at() <= now.min(due) {
            Some(self.next_event())
        } else if due <= now {
            Some(self.deliver())
        } else {
            None
        }
    }

    /// Reason to drop a packet before it reaches the queue, if any.
    #[inline(never)]
    fn ingress_drop(&mut self, now: Time, bytes: u32, packet: &P) -> Option<DropReason> {
        let reason =
            self.ingress.as_mut().and_then(|filter| filter.drop_reason(now, bytes, packet));
        reason.or_else(|| (bytes > self.server.longest_bytes()).then_some(DropReason::TooLong))
    }

    /// Queues a packet if there is room for it.
    #[inline(always)]
    fn admit(&mut self, now: Time, bytes: u32, packet: P) -> Admission {
        let Queue::DropTail(limits) = &self.queue else { return self.manage(now, bytes, packet) };
        // Departures since the last packet are only counted if they make a difference.
        let mut backlog = self.ring.backlog();
        if backlog.packets >= self.longest.packets() || !limits.have_room(backlog, bytes) {
            self.ring.pass(now);
            backlog = self.ring.backlog();
            if !limits.have_room(backlog, bytes) {
                return self.drop_packet(now, packet.flow(), bytes, DropReason::Overflow);
            }
        }
        self.enqueue(now, backlog, bytes, packet);
        Admission::Queued
    }

    /// Computes the times at which a packet leaves the server and arrives at the far end; the queue must
    /// have room for the packet.
    #[inline(always)]
    fn enqueue(&mut self, now: Time, backlog: Backlog, bytes: u32, packet: P) {
        let begins = self.server.free_at().max(now);
        let served = self.server.serve(now, bytes);
        self.send(now, now, served, bytes, packet);
        if !self.has_ingress {
            self.remember(bytes, begins, served);
        }
        if backlog.packets >= self.longest.packets() && served > now {
            self.longest.set(backlog.packets + 1);
        }
    }

    /// Sends a packet that entered the wire at `came` and leaves the server at `served`.
    #[inline(always)]
    fn send(&mut self, now: Time, came: Time, served: Time, bytes: u32, packet: P) {
        let queue_time = served.as_nanos().wrapping_sub(came.as_nanos());
        let counts = &mut self.meter.counts;
        counts.queue_time = counts.queue_time.wrapping_add(queue_time);
        let arrival = match self.timing {
            Timing::Retime => self.delay.arrival(served),
            Timing::KeepDelay => return self.send_by_netem(now, served, bytes, packet),
            Timing::KeepRate => self.netem_rate_arrival(now, served),
        };
        self.ring.push(arrival, served, bytes, packet);
        self.wake = self.wake.min(arrival);
    }

    #[cold]
    fn netem_rate_arrival(&mut self, now: Time, served: Time) -> Time {
        match &self.server {
            Server::Netem(server) => {
                self.delay.netem_arrival_with_rate(now, served, server.last_time())
            }
            _ => self.delay.arrival(served),
        }
    }

    /// Sends a packet that may overtake packets which arrive later.
    #[cold]
    fn send_by_netem(&mut self, now: Time, served: Time, bytes: u32, packet: P) {
        let arrival = self.delay.netem_arrival(now, served);
        self.ring.push(arrival, served, bytes, packet);
        // The backlog must not be counted by position after sorting.
        self.ring.pass(now);
        self.ring.sort_last(now);
        self.wake = self.wake.min(self.ring.first_arrival());
    }

    #[inline]
    fn deliver(&mut self) -> Output<P, LinkEvent> {
        let (at, packet) = self.ring.pop().expect("a packet is due at this time");
        if let Some(later) = self.ring.behind(PREFETCHED_PACKETS) {
            later.prefetch();
        }
        self.wake = self.ring.first_arrival().min(self.other_at);
        Output::Packet { at, port: 1, packet }
    }

    /// Queues a packet in a queue that is not drop-tail, unless active queue management drops the
    /// packet.
    #[inline(never)]
    fn manage(&mut self, now: Time, bytes: u32, mut packet: P) -> Admission {
        self.ring.pass(now);
        let backlog = self.ring.backlog();
        let Queue::EnqueueAqm(queue) = &mut self.queue else {
            unreachable!("a drop-tail queue needs no further decision")
        };
        let idle_since = (backlog.packets == 0).then(|| self.server.free_at());
        let is_ecn_capable = packet.ecn().is_capable();
        let verdict = queue.admit(now, backlog, Arrival { bytes, is_ecn_capable, idle_since });
        if let Verdict::Drop(reason) = verdict {
            return self.drop_packet(now, packet.flow(), bytes, reason);
        }
        queue.queued(now, || self.server.dequeue_at(now, bytes));
        if verdict == Verdict::Mark {
            packet.mark_ce();
            self.meter.mark(bytes);
            self.emit(now, LinkEventKind::Marked { flow: packet.flow(), bytes });
        }
        self.enqueue(now, backlog, bytes, packet);
        if verdict == Verdict::Mark { Admission::Marked } else { Admission::Queued }
    }

    #[cold]
    fn drop_packet(&mut self, now: Time, flow: u32, bytes: u32, reason: DropReason) -> Admission {
        self.meter.drop(bytes, reason);
        self.emit(now, LinkEventKind::Dropped { flow, bytes, reason });
        Admission::Dropped
    }

    fn emit(&mut self, at: Time, kind: LinkEventKind) {
        self.events.push_back((at, kind));
        self.set_wake();
    }

    /// Time of the first event that has not been polled.
    fn event_at(&self) -> Time {
        self.scheduled_at().min(self.happened_at())
    }

    fn scheduled_at(&self) -> Time {
        self.scheduled.last().map_or(Time::NEVER, |&(at, _)| at)
    }

    fn happened_at(&self) -> Time {
        self.events.front().map_or(Time::NEVER, |&(at, _)| at)
    }

    fn set_wake(&mut self) {
        let dequeue_at = self.on_dequeue.as_ref().map_or(Time::NEVER, |aqm| aqm.next_dequeue);
        self.other_at = self.event_at().min(dequeue_at);
        self.wake = self.ring.first_arrival().min(self.other_at);
    }

    #[cold]
    fn next_event(&mut self) -> Output<P, LinkEvent> {
        let (at, kind) = if self.scheduled_at() <= self.happened_at() {
            self.scheduled.pop().expect("an event is due at this time")
        } else {
            self.events.pop_front().expect("an event is due at this time")
        };
        self.set_wake();
        Output::Event { at, event: LinkEvent { stage: 0, kind } }
    }
}
