//! The channel as a link: what it is given, when it acts, and what it gives.

use core::ops::Range;
use std::collections::VecDeque;

use cwndlab_units::{Duration, Output, Stream, Time};

use super::config::{AccessCategory, WifiConfig, WifiError};
use super::contention::{Category, Contender, DETECTION, Timing};
use super::exchange::{Rules, Transmission};
use super::interference::Interference;
use super::lane::Lane;
use super::phy::Phy;
use super::radio::Radio;
use super::rate_control::RateControl;
use crate::meter::{Counts, Meter, Occupancy};
use crate::{
    Admission, Backlog, Counters, Direction, DropReason, Link, LinkEvent, LinkEventKind, Packet,
    Stages,
};

/// A Wi-Fi channel: port 0 is the access point, the ports from 1 on are its stations.
///
/// Its stages are the lanes: first what the access point has for station 1, then what that has for
/// the access point, then those of station 2. The lanes of the access point share its queue's room.
#[derive(Clone, Debug)]
pub struct WifiChannel<P> {
    pub(super) phy: Phy,
    pub(super) rules: Rules,
    pub(super) radio: Option<Radio>,
    pub(super) interference: Option<Interference>,
    pub(super) nodes: Vec<Node>,
    pub(super) lanes: Vec<Hop<P>>,
    pub(super) statistics: WifiStatistics,
    timing: Timing,
    beacons: Option<Beacons>,
    phase: Phase,
    /// When the phase ends, or the channel's rest.
    due: Time,
    /// Frames of the present phase; the rest are kept for their memory.
    transmissions: Vec<Transmission>,
    under_way: usize,
    /// In order of time.
    output: VecDeque<(Time, Emission)>,
    /// When the first of it is out.
    output_at: Time,
}

/// The access point or a station.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) contender: Contender,
    /// Its lanes are these.
    pub(super) lanes: Lanes,
    /// Packets in its queue.
    pub(super) queued: u32,
    /// Packets in its lanes: those, and what its receivers hold.
    pub(super) inside: u32,
}

/// Every second lane or one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    first: usize,
    count: usize,
}

/// A lane with what belongs to it.
#[derive(Clone, Debug)]
pub(super) struct Hop<P> {
    pub(super) lane: Lane<P>,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) rates: RateControl,
    /// Rate of wrong bits with each mode without interference.
    pub(super) bit_error_rates: Vec<f64>,
    pub(super) meter: Meter,
    pub(super) queue: Occupancy,
    /// Whether it must be asked what has arrived before anything is repeated.
    pub(super) asks: bool,
}

/// What happened on the air since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WifiStatistics {
    /// Frames with packets, by all nodes.
    pub frames: u64,
    /// Those of them that began together with another node's.
    pub collided_frames: u64,
    /// Packets in all frames, repeated ones each time.
    pub packets: u64,
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

#[derive(Clone, Copy, Debug)]
enum Emission {
    /// The next packets of a lane, which have been passed on.
    Packets {
        lane: usize,
        count: u32,
    },
    Event(LinkEvent),
}

impl<P: Packet> WifiChannel<P> {
    /// A channel in the run with this seed; `name` is that of its random streams.
    ///
    /// # Errors
    /// If the settings contradict each other or the standard.
    pub fn new(config: &WifiConfig, run_seed: u64, name: &str) -> Result<Self, WifiError> {
        config.check()?;
        let phy = Phy::new(config)?;
        let stream = |component: String| Stream::new(run_seed, &component);
        let radio = config.radio.map(|radio| Radio::new(config, radio, run_seed, name));
        let radio = radio.transpose()?;
        let usual = if config.has_priorities() {
            AccessCategory::BestEffort
        } else {
            AccessCategory::Legacy
        };
        let stations = config.stations.len();
        let nodes = config.nodes().enumerate().map(|(node, settings)| {
            let category = Category::new(settings.access.unwrap_or(usual), config.standard);
            let random = stream(format!("{name}.{node}.backoff"));
            let lanes = match node {
                0 => Lanes { first: 0, count: stations },
                station => Lanes { first: 2 * station - 1, count: 1 },
            };
            Node { contender: Contender::new(category, random), lanes, queued: 0, inside: 0 }
        });
        let hop = |lane: usize| {
            let station = lane / 2 + 1;
            let (from, to) = if lane % 2 == 0 { (0, station) } else { (station, 0) };
            let snr = radio.as_ref().map(|radio| radio.sinr(from, to, core::iter::empty()));
            let random = stream(format!("{name}.{from}-{to}.rates"));
            let rates = RateControl::new(config.rate_control, config.standard, &phy, snr, random)?;
            let error_rate = |index| {
                phy.mode(index).zip(snr).map_or(0.0, |(mode, snr)| mode.bit_error_rate(snr))
            };
            let bit_error_rates = (0..phy.modes()).map(error_rate).collect();
            let (lane, meter, queue) = (Lane::new(), Meter::default(), Occupancy::default());
            Ok(Hop { lane, from, to, rates, bit_error_rates, meter, queue, asks: false })
        };
        let interference = config.interference.as_ref().and_then(|interference| {
            Interference::new(interference, stream(format!("{name}.interference")))
        });
        let beacons = config.beacons.map(|beacons| Beacons {
            interval: beacons.interval,
            duration: phy.slowest().duration(u64::from(beacons.bytes)),
            next: Time::ZERO + beacons.interval,
        });
        let mut channel = Self {
            rules: Rules::new(config),
            nodes: nodes.collect(),
            lanes: (0..2 * stations).map(hop).collect::<Result<_, _>>()?,
            statistics: WifiStatistics::default(),
            timing: Timing { slot: phy.slot, sifs: phy.sifs },
            phy,
            radio,
            interference,
            beacons,
            phase: Phase::Idle { since: Time::ZERO },
            due: Time::NEVER,
            transmissions: Vec::new(),
            under_way: 0,
            output: VecDeque::new(),
            output_at: Time::NEVER,
        };
        channel.due = channel.next_occupation(Time::ZERO);
        Ok(channel)
    }

