//! Writes packets to a capture file for tcpdump and Wireshark.
//!
//! Headers are complete, with options and checksums. The payload is cut off; the TCP checksum is
//! computed as if the payload consisted of zeros. The hosts are 10.0.0.1 (data sender) and
//! 10.0.0.2 (receiver); their ports are 40000 + flow number and 5001.

use std::net::Ipv4Addr;

use cwndlab_packet::{Pcap, Segment, ipv4_headers};
use cwndlab_units::Time;

const SENDER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RECEIVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const FIRST_SENDER_PORT: u16 = 40_000;
const RECEIVER_PORT: u16 = 5_001;

/// Capture of the packets at the data senders' interfaces.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    file: Pcap,
    /// The IP identification of the next packet.
    next_id: u16,
}

impl Capture {
    /// Adds a packet from the data sender or from the receiver.
    pub(crate) fn push(&mut self, at: Time, segment: &Segment, is_from_sender: bool) {
        let sender = (SENDER_ADDRESS, FIRST_SENDER_PORT.wrapping_add(segment.flow as u16));
        let receiver = (RECEIVER_ADDRESS, RECEIVER_PORT);
        let ends = if is_from_sender { [sender, receiver] } else { [receiver, sender] };
        let (headers, wire_bytes) = ipv4_headers(ends, self.next_id, segment);
        self.next_id = self.next_id.wrapping_add(1);
        self.file.push(at, wire_bytes, &headers);
    }

    /// Number of bytes that [`Capture::take`] would return.
    pub(crate) fn bytes(&self) -> usize {
        self.file.bytes()
    }

    /// The bytes of the capture file that were added since the last call.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.file.take()
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_packet::{Flags, TcpPacket};

    use super::*;

    #[test]
    fn ends_have_addresses_and_ports_of_their_own_and_payload_is_cut_off() {
        let mut capture = Capture::default();
        let data = Segment {
            flow: 3,
            flags: Flags(Flags::ACK | Flags::PSH),
            payload: 1_448,
            timestamps: Some((5, 6)),
            ..Segment::default()
        };
        capture.push(Time::from_nanos(1_000_000_007), &data, true);
        capture.push(Time::from_nanos(1_000_000_008), &Segment::default(), false);
        let bytes = capture.take();
        let [first, second] = [&bytes[24..24 + 16 + 52], &bytes[24 + 16 + 52..]];
        assert_eq!((&first[..4], &first[4..8]), (&[1, 0, 0, 0][..], &[7, 0, 0, 0][..]));
        assert_eq!(first[8..12], 52_u32.to_le_bytes(), "captured");
        assert_eq!(first[12..16], 1_500_u32.to_le_bytes(), "on the wire");
        let there = TcpPacket::parse(&first[16..], 1_500).expect("a segment");
        let back = TcpPacket::parse(&second[16..], 40).expect("a segment");
        assert_eq!((there.source.port, there.destination.port), (40_003, 5_001));
        assert_eq!(there.segment.payload, 1_448);
        assert_eq!(back.destination.address, there.source.address);
        assert_eq!(second[20..22], [0, 1], "packets are numbered");
    }
}
