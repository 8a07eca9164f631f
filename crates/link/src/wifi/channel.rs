//! The channel as a link: what it is given, when it acts, and what it gives.

use cwndlab_units::{Duration, Output, Time};

use super::config::{WifiConfig, WifiError};
use super::contention::{DETECTION, Timing};
use super::exchange::{Exchange, WifiStatistics};
use super::frame::Transmission;
use super::hop::{AirUse, Node};
use super::interference::Interference;
use crate::packet::Alike;
use crate::{Admission, Backlog, Counters, Direction, Link, LinkEvent, Packet, Stages};

/// A Wi-Fi channel: port 0 is the access point, the ports from 1 on are its stations.
///
/// Its stages are the lanes: first what the access point has for station 1, then what that has for
/// the access point, then those of station 2. The lanes of the access point share its queue's room.
#[derive(Clone, Debug)]
pub struct WifiChannel<P> {
    exchange: Exchange<P>,
    timing: Timing,
    beacons: Option<Beacons>,
    phase: Phase,
    /// When the phase ends, or the channel's rest.
    due: Time,
    /// Frames of the present phase; the rest are kept for their memory.
    transmissions: Vec<Transmission>,
    under_way: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Nothing since then.
    Idle { since: Time },
    /// Frames are on the air.
    Frames { ends: Time },
    /// Responses are, or nobody knows yet that there are none.
    Rest,
    /// A beacon or another network's burst is.
    Other,
}

#[derive(Clone, Debug)]
struct Beacons {
    interval: Duration,
    duration: Duration,
    next: Time,
}

impl<P: Packet> WifiChannel<P> {
    /// A channel in the run with this seed; `name` is that of its random streams.
    ///
    /// # Errors
    /// If the settings contradict each other or the standard.
    pub fn new(config: &WifiConfig, run_seed: u64, name: &str) -> Result<Self, WifiError> {
        let exchange = Exchange::new(config, run_seed, name)?;
        let phy = &exchange.phy;
        let beacons = config.beacons.map(|beacons| Beacons {
            interval: beacons.interval,
            duration: phy.slowest().duration(u64::from(beacons.bytes)),
            next: Time::ZERO + beacons.interval,
        });
        let mut channel = Self {
            timing: phy.timing(),
            exchange,
            beacons,
            phase: Phase::Idle { since: Time::ZERO },
            due: Time::NEVER,
            transmissions: Vec::new(),
            under_way: 0,
        };
        channel.due = channel.next_occupation(Time::ZERO);
        Ok(channel)
    }

    /// Takes packets that enter at `port` one behind the other, each of which `put` puts into its place.
    #[inline]
    pub fn handle_alike(
        &mut self,
        now: Time,
        port: u16,
        mut alike: Alike,
        mut put: impl FnMut(&mut Option<P>),
    ) {
        let lane = self.exchange.lane_of(port, alike.user);
        // Where they cannot enter together, one does: if nothing was there before, it may be on the
        // air before the next is there.
        while alike.count > 0
            && (self.due <= now || !self.exchange.enqueue_together(now, lane, alike, &mut put))
        {
            self.enter_first(now, lane, &mut alike, &mut put);
        }
    }

    #[inline(never)]
    fn enter_first(
        &mut self,
        now: Time,
        lane: usize,
        alike: &mut Alike,
        put: &mut impl FnMut(&mut Option<P>),
    ) {
        let mut place = None;
        put(&mut place);
        self.enter(now, lane, place.expect("it was put in"));
        alike.count -= 1;
    }

    /// A packet enters a lane.
    fn enter(&mut self, now: Time, lane: usize, packet: P) -> Admission {
        self.advance(now);
        let (admission, begins) = self.exchange.enqueue(now, lane, packet);
        if let Some(node) = begins {
            self.begin(now, node);
        }
        admission
    }

    /// Lets the channel act until `now`. Returns whether something is out by then.
    #[inline]
    pub fn act_to_output(&mut self, now: Time) -> bool {
        self.advance(now);
        self.exchange.outbox.first_at() <= now
    }

    /// Takes out the event that is first, if one is and it has happened by `now`.
    #[inline]
    pub fn pop_event(&mut self, now: Time) -> Option<(Time, LinkEvent)> {
        self.exchange.outbox.pop_event(now)
    }

