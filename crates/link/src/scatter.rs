//! A propagation delay that does not preserve the order of packets.

use std::collections::BTreeMap;

use cwndlab_units::{Output, Stream, Time};

use crate::config::ReorderConfig;
use crate::delay::Delay;
use crate::{Admission, Backlog, Counters, Direction, Link, LinkEvent, Packet, Stages};

/// The propagation from the server of a wire to its far end, during which packets overtake each
/// other.
///
/// This link follows a wire without a delay of its own. It loses no packets and has no stage, so
/// packets in flight do not appear in any counter or backlog. Packets are reordered as in Linux's
/// netem (`reorder` and `gap` of tc-netem(8)): at most one packet in `gap`, with a probability.
#[derive(Clone, Debug)]
pub struct Scatter<P> {
    config: ReorderConfig,
    delay: Delay,
    random: Stream,
    /// Number of packets since the last packet that was reordered.
    since: u32,
    /// Packets in flight, by arrival time; packets with equal arrival times are in the order of
    /// their entry.
    under_way: BTreeMap<(Time, u64), P>,
    entered: u64,
}

impl<P> Scatter<P> {
    pub(crate) fn new(config: ReorderConfig, delay: Delay, random: Stream) -> Self {
        Self { config, delay, random, since: 0, under_way: BTreeMap::new(), entered: 0 }
    }

    /// Arrival time of a packet that is sent now.
    fn arrival(&mut self, now: Time) -> Time {
        match self.config {
            ReorderConfig::Jitter {} => now + self.delay.sample_at(now),
            ReorderConfig::Late { gap, probability, delay } => {
                if self.draw_next(gap.get(), probability) {
                    return now + self.delay.sample_at(now) + delay;
                }
                self.delay.arrival(now)
            }
            ReorderConfig::Early { gap, probability } => {
                if self.draw_next(gap.get(), probability) {
                    now
                } else {
                    self.delay.arrival(now)
                }
            }
        }
    }

    /// Decides whether this packet is reordered, and counts the packet.
    fn draw_next(&mut self, gap: u32, probability: crate::Probability) -> bool {
        let is_next = self.since + 1 >= gap && probability.draw(&mut self.random);
        self.since = if is_next { 0 } else { self.since.saturating_add(1) };
        is_next
    }
}

impl<P: Packet> Link<P> for Scatter<P> {
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission {
        debug_assert_eq!(port, 0, "packets enter this link at port 0");
        let arrival = self.arrival(now);
        self.under_way.insert((arrival, self.entered), packet);
        self.entered += 1;
        Admission::Queued
    }

    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        if self.wake_time() > now {
            return None;
        }
        let ((at, _), packet) = self.under_way.pop_first()?;
        Some(Output::Packet { at, port: 1, packet })
    }

    fn wake_time(&self) -> Time {
        self.under_way.first_key_value().map_or(Time::NEVER, |(&(at, _), _)| at)
    }
}

impl<P> Stages for Scatter<P> {
    fn stages(&self) -> usize {
        0
    }

    fn stages_of(&self, _direction: Direction, _user: u16) -> Vec<usize> {
        Vec::new()
    }

    fn counters(&mut self, _stage: usize, _now: Time) -> Counters {
        unreachable!("this link has no stages")
    }

    fn backlog(&mut self, _stage: usize, _now: Time) -> Backlog {
        unreachable!("this link has no stages")
    }

    fn begin_window(&mut self, _now: Time) {}
}
