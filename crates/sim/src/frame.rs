//! A TCP segment as the links see it.

use cwndlab_link::Packet;
use cwndlab_tcp::Segment;
use cwndlab_units::Ecn;

/// A segment on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) segment: Segment,
    /// The port of its user, where users have one each.
    pub(crate) user: u16,
}

impl Packet for Frame {
    #[inline]
    fn wire_bytes(&self) -> u32 {
        self.segment.wire_bytes()
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.segment.flow
    }

    #[inline]
    fn user(&self) -> u16 {
        self.user
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.segment.ecn
    }

    #[inline]
    fn mark_ce(&mut self) {
        self.segment.ecn = Ecn::Ce;
    }
}
