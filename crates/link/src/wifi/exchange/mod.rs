//! Frames: their packets, their duration including the response, and which packets are received.

mod access_point;
mod passage;

use cwndlab_units::{Duration, Stream, Time};

use super::config::{AccessCategory, WifiConfig, WifiError};
use super::contention::{Category, Contender};
use super::controls::Controls;
use super::downlink::Downlink;
use super::frame::{BLOCK_ACK_BYTES, PREAMBLE, Rules, SIGNAL_BYTES, Transmission};
use super::hop::{AirUse, Hop, Lanes, Node};
use super::interference::Interference;
use super::lane::{Dropped, FrameLimits, Lane, padded_bytes};
use super::outbox::{Outbox, Passed};
use super::phy::{Mode, Phy};
use super::places::Places;
use super::radio::{self, Radio};
use super::rate_control::RateControl;
use crate::meter::{Meter, Occupancy};
use crate::{Backlog, DropReason, Packet};

/// The nodes of a channel, their lanes, and the channel's outputs.
#[derive(Clone, Debug)]
pub(super) struct Exchange<P> {
    pub(super) phy: Phy,
    pub(super) rules: Rules,
    controls: Vec<Controls>,
    radio: Option<Radio>,
    pub(super) interference: Option<Interference>,
    pub(super) nodes: Vec<Node>,
    pub(super) lanes: Vec<Hop<P>>,
    /// The access point's queue, if it has active queue management.
    downlink: Option<Box<Downlink<P>>>,
    pub(super) statistics: WifiStatistics,
    pub(super) outbox: Outbox,
}

/// Counts of frames and packets since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WifiStatistics {
    /// Number of frames with packets, sent by all nodes.
    pub frames: u64,
    /// Number of frames that began at the same time as a frame of another node.
    pub collided_frames: u64,
    /// Number of packets in all frames, including retransmissions.
    pub packets: u64,
}

