//! Reads packets from a network namespace and splits them into the frames that the link carries.
//!
//! The sender's kernel may pass up to 64 kB of one connection at once, as it does to a network
//! card with segmentation offload (TSO). The packet is split into as many frames as the card would
//! send, because the link handles each frame separately. The time of the read is the arrival time
//! of all these frames.

use cwndlab_packet::{Split, merged};

use crate::Tun;
use crate::frame::{Frame, MTU_BYTES};
use crate::offload::{self, NOTHING_LEFT, VIRTIO_BYTES};

/// Length of the longest IPv4 packet.
const MOST_BYTES: usize = u16::MAX as usize;

/// Reads from TUNs.
#[derive(Debug)]
pub(crate) struct Intake {
    buffer: Box<[u8]>,
    frames: Vec<Frame>,
}

impl Intake {
    pub(crate) fn new() -> Self {
        Self { buffer: vec![0; VIRTIO_BYTES + MOST_BYTES].into(), frames: Vec::new() }
    }

    /// Reads the next packet from a TUN device; `None` if no packet is available.
    ///
    /// Returns one frame, the segments of a large packet in order, or no frame if the packet
    /// cannot be split.
    pub(crate) fn read(&mut self, tun: &Tun) -> Option<std::vec::Drain<'_, Frame>> {
        let bytes = tun.read(&mut self.buffer)?;
        cut(&self.buffer[..bytes], &mut self.frames);
        Some(self.frames.drain(..))
    }
}

/// Splits a packet, which follows the kernel's header, into frames.
fn cut(packet: &[u8], frames: &mut Vec<Frame>) {
    let Some((header, content)) = packet.split_first_chunk() else { return };
    let Some(segment_bytes) = offload::segment_bytes(header) else {
        if (1..=MTU_BYTES).contains(&content.len()) {
            frames.push(Frame::of_parts(&offload::checksum_of(header), content, &[]));
        }
        return;
    };
    let Some(mut split) = Split::new(content, segment_bytes) else { return };
    let start = split.checksum_start();
    // A sender that leaves segmentation to the device also leaves it the checksum.
    let header = offload::checksum_at(start, merged::CHECKSUM_OFFSET);
    debug_assert_ne!(header, NOTHING_LEFT);
    while let Some((headers, payload)) = split.next_segment() {
        if headers.len() + payload.len() > MTU_BYTES {
            frames.clear();
            return;
        }
        frames.push(Frame::of_parts(&header, headers, payload));
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_link::Packet;
    use cwndlab_packet::{Flags, Segment, TcpPacket, ipv4_headers};

    use super::*;

    fn packet(header: offload::VirtioHeader, payload: u32) -> Vec<u8> {
        let flags = Flags(Flags::ACK);
        let segment = Segment { seq: 100, payload, flags, ..Segment::default() };
        let ends = [([10, 0, 0, 1].into(), 80), ([10, 0, 0, 2].into(), 4_000)];
        let (mut content, bytes) = ipv4_headers(ends, 1, &segment);
        content.resize(bytes as usize, 7);
        [&header[..], &content].concat()
    }

    fn frames_of(packet: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        cut(packet, &mut frames);
        frames
    }

    #[test]
    fn a_large_packet_is_the_frames_of_its_segments() {
        let frames = frames_of(&packet(offload::large(40, 1_460, [20, 16]), 3_000));
        let lengths: Vec<u32> = frames.iter().map(Frame::wire_bytes).collect();
        assert_eq!(lengths, [1_500, 1_500, 120]);
        let seqs = frames.iter().map(|frame| {
            TcpPacket::parse(frame.content(), frame.wire_bytes()).expect("TCP").segment.seq
        });
        assert_eq!(seqs.collect::<Vec<_>>(), [100, 1_560, 3_020]);
        for frame in &frames {
            assert_eq!(frame.with_header()[..VIRTIO_BYTES], offload::checksum_at(20, 16));
        }
    }

    #[test]
    fn a_packet_that_is_not_large_is_a_frame_with_its_checksum_as_it_is() {
        for header in [NOTHING_LEFT, offload::checksum_at(20, 16)] {
            let packet = packet(header, 500);
            let [frame] = &frames_of(&packet)[..] else { panic!("one frame") };
            assert_eq!(frame.with_header(), packet);
        }
    }

    #[test]
    fn what_cannot_be_cut_is_no_frame() {
        assert!(frames_of(&[]).is_empty() && frames_of(&NOTHING_LEFT).is_empty());
        assert!(frames_of(&packet(NOTHING_LEFT, 3_000)).is_empty());
        assert!(frames_of(&packet(offload::large(40, 1_461, [20, 16]), 3_000)).is_empty());
        let mut datagram = packet(offload::large(40, 1_460, [20, 16]), 3_000);
        datagram[VIRTIO_BYTES + 9] = 17;
        assert!(frames_of(&datagram).is_empty());
    }
}
