//! The nodes of a Wi-Fi channel and the lanes between them.

use cwndlab_units::{Duration, Time};

use super::contention::Contender;
use super::lane::Lane;
use super::rate_control::RateControl;
use crate::Counters;
use crate::meter::{Counts, Meter, Occupancy};

/// A node of the channel: the access point or a station.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) contender: Contender,
    /// The lanes from which the node sends.
    pub(super) lanes: Lanes,
    /// Number of packets in the node's queue.
    pub(super) queued: u32,
    /// Number of packets in the node's lanes: those in the queue, and those that receivers hold.
    pub(super) inside: u32,
}

/// The lanes of a node: a single lane, or every second lane of a range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    first: usize,
    count: usize,
}

/// A lane with the state of the node that sends on it.
#[derive(Clone, Debug)]
pub(super) struct Hop<P> {
    pub(super) lane: Lane<P>,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) rates: RateControl,
    /// Bit error rate at each transmission rate, without interference.
    pub(super) bit_error_rates: Vec<f64>,
    pub(super) meter: Meter,
    pub(super) queue: Occupancy,
    pub(super) air: AirUse,
    /// Whether a block ACK request must precede any retransmission.
    pub(super) asks: bool,
    /// Arrival of the last packet of a frame without a response; `None` if there is no such frame.
    pub(super) unknown: Option<Time>,
}

/// Use of the air by a stage since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AirUse {
    /// Number of frames with packets, including retransmissions.
    pub frames: u64,
    /// Number of packets in the stage's frames, including retransmissions.
    pub packets: u64,
    /// Time on the air of the stage's frames with RTS and CTS, without responses.
    pub time: Duration,
}

impl Node {
    /// Whether the lane has packets to send, or packets to report as given up.
    pub(super) fn has_work(&self) -> bool {
        self.inside > 0
    }
}

impl Lanes {
    /// The lanes of a node: node 0, the access point, has a lane to each station.
    pub(super) fn new(node: usize, stations: usize) -> Self {
        match node {
            0 => Self { first: 0, count: stations },
            station => Self { first: 2 * station - 1, count: 1 },
        }
    }

    /// The lane of a node that has exactly one lane.
    pub(super) fn only(self) -> Option<usize> {
        (self.count == 1).then_some(self.first)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |index| self.first + 2 * index)
    }
}

impl<P> Hop<P> {
    /// Counters of the measurement window that ends at `now`.
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
