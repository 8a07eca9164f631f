//! A link with the same fixed delay in both directions.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Output, Time};

use crate::{Admission, Backlog, Counters, Direction, Link, LinkEvent, Packet, Stages};

/// The distance to a server: a wire with the same fixed delay in both directions, unlimited
/// capacity and no loss.
///
/// This link has no stage: packets in flight do not appear in any counter or backlog.
#[derive(Clone, Debug)]
pub struct Distance<P> {
    delay: Duration,
    /// Arrival times and packets: those on their way to the users, and those on their way to the
    /// network.
    ways: [VecDeque<(Time, P)>; 2],
}

impl<P> Distance<P> {
    /// Creates a link with this one-way delay.
    pub fn new(delay: Duration) -> Self {
        Self { delay, ways: [VecDeque::new(), VecDeque::new()] }
    }
}

impl<P: Packet> Link<P> for Distance<P> {
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission {
        self.ways[usize::from(port > 0)].push_back((now + self.delay, packet));
        Admission::Queued
    }

    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        let [down, up] = self.ways.each_ref().map(first_arrival);
        let way = usize::from(up <= down);
        if down.min(up) > now {
            return None;
        }
        let (at, packet) = self.ways[way].pop_front()?;
        Some(Output::Packet { at, port: 1 - way as u16, packet })
    }

    fn wake_time(&self) -> Time {
        let [down, up] = self.ways.each_ref().map(first_arrival);
        down.min(up)
    }
}

impl<P> Stages for Distance<P> {
    fn stages(&self) -> usize {
        0
    }

    fn stages_of(&self, _direction: Direction, _user: u16) -> Vec<usize> {
        Vec::new()
    }

    fn counters(&mut self, _stage: usize, _now: Time) -> Counters {
        unreachable!("a link with only a delay has no stages")
    }

    fn backlog(&mut self, _stage: usize, _now: Time) -> Backlog {
        unreachable!("a link with only a delay has no stages")
    }

    fn begin_window(&mut self, _now: Time) {}
}

/// Arrival time of the first packet in flight; [`Time::NEVER`] if no packet is in flight.
fn first_arrival<P>(way: &VecDeque<(Time, P)>) -> Time {
    way.front().map_or(Time::NEVER, |&(at, _)| at)
}
