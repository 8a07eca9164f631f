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
//!
//! A drop-tail queue with room, a constant rate and a constant delay have a fast path: the wire
//! stores the times that it computed for the last packet. If the next packet has the same length,
//! and neither rate nor delay changes before its service, the same times apply.

mod build;
mod counts;
mod dequeue;
mod ingress;
mod on_dequeue;

use std::collections::VecDeque;

use cwndlab_units::{Duration, Output, Time};

use crate::Link;
use crate::counters::Backlog;
use crate::delay::Delay;
use crate::event::{DropReason, LinkEvent, LinkEventKind};
use crate::meter::Meter;
use crate::packet::{Admission, Packet, Train};
use crate::queue::{Arrival, Queue, Verdict};
use crate::rate::Server;
use crate::ring::Ring;
use ingress::IngressFilter;
use on_dequeue::OnDequeue;

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

/// How the last packet was handled: the times of a packet of a given length, and until when they
/// apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Steady {
    bytes: u32,
    /// Service time of the packet.
    service: Duration,
    /// Maximum length of a packet that has room and is sent in no time; 0 if there is none.
    at_once_bytes: u32,
    delay: Duration,
    /// The times apply to packets whose service begins before this time.
    until: Time,
    /// Maximum number of packets in the queue.
    room_packets: u32,
    /// Number of packets before the first packet that was handled in this way.
    packets_before: u64,
}

