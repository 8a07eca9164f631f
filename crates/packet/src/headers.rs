//! TCP and IP headers as bytes: a parser and a writer.
//!
//! The writer produces headers as Linux sends them: IPv4 without options, and TCP options in
//! Linux's order. The parser reads any TCP segment over IPv4 or IPv6, even if a capture kept only
//! its beginning. The parser ignores the urgent pointer and options that congestion control does
//! not need. It does not verify checksums, because they are not filled in yet if the network card
//! computes them (checksum offload).

use std::net::{IpAddr, Ipv4Addr};

use crate::bytes::{half, word};
use crate::checksum::{checksum, sum};
use crate::ip::{IpHeader, PROTOCOL_TCP, ipv4_header};
use crate::{EcnOption, Flags, SackBlock, SackBlocks, Segment, SynOptions};

const TCP_HEADER_BYTES: usize = 20;
/// Maximum bytes of TCP options: a header of 15 words (RFC 9293 section 3.1) minus the fixed
/// header.
const MAX_OPTION_BYTES: usize = 40;

const OPTION_END: u8 = 0;
const OPTION_NOP: u8 = 1;
const OPTION_MSS: u8 = 2;
const OPTION_WINDOW_SCALE: u8 = 3;
const OPTION_SACK_PERMITTED: u8 = 4;
const OPTION_SACK: u8 = 5;
const OPTION_TIMESTAMPS: u8 = 8;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

/// A TCP segment in its IP packet. With segmentation offload, one packet stands for several
/// segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpPacket {
    /// The sending end.
    pub source: Peer,
    /// The receiving end.
    pub destination: Peer,
    /// The TCP segment. In a parsed packet, the numbers of its flow and its user are 0, because
    /// headers do not contain them.
    pub segment: Segment,
}

impl TcpPacket {
    /// Parses a packet of `wire_bytes` bytes; `bytes` is the captured beginning. If the IP header
    /// contains a length, this length replaces `wire_bytes`.
    ///
    /// Returns `None` if the packet is not TCP, or is cut off before the end of the TCP flags.
    pub fn parse(bytes: &[u8], wire_bytes: u32) -> Option<Self> {
        let ip = IpHeader::parse(bytes)?;
        let tcp = bytes.get(ip.bytes..)?;
        let tcp_header_bytes = usize::from(*tcp.get(12)? >> 4) * 4;
        if tcp_header_bytes < TCP_HEADER_BYTES {
            return None;
        }
        let header_bytes = u16::try_from(ip.bytes + tcp_header_bytes).ok()?;
        let total_bytes = if ip.total_bytes == 0 { wire_bytes } else { ip.total_bytes };
        let mut segment = Segment {
            seq: word(tcp, 4)?,
            ack: word(tcp, 8)?,
            flags: Flags(half(tcp, 12)? & (0xff | Flags::AE)),
            window: half(tcp, 14)?,
            payload: total_bytes.checked_sub(u32::from(header_bytes))?,
            ecn: ip.ecn,
            header_bytes,
            ..Segment::default()
        };
        if segment.flags.has(Flags::SYN) {
            let mss = SynOptions::DEFAULT_MSS;
            segment.syn = Some(SynOptions { mss, window_scale: None, is_sack_permitted: false });
        }
        let end = tcp_header_bytes.min(tcp.len());
        read_options(&mut segment, tcp.get(TCP_HEADER_BYTES..end).unwrap_or_default());
        Some(Self {
            source: Peer { address: ip.source, port: half(tcp, 0)? },
            destination: Peer { address: ip.destination, port: half(tcp, 2)? },
            segment,
        })
    }
}

