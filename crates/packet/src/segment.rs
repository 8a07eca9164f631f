//! A TCP segment without its payload: what the simulator sends through its links.

use cwndlab_units::Ecn;

use crate::EcnOption;
use crate::seq::{after, before};

/// The control bits that the endpoint uses (RFC 9293 section 3.1, RFC 3168 section 6.1, RFC 9768
/// section 3.1), in the places that they have there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: u16 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u16 = 0x02;
    /// Reset the connection.
    pub const RST: u16 = 0x04;
    /// Push function.
    pub const PSH: u16 = 0x08;
    /// The acknowledgement field is significant.
    pub const ACK: u16 = 0x10;
    /// ECN echo.
    pub const ECE: u16 = 0x40;
    /// Congestion window reduced.
    pub const CWR: u16 = 0x80;
    /// Accurate ECN.
    pub const AE: u16 = 0x100;

    /// Whether any of `bits` is set.
    #[inline]
    pub const fn has(self, bits: u16) -> bool {
        self.0 & bits != 0
    }

    /// How much SYN and FIN occupy in the sequence space.
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
    /// First sequence number after it.
    pub end: u32,
}

impl SackBlock {
    /// Whether the two overlap or follow on each other.
    #[inline]
    pub fn touches(&self, start: u32, end: u32) -> bool {
        !after(start, self.end) && !before(end, self.start)
    }
}

/// The SACK blocks of one segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; Self::MAX],
    count: u8,
}

impl SackBlocks {
    /// As many as fit into the option space of 40 bytes.
    pub const MAX: usize = 4;

    /// The blocks, in the order of the option.
    #[inline]
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }

    /// Adds a block at the end. Returns whether there was room.
    #[inline]
    pub fn push(&mut self, block: SackBlock) -> bool {
        let Some(place) = self.blocks.get_mut(usize::from(self.count)) else { return false };
        *place = block;
        self.count += 1;
        true
    }

    /// Whether there is no block.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// What a SYN offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SynOptions {
    /// Maximum segment size without options.
    pub mss: u16,
    /// Shift of the windows to come (RFC 7323 section 2), if scaling is offered.
    pub window_scale: Option<u8>,
    /// The sender understands SACK.
    pub is_sack_permitted: bool,
}

impl SynOptions {
    /// The segment size of an end that names none, RFC 9293 section 3.7.1.
    pub const DEFAULT_MSS: u16 = 536;
}

/// One segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// Which connection it belongs to.
    pub flow: u32,
    /// Whose connection it is, where a network tells its users apart.
    pub user: u16,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Next sequence number that the sender expects.
    pub ack: u32,
    /// Bytes of payload; a FIN or SYN counts in sequence space besides.
    pub payload: u32,
    /// The window field, not scaled.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// TSval and TSecr (RFC 7323 section 3), if the option is there.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks.
    pub sacks: SackBlocks,
    /// The option of accurate ECN.
    pub ecn_option: Option<EcnOption>,
    /// Options of a SYN.
    pub syn: Option<SynOptions>,
    /// Bytes of the IP and TCP headers with options.
    pub header_bytes: u16,
}

impl Segment {
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

    /// The sequence number after the segment, SYN and FIN counted.
    #[inline]
    pub const fn end_seq(&self) -> u32 {
        self.seq.wrapping_add(self.payload).wrapping_add(self.flags.sequence_space())
    }
}
