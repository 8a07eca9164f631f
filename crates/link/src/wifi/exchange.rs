//! Frames and their fate: what goes into one, how long it and its response take, what arrives.

use cwndlab_units::{Duration, Time};

use super::channel::{Hop, WifiChannel};
use super::config::WifiConfig;
use super::lane::{Dropped, FrameLimits, subframe_bytes};
use super::phy::Mode;
use super::radio::{self, Radio};
use crate::{Backlog, DropReason, Packet};

/// What holds for all frames of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rules {
    /// What each packet has before and behind it.
    pub(super) header_bytes: u32,
    pub(super) attempts: u32,
    /// Frames in a row without response after which the contention begins anew.
    pub(super) failures: u32,
    pub(super) queue_packets: u32,
    queue_time: Duration,
    asks_before_repeating: bool,
    max_packets: u32,
    max_bytes: u64,
    max_time: Duration,
    rts_from_bytes: u64,
    rests_after_failure: bool,
}

impl Rules {
    pub(super) fn new(config: &WifiConfig) -> Self {
        let aggregation = config.aggregation.unwrap_or_default();
        let max_bytes = aggregation.max_bytes.unwrap_or(config.aggregate_limit());
        Self {
            // LLC and SNAP 8, FCS 4, and a header of 24, with QoS 26 (802.11-2012 section 8.2).
            header_bytes: if config.has_priorities() { 38 } else { 36 },
            attempts: config.most_attempts(),
            failures: config.most_failures(),
            queue_packets: config.queue_packets,
            queue_time: config.queue_time,
            asks_before_repeating: config.asks_before_repeating,
            max_packets: if config.aggregation.is_some() { aggregation.max_packets } else { 1 },
            max_bytes: u64::from(max_bytes),
            max_time: aggregation.max_time,
            rts_from_bytes: config.rts_threshold_bytes.map_or(u64::MAX, u64::from),
            rests_after_failure: config.eifs,
        }
    }
}

/// A frame on the air.
#[derive(Clone, Debug, Default)]
pub(super) struct Transmission {
    pub(super) from: usize,
    lane: usize,
    /// Index of its rate.
    rate: u8,
    /// Its packets, by place in the lane; none if it asks what has arrived, and so tells what was
    /// given up.
    chosen: Vec<u32>,
    /// Whether each of them is received.
    received: Vec<bool>,
    pub(super) begins: Time,
    /// When its packets begin, after RTS and CTS.
    data_begins: Time,
    data: Duration,
    /// Length of RTS, if there is one.
    rts: Option<Duration>,
    response: Duration,
    /// When the last of it that is on the air ends.
    pub(super) ends: Time,
    /// When the channel may be idle again as far as it is concerned.
    pub(super) rest_ends: Time,
    pub(super) is_answered: bool,
    /// How long the sender may keep the channel.
    pub(super) txop: Duration,
}

