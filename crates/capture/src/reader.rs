//! Streaming readers of the file formats pcap (draft-ietf-opsawg-pcap) and pcapng
//! (draft-ietf-opsawg-pcapng).

use std::io::{ErrorKind, Read};

use crate::CaptureError;

/// Maximum size of a block: larger than any block with one packet, because packets of BIG TCP have
/// up to 512 KiB.
const MAX_BLOCK_BYTES: u32 = 1 << 20;
/// Maximum number of interfaces in a section; limits the memory that a malicious file can use.
const MAX_INTERFACES: usize = 1 << 16;

const PCAP_US: u32 = 0xa1b2_c3d4;
const PCAP_NS: u32 = 0xa1b2_3c4d;
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const OPTION_END: u16 = 0;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;

/// A captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Time at which the packet was captured, since 1970.
    pub at_ns: u64,
    /// LINKTYPE, which names the protocol of the frame's first bytes.
    pub link_type: u16,
    /// Length of the frame on the wire; the captured part may be shorter.
    pub wire_bytes: u32,
    /// The captured bytes.
    pub content: &'a [u8],
}

/// Reads the frames of a capture in order.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    /// Number of bytes read from the file so far.
    at: u64,
    is_big_endian: bool,
    format: Format,
    buffer: Vec<u8>,
    is_truncated: bool,
}

#[derive(Debug)]
enum Format {
    Pcap { link_type: u16, ns_per_tick: u64 },
    Pcapng { interfaces: Vec<Interface> },
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: u16,
    ticks_per_s: u64,
    offset_s: i64,
}

