//! Splits a large TCP packet, which a kernel with segmentation offload sends in one call, into the
//! segments that it represents (Linux, `tcp_gso_segment`).

use crate::Flags;
use crate::bytes::{half, word};
use crate::ip::{PROTOCOL_TCP, is_ipv4};
use crate::places::{
    FLAGS, FRAGMENT, IDENTIFICATION, MORE_FRAGMENTS_AND_OFFSET, PROTOCOL, SEQ, TCP_CHECKSUM,
    TOTAL_LENGTH, put_half, put_length,
};

/// Length of the longest headers: 15 words of IPv4 and 15 words of TCP.
const MOST_HEADER_BYTES: usize = 120;
/// Flags that only the last segment has: FIN and PSH.
const OF_THE_LAST: u16 = Flags::FIN | Flags::PSH;
/// Flag that only the first segment has: the congestion window was reduced (RFC 3168 section
/// 6.1.2).
const OF_THE_FIRST: u16 = Flags::CWR;

/// The segments of a large packet, in order.
#[derive(Clone, Debug)]
pub struct Split<'a> {
    /// Headers of the segment that was returned last.
    headers: [u8; MOST_HEADER_BYTES],
    header_bytes: usize,
    ip_bytes: usize,
    segment_bytes: usize,
    /// Flags of the large packet.
    flags: u16,
    identification: u16,
    seq: u32,
    payload: &'a [u8],
    given_bytes: usize,
}

impl<'a> Split<'a> {
    /// Splits a packet into segments with `segment_bytes` of payload each; the last segment has
    /// the remainder.
    ///
    /// Returns `None` if the packet is not a whole TCP segment over IPv4 with payload.
    pub fn new(packet: &'a [u8], segment_bytes: usize) -> Option<Self> {
        let is_whole = is_ipv4(packet)
            && packet[PROTOCOL] == PROTOCOL_TCP
            && half(packet, FRAGMENT)? & MORE_FRAGMENTS_AND_OFFSET == 0
            && usize::from(half(packet, TOTAL_LENGTH)?) == packet.len();
        let ip_bytes = usize::from(packet.first()? & 0x0f) * 4;
        let flags = half(packet, ip_bytes + FLAGS)?;
        let tcp_bytes = usize::from(flags >> 12) * 4;
        let header_bytes = ip_bytes + tcp_bytes;
        let is_header = ip_bytes >= crate::ip::IPV4_HEADER_BYTES && tcp_bytes > TCP_CHECKSUM + 2;
        if !is_whole || !is_header || header_bytes >= packet.len() || segment_bytes == 0 {
            return None;
        }
        let mut headers = [0; MOST_HEADER_BYTES];
        headers[..header_bytes].copy_from_slice(&packet[..header_bytes]);
        Some(Self {
            headers,
            header_bytes,
            ip_bytes,
            segment_bytes,
            flags,
            identification: half(packet, IDENTIFICATION)?,
            seq: word(packet, ip_bytes + SEQ)?,
            payload: &packet[header_bytes..],
            given_bytes: 0,
        })
    }

    /// Returns the headers and the payload of the next segment; `None` after the last.
    ///
    /// The TCP checksum covers only the pseudo header ([`Split::checksum_start`]).
    pub fn next_segment(&mut self) -> Option<(&[u8], &'a [u8])> {
        let start = self.given_bytes;
        let rest = self.payload.get(start..).filter(|rest| !rest.is_empty())?;
        let payload = &rest[..rest.len().min(self.segment_bytes)];
        self.given_bytes += payload.len();
        let mut flags = self.flags;
        if self.given_bytes < self.payload.len() {
            flags &= !OF_THE_LAST;
        }
        if start > 0 {
            flags &= !OF_THE_FIRST;
        }
        let number = (start / self.segment_bytes) as u16;
        let seq = self.seq.wrapping_add(start as u32);
        let headers = &mut self.headers[..self.header_bytes];
        put_half(headers, IDENTIFICATION, self.identification.wrapping_add(number));
        headers[self.ip_bytes + SEQ..][..4].copy_from_slice(&seq.to_be_bytes());
        put_half(headers, self.ip_bytes + FLAGS, flags);
        put_length(headers, self.ip_bytes, self.header_bytes + payload.len());
        Some((headers, payload))
    }