    /// What happened on the air since the beginning.
    pub fn statistics(&self) -> WifiStatistics {
        self.statistics
    }

    /// How many packets have come and neither left nor been dropped.
    pub fn packets_inside(&self) -> usize {
        self.lanes.iter().map(|hop| hop.lane.len()).sum()
    }

    /// The lane of what enters at a port.
    fn lane_of(&self, port: u16, packet: &P) -> usize {
        let (user, up) = if port == 0 { (packet.user(), 0) } else { (port, 1) };
        let lane = 2 * usize::from(user) + up;
        assert!((2..self.lanes.len() + 2).contains(&lane), "there is no station {user}");
        lane - 2
    }

    /// When the channel will be idle no more if nothing else comes.
    fn next_occupation(&self, since: Time) -> Time {
        let contending = self.nodes.iter().filter(|node| node.has_work());
        let first = contending.map(|node| node.contender.sends_at(since, self.timing)).min();
        let heard = self.interference.as_ref().map_or(Time::NEVER, Interference::heard_at);
        first.unwrap_or(Time::NEVER).min(heard.max(since)).min(self.beacon_at(since))
    }

    /// A beacon goes after the shortest pause with which all stations have seen the last frame end.
    fn beacon_at(&self, since: Time) -> Time {
        let first = since + self.timing.sifs + self.timing.slot;
        self.beacons.as_ref().map_or(Time::NEVER, |beacons| beacons.next.max(first))
    }

