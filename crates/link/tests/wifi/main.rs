//! The Wi-Fi channel as a whole: comparisons with closed forms and with ns-3, and its invariants.

mod access_point;
mod channel;
#[path = "../common/mod.rs"]
mod common;
mod distance;
mod properties;
mod saturation;

use cwndlab_link::Packet;
use cwndlab_units::Ecn;

/// A packet of one user, which is not `Copy`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Numbered {
    pub(crate) number: Box<u32>,
    pub(crate) user: u16,
    bytes: u32,
}

impl Numbered {
    pub(crate) fn new(number: u32, user: u16, bytes: u32) -> Self {
        Self { number: Box::new(number), user, bytes }
    }
}

impl Packet for Numbered {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn flow(&self) -> u32 {
        *self.number
    }

    fn user(&self) -> u16 {
        self.user
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn mark_ce(&mut self) {}
}
