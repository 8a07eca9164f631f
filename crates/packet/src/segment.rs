//! A TCP segment without its payload, as the simulator sends it through its links.

use cwndlab_units::Ecn;

use crate::EcnOption;
use crate::seq::{after, before};

/// The control bits that a TCP endpoint uses (RFC 9293 section 3.1, RFC 3168 section 6.1, RFC 9768
/// section 3.1), at their positions in the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// The sender has no more data.
    pub const FIN: u16 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u16 = 0x02;
    /// Reset the connection.
    pub const RST: u16 = 0x04;
    /// Push function.
    pub const PSH: u16 = 0x08;
    /// The acknowledgement field is valid.
    pub const ACK: u16 = 0x10;
    /// ECN echo.
    pub const ECE: u16 = 0x40;
    /// Congestion window reduced.
    pub const CWR: u16 = 0x80;
    /// Accurate ECN.
    pub const AE: u16 = 0x100;

    /// Whether any of the given `bits` is set.
    #[inline]
    pub const fn has(self, bits: u16) -> bool {
        self.0 & bits != 0
    }

    /// Number of sequence numbers that SYN and FIN occupy.
    #[inline]
    pub const fn sequence_space(self) -> u32 {
        self.has(Self::SYN) as u32 + self.has(Self::FIN) as u32
    }
}

/// A range of received bytes, from `start` up to `end` (RFC 2018 section 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub start: u32,
    /// First sequence number after the block.
    pub end: u32,
}

impl SackBlock {
    /// Whether the block and the given range overlap or are adjacent.
    #[inline]
    pub fn touches(&self, start: u32, end: u32) -> bool {
        !after(start, self.end) && !before(end, self.start)
    }
}

/// The SACK blocks of one segment.
///
/// If the segment has the option of accurate ECN, at most three SACK blocks fit. The option is
/// then stored in place of the fourth block, so that it does not enlarge this type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; Self::MAX],
    count: u8,
    /// 0 without the option of accurate ECN; otherwise the option's number of fields plus 1, and 4
    /// more if its counters are in order 1.
    ecn_tag: u8,
    /// The last byte of the option of accurate ECN; the rest of the option is stored in a SACK
    /// block.
    ecn_rest: u8,
}

impl SackBlocks {
    /// Number of blocks that fit the option space of 40 bytes.
    pub const MAX: usize = 4;

    /// The SACK blocks, in the order of the option.
    #[inline]
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }

    /// Adds a SACK block at the end. Returns whether there was room.
    #[inline]
    pub fn push(&mut self, block: SackBlock) -> bool {
        let most = if self.ecn_tag == 0 { Self::MAX } else { Self::MAX - 1 };
        if usize::from(self.count) >= most {
            return false;
        }
        self.blocks[usize::from(self.count)] = block;
        self.count += 1;
        true
    }

    /// Whether there is no SACK block.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Options of a SYN or SYN-ACK segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SynOptions {
    /// Maximum segment size, not reduced by the options of a segment.
    pub mss: u16,
    /// Shift of the window in later segments (RFC 7323 section 2), if the sender offers window
    /// scaling.
    pub window_scale: Option<u8>,
    /// Whether the sender supports SACK.
    pub is_sack_permitted: bool,
}

impl SynOptions {
    /// Maximum segment size of an end that announces none (RFC 9293 section 3.7.1).
    pub const DEFAULT_MSS: u16 = 536;
}

/// One segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// Number of the connection to which the segment belongs.
    pub flow: u32,
    /// Number of the user to whom the connection belongs, for networks that distinguish users.
    pub user: u16,
    /// Sequence number of the segment's first byte.
    pub seq: u32,
    /// Next sequence number that the sender expects.
    pub ack: u32,
    /// Number of payload bytes; SYN and FIN occupy additional sequence numbers.
    pub payload: u32,
    /// The window field as sent, without scaling.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// TSval and TSecr (RFC 7323 section 3), if the segment has the timestamp option.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sacks: SackBlocks,
    /// Options of a SYN.
    pub syn: Option<SynOptions>,
    /// Bytes of the IP and TCP headers, including options.
    pub header_bytes: u16,
}

impl Segment {
    /// The option of accurate ECN, if present.
    pub fn ecn_option(&self) -> Option<EcnOption> {
        let SackBlocks { blocks, ecn_tag, ecn_rest, .. } = &self.sacks;
        let tag = ecn_tag.checked_sub(1)?;
        let SackBlock { start, end } = blocks[SackBlocks::MAX - 1];
        let ([a, b, c, d], [e, f, g, h]) = (start.to_be_bytes(), end.to_be_bytes());
        Some(EcnOption::from_parts(
            tag & 4 != 0,
            tag & 3,
            [[a, b, c], [d, e, f], [g, h, *ecn_rest]],
        ))
    }

    /// Adds the option of accurate ECN.
    ///
    /// If the segment has four SACK blocks, the fourth is removed.
    pub fn set_ecn_option(&mut self, option: EcnOption) {
        let (is_order_1, count, [[a, b, c], [d, e, f], [g, h, rest]]) = option.into_parts();
        let sacks = &mut self.sacks;
        let (start, end) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
        sacks.blocks[SackBlocks::MAX - 1] = SackBlock { start, end };
        sacks.ecn_rest = rest;
        sacks.ecn_tag = 1 + count + if is_order_1 { 4 } else { 0 };
        sacks.count = sacks.count.min(SackBlocks::MAX as u8 - 1);
    }

    /// Length of the IP packet in bytes.
    #[inline]
    pub const fn wire_bytes(&self) -> u32 {
        self.header_bytes as u32 + self.payload
    }

    /// Bytes of payload.
    #[inline]
    pub const fn payload_bytes(&self) -> u32 {
        self.payload
    }

    /// The sequence number after the segment, including its SYN and FIN.
    #[inline]
    pub const fn end_seq(&self) -> u32 {
        self.seq.wrapping_add(self.payload).wrapping_add(self.flags.sequence_space())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_takes_the_place_of_the_fourth_block_and_reads_back() {
        let block = |start| SackBlock { start, end: start + 1 };
        for (is_order_1, count) in [(false, 0), (true, 1), (false, 2), (true, 3)] {
            let option = EcnOption::new(is_order_1, count, [0x01_0203, 0x04_0506, 0x07_0809]);
            let mut segment = Segment::default();
            for start in [10, 20, 30, 40] {
                assert!(segment.sacks.push(block(start)));
            }
            segment.set_ecn_option(option);
            assert_eq!(segment.ecn_option(), Some(option));
            assert_eq!(segment.sacks.as_slice(), [10, 20, 30].map(block));
            assert!(!segment.sacks.push(block(50)));
        }
        assert_eq!(Segment::default().ecn_option(), None);
    }
}
