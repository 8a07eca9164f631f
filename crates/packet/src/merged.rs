//! Merges consecutive TCP segments into one packet with a `virtio_net_hdr`, as GRO does in a
//! network device (Linux, `tcp_gro_receive`).

use crate::Flags;
use crate::bytes::{half, word};
use crate::ip::{IPV4_HEADER_BYTES, PROTOCOL_TCP, is_ipv4};
use crate::places::{
    self, ADDRESSES, FRAGMENT, HEADER_CHECKSUM, MORE_FRAGMENTS_AND_OFFSET, PROTOCOL, TOTAL_LENGTH,
    put_length,
};

/// Length of the longest headers: IPv4 without options, and TCP with 40 bytes of options.
const MOST_HEADER_BYTES: usize = IPV4_HEADER_BYTES + 60;
/// Maximum of IPv4's length field.
const MOST_BYTES: usize = u16::MAX as usize;
/// Offset of the TCP header after an IPv4 header without options.
const TCP: usize = IPV4_HEADER_BYTES;
const SEQ: usize = TCP + places::SEQ;
const FLAGS: usize = TCP + places::FLAGS;
const WINDOW: usize = TCP + places::WINDOW;
const TCP_CHECKSUM: usize = TCP + places::TCP_CHECKSUM;
/// Mask of the data offset and all flags except PSH, which must be equal in segments that are
/// merged.
const OFFSET_AND_FLAGS_BUT_PSH: u16 = !Flags::PSH;

/// The headers of consecutive segments, merged into one packet.
#[derive(Clone, Debug)]
pub struct Merged {
    headers: [u8; MOST_HEADER_BYTES],
    header_bytes: usize,
    /// Payload of each segment; the last segment may have less.
    segment_bytes: usize,
    payload_bytes: usize,
    next_seq: u32,
    /// Whether the last segment was shorter than the other segments, or had the PSH flag, so that
    /// no further segment can follow.
    is_complete: bool,
}

impl Merged {
    /// Starts a merged packet with its first packet.
    ///
    /// Returns `None` if no packet can be merged with this one: the packet is not a whole TCP
    /// segment over IPv4 without IP options, is a fragment, has no payload, or has flags other
    /// than ACK and PSH.
    pub fn new(packet: &[u8]) -> Option<Self> {
        let Shape { header_bytes, payload_bytes, is_pushed } = Shape::of(packet)?;
        let mut headers = [0; MOST_HEADER_BYTES];
        headers[..header_bytes].copy_from_slice(&packet[..header_bytes]);
        Some(Self {
            headers,
            header_bytes,
            segment_bytes: payload_bytes,
            payload_bytes,
            next_seq: word(packet, SEQ)?.wrapping_add(payload_bytes as u32),
            is_complete: is_pushed,
        })
    }

    /// Appends a packet if it continues the stream and its headers are equal except for length,
    /// identification, checksums, sequence number and PSH.
    ///
    /// Returns whether the packet was appended.
    pub fn extend(&mut self, packet: &[u8]) -> bool {
        let Some(next) = Shape::of(packet) else { return false };
        let follows = !self.is_complete
            && word(packet, SEQ) == Some(self.next_seq)
            && next.payload_bytes <= self.segment_bytes
            && self.header_bytes + self.payload_bytes + next.payload_bytes <= MOST_BYTES
            && self.header_bytes == next.header_bytes
            && self.has_headers_of(packet);
        if follows {
            self.payload_bytes += next.payload_bytes;
            self.next_seq = self.next_seq.wrapping_add(next.payload_bytes as u32);
            self.is_complete = next.is_pushed || next.payload_bytes < self.segment_bytes;
            self.headers[FLAGS + 1] |= packet[FLAGS + 1];
        }
        follows
    }

    /// Whether a packet belongs to the same direction of the same connection as the merged
    /// packets.
    pub fn is_of_connection_of(&self, packet: &[u8]) -> bool {
        packet.get(ADDRESSES..SEQ) == Some(&self.headers[ADDRESSES..SEQ])
            && packet[PROTOCOL] == PROTOCOL_TCP
    }

