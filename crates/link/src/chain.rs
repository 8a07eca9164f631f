//! Links one behind the other.

use cwndlab_units::{Bytes, Output, Time};

use crate::{Admission, Backlog, Counters, Link, LinkEvent, Packet, Stages};

/// A chain of links, which is a link: what leaves one at port 1 enters the next at port 0, and what
/// leaves one at port 0 enters the one before at port 1.
///
/// However late the chain is polled, its links work in the order of their times.
#[derive(Clone, Debug)]
pub struct Chain<L> {
    links: Vec<L>,
}

impl<L> Chain<L> {
    /// A chain of at least one link.
    ///
    /// # Panics
    /// If there is none.
    pub fn new(links: Vec<L>) -> Self {
        assert!(!links.is_empty(), "a chain needs a link");
        Self { links }
    }
}

impl<L: Stages> Chain<L> {
    /// The link that has this stage, and its number there.
    fn find(&mut self, stage: usize) -> (&mut L, usize) {
        let mut rest = stage;
        for link in &mut self.links {
            if rest < link.stages() {
                return (link, rest);
            }
            rest -= link.stages();
        }
        panic!("the chain has no stage {stage}")
    }
}

impl<P: Packet, L: Link<P>> Link<P> for Chain<L> {
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission {
        let index = if port == 0 { 0 } else { self.links.len() - 1 };
        self.links[index].handle_packet(now, port, packet)
    }

    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        loop {
            let (index, time) = next(&self.links);
            if time > now {
                return None;
            }
            match self.links[index].poll(time) {
                Some(Output::Packet { at, port: 1, packet }) if index + 1 < self.links.len() => {
                    self.links[index + 1].handle_packet(at, 0, packet);
                }
                Some(Output::Packet { at, port: 0, packet }) if index > 0 => {
                    self.links[index - 1].handle_packet(at, 1, packet);
                }
                None => {}
                output => return output,
            }
        }
    }

    fn wake_time(&self) -> Time {
        next(&self.links).1
    }
}

impl<L: Stages> Stages for Chain<L> {
    fn stages(&self) -> usize {
        self.links.iter().map(Stages::stages).sum()
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
        for link in &mut self.links {
            link.begin_window(now);
        }
    }
}

/// The link that has something to do next, and when.
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