    /// Packets that are out, came out together and have nothing before them: the port at which they
    /// leave, and how many there are.
    #[inline]
    pub fn first_train(&self) -> Option<(u16, u32)> {
        self.exchange.first_train()
    }

    /// Moves the first packet that is out to `place`, which costs no copy but that.
    ///
    /// # Panics
    /// If none is out.
    #[inline]
    pub fn move_packet(&mut self, place: &mut Option<P>) {
        self.exchange.move_packet(place);
    }

    /// What happened on the air since the beginning.
    pub fn statistics(&self) -> WifiStatistics {
        self.exchange.statistics
    }

    /// How many packets have come and neither left nor been dropped.
    pub fn packets_inside(&self) -> usize {
        let in_lanes: usize = self.exchange.lanes.iter().map(|hop| hop.lane.len()).sum();
        in_lanes + self.exchange.packets_in_no_lane()
    }

    /// What a stage has had of the air since the beginning.
    pub fn air_use(&self, stage: usize) -> AirUse {
        self.exchange.lanes[stage].air
    }

    /// When the channel will be idle no more if nothing else comes.
    fn next_occupation(&self, since: Time) -> Time {
        let contending = self.exchange.nodes.iter().filter(|node| node.has_work());
        let first = contending.map(|node| node.contender.sends_at(since)).min();
        let heard = self.exchange.interference.as_ref().map_or(Time::NEVER, Interference::heard_at);
        first.unwrap_or(Time::NEVER).min(heard.max(since)).min(self.beacon_at(since))
    }

    /// A beacon goes after the shortest pause with which all stations have seen the last frame end.
    fn beacon_at(&self, since: Time) -> Time {
        let first = since + self.timing.sifs + self.timing.slot;
        self.beacons.as_ref().map_or(Time::NEVER, |beacons| beacons.next.max(first))
    }

    /// Lets everything happen until `now`.
    #[inline]
    fn advance(&mut self, now: Time) {
        if self.due <= now {
            self.act_until(now);
        }
    }

    #[inline(never)]
    fn act_until(&mut self, now: Time) {
        while self.due <= now {
            let at = self.due;
            match self.phase {
                Phase::Idle { since } => self.occupy(since, at),
                Phase::Frames { ends } => self.end_frames(at, ends),
                Phase::Rest => self.end_rest(at),
                Phase::Other => self.rest_since(at),
            }
        }
    }

    fn rest_since(&mut self, at: Time) {
        self.phase = Phase::Idle { since: at };
        self.due = self.next_occupation(at);
    }

    fn keep_busy(&mut self, phase: Phase, until: Time) {
        self.phase = phase;
        self.due = until;
    }

    /// A node that had nothing to send has got something.
    #[inline(never)]
    fn begin(&mut self, now: Time, node: usize) {
        let contender = &mut self.exchange.nodes[node].contender;
        if let Phase::Idle { since } = self.phase {
            contender.begin(now, false);
            self.due = self.due.min(contender.sends_at(since));
        } else {
            contender.begin(now, true);
        }
    }

    /// The channel has been idle and something begins.
    fn occupy(&mut self, since: Time, at: Time) {
        if self
            .exchange
            .interference
            .as_ref()
            .is_some_and(|interference| interference.heard_at() <= at)
        {
            self.pause(since, at);
            let ends = self
                .exchange
                .interference
                .as_mut()
                .map_or(at, |interference| interference.send(at));
            return self.keep_busy(Phase::Other, ends);
        }
        if self.beacon_at(since) <= at {
            self.pause(since, at);
            let beacons = self.beacons.as_mut().expect("there is a beacon");
            beacons.next += beacons.interval;
            let ends = at + beacons.duration;
            return self.keep_busy(Phase::Other, ends);
        }
        self.under_way = 0;
        for node in 0..self.exchange.nodes.len() {
            let Node { contender, .. } = &self.exchange.nodes[node];
            let is_next = contender.sends_at(since) < at + DETECTION;
            if is_next && self.exchange.nodes[node].has_work() {
                self.exchange.expire(node, at);
                if self.exchange.nodes[node].has_work() {
                    self.prepare(node, at, self.exchange.nodes[node].contender.category.txop);
                }
            }
        }
        if self.under_way == 0 {
            // All that was to be sent had waited too long.
            self.due = self.next_occupation(since);
            return;
        }
        self.pause(since, at);
        self.send(at);
    }

