//! Packets as a capture file that tcpdump and Wireshark read.
//!
//! Headers are complete with options and checksums; payload is cut off, and
//! counts as zeros in the TCP checksum. Hosts are 10.0.0.1 (data sender) and 10.0.0.2, ports
//! 40000 + flow and 5001.

use cwndlab_packet::{Pcap, Segment};
use cwndlab_units::Time;

const IP_HEADER_BYTES: usize = 20;
const TCP_HEADER_BYTES: usize = 20;
const IP_TTL: u8 = 64;
const IP_PROTOCOL_TCP: u8 = 6;
const IP_DONT_FRAGMENT: u16 = 0x4000;
const SENDER_ADDRESS: [u8; 4] = [10, 0, 0, 1];
const RECEIVER_ADDRESS: [u8; 4] = [10, 0, 0, 2];
const FIRST_SENDER_PORT: u16 = 40_000;
const RECEIVER_PORT: u16 = 5_001;

/// The packets at the data senders' interfaces.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    file: Pcap,
    /// The IP identification of the next packet.
    next_id: u16,
}

impl Capture {
    /// Adds a packet, which the data sender or the receiver sent.
    pub(crate) fn push(&mut self, at: Time, segment: &Segment, is_from_sender: bool) {
        let options = options(segment);
        let header_bytes = IP_HEADER_BYTES + TCP_HEADER_BYTES + options.len();
        let wire_bytes = header_bytes as u32 + segment.payload;
        let mut headers = Vec::with_capacity(header_bytes);
        let ip = ip_header(segment, is_from_sender, wire_bytes, self.next_id);
        self.next_id = self.next_id.wrapping_add(1);
        headers.extend(ip);
        headers.extend(tcp_header(segment, is_from_sender, &options, &ip));
        self.file.push(at, wire_bytes, &headers);
    }

    /// Bytes to take.
    pub(crate) fn bytes(&self) -> usize {
        self.file.bytes()
    }

    /// The bytes of the file that were added since the last call.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.file.take()
    }
}

