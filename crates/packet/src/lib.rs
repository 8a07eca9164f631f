//! TCP segments as packets: their fields and the order of sequence numbers.

mod segment;
pub mod seq;

pub use segment::{Flags, SackBlock, SackBlocks, Segment, SynOptions};
