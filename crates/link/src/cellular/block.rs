//! The record of a transmission.

use cwndlab_units::Time;

use crate::Direction;
use crate::channel::Decibel;

/// A transmission of a block.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BlockRecord {
    /// When its slot began.
    pub at: Time,
    /// Which way it went.
    pub direction: Direction,
    /// The user's port.
    pub port: u16,
    /// The scheme's index.
    pub scheme: u8,
    /// How many parts of the band it took.
    pub units: u16,
    /// The transport block's size.
    pub bits: u32,
    /// Bytes of packets and their overhead in it; 0 for padding.
    pub payload_bytes: u32,
    /// Which transmission of the block it was, from 1 on.
    pub transmission: u8,
    /// Whether it was decoded.
    pub is_decoded: bool,
    /// The ratio in its slot.
    pub sinr: Decibel,
}
