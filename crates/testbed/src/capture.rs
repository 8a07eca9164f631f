//! Packets at the data senders' interfaces as a capture file: pcap with nanoseconds and link type 101
//! (raw IP), as in draft-ietf-opsawg-pcap. Packets are cut off behind their headers.

use cwndlab_units::Time;

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const LINKTYPE_RAW: u32 = 101;
const SNAP_BYTES: usize = 128;

/// A capture file in memory.
#[derive(Debug)]
pub(crate) struct Capture {
    bytes: Vec<u8>,
}

impl Capture {
    pub(crate) fn new() -> Self {
        let mut bytes = Vec::with_capacity(1 << 20);
        bytes.extend(MAGIC_NANOSECONDS.to_le_bytes());
        bytes.extend(2_u16.to_le_bytes());
        bytes.extend(4_u16.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend((SNAP_BYTES as u32).to_le_bytes());
        bytes.extend(LINKTYPE_RAW.to_le_bytes());
        Self { bytes }
    }

    /// Adds a packet.
    pub(crate) fn push(&mut self, at: Time, packet: &[u8]) {
        let kept = &packet[..packet.len().min(SNAP_BYTES)];
        let (secs, nanos) = (at.as_nanos() / 1_000_000_000, at.as_nanos() % 1_000_000_000);
        for field in [secs as u32, nanos as u32, kept.len() as u32, packet.len() as u32] {
            self.bytes.extend(field.to_le_bytes());
        }
        self.bytes.extend(kept);
    }

    /// The file.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_packet_keeps_its_length_and_loses_its_payload() {
        let mut capture = Capture::new();
        capture.push(Time::from_nanos(3_000_000_007), &[0x45; 1_500]);
        let bytes = capture.into_bytes();
        assert_eq!(bytes.len(), 24 + 16 + SNAP_BYTES);
        assert_eq!(bytes[24..40], [3, 0, 0, 0, 7, 0, 0, 0, 128, 0, 0, 0, 0xdc, 5, 0, 0]);
    }
}
