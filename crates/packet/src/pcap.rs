//! Capture files for tcpdump and Wireshark: pcap with nanosecond timestamps and link type 101 (raw
//! IP), as in draft-ietf-opsawg-pcap.

use std::mem;

use cwndlab_units::Time;

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const LINKTYPE_RAW: u32 = 101;
/// Bytes of a packet that the capture keeps: more than any headers have. Further payload is cut
/// off.
const SNAP_BYTES: usize = 128;

/// A capture file in memory.
#[derive(Debug)]
pub struct Pcap {
    bytes: Vec<u8>,
}

impl Default for Pcap {
    /// Creates a file without packets.
    fn default() -> Self {
        let mut bytes = Vec::with_capacity(1 << 16);
        bytes.extend(MAGIC_NANOSECONDS.to_le_bytes());
        bytes.extend(2_u16.to_le_bytes());
        bytes.extend(4_u16.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend((SNAP_BYTES as u32).to_le_bytes());
        bytes.extend(LINKTYPE_RAW.to_le_bytes());
        Self { bytes }
    }
}

impl Pcap {
    /// Adds a packet of `wire_bytes` bytes; `content` contains at least its beginning.
    pub fn push(&mut self, at: Time, wire_bytes: u32, content: &[u8]) {
        let kept = &content[..content.len().min(SNAP_BYTES)];
        let secs = u32::try_from(at.as_nanos() / 1_000_000_000).unwrap_or(u32::MAX);
        let nanos = (at.as_nanos() % 1_000_000_000) as u32;
        for field in [secs, nanos, kept.len() as u32, wire_bytes] {
            self.bytes.extend(field.to_le_bytes());
        }
        self.bytes.extend(kept);
    }

    /// Number of bytes that [`Pcap::take`] would return.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the bytes added since the last call, or since the file was created.
    pub fn take(&mut self) -> Vec<u8> {
        mem::take(&mut self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_packet_keeps_its_length_and_loses_its_payload() {
        let mut pcap = Pcap::default();
        pcap.push(Time::from_nanos(3_000_000_007), 1_500, &[0x45; 1_500]);
        let bytes = pcap.take();
        assert_eq!(bytes.len(), 24 + 16 + SNAP_BYTES);
        assert_eq!(bytes[..4], MAGIC_NANOSECONDS.to_le_bytes());
        assert_eq!(bytes[24..40], [3, 0, 0, 0, 7, 0, 0, 0, 128, 0, 0, 0, 0xdc, 5, 0, 0]);
    }
}