fn ip_header(
    segment: &Segment,
    is_from_sender: bool,
    wire_bytes: u32,
    id: u16,
) -> [u8; IP_HEADER_BYTES] {
    let mut header = [0; IP_HEADER_BYTES];
    header[0] = 0x45;
    header[1] = segment.ecn as u8;
    header[2..4].copy_from_slice(&(wire_bytes.min(u32::from(u16::MAX)) as u16).to_be_bytes());
    header[4..6].copy_from_slice(&id.to_be_bytes());
    header[6..8].copy_from_slice(&IP_DONT_FRAGMENT.to_be_bytes());
    header[8] = IP_TTL;
    header[9] = IP_PROTOCOL_TCP;
    let (source, destination) = if is_from_sender {
        (SENDER_ADDRESS, RECEIVER_ADDRESS)
    } else {
        (RECEIVER_ADDRESS, SENDER_ADDRESS)
    };
    header[12..16].copy_from_slice(&source);
    header[16..20].copy_from_slice(&destination);
    let checksum = checksum(sum_words(&header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

fn tcp_header(
    segment: &Segment,
    is_from_sender: bool,
    options: &[u8],
    ip: &[u8; IP_HEADER_BYTES],
) -> Vec<u8> {
    let sender_port = FIRST_SENDER_PORT.wrapping_add(segment.flow as u16);
    let (source, destination) =
        if is_from_sender { (sender_port, RECEIVER_PORT) } else { (RECEIVER_PORT, sender_port) };
    let header_bytes = TCP_HEADER_BYTES + options.len();
    let mut header = Vec::with_capacity(header_bytes);
    header.extend(source.to_be_bytes());
    header.extend(destination.to_be_bytes());
    header.extend(segment.seq.to_be_bytes());
    header.extend(segment.ack.to_be_bytes());
    header.push((header_bytes as u8 / 4) << 4);
    header.push(segment.flags.0);
    header.extend(segment.window.to_be_bytes());
    header.extend([0; 4]);
    header.extend(options);
    // RFC 9293 section 3.1: over a pseudo header of addresses, protocol and length too.
    let tcp_bytes = header_bytes as u32 + segment.payload;
    let pseudo = sum_words(&ip[12..20]) + u32::from(IP_PROTOCOL_TCP) + tcp_bytes;
    let checksum = checksum(pseudo + sum_words(&header));
    header[16..18].copy_from_slice(&checksum.to_be_bytes());
    header
}

/// The options in Linux's order, padded to whole words.
fn options(segment: &Segment) -> Vec<u8> {
    let mut options = Vec::with_capacity(40);
    let is_sack_permitted = segment.syn.is_some_and(|syn| syn.is_sack_permitted);
    if let Some(syn) = segment.syn {
        options.extend([2, 4]);
        options.extend(syn.mss.to_be_bytes());
    }
    if is_sack_permitted {
        options.extend([4, 2]);
    }
    if let Some((tsval, tsecr)) = segment.timestamps {
        if !is_sack_permitted {
            options.extend([1, 1]);
        }
        options.extend([8, 10]);
        options.extend(tsval.to_be_bytes());
        options.extend(tsecr.to_be_bytes());
    } else if is_sack_permitted {
        options.extend([1, 1]);
    }
    if let Some(shift) = segment.syn.and_then(|syn| syn.window_scale) {
        options.extend([1, 3, 3, shift]);
    }
    if !segment.sacks.is_empty() {
        let blocks = segment.sacks.as_slice();
        options.extend([1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for block in blocks {
            options.extend(block.start.to_be_bytes());
            options.extend(block.end.to_be_bytes());
        }
    }
    options
}

/// The sum of the 16-bit words of some bytes, RFC 1071.
fn sum_words(bytes: &[u8]) -> u32 {
    bytes
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])))
        .sum()
}

fn checksum(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use cwndlab_packet::{Flags, SackBlock, SynOptions};

    use super::*;

    fn syn() -> Segment {
        Segment {
            flow: 3,
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
        let mut capture = Capture::default();
        capture.push(Time::from_nanos(1_000_000_007), &syn(), true);
        let bytes = capture.take();
        assert_eq!(bytes.len(), 24 + 16 + 60);
        assert_eq!(bytes[24..28], 1_u32.to_le_bytes());
        assert_eq!(bytes[28..32], 7_u32.to_le_bytes());
        assert_eq!(u16::from_be_bytes([bytes[42], bytes[43]]), 60);
    }

    #[test]
    fn payload_is_counted_and_cut_off() {
        let mut capture = Capture::default();
        let data = Segment {
            flags: Flags(Flags::ACK | Flags::PSH),
            payload: 1_448,
            timestamps: Some((5, 6)),
            ..Segment::default()
        };
        capture.push(Time::ZERO, &data, true);
        let bytes = capture.take();
        assert_eq!(bytes[32..36], 52_u32.to_le_bytes(), "captured");
        assert_eq!(bytes[36..40], 1_500_u32.to_le_bytes(), "on the wire");
    }

    #[test]
    fn checksums_of_headers_sum_to_all_ones() {
        let mut capture = Capture::default();
        let mut ack = Segment {
            flags: Flags(Flags::ACK),
            ack: 7,
            timestamps: Some((1, 2)),
            ..Segment::default()
        };
        for start in [10, 30, 50] {
            assert!(ack.sacks.push(SackBlock { start, end: start + 10 }));
        }
        capture.push(Time::ZERO, &syn(), true);
        capture.push(Time::ZERO, &ack, false);
        let bytes = capture.take();
        let mut at = 24;
        while at < bytes.len() {
            let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().expect("4")) as usize;
            let packet = &bytes[at + 16..at + 16 + length];
            assert_eq!(checksum(sum_words(&packet[..20])), 0);
            let pseudo = sum_words(&packet[12..20]) + 6 + (length as u32 - 20);
            assert_eq!(checksum(pseudo + sum_words(&packet[20..])), 0);
            assert_eq!((packet[32] >> 4) as usize * 4, length - 20);
            at += 16 + length;
        }
        assert_eq!(at, bytes.len());
    }
}
