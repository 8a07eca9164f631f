//! A TCP segment as the links see it.

use cwndlab_link::Packet;
use cwndlab_tcp::Segment;
use cwndlab_units::Ecn;

/// A segment on its way, and nothing else, so that the one in its endpoint's outbox is copied once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame(pub(crate) Segment);

impl Packet for Frame {
    #[inline]
    fn wire_bytes(&self) -> u32 {
        self.0.wire_bytes()
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.0.flow
    }

    #[inline]
    fn user(&self) -> u16 {
        self.0.user
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.0.ecn
    }

    #[inline]
    fn mark_ce(&mut self) {
        self.0.ecn = Ecn::Ce;
    }
}
