//! Link layers: extraction of the IP packet from a frame.

use cwndlab_packet::TcpPacket;

use crate::Frame;

const LINK_NULL: u16 = 0;
const LINK_ETHERNET: u16 = 1;
const LINK_RAW: [u16; 5] = [12, 14, 101, 228, 229];
const LINK_LOOP: u16 = 108;
const LINK_LINUX_SLL: u16 = 113;
const LINK_LINUX_SLL2: u16 = 276;
const ETHERTYPE_VLAN: [u16; 2] = [0x8100, 0x88a8];
const ETHERTYPE_IP: [u16; 2] = [0x0800, 0x86dd];

/// Decodes the TCP segment of a frame; returns `None` if the frame contains none or is malformed.
pub fn decode(frame: &Frame<'_>) -> Option<TcpPacket> {
    let ip = network_layer(frame.link_type, frame.content)?;
    let before = frame.content.len() - ip.len();
    let wire_bytes = frame.wire_bytes.checked_sub(u32::try_from(before).ok()?)?;
    TcpPacket::parse(ip, wire_bytes)
}

fn network_layer(link_type: u16, content: &[u8]) -> Option<&[u8]> {
    let is_ip_at = |at: usize| Some(ETHERTYPE_IP.contains(&ethertype(content, at)?));
    match link_type {
        LINK_ETHERNET => {
            let mut at = 12;
            while ETHERTYPE_VLAN.contains(&ethertype(content, at)?) {
                at += 4;
            }
            if is_ip_at(at)? { content.get(at + 2..) } else { None }
        }
        LINK_NULL | LINK_LOOP => content.get(4..),
        LINK_LINUX_SLL if is_ip_at(14)? => content.get(16..),
        LINK_LINUX_SLL2 if is_ip_at(0)? => content.get(20..),
        _ if LINK_RAW.contains(&link_type) => Some(content),
        _ => None,
    }
}

fn ethertype(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use cwndlab_packet::{Flags, Segment, ipv4_headers};

    use super::*;

    fn segment() -> Segment {
        let flags = Flags(Flags::ACK);
        Segment { seq: 1_000, payload: 1_400, flags, ..Segment::default() }
    }

    fn ip() -> Vec<u8> {
        let [near, far] = [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last));
        ipv4_headers([(near, 40_000), (far, 5_001)], 0, &segment()).0
    }

    fn framed(link_type: u16, head: &[u8], ip: &[u8]) -> Option<TcpPacket> {
        let content = [head, ip].concat();
        let wire_bytes = content.len() as u32 + 1_400;
        decode(&Frame { at_ns: 0, link_type, wire_bytes, content: &content })
    }

    #[test]
    fn the_same_segment_is_found_in_every_link_layer() {
        let ip = ip();
        let ethernet = [0; 12].into_iter().chain([0x08, 0]).collect::<Vec<_>>();
        let vlan = [0; 12].into_iter().chain([0x81, 0, 0, 5, 0x08, 0]).collect::<Vec<_>>();
        let sll = [0; 14].into_iter().chain([0x08, 0]).collect::<Vec<_>>();
        let sll2 = [0x08, 0].into_iter().chain([0; 18]).collect::<Vec<_>>();
        let raw = framed(101, &[], &ip).expect("a segment");
        assert_eq!((raw.source.port, raw.destination.port), (40_000, 5_001));
        assert_eq!((raw.segment.seq, raw.segment.payload), (1_000, 1_400));
        for (link_type, head) in
            [(1, &ethernet[..]), (1, &vlan), (113, &sll), (276, &sll2), (0, &[2, 0, 0, 0])]
        {
            assert_eq!(framed(link_type, head, &ip), Some(raw), "link type {link_type}");
        }
    }

    #[test]
    fn a_packet_without_a_length_has_what_the_frame_had_behind_its_link_layer() {
        let mut ip = ip();
        ip[2..4].fill(0);
        let packet = framed(0, &[2, 0, 0, 0], &ip).expect("a segment");
        assert_eq!(packet.segment.payload, 1_400);
    }

    #[test]
    fn every_shortening_is_a_segment_or_none() {
        let ethernet = [0; 12].into_iter().chain([0x81, 0, 0, 5, 0x08, 0]);
        let whole: Vec<u8> = ethernet.chain(ip()).collect();
        for link_type in [0, 1, 101, 113, 276] {
            for length in 0..whole.len() {
                framed(link_type, &[], &whole[..length]);
            }
        }
    }
}
