//! A Wi-Fi channel as a link: its inputs, timers and outputs.

use cwndlab_units::{Duration, Output, Time};

use super::config::{WifiConfig, WifiError};
use super::contention::{DETECTION, Timing};
use super::exchange::{Exchange, WifiStatistics};
use super::frame::Transmission;
use super::hop::{AirUse, Node};
use super::interference::Interference;
use crate::packet::Alike;
use crate::{Admission, Backlog, Counters, Direction, Link, LinkEvent, Packet, Stages};

/// A Wi-Fi channel: port 0 is the access point, and the ports from 1 on are the stations.
///
/// The stages of the channel are its lanes. For each station in turn, there is the lane from the
/// access point to the station, and then the lane back. All lanes of the access point share the
/// capacity of its queue.
#[derive(Clone, Debug)]
pub struct WifiChannel<P> {
    exchange: Exchange<P>,
    timing: Timing,
    beacons: Option<Beacons>,
    phase: Phase,
    /// End of the present phase; in the phase `Idle`, the next use of the channel.
    due: Time,
    /// Frames of the current phase: the first `under_way` entries. Further entries are memory for
    /// reuse.
    transmissions: Vec<Transmission>,
    under_way: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The channel has been idle since this time.
    Idle { since: Time },
    /// Frames are on the air until the time `ends`.
    Frames { ends: Time },
    /// Responses are on the air, or senders still wait for them.
    Rest,
    /// A beacon or a burst of another network is on the air.
    Other,
}

#[derive(Clone, Debug)]
struct Beacons {
    interval: Duration,
    duration: Duration,
    next: Time,
}

impl<P: Packet> WifiChannel<P> {
    /// Creates a channel for the run with this seed; `name` is part of the names of its random
    /// streams.
    ///
    /// # Errors
    /// Returns an error if the settings contradict each other or the standard.
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

    /// Accepts packets that enter at `port`, in order; `put` constructs each packet in its entry.
    #[inline]
    pub fn handle_alike(
        &mut self,
        now: Time,
        port: u16,
        mut alike: Alike,
        mut put: impl FnMut(&mut Option<P>),
    ) {
        let lane = self.exchange.lane_of(port, alike.user);
        // If they cannot enter together, one enters alone: if the lane was empty, it may be on the
        // air before the next packet.
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
        self.enter(now, lane, place.expect("the packet was stored in its entry"));
        alike.count -= 1;
    }

    /// Passes a packet to a lane.
    fn enter(&mut self, now: Time, lane: usize, packet: P) -> Admission {
        self.advance(now);
        let (admission, begins) = self.exchange.enqueue(now, lane, packet);
        if let Some(node) = begins {
            self.begin(now, node);
        }
        admission
    }

    /// Advances the channel to `now`; returns whether a packet or event is available by then.
    #[inline]
    pub fn act_to_output(&mut self, now: Time) -> bool {
        self.advance(now);
        self.exchange.outbox.first_at() <= now
    }

    /// Removes the first output if it is an event and happened by `now`.
    #[inline]
    pub fn pop_event(&mut self, now: Time) -> Option<(Time, LinkEvent)> {
        self.exchange.outbox.pop_event(now)
    }

    /// The packets at the front that leave together: the port at which they leave, and their
    /// number.
    #[inline]
    pub fn first_train(&self) -> Option<(u16, u32)> {
        self.exchange.first_train()
    }

    /// Moves the first available packet to `place`, without a further copy.
    ///
    /// # Panics
    /// Panics if the first output is not a packet.
    #[inline]
    pub fn move_packet(&mut self, place: &mut Option<P>) {
        self.exchange.move_packet(place);
    }

    /// Statistics of all frames since the start of the run.
    pub fn statistics(&self) -> WifiStatistics {
        self.exchange.statistics
    }

    /// Number of packets that entered the channel and have neither left it nor been dropped.
    pub fn packets_inside(&self) -> usize {
        let in_lanes: usize = self.exchange.lanes.iter().map(|hop| hop.lane.len()).sum();
        in_lanes + self.exchange.packets_in_no_lane()
    }

    /// Time on the air for the packets of a stage, since the start of the run.
    pub fn air_use(&self, stage: usize) -> AirUse {
        self.exchange.lanes[stage].air
    }

    /// Time at which the channel next becomes busy, if no further packet arrives.
    fn next_occupation(&self, since: Time) -> Time {
        let contending = self.exchange.nodes.iter().filter(|node| node.has_work());
        let first = contending.map(|node| node.contender.sends_at(since)).min();
        let heard = self.exchange.interference.as_ref().map_or(Time::NEVER, Interference::heard_at);
        first.unwrap_or(Time::NEVER).min(heard.max(since)).min(self.beacon_at(since))
    }

    /// A beacon is sent after PIFS, the shortest interval after which all stations have noticed
    /// the end of a frame.
    fn beacon_at(&self, since: Time) -> Time {
        let first = since + self.timing.sifs + self.timing.slot;
        self.beacons.as_ref().map_or(Time::NEVER, |beacons| beacons.next.max(first))
    }

    /// Advances the channel to `now`.
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

    /// Starts contention for a node that had no data to send until now.
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

    /// Ends an idle period, because a transmission begins.
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
            let beacons = self.beacons.as_mut().expect("the access point has a next beacon");
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
            // Every packet that was to be sent had expired.
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

    /// Adds the next frame of a node to the frames of this phase.
    fn prepare(&mut self, node: usize, at: Time, txop: Duration) {
        if self.transmissions.len() == self.under_way {
            self.transmissions.push(Transmission::default());
        }
        self.exchange.build(node, at, txop, &mut self.transmissions[self.under_way]);
        self.under_way += 1;
    }

    /// Sends the frames that were prepared.
    fn send(&mut self, at: Time) {
        let frames = &mut self.transmissions[..self.under_way];
        self.exchange.decide(at, frames);
        let frames_end = frames.iter().map(|frame| frame.ends).max().unwrap_or(at);
        let ends = frames.iter().map(|frame| frame.rest_ends).max().unwrap_or(at);
        self.phase = Phase::Frames { ends };
        self.due = frames_end;
    }

    /// Ends the frames that are on the air and delivers their packets.
    fn end_frames(&mut self, at: Time, ends: Time) {
        for transmission in &self.transmissions[..self.under_way] {
            self.exchange.settle(at, transmission);
        }
        self.keep_busy(Phase::Rest, ends);
    }

    /// Ends the time for responses; the senders then continue or contend again.
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