impl<P: Packet> WifiChannel<P> {
    /// Drops what has waited too long at a node.
    pub(super) fn expire(&mut self, node: usize, at: Time) {
        let deadline = at - self.rules.queue_time;
        for lane in self.nodes[node].lanes.iter() {
            while let Some(dropped) = self.lanes[lane].lane.expire(deadline) {
                self.lose(at, lane, dropped, DropReason::Expired);
            }
            self.lanes[lane].lane.forget();
        }
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

    /// The lane of a node that asks, or else whose first packet has waited longest.
    fn first_lane(&self, node: usize) -> usize {
        let lanes = self.nodes[node].lanes.iter();
        let working = lanes.filter(|&lane| self.lanes[lane].lane.has_work());
        let order = |&lane: &usize| {
            let hop: &Hop<P> = &self.lanes[lane];
            (!hop.asks, hop.lane.oldest())
        };
        working.min_by_key(order).expect("the node has work")
    }

    /// Whether the shortest frame that a node could send next, with its response, takes no longer.
    pub(super) fn fits(&self, node: usize, time: Duration) -> bool {
        let lane = &self.lanes[self.first_lane(node)];
        let mut chosen = Vec::new();
        let bytes = lane.lane.choose(FrameLimits { packets: 1, bytes: 0 }, &mut chosen);
        let mode = self.phy.slowest();
        mode.duration(bytes) + self.phy.sifs + mode.duration(BLOCK_ACK_BYTES) <= time
    }

    /// Fills in a node's next frame, which begins at `at` and keeps within a transmission
    /// opportunity, if that is not zero, as far as one packet can.
    pub(super) fn build(
        &mut self,
        node: usize,
        at: Time,
        txop: Duration,
        frame: &mut Transmission,
    ) {
        let lane = self.first_lane(node);
        let hop = &mut self.lanes[lane];
        let choice = hop.rates.choose(at);
        let mode = self.phy.mode(choice.index).expect("the rate was checked");
        let control = self.phy.response(mode);
        let sifs = self.phy.sifs;
        let block_ack = sifs + control.duration(BLOCK_ACK_BYTES);
        let mut longest = self.rules.max_time;
        if txop > Duration::ZERO {
            longest = longest.min(txop.saturating_sub(block_ack));
        }
        let limits = FrameLimits {
            packets: if choice.is_probe { 1 } else { self.rules.max_packets },
            bytes: self.rules.max_bytes.min(mode.capacity_bytes(longest)),
        };
        let bytes = if hop.asks {
            frame.chosen.clear();
            0
        } else {
            hop.lane.choose(limits, &mut frame.chosen)
        };
        let (data, response) = match frame.chosen.len() {
            0 => (control.duration(BLOCK_ACK_REQUEST_BYTES), BLOCK_ACK_BYTES),
            1 => (mode.duration(bytes), ACK_BYTES),
            _ => (mode.duration(bytes), BLOCK_ACK_BYTES),
        };
        let is_announced = bytes >= self.rules.rts_from_bytes;
        frame.from = node;
        frame.lane = lane;
        frame.rate = choice.index;
        frame.data = data;
        frame.begins = at;
        frame.rts = is_announced.then(|| control.duration(RTS_BYTES));
        frame.data_begins = match frame.rts {
            Some(rts) => at + rts + sifs + control.duration(CTS_BYTES) + sifs,
            None => at,
        };
        frame.response = control.duration(response);
        frame.txop = txop;
    }

    /// Decides what of the frames that begin together is received, and so how long each takes.
    pub(super) fn decide(&mut self, at: Time, frames: &mut [Transmission]) {
        let others_end: Vec<(usize, Time)> = if frames.len() > 1 {
            // What is announced ends with RTS if it meets another.
            let first_part = |frame: &Transmission| frame.begins + frame.rts.unwrap_or(frame.data);
            frames.iter().map(|frame| (frame.from, first_part(frame))).collect()
        } else {
            Vec::new()
        };
        for frame in frames {
            let is_alone = others_end.is_empty();
            self.statistics.frames += 1;
            self.statistics.collided_frames += u64::from(!is_alone);
            let mode = *self.phy.mode(frame.rate).expect("the rate was checked");
            let is_begun = self.recognise(at, frame, &others_end);
            frame.received.clear();
            if !is_begun {
                frame.received.resize(frame.chosen.len(), false);
            } else {
                self.receive(at, &mode, frame, &others_end);
            }
            let is_on_air = is_begun || frame.rts.is_none();
            if is_on_air {
                self.statistics.packets += frame.chosen.len() as u64;
            }
            frame.is_answered =
                is_begun && (frame.chosen.is_empty() || frame.received.contains(&true));
            let sifs = self.phy.sifs;
            let (ends, response) = match frame.rts {
                Some(rts) if !is_on_air => {
                    (frame.begins + rts, self.phy.response(&mode).duration(CTS_BYTES))
                }
                _ => (frame.data_begins + frame.data, frame.response),
            };
            let rests = frame.is_answered || self.rules.rests_after_failure;
            frame.ends = ends;
            frame.rest_ends = if rests { ends + sifs + response } else { ends };
        }
    }

    /// Whether the receiver recognises a frame at all: its preamble, or RTS.
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
            // Who sends does not receive.
            return false;
        }
        let others = others.iter().map(|&(other, _)| other).filter(|&other| other != hop.from);
        let sinr = radio.sinr(hop.from, hop.to, others);
        let error_rate = self.phy.slowest().bit_error_rate(sinr);
        let mut draws = radio.draws(hop.from, frame.begins);
        draws.unit() < radio::success(error_rate, SIGNAL_BYTES)
    }

    /// Decides on the packets of a frame whose beginning was received.
    fn receive(
        &mut self,
        at: Time,
        mode: &Mode,
        frame: &mut Transmission,
        others: &[(usize, Time)],
    ) {
        let hop = &self.lanes[frame.lane];
        let (from, to) = (hop.from, hop.to);
        let alone = hop.bit_error_rates[usize::from(frame.rate)];
        if self.interference.is_none() && others.is_empty() && alone == 0.0 {
            return frame.received.resize(frame.chosen.len(), true);
        }
        let mut draws = self.radio.as_ref().map(|radio| radio.draws(from, frame.data_begins));
        let mut sent_bytes = 0;
        for index in 0..frame.chosen.len() {
            let bytes = self.lanes[frame.lane].lane.bytes_at(frame.chosen[index]);
            let begins = frame.data_begins + mode.sent_after(sent_bytes);
            sent_bytes += subframe_bytes(bytes).next_multiple_of(4);
            let ends = frame.data_begins + mode.sent_after(sent_bytes);
            let is_disturbed = self.meet_interference(at, begins, ends);
            let arrives = self.radio.as_ref().zip(draws.as_mut()).is_none_or(|(radio, draws)| {
                let error_rate = error_rate(radio, mode, (from, to, begins), others, alone);
                draws.unit() < radio::success(error_rate, u64::from(bytes))
            });
            frame.received.push(arrives && !is_disturbed);
        }
    }

    fn meet_interference(&mut self, at: Time, from: Time, until: Time) -> bool {
        self.interference.as_mut().is_some_and(|network| network.meets(at, from, until))
    }

    /// A frame is over: what was received is passed on, what was not is kept or dropped.
    pub(super) fn settle(&mut self, at: Time, frame: &Transmission) {
        let lane = frame.lane;
        let attempts = self.rules.attempts;
        for (&place, &is_received) in frame.chosen.iter().zip(&frame.received) {
            let hop = &mut self.lanes[lane];
            if let Some(dropped) = hop.lane.sent(place, is_received, attempts) {
                self.lose(at, lane, dropped, DropReason::Loss);
            }
        }
        let hop = &mut self.lanes[lane];
        let received = frame.received.iter().filter(|&&is_received| is_received).count() as u32;
        self.nodes[frame.from].queued -= received;
        if !frame.chosen.is_empty() {
            hop.rates.handle_result(frame.rate, frame.chosen.len() as u32, received);
        }
        hop.lane.forget();
        if frame.is_answered {
            hop.asks = false;
            let passed = hop.lane.pass_on();
            hop.meter.deliver(passed);
            hop.queue.leave(at, passed);
            self.nodes[frame.from].inside -= passed.packets;
            self.give(at, lane, passed.packets);
        } else if frame.chosen.len() > 1 {
            hop.asks = self.rules.asks_before_repeating;
        }
    }
}

/// Rate of wrong bits in a packet that goes from and to these nodes at this time.
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
        mode.bit_error_rate(radio.sinr(from, to, meeting))
    }
}

/// Lengths of control frames (802.11-2012 section 8.3.1); the block ACK is the compressed one.
const ACK_BYTES: u64 = 14;
const RTS_BYTES: u64 = 20;
const CTS_BYTES: u64 = 14;
const BLOCK_ACK_BYTES: u64 = 32;
const BLOCK_ACK_REQUEST_BYTES: u64 = 24;
/// What a receiver must hear undisturbed to recognise a frame: the legacy preamble, and in it 24
/// bits at the slowest rate.
const PREAMBLE: Duration = Duration::from_micros(20);
const SIGNAL_BYTES: u64 = 3;
