//! The nodes of a channel and what each has for another.

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
    /// Its lanes are these.
    pub(super) lanes: Lanes,
    /// Packets in its queue.
    pub(super) queued: u32,
    /// Packets in its lanes: those, and what its receivers hold.
    pub(super) inside: u32,
}

/// Every second lane or one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    first: usize,
    count: usize,
}

/// A lane with what belongs to it.
#[derive(Clone, Debug)]
pub(super) struct Hop<P> {
    pub(super) lane: Lane<P>,
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) rates: RateControl,
    /// Rate of wrong bits with each mode without interference.
    pub(super) bit_error_rates: Vec<f64>,
    pub(super) meter: Meter,
    pub(super) queue: Occupancy,
    pub(super) air: AirUse,
    /// Whether it must be asked what has arrived before anything is repeated.
    pub(super) asks: bool,
    /// When the last packet of a frame came whose fate is not known, if one is not.
    pub(super) unknown: Option<Time>,
}

/// What a stage of a channel has had of the air since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AirUse {
    /// Its frames with packets, repeated ones each time.
    pub frames: u64,
    /// Packets in them.
    pub packets: u64,
    /// How long its frames were on the air, with what announced them and without responses.
    pub time: Duration,
}

impl Node {
    /// Whether it has anything to send: packets, or to tell a receiver what was given up.
    pub(super) fn has_work(&self) -> bool {
        self.inside > 0
    }
}

impl Lanes {
    /// The lanes of a node: of the access point, 0, one to each of so many stations.
    pub(super) fn new(node: usize, stations: usize) -> Self {
        match node {
            0 => Self { first: 0, count: stations },
            station => Self { first: 2 * station - 1, count: 1 },
        }
    }

    /// The lane, if there is exactly one.
    pub(super) fn only(self) -> Option<usize> {
        (self.count == 1).then_some(self.first)
    }

    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |index| self.first + 2 * index)
    }
}

impl<P> Hop<P> {
    /// What it counted in the window until `now`.
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
