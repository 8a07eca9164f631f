//! Combines two one-way links to a link with two ports.

use cwndlab_units::{Bytes, Output, Time};

use crate::{Admission, Backlog, Counters, Direction, Link, LinkEvent, Packet, Stages};

/// A pair of one-way links, one for each direction: port 0 is the network's side, port 1 the
/// user's.
///
/// All users share both directions; they also share port 1, unless each user has a port of its
/// own.
///
/// The stages of the downlink are numbered before those of the uplink.
#[derive(Clone, Debug)]
pub struct Duplex<L> {
    down: L,
    up: L,
    has_user_ports: bool,
}

impl<L: Stages> Duplex<L> {
    /// Creates a link from two independent directions, each of which receives packets at its port
    /// 0.
    pub fn new(down: L, up: L) -> Self {
        Self { down, up, has_user_ports: false }
    }

    /// Creates a link in which each user has a port, as after a shared medium.
    pub fn with_user_ports(down: L, up: L) -> Self {
        Self { down, up, has_user_ports: true }
    }

    /// Converts an output of one direction to an output of the combined link.
    #[inline]
    fn output<P: Packet>(
        &self,
        is_down: bool,
        output: Output<P, LinkEvent>,
    ) -> Output<P, LinkEvent> {
        match output {
            Output::Packet { at, packet, .. } => {
                let port = match is_down {
                    true if self.has_user_ports => packet.user(),
                    is_down => u16::from(is_down),
                };
                Output::Packet { at, port, packet }
            }
            Output::Event { at, mut event } => {
                event.stage += if is_down { 0 } else { self.down.stages() as u16 };
                Output::Event { at, event }
            }
        }
    }

    fn find(&mut self, stage: usize) -> (&mut L, usize) {
        let first = self.down.stages();
        if stage < first { (&mut self.down, stage) } else { (&mut self.up, stage - first) }
    }
}

impl<P: Packet, L: Link<P> + Stages> Link<P> for Duplex<L> {
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission {
        let link = if port == 0 { &mut self.down } else { &mut self.up };
        link.handle_packet(now, 0, packet)
    }

    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        loop {
            let (down, up) = (self.down.wake_time(), self.up.wake_time());
            let time = down.min(up);
            if time > now {
                return None;
            }
            let is_down = down <= up;
            let link = if is_down { &mut self.down } else { &mut self.up };
            if let Some(output) = link.poll(time) {
                return Some(self.output(is_down, output));
            }
        }
    }

    fn poll_ahead(&mut self, now: Time, before: Time) -> Option<Output<P, LinkEvent>> {
        if let Some(output) = self.down.poll_ahead(now, before) {
            return Some(self.output(true, output));
        }
        self.up.poll_ahead(now, before).map(|output| self.output(false, output))
    }

    fn wake_time(&self) -> Time {
        self.down.wake_time().min(self.up.wake_time())
    }
}

impl<L: Stages> Stages for Duplex<L> {
    fn stages(&self) -> usize {
        self.down.stages() + self.up.stages()
    }

    fn stages_of(&self, direction: Direction, _user: u16) -> Vec<usize> {
        match direction {
            Direction::Forward => (0..self.down.stages()).collect(),
            Direction::Reverse => (self.down.stages()..self.stages()).collect(),
        }
    }

    fn counters(&mut self, stage: usize, now: Time) -> Counters {
        let (link, stage) = self.find(stage);
        link.counters(stage, now)
    }

    fn offered(&mut self, stage: usize, now: Time) -> Option<Bytes> {
        let (link, stage) = self.find(stage);
        link.offered(stage, now)
    }

    fn backlog(&mut self, stage: usize, now: Time) -> Backlog {
        let (link, stage) = self.find(stage);
        link.backlog(stage, now)
    }

    fn begin_window(&mut self, now: Time) {
        self.down.begin_window(now);
        self.up.begin_window(now);
    }
}
