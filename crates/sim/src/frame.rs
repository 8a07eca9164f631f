//! A TCP segment in the form in which links carry it.

use cwndlab_host::Merge;
use cwndlab_link::{Ack, Packet};
use cwndlab_packet::{Flags, Segment};
use cwndlab_tcp::Train;
use cwndlab_units::Ecn;

/// A TCP segment without additional data, so that it is copied only once from the outbox of its
/// endpoint.
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

    fn ack(&self) -> Option<Ack> {
        let Segment { flow, ack, flags, payload, timestamps, sacks, .. } = &self.0;
        if !flags.has(Flags::ACK) || flags.has(Flags::SYN | Flags::FIN | Flags::RST) {
            return None;
        }
        let mut blocks = [(0, 0); Ack::MOST_SACKS];
        for (place, block) in blocks.iter_mut().zip(sacks.as_slice()) {
            *place = (block.start, block.end);
        }
        Some(Ack {
            connection: u64::from(*flow),
            number: *ack,
            sacks: blocks,
            echo: flags.0 & (Flags::AE | Flags::ECE | Flags::CWR),
            timestamp: timestamps.map(|(value, _)| value),
            is_pure: *payload == 0,
        })
    }

    #[inline]
    fn mark_ce(&mut self) {
        self.0.ecn = Ecn::Ce;
    }
}

impl cwndlab_link::Train<Frame> for Train {
    #[inline(always)]
    fn put(&self, index: u32, slot: &mut Option<Frame>) {
        // Copied as a whole, which is faster than field by field.
        let Frame(segment) = slot.insert(Frame(self.first));
        if index > 0 {
            segment.seq = segment.seq.wrapping_add(index.wrapping_mul(segment.payload));
        }
    }
}

/// Length of the longest possible packet in bytes.
const LONGEST_BYTES: u32 = u16::MAX as u32;

/// Bits of the accurate ECN counter (RFC 9768), which must be equal in all segments that are
/// merged.
const COUNT: u16 = Flags::AE | Flags::CWR | Flags::ECE;

impl Merge for Frame {
    /// Merges segments as GRO does: segments of one burst that differ only in their place in the
    /// stream.
    fn merge(&mut self, next: &Self) -> bool {
        let (held, next) = (&mut self.0, &next.0);
        let is_plain = |segment: &Segment| segment.payload > 0 && segment.sacks.is_empty();
        let is_continued = is_plain(held)
            && is_plain(next)
            && held.flags.0 & !COUNT == Flags::ACK
            && next.flags.0 & !Flags::PSH == held.flags.0
            && held.end_seq() == next.seq
            && (held.ack, held.timestamps, held.ecn) == (next.ack, next.timestamps, next.ecn)
            && held.ecn_option() == next.ecn_option()
            && held.wire_bytes() + next.payload <= LONGEST_BYTES;
        if is_continued {
            held.payload += next.payload;
            held.flags = next.flags;
            held.window = next.window;
        }
        is_continued
    }

    fn is_of_same_flow(&self, other: &Self) -> bool {
        self.0.flow == other.0.flow
    }
}
