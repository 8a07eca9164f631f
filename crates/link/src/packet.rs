//! The packets of a link, and what happens to them on arrival.

use cwndlab_units::Ecn;

use crate::Ack;

/// Properties of a packet that a link needs: segments of the simulator and frames of the emulator.
pub trait Packet {
    /// Length of the IP packet, without the link's framing.
    fn wire_bytes(&self) -> u32;

    /// Index of the packet's flow.
    fn flow(&self) -> u32;

    /// On a shared medium, the port of the user that sends or receives the packet.
    fn user(&self) -> u16 {
        1
    }

    /// The packet's ECN field.
    fn ecn(&self) -> Ecn;

    /// Acknowledgement, if the packet is a TCP ACK; only ACK filters need it.
    fn ack(&self) -> Option<Ack> {
        None
    }

    /// Sets the packet's ECN field to "congestion experienced".
    fn mark_ce(&mut self);

    /// Loads into the processor's cache what is read when [`Link::poll`](crate::Link::poll) returns
    /// the packet, which it will do soon.
    #[inline(always)]
    fn prefetch(&self) {}
}

/// Packets of one user and of the same length that arrive together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alike {
    /// User of the packets, as [`Packet::user`].
    pub user: u16,
    /// Length of each packet, as [`Packet::wire_bytes`].
    pub wire_bytes: u32,
    /// Number of packets.
    pub count: u32,
}

/// Result of a packet's arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// The packet was accepted.
    Queued,
    /// The packet was dropped.
    Dropped,
    /// The packet was accepted and marked.
    Marked,
}
