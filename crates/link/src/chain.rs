//! Links in series.

use std::collections::VecDeque;

use cwndlab_units::{Bytes, Output, Time};

use crate::{Admission, Backlog, Counters, Direction, Link, LinkEvent, Packet, Stages};

/// A chain of links, which is itself a link. A packet that leaves one link at a user's port enters
/// the next link at port 0; a packet that leaves a link at port 0 enters the previous link at its
/// user's port.
///
/// Wires and media can therefore be in any order, such as a wire before a cell, or a wire behind a
/// Wi-Fi channel. The stages of the chain are those of its links, beginning at the network's side;
/// packets of the uplink pass them from the last to the first. Even if the chain is polled late or
/// gets packets late, its links act in the order of their times.
#[derive(Clone, Debug)]
pub struct Chain<P, L> {
    links: Vec<L>,
    /// For each link, the number of its first stage within the chain.
    first_stages: Vec<u16>,
    /// Time at which the chain next has output to poll.
    wake: Time,
    /// Outputs that left before they were polled, because a packet arrived late.
    outbox: VecDeque<Output<P, LinkEvent>>,
}

impl<P: Packet, L: Link<P> + Stages> Chain<P, L> {
    /// Creates a chain from at least one link.
    ///
    /// # Panics
    /// Panics if there is no link, or the stage numbers in events do not suffice for all stages.
    pub fn new(links: Vec<L>) -> Self {
        assert!(!links.is_empty(), "a chain must contain at least one link");
        let mut first = 0;
        let first_stages = links
            .iter()
            .map(|link| {
                let own = u16::try_from(first)
                    .expect("the stage numbers in events suffice for all stages");
                first += link.stages();
                own
            })
            .collect();
        let wake = next(&links).1;
        Self { links, first_stages, wake, outbox: VecDeque::new() }
    }

    /// Advances all links to `now`, and stores their outputs.
    #[cold]
    fn advance(&mut self, now: Time) {
        while let Some(output) = self.poll_links(now) {
            self.outbox.push_back(output);
        }
    }

    /// The next output that leaves the chain by `now`.
    #[inline]
    fn poll_links(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        loop {
            let (index, time) = next(&self.links);
            if time > now {
                return None;
            }
            match self.links[index].poll(time) {
                Some(Output::Packet { at, port: 0, packet }) if index > 0 => {
                    let port = packet.user();
                    self.links[index - 1].handle_packet(at, port, packet);
                }
                Some(Output::Packet { at, port: 1.., packet }) if index + 1 < self.links.len() => {
                    self.links[index + 1].handle_packet(at, 0, packet);
                }
                Some(Output::Event { at, event }) => {
                    let stage = self.first_stages[index] + event.stage;
                    return Some(Output::Event { at, event: LinkEvent { stage, ..event } });
                }
                None => {}
                output => return output,
            }
        }
    }

    #[inline]
    fn set_wake(&mut self) {
        self.wake = match self.outbox.front() {
            Some(&(Output::Packet { at, .. } | Output::Event { at, .. })) => at,
            None => next(&self.links).1,
        };
    }

    /// The link that contains this stage, advanced to `now`, and the number of the stage within
    /// the link.
    fn find(&mut self, stage: usize, now: Time) -> (&mut L, usize) {
        self.catch_up(now);
        let index = self.first_stages.partition_point(|&first| usize::from(first) <= stage);
        // A link without stages shares its number with the next link, which is the one meant here.
        let index = index.checked_sub(1).expect("the first link begins with stage 0");
        (&mut self.links[index], stage - usize::from(self.first_stages[index]))
    }

    /// Advances all links to `now`; this must happen before any of them is used.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if self.wake <= now {
            self.advance(now);
            self.set_wake();
        }
    }
}

impl<P: Packet, L: Link<P> + Stages> Link<P> for Chain<P, L> {
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission {
        self.catch_up(now);
        let index = if port == 0 { 0 } else { self.links.len() - 1 };
        let admission = self.links[index].handle_packet(now, port, packet);
        self.set_wake();
        admission
    }

    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        if now < self.wake {
            return None;
        }
        let output = self.outbox.pop_front().or_else(|| self.poll_links(now));
        self.set_wake();
        output
    }

    fn wake_time(&self) -> Time {
        self.wake
    }
}

impl<P: Packet, L: Link<P> + Stages> Stages for Chain<P, L> {
    fn stages(&self) -> usize {
        self.links.iter().map(Stages::stages).sum()
    }

    fn stages_of(&self, direction: Direction, user: u16) -> Vec<usize> {
        let mut stages = Vec::new();
        let mut extend = |(link, &first): (&L, &u16)| {
            let own = link.stages_of(direction, user);
            stages.extend(own.into_iter().map(|stage| usize::from(first) + stage));
        };
        let links = self.links.iter().zip(&self.first_stages);
        match direction {
            Direction::Forward => links.for_each(&mut extend),
            Direction::Reverse => links.rev().for_each(&mut extend),
        }
        stages
    }

    fn counters(&mut self, stage: usize, now: Time) -> Counters {
        let (link, stage) = self.find(stage, now);
        link.counters(stage, now)
    }

    fn offered(&mut self, stage: usize, now: Time) -> Option<Bytes> {
        let (link, stage) = self.find(stage, now);
        link.offered(stage, now)
    }

    fn backlog(&mut self, stage: usize, now: Time) -> Backlog {
        let (link, stage) = self.find(stage, now);
        link.backlog(stage, now)
    }

    fn begin_window(&mut self, now: Time) {
        self.catch_up(now);
        for link in &mut self.links {
            link.begin_window(now);
        }
    }
}

/// Index of the link that acts next, and the time at which it acts.
#[inline]
fn next<P: Packet, L: Link<P>>(links: &[L]) -> (usize, Time) {
    let mut next = (0, links[0].wake_time());
    for (index, link) in links.iter().enumerate().skip(1) {
        let time = link.wake_time();
        if time < next.1 {
            next = (index, time);
        }
    }
    next
}
