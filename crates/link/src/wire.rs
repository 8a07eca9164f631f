//! A one-way link: loss and outages, then a queue, then a rate, then a delay.
//!
//! ```text
//!   handle_packet(port 0) -> [ loss, outage ] -> [ queue -> server ] -> [ delay ] -> poll: port 1
//! ```
//!
//! When a packet leaves the server and when it arrives is computed when it is queued, as all that
//! decides it is known then. So one ring holds it until it arrives, and it costs one wake-up. Only
//! CoDel decides later: its packets wait before the ring until their turn, which is worked out up
//! to the present whenever the wire is asked anything.

mod build;

use std::collections::VecDeque;

use cwndlab_units::{Output, Stream, Time};

use crate::Link;
use crate::counters::{Backlog, Counters, Drops, Tally};
use crate::delay::Delay;
use crate::event::{DropReason, LinkEvent, LinkEventKind};
use crate::loss::Loss;
use crate::outage::Blackouts;
use crate::packet::{Admission, Packet};
use crate::queue::{Arrival, Codel, Queue, Verdict, Waiting};
use crate::rate::Server;
use crate::schedule::Steps;

/// A one-way link: packets enter at port 0 and leave at port 1.
#[derive(Clone, Debug)]
pub struct Wire<P> {
    /// Every packet that is served or has its place in the line, in order of `arrival`.
    ring: VecDeque<Entry<P>>,
    /// The last packets of `ring`, those that had not left the server when last looked at.
    unserved: Backlog,
    server: Server,
    queue: Queue,
    delay: Delay,
    framing_bytes: u32,
    longest_bytes: u32,
    timing: Timing,
    /// What is asked of an arrival before the queue, if anything.
    entrance: Option<Box<Entrance>>,
    codel: Option<Box<Late<P>>>,
    /// When the server is or was done with all it was given.
    served_at: Time,
    /// When the first piece of `news` happened.
    news_at: Time,
    news: VecDeque<(Time, LinkEventKind)>,
    /// What is known beforehand to happen, the next last.
    timeline: Vec<(Time, LinkEventKind)>,
    counts: Counts,
    /// The counts when the window began, and when that was.
    window: (Counts, Time),
    stage: u16,
}

#[derive(Clone, Debug)]
struct Entry<P> {
    arrival: Time,
    served: Time,
    bytes: u32,
    packet: P,
}

/// How a packet's arrival follows from its service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Timing {
    /// By the delay at the time when it is sent.
    Retime,
    /// As netem without a rate: by the delay when it came, in order of arrival.
    KeepDelay,
    /// As netem with a rate.
    KeepRate,
}

/// Loss and outages.
#[derive(Clone, Debug)]
struct Entrance {
    blackouts: Blackouts,
    loss: Steps<Loss>,
    random: Stream,
}

/// A queue that decides when a packet's turn comes.
#[derive(Clone, Debug)]
struct Late<P> {
    queue: Codel<P>,
    /// When the next turn comes.
    next_turn: Time,
    /// The turn before.
    last_turn: Time,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    arrived: Tally,
    delivered: Tally,
    dropped: Tally,
    drops: Drops,
    marked: Tally,
    /// Sum over packets of their time in queue and service, in nanoseconds. It wraps, which
    /// differences do not see; a packet that is still there counts with its whole time.
    queue_time: u64,
    queue_max: u32,
}

impl<P: Packet> Link<P> for Wire<P> {
    #[inline]
    fn handle_packet(&mut self, now: Time, port: u16, mut packet: P) -> Admission {
        debug_assert_eq!(port, 0, "a wire takes packets at port 0");
        let bytes = packet.wire_bytes() + self.framing_bytes;
        self.counts.arrived.add(bytes);
        if let Some(entrance) = &mut self.entrance
            && let Some(reason) = entrance.refuses(now)
        {
            return self.refuse(now, packet.flow(), bytes, reason);
        }
        if bytes > self.longest_bytes {
            return self.refuse(now, packet.flow(), bytes, DropReason::TooLong);
        }
        if self.codel.is_some() {
            return self.handle_late(now, bytes, packet);
        }
        self.pass_served(now);
        let idle_since = (self.unserved.packets == 0).then_some(self.served_at);
        let is_ecn_capable = packet.ecn().is_capable();
        let arrival = Arrival { bytes, is_ecn_capable, idle_since };
        let admission = match self.queue.admit(now, self.unserved, arrival) {
            Verdict::Accept => Admission::Queued,
            Verdict::Mark => {
                packet.mark_ce();
                self.counts.marked.add(bytes);
                self.tell(now, LinkEventKind::Marked { flow: packet.flow(), bytes });
                Admission::Marked
            }
            Verdict::Drop(reason) => return self.refuse(now, packet.flow(), bytes, reason),
        };
        let served = self.server.serve(now, bytes);
        self.send(now, now, served, bytes, packet);
        self.counts.queue_max = self.counts.queue_max.max(self.unserved.packets);
        admission
    }

