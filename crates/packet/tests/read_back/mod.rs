//! Properties of every packet's headers, for the tests and the fuzz target.

use std::net::IpAddr;

use cwndlab_packet::{Segment, TcpPacket, ip, ipv4_headers};
use cwndlab_units::Ecn;

/// Parses bytes as a packet. Checks that the parsed packet, when written, parses as the same, and
/// that a mark changes only the ECN field.
///
/// # Panics
/// If one of the checks fails.
pub(crate) fn check(bytes: &[u8]) {
    let wire_bytes = bytes.len() as u32;
    let packet = TcpPacket::parse(bytes, wire_bytes);
    let mut marked = bytes.to_vec();
    ip::mark_ce(&mut marked);
    let Some(packet) = packet else { return };
    let with_mark = TcpPacket { segment: Segment { ecn: Ecn::Ce, ..packet.segment }, ..packet };
    assert_eq!(TcpPacket::parse(&marked, wire_bytes), Some(with_mark));
    let (IpAddr::V4(source), IpAddr::V4(destination)) =
        (packet.source.address, packet.destination.address)
    else {
        return;
    };
    let ends = [(source, packet.source.port), (destination, packet.destination.port)];
    let (headers, wire_bytes) = ipv4_headers(ends, 0, &packet.segment);
    let Some(again) = TcpPacket::parse(&headers, wire_bytes) else {
        // Its own headers were shorter: with these, it exceeds the maximum of the length field.
        assert!(wire_bytes > u32::from(u16::MAX));
        return;
    };
    assert_eq!((again.source, again.destination), (packet.source, packet.destination));
    let Segment { header_bytes, sacks, payload, .. } = again.segment;
    assert!(packet.segment.sacks.as_slice().starts_with(sacks.as_slice()));
    if wire_bytes <= u32::from(u16::MAX) {
        let expected = Segment { header_bytes, sacks, ..packet.segment };
        assert_eq!(again.segment, expected);
    } else {
        assert!(payload <= packet.segment.payload);
    }
}
