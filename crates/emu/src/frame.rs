//! An IP packet that crosses the emulated link, in a reusable buffer.

use std::cell::RefCell;
use std::net::IpAddr;

use cwndlab_link::{Ack, Packet};
use cwndlab_packet::{Flags, Peer, Segment, TcpPacket, ip};
use cwndlab_units::{Ecn, Time, split_mix_64};

use crate::offload::{NOTHING_LEFT, VIRTIO_BYTES, VirtioHeader};

/// Size of the largest packet that crosses the link: the MTU of Ethernet.
pub const MTU_BYTES: usize = 1500;

/// Maximum number of free buffers that are kept; further free buffers would only be left over from
/// a queue that has drained.
const MOST_FREE: usize = 65_536;

/// Number of prefetched bytes: the kernel's header and the headers of IPv4 and TCP, in two cache
/// lines.
#[cfg(target_arch = "x86_64")]
const PREFETCHED_BYTES: usize = 128;
#[cfg(target_arch = "x86_64")]
const CACHE_LINE_BYTES: usize = 64;

type Buffer = [u8; VIRTIO_BYTES + MTU_BYTES];

type FreeBuffers = Vec<Box<Buffer>>;

thread_local! {
    static FREE: RefCell<FreeBuffers> = const { RefCell::new(Vec::new()) };
}

/// An IPv4 packet preceded by the kernel's virtio header. Its buffer returns to the pool of the
/// thread that drops the frame.
#[derive(Debug)]
pub struct Frame {
    /// The packet's buffer; `None` only while the frame is dropped.
    buffer: Option<Box<Buffer>>,
    bytes: u16,
    user: u16,
    flow: u32,
    entered: Time,
}

impl Frame {
    /// Creates a frame from a virtio header and a packet in two parts.
    pub(crate) fn of_parts(header: &VirtioHeader, first: &[u8], second: &[u8]) -> Self {
        let new = || Box::new([0; VIRTIO_BYTES + MTU_BYTES]);
        let mut buffer = FREE.with_borrow_mut(Vec::pop).unwrap_or_else(new);
        let (place, rest) = buffer.split_at_mut(VIRTIO_BYTES);
        place.copy_from_slice(header);
        let (place, rest) = rest.split_at_mut(first.len());
        place.copy_from_slice(first);
        rest[..second.len()].copy_from_slice(second);
        let bytes = (first.len() + second.len()) as u16;
        Self { buffer: Some(buffer), bytes, user: 1, flow: 0, entered: Time::ZERO }
    }

    /// Creates a frame with this packet.
    ///
    /// # Panics
    /// Panics if the packet is longer than [`MTU_BYTES`] or empty.
    pub fn new(content: &[u8]) -> Self {
        assert!(!content.is_empty() && content.len() <= MTU_BYTES, "{} bytes", content.len());
        Self::of_parts(&NOTHING_LEFT, content, &[])
    }

    /// The packet.
    pub fn content(&self) -> &[u8] {
        &self.with_header()[VIRTIO_BYTES..]
    }

    /// The kernel's virtio header and the packet.
    pub(crate) fn with_header(&self) -> &[u8] {
        let buffer = self.buffer.as_ref().expect("not dropped");
        &buffer[..VIRTIO_BYTES + usize::from(self.bytes)]
    }

    /// Whether the frame contains a complete IPv4 packet, whose fields the link may read.
    pub fn is_ipv4(&self) -> bool {
        ip::is_ipv4(self.content())
    }

    /// Time at which the frame was read from its TUN device.
    pub fn entered(&self) -> Time {
        self.entered
    }

    pub(crate) fn enter(&mut self, now: Time) {
        self.entered = now;
    }

    /// Assigns the frame to a flow and, on a shared medium, to a user.
    pub fn assign(&mut self, flow: u32, user: u16) {
        self.flow = flow;
        self.user = user;
    }
}