    /// Start of the range that the TCP checksum covers in each segment.
    pub fn checksum_start(&self) -> usize {
        self.ip_bytes
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use cwndlab_units::Ecn;
    use proptest::prelude::*;

    use super::*;
    use crate::checksum::{checksum, sum};
    use crate::{Merged, Segment, TcpPacket, ipv4_headers};

    const ENDS: [(Ipv4Addr, u16); 2] =
        [(Ipv4Addr::new(10, 0, 0, 1), 80), (Ipv4Addr::new(10, 0, 0, 2), 4_000)];

    /// A packet whose payload depends on the position in it.
    fn packet(id: u16, segment: &Segment) -> Vec<u8> {
        let (mut bytes, _) = ipv4_headers(ENDS, id, segment);
        bytes.extend((0..segment.payload).map(|at| (at % 251) as u8));
        bytes
    }

    fn segments_of(whole: &[u8], segment_bytes: usize) -> Vec<Vec<u8>> {
        let mut split = Split::new(whole, segment_bytes).expect("a large packet");
        let mut segments = Vec::new();
        while let Some((headers, payload)) = split.next_segment() {
            segments.push([headers, payload].concat());
        }
        segments
    }

    fn read(bytes: &[u8]) -> Segment {
        TcpPacket::parse(bytes, bytes.len() as u32).expect("TCP").segment
    }

    fn large() -> impl Strategy<Value = (Segment, u16, usize)> {
        let numbers = (any::<u32>(), any::<u32>(), any::<u16>(), any::<u16>());
        let timestamps = prop::option::of(any::<(u32, u32)>());
        let sizes = (200_usize..1_461, 1_u32..45, 1_u32..201);
        (numbers, timestamps, sizes, any::<bool>(), 0_u8..4).prop_map(
            |((seq, ack, window, id), timestamps, (segment_bytes, full, rest), is_pushed, ecn)| {
                let payload = (segment_bytes as u32 * (full - 1) + rest).min(65_000);
                let segment = Segment {
                    seq,
                    ack,
                    window,
                    payload,
                    timestamps,
                    flags: Flags(Flags::ACK | if is_pushed { Flags::PSH } else { 0 }),
                    ecn: Ecn::from_bits(ecn),
                    ..Segment::default()
                };
                (segment, id, segment_bytes)
            },
        )
    }

    proptest! {
        #[test]
        fn segments_are_those_that_the_sender_would_send_one_by_one(
            (whole, id, segment_bytes) in large()
        ) {
            let bytes = packet(id, &whole);
            let segments = segments_of(&bytes, segment_bytes);
            prop_assert_eq!(segments.len(), (whole.payload as usize).div_ceil(segment_bytes));
            for (number, segment) in segments.iter().enumerate() {
                let start = number * segment_bytes;
                let is_last = number + 1 == segments.len();
                let expected = Segment {
                    seq: whole.seq.wrapping_add(start as u32),
                    payload: (whole.payload - start as u32).min(segment_bytes as u32),
                    flags: if is_last { whole.flags } else { Flags(Flags::ACK) },
                    header_bytes: read(&bytes).header_bytes,
                    ..whole
                };
                prop_assert_eq!(read(segment), expected);
                // The headers equal those of a separate segment, except for TCP's checksum, which
                // the pseudo header's sum and the remaining words make valid.
                let header_bytes = usize::from(expected.header_bytes);
                let mut alone = packet(id.wrapping_add(number as u16), &expected);
                let payload = &bytes[header_bytes + start..][..expected.payload as usize];
                alone[header_bytes..].copy_from_slice(payload);
                let mut filled = segment.clone();
                let rest = checksum(sum(&filled[20..]));
                put_half(&mut filled, 20 + TCP_CHECKSUM, rest);
                put_half(&mut alone, 20 + TCP_CHECKSUM, rest);
                prop_assert_eq!(&filled, &alone);
                let pseudo = sum(&filled[12..20]) + 6 + (filled.len() as u32 - 20);
                prop_assert_eq!(checksum(pseudo + sum(&filled[20..])), 0);
            }
        }

        #[test]
        fn what_is_split_and_joined_is_as_before_and_what_is_joined_and_split_too(
            (whole, id, segment_bytes) in large()
        ) {
            let segments = segments_of(&packet(id, &whole), segment_bytes);
            let mut merged = Merged::new(&segments[0]).expect("a segment");
            for segment in &segments[1..] {
                prop_assert!(merged.extend(segment));
            }
            prop_assert_eq!(merged.segment_bytes(), segment_bytes.min(whole.payload as usize));
            let header_bytes = merged.header_bytes();
            let payloads = segments.iter().flat_map(|segment| &segment[header_bytes..]);
            let joined: Vec<u8> = merged.headers().iter().chain(payloads).copied().collect();
            let mut expected = packet(id, &whole);
            // It covers only the pseudo header.
            expected[20 + TCP_CHECKSUM..][..2].copy_from_slice(&joined[20 + TCP_CHECKSUM..][..2]);
            prop_assert_eq!(&joined, &expected);
            prop_assert_eq!(segments_of(&joined, merged.segment_bytes()), segments);
        }
    }

    #[test]
    fn the_end_and_the_push_are_of_the_last_and_a_reduced_window_of_the_first() {
        let all = Flags::ACK | Flags::PSH | Flags::FIN | Flags::CWR | Flags::ECE;
        let whole = Segment { payload: 2_500, flags: Flags(all), ..Segment::default() };
        let flags: Vec<u16> = segments_of(&packet(u16::MAX, &whole), 1_000)
            .iter()
            .map(|segment| read(segment).flags.0)
            .collect();
        let between = Flags::ACK | Flags::ECE;
        let last = between | Flags::PSH | Flags::FIN;
        assert_eq!(flags, [between | Flags::CWR, between, last]);
        let one = segments_of(&packet(0, &Segment { payload: 900, ..whole }), 1_000);
        assert_eq!((one.len(), read(&one[0]).flags.0), (1, all), "one has all of them");
    }

    #[test]
    fn identifications_go_on_across_the_end_and_options_of_ip_stay() {
        let whole = Segment { payload: 2_500, flags: Flags(Flags::ACK), ..Segment::default() };
        let mut with_options = packet(u16::MAX, &whole);
        with_options.splice(20..20, [1, 1, 1, 0]);
        with_options[0] = 0x46;
        let length = with_options.len() as u16;
        put_half(&mut with_options, TOTAL_LENGTH, length);
        let segments = segments_of(&with_options, 1_000);
        let ids: Vec<_> = segments.iter().map(|segment| half(segment, IDENTIFICATION)).collect();
        assert_eq!(ids, [Some(u16::MAX), Some(0), Some(1)]);
        for segment in &segments {
            assert_eq!(checksum(sum(&segment[..24])), 0);
            assert_eq!(segment[20..24], [1, 1, 1, 0]);
        }
        let split = Split::new(&with_options, 1_000).expect("a large packet");
        assert_eq!(split.checksum_start(), 24);
    }

    #[test]
    fn what_is_no_whole_segment_with_payload_is_not_split() {
        let good = packet(0, &Segment { payload: 3_000, ..Segment::default() });
        assert!(Split::new(&good, 1_000).is_some() && Split::new(&good, 0).is_none());
        let changed = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            bytes
        };
        let empty = packet(0, &Segment::default());
        for bad in [&good[..2_000], &good[..30], &[], &changed(0, 0x65), &changed(0, 0x44)]
            .into_iter()
            .chain([&changed(9, 17), &changed(6, 0x20), &changed(32, 0x40), &empty].map(|b| &b[..]))
        {
            assert!(Split::new(bad, 1_000).is_none());
        }
    }
}
