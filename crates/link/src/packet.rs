//! The packets that links carry, and the results of their arrival.

use cwndlab_units::Ecn;

use crate::Ack;

/// Properties of a packet that a link needs. Packets are segments in the simulator and frames in
/// the emulator.
pub trait Packet {
    /// Length of the IP packet in bytes, without the link's framing.
    fn wire_bytes(&self) -> u32;

    /// Index of the flow to which the packet belongs.
    fn flow(&self) -> u32;

    /// On a shared medium, the port of the user who sends or receives the packet.
    fn user(&self) -> u16 {
        1
    }

    /// The packet's ECN field.
    fn ecn(&self) -> Ecn;

    /// The acknowledgement, if the packet is a TCP ACK; only ACK filters need this.
    fn ack(&self) -> Option<Ack> {
        None
    }

    /// Sets the packet's ECN field to Congestion Experienced.
    fn mark_ce(&mut self);

    /// Loads into the processor's cache the data that are read when
    /// [`Link::poll`](crate::Link::poll) returns the packet, which will be soon.
    #[inline(always)]
    fn prefetch(&self) {}
}

/// Packets of the same length that enter a link together, and are constructed in their slots of the
/// link's buffer, so that they are copied only once.
pub trait Train<P> {
    /// Constructs the packet with a given index, which is 0 for the first packet, in `slot`.
    fn put(&self, index: u32, slot: &mut Option<P>);
}

/// Packets of the same user and the same length that arrive together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alike {
    /// User of the packets, as in [`Packet::user`].
    pub user: u16,
    /// Length of each packet, as in [`Packet::wire_bytes`].
    pub wire_bytes: u32,
    /// Number of packets.
    pub count: u32,
}

/// Result of the arrival of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// The packet was accepted.
    Queued,
    /// The packet was dropped.
    Dropped,
    /// The packet was accepted and marked with Congestion Experienced.
    Marked,
}
