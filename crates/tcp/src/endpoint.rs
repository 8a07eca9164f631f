//! One end of a connection, whatever its stack.

use std::sync::Arc;

use cwndlab_cc::Congestion;
use cwndlab_packet::Segment;
use cwndlab_units::{Duration, Time};

use crate::classic::ClassicEndpoint;
use crate::info::{Counters, Info};
use crate::linux::{HostTraits, LinuxEndpoint};
use crate::outbox::Polled;
use crate::parts::Parts;
use crate::profile::{Profile, StackSettings};

/// What an endpoint is made of.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// Copied into every segment, as is [`EndpointConfig::user`].
    pub flow: u32,
    /// Whose connection it is, where a network tells its users apart.
    pub user: u16,
    /// How the stack behaves.
    pub profile: Arc<Profile>,
    /// The congestion control for what this end sends.
    pub congestion: Congestion,
    /// For initial numbers and for algorithms that draw.
    pub seed: u64,
    /// How far into a tick of the kernel's clock the run begins.
    pub jiffies_phase: Duration,
}

/// One end of a connection as a state machine: segments and the application's calls go in,
/// segments and events come out of [`Endpoint::poll`]. It reads no clock.
#[derive(Debug)]
pub struct Endpoint {
    stack: Stack,
}

#[derive(Debug)]
enum Stack {
    Linux(Box<LinuxEndpoint>),
    Classic(Box<ClassicEndpoint>),
}

macro_rules! each {
    ($self:ident, $endpoint:ident => $call:expr) => {
        match &$self.stack {
            Stack::Linux($endpoint) => $call,
            Stack::Classic($endpoint) => $call,
        }
    };
    (mut $self:ident, $endpoint:ident => $call:expr) => {
        match &mut $self.stack {
            Stack::Linux($endpoint) => $call,
            Stack::Classic($endpoint) => $call,
        }
    };
}

impl Endpoint {
    /// A closed endpoint.
    pub fn new(config: EndpointConfig) -> Self {
        let EndpointConfig { flow, user, profile, congestion, seed, jiffies_phase } = config;
        let parts = Parts { flow, user, congestion, seed, jiffies_phase };
        let stack = match &profile.stack {
            StackSettings::Linux(settings) => {
                Stack::Linux(Box::new(LinuxEndpoint::new(settings.clone(), parts)))
            }
            StackSettings::Classic(settings) => {
                Stack::Classic(Box::new(ClassicEndpoint::new(settings.clone(), parts)))
            }
        };
        Self { stack }
    }

    /// Opens the connection actively.
    pub fn connect(&mut self, now: Time) {
        each!(mut self, endpoint => endpoint.connect(now));
    }

    /// Hands over what [`Endpoint::ssthresh_to_remember`] of the last connection to the same host
    /// said, before this one opens. Stacks that do not cache thresholds ignore it.
    pub fn remember_ssthresh(&mut self, pkts: u32) {
        if let Stack::Linux(endpoint) = &mut self.stack {
            endpoint.remember_ssthresh(pkts);
        }
    }

    /// The slow start threshold in packets that the next connection to the same host begins with, if
    /// this stack caches it and knows one.
    pub fn ssthresh_to_remember(&self) -> Option<u32> {
        match &self.stack {
            Stack::Linux(endpoint) => endpoint.ssthresh_to_remember(),
            Stack::Classic(_) => None,
        }
    }

    /// Waits for the peer to open the connection.
    pub fn listen(&mut self) {
        each!(mut self, endpoint => endpoint.listen());
    }

    /// Takes a segment from the network. Poll afterwards.
    #[inline]
    pub fn handle_segment(&mut self, now: Time, segment: &Segment) {
        each!(mut self, endpoint => endpoint.handle_segment(now, segment));
    }

    /// The same, and the application reads everything then. Returns how many bytes, and whether the
    /// peer has finished. Poll afterwards.
    #[inline(always)]
    pub fn handle_segment_and_read(&mut self, now: Time, segment: &Segment) -> (u64, bool) {
        match &mut self.stack {
            Stack::Linux(endpoint) => endpoint.handle_segment_and_read(now, segment),
            Stack::Classic(endpoint) => {
                endpoint.handle_segment(now, segment);
                (endpoint.read(now, u64::MAX), endpoint.peer_has_finished())
            }
        }
    }