/// Length of the longest queue since a measurement window began, and a lower bound on recent
/// service times.
///
/// With this bound, the state of the server alone usually shows that the queue is shorter now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LongestQueue {
    /// Maximum number of packets in the queue and in service.
    packets: u32,
    /// Lower bound on the service time of each of the last `packets` packets.
    shortest_service: Duration,
    /// Minimum time in which `packets - 1` packets are served.
    least_time: Duration,
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

    /// Queues packets of the same length while each can be handled in the same way as the last
    /// packet.
    ///
    /// Returns the number of packets queued; the caller passes the remaining packets to
    /// [`Link::handle_packet`].
    #[inline(always)]
    pub fn take_like_the_last(
        &mut self,
        now: Time,
        wire_bytes: u32,
        count: u32,
        train: &impl Train<P>,
    ) -> u32 {
        let bytes = wire_bytes + self.framing_bytes;
        let mut taken = 0;
        if bytes == self.steady.bytes {
            while taken < count && self.take_one(now, bytes, taken, train) {
                taken += 1;
            }
        }
        taken
    }

    /// Queues the packet of a train with a given index, if the packet has the length of the last
    /// packet and can be handled in the same way.
    #[inline(always)]
    fn take_one(&mut self, now: Time, bytes: u32, index: u32, train: &impl Train<P>) -> bool {
        let Server::Fixed(server) = &mut self.server else { return false };
        let begins = server.free_at.max(now);
        if begins >= self.steady.until {
            return false;
        }
        // If the queue was longer before, there is room for another packet.
        let is_longest = !self.longest.is_longer_than_queue(begins, now)
            && self.longest.look_at(&self.ring, &self.steady, now);
        if is_longest {
            self.ring.pass(now);
            if self.ring.backlog_packets() >= self.steady.room_packets {
                return false;
            }
        }
        let served = Time::from_nanos(begins.as_nanos() + self.steady.service.as_nanos());
        let arrival = Time::from_nanos(served.as_nanos() + self.steady.delay.as_nanos());
        server.free_at = served;
        self.delay.note_arrival(arrival);
        let queue_time = served.as_nanos().wrapping_sub(now.as_nanos());
        let counts = &mut self.meter.counts;
        counts.queue_time = counts.queue_time.wrapping_add(queue_time);
        train.put(index, &mut self.ring.push_slot(arrival, served, bytes).packet);
        if served <= now {
            self.ring.pass_all();
        } else if is_longest {
            self.longest.set(self.longest.packets().max(self.ring.backlog_packets()));
        }
        self.wake = self.wake.min(arrival);
        true
    }

    /// Queues the first packet of a train if the packet is only delayed, and the last packet was
    /// only delayed, too. If service takes no time, no packet waits, and shorter packets take no
    /// time either.
    #[inline(always)]
    pub fn take_at_once(&mut self, now: Time, wire_bytes: u32, train: &impl Train<P>) -> bool {
        let bytes = wire_bytes + self.framing_bytes;
        let Server::Fixed(server) = &mut self.server else { return false };
        let meets_the_same = bytes <= self.steady.at_once_bytes && now < self.steady.until;
        if !meets_the_same || server.free_at > now {
            return false;
        }
        let arrival = Time::from_nanos(now.as_nanos() + self.steady.delay.as_nanos());
        server.free_at = now;
        self.delay.note_arrival(arrival);
        train.put(0, &mut self.ring.push_slot(arrival, now, bytes).packet);
        self.ring.pass_all();
        self.wake = self.wake.min(arrival);
        true
    }

    /// Whether a packet arrives at `now` and no other action is due.
    #[inline(always)]
    pub fn has_arrived(&self, now: Time) -> bool {
        self.wake <= now && now < self.other_at
    }

    /// Moves the packet that has arrived to `place`, without a further copy.
    #[inline(always)]
    pub fn move_arrived(&mut self, place: &mut Option<P>) {
        let next = self.ring.pop_into(place);
        self.wake = next.min(self.other_at);
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

    /// Computes the times at which a packet leaves the server and arrives at the far end; the queue
    /// must have room for the packet.
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

    /// Stores how a packet of this length, whose service begins and ends at these times, was
    /// handled, if this can apply to the next packet: the queue is limited only in packets, rate
    /// and delay are constant, and the packet did not have to wait for an earlier packet's
    /// arrival.
    #[inline]
    fn remember(&mut self, bytes: u32, begins: Time, served: Time) {
        let packets = self.ring.pushed().packets;
        self.steady.packets_before = packets;
        let (Server::Fixed(server), Queue::DropTail(limits)) = (&self.server, &self.queue) else {
            return;
        };
        self.longest.note_service(served - begins);
        let (Some(room_packets), Some((delay, delay_until))) =
            (limits.packets_alone(), self.delay.fixed_after(served))
        else {
            return;
        };
        let (service, rate_until) = server.capacity.steady_time(bytes);
        let until = rate_until.min(delay_until).min(Time::NEVER - delay) - service;
        let is_at_once = service == Duration::ZERO && room_packets > 0;
        let at_once_bytes = if is_at_once { bytes } else { 0 };
        self.longest.note_service(service);
        let packets_before = packets - 1;
        self.steady =
            Steady { bytes, service, at_once_bytes, delay, until, room_packets, packets_before };
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

impl Steady {
    /// The state before the first packet.
    fn unknown() -> Self {
        let (service, delay) = (Duration::ZERO, Duration::ZERO);
        Self {
            bytes: 0,
            service,
            at_once_bytes: 0,
            delay,
            until: Time::ZERO,
            room_packets: 0,
            packets_before: 0,
        }
    }
}

impl LongestQueue {
    /// Creates the state before the first packet.
    fn new() -> Self {
        let shortest_service = Duration::from_nanos(u64::MAX);
        Self { packets: 0, shortest_service, least_time: Duration::ZERO }
    }

    #[inline]
    fn packets(&self) -> u32 {
        self.packets
    }

    /// Sets the length of the longest queue.
    fn set(&mut self, packets: u32) {
        self.packets = packets;
        let others = u64::from(packets.saturating_sub(1));
        let nanos = self.shortest_service.as_nanos().saturating_mul(others);
        self.least_time = Duration::from_nanos(nanos);
    }

    /// Records the service time of a packet.
    #[inline]
    fn note_service(&mut self, service: Duration) {
        if service < self.shortest_service {
            self.shortest_service = service;
            self.set(self.packets);
        }
    }

    /// Checks the queue itself. Returns whether the queue at `now` is as long as the longest
    /// queue.
    #[inline(never)]
    fn look_at<P>(&mut self, ring: &Ring<P>, steady: &Steady, now: Time) -> bool {
        self.note_alike(steady.service, ring.pushed().packets - steady.packets_before);
        self.packets == 0 || !ring.has_fewer_waiting(self.packets, now)
    }

    /// Raises the bound if the last `count` packets all had this service time, because packets
    /// with shorter service times have left a queue of at most this length.
    fn note_alike(&mut self, service: Duration, count: u64) {
        if service > self.shortest_service && count >= u64::from(self.packets) {
            self.shortest_service = service;
            self.set(self.packets);
        }
    }

    /// Whether the queue at `now` is certainly shorter than the longest queue, if the server
    /// finishes it at `free_at`: if it were as long, the packets after the first would take
    /// longer.
    #[inline]
    fn is_longer_than_queue(&self, free_at: Time, now: Time) -> bool {
        free_at.as_nanos() - now.as_nanos() < self.least_time.as_nanos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_packets_of_ten_nanoseconds_take_twenty_after_the_first() {
        let mut longest = LongestQueue::new();
        let now = Time::from_nanos(100);
        assert!(!longest.is_longer_than_queue(now, now), "it was empty at most");
        longest.note_service(Duration::from_nanos(30));
        longest.set(3);
        longest.note_service(Duration::from_nanos(10));
        let is_longer =
            [119, 120].map(|at| longest.is_longer_than_queue(Time::from_nanos(at), now));
        assert_eq!(is_longer, [true, false]);
        assert_eq!(longest.packets(), 3);
    }

    #[test]
    fn a_short_packet_is_forgotten_when_as_many_long_ones_have_come_as_the_queue_held() {
        let mut longest = LongestQueue::new();
        let (now, free_at) = (Time::ZERO, Time::from_nanos(19));
        longest.note_service(Duration::from_nanos(1));
        longest.set(3);
        longest.note_alike(Duration::from_nanos(10), 2);
        assert!(!longest.is_longer_than_queue(free_at, now), "the short one may wait");
        longest.note_alike(Duration::from_nanos(10), 3);
        assert!(longest.is_longer_than_queue(free_at, now));
        longest.note_service(Duration::from_nanos(1));
        assert!(!longest.is_longer_than_queue(free_at, now), "another short one came");
    }

    #[test]
    fn a_packet_that_takes_no_time_says_nothing() {
        let mut longest = LongestQueue::new();
        longest.set(5);
        longest.note_service(Duration::ZERO);
        assert!(!longest.is_longer_than_queue(Time::ZERO, Time::ZERO));
    }
}
