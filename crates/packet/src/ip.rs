//! IP headers: addresses, lengths and the ECN field of IPv4 and IPv6 (RFC 791, RFC 8200, RFC 3168).
//!
//! This module does not parse fragments other than the first, or IPv6 extension headers that hide
//! where TCP begins.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use cwndlab_units::Ecn;

use crate::bytes::half;
use crate::checksum;

pub(crate) const PROTOCOL_TCP: u8 = 6;
pub(crate) const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
const FRAGMENT_OFFSET: u16 = 0x1fff;
const DONT_FRAGMENT: u16 = 0x4000;
/// Time to live (TTL) of packets that Linux sends.
const TIME_TO_LIVE: u8 = 64;
/// Numbers of the IPv6 extension headers that may precede TCP: hop-by-hop options, routing,
/// destination options.
const IPV6_EXTENSIONS: [u8; 3] = [0, 43, 60];

/// Fields of the IP header of a packet that carries TCP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IpHeader {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) ecn: Ecn,
    /// Length of the header, including options or extension headers.
    pub(crate) bytes: usize,
    /// Length of the whole packet; 0 if the header omits the length because the network device has
    /// not split the packet yet.
    pub(crate) total_bytes: u32,
}

impl IpHeader {
    /// Parses the IP header of a packet that carries TCP.
    pub(crate) fn parse(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::parse_ipv4(packet),
            6 => Self::parse_ipv6(packet),
            _ => None,
        }
    }

    fn parse_ipv4(packet: &[u8]) -> Option<Self> {
        let bytes = usize::from(packet.first()? & 0x0f) * 4;
        let is_first = half(packet, 6)? & FRAGMENT_OFFSET == 0;
        if bytes < IPV4_HEADER_BYTES || *packet.get(9)? != PROTOCOL_TCP || !is_first {
            return None;
        }
        let address = |at: usize| -> Option<IpAddr> {
            Some(Ipv4Addr::from(<[u8; 4]>::try_from(packet.get(at..at + 4)?).ok()?).into())
        };
        Some(Self {
            source: address(12)?,
            destination: address(16)?,
            ecn: ecn(packet)?,
            bytes,
            total_bytes: u32::from(half(packet, 2)?),
        })
    }

    fn parse_ipv6(packet: &[u8]) -> Option<Self> {
        let address = |at: usize| -> Option<IpAddr> {
            Some(Ipv6Addr::from(<[u8; 16]>::try_from(packet.get(at..at + 16)?).ok()?).into())
        };
        let (mut next, mut bytes) = (*packet.get(6)?, IPV6_HEADER_BYTES);
        while IPV6_EXTENSIONS.contains(&next) {
            next = *packet.get(bytes)?;
            bytes += (usize::from(*packet.get(bytes + 1)?) + 1) * 8;
        }
        let total_bytes = match half(packet, 4)? {
            0 => 0,
            bytes => u32::from(bytes) + IPV6_HEADER_BYTES as u32,
        };
        let (source, destination) = (address(8)?, address(24)?);
        let header = Self { source, destination, ecn: ecn(packet)?, bytes, total_bytes };
        (next == PROTOCOL_TCP).then_some(header)
    }
}

/// Returns an IPv4 header without options for `content_bytes` of TCP. The length field is limited
/// to its maximum.
pub(crate) fn ipv4_header(
    (source, destination): (Ipv4Addr, Ipv4Addr),
    ecn: Ecn,
    id: u16,
    content_bytes: u32,
) -> [u8; IPV4_HEADER_BYTES] {
    let total_bytes = content_bytes.saturating_add(IPV4_HEADER_BYTES as u32);
    let mut header = [0; IPV4_HEADER_BYTES];
    header[0] = 0x45;
    header[1] = ecn as u8;
    header[2..4].copy_from_slice(&u16::try_from(total_bytes).unwrap_or(u16::MAX).to_be_bytes());
    header[4..6].copy_from_slice(&id.to_be_bytes());
    header[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
    header[8] = TIME_TO_LIVE;
    header[9] = PROTOCOL_TCP;
    header[12..16].copy_from_slice(&source.octets());
    header[16..20].copy_from_slice(&destination.octets());
    let checksum = checksum::checksum(checksum::sum(&header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

/// Whether the bytes begin with a complete IPv4 header.
pub fn is_ipv4(packet: &[u8]) -> bool {
    packet.len() >= IPV4_HEADER_BYTES && packet[0] >> 4 == 4
}

/// The ECN field of an IP packet; `None` if it is neither IPv4 nor IPv6.
pub fn ecn(packet: &[u8]) -> Option<Ecn> {
    match *packet {
        [first, second, ..] if first >> 4 == 4 => Some(Ecn::from_bits(second)),
        [first, second, ..] if first >> 4 == 6 => Some(Ecn::from_bits(second >> 4)),
        _ => None,
    }
}

/// Sets the ECN field of an IP packet to Congestion Experienced, and updates the checksum of an
/// IPv4 header.
///
/// Packets that are neither IPv4 nor IPv6 remain unchanged.
pub fn mark_ce(packet: &mut [u8]) {
    match packet {
        [first, class, ..] if *first >> 4 == 6 => *class |= 0x30,
        _ if is_ipv4(packet) => {
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= Ecn::Ce as u8;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            let old = u16::from_be_bytes([packet[10], packet[11]]);
            let new = checksum::updated(old, before, after);
            packet[10..12].copy_from_slice(&new.to_be_bytes());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(ecn: Ecn) -> [u8; 20] {
        let ends = (Ipv4Addr::new(100, 64, 0, 1), Ipv4Addr::new(100, 64, 0, 2));
        ipv4_header(ends, ecn, 7, 1_000)
    }

    const FIELDS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

    #[test]
    fn a_mark_keeps_the_checksum_right_and_the_class_of_service() {
        for field in FIELDS {
            let mut packet = header(field);
            packet[1] |= 0xb8;
            packet[10..12].fill(0);
            let sum = checksum::checksum(checksum::sum(&packet));
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
            assert_eq!(ecn(&packet), Some(field));
            mark_ce(&mut packet);
            assert_eq!((ecn(&packet), packet[1] & 0xfc), (Some(Ecn::Ce), 0xb8));
            assert_eq!(checksum::checksum(checksum::sum(&packet)), 0, "after a mark on {field:?}");
        }
    }

    #[test]
    fn ecn_of_ipv6_is_in_the_traffic_class() {
        for (code, field) in FIELDS.into_iter().enumerate() {
            let mut packet = [0_u8; 40];
            (packet[0], packet[1]) = (0x6f, (code as u8) << 4 | 0x0f);
            assert_eq!(ecn(&packet), Some(field));
            mark_ce(&mut packet);
            assert_eq!((ecn(&packet), packet[0], packet[1]), (Some(Ecn::Ce), 0x6f, 0x3f));
        }
    }

    #[test]
    fn what_is_not_ip_has_no_field_and_gets_no_mark() {
        for mut bytes in [vec![], vec![0x45], vec![0x45; 19], vec![0x60], vec![0x10; 40]] {
            let before = bytes.clone();
            mark_ce(&mut bytes);
            assert_eq!(bytes, before);
            assert!(!is_ipv4(&bytes));
        }
        assert_eq!(ecn(&[0x10; 40]), None);
        assert!(is_ipv4(&header(Ecn::NotEct)));
    }
}