    fn pause(&mut self, since: Time, at: Time) {
        for node in &mut self.exchange.nodes {
            node.contender.pause(at - since);
        }
    }

    /// Adds the next frame of a node to those that are sent.
    fn prepare(&mut self, node: usize, at: Time, txop: Duration) {
        if self.transmissions.len() == self.under_way {
            self.transmissions.push(Transmission::default());
        }
        self.exchange.build(node, at, txop, &mut self.transmissions[self.under_way]);
        self.under_way += 1;
    }

    /// The frames that were prepared go on the air.
    fn send(&mut self, at: Time) {
        let frames = &mut self.transmissions[..self.under_way];
        self.exchange.decide(at, frames);
        let frames_end = frames.iter().map(|frame| frame.ends).max().unwrap_or(at);
        let ends = frames.iter().map(|frame| frame.rest_ends).max().unwrap_or(at);
        self.phase = Phase::Frames { ends };
        self.due = frames_end;
    }

    /// The last frame is over: what it brought is passed on.
    fn end_frames(&mut self, at: Time, ends: Time) {
        for transmission in &self.transmissions[..self.under_way] {
            self.exchange.settle(at, transmission);
        }
        self.keep_busy(Phase::Rest, ends);
    }

    /// The responses are over too: the senders go on.
    fn end_rest(&mut self, at: Time) {
        for index in 0..self.under_way {
            let transmission = &self.transmissions[index];
            let (node, lane) = (transmission.from, transmission.lane);
            let (is_answered, waited_until) = (transmission.is_answered, transmission.rest_ends);
            let left = transmission.txop.saturating_sub(at - transmission.begins);
            let left = left.saturating_sub(self.timing.sifs);
            if is_answered && self.under_way == 1 && left > Duration::ZERO {
                self.exchange.expire(node, at);
                if self.exchange.nodes[node].has_work() && self.exchange.fits(node, at, left) {
                    self.under_way = 0;
                    let begins = at + self.timing.sifs;
                    self.prepare(node, begins, left);
                    return self.send(begins);
                }
            }
            if is_answered && self.under_way == 1 && self.exchange.tells_of_expiry(node, at) {
                self.under_way = 0;
                let begins = at + self.timing.sifs;
                self.prepare(node, begins, Duration::ZERO);
                return self.send(begins);
            }
            let begins_anew =
                is_answered || self.exchange.has_nothing_to_repeat(lane, waited_until);
            let contender = &mut self.exchange.nodes[node].contender;
            if begins_anew {
                contender.succeed();
            } else {
                contender.fail(self.exchange.rules.failures);
            }
        }
        self.rest_since(at);
    }
}

impl<P: Packet> Link<P> for WifiChannel<P> {
    #[inline(never)]
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission {
        let lane = self.exchange.lane_of(port, packet.user());
        self.enter(now, lane, packet)
    }

    #[inline(never)]
    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        if self.exchange.outbox.first_at() > now {
            self.advance(now);
        }
        self.exchange.pop_output(now)
    }

    #[inline]
    fn wake_time(&self) -> Time {
        self.exchange.outbox.first_at().min(self.due)
    }
}

impl<P: Packet> Stages for WifiChannel<P> {
    fn stages(&self) -> usize {
        self.exchange.lanes.len()
    }

    fn stages_of(&self, direction: Direction, user: u16) -> Vec<usize> {
        let down = 2 * (usize::from(user) - 1);
        match direction {
            Direction::Forward => vec![down],
            Direction::Reverse => vec![down + 1],
        }
    }

    fn counters(&mut self, stage: usize, now: Time) -> Counters {
        self.advance(now);
        self.exchange.lanes[stage].counters(now)
    }

    fn backlog(&mut self, stage: usize, now: Time) -> Backlog {
        self.advance(now);
        self.exchange.lanes[stage].queue.backlog()
    }

    fn begin_window(&mut self, now: Time) {
        self.advance(now);
        for hop in &mut self.exchange.lanes {
            hop.begin_window(now);
        }
    }
}
