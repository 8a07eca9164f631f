//! Two endpoints on a wire with a delay of 10 ms, for unit tests of code that needs a connection.

use std::collections::BTreeMap;

use cwndlab_cc::{Algorithm, Congestion};
use cwndlab_packet::Segment;
use cwndlab_units::{Duration, Time};

use super::LinuxEndpoint;
use crate::outbox::TcpOutput;
use crate::parts::Parts;
use crate::profile::Profile;

/// An established sender and receiver; [`Pair::sent_by`] removes the segments that leave them.
pub(super) struct Pair {
    pub(super) ends: [LinuxEndpoint; 2],
    pub(super) now: Time,
}

pub(super) const SENDER: usize = 0;
pub(super) const RECEIVER: usize = 1;
const DELAY: Duration = Duration::from_millis(10);

impl Pair {
    /// Creates a pair that runs Linux 6.1 with CUBIC.
    pub(super) fn established() -> Self {
        Self::established_of("linux-6.1")
    }

    /// Creates a pair that runs this release of Linux with CUBIC.
    pub(super) fn established_of(name: &str) -> Self {
        let profile = Profile::by_name(name).expect("exists");
        let cubic = Algorithm::by_name("cubic").expect("exists");
        let end = |seed| {
            let congestion = Congestion::new(cubic, &BTreeMap::new()).expect("defaults");
            let parts = Parts { flow: 0, user: 1, congestion, seed, jiffies_phase: Duration::ZERO };
            LinuxEndpoint::new(profile.linux().expect("linux").clone(), parts)
        };
        let mut pair = Self { ends: [end(1 << 40), end(2 << 40)], now: Time::from_millis(1) };
        pair.ends[RECEIVER].listen();
        pair.ends[SENDER].connect(pair.now);
        for from in [SENDER, RECEIVER, SENDER] {
            for segment in pair.sent_by(from) {
                pair.ends[1 - from].handle_segment(pair.now + DELAY, &segment);
            }
            pair.now += DELAY;
        }
        assert!(pair.ends.iter().all(LinuxEndpoint::is_established));
        pair
    }

    /// Returns the segments that an end sends now.
    pub(super) fn sent_by(&mut self, end: usize) -> Vec<Segment> {
        let polled = self.ends[end].poll(self.now);
        polled.outputs.iter().flat_map(TcpOutput::segments).collect()
    }

    /// Lets the sender write data. Returns the segments that leave the sender.
    pub(super) fn write(&mut self, bytes: u64) -> Vec<Segment> {
        self.ends[SENDER].write(self.now, bytes);
        self.sent_by(SENDER)
    }

    /// Delivers segments to the receiver, whose application reads at once. Returns the receiver's
    /// answers.
    pub(super) fn deliver(&mut self, segments: &[Segment]) -> Vec<Segment> {
        self.now += DELAY;
        for segment in segments {
            self.ends[RECEIVER].handle_segment_and_read(self.now, segment);
        }
        self.sent_by(RECEIVER)
    }

    /// Delivers segments to the sender. Returns the segments that the sender then sends.
    pub(super) fn answer(&mut self, acks: &[Segment]) -> Vec<Segment> {
        self.now += DELAY;
        for ack in acks {
            self.ends[SENDER].handle_segment(self.now, ack);
        }
        self.sent_by(SENDER)
    }

    /// The whole state of an end, except the address of its parameters.
    pub(super) fn state_of(&self, end: usize) -> String {
        let state = format!("{:?}", self.ends[end]);
        let (before, pointer) = state.split_once("cc_params: ").expect("a field");
        let (_, after) = pointer.split_once(',').expect("the pair has another end");
        format!("{before}{after}")
    }
}