/// Returns the IPv4 and TCP headers of a segment between two ends, with the given IP
/// identification, and the packet's length.
///
/// The checksum is computed for a payload of zeros.
pub fn ipv4_headers(
    [source, destination]: [(Ipv4Addr, u16); 2],
    id: u16,
    segment: &Segment,
) -> (Vec<u8>, u32) {
    let options = written_options(segment);
    let tcp_bytes = (TCP_HEADER_BYTES + options.len()) as u32 + segment.payload;
    let ip = ipv4_header((source.0, destination.0), segment.ecn, id, tcp_bytes);
    let mut bytes = Vec::with_capacity(ip.len() + TCP_HEADER_BYTES + options.len());
    bytes.extend(ip);
    bytes.extend(source.1.to_be_bytes());
    bytes.extend(destination.1.to_be_bytes());
    bytes.extend(segment.seq.to_be_bytes());
    bytes.extend(segment.ack.to_be_bytes());
    let words = (TCP_HEADER_BYTES + options.len()) as u16 / 4;
    bytes.extend((words << 12 | segment.flags.0).to_be_bytes());
    bytes.extend(segment.window.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(&options);
    // RFC 9293 section 3.1: it includes a pseudo header of addresses, protocol and length.
    let pseudo =
        sum(&ip[12..20]) + u32::from(PROTOCOL_TCP) + (tcp_bytes >> 16) + (tcp_bytes & 0xffff);
    let checksum = checksum(pseudo + sum(&bytes[ip.len()..]));
    bytes[ip.len() + 16..ip.len() + 18].copy_from_slice(&checksum.to_be_bytes());
    (bytes, ip.len() as u32 + tcp_bytes)
}

/// Returns the TCP options in Linux's order, padded to whole words, with as many SACK blocks as
/// fit.
fn written_options(segment: &Segment) -> Vec<u8> {
    let mut options = Vec::with_capacity(40);
    let is_sack_permitted = segment.syn.is_some_and(|syn| syn.is_sack_permitted);
    if let Some(syn) = segment.syn {
        options.extend([OPTION_MSS, 4]);
        options.extend(syn.mss.to_be_bytes());
    }
    if is_sack_permitted {
        options.extend([OPTION_SACK_PERMITTED, 2]);
    }
    if let Some((value, echo)) = segment.timestamps {
        if !is_sack_permitted {
            options.extend([OPTION_NOP; 2]);
        }
        options.extend([OPTION_TIMESTAMPS, 10]);
        options.extend(value.to_be_bytes());
        options.extend(echo.to_be_bytes());
    } else if is_sack_permitted {
        options.extend([OPTION_NOP; 2]);
    }
    if let Some(shift) = segment.syn.and_then(|syn| syn.window_scale) {
        options.extend([OPTION_NOP, OPTION_WINDOW_SCALE, 3, shift]);
    }
    if let Some(counts) = segment.ecn_option() {
        options.extend([counts.kind(), counts.bytes() as u8]);
        options.extend(counts.fields().as_flattened());
        options.resize(options.len().next_multiple_of(4), OPTION_NOP);
    }
    let blocks = segment.sacks.as_slice();
    let room = MAX_OPTION_BYTES.saturating_sub(options.len() + 4) / 8;
    let blocks = &blocks[..blocks.len().min(room)];
    if !blocks.is_empty() {
        options.extend([OPTION_NOP, OPTION_NOP, OPTION_SACK, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            options.extend(block.start.to_be_bytes());
            options.extend(block.end.to_be_bytes());
        }
    }
    options
}

/// Parses TCP options up to the first option that is damaged or cut off.
fn read_options(segment: &mut Segment, mut bytes: &[u8]) {
    while let [kind, rest @ ..] = bytes {
        match *kind {
            OPTION_END => return,
            OPTION_NOP => {
                bytes = rest;
                continue;
            }
            _ => {}
        }
        let length = rest.first().copied().map_or(0, usize::from);
        let Some(value) = bytes.get(2..length) else { return };
        match (*kind, value) {
            (OPTION_TIMESTAMPS, [_, _, _, _, _, _, _, _]) => {
                segment.timestamps = word(value, 0).zip(word(value, 4));
            }
            (OPTION_SACK, _) => {
                let counts = segment.ecn_option();
                segment.sacks = sack_blocks(value);
                counts.into_iter().for_each(|counts| segment.set_ecn_option(counts));
            }
            (EcnOption::KIND_0 | EcnOption::KIND_1, _) => {
                let counts = EcnOption::parse(*kind, value);
                counts.into_iter().for_each(|counts| segment.set_ecn_option(counts));
            }
            (kind, _) => {
                if let Some(syn) = &mut segment.syn {
                    read_syn_option(syn, kind, value);
                }
            }
        }
        bytes = &bytes[length..];
    }
}

fn sack_blocks(value: &[u8]) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    for edges in value.chunks_exact(8).take(SackBlocks::MAX) {
        if let (Some(start), Some(end)) = (word(edges, 0), word(edges, 4)) {
            blocks.push(SackBlock { start, end });
        }
    }
    blocks
}

fn read_syn_option(syn: &mut SynOptions, kind: u8, value: &[u8]) {
    match (kind, value) {
        (OPTION_MSS, &[high, low]) => syn.mss = u16::from_be_bytes([high, low]),
        (OPTION_WINDOW_SCALE, &[shift]) => syn.window_scale = Some(shift),
        (OPTION_SACK_PERMITTED, []) => syn.is_sack_permitted = true,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Ecn;
    use proptest::prelude::*;

    use super::*;

    const ENDS: [(Ipv4Addr, u16); 2] =
        [(Ipv4Addr::new(10, 0, 0, 1), 40_003), (Ipv4Addr::new(10, 0, 0, 2), 5_001)];

    /// A segment in an IPv6 packet with a hop-by-hop header before TCP.
    fn in_ipv6(segment: &Segment) -> Vec<u8> {
        let (ipv4, wire_bytes) = ipv4_headers(ENDS, 0, segment);
        let mut bytes = vec![0x60, (segment.ecn as u8) << 4, 0, 0];
        bytes.extend((wire_bytes as u16 - 20 + 8).to_be_bytes());
        bytes.extend([0, 64]);
        bytes.extend([0; 15].into_iter().chain([1]).chain([0; 15]).chain([2]));
        bytes.extend([6, 0, 1, 4, 0, 0, 0, 0]);
        bytes.extend(&ipv4[20..]);
        bytes
    }

    fn read(bytes: &[u8]) -> Option<TcpPacket> {
        TcpPacket::parse(bytes, bytes.len() as u32)
    }

    fn segments() -> impl Strategy<Value = Segment> {
        let syn = (any::<u16>(), prop::option::of(0_u8..15), any::<bool>()).prop_map(
            |(mss, window_scale, is_sack_permitted)| SynOptions {
                mss,
                window_scale,
                is_sack_permitted,
            },
        );
        let numbers = (any::<u32>(), any::<u32>(), 0_u32..9_000, any::<u16>(), 0_u16..0x200);
        let options = (
            prop::option::of(any::<(u32, u32)>()),
            prop::option::of(syn),
            prop::collection::vec(any::<(u32, u32)>(), 0..4),
            prop::option::of((any::<bool>(), 0_usize..4, any::<[u32; 3]>())),
        );
        (numbers, 0_u8..4, options).prop_map(
            |((seq, ack, payload, window, flags), ecn, (timestamps, syn, edges, counts))| {
                let mut sacks = SackBlocks::default();
                let ecn_option =
                    counts.map(|(order, count, all)| EcnOption::new(order, count, all));
                // A SYN has no blocks to report, and no room for them; with byte counts there is
                // room for one.
                let room = if ecn_option.is_some() { 1 } else { 4 };
                for (start, end) in edges.into_iter().take(room).filter(|_| syn.is_none()) {
                    sacks.push(SackBlock { start, end });
                }
                let flags = flags & !Flags::SYN | if syn.is_some() { Flags::SYN } else { 0 };
                let (flags, ecn) = (Flags(flags), Ecn::from_bits(ecn));
                let mut segment = Segment {
                    seq,
                    ack,
                    payload,
                    window,
                    flags,
                    ecn,
                    timestamps,
                    sacks,
                    syn,
                    ..Segment::default()
                };
                ecn_option.into_iter().for_each(|option| segment.set_ecn_option(option));
                let header_bytes = ipv4_headers(ENDS, 0, &segment).0.len() as u16;
                Segment { header_bytes, ..segment }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(segment in segments(), id in any::<u16>()) {
            let (bytes, wire_bytes) = ipv4_headers(ENDS, id, &segment);
            prop_assert_eq!(wire_bytes, segment.wire_bytes());
            let packet = read(&bytes).expect("a segment");
            prop_assert_eq!(packet.segment, segment);
            let ends = [packet.source, packet.destination].map(|end| (end.address, end.port));
            prop_assert_eq!(ends, ENDS.map(|(address, port)| (IpAddr::from(address), port)));
            let sixth = read(&in_ipv6(&segment)).expect("a segment").segment;
            prop_assert_eq!(Segment { header_bytes: segment.header_bytes, ..sixth }, segment);
        }

        #[test]
        fn any_beginning_and_any_change_are_survived(
            segment in segments(),
            is_ipv6 in any::<bool>(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            end in any::<prop::sample::Index>(),
        ) {
            let whole = if is_ipv6 { in_ipv6(&segment) } else { ipv4_headers(ENDS, 0, &segment).0 };
            let mut bytes = whole;
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            bytes.truncate(end.index(bytes.len() + 1));
            let _ = read(&bytes);
        }

        #[test]
        fn any_bytes_are_a_segment_or_none(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = read(&bytes);
        }
    }

    fn syn() -> Segment {
        Segment {
            seq: 1_000,
            flags: Flags(Flags::SYN),
            window: 64_240,
            syn: Some(SynOptions { mss: 1_460, window_scale: Some(7), is_sack_permitted: true }),
            timestamps: Some((5, 0)),
            ..Segment::default()
        }
    }

    #[test]
    fn a_syn_is_as_long_as_linux_makes_it() {
        let (bytes, wire_bytes) = ipv4_headers(ENDS, 0, &syn());
        assert_eq!((bytes.len(), wire_bytes), (60, 60));
        assert_eq!(bytes[40..], [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 5, 0, 0, 0, 0, 1, 3, 3, 7]);
    }

    #[test]
    fn checksums_of_headers_sum_to_all_ones() {
        let mut ack = Segment {
            flags: Flags(Flags::ACK),
            ack: 7,
            timestamps: Some((1, 2)),
            ..Segment::default()
        };
        for start in [10, 30, 50] {
            assert!(ack.sacks.push(SackBlock { start, end: start + 10 }));
        }
        for segment in [syn(), ack] {
            let (bytes, _) = ipv4_headers(ENDS, 9, &segment);
            assert_eq!(checksum(sum(&bytes[..20])), 0);
            let pseudo = sum(&bytes[12..20]) + 6 + (bytes.len() as u32 - 20);
            assert_eq!(checksum(pseudo + sum(&bytes[20..])), 0);
            assert_eq!(usize::from(bytes[32] >> 4) * 4, bytes.len() - 20);
        }
    }

    #[test]
    fn a_syn_without_a_segment_size_has_the_default() {
        let (mut bytes, _) = ipv4_headers(ENDS, 0, &syn());
        bytes[40..44].fill(OPTION_NOP);
        let read = read(&bytes).expect("a segment").segment.syn.expect("it is a SYN");
        assert_eq!((read.mss, read.window_scale), (536, Some(7)));
    }

    #[test]
    fn a_packet_that_does_not_say_its_length_has_that_on_the_wire() {
        let (mut bytes, _) = ipv4_headers(ENDS, 0, &Segment::default());
        bytes[2..4].fill(0);
        let packet = TcpPacket::parse(&bytes, 40 + 60_000).expect("a segment");
        assert_eq!(packet.segment.payload, 60_000);
    }

    #[test]
    fn other_protocols_later_fragments_and_short_headers_are_not_read() {
        let (whole, _) = ipv4_headers(ENDS, 0, &Segment::default());
        assert!(read(&whole).is_some());
        for (at, value) in [(9, 17), (7, 1), (0, 0x44), (0, 0x55), (32, 0x40)] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            assert_eq!(read(&bytes), None, "byte {at} = {value}");
        }
    }

    #[test]
    fn options_that_were_cut_off_are_not_there() {
        let (whole, wire_bytes) = ipv4_headers(ENDS, 0, &syn());
        let short = TcpPacket::parse(&whole[..44], wire_bytes).expect("a segment").segment;
        let syn = short.syn.expect("it is a SYN");
        assert_eq!((syn.mss, syn.is_sack_permitted, short.timestamps), (1_460, false, None));
        assert_eq!(short.payload, 0);
    }
}