    /// Lets everything happen until `now`.
    fn advance(&mut self, now: Time) {
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

    /// The channel has been idle and something begins.
    fn occupy(&mut self, since: Time, at: Time) {
        if self.interference.as_ref().is_some_and(|interference| interference.heard_at() <= at) {
            self.pause(since, at);
            let ends = self.interference.as_mut().map_or(at, |interference| interference.send(at));
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
        for node in 0..self.nodes.len() {
            let Node { contender, .. } = &self.nodes[node];
            let is_next = contender.sends_at(since, self.timing) < at + DETECTION;
            if is_next && self.nodes[node].has_work() {
                self.expire(node, at);
                if self.nodes[node].has_work() {
                    self.prepare(node, at, self.nodes[node].contender.category.txop);
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
        for node in &mut self.nodes {
            node.contender.pause(since, at, self.timing);
        }
    }

    /// Adds the next frame of a node to those that are sent.
    fn prepare(&mut self, node: usize, at: Time, txop: Duration) {
        if self.transmissions.len() == self.under_way {
            self.transmissions.push(Transmission::default());
        }
        let mut transmission = core::mem::take(&mut self.transmissions[self.under_way]);
        self.build(node, at, txop, &mut transmission);
        self.transmissions[self.under_way] = transmission;
        self.under_way += 1;
    }

    /// The frames that were prepared go on the air.
    fn send(&mut self, at: Time) {
        let mut transmissions = core::mem::take(&mut self.transmissions);
        let frames = &mut transmissions[..self.under_way];
        self.decide(at, frames);
        let frames_end = frames.iter().map(|frame| frame.ends).max().unwrap_or(at);
        let ends = frames.iter().map(|frame| frame.rest_ends).max().unwrap_or(at);
        self.transmissions = transmissions;
        self.phase = Phase::Frames { ends };
        self.due = frames_end;
    }

    /// The last frame is over: what it brought is passed on.
    fn end_frames(&mut self, at: Time, ends: Time) {
        let transmissions = core::mem::take(&mut self.transmissions);
        for transmission in &transmissions[..self.under_way] {
            self.settle(at, transmission);
        }
        self.transmissions = transmissions;
        self.keep_busy(Phase::Rest, ends);
    }

    /// The responses are over too: the senders go on.
    fn end_rest(&mut self, at: Time) {
        for index in 0..self.under_way {
            let transmission = &self.transmissions[index];
            let (node, is_answered) = (transmission.from, transmission.is_answered);
            let left = transmission.txop.saturating_sub(at - transmission.begins);
            let left = left.saturating_sub(self.timing.sifs);
            if is_answered && self.under_way == 1 && left > Duration::ZERO {
                self.expire(node, at);
                if self.nodes[node].has_work() && self.fits(node, left) {
                    self.under_way = 0;
                    let begins = at + self.timing.sifs;
                    self.prepare(node, begins, left);
                    return self.send(begins);
                }
            }
            let contender = &mut self.nodes[node].contender;
            if is_answered {
                contender.succeed();
            } else {
                contender.fail(self.rules.failures);
            }
        }
        self.rest_since(at);
    }

    /// So many packets of a lane are passed on.
    pub(super) fn give(&mut self, at: Time, lane: usize, count: u32) {
        if count > 0 {
            self.emit(at, Emission::Packets { lane, count });
        }
    }

    pub(super) fn emit_drop(&mut self, at: Time, lane: usize, packet: &P, drop: (u32, DropReason)) {
        let (bytes, reason) = drop;
        let kind = LinkEventKind::Dropped { flow: packet.flow(), bytes, reason };
        self.emit(at, Emission::Event(LinkEvent { stage: lane as u16, kind }));
    }

    fn emit(&mut self, at: Time, emission: Emission) {
        self.output.push_back((at, emission));
        self.output_at = self.output_at.min(at);
    }

    /// Takes out what is first.
    fn pop_output(&mut self) -> Option<Output<P, LinkEvent>> {
        let (at, emission) = self.output.front_mut()?;
        let at = *at;
        let (output, is_last) = match emission {
            Emission::Packets { lane, count } => {
                *count -= 1;
                let hop = &mut self.lanes[*lane];
                let packet = hop.lane.pop()?;
                (Output::Packet { at, port: hop.to as u16, packet }, *count == 0)
            }
            Emission::Event(event) => (Output::Event { at, event: *event }, true),
        };
        if is_last {
            self.output.pop_front();
            self.output_at = self.output.front().map_or(Time::NEVER, |&(at, _)| at);
        }
        Some(output)
    }
}

impl<P> Hop<P> {
    fn settled_counts(&mut self, now: Time) -> Counts {
        Counts { queue_time: self.queue.pass_time(now), ..self.meter.counts }
    }
}

impl Node {
    /// Whether it has anything to send: packets, or to tell a receiver what was given up.
    pub(super) fn has_work(&self) -> bool {
        self.inside > 0
    }
}

impl Lanes {
    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |index| self.first + 2 * index)
    }
}

impl<P: Packet> Link<P> for WifiChannel<P> {
    #[inline(never)]
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission {
        self.advance(now);
        let lane = self.lane_of(port, &packet);
        let bytes = packet.wire_bytes() + self.rules.header_bytes;
        let hop = &mut self.lanes[lane];
        let node = hop.from;
        hop.meter.arrive(bytes);
        if self.nodes[node].queued >= self.rules.queue_packets {
            let reason = DropReason::Overflow;
            hop.meter.drop(bytes, reason);
            self.emit_drop(now, lane, &packet, (bytes, reason));
            return Admission::Dropped;
        }
        hop.queue.enter(now, bytes);
        hop.lane.push(now, bytes, packet);
        let node = &mut self.nodes[node];
        node.queued += 1;
        node.inside += 1;
        if node.inside == 1 {
            if let Phase::Idle { since } = self.phase {
                node.contender.begin(now, false);
                self.due = self.due.min(node.contender.sends_at(since, self.timing));
            } else {
                node.contender.begin(now, true);
            }
        }
        Admission::Queued
    }

    #[inline(never)]
    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        while self.output_at.is_never() && self.due <= now {
            self.advance(now);
        }
        self.pop_output()
    }

    #[inline]
    fn wake_time(&self) -> Time {
        self.output_at.min(self.due)
    }
}

impl<P: Packet> Stages for WifiChannel<P> {
    fn stages(&self) -> usize {
        self.lanes.len()
    }

    fn stages_of(&self, direction: Direction, user: u16) -> Range<usize> {
        let down = 2 * (usize::from(user) - 1);
        match direction {
            Direction::Forward => down..down + 1,
            Direction::Reverse => down + 1..down + 2,
        }
    }

    fn counters(&mut self, stage: usize, now: Time) -> Counters {
        self.advance(now);
        let hop = &mut self.lanes[stage];
        let counts = hop.settled_counts(now);
        hop.meter.counters(counts, hop.queue.most(), now)
    }

    fn backlog(&mut self, stage: usize, now: Time) -> Backlog {
        self.advance(now);
        self.lanes[stage].queue.backlog()
    }

    fn begin_window(&mut self, now: Time) {
        self.advance(now);
        for hop in &mut self.lanes {
            let counts = hop.settled_counts(now);
            hop.meter.begin_window(counts, now);
            hop.queue.begin_window();
        }
    }
}
