//! TCP segments as packets: their fields, their headers as bytes, the order of sequence numbers, and
//! capture files.

mod bytes;
mod checksum;
mod headers;
pub mod ip;
mod pcap;
mod segment;
pub mod seq;

pub use headers::{Peer, TcpPacket, ipv4_headers};
pub use pcap::Pcap;
pub use segment::{Flags, SackBlock, SackBlocks, Segment, SynOptions};
