//! TCP segments as packets: their fields, their headers as bytes, the order of sequence numbers,
//! detection of retransmissions and round-trip times, and capture files.

mod bytes;
mod checksum;
mod ecn_option;
mod flight;
mod headers;
pub mod ip;
pub mod merged;
mod pcap;
mod places;
mod ranges;
mod retransmissions;
mod segment;
pub mod seq;
mod split;

pub use ecn_option::{EcnOption, gain as ecn_option_gain};
pub use flight::Flight;
pub use headers::{Peer, TcpPacket, ipv4_headers};
pub use merged::Merged;
pub use pcap::Pcap;
pub use ranges::Ranges;
pub use retransmissions::{Bursts, Retransmissions};
pub use segment::{Flags, SackBlock, SackBlocks, Segment, SynOptions};
pub use seq::SeqNumber;
pub use split::Split;