    /// Whether further segments of this time may come before the endpoint is polled: no timer is
    /// due, and nothing is sent again, whose place among the ACKs is of interest.
    #[inline]
    pub fn may_wait(&self, now: Time) -> bool {
        match &self.stack {
            Stack::Linux(endpoint) => endpoint.may_wait(now),
            Stack::Classic(_) => false,
        }
    }

    /// Runs the timers that are due and gives all there is to send and to tell at `now`.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Polled<'_> {
        each!(mut self, endpoint => endpoint.poll(now))
    }

    /// There is a host below, which is to be told of before the connection opens.
    ///
    /// A classic endpoint, whose stacks know of no host, sends as if there were none.
    pub fn attach_host(&mut self, traits: HostTraits) {
        if let Stack::Linux(endpoint) = &mut self.stack {
            endpoint.attach_host(traits);
        }
    }

    /// How many packets the host below takes before this is called again. Data beyond are not sent,
    /// and the window is reduced then, as the endpoint's own host is congested.
    pub fn set_room(&mut self, packets: u32) {
        if let Stack::Linux(endpoint) = &mut self.stack {
            endpoint.set_room(packets);
        }
    }

    /// A packet with data has left the host below. Poll afterwards if the answer is that data waited
    /// for it.
    pub fn handle_departure(&mut self, now: Time) -> bool {
        match &mut self.stack {
            Stack::Linux(endpoint) => endpoint.handle_departure(now),
            Stack::Classic(_) => false,
        }
    }

    /// The application writes. Returns the bytes that the send buffer took. Poll afterwards.
    #[inline]
    pub fn write(&mut self, now: Time, bytes: u64) -> u64 {
        each!(mut self, endpoint => endpoint.write(now, bytes))
    }

    /// What [`Endpoint::write`] would take now, roughly; 0 while the application has to wait.
    #[inline]
    pub fn send_space(&self) -> u64 {
        each!(self, endpoint => endpoint.send_space())
    }

    /// The application reads what is in order. Poll afterwards.
    #[inline]
    pub fn read(&mut self, now: Time, max: u64) -> u64 {
        each!(mut self, endpoint => endpoint.read(now, max))
    }

    /// Bytes that [`Endpoint::read`] would give now.
    #[inline]
    pub fn readable(&self) -> u64 {
        each!(self, endpoint => endpoint.readable())
    }

    /// The application has written everything: a FIN follows. Poll afterwards.
    pub fn close(&mut self, now: Time) {
        each!(mut self, endpoint => endpoint.close(now));
    }

    /// Whether data can flow.
    #[inline]
    pub fn is_established(&self) -> bool {
        each!(self, endpoint => endpoint.is_established())
    }

    /// Whether the peer closed and all of its data were read.
    pub fn peer_has_finished(&self) -> bool {
        each!(self, endpoint => endpoint.peer_has_finished())
    }

    /// Whether both ends closed and everything is acknowledged.
    pub fn is_closed(&self) -> bool {
        each!(self, endpoint => endpoint.is_closed())
    }

    /// A snapshot of the sending half.
    #[inline]
    pub fn info(&self) -> Info {
        each!(self, endpoint => endpoint.info())
    }

    /// The congestion window and the smoothed RTT in microseconds, 0 before the first sample:
    /// [`Info::cwnd_pkts`] and [`Info::srtt_us`] alone.
    #[inline]
    pub fn cwnd_and_srtt(&self) -> (u32, u32) {
        each!(self, endpoint => (endpoint.cwnd_pkts(), endpoint.srtt_us()))
    }

    /// What happened so far, counted.
    pub fn counters(&self) -> Counters {
        match &self.stack {
            Stack::Linux(endpoint) => endpoint.counters(),
            Stack::Classic(endpoint) => *endpoint.counters(),
        }
    }

    /// The RTT sample that the last segment gave, in microseconds.
    #[inline]
    pub fn last_rtt_us(&self) -> Option<u32> {
        each!(self, endpoint => endpoint.last_rtt_us())
    }
}