impl Packet for Frame {
    fn wire_bytes(&self) -> u32 {
        u32::from(self.bytes)
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn user(&self) -> u16 {
        self.user
    }

    fn ecn(&self) -> Ecn {
        ip::ecn(self.content()).unwrap_or_default()
    }

    fn ack(&self) -> Option<Ack> {
        let TcpPacket { source, destination, segment } =
            TcpPacket::parse(self.content(), self.wire_bytes())?;
        let Segment { ack, flags, payload, timestamps, sacks, .. } = segment;
        if !flags.has(Flags::ACK) || flags.has(Flags::SYN | Flags::FIN | Flags::RST) {
            return None;
        }
        let mut blocks = [(0, 0); Ack::MOST_SACKS];
        for (place, block) in blocks.iter_mut().zip(sacks.as_slice()) {
            *place = (block.start, block.end);
        }
        Some(Ack {
            connection: split_mix_64(number_of(source), number_of(destination)),
            number: ack,
            sacks: blocks,
            echo: flags.0 & (Flags::AE | Flags::ECE | Flags::CWR),
            timestamp: timestamps.map(|(value, _)| value),
            is_pure: payload == 0,
        })
    }

    fn mark_ce(&mut self) {
        let bytes = usize::from(self.bytes);
        let buffer = self.buffer.as_mut().expect("not dropped");
        ip::mark_ce(&mut buffer[VIRTIO_BYTES..][..bytes]);
    }

    /// Loads the headers into the cache, because after milliseconds in the link they are in no
    /// cache.
    #[inline]
    fn prefetch(&self) {
        #[cfg(target_arch = "x86_64")]
        if let Some(buffer) = &self.buffer {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            for line in buffer[..PREFETCHED_BYTES].chunks(CACHE_LINE_BYTES) {
                // SAFETY: prefetching reads nothing that the program can see.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
            }
        }
    }
}

/// Converts an endpoint of a connection to a number.
fn number_of(peer: Peer) -> u64 {
    let address = match peer.address {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits() as u64,
    };
    address << 16 | u64::from(peer.port)
}

impl Drop for Frame {
    fn drop(&mut self) {
        let buffer = self.buffer.take();
        // The pool no longer exists if the thread is ending.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < MOST_FREE {
                free.extend(buffer);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_packet::{SackBlocks, ipv4_headers};

    use super::*;

    #[test]
    fn a_frame_is_marked_in_its_header() {
        let mut frame = Frame::new(&[&[0x45, 0xba], &[0; 18][..]].concat());
        assert!(frame.is_ipv4());
        assert_eq!(frame.ecn(), Ecn::Ect0);
        frame.mark_ce();
        assert_eq!((frame.ecn(), frame.content()[1]), (Ecn::Ce, 0xbb));
    }

    #[test]
    fn a_frame_of_something_else_has_no_mark() {
        for content in [&[0x60; 40][..1], &[0x45; 19], &[0x10; 40]] {
            let mut frame = Frame::new(content);
            assert!(!frame.is_ipv4());
            frame.mark_ce();
            assert_eq!(frame.content(), content);
        }
    }

    #[test]
    fn an_ack_is_known_with_its_connection() {
        let ack = |port, payload| {
            let segment = Segment {
                flow: 0,
                user: 1,
                seq: 5,
                ack: 7_000,
                payload,
                window: 100,
                flags: Flags(Flags::ACK | Flags::ECE),
                ecn: Ecn::NotEct,
                timestamps: Some((256, 9)),
                sacks: SackBlocks::default(),
                syn: None,
                header_bytes: 52,
            };
            let ends = [([10, 0, 0, 1].into(), 80), ([10, 0, 0, 2].into(), port)];
            let (mut content, bytes) = ipv4_headers(ends, 1, &segment);
            content.resize(bytes as usize, 0);
            Frame::new(&content).ack().expect("an ACK")
        };
        let known = ack(4_000, 0);
        assert_eq!((known.number, known.echo, known.timestamp), (7_000, Flags::ECE, Some(256)));
        assert!(known.is_pure && !ack(4_000, 9).is_pure);
        assert_eq!(ack(4_000, 9).connection, known.connection);
        assert_ne!(ack(4_001, 0).connection, known.connection);
        assert_eq!(Frame::new(&[0x45; 20]).ack(), None);
    }

    #[test]
    fn a_buffer_is_used_again() {
        let first = Frame::new(&[0x45; 20]);
        let place = first.content().as_ptr();
        drop(first);
        let second = Frame::new(&[0x45; 1500]);
        assert_eq!(second.content().as_ptr(), place);
        assert_eq!(second.wire_bytes(), 1500);
    }
}
