//! How packets are served, one after the other.

mod capacity;
mod fixed;
mod netem;
mod token_bucket;
mod trace;

use cwndlab_units::{Bytes, Time};

pub(crate) use capacity::{Capacity, Source, UNLIMITED};
pub(crate) use fixed::Fixed;
pub(crate) use netem::Netem;
pub(crate) use token_bucket::TokenBucket;
pub(crate) use trace::Opportunities;

/// What serves packets.
///
/// There are two ways to use one. Where everything is decided on arrival, [`Server::serve`] says at
/// once when a packet will have left. Where a queue decides when a packet is dequeued,
/// [`Server::dequeue_at`] says when that is, and [`Server::serve_dequeued`] serves it then.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    Fixed(Fixed),
    Netem(Netem),
    TokenBucket(TokenBucket),
    Trace(Opportunities),
}

impl Server {
    /// When the packet has left that arrived last, at `now`.
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
        }
    }

    /// When a packet that waits since `arrived` is dequeued, if all before it have been
    /// served or dropped.
    pub(crate) fn dequeue_at(&mut self, arrived: Time, bytes: u32) -> Time {
        match self {
            Self::Fixed(server) => server.dequeue_at(arrived),
            Self::Netem(server) => server.dequeue_at(arrived),
            Self::TokenBucket(server) => server.dequeue_at(arrived, bytes),
            Self::Trace(server) => server.dequeue_at(arrived),
        }
    }

    /// When a packet has left that was dequeued at `now`.
    pub(crate) fn serve_dequeued(&mut self, now: Time, bytes: u32) -> Time {
        match self {
            Self::Fixed(server) => server.serve(now, bytes),
            Self::Netem(server) => server.serve(now, bytes),
            Self::TokenBucket(server) => server.serve(now, bytes),
            Self::Trace(server) => server.serve_dequeued(bytes),
        }
    }

    /// When it is or was done with all that it was given.
    pub(crate) fn free_at(&self) -> Time {
        match self {
            Self::Fixed(server) => server.free_at(),
            Self::Netem(server) => server.free_at(),
            Self::TokenBucket(server) => server.free_at(),
            Self::Trace(server) => server.free_at(),
        }
    }

    /// The longest packet that can ever be sent.
    pub(crate) fn longest_bytes(&self) -> u32 {
        match self {
            Self::Fixed(_) | Self::Netem(_) => u32::MAX,
            Self::TokenBucket(server) => server.burst_bytes(),
            Self::Trace(server) => server.longest_bytes(),
        }
    }

    /// What could have been sent until `time`, if that is limited.
    pub(crate) fn offered(&self, time: Time) -> Option<Bytes> {
        match self {
            Self::Fixed(server) => server.offered(time),
            Self::Netem(server) => server.offered(time),
            Self::TokenBucket(server) => server.offered(time),
            Self::Trace(server) => Some(server.offered(time)),
        }
    }
}
