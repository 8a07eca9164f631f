//! From a frame to the TCP segment in it: link layers, IPv4, IPv6, TCP and its options.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::Frame;

const LINK_NULL: u16 = 0;
const LINK_ETHERNET: u16 = 1;
const LINK_RAW: [u16; 5] = [12, 14, 101, 228, 229];
const LINK_LOOP: u16 = 108;
const LINK_LINUX_SLL: u16 = 113;
const LINK_LINUX_SLL2: u16 = 276;
const ETHERTYPE_VLAN: [u16; 2] = [0x8100, 0x88a8];
const ETHERTYPE_IP: [u16; 2] = [0x0800, 0x86dd];
const PROTOCOL_TCP: u8 = 6;
/// Hop-by-hop options, routing, destination options: headers between IPv6 and TCP.
const IPV6_EXTENSIONS: [u8; 3] = [0, 43, 60];

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

/// A TCP segment as it was captured; with segmentation offload it stands for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpPacket {
    /// Who sent it.
    pub source: Peer,
    /// To whom.
    pub destination: Peer,
    /// Number of its first byte.
    pub seq: u32,
    /// Next byte that its sender expects.
    pub ack: u32,
    /// FIN, SYN, RST, PSH, ACK, URG, ECE and CWR, from the lowest bit.
    pub flags: u8,
    /// Not scaled.
    pub window: u16,
    /// Bytes of data.
    pub payload_bytes: u32,
    /// Whether a router marked congestion.
    pub is_marked: bool,
    /// What its options say.
    pub options: TcpOptions,
}

/// The options that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Largest segment that its sender takes, in a SYN.
    pub mss_bytes: Option<u16>,
    /// Value and echo of its time stamp.
    pub timestamps: Option<(u32, u32)>,
    /// Blocks received out of order.
    pub sacks: [Option<(u32, u32)>; 4],
}

impl TcpPacket {
    pub(crate) const FIN: u8 = 0x01;
    pub(crate) const SYN: u8 = 0x02;
    pub(crate) const RST: u8 = 0x04;
    pub(crate) const ACK: u8 = 0x10;

    /// Whether one of these flags is set.
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
}

/// The TCP segment of a frame; `None` if there is none, or it cannot be read.
pub fn decode(frame: &Frame<'_>) -> Option<TcpPacket> {
    let ip = network_layer(frame.link_type, frame.content)?;
    let before = frame.content.len() - ip.len();
    let wire_bytes = frame.wire_bytes.checked_sub(u32::try_from(before).ok()?)?;
    match ip.first()? >> 4 {
        4 => decode_ipv4(ip, wire_bytes),
        6 => decode_ipv6(ip, wire_bytes),
        _ => None,
    }
}

fn network_layer(link_type: u16, content: &[u8]) -> Option<&[u8]> {
    match link_type {
        LINK_ETHERNET => {
            let mut at = 12;
            while ETHERTYPE_VLAN.contains(&half(content, at)?) {
                at += 4;
            }
            if ETHERTYPE_IP.contains(&half(content, at)?) { content.get(at + 2..) } else { None }
        }
        LINK_NULL | LINK_LOOP => content.get(4..),
        LINK_LINUX_SLL if ETHERTYPE_IP.contains(&half(content, 14)?) => content.get(16..),
        LINK_LINUX_SLL2 if ETHERTYPE_IP.contains(&half(content, 0)?) => content.get(20..),
        _ if LINK_RAW.contains(&link_type) => Some(content),
        _ => None,
    }
}

fn decode_ipv4(ip: &[u8], wire_bytes: u32) -> Option<TcpPacket> {
    let header = usize::from(ip[0] & 0x0f) * 4;
    let fragment_offset = half(ip, 6)? & 0x1fff;
    if header < 20 || *ip.get(9)? != PROTOCOL_TCP || fragment_offset != 0 {
        return None;
    }
    let address = |at: usize| -> Option<IpAddr> {
        Some(Ipv4Addr::from(<[u8; 4]>::try_from(ip.get(at..at + 4)?).ok()?).into())
    };
    // A packet that the device has still to cut may say nothing of its length.
    let total = match half(ip, 2)? {
        0 => wire_bytes,
        bytes => u32::from(bytes),
    };
    let is_marked = ip[1] & 0x03 == 0x03;
    decode_tcp(ip, header, total, (address(12)?, address(16)?), is_marked)
}

fn decode_ipv6(ip: &[u8], wire_bytes: u32) -> Option<TcpPacket> {
    let address = |at: usize| -> Option<IpAddr> {
        Some(Ipv6Addr::from(<[u8; 16]>::try_from(ip.get(at..at + 16)?).ok()?).into())
    };
    let ends = (address(8)?, address(24)?);
    let total = match half(ip, 4)? {
        0 => wire_bytes,
        bytes => u32::from(bytes) + 40,
    };
    let (mut next, mut header) = (*ip.get(6)?, 40);
    while IPV6_EXTENSIONS.contains(&next) {
        next = *ip.get(header)?;
        header += (usize::from(*ip.get(header + 1)?) + 1) * 8;
    }
    if next != PROTOCOL_TCP {
        return None;
    }
    let is_marked = half(ip, 0)? >> 4 & 0x03 == 0x03;
    decode_tcp(ip, header, total, ends, is_marked)
}