    #[inline]
    fn poll(&mut self, now: Time) -> Output<P, LinkEvent> {
        if self.codel.is_some() {
            self.serve_late(now);
        }
        let due = self.ring.front().map_or(Time::NEVER, |entry| entry.arrival);
        if self.news_at <= now.min(due) && !self.news_at.is_never() {
            return self.next_news();
        }
        if due <= now && !due.is_never() {
            return self.deliver();
        }
        match self.wake_time() {
            Time::NEVER => Output::Idle,
            time => Output::Wait(time),
        }
    }

    #[inline]
    fn wake_time(&self) -> Time {
        let due = match self.ring.front() {
            Some(entry) => entry.arrival,
            None => self.codel.as_ref().map_or(Time::NEVER, |late| late.next_turn),
        };
        due.min(self.news_at)
    }

    fn stages(&self) -> usize {
        1
    }

    fn counters(&mut self, stage: usize, now: Time) -> Counters {
        debug_assert_eq!(stage, 0, "a wire has one stage");
        let counts = self.settled_counts(now);
        let (before, since) = self.window;
        let window = now.saturating_since(since);
        let queue_time = counts.queue_time.wrapping_sub(before.queue_time);
        let is_time = window.as_nanos() > 0;
        let offered = match (self.server.offered(now), self.server.offered(since)) {
            (Some(until_now), Some(before)) => Some(until_now - before),
            _ => None,
        };
        Counters {
            window,
            arrived: counts.arrived - before.arrived,
            delivered: counts.delivered - before.delivered,
            dropped: counts.dropped - before.dropped,
            drops: counts.drops - before.drops,
            marked: counts.marked - before.marked,
            offered,
            queue_mean_packets: is_time.then(|| queue_time as f64 / window.as_nanos() as f64),
            queue_max_packets: counts.queue_max,
        }
    }

    fn backlog(&mut self, stage: usize, now: Time) -> Backlog {
        debug_assert_eq!(stage, 0, "a wire has one stage");
        self.serve_late(now);
        self.pass_served(now);
        self.total_backlog()
    }

    fn begin_window(&mut self, now: Time) {
        self.counts.queue_max = self.backlog(0, now).packets;
        self.window = (self.settled_counts(now), now);
    }
}

impl<P: Packet> Wire<P> {
    /// How many packets are on the wire: in the queue, in service or under way.
    pub fn packets_inside(&self) -> usize {
        self.ring.len()
            + self.codel.as_ref().map_or(0, |late| late.queue.backlog().packets as usize)
    }

    /// Puts a packet on its way that came at `came` and leaves the server at `served`.
    #[inline]
    fn send(&mut self, now: Time, came: Time, served: Time, bytes: u32, packet: P) {
        self.served_at = served;
        self.counts.queue_time =
            self.counts.queue_time.wrapping_add(served.as_nanos().wrapping_sub(came.as_nanos()));
        let arrival = match self.timing {
            Timing::Retime => self.delay.arrival(served),
            Timing::KeepDelay => return self.send_kept(now, served, bytes, packet),
            Timing::KeepRate => self.kept_rate_arrival(now, served),
        };
        if served > now {
            self.unserved.add(bytes);
        }
        self.ring.push_back(Entry { arrival, served, bytes, packet });
    }

    fn kept_rate_arrival(&mut self, now: Time, served: Time) -> Time {
        match &self.server {
            Server::Kept(server) => {
                self.delay.kept_arrival_with_rate(now, served, server.last_time())
            }
            _ => self.delay.arrival(served),
        }
    }

    /// Sorts a packet into the ring, before those that arrive later; what has not yet left a server
    /// that pauses is not overtaken.
    fn send_kept(&mut self, now: Time, served: Time, bytes: u32, packet: P) {
        let mut arrival = self.delay.kept_arrival(now, served);
        if served > now {
            let last = self.ring.back().map_or(Time::ZERO, |entry| entry.arrival);
            arrival = arrival.max(last);
            self.unserved.add(bytes);
        }
        let place = self.ring.partition_point(|entry| entry.arrival <= arrival);
        self.ring.insert(place, Entry { arrival, served, bytes, packet });
    }

    /// Counts what left the server until `now` out of the backlog.
    #[inline]
    fn pass_served(&mut self, now: Time) {
        while self.unserved.packets > 0 {
            let entry = &self.ring[self.ring.len() - self.unserved.packets as usize];
            if entry.served > now {
                break;
            }
            self.unserved.remove(entry.bytes);
        }
    }

