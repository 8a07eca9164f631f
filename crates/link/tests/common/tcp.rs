//! Packets whose acknowledgements a link can read.

use cwndlab_link::{Ack, Packet};
use cwndlab_units::Ecn;

/// An ACK or a data packet of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TcpFrame {
    pub(crate) number: u32,
    pub(crate) connection: u32,
    pub(crate) ack: u32,
    pub(crate) is_pure: bool,
}

impl Packet for TcpFrame {
    fn wire_bytes(&self) -> u32 {
        if self.is_pure { 52 } else { 1500 }
    }

    fn flow(&self) -> u32 {
        self.connection
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn ack(&self) -> Option<Ack> {
        Some(Ack {
            connection: self.connection.into(),
            number: self.ack,
            sacks: [(0, 0); 4],
            echo: 0,
            timestamp: None,
            is_pure: self.is_pure,
        })
    }

    fn mark_ce(&mut self) {}
}
