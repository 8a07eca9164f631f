//! A shared medium behind a wire.

use core::ops::Range;
use std::collections::VecDeque;

use cwndlab_units::{Bytes, Duration, Output, Time};

use crate::{Admission, Backlog, Counters, Direction, Link, LinkEvent, Packet, Stages};

/// A medium whose network side is a delay away: a Wi-Fi channel and the wire from its access point
/// to the server.
///
/// The wire has room for everything and loses nothing. It has no stage of its own: stages, counters
/// and backlogs are the medium's, and what is still on the wire is in none of them.
#[derive(Clone, Debug)]
pub struct Backhaul<P, L> {
    medium: L,
    delay: Duration,
    /// On the wire towards the medium: when each packet arrives there.
    down: VecDeque<(Time, P)>,
    /// On the wire towards the network.
    up: VecDeque<(Time, P)>,
}

impl<P: Packet, L: Link<P>> Backhaul<P, L> {
    /// The medium with a wire of this one-way delay at its port 0.
    pub fn new(medium: L, delay: Duration) -> Self {
        Self { medium, delay, down: VecDeque::new(), up: VecDeque::new() }
    }

    /// Gives the medium what has come through the wire until `now`.
    fn arrive_until(&mut self, now: Time) {
        while next_at(&self.down) <= now {
            self.arrive();
        }
    }

    fn arrive(&mut self) {
        if let Some((at, packet)) = self.down.pop_front() {
            self.medium.handle_packet(at, 0, packet);
        }
    }
}

impl<P: Packet, L: Link<P>> Link<P> for Backhaul<P, L> {
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission {
        self.arrive_until(now);
        if port == 0 {
            self.down.push_back((now + self.delay, packet));
            return Admission::Queued;
        }
        self.medium.handle_packet(now, port, packet)
    }

    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        loop {
            let time = self.wake_time();
            if time > now {
                return None;
            }
            if next_at(&self.up) == time
                && let Some((at, packet)) = self.up.pop_front()
            {
                return Some(Output::Packet { at, port: 0, packet });
            }
            if self.medium.wake_time() > time {
                self.arrive();
                continue;
            }
            match self.medium.poll(time) {
                Some(Output::Packet { at, port: 0, packet }) => {
                    self.up.push_back((at + self.delay, packet));
                }
                None => {}
                output => return output,
            }
        }
    }

    fn wake_time(&self) -> Time {
        self.medium.wake_time().min(next_at(&self.down)).min(next_at(&self.up))
    }
}

impl<P: Packet, L: Link<P> + Stages> Stages for Backhaul<P, L> {
    fn stages(&self) -> usize {
        self.medium.stages()
    }

    fn stages_of(&self, direction: Direction, user: u16) -> Range<usize> {
        self.medium.stages_of(direction, user)
    }

    fn counters(&mut self, stage: usize, now: Time) -> Counters {
        self.arrive_until(now);
        self.medium.counters(stage, now)
    }

    fn offered(&mut self, stage: usize, now: Time) -> Option<Bytes> {
        self.arrive_until(now);
        self.medium.offered(stage, now)
    }

    fn backlog(&mut self, stage: usize, now: Time) -> Backlog {
        self.arrive_until(now);
        self.medium.backlog(stage, now)
    }

    fn begin_window(&mut self, now: Time) {
        self.arrive_until(now);
        self.medium.begin_window(now);
    }
}

/// When the first packet on the wire leaves it; never, if none is there.
fn next_at<P>(wire: &VecDeque<(Time, P)>) -> Time {
    wire.front().map_or(Time::NEVER, |&(at, _)| at)
}