    #[inline]
    fn deliver(&mut self) -> Output<P, LinkEvent> {
        if self.unserved.packets as usize == self.ring.len() {
            self.unserved.remove(self.ring[0].bytes);
        }
        let entry = self.ring.pop_front().expect("a packet is due");
        self.counts.delivered.add(entry.bytes);
        Output::Packet { at: entry.arrival, port: 1, packet: entry.packet }
    }

    #[cold]
    fn refuse(&mut self, now: Time, flow: u32, bytes: u32, reason: DropReason) -> Admission {
        self.counts.dropped.add(bytes);
        self.counts.drops.add(reason);
        self.tell(now, LinkEventKind::Dropped { flow, bytes, reason });
        Admission::Dropped
    }

    fn tell(&mut self, at: Time, kind: LinkEventKind) {
        self.news.push_back((at, kind));
        self.news_at = self.news_at.min(at);
    }

    #[cold]
    fn next_news(&mut self) -> Output<P, LinkEvent> {
        let foreseen = self.timeline.last().map_or(Time::NEVER, |&(at, _)| at);
        let happened = self.news.front().map_or(Time::NEVER, |&(at, _)| at);
        let (at, kind) = if foreseen <= happened {
            self.timeline.pop().expect("news are due")
        } else {
            self.news.pop_front().expect("news are due")
        };
        let foreseen = self.timeline.last().map_or(Time::NEVER, |&(at, _)| at);
        let happened = self.news.front().map_or(Time::NEVER, |&(at, _)| at);
        self.news_at = foreseen.min(happened);
        Output::Event { at, event: LinkEvent { stage: self.stage, kind } }
    }

    fn handle_late(&mut self, now: Time, bytes: u32, packet: P) -> Admission {
        self.serve_late(now);
        self.pass_served(now);
        let backlog = self.total_backlog();
        let flow = packet.flow();
        let late = self.codel.as_mut().expect("the wire has CoDel");
        if !late.queue.limits.have_room(backlog, bytes) {
            return self.refuse(now, flow, bytes, DropReason::Overflow);
        }
        late.queue.push(Waiting { packet, bytes, arrived: now });
        self.counts.queue_max = self.counts.queue_max.max(backlog.packets + 1);
        self.serve_late(now);
        Admission::Queued
    }

    /// Serves what has its turn until `now`.
    fn serve_late(&mut self, now: Time) {
        let Some(mut late) = self.codel.take() else { return };
        loop {
            let Some(head) = late.queue.front() else {
                late.next_turn = Time::NEVER;
                break;
            };
            let turn = self.server.turn(head.arrived, head.bytes).max(late.last_turn);
            late.next_turn = turn;
            if turn > now || turn.is_never() {
                break;
            }
            late.last_turn = turn;
            let sent = late.queue.dequeue(turn, |dropped| {
                let waited = turn.as_nanos() - dropped.arrived.as_nanos();
                self.counts.queue_time = self.counts.queue_time.wrapping_add(waited);
                self.refuse(turn, dropped.packet.flow(), dropped.bytes, DropReason::Aqm);
            });
            if let Some((head, is_marked)) = sent {
                if is_marked {
                    self.counts.marked.add(head.bytes);
                    let flow = head.packet.flow();
                    self.tell(turn, LinkEventKind::Marked { flow, bytes: head.bytes });
                }
                let served = self.server.serve_in_turn(turn, head.bytes);
                self.pass_served(turn);
                self.send(turn, head.arrived, served, head.bytes, head.packet);
            }
        }
        self.codel = Some(late);
    }

    fn total_backlog(&self) -> Backlog {
        let waiting =
            self.codel.as_ref().map_or_else(Backlog::default, |late| late.queue.backlog());
        Backlog {
            packets: self.unserved.packets + waiting.packets,
            bytes: self.unserved.bytes + waiting.bytes,
        }
    }

    /// The counts with the time in the queue as of `now`, not as it will be.
    fn settled_counts(&mut self, now: Time) -> Counts {
        self.serve_late(now);
        self.pass_served(now);
        let mut counts = self.counts;
        for entry in self.ring.iter().rev().take(self.unserved.packets as usize) {
            let to_come = entry.served.as_nanos().wrapping_sub(now.as_nanos());
            counts.queue_time = counts.queue_time.wrapping_sub(to_come);
        }
        for waiting in self.codel.iter().flat_map(|late| late.queue.iter()) {
            let waited = now.as_nanos() - waiting.arrived.as_nanos();
            counts.queue_time = counts.queue_time.wrapping_add(waited);
        }
        counts
    }
}

impl Entrance {
    fn refuses(&mut self, now: Time) -> Option<DropReason> {
        self.loss.advance(now);
        if self.blackouts.covers(now) {
            Some(DropReason::Outage)
        } else {
            self.loss.value_mut().takes(&mut self.random).then_some(DropReason::Loss)
        }
    }
}
