//! Frames on their way to a namespace that are written as one packet.

use std::io::IoSlice;

use cwndlab_packet::{Merged, merged};
use cwndlab_units::Time;

use crate::offload;
use crate::{Frame, Tun};

/// At most so many frames are written as one: 64 kB of 1448 bytes each, as GRO makes it.
const MOST_FRAMES: usize = 44;

/// Frames that are written together, in their order: one, or consecutive segments of a connection.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// With their logical departures.
    frames: Vec<(Time, Frame)>,
    /// Their headers, if others may follow the first.
    merged: Option<Merged>,
    /// What departs later does not go with them.
    joined_until: Time,
    /// They are written when this has come, if not before.
    due: Time,
}

impl Delivery {
    /// Begins with a frame that goes alone.
    pub(crate) fn begin_alone(&mut self, at: Time, frame: Frame) {
        self.frames.push((at, frame));
        (self.joined_until, self.due) = (at, at);
    }

    /// Begins with a frame that waits until `due` for those that follow it and depart until
    /// `joined_until`. Gives it back if nothing can follow it.
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

    /// Adds a frame that left the link at `at`, if it is the next segment. Gives it back otherwise.
    pub(crate) fn extend(&mut self, at: Time, frame: Frame) -> Result<(), Frame> {
        let may_join = at <= self.joined_until;
        if !may_join || !self.merged.as_mut().is_some_and(|merged| merged.extend(frame.content())) {
            return Err(frame);
        }
        self.frames.push((at, frame));
        Ok(())
    }

    /// What departs until `until` may still go with them.
    pub(crate) fn join_until(&mut self, until: Time) {
        self.joined_until = self.joined_until.max(until);
    }

    /// Whether a frame goes from the same end of the same connection to the other.
    pub(crate) fn is_of_connection_of(&self, frame: &Frame) -> bool {
        self.merged.as_ref().is_some_and(|merged| merged.is_of_connection_of(frame.content()))
    }

    /// Whether it waits no longer, where nothing departs before `next`.
    pub(crate) fn is_due(&self, now: Time, next: Time) -> bool {
        self.due <= now || self.joined_until < next || self.is_full()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.frames.len() == MOST_FRAMES
    }

    /// When it has to be written.
    pub(crate) fn due(&self) -> Time {
        self.due
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