    /// Whether a packet equals the merged packets in all header fields that must not differ within
    /// a burst.
    fn has_headers_of(&self, packet: &[u8]) -> bool {
        let same = |from: usize, to: usize| self.headers[from..to] == packet[from..to];
        let flags = |bytes| half(bytes, FLAGS).map(|flags| flags & OFFSET_AND_FLAGS_BUT_PSH);
        same(0, TOTAL_LENGTH)
            && same(FRAGMENT, HEADER_CHECKSUM)
            && same(ADDRESSES, SEQ)
            && same(SEQ + 4, FLAGS)
            && flags(&self.headers) == flags(packet)
            && same(WINDOW, TCP_CHECKSUM)
            && same(TCP_CHECKSUM + 2, self.header_bytes)
    }

    /// Bytes of the packet's headers, before its payload.
    pub fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// Payload bytes of each segment except the last, which may have less.
    pub fn segment_bytes(&self) -> usize {
        self.segment_bytes
    }

    /// The headers of the merged packet: IPv4 with its length and checksum; TCP with only the
    /// checksum of its pseudo header, which the kernel completes (`VIRTIO_NET_HDR_F_NEEDS_CSUM`).
    pub fn headers(&mut self) -> &[u8] {
        let total_bytes = self.header_bytes + self.payload_bytes;
        put_length(&mut self.headers, IPV4_HEADER_BYTES, total_bytes);
        &self.headers[..self.header_bytes]
    }
}

/// Properties of a packet that decide whether it can be merged.
#[derive(Clone, Copy, Debug)]
struct Shape {
    header_bytes: usize,
    payload_bytes: usize,
    is_pushed: bool,
}

impl Shape {
    /// Determines the properties of a packet; returns `None` in the same cases as [`Merged::new`].
    fn of(packet: &[u8]) -> Option<Self> {
        let is_plain = is_ipv4(packet)
            && packet[0] & 0x0f == 5
            && packet[PROTOCOL] == PROTOCOL_TCP
            && half(packet, FRAGMENT)? & MORE_FRAGMENTS_AND_OFFSET == 0
            && usize::from(half(packet, TOTAL_LENGTH)?) == packet.len();
        let flags = half(packet, FLAGS)?;
        let header_bytes = IPV4_HEADER_BYTES + usize::from(flags >> 12) * 4;
        let has_payload = (TCP_CHECKSUM + 4..packet.len()).contains(&header_bytes);
        let is_right =
            is_plain && has_payload && flags & 0x0fff & OFFSET_AND_FLAGS_BUT_PSH == Flags::ACK;
        is_right.then(|| Self {
            header_bytes,
            payload_bytes: packet.len() - header_bytes,
            is_pushed: flags & Flags::PSH != 0,
        })
    }
}

