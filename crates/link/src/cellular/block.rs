//! The record of a transmission.

use cwndlab_units::Time;

use crate::Direction;
use crate::channel::Decibel;

/// A transmission of a block.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BlockRecord {
    /// Start time of the slot.
    pub at: Time,
    /// Direction of the transmission.
    pub direction: Direction,
    /// The user's port.
    pub port: u16,
    /// Index of the modulation and coding scheme.
    pub scheme: u8,
    /// Units of the band.
    pub units: u16,
    /// Transport block size.
    pub bits: u32,
    /// Bytes of packets and their overhead; 0 for padding.
    pub payload_bytes: u32,
    /// Number of this transmission of the block, from 1 on.
    pub transmission: u8,
    /// Whether it was decoded.
    pub is_decoded: bool,
    /// SINR in the slot.
    pub sinr: Decibel,
}
