//! Drops queued ACKs that a newer ACK supersedes.
//!
//! The filter follows CAKE's `ack-filter` (tc-cake(8); Høiland-Jørgensen, Täht and Morton, "Piece
//! of CAKE", 2018, section III.D): when an ACK arrives, the first pure ACK of its connection that
//! it supersedes leaves the queue. The model leaves out filters that a modem may have before its
//! queue.

use super::Waiting;
use crate::config::AckFilter;
use crate::packet::Packet;

impl AckFilter {
    /// Index of the waiting packet that `new` supersedes, if any.
    pub(crate) fn find<'a, P: Packet + 'a>(
        self,
        waiting: impl Iterator<Item = &'a Waiting<P>>,
        new: &P,
    ) -> Option<usize> {
        let new = new.ack()?;
        let mut superseded = waiting
            .enumerate()
            .filter(|(_, older)| older.packet.ack().is_some_and(|older| new.supersedes(&older)))
            .map(|(index, _)| index);
        let first = superseded.next()?;
        match self {
            Self::Aggressive => Some(first),
            Self::Conservative => superseded.next().map(|_| first),
        }
    }
}