/// Start of the range that the TCP checksum covers in a merged packet (`csum_start` of
/// `virtio_net_hdr`); [`CHECKSUM_OFFSET`] is the offset of the checksum from this start
/// (`csum_offset`).
pub const CHECKSUM_START: usize = TCP;
/// See [`CHECKSUM_START`].
pub const CHECKSUM_OFFSET: usize = places::TCP_CHECKSUM;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum::{checksum, sum};
    use crate::{Segment, TcpPacket, ipv4_headers};

    const PAYLOAD: u32 = 1448;

    fn packet(seq: u32, payload: u32, change: impl FnOnce(&mut Segment)) -> Vec<u8> {
        let mut segment = Segment {
            seq,
            ack: 77,
            payload,
            window: 500,
            flags: Flags(Flags::ACK),
            timestamps: Some((1000, 2000)),
            ..Segment::default()
        };
        change(&mut segment);
        let ends = [([10, 0, 0, 1].into(), 80), ([10, 0, 0, 2].into(), 4_000)];
        let (mut bytes, length) = ipv4_headers(ends, seq as u16, &segment);
        bytes.resize(length as usize, 0);
        bytes
    }

    fn plain(seq: u32, payload: u32) -> Vec<u8> {
        packet(seq, payload, |_| ())
    }

    #[test]
    fn what_follows_is_one_packet_with_checksums_that_fit() {
        let first = u32::MAX - 1000; // the numbers wrap
        let mut merged = Merged::new(&plain(first, PAYLOAD)).expect("a segment");
        assert!(merged.extend(&plain(first.wrapping_add(PAYLOAD), PAYLOAD)));
        let last = packet(first.wrapping_add(2 * PAYLOAD), 100, |last| last.flags.0 |= Flags::PSH);
        assert!(merged.extend(&last));
        assert_eq!((merged.header_bytes(), merged.segment_bytes()), (52, 1448));
        let mut whole = merged.headers().to_vec();
        whole.resize(52 + 2 * 1448 + 100, 0);
        assert_eq!(checksum(sum(&whole[..20])), 0, "the header's checksum");
        // The pseudo header's sum and the remaining words make a valid checksum, as the payload is
        // zeros.
        let rest = checksum(sum(&whole[20..]));
        whole[36..38].copy_from_slice(&rest.to_be_bytes());
        let parsed = TcpPacket::parse(&whole, 0).expect("TCP").segment;
        assert_eq!((parsed.seq, parsed.payload), (first, 2 * 1448 + 100));
        assert!(parsed.flags.has(Flags::PSH));
        let same = packet(first, 2 * 1448 + 100, |whole| whole.flags.0 |= Flags::PSH);
        assert_eq!(whole, same, "as one segment of that length would be");
    }

    #[test]
    fn what_does_not_follow_stays_a_packet_of_its_own() {
        let merged = || Merged::new(&plain(5000, PAYLOAD)).expect("a segment");
        let next = 5000 + PAYLOAD;
        let others: [(&str, Vec<u8>); 9] = [
            ("a hole", plain(next + 1, PAYLOAD)),
            ("the same again", plain(5000, PAYLOAD)),
            ("longer than the first", plain(next, PAYLOAD + 1)),
            ("no payload", plain(next, 0)),
            ("another ACK number", packet(next, PAYLOAD, |segment| segment.ack += 1)),
            ("another window", packet(next, PAYLOAD, |segment| segment.window += 1)),
            (
                "another clock",
                packet(next, PAYLOAD, |segment| segment.timestamps = Some((1001, 2000))),
            ),
            ("a mark", packet(next, PAYLOAD, |segment| segment.ecn = cwndlab_units::Ecn::Ce)),
            ("an echo", packet(next, PAYLOAD, |segment| segment.flags.0 |= Flags::ECE)),
        ];
        for (what, other) in others {
            assert!(!merged().extend(&other), "{what}");
        }
        assert!(merged().extend(&plain(next, PAYLOAD)));
    }

    #[test]
    fn a_connection_is_known_by_its_ends_in_their_order() {
        let merged = Merged::new(&plain(5000, PAYLOAD)).expect("a segment");
        let fin = packet(1, 0, |segment| segment.flags.0 |= Flags::FIN);
        assert!(merged.is_of_connection_of(&fin), "whatever the segment");
        for at in [12, 19, 20, 23] {
            let mut other = fin.clone();
            other[at] ^= 1;
            assert!(!merged.is_of_connection_of(&other), "byte {at}");
        }
        let mut datagram = fin.clone();
        datagram[9] = 17;
        assert!(!merged.is_of_connection_of(&datagram));
        assert!(!merged.is_of_connection_of(&fin[..22]));
    }

    #[test]
    fn a_short_or_pushed_segment_is_the_last() {
        let pushed = packet(5000, PAYLOAD, |segment| segment.flags.0 |= Flags::PSH);
        let mut merged = Merged::new(&pushed).expect("a segment");
        assert!(!merged.extend(&plain(5000 + PAYLOAD, PAYLOAD)));
        let mut merged = Merged::new(&plain(5000, PAYLOAD)).expect("a segment");
        assert!(merged.extend(&plain(5000 + PAYLOAD, 10)));
        assert!(!merged.extend(&plain(5010 + PAYLOAD, 10)));
    }

    #[test]
    fn one_packet_is_no_longer_than_ipv4_can_say() {
        let mut merged = Merged::new(&plain(0, PAYLOAD)).expect("a segment");
        let count = (1..100).take_while(|n| merged.extend(&plain(n * PAYLOAD, PAYLOAD))).count();
        assert_eq!(count + 1, (65_535 - 52) / 1448);
        assert_eq!(TcpPacket::parse(merged.headers(), 0).expect("TCP").segment.payload, 45 * 1448);
    }

    #[test]
    fn only_whole_plain_segments_begin() {
        let good = plain(1, PAYLOAD);
        let changed = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            bytes
        };
        assert!(Merged::new(&good).is_some());
        for bad in [
            &good[..good.len() - 1],
            &good[..30],
            &[],
            &changed(0, 0x46),
            &changed(6, 0x20),
            &changed(9, 17),
            &changed(32, 0x10),
            &packet(1, PAYLOAD, |segment| segment.flags.0 |= Flags::FIN),
            &plain(1, 0),
        ] {
            assert!(Merged::new(bad).is_none());
        }
    }
}