impl<R: Read> Reader<R> {
    /// Reads the header of a capture.
    ///
    /// # Errors
    /// Returns an error if the input is not a capture.
    pub fn new(input: R) -> Result<Self, CaptureError> {
        let format = Format::Pcapng { interfaces: Vec::new() };
        let mut reader = Self {
            input,
            at: 0,
            is_big_endian: false,
            format,
            buffer: Vec::new(),
            is_truncated: false,
        };
        let mut magic = [0; 4];
        if !reader.read_whole(&mut magic)? {
            return Err(CaptureError::NoCapture(magic));
        }
        if u32::from_le_bytes(magic) == SECTION_HEADER {
            reader.begin_section()?;
            return Ok(reader);
        }
        let ns_per_tick = match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
            (PCAP_US, _) => 1_000,
            (PCAP_NS, _) => 1,
            (_, swapped @ (PCAP_US | PCAP_NS)) => {
                reader.is_big_endian = true;
                if swapped == PCAP_US { 1_000 } else { 1 }
            }
            _ => return Err(CaptureError::NoCapture(magic)),
        };
        let mut head = [0; 20];
        if !reader.read_whole(&mut head)? {
            return Err(CaptureError::InHeader(reader.at));
        }
        // The upper half of the field describes frame check sequences.
        let link_type = reader.word(&head, 16) as u16;
        reader.format = Format::Pcap { link_type, ns_per_tick };
        Ok(reader)
    }

    /// Whether the capture ended within a packet; valid after the last frame was read.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Returns the next frame; `None` at the end of the file.
    ///
    /// # Errors
    /// Returns an error if the file is damaged.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        match self.format {
            Format::Pcap { link_type, ns_per_tick } => self.next_of_pcap(link_type, ns_per_tick),
            Format::Pcapng { .. } => self.next_of_pcapng(),
        }
    }

    fn next_of_pcap(
        &mut self,
        link_type: u16,
        ns_per_tick: u64,
    ) -> Result<Option<Frame<'_>>, CaptureError> {
        let begin = self.at;
        let mut head = [0; 16];
        if !self.read_whole(&mut head)? {
            return Ok(None);
        }
        let captured_bytes = self.word(&head, 8);
        let seconds = u64::from(self.word(&head, 0));
        let at_ns = seconds * 1_000_000_000 + u64::from(self.word(&head, 4)) * ns_per_tick;
        let wire_bytes = self.word(&head, 12);
        if !self.read_block(begin, captured_bytes)? {
            return Ok(None);
        }
        Ok(Some(Frame { at_ns, link_type, wire_bytes, content: &self.buffer }))
    }

    fn next_of_pcapng(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        loop {
            let begin = self.at;
            let mut kind = [0; 4];
            if !self.read_whole(&mut kind)? {
                return Ok(None);
            }
            if u32::from_le_bytes(kind) == SECTION_HEADER {
                if !self.begin_section_or_end()? {
                    return Ok(None);
                }
                continue;
            }
            let kind = self.word(&kind, 0);
            let mut length = [0; 4];
            if !self.read_whole(&mut length)? {
                self.is_truncated = true;
                return Ok(None);
            }
            let bytes = self.word(&length, 0);
            if bytes < 12 || bytes % 4 != 0 {
                return Err(CaptureError::Length { at: begin, bytes });
            }
            if !self.read_block(begin, bytes - 8)? {
                return Ok(None);
            }
            let body = self.buffer.len() - 4;
            match kind {
                INTERFACE_DESCRIPTION => self.add_interface(begin, body)?,
                ENHANCED_PACKET | PACKET => {
                    if let Some(found) = self.packet_in_block(begin, kind, body)? {
                        let (at_ns, link_type, wire_bytes, captured) = found;
                        let content = &self.buffer[20..20 + captured];
                        return Ok(Some(Frame { at_ns, link_type, wire_bytes, content }));
                    }
                }
                _ => {} // statistics, names, packets without a time
            }
        }
    }

    fn begin_section(&mut self) -> Result<(), CaptureError> {
        match self.begin_section_or_end()? {
            true => Ok(()),
            false => Err(CaptureError::Block {
                at: self.at,
                problem: "the file ends within its first block",
            }),
        }
    }

    /// Reads the rest of a section's header after the block type; returns `false` if the file ends
    /// there.
    fn begin_section_or_end(&mut self) -> Result<bool, CaptureError> {
        let begin = self.at - 4;
        let mut head = [0; 8];
        if !self.read_whole(&mut head)? {
            return Ok(false);
        }
        self.is_big_endian = match (
            u32::from_le_bytes([head[4], head[5], head[6], head[7]]),
            u32::from_be_bytes([head[4], head[5], head[6], head[7]]),
        ) {
            (BYTE_ORDER, _) => false,
            (_, BYTE_ORDER) => true,
            _ => {
                return Err(CaptureError::Block {
                    at: begin,
                    problem: "the section has no byte-order mark",
                });
            }
        };
        let bytes = self.word(&head, 0);
        if bytes < 28 || bytes % 4 != 0 {
            return Err(CaptureError::Length { at: begin, bytes });
        }
        self.format = Format::Pcapng { interfaces: Vec::new() };
        self.read_block(begin, bytes - 12)
    }

    /// Adds an interface from the interface description block in the buffer.
    fn add_interface(&mut self, at: u64, body: usize) -> Result<(), CaptureError> {
        if body < 8 {
            return Err(CaptureError::Block {
                at,
                problem: "the interface description is too short",
            });
        }
        let mut interface = Interface {
            link_type: self.half(&self.buffer, 0),
            ticks_per_s: 1_000_000,
            offset_s: 0,
        };
        let mut option = 8;
        while option + 4 <= body {
            let code = self.half(&self.buffer, option);
            let bytes = usize::from(self.half(&self.buffer, option + 2));
            let value = option + 4;
            if code == OPTION_END || value + bytes > body {
                break;
            }
            match (code, bytes) {
                (OPTION_TIME_RESOLUTION, 1) => {
                    interface.ticks_per_s =
                        ticks_per_s(self.buffer[value]).ok_or(CaptureError::Block {
                            at,
                            problem: "the time resolution is invalid",
                        })?;
                }
                (OPTION_TIME_OFFSET, 8) => {
                    let (first, second) = (
                        u64::from(self.word(&self.buffer, value)),
                        u64::from(self.word(&self.buffer, value + 4)),
                    );
                    let offset = if self.is_big_endian {
                        first << 32 | second
                    } else {
                        second << 32 | first
                    };
                    interface.offset_s = offset as i64;
                }
                _ => {}
            }
            option = value + bytes.next_multiple_of(4);
        }
        let Format::Pcapng { interfaces } = &mut self.format else {
            unreachable!("only pcapng has blocks")
        };
        if interfaces.len() >= MAX_INTERFACES {
            return Err(CaptureError::Block { at, problem: "the file has too many interfaces" });
        }
        interfaces.push(interface);
        Ok(())
    }

    /// Returns time, link type, length on the wire, and captured length of the packet in the
    /// buffer.
    fn packet_in_block(
        &self,
        at: u64,
        kind: u32,
        body: usize,
    ) -> Result<Option<(u64, u16, u32, usize)>, CaptureError> {
        if body < 20 {
            return Err(CaptureError::Block { at, problem: "the packet block is too short" });
        }
        let number = match kind {
            ENHANCED_PACKET => self.word(&self.buffer, 0) as usize,
            _ => usize::from(self.half(&self.buffer, 0)),
        };
        let Format::Pcapng { interfaces } = &self.format else {
            unreachable!("only pcapng has blocks")
        };
        let interface = interfaces.get(number).ok_or(CaptureError::Block {
            at,
            problem: "the packet belongs to an unknown interface",
        })?;
        let ticks =
            u64::from(self.word(&self.buffer, 4)) << 32 | u64::from(self.word(&self.buffer, 8));
        let captured = self.word(&self.buffer, 12);
        if captured as usize > body - 20 {
            return Err(CaptureError::Length { at, bytes: captured });
        }
        let Some(at_ns) = interface.as_ns(ticks) else { return Ok(None) };
        Ok(Some((at_ns, interface.link_type, self.word(&self.buffer, 16), captured as usize)))
    }

    /// Reads `bytes` bytes into the buffer; returns `false` if the file ends before that.
    fn read_block(&mut self, begin: u64, bytes: u32) -> Result<bool, CaptureError> {
        if bytes > MAX_BLOCK_BYTES {
            return Err(CaptureError::Length { at: begin, bytes });
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(bytes as usize, 0);
        let is_whole = self.read_whole(&mut buffer)?;
        self.buffer = buffer;
        self.is_truncated |= !is_whole;
        Ok(is_whole)
    }

    fn read_whole(&mut self, buffer: &mut [u8]) -> Result<bool, CaptureError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.input.read(&mut buffer[filled..]) {
                Ok(0) => {
                    // A complete pcap file ends between packets, a complete pcapng file between
                    // blocks.
                    self.is_truncated |= filled > 0;
                    return Ok(false);
                }
                Ok(bytes) => {
                    filled += bytes;
                    self.at += bytes as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self.is_big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    fn half(&self, bytes: &[u8], at: usize) -> u16 {
        let half = [bytes[at], bytes[at + 1]];
        if self.is_big_endian { u16::from_be_bytes(half) } else { u16::from_le_bytes(half) }
    }
}

impl Interface {
    /// Converts a timestamp to nanoseconds since 1970; `None` on overflow.
    fn as_ns(&self, ticks: u64) -> Option<u64> {
        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_s);
        let ns = i128::try_from(ns).ok()? + i128::from(self.offset_s) * 1_000_000_000;
        u64::try_from(ns).ok()
    }
}

/// Ticks per second from the option `if_tsresol`: a power of ten, or of two if the most
/// significant bit is set.
fn ticks_per_s(value: u8) -> Option<u64> {
    let exponent = u32::from(value & 0x7f);
    if value & 0x80 == 0 { 10_u64.checked_pow(exponent) } else { 1_u64.checked_shl(exponent) }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Owned = (u64, u16, u32, Vec<u8>);

    fn frames(bytes: &[u8]) -> Result<(Vec<Owned>, bool), CaptureError> {
        let mut reader = Reader::new(bytes)?;
        let mut frames = Vec::new();
        while let Some(frame) = reader.next_frame()? {
            frames.push((frame.at_ns, frame.link_type, frame.wire_bytes, frame.content.to_vec()));
        }
        Ok((frames, reader.is_truncated()))
    }

    fn pcap(magic: u32, words: impl Fn(u32) -> [u8; 4]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [magic, 0x0004_0002, 0, 0, 96, 101, 7, 9, 3, 1_500] {
            bytes.extend(words(word));
        }
        bytes.extend([1, 2, 3]);
        bytes
    }

    fn block(kind: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_le_bytes().to_vec();
        let length = 12 + body.len() as u32;
        bytes.extend(length.to_le_bytes());
        bytes.extend(body);
        bytes.extend(length.to_le_bytes());
        bytes
    }

    fn pcapng(resolution: &[u8]) -> Vec<u8> {
        let mut section = BYTE_ORDER.to_le_bytes().to_vec();
        section.extend([1, 0, 0, 0]);
        section.extend([0xff; 8]);
        let mut interface = vec![1, 0, 0, 0, 0, 0, 0, 0];
        interface.extend(resolution);
        let mut packet = Vec::new();
        for word in [0, 1, 2, 3, 60] {
            packet.extend(u32::to_le_bytes(word));
        }
        packet.extend([7, 8, 9, 0]);
        [
            block(SECTION_HEADER, &section),
            block(1, &interface),
            block(5, &[0; 8]),
            block(6, &packet),
        ]
        .concat()
    }

    #[test]
    fn pcap_is_read_in_both_byte_orders_and_resolutions() {
        for (magic, ns) in [(PCAP_US, 7_000_009_000), (PCAP_NS, 7_000_000_009)] {
            for words in [u32::to_le_bytes, u32::to_be_bytes] {
                let (frames, is_truncated) = frames(&pcap(magic, words)).expect("a capture");
                assert_eq!(frames, [(ns, 101, 1_500, vec![1, 2, 3])]);
                assert!(!is_truncated);
            }
        }
    }

    #[test]
    fn pcapng_times_have_their_interfaces_resolution() {
        let ticks = (1_u64 << 32) + 2;
        for (resolution, at_ns) in [
            (&[][..], ticks * 1_000),
            (&[9, 0, 1, 0, 9, 0, 0, 0], ticks),
            (&[9, 0, 1, 0, 0x80 | 10, 0, 0, 0], ticks * 1_000_000_000 / 1_024),
            (&[14, 0, 8, 0, 5, 0, 0, 0, 0, 0, 0, 0], ticks * 1_000 + 5_000_000_000),
        ] {
            let (frames, _) = frames(&pcapng(resolution)).expect("a capture");
            assert_eq!(frames, [(at_ns, 1, 60, vec![7, 8, 9])], "{resolution:?}");
        }
    }

    #[test]
    fn a_capture_that_was_cut_is_read_up_to_there() {
        let whole = pcap(PCAP_US, u32::to_le_bytes);
        for length in 25..whole.len() {
            let (frames, is_truncated) = frames(&whole[..length]).expect("a capture");
            assert_eq!((frames.len(), is_truncated), (0, true), "{length}");
        }
        let (frames, is_truncated) = frames(&whole[..24]).expect("an empty capture");
        assert_eq!((frames.len(), is_truncated), (0, false));
    }

    #[test]
    fn what_is_no_capture_is_refused_with_its_place() {
        assert!(matches!(frames(b"GET / HTTP/1.1\r\n"), Err(CaptureError::NoCapture(_))));
        assert!(matches!(frames(b""), Err(CaptureError::NoCapture(_))));
        let whole = pcap(PCAP_NS, u32::to_le_bytes);
        assert!(matches!(frames(&whole[..10]), Err(CaptureError::InHeader(10))));
        let mut long = pcap(PCAP_US, u32::to_le_bytes);
        long[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
        let error = frames(&long).expect_err("too long");
        assert_eq!(
            error.to_string(),
            "at byte 24: a length of 4294967295 bytes is impossible; \
             copy or record the capture again"
        );
    }

    #[test]
    fn a_packet_longer_than_its_block_is_refused() {
        let mut bytes = pcapng(&[]);
        let captured = bytes.len() - 4 - 4 - 8;
        bytes[captured..captured + 4].copy_from_slice(&100_u32.to_le_bytes());
        assert!(matches!(frames(&bytes), Err(CaptureError::Length { bytes: 100, .. })));
    }
}
