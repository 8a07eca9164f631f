//! Servers, which send the packets of a link one after the other.

mod capacity;
mod fixed;
mod light_heavy;
mod netem;
mod token_bucket;
mod trace;

use cwndlab_units::{Bytes, Time};

pub(crate) use capacity::{Capacity, Source, UNLIMITED};
pub(crate) use fixed::Fixed;
pub(crate) use light_heavy::LightHeavy;
pub(crate) use netem::Netem;
pub(crate) use token_bucket::TokenBucket;
pub(crate) use trace::Opportunities;

/// A server: sends the packets of a link one after the other.
///
/// A server can be used in two ways. If the queue makes all decisions on arrival,
/// [`Server::serve`] returns at once when a packet leaves. If the queue decides when a packet is
/// dequeued, [`Server::dequeue_at`] returns the time of the dequeue, and
/// [`Server::serve_dequeued`] then sends the packet.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    Fixed(Fixed),
    Netem(Netem),
    TokenBucket(TokenBucket),
    Trace(Opportunities),
    LightHeavy(Box<LightHeavy>),
}

impl Server {
    /// Accepts a packet that arrives at `now`, and returns the time at which it leaves.
    #[inline]
    pub(crate) fn serve(&mut self, now: Time, bytes: u32) -> Time {
        match self {
            Self::Fixed(server) => server.serve(now, bytes),
            _ => self.serve_otherwise(now, bytes),
        }
    }

    #[inline(never)]
    fn serve_otherwise(&mut self, now: Time, bytes: u32) -> Time {
        match self {
            Self::Fixed(server) => server.serve(now, bytes),
            Self::Netem(server) => server.serve(now, bytes),
            Self::TokenBucket(server) => server.serve(now, bytes),
            Self::Trace(server) => server.serve(now, bytes),
            Self::LightHeavy(server) => server.serve(now, bytes),
        }
    }

    /// Time at which a packet that has waited since `arrived` is dequeued, after all earlier
    /// packets have been sent or dropped.
    pub(crate) fn dequeue_at(&mut self, arrived: Time, bytes: u32) -> Time {
        match self {
            Self::Fixed(server) => server.dequeue_at(arrived),
            Self::Netem(server) => server.dequeue_at(arrived),
            Self::TokenBucket(server) => server.dequeue_at(arrived, bytes),
            Self::Trace(server) => server.dequeue_at(arrived),
            Self::LightHeavy(server) => server.dequeue_at(arrived, bytes),
        }
    }

    /// Accepts a packet that is dequeued at `now`, and returns the time at which it leaves.
    pub(crate) fn serve_dequeued(&mut self, now: Time, bytes: u32) -> Time {
        match self {
            Self::Fixed(server) => server.serve(now, bytes),
            Self::Netem(server) => server.serve(now, bytes),
            Self::TokenBucket(server) => server.serve(now, bytes),
            Self::Trace(server) => server.serve_dequeued(bytes),
            Self::LightHeavy(server) => server.serve_dequeued(now, bytes),
        }
    }

    /// Time at which the last packet so far leaves or left.
    pub(crate) fn free_at(&self) -> Time {
        match self {
            Self::Fixed(server) => server.free_at(),
            Self::Netem(server) => server.free_at(),
            Self::TokenBucket(server) => server.free_at(),
            Self::Trace(server) => server.free_at(),
            Self::LightHeavy(server) => server.free_at(),
        }
    }

    /// Length of the longest packet that the server can send.
    pub(crate) fn longest_bytes(&self) -> u32 {
        match self {
            Self::Fixed(_) | Self::Netem(_) => u32::MAX,
            Self::TokenBucket(server) => server.burst_bytes(),
            Self::Trace(server) => server.longest_bytes(),
            Self::LightHeavy(server) => server.longest_bytes(),
        }
    }

    /// Number of bytes that the server could have sent by `time`; `None` if this is not limited.
    pub(crate) fn offered(&self, time: Time) -> Option<Bytes> {
        match self {
            Self::Fixed(server) => server.offered(time),
            Self::Netem(server) => server.offered(time),
            Self::TokenBucket(server) => server.offered(time),
            Self::Trace(server) => Some(server.offered(time)),
            Self::LightHeavy(server) => Some(server.offered(time)),
        }
    }
}
