//! Packets for tests.

use cwndlab_link::Packet;
use cwndlab_units::Ecn;

/// A packet identified by its number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Numbered {
    pub(crate) flow: u32,
    pub(crate) number: usize,
    pub(crate) bytes: u32,
}

impl Packet for Numbered {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn mark_ce(&mut self) {}
}
