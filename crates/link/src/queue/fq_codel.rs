//! Flow queues, each with CoDel (FQ-CoDel, RFC 8290).
//!
//! ```text
//!             hash        new  [ q ] [ q ]          first those that became active,
//!   arrival -------> q =>                    => sent
//!                         old  [ q ] [ q ] [ q ]    then the others, a quantum each
//! ```
//!
//! A flow's packets go to one of so many queues by a hash that the run's seed salts; flows whose
//! hashes meet share one (RFC 8290 section 4.1). Deficit round robin chooses the queue, CoDel what
//! of it is sent. Where the limit is passed, the longest queue loses its first packets, until it is
//! half as long or has lost a batch of 64 (section 4.1). A queue with no credits left has had its
//! turn, as in Linux; the words of section 4.2 are "a negative number of credits". The mark above a
//! threshold of delay (section 5.2.7) is left out.

use std::collections::{BTreeMap, VecDeque};

use cwndlab_units::{Time, split_mix_64};

use super::{Codel, CodelSettings, Waiting};
use crate::Backlog;
use crate::config::AckFilter;
use crate::packet::Packet;

/// How many packets the longest queue loses at most at once.
const DROP_BATCH: usize = 64;

/// How the queues are made and served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowQueueSettings {
    pub(crate) codel: CodelSettings,
    /// How many queues there are.
    pub(crate) queues: u32,
    /// How many bytes a queue may send in its turn.
    pub(crate) quantum_bytes: u32,
    /// Which queue a flow has depends on it.
    pub(crate) salt: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct FlowQueues<P> {
    settings: FlowQueueSettings,
    /// The queues that were ever used, in the order of their first use.
    queues: Vec<FlowQueue<P>>,
    /// Where a hash has its queue.
    places: BTreeMap<u32, usize>,
    /// The active queues by their places: those without a turn yet, and those that had one.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    backlog: Backlog,
    /// The longest packet that came.
    max_packet: u32,
    /// When the last packet came, and to which queue.
    last_arrival: Time,
    last_place: usize,
}

#[derive(Clone, Debug)]
struct FlowQueue<P> {
    codel: Codel<P>,
    /// What it may still send before others have their turn; at most a packet less than nothing.
    credits: i64,
    is_active: bool,
}

impl<P: Packet> FlowQueues<P> {
    pub(crate) fn new(settings: FlowQueueSettings) -> Self {
        Self {
            settings,
            queues: Vec::new(),
            places: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            backlog: Backlog::default(),
            max_packet: 0,
            last_arrival: Time::ZERO,
            last_place: 0,
        }
    }

    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiting<P>> {
        self.queues.iter().flat_map(|queue| queue.codel.iter())
    }

    /// Gives every queue, those to come too, other settings of CoDel.
    pub(crate) fn tune(&mut self, codel: CodelSettings) {
        if self.settings.codel != codel {
            self.settings.codel = codel;
            self.queues.iter_mut().for_each(|queue| queue.codel.tune(codel));
        }
    }

    /// Bytes of the longest queue.
    pub(crate) fn longest_bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.codel.backlog().bytes).max().unwrap_or(0)
    }

    /// When the last packet came, if any waits: since then at the latest there is a next one.
    pub(crate) fn waits_since(&self) -> Option<Time> {
        (self.backlog.packets > 0).then_some(self.last_arrival)
    }

    /// Takes an arrival; "enqueue", RFC 8290 section 4.1.
    pub(crate) fn push(&mut self, waiting: Waiting<P>) {
        self.max_packet = self.max_packet.max(waiting.bytes);
        self.last_arrival = waiting.arrived;
        self.backlog.add(waiting.bytes);
        let place = self.place(waiting.packet.flow());
        self.last_place = place;
        let queue = &mut self.queues[place];
        queue.codel.push(waiting);
        if !queue.is_active {
            queue.is_active = true;
            queue.credits = i64::from(self.settings.quantum_bytes);
            self.new.push_back(place);
        }
    }

    /// Takes out of its queue the packet that is superfluous once `new` is in it, if any.
    pub(crate) fn take_superseded(&mut self, filter: AckFilter, new: &P) -> Option<Waiting<P>> {
        let place = self.place(new.flow());
        let codel = &mut self.queues[place].codel;
        let index = filter.find(codel.iter(), new)?;
        let gone = codel.remove(index)?;
        self.backlog.remove(gone.bytes);
        Some(gone)
    }

    /// Takes a batch of the first packets out of the longest queue in bytes, of several the one first
    /// used, and gives each to `gone` with whether it was the last arrival. Returns
    /// whether there was one.
    ///
    /// The queue stays active until its turn comes.
    pub(crate) fn shorten_longest(&mut self, mut gone: impl FnMut(Waiting<P>, bool)) -> bool {
        let places = (0..self.queues.len()).rev();
        let bytes_at = |place: usize| self.queues[place].codel.backlog().bytes;
        let Some(longest) = places.max_by_key(|&place| bytes_at(place)) else { return false };
        let half = bytes_at(longest) / 2;
        let codel = &mut self.queues[longest].codel;
        for count in 0..DROP_BATCH {
            if count > 0 && codel.backlog().bytes <= half {
                break;
            }
            let Some(head) = codel.pop_front() else { return count > 0 };
            self.backlog.remove(head.bytes);
            gone(head, longest == self.last_place && codel.front().is_none());
        }
        true
    }

    /// The packet to be sent now and whether it was marked; what is dropped goes to `dropped`.
    ///
    /// "Dequeue", RFC 8290 section 4.2.
    pub(crate) fn dequeue(
        &mut self,
        now: Time,
        mut dropped: impl FnMut(Waiting<P>),
    ) -> Option<(Waiting<P>, bool)> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let place = *list.front()?;
            let queue = &mut self.queues[place];
            if queue.credits <= 0 {
                queue.credits += i64::from(self.settings.quantum_bytes);
                list.pop_front();
                self.old.push_back(place);
                continue;
            }
            queue.codel.expect_packets_of(self.max_packet);
            let backlog = &mut self.backlog;
            let sent = queue.codel.dequeue(now, |gone| {
                backlog.remove(gone.bytes);
                dropped(gone);
            });
            if let Some((head, is_marked)) = sent {
                queue.credits -= i64::from(head.bytes);
                self.backlog.remove(head.bytes);
                return Some((head, is_marked));
            }
            list.pop_front();
            if is_new {
                // Else a flow of one packet at a time would always be new, and others starve.
                self.old.push_back(place);
            } else {
                queue.is_active = false;
            }
        }
    }

    /// Where the queue of a flow is, which is made if it is the first of its hash.
    fn place(&mut self, flow: u32) -> usize {
        let hash = self.settings.hash(flow);
        *self.places.entry(hash).or_insert_with(|| {
            let codel = Codel::new(self.settings.codel);
            self.queues.push(FlowQueue { codel, credits: 0, is_active: false });
            self.queues.len() - 1
        })
    }
}

impl FlowQueueSettings {
    /// The number of a flow's queue, brought into range as Lemire 2019 does.
    fn hash(&self, flow: u32) -> u32 {
        let hash = split_mix_64(self.salt, flow.into()) >> 32;
        ((hash * u64::from(self.queues)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests;
