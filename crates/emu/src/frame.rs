//! An IP packet on its way through the link, in a buffer that is used again.

use std::cell::RefCell;

use cwndlab_link::Packet;
use cwndlab_units::{Ecn, Time};

/// The largest packet that crosses, Ethernet's.
pub const MTU_BYTES: usize = 1500;

/// So many free buffers are kept; more than that were a queue that has drained.
const MOST_FREE: usize = 65_536;

type Buffer = [u8; MTU_BYTES];

type FreeBuffers = Vec<Box<Buffer>>;

thread_local! {
    static FREE: RefCell<FreeBuffers> = const { RefCell::new(Vec::new()) };
}

/// An IPv4 packet. Its buffer goes back to the pool of the thread that drops it.
#[derive(Debug)]
pub struct Frame {
    /// Nothing only while it is dropped.
    buffer: Option<Box<Buffer>>,
    bytes: u16,
    user: u16,
    flow: u32,
    entered: Time,
}

impl Frame {
    /// A frame filled by `read`, which answers how many bytes it wrote, or nothing if there is
    /// nothing to read.
    pub(crate) fn read(read: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<Self> {
        let mut buffer = FREE.with_borrow_mut(Vec::pop).unwrap_or_else(|| Box::new([0; MTU_BYTES]));
        let bytes = read(&mut buffer[..]).map_or(0, |bytes| bytes.min(MTU_BYTES) as u16);
        let frame = Self { buffer: Some(buffer), bytes, user: 1, flow: 0, entered: Time::ZERO };
        (bytes > 0).then_some(frame)
    }

    /// A frame with this content.
    ///
    /// # Panics
    /// If it is longer than [`MTU_BYTES`] or empty.
    pub fn new(content: &[u8]) -> Self {
        assert!(!content.is_empty() && content.len() <= MTU_BYTES, "{} bytes", content.len());
        let frame = Self::read(|buffer| {
            buffer[..content.len()].copy_from_slice(content);
            Some(content.len())
        });
        frame.expect("there is content")
    }

    /// The packet.
    pub fn content(&self) -> &[u8] {
        &self.buffer.as_ref().expect("not dropped")[..usize::from(self.bytes)]
    }

    /// Whether it is a whole IPv4 packet, which the link may look into.
    pub fn is_ipv4(&self) -> bool {
        let content = self.content();
        content.len() >= 20 && content[0] >> 4 == 4
    }

    /// When it was read from its TUN.
    pub fn entered(&self) -> Time {
        self.entered
    }

    pub(crate) fn enter(&mut self, now: Time) {
        self.entered = now;
    }

    /// Says to which flow it belongs, and on a shared medium to the user of which port.
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
        match self.content()[1] & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    fn mark_ce(&mut self) {
        let buffer = self.buffer.as_mut().expect("not dropped");
        let before = u16::from_be_bytes([buffer[0], buffer[1]]);
        buffer[1] |= 3;
        let after = u16::from_be_bytes([buffer[0], buffer[1]]);
        let checksum = u16::from_be_bytes([buffer[10], buffer[11]]);
        buffer[10..12].copy_from_slice(&updated_checksum(checksum, before, after).to_be_bytes());
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        let buffer = self.buffer.take();
        // The pool is gone when a thread ends with frames in hand.
        let _ = FREE.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < MOST_FREE {
                free.extend(buffer);
            }
        });
    }
}

/// The checksum of a header in which one word has changed: RFC 1624 section 3, equation 3.
fn updated_checksum(checksum: u16, before: u16, after: u16) -> u16 {
    let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(ecn: u8) -> [u8; 20] {
        let mut header = [0; 20];
        header[0] = 0x45;
        header[1] = 0xb8 | ecn;
        header[3] = 20;
        header[8] = 64;
        header[9] = 6;
        header[12..20].copy_from_slice(&[100, 64, 0, 1, 100, 64, 0, 2]);
        let checksum = !sum(&header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        header
    }

    /// One's complement sum, RFC 1071 section 1.
    fn sum(header: &[u8]) -> u16 {
        let mut sum: u32 =
            header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn a_mark_keeps_the_checksum_right_and_the_class_of_service() {
        for ecn in 0..3 {
            let mut frame = Frame::new(&header(ecn));
            assert_eq!(sum(frame.content()), 0xffff);
            frame.mark_ce();
            assert_eq!(frame.ecn(), Ecn::Ce);
            assert_eq!(frame.content()[1] & 0xfc, 0xb8);
            assert_eq!(sum(frame.content()), 0xffff, "after a mark on {ecn}");
        }
    }

    #[test]
    fn ecn_is_read_as_rfc_3168_says() {
        let fields = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        for (code, ecn) in fields.into_iter().enumerate() {
            assert_eq!(Frame::new(&header(code as u8)).ecn(), ecn);
        }
    }

    #[test]
    fn what_is_no_ipv4_is_known_as_such() {
        assert!(Frame::new(&header(0)).is_ipv4());
        assert!(!Frame::new(&[0x60; 40]).is_ipv4());
        assert!(!Frame::new(&[0x45; 19]).is_ipv4());
    }

    #[test]
    fn a_buffer_is_used_again() {
        let first = Frame::new(&header(0));
        let place = first.content().as_ptr();
        drop(first);
        let second = Frame::new(&[0x45; 1500]);
        assert_eq!(second.content().as_ptr(), place);
        assert_eq!(second.wire_bytes(), 1500);
        assert!(Frame::read(|_| None).is_none());
    }
}