fn decode_tcp(
    ip: &[u8],
    ip_header: usize,
    total_bytes: u32,
    (source, destination): (IpAddr, IpAddr),
    is_marked: bool,
) -> Option<TcpPacket> {
    let tcp = ip.get(ip_header..)?;
    let header = usize::from(*tcp.get(12)? >> 4) * 4;
    if header < 20 {
        return None;
    }
    let headers = u32::try_from(ip_header + header).ok()?;
    Some(TcpPacket {
        source: Peer { address: source, port: half(tcp, 0)? },
        destination: Peer { address: destination, port: half(tcp, 2)? },
        seq: word(tcp, 4)?,
        ack: word(tcp, 8)?,
        flags: *tcp.get(13)?,
        window: half(tcp, 14)?,
        payload_bytes: total_bytes.checked_sub(headers)?,
        is_marked,
        options: decode_options(tcp.get(20..header).or_else(|| tcp.get(20..)).unwrap_or(&[])),
    })
}

/// The options; those that a short capture cut off are not there.
fn decode_options(mut bytes: &[u8]) -> TcpOptions {
    let mut options = TcpOptions::default();
    while let [kind, rest @ ..] = bytes {
        match kind {
            0 => break,
            1 => {
                bytes = rest;
                continue;
            }
            _ => {}
        }
        let length = rest.first().copied().map_or(0, usize::from);
        let Some(value) = bytes.get(2..length) else { break };
        match (kind, value.len()) {
            (2, 2) => options.mss_bytes = half(value, 0),
            (8, 8) => options.timestamps = word(value, 0).zip(word(value, 4)),
            (5, _) => {
                let blocks = value.chunks_exact(8).map(|block| word(block, 0).zip(word(block, 4)));
                for (slot, block) in options.sacks.iter_mut().zip(blocks) {
                    *slot = block;
                }
            }
            _ => {}
        }
        bytes = &bytes[length..];
    }
    options
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP header with a SACK block and time stamps, data offset 11 words.
    fn tcp() -> Vec<u8> {
        let mut bytes = vec![0x9c, 0x40, 0x13, 0x89];
        bytes.extend(1_000_u32.to_be_bytes());
        bytes.extend(2_000_u32.to_be_bytes());
        bytes.extend([11 << 4, 0x18, 0x01, 0x02, 0, 0, 0, 0]);
        bytes.extend([1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6]);
        bytes.extend([1, 1, 5, 10, 0, 0, 0, 7, 0, 0, 0, 9]);
        bytes
    }

    fn ipv4(total_bytes: u16) -> Vec<u8> {
        let mut bytes = vec![0x45, 0x03];
        bytes.extend(total_bytes.to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend(tcp());
        bytes
    }

    fn ipv6(payload_bytes: u16) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend(payload_bytes.to_be_bytes());
        bytes.extend([0, 64]);
        bytes.extend([0; 15].into_iter().chain([1]).chain([0; 15]).chain([2]));
        bytes.extend([6, 0, 1, 4, 0, 0, 0, 0]); // a hop-by-hop header before TCP
        bytes.extend(tcp());
        bytes
    }

    fn framed(link_type: u16, head: &[u8], ip: &[u8]) -> Option<TcpPacket> {
        let content = [head, ip].concat();
        let wire_bytes = content.len() as u32 + 1_400;
        decode(&Frame { at_ns: 0, link_type, wire_bytes, content: &content })
    }

    #[test]
    fn the_same_segment_is_found_in_every_link_layer() {
        let ip = ipv4(20 + 44 + 1_400);
        let ethernet = [0; 12].into_iter().chain([0x08, 0]).collect::<Vec<_>>();
        let vlan = [0; 12].into_iter().chain([0x81, 0, 0, 5, 0x08, 0]).collect::<Vec<_>>();
        let sll = [0; 14].into_iter().chain([0x08, 0]).collect::<Vec<_>>();
        let sll2 = [0x08, 0].into_iter().chain([0; 18]).collect::<Vec<_>>();
        let raw = framed(101, &[], &ip).expect("a segment");
        assert_eq!((raw.source.port, raw.destination.port), (40_000, 5_001));
        assert_eq!((raw.seq, raw.ack, raw.payload_bytes), (1_000, 2_000, 1_400));
        assert!(raw.has(TcpPacket::ACK) && !raw.has(TcpPacket::SYN) && raw.is_marked);
        assert_eq!(raw.options.timestamps, Some((5, 6)));
        assert_eq!(raw.options.sacks, [Some((7, 9)), None, None, None]);
        for (link_type, head) in
            [(1, &ethernet[..]), (1, &vlan), (113, &sll), (276, &sll2), (0, &[2, 0, 0, 0])]
        {
            assert_eq!(framed(link_type, head, &ip), Some(raw), "{link_type}");
        }
    }

    #[test]
    fn ipv6_is_read_behind_its_extension_headers() {
        let packet = framed(101, &[], &ipv6(8 + 44 + 1_000)).expect("a segment");
        assert_eq!(packet.payload_bytes, 1_000);
        assert_eq!(packet.source.address, IpAddr::V6(Ipv6Addr::LOCALHOST));
    }

    #[test]
    fn a_length_of_zero_means_that_of_the_frame() {
        assert_eq!(framed(101, &[], &ipv4(0)).expect("a segment").payload_bytes, 1_400);
        assert_eq!(framed(101, &[], &ipv6(0)).expect("a segment").payload_bytes, 1_400);
    }

    #[test]
    fn every_shortening_is_a_segment_or_none() {
        for ip in [ipv4(1_464), ipv6(1_052)] {
            for length in 0..ip.len() {
                framed(101, &[], &ip[..length]);
            }
        }
        let mut udp = ipv4(1_464);
        udp[9] = 17;
        assert_eq!(framed(101, &[], &udp), None);
    }
}