impl<P: Packet> Exchange<P> {
    /// Creates the nodes of a channel for the run with this seed; `name` is part of the names of
    /// their random streams.
    ///
    /// # Errors
    /// Returns an error if the settings contradict each other or the standard.
    pub(super) fn new(config: &WifiConfig, run_seed: u64, name: &str) -> Result<Self, WifiError> {
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
            let lanes = Lanes::new(node, stations);
            let contender = Contender::new(category, phy.timing(), random);
            Node { contender, lanes, queued: 0, inside: 0 }
        });
        let hop = |lane: usize| {
            let station = lane / 2 + 1;
            let (from, to) = if lane % 2 == 0 { (0, station) } else { (station, 0) };
            let snr = radio.as_ref().map(|radio| radio.sinr(from, to, core::iter::empty()));
            let random = stream(format!("{name}.{from}-{to}.rates"));
            let error_rate = |index| match (&radio, phy.mode(index), snr) {
                (Some(radio), Some(mode), Some(snr)) => radio.bit_error_rate(mode, snr),
                _ => 0.0,
            };
            let bit_error_rates: Vec<f64> = (0..phy.modes()).map(error_rate).collect();
            let (control, standard) = (config.rate_control, config.standard);
            let rates = RateControl::new(control, standard, &phy, &bit_error_rates, random)?;
            let (lane, meter, queue) = (Lane::new(), Meter::default(), Occupancy::default());
            let air = AirUse::default();
            Ok(Hop {
                lane,
                from,
                to,
                rates,
                bit_error_rates,
                meter,
                queue,
                air,
                asks: false,
                unknown: None,
            })
        };
        let interference = config.interference.as_ref().and_then(|interference| {
            Interference::new(interference, stream(format!("{name}.interference")))
        });
        let queues = stream(format!("{name}.0.queues"));
        let downlink = Downlink::new(&config.access_point, stations, queues).map(Box::new);
        let rules = Rules::new(config);
        Ok(Self {
            controls: Controls::of_rates(&phy, &rules),
            rules,
            downlink,
            nodes: nodes.collect(),
            lanes: (0..2 * stations).map(hop).collect::<Result<_, _>>()?,
            statistics: WifiStatistics::default(),
            phy,
            radio,
            interference,
            outbox: Outbox::new(),
        })
    }

    /// Drops the packets of a node that have expired.
    pub(super) fn expire(&mut self, node: usize, at: Time) {
        let deadline = at - self.rules.queue_time;
        for lane in self.nodes[node].lanes.iter() {
            if self.lanes[lane].lane.is_fresh(deadline) {
                continue;
            }
            while let Some(dropped) = self.lanes[lane].lane.expire(deadline) {
                self.lanes[lane].asks |= dropped.was_sent && self.rules.asks_after_expiry;
                self.lose(at, lane, dropped, DropReason::Expired);
            }
            self.lanes[lane].lane.forget();
        }
        if node == 0 {
            self.pull_ahead(at);
        }
    }

    /// Whether a node has to report expired packets, for which it does not contend again
    /// (802.11-2016 section 10.22.2.8: any number of requests).
    pub(super) fn tells_of_expiry(&mut self, node: usize, at: Time) -> bool {
        if !self.rules.asks_after_expiry {
            return false;
        }
        self.expire(node, at);
        let mut lanes = self.nodes[node].lanes.iter();
        lanes.any(|lane| self.lanes[lane].asks && self.lanes[lane].lane.has_work())
    }

    /// Whether a sender without a response contends as it does after a success: in ns-3, this is
    /// the case if all packets whose reception is unknown have expired.
    pub(super) fn has_nothing_to_repeat(&self, lane: usize, at: Time) -> bool {
        let deadline = at - self.rules.queue_time;
        self.rules.asks_after_expiry
            && self.lanes[lane].unknown.is_none_or(|came_last| came_last < deadline)
    }

    fn lose(&mut self, at: Time, lane: usize, dropped: Dropped<P>, reason: DropReason) {
        let hop = &mut self.lanes[lane];
        hop.meter.drop(dropped.bytes, reason);
        hop.queue.leave(at, Backlog { packets: 1, bytes: dropped.bytes.into() });
        let node = &mut self.nodes[hop.from];
        node.queued -= 1;
        node.inside -= 1;
        self.emit_drop(at, lane, &dropped.packet, (dropped.bytes, reason));
    }

    /// The lane of a node that has a pending request, or otherwise the lane whose first packet has
    /// waited longest.
    fn first_lane(&self, node: usize) -> usize {
        let lanes = self.nodes[node].lanes;
        if let Some(lane) = lanes.only() {
            return lane;
        }
        let working = lanes.iter().filter(|&lane| self.lanes[lane].lane.has_work());
        let order = |&lane: &usize| {
            let hop: &Hop<P> = &self.lanes[lane];
            (!hop.asks, hop.lane.oldest())
        };
        working.min_by_key(order).expect("the node has a lane with work")
    }

    /// Whether a node's shortest possible next frame and its response fit into `time`.
    pub(super) fn fits(&mut self, node: usize, at: Time, time: Duration) -> bool {
        let lane = self.next_lane(node, at);
        let lane = &self.lanes[lane];
        let mut chosen = Places::default();
        let bytes = lane.lane.choose(FrameLimits { packets: 1, bytes: 0 }, &mut chosen);
        let mode = self.phy.slowest();
        mode.duration(bytes) + self.phy.sifs + mode.duration(BLOCK_ACK_BYTES) <= time
    }

    /// Builds the next frame of a node, which begins at `at`. If `txop` is not zero, it limits the
    /// duration, but the frame contains at least one packet.
    pub(super) fn build(
        &mut self,
        node: usize,
        at: Time,
        txop: Duration,
        frame: &mut Transmission,
    ) {
        let lane = self.next_lane(node, at);
        let hop = &mut self.lanes[lane];
        let choice = hop.rates.choose(at);
        let controls = self.controls[usize::from(choice.index)];
        let sifs = self.phy.sifs;
        let mut capacity_bytes = controls.capacity_bytes;
        if txop > Duration::ZERO {
            let longest = self.rules.max_time.min(txop.saturating_sub(sifs + controls.block_ack));
            capacity_bytes = self.phy.existing_mode(choice.index).capacity_bytes(longest);
        }
        let limits = FrameLimits {
            packets: if choice.is_probe { 1 } else { self.rules.max_packets },
            bytes: self.rules.max_bytes.min(capacity_bytes),
        };
        if node == 0 && self.downlink.is_some() && !hop.asks {
            self.fill(lane, at, limits);
        }
        let hop = &mut self.lanes[lane];
        let bytes = if hop.asks {
            frame.chosen.clear();
            0
        } else {
            hop.lane.choose(limits, &mut frame.chosen)
        };
        let mode = self.phy.existing_mode(choice.index);
        let (data, response) = match frame.chosen.len() {
            0 => (controls.block_ack_request, controls.block_ack),
            1 => (mode.duration(bytes), controls.ack),
            _ => (mode.duration(bytes), controls.block_ack),
        };
        let is_announced = bytes >= self.rules.rts_from_bytes;
        frame.from = node;
        frame.lane = lane;
        frame.rate = choice.index;
        frame.data = data;
        frame.begins = at;
        frame.rts = is_announced.then_some(controls.rts);
        frame.data_begins = match frame.rts {
            Some(rts) => at + rts + sifs + controls.cts + sifs,
            None => at,
        };
        frame.response = response;
        frame.txop = txop;
    }

    /// Decides which packets of frames that are sent at the same time are received, and how long
    /// each frame lasts.
    pub(super) fn decide(&mut self, at: Time, frames: &mut [Transmission]) {
        let others_end: Vec<(usize, Time)> = if frames.len() > 1 {
            // A frame with RTS ends after the RTS if it collides.
            let first_part = |frame: &Transmission| frame.begins + frame.rts.unwrap_or(frame.data);
            frames.iter().map(|frame| (frame.from, first_part(frame))).collect()
        } else {
            Vec::new()
        };
        for frame in frames {
            let is_alone = others_end.is_empty();
            self.statistics.frames += 1;
            self.statistics.collided_frames += u64::from(!is_alone);
            let is_begun = self.recognise(at, frame, &others_end);
            frame.received.clear();
            frame.received_count = 0;
            if !is_begun {
                frame.received.resize(frame.chosen.len(), false);
            } else {
                self.receive(at, frame, &others_end);
            }
            let is_on_air = is_begun || frame.rts.is_none();
            if is_on_air {
                self.statistics.packets += frame.chosen.len() as u64;
            }
            frame.is_answered = is_begun && (frame.chosen.is_empty() || frame.received_count > 0);
            let sifs = self.phy.sifs;
            let (ends, response) = match frame.rts {
                Some(rts) if !is_on_air => {
                    (frame.begins + rts, self.controls[usize::from(frame.rate)].cts)
                }
                _ => (frame.data_begins + frame.data, frame.response),
            };
            let rests = frame.is_answered || self.rules.rests_after_failure;
            frame.ends = ends;
            frame.rest_ends = if rests { ends + sifs + response } else { ends };
        }
    }

    /// Whether the receiver detects the preamble of a frame, or receives the RTS.
    fn recognise(&mut self, at: Time, frame: &Transmission, others: &[(usize, Time)]) -> bool {
        let first = frame.rts.unwrap_or(PREAMBLE);
        if self.meet_interference(at, frame.begins, frame.begins + first) {
            return false;
        }
        if others.is_empty() {
            return true;
        }
        let hop = &self.lanes[frame.lane];
        let Some(radio) = &self.radio else { return false };
        if others.iter().any(|&(other, _)| other == hop.to) {
            // A node that is sending cannot receive.
            return false;
        }
        let others = others.iter().map(|&(other, _)| other).filter(|&other| other != hop.from);
        let sinr = radio.sinr(hop.from, hop.to, others);
        let error_rate = radio.bit_error_rate(self.phy.slowest(), sinr);
        let mut draws = radio.draws(hop.from, frame.begins);
        draws.unit() < radio::success(error_rate, SIGNAL_BYTES)
    }

    /// Decides which packets of a frame are received, after the receiver has detected the frame.
    fn receive(&mut self, at: Time, frame: &mut Transmission, others: &[(usize, Time)]) {
        let hop = &self.lanes[frame.lane];
        let (from, to) = (hop.from, hop.to);
        let alone = hop.bit_error_rates[usize::from(frame.rate)];
        if self.interference.is_none() && others.is_empty() && alone == 0.0 {
            frame.received_count = frame.chosen.len() as u32;
            return frame.received.resize(frame.chosen.len(), true);
        }
        let mode = *self.phy.existing_mode(frame.rate);
        let mut draws = self.radio.as_ref().map(|radio| radio.draws(from, frame.data_begins));
        let mut sent_bytes = 0;
        for place in frame.chosen.iter() {
            let bytes = self.lanes[frame.lane].lane.bytes_at(place);
            let begins = frame.data_begins + mode.sent_after(sent_bytes);
            sent_bytes += padded_bytes(bytes);
            let ends = frame.data_begins + mode.sent_after(sent_bytes);
            let is_disturbed = self.meet_interference(at, begins, ends);
            let arrives = self.radio.as_ref().zip(draws.as_mut()).is_none_or(|(radio, draws)| {
                let error_rate = error_rate(radio, &mode, (from, to, begins), others, alone);
                draws.unit() < radio::success(error_rate, u64::from(bytes))
            });
            let is_received = arrives && !is_disturbed;
            frame.received.push(is_received);
            frame.received_count += u32::from(is_received);
        }
    }

    fn meet_interference(&mut self, at: Time, from: Time, until: Time) -> bool {
        self.interference.as_mut().is_some_and(|network| network.meets(at, from, until))
    }

    /// Handles the packets of a frame one by one: each is received, kept for retransmission, or
    /// dropped.
    fn settle_each(&mut self, at: Time, frame: &Transmission) {
        let attempts = self.rules.attempts;
        for (place, &is_received) in frame.chosen.iter().zip(&frame.received) {
            let hop = &mut self.lanes[frame.lane];
            if let Some(dropped) = hop.lane.sent(place, is_received, attempts) {
                self.lose(at, frame.lane, dropped, DropReason::Loss);
            }
        }
    }

    /// Handles a frame that contains the first packets of its lane, none of which was received.
    fn settle_missed(&mut self, at: Time, frame: &Transmission) {
        let (count, attempts) = (frame.chosen.len() as u32, self.rules.attempts);
        if !self.lanes[frame.lane].lane.miss_first(count, attempts) {
            return;
        }
        for place in 0..count {
            if let Some(dropped) = self.lanes[frame.lane].lane.give_up_after(place, attempts) {
                self.lose(at, frame.lane, dropped, DropReason::Loss);
            }
        }
    }

    /// Handles a frame that has ended: delivers the received packets, and keeps or drops the
    /// others.
    pub(super) fn settle(&mut self, at: Time, frame: &Transmission) {
        let lane = frame.lane;
        let received = frame.received_count;
        let ends = [frame.chosen.first(), frame.chosen.last()];
        let [came_first, came_last] =
            ends.map(|place| Some(self.lanes[lane].lane.arrived_at(place?)));
        let mut passed = Backlog::default();
        let is_from_front = frame.chosen.is_from_front();
        if is_from_front && received as usize == frame.chosen.len() {
            passed = self.lanes[lane].lane.pass_first(received);
        } else if is_from_front && received == 0 {
            self.settle_missed(at, frame);
        } else {
            self.settle_each(at, frame);
        }
        let hop = &mut self.lanes[lane];
        hop.air.frames += u64::from(!frame.chosen.is_empty());
        hop.air.packets += frame.chosen.len() as u64;
        hop.air.time += frame.ends - frame.begins;
        self.nodes[frame.from].queued -= received;
        if !frame.chosen.is_empty() {
            hop.rates.handle_result(frame.rate, frame.chosen.len() as u32, received);
        }
        hop.lane.forget();
        if frame.is_answered {
            let deadline = at - self.rules.queue_time;
            hop.asks =
                self.rules.asks_after_expiry && came_first.is_some_and(|came| came < deadline);
            hop.unknown = None;
            passed = passed + hop.lane.pass_on();
            hop.meter.deliver(passed);
            hop.queue.leave(at, passed);
            self.nodes[frame.from].inside -= passed.packets;
            self.outbox.pass_on(at, Passed { lane, packets: passed.packets });
        } else if !frame.chosen.is_empty() {
            hop.asks = self.rules.asks_before_repeating && frame.chosen.len() > 1;
            hop.unknown = came_last;
        }
        if self.downlink.is_some() {
            self.charge(at, frame);
        }
    }
}

/// Bit error rate of a packet between two nodes at this time.
fn error_rate(
    radio: &Radio,
    mode: &Mode,
    (from, to, begins): (usize, usize, Time),
    others: &[(usize, Time)],
    alone: f64,
) -> f64 {
    let mut meeting = others
        .iter()
        .filter(|&&(other, ends)| other != from && ends > begins)
        .map(|&(other, _)| other)
        .peekable();
    if meeting.peek().is_none() {
        alone
    } else {
        radio.bit_error_rate(mode, radio.sinr(from, to, meeting))
    }
}
