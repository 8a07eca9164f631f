//! The nodes of a channel and the lanes between them.

use cwndlab_units::{Duration, Time};

use super::contention::Contender;
use super::lane::Lane;
use super::rate_control::RateControl;
use crate::Counters;
use crate::meter::{Counts, Meter, Occupancy};

/// The access point or a station.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) contender: Contender,
    /// The lanes from which it sends.
    pub(super) lanes: Lanes,
    /// Packets in its queue.
    pub(super) queued: u32,
    /// Packets in its lanes: the queued ones and those that its receivers hold.
    pub(super) inside: u32,
}

/// A range of every second lane, or a single lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    first: usize,
    count: usize,
}

/// A lane with the state of its sender.
#[derive(Clone, Debug)]
pub(super) struct Hop<P> {
    pub(super) lane: Lane<P>,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) rates: RateControl,
    /// Bit error rate of each mode without interference.
    pub(super) bit_error_rates: Vec<f64>,
    pub(super) meter: Meter,
    pub(super) queue: Occupancy,
    pub(super) air: AirUse,
    /// Whether a block ACK request must precede any retransmission.
    pub(super) asks: bool,
    /// Arrival of the last packet of an unanswered frame; `None` if there is none.
    pub(super) unknown: Option<Time>,
}

/// Air use of a stage since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AirUse {
    /// Frames with packets, including retransmissions.
    pub frames: u64,
    /// Packets in these frames, including retransmissions.
    pub packets: u64,
    /// Time on the air of its frames with RTS and CTS, without responses.
    pub time: Duration,
}

impl Node {
    /// Whether there are packets to send, or packets to report as given up.
    pub(super) fn has_work(&self) -> bool {
        self.inside > 0
    }
}

impl Lanes {
    /// The lanes of a node: for the access point, node 0, one to each station.
    pub(super) fn new(node: usize, stations: usize) -> Self {
        match node {
            0 => Self { first: 0, count: stations },
            station => Self { first: 2 * station - 1, count: 1 },
        }
    }

    /// The node's lane, if it has exactly one.
    pub(super) fn only(self) -> Option<usize> {
        (self.count == 1).then_some(self.first)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |index| self.first + 2 * index)
    }
}

impl<P> Hop<P> {
    /// Counters of the window that ends at `now`.
    pub(super) fn counters(&mut self, now: Time) -> Counters {
        let counts = self.settled_counts(now);
        self.meter.counters(counts, self.queue.most(), now)
    }

    pub(super) fn begin_window(&mut self, now: Time) {
        let counts = self.settled_counts(now);
        self.meter.begin_window(counts, now);
        self.queue.begin_window();
    }

    fn settled_counts(&mut self, now: Time) -> Counts {
        Counts { queue_time: self.queue.pass_time(now), ..self.meter.counts }
    }
}
