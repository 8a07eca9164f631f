//! What the bed reads of the packets that cross it: TCP over IPv4.

/// The most SACK blocks that fit into a header (RFC 2018 section 3).
const MOST_BLOCKS: usize = 4;
const PROTOCOL_TCP: u8 = 6;
const FLAG_ACK: u8 = 0x10;
const OPTION_END: u8 = 0;
const OPTION_NOP: u8 = 1;
const OPTION_SACK: u8 = 5;

/// The fields of a TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TcpPacket {
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    /// First sequence number of the payload.
    pub(crate) seq: u32,
    pub(crate) payload_bytes: u32,
    /// What it acknowledges, if anything.
    pub(crate) ack: Option<u32>,
    blocks: [(u32, u32); MOST_BLOCKS],
    block_count: u8,
}

impl TcpPacket {
    /// Reads an IPv4 packet; nothing if it is not a whole TCP segment.
    pub(crate) fn parse(packet: &[u8]) -> Option<Self> {
        let ip_header_bytes = usize::from(packet.first()? & 0xf) * 4;
        if *packet.get(9)? != PROTOCOL_TCP || word(packet, 6)? & 0x3fff != 0 {
            return None; // another protocol, or a fragment
        }
        let total_bytes = usize::from(word(packet, 2)?).min(packet.len());
        let segment = packet.get(ip_header_bytes..total_bytes)?;
        let header_bytes = usize::from(segment.get(12)? >> 4) * 4;
        let options = segment.get(20..header_bytes)?;
        let mut parsed = Self {
            source_port: word(segment, 0)?,
            destination_port: word(segment, 2)?,
            seq: long(segment, 4)?,
            payload_bytes: (segment.len() - header_bytes) as u32,
            ack: (segment[13] & FLAG_ACK != 0).then(|| long(segment, 8)).flatten(),
            blocks: [(0, 0); MOST_BLOCKS],
            block_count: 0,
        };
        parsed.read_blocks(options);
        Some(parsed)
    }

    /// What is acknowledged selectively: first sequence number, and the one after the last.
    pub(crate) fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.block_count)]
    }

    /// An ACK, for tests of what reads them.
    #[cfg(test)]
    pub(crate) fn acknowledging(ack: u32, blocks: &[(u32, u32)]) -> Self {
        let mut packet = Self {
            source_port: 0,
            destination_port: 0,
            seq: 0,
            payload_bytes: 0,
            ack: Some(ack),
            blocks: [(0, 0); MOST_BLOCKS],
            block_count: blocks.len() as u8,
        };
        packet.blocks[..blocks.len()].copy_from_slice(blocks);
        packet
    }

    fn read_blocks(&mut self, mut options: &[u8]) {
        while let [kind, rest @ ..] = options {
            match (*kind, rest) {
                (OPTION_END, _) => return,
                (OPTION_NOP, _) => options = rest,
                (_, [bytes, ..]) => {
                    let Some(body) = options.get(2..usize::from(*bytes).max(2)) else { return };
                    if *kind == OPTION_SACK {
                        for (block, place) in body.chunks_exact(8).zip(&mut self.blocks) {
                            let edge = |at| long(block, at).unwrap_or(0);
                            *place = (edge(0), edge(4));
                            self.block_count += 1;
                        }
                    }
                    options = &options[2 + body.len()..];
                }
                _ => return,
            }
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment with these options and so much payload.
    fn packet(options: &[u8], payload_bytes: usize) -> Vec<u8> {
        assert_eq!(options.len() % 4, 0);
        let header_bytes = 20 + options.len();
        let total_bytes = 20 + header_bytes + payload_bytes;
        let mut packet = vec![0; total_bytes];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(total_bytes as u16).to_be_bytes());
        packet[6] = 0x40;
        packet[9] = PROTOCOL_TCP;
        packet[20..24].copy_from_slice(&[0x27, 0x10, 0x9c, 0x40]);
        packet[24..28].copy_from_slice(&0xffff_ff00_u32.to_be_bytes());
        packet[28..32].copy_from_slice(&77_u32.to_be_bytes());
        packet[32] = (header_bytes as u8 / 4) << 4;
        packet[33] = FLAG_ACK;
        packet[40..40 + options.len()].copy_from_slice(options);
        packet
    }

    #[test]
    fn a_segment_is_read() {
        let parsed = TcpPacket::parse(&packet(&[], 1448)).expect("a segment");
        assert_eq!((parsed.source_port, parsed.destination_port), (10_000, 40_000));
        assert_eq!((parsed.seq, parsed.payload_bytes, parsed.ack), (0xffff_ff00, 1448, Some(77)));
        assert!(parsed.blocks().is_empty());
    }

    #[test]
    fn selective_acknowledgements_are_found_behind_timestamps() {
        let mut options = vec![1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 5, 18];
        for edge in [100_u32, 200, 300, 400] {
            options.extend(edge.to_be_bytes());
        }
        let parsed = TcpPacket::parse(&packet(&options, 0)).expect("a segment");
        assert_eq!(parsed.blocks(), [(100, 200), (300, 400)]);
    }

    #[test]
    fn nothing_that_arrives_is_a_panic() {
        let whole = packet(&[5, 255, 1, 1, 8, 0, 0, 0], 10);
        for end in 0..whole.len() {
            let _ = TcpPacket::parse(&whole[..end]);
        }
        assert!(TcpPacket::parse(&whole).expect("a segment").blocks().is_empty());
        let mut other = whole.clone();
        other[9] = 17;
        assert_eq!(TcpPacket::parse(&other), None);
        let mut fragment = whole;
        fragment[7] = 1;
        assert_eq!(TcpPacket::parse(&fragment), None);
    }
}
