//! Frames that are written to a network namespace as one packet.

use std::io::IoSlice;

use cwndlab_packet::{Merged, merged};
use cwndlab_units::Time;

use crate::offload;
use crate::{Frame, Tun};

/// Maximum number of frames in one write: 64 kB in frames of 1448 bytes, the limit of GRO.
const MOST_FRAMES: usize = 44;

/// Frames that are written together, in order: a single frame, or consecutive segments of a
/// connection.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// Frames with the times at which the link releases them.
    frames: Vec<(Time, Frame)>,
    /// Merged headers; `None` if no frame can be merged with the first.
    merged: Option<Merged>,
    /// Latest departure of a frame that may join this delivery.
    joined_until: Time,
    /// Latest time at which the frames must be written.
    due: Time,
}

impl Delivery {
    /// Begins a delivery with a frame that is written alone.
    pub(crate) fn begin_alone(&mut self, at: Time, frame: Frame) {
        self.frames.push((at, frame));
        (self.joined_until, self.due) = (at, at);
    }

    /// Begins a delivery with a frame that waits until `due` for consecutive frames which depart
    /// until `joined_until`.
    ///
    /// Returns the frame as an error if no frame can be merged with it.
    pub(crate) fn begin(
        &mut self,
        at: Time,
        frame: Frame,
        [due, joined_until]: [Time; 2],
    ) -> Result<(), Frame> {
        self.merged = Merged::new(frame.content());
        if self.merged.is_none() {
            return Err(frame);
        }
        self.frames.push((at, frame));
        (self.joined_until, self.due) = (joined_until, due);
        Ok(())
    }

    /// Adds a frame that left the link at `at` if it is the next segment of the connection;
    /// otherwise returns the frame as an error.
    pub(crate) fn extend(&mut self, at: Time, frame: Frame) -> Result<(), Frame> {
        let may_join = at <= self.joined_until;
        if !may_join || !self.merged.as_mut().is_some_and(|merged| merged.extend(frame.content())) {
            return Err(frame);
        }
        self.frames.push((at, frame));
        Ok(())
    }

    /// Also lets frames join the delivery that depart until `until`.
    pub(crate) fn join_until(&mut self, until: Time) {
        self.joined_until = self.joined_until.max(until);
    }

    /// Whether a frame belongs to the same direction of the same connection as this delivery.
    pub(crate) fn is_of_connection_of(&self, frame: &Frame) -> bool {
        self.merged.as_ref().is_some_and(|merged| merged.is_of_connection_of(frame.content()))
    }

    /// Whether the frames must be written now, if no frame departs before `next`.
    pub(crate) fn is_due(&self, now: Time, next: Time) -> bool {
        self.due <= now || self.joined_until < next || self.is_full()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.frames.len() == MOST_FRAMES
    }

    /// Latest time at which the frames must be written.
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// The frames of the delivery with the times at which the link releases them.
    pub(crate) fn frames(&self) -> &[(Time, Frame)] {
        &self.frames
    }

    /// Writes the frames to the namespace as one packet; returns `false` if the kernel refused the
    /// packet.
    pub(crate) fn write(&mut self, tun: &Tun) -> bool {
        match (&mut self.merged, &self.frames[..]) {
            (Some(merged), frames @ [_, _, ..]) => write_merged(tun, merged, frames),
            (_, frames) => {
                frames.iter().all(|(_, frame)| tun.write(&[IoSlice::new(frame.with_header())]))
            }
        }
    }

    /// Removes all frames, but keeps the allocated memory.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.merged = None;
    }
}

fn write_merged(tun: &Tun, merged: &mut Merged, frames: &[(Time, Frame)]) -> bool {
    let header_bytes = merged.header_bytes();
    let checksum = [merged::CHECKSUM_START, merged::CHECKSUM_OFFSET];
    let virtio = offload::large(header_bytes, merged.segment_bytes(), checksum);
    let mut parts = [IoSlice::new(&[]); MOST_FRAMES + 2];
    parts[0] = IoSlice::new(&virtio);
    parts[1] = IoSlice::new(merged.headers());
    for (part, (_, frame)) in parts[2..].iter_mut().zip(frames) {
        *part = IoSlice::new(&frame.content()[header_bytes..]);
    }
    tun.write(&parts[..frames.len() + 2])
}
