//! What a link sees of a packet, and what it answers to one.

use cwndlab_units::Ecn;

use crate::Ack;

/// What a link must know of a packet: the simulator's segments and the emulator's frames.
pub trait Packet {
    /// Length of the IP packet; what a link adds to it is the link's matter.
    fn wire_bytes(&self) -> u32;

    /// Which flow it belongs to.
    fn flow(&self) -> u32;

    /// On a shared medium, the port of the user that it comes from or goes to.
    fn user(&self) -> u16 {
        1
    }

    /// Its ECN field.
    fn ecn(&self) -> Ecn;

    /// What it acknowledges, if it is TCP and does; needed by ACK filters only.
    fn ack(&self) -> Option<Ack> {
        None
    }

    /// Sets its ECN field to "congestion experienced".
    fn mark_ce(&mut self);
}

/// Packets of one user and of the same length that come together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alike {
    /// Whose they are, as [`Packet::user`] says.
    pub user: u16,
    /// Length of each, as [`Packet::wire_bytes`] says.
    pub wire_bytes: u32,
    /// How many there are.
    pub count: u32,
}

/// What became of a packet on arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// It was taken.
    Queued,
    /// It is gone.
    Dropped,
    /// It was taken and marked.
    Marked,
}
