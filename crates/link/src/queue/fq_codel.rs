//! FQ-CoDel (RFC 8290): a queue for each flow, with CoDel in each queue.
//!
//! ```text
//!             hash        new  [ q ] [ q ]          first those that became active,
//!   arrival -------> q =>                    => sent
//!                         old  [ q ] [ q ] [ q ]    then the others, a quantum each
//! ```
//!
//! A hash of the flow, salted from the run's seed, determines the queue of a packet; flows with
//! equal hashes share a queue (RFC 8290 section 4.1). Deficit round robin selects the queue, and
//! CoDel decides which of its packets is sent. When the limit is exceeded, the longest queue drops
//! packets from its head until it is half as long or has dropped a batch of 64 (section 4.1). A
//! queue's turn ends when it has no credits left, as in Linux; section 4.2 says "a negative number
//! of credits". The model leaves out marking above a delay threshold (section 5.2.7).

use std::collections::{BTreeMap, VecDeque};

use cwndlab_units::{Time, split_mix_64};

use super::{Codel, CodelSettings, Waiting};
use crate::Backlog;
use crate::config::AckFilter;
use crate::packet::Packet;

/// Maximum number of packets that the longest queue drops at the same time.
const DROP_BATCH: usize = 64;

/// Settings of the flow queues and of their scheduler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowQueueSettings {
    pub(crate) codel: CodelSettings,
    /// Number of queues.
    pub(crate) queues: u32,
    /// Bytes that a queue may send in its turn.
    pub(crate) quantum_bytes: u32,
    /// Salt of the hash that assigns flows to queues.
    pub(crate) salt: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct FlowQueues<P> {
    settings: FlowQueueSettings,
    /// Queues that have been used, in the order of their first use.
    queues: Vec<FlowQueue<P>>,
    /// For each hash, the index of its queue.
    places: BTreeMap<u32, usize>,
    /// Indices of the active queues that have not had a turn yet.
    new: VecDeque<usize>,
    /// Indices of the active queues that have had a turn.
    old: VecDeque<usize>,
    backlog: Backlog,
    /// Length of the longest packet so far.
    max_packet: u32,
    /// Time at which the last packet arrived.
    last_arrival: Time,
    /// Index of the queue to which the last packet belongs.
    last_place: usize,
}

#[derive(Clone, Debug)]
struct FlowQueue<P> {
    codel: Codel<P>,
    /// Bytes that the queue may still send in its turn; negative by at most the length of one
    /// packet.
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

    /// Changes CoDel's settings in all existing and future queues.
    pub(crate) fn tune(&mut self, codel: CodelSettings) {
        if self.settings.codel != codel {
            self.settings.codel = codel;
            self.queues.iter_mut().for_each(|queue| queue.codel.tune(codel));
        }
    }

    /// Number of bytes in the longest queue.
    pub(crate) fn longest_bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.codel.backlog().bytes).max().unwrap_or(0)
    }

    /// Arrival of the last packet, if any packets wait; since this time at the latest, there is a
    /// next packet.
    pub(crate) fn waits_since(&self) -> Option<Time> {
        (self.backlog.packets > 0).then_some(self.last_arrival)
    }

    /// Queues an arriving packet ("enqueue", RFC 8290 section 4.1).
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

    /// Removes the packet that `new` supersedes from the queue to which `new` belongs, if there is
    /// such a packet.
    pub(crate) fn take_superseded(&mut self, filter: AckFilter, new: &P) -> Option<Waiting<P>> {
        let place = self.place(new.flow());
        let codel = &mut self.queues[place].codel;
        let index = filter.find(codel.iter(), new)?;
        let gone = codel.remove(index)?;
        self.backlog.remove(gone.bytes);
        Some(gone)
    }

    /// Drops a batch of packets from the head of the queue with the most bytes; of several such
    /// queues, from the one that was used first.
    ///
    /// Passes each dropped packet to `gone`, with whether it was the last to arrive. Returns
    /// whether there was a packet to drop.
    ///
    /// The queue stays active until its turn, even if it is empty.
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

    /// Dequeues the next packet, and returns whether it was marked; passes dropped packets to
    /// `dropped`.
    ///
    /// Follows "Dequeue" of RFC 8290 section 4.2.
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
                // Otherwise a flow of one packet at a time would always be new, and starve the
                // others.
                self.old.push_back(place);
            } else {
                queue.is_active = false;
            }
        }
    }

    /// Index of the queue of a flow; the queue is created if the flow's hash is new.
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
    /// Hash of a flow, reduced to the number of queues as in Lemire 2019.
    fn hash(&self, flow: u32) -> u32 {
        let hash = split_mix_64(self.salt, flow.into()) >> 32;
        ((hash * u64::from(self.queues)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests;
