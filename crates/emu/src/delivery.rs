//! Frames on their way to a namespace: each by itself, or, once they are late, merged.
//!
//! A cell that repeats a block keeps in order what came after it, and then delivers it all at once: a
//! thousand packets and more. Each write into a TUN runs the receiver's TCP and takes 3 to 5 us, so
//! that the last of them would be milliseconds late. Consecutive segments of one connection that are
//! late are therefore written as one packet, which the receiver's kernel takes, and acknowledges, as
//! it does what a network device with GRO has merged. Frames that are in time are never merged.

use std::io::IoSlice;

use cwndlab_packet::{Merged, merged};
use cwndlab_units::{Duration, Time};

use crate::frame::VIRTIO_BYTES;
use crate::{Frame, Tun};

/// A frame that is later than this waits for the next, to be written with it.
const LATE: Duration = Duration::from_micros(250);
/// At most so many frames are written as one: 64 kB of 1448 bytes each, as GRO makes it.
const MOST_FRAMES: usize = 44;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM` and `VIRTIO_NET_HDR_GSO_TCPV4` of `linux/virtio_net.h`.
const NEEDS_CHECKSUM: u8 = 1;
const TCP_OVER_IPV4: u8 = 1;

/// Frames that are written together, in their order; of one port.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    port: u16,
    /// With their logical departures.
    frames: Vec<(Time, Frame)>,
    merged: Option<Merged>,
}

impl Delivery {
    /// Adds a frame that left the link at `at`, if it can go with those that are there. Returns it
    /// otherwise: those are to be written first.
    pub(crate) fn add(
        &mut self,
        now: Time,
        at: Time,
        port: u16,
        frame: Frame,
    ) -> Result<(), Frame> {
        if self.frames.is_empty() {
            self.port = port;
            let is_late = now > at + LATE;
            self.merged = if is_late { Merged::new(frame.content()) } else { None };
        } else {
            let fits = self.port == port
                && self.merged.as_mut().is_some_and(|merged| merged.extend(frame.content()));
            if !fits {
                return Err(frame);
            }
        }
        self.frames.push((at, frame));
        Ok(())
    }

    /// Whether a frame may still come to those that are there.
    pub(crate) fn is_open(&self) -> bool {
        self.merged.is_some() && self.frames.len() < MOST_FRAMES
    }

    /// The port of all of them.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The frames with their logical departures.
    pub(crate) fn frames(&self) -> &[(Time, Frame)] {
        &self.frames
    }

    /// Gives them to the namespace as one packet. Returns whether the kernel took it.
    pub(crate) fn write(&mut self, tun: &Tun) -> bool {
        match (&mut self.merged, &self.frames[..]) {
            (Some(merged), frames @ [_, _, ..]) => write_merged(tun, merged, frames),
            (_, frames) => {
                frames.iter().all(|(_, frame)| tun.write(&[IoSlice::new(frame.with_header())]))
            }
        }
    }

    /// Forgets them; what they need is kept for the next.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.merged = None;
    }
}

fn write_merged(tun: &Tun, merged: &mut Merged, frames: &[(Time, Frame)]) -> bool {
    let header_bytes = merged.header_bytes();
    let mut virtio = [0; VIRTIO_BYTES];
    virtio[0] = NEEDS_CHECKSUM;
    virtio[1] = TCP_OVER_IPV4;
    // These fields have the byte order of this machine.
    let fields =
        [header_bytes, merged.segment_bytes(), merged::CHECKSUM_START, merged::CHECKSUM_OFFSET];
    for (place, value) in virtio[2..].chunks_exact_mut(2).zip(fields) {
        place.copy_from_slice(&(value as u16).to_ne_bytes());
    }
    let mut parts = [IoSlice::new(&[]); MOST_FRAMES + 2];
    parts[0] = IoSlice::new(&virtio);
    parts[1] = IoSlice::new(merged.headers());
    for (part, (_, frame)) in parts[2..].iter_mut().zip(frames) {
        *part = IoSlice::new(&frame.content()[header_bytes..]);
    }
    tun.write(&parts[..frames.len() + 2])
}
