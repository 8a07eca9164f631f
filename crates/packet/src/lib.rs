//! TCP segments as packets: their fields, the order of sequence numbers, and capture files.

mod pcap;
mod segment;
pub mod seq;

pub use pcap::Pcap;
pub use segment::{Flags, SackBlock, SackBlocks, Segment, SynOptions};
