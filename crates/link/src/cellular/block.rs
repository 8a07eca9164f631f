//! The record of a block's transmission.

use cwndlab_units::Time;

use crate::Direction;
use crate::channel::Decibel;

/// A transmission of a block.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BlockRecord {
    /// Start time of the slot.
    pub at: Time,
    /// Direction of the block's transmission.
    pub direction: Direction,
    /// The user's port.
    pub port: u16,
    /// Index of the block's modulation and coding scheme.
    pub scheme: u8,
    /// Number of units of the band that the block uses.
    pub units: u16,
    /// Transport block size.
    pub bits: u32,
    /// Bytes of packets and their headers in the block; 0 for padding.
    pub payload_bytes: u32,
    /// Number of this transmission of the block, from 1.
    pub transmission: u8,
    /// Whether the block was decoded.
    pub is_decoded: bool,
    /// SINR of the user in the slot of the transmission.
    pub sinr: Decibel,
}
