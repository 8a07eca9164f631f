//! How packets are served, one after the other.

mod capacity;
mod fixed;
mod kept;
mod token_bucket;
mod trace;

use cwndlab_units::{Bytes, Time};

pub(crate) use capacity::{Capacity, Source, UNLIMITED};
pub(crate) use fixed::Fixed;
pub(crate) use kept::Kept;
pub(crate) use token_bucket::TokenBucket;
pub(crate) use trace::Opportunities;

/// What serves packets.
///
/// There are two ways to use one. Where everything is decided on arrival, [`Server::serve`] says at
/// once when a packet will have left. Where it is decided when a packet's turn comes,
/// [`Server::turn`] says when that is, and [`Server::serve_in_turn`] serves it then.
#[derive(Clone, Debug)]
pub(crate) enum Server {
    Fixed(Fixed),
    Kept(Kept),
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
            Self::Kept(server) => server.serve(now, bytes),
            Self::TokenBucket(server) => server.serve(now, bytes),
            Self::Trace(server) => server.serve(now, bytes),
        }
    }

    /// When it is the turn of a packet that waits since `arrived`, if all before it have been
    /// served or dropped.
    pub(crate) fn turn(&mut self, arrived: Time, bytes: u32) -> Time {
        match self {
            Self::Fixed(server) => server.turn(arrived),
            Self::Kept(server) => server.turn(arrived),
            Self::TokenBucket(server) => server.turn(arrived, bytes),
            Self::Trace(server) => server.turn(arrived),
        }
    }

    /// When a packet has left whose turn came at `now`.
    pub(crate) fn serve_in_turn(&mut self, now: Time, bytes: u32) -> Time {
        match self {
            Self::Fixed(server) => server.serve(now, bytes),
            Self::Kept(server) => server.serve(now, bytes),
            Self::TokenBucket(server) => server.serve(now, bytes),
            Self::Trace(server) => server.serve_in_turn(bytes),
        }
    }

    /// When it is or was done with all that it was given.
    pub(crate) fn free_at(&self) -> Time {
        match self {
            Self::Fixed(server) => server.free_at(),
            Self::Kept(server) => server.free_at(),
            Self::TokenBucket(server) => server.free_at(),
            Self::Trace(server) => server.free_at(),
        }
    }

    /// The longest packet that can ever be sent.
    pub(crate) fn longest_bytes(&self) -> u32 {
        match self {
            Self::Fixed(_) | Self::Kept(_) => u32::MAX,
            Self::TokenBucket(server) => server.burst_bytes(),
            Self::Trace(server) => server.longest_bytes(),
        }
    }

    /// What could have been sent until `time`, if that is limited.
    pub(crate) fn offered(&self, time: Time) -> Option<Bytes> {
        match self {
            Self::Fixed(server) => server.offered(time),
            Self::Kept(server) => server.offered(time),
            Self::TokenBucket(server) => server.offered(time),
            Self::Trace(server) => Some(server.offered(time)),
        }
    }
}
