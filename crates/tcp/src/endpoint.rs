//! One end of a TCP connection, with any stack profile.

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

/// Configuration of an endpoint.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// Flow number, which is copied to every segment.
    pub flow: u32,
    /// User to whom the connection belongs, for networks that distinguish users.
    pub user: u16,
    /// Stack profile.
    pub profile: Arc<Profile>,
    /// Congestion control for the data that this end sends.
    pub congestion: Congestion,
    /// Seed of the initial sequence numbers, and of algorithms that use random numbers.
    pub seed: u64,
    /// Time from the last tick of the kernel's clock to the start of the run.
    pub jiffies_phase: Duration,
}

/// One end of a TCP connection, as a state machine.
///
/// The input consists of segments and calls of the application. The output consists of the
/// segments and events that [`Endpoint::poll`] returns. The endpoint reads no clock.
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
    /// Creates a closed endpoint.
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

    /// Opens the connection by sending a SYN or first packet.
    pub fn connect(&mut self, now: Time) {
        each!(mut self, endpoint => endpoint.connect(now));
    }

    /// Sets the slow start threshold to the value that [`Endpoint::ssthresh_to_remember`] of the
    /// last connection to the same host returned. Must be called before this connection opens.
    ///
    /// Stacks that do not cache thresholds ignore the value.
    pub fn remember_ssthresh(&mut self, pkts: u32) {
        if let Stack::Linux(endpoint) = &mut self.stack {
            endpoint.remember_ssthresh(pkts);
        }
    }

    /// Returns the slow start threshold in packets for the next connection to the same host, if
    /// this stack caches one.
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

    /// Processes a segment from the network.
    ///
    /// Poll afterwards.
    #[inline]
    pub fn handle_segment(&mut self, now: Time, segment: &Segment) {
        each!(mut self, endpoint => endpoint.handle_segment(now, segment));
    }

    /// Processes a segment from the network, after which the application reads all data.
    ///
    /// Returns the number of bytes read, and whether the peer has finished. The caller must then
    /// poll the endpoint.
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

    /// Whether further segments that arrive at the same time may be processed before the next
    /// poll.
    ///
    /// This is possible if no timer is due and no retransmission is in flight. While a
    /// retransmission is in flight, the endpoint must be polled after each segment, because the
    /// position of the retransmission among the ACKs matters.
    #[inline]
    pub fn may_wait(&self, now: Time) -> bool {
        match &self.stack {
            Stack::Linux(endpoint) => endpoint.may_wait(now),
            Stack::Classic(_) => false,
        }
    }

    /// Runs the timers that are due, and returns all segments and events at `now`.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Polled<'_> {
        each!(mut self, endpoint => endpoint.poll(now))
    }

    /// Attaches the host's network device below TCP; must be called before the connection opens.
    ///
    /// A classic endpoint has no model of the host and ignores the call.
    pub fn attach_host(&mut self, traits: HostTraits) {
        if let Stack::Linux(endpoint) = &mut self.stack {
            endpoint.attach_host(traits);
        }
    }

    /// Sets the number of packets that the host's network device accepts until the next call.
    ///
    /// Data beyond this number are not sent, and the window is reduced, because the sender's own
    /// host is congested.
    pub fn set_room(&mut self, packets: u32) {
        if let Stack::Linux(endpoint) = &mut self.stack {
            endpoint.set_room(packets);
        }
    }

    /// Records that a data packet has left the host.
    ///
    /// Returns whether data were waiting for this. If so, the caller must then poll the endpoint.
    pub fn handle_departure(&mut self, now: Time) -> bool {
        match &mut self.stack {
            Stack::Linux(endpoint) => endpoint.handle_departure(now),
            Stack::Classic(_) => false,
        }
    }

    /// Writes data.
    ///
    /// Returns the number of bytes that the send buffer accepted. The caller must then poll the
    /// endpoint.
    #[inline]
    pub fn write(&mut self, now: Time, bytes: u64) -> u64 {
        each!(mut self, endpoint => endpoint.write(now, bytes))
    }

    /// Approximate number of bytes that [`Endpoint::write`] would accept now; 0 while the
    /// application must wait.
    #[inline]
    pub fn send_space(&self) -> u64 {
        each!(self, endpoint => endpoint.send_space())
    }

    /// Reads up to `max` bytes that have arrived in order.
    ///
    /// Returns the number of bytes. The caller must then poll the endpoint.
    #[inline]
    pub fn read(&mut self, now: Time, max: u64) -> u64 {
        each!(mut self, endpoint => endpoint.read(now, max))
    }

    /// Number of bytes that [`Endpoint::read`] could return now.
    #[inline]
    pub fn readable(&self) -> u64 {
        each!(self, endpoint => endpoint.readable())
    }

    /// Ends the stream of this end: a FIN follows the data written so far.
    ///
    /// Poll afterwards.
    pub fn close(&mut self, now: Time) {
        each!(mut self, endpoint => endpoint.close(now));
    }

    /// Whether the connection is established, so that data can be sent.
    #[inline]
    pub fn is_established(&self) -> bool {
        each!(self, endpoint => endpoint.is_established())
    }

    /// Whether the peer has closed its side and the application has read all of the peer's data.
    pub fn peer_has_finished(&self) -> bool {
        each!(self, endpoint => endpoint.peer_has_finished())
    }

    /// Whether the connection was reset, or both ends have closed and all data are acknowledged.
    pub fn is_closed(&self) -> bool {
        each!(self, endpoint => endpoint.is_closed())
    }

    /// A snapshot of the sending half's state.
    #[inline]
    pub fn info(&self) -> Info {
        each!(self, endpoint => endpoint.info())
    }

    /// The congestion window and the smoothed RTT in microseconds: only [`Info::cwnd_pkts`] and
    /// [`Info::srtt_us`] of the snapshot.
    #[inline]
    pub fn cwnd_and_srtt(&self) -> (u32, u32) {
        each!(self, endpoint => (endpoint.cwnd_pkts(), endpoint.srtt_us()))
    }

    /// Counters of events since the creation of the endpoint.
    pub fn counters(&self) -> Counters {
        match &self.stack {
            Stack::Linux(endpoint) => endpoint.counters(),
            Stack::Classic(endpoint) => *endpoint.counters(),
        }
    }

    /// RTT sample of the last segment that was processed, in microseconds.
    #[inline]
    pub fn last_rtt_us(&self) -> Option<u32> {
        each!(self, endpoint => endpoint.last_rtt_us())
    }
}
