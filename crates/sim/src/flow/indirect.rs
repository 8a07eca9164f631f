//! Flows whose ends are attached to the path through a host's device or an access delay.

use cwndlab_link::Direction;
use cwndlab_packet::{Flags, Segment};
use cwndlab_units::{Duration, Time};

use super::attachment::{RECEIVER, SENDER, pop_due};
use super::{Flow, Part};
use crate::path::Path;
use crate::recorder::Recorder;

impl Flow {
    /// Passes a segment from the link to the receiving device of its end, if the end has such a
    /// device.
    ///
    /// Returns whether the end has a receiving device.
    #[inline(never)]
    pub(super) fn enter_line(
        &self,
        direction: Direction,
        now: Time,
        segment: &Segment,
        path: &mut Path,
    ) -> bool {
        let Some(lines) = self.attachment.receive_lines else { return false };
        let Some(node) = lines[usize::from(direction == self.direction)] else { return false };
        path.send_to_node(node, now, segment);
        path.settle_node(node, now);
        true
    }

    /// Handles a segment that has passed the receiving device, or that arrives at an end which is
    /// not attached directly.
    #[inline(never)]
    pub(crate) fn handle_beyond_line(
        &mut self,
        direction: Direction,
        now: Time,
        segment: &Segment,
        path: &mut Path,
        recorder: &mut Recorder,
    ) {
        if direction != self.direction {
            return self.handle_indirect(now, segment, path, recorder);
        }
        self.record_arrival(now, segment);
        if !self.defer(RECEIVER, now, segment, path) {
            self.serve_at_receiver(now, segment, path);
        }
    }

    /// Number of segments for which the sender's device had no room; `None` without a device.
    pub(crate) fn host_refusals(&self) -> Option<u64> {
        let refusals = self.sender.counters().refusals;
        self.attachment.nodes[SENDER].map(|_| refusals + self.attachment.dropped_by_host)
    }

    /// Handles a segment for a data sender that is not attached directly.
    fn handle_indirect(
        &mut self,
        now: Time,
        segment: &Segment,
        path: &mut Path,
        recorder: &mut Recorder,
    ) {
        if self.attachment.access.delay > Duration::ZERO {
            self.attachment
                .access
                .to_sender
                .push_back((now + self.attachment.access.delay, *segment));
            self.set_access(path);
        } else if !self.defer(SENDER, now, segment, path) {
            self.serve_at_sender(now, segment, path, recorder);
        }
    }

    /// Passes a segment from the link to the end's device, which delivers the segment later, or a
    /// datagram to the application.
    ///
    /// Returns whether the device or the application accepted the segment; if not, TCP must handle
    /// the segment now.
    fn defer(&mut self, end: usize, now: Time, segment: &Segment, path: &mut Path) -> bool {
        if self.application.is_of_datagrams() {
            self.application.handle_datagram(now, segment.seq);
            self.record.handle_read(now, u64::from(segment.payload));
            return true;
        }
        let Some(node) = self.attachment.nodes[end] else { return false };
        let is_later = path.receive(node, now, segment);
        if !is_later {
            self.tell_room(now, path);
        }
        is_later
    }

    /// Handles a segment that a device delivers after having received it.
    pub(crate) fn handle_received(
        &mut self,
        node: usize,
        now: Time,
        segment: &Segment,
        path: &mut Path,
        recorder: &mut Recorder,
    ) {
        self.tell_room(now, path);
        if self.attachment.nodes[RECEIVER] == Some(node) {
            self.serve_at_receiver(now, segment, path);
        } else {
            self.serve_at_sender(now, segment, path, recorder);
        }
    }

    /// Tells both ends for how many packets their devices have room, before the ends send.
    pub(super) fn tell_room(&mut self, now: Time, path: &mut Path) {
        for (node, end) in self.attachment.nodes.iter().zip([&mut self.sender, &mut self.receiver])
        {
            if let Some(node) = *node {
                end.set_room(path.room(node, self.index, now));
            }
        }
    }

    /// Handles a segment that has left the device of the sender or of the receiver.
    pub(crate) fn handle_departed(
        &mut self,
        node: usize,
        now: Time,
        segment: &Segment,
        path: &mut Path,
        recorder: &mut Recorder,
    ) {
        let is_receivers = self.attachment.nodes[RECEIVER] == Some(node);
        if is_receivers {
            path.send_alone(self.attachment.ack_ingress, now, segment);
        } else if self.attachment.access.delay == Duration::ZERO {
            path.send_alone(self.attachment.data_ingress, now, segment);
        } else {
            self.attachment
                .access
                .from_sender
                .push_back((now + self.attachment.access.delay, *segment));
            self.set_access(path);
        }
        self.release(node, now, segment, path, recorder);
    }

    /// Frees the room of a segment in the device of the sender or of the receiver, which may then
    /// send more.
    pub(crate) fn release(
        &mut self,
        node: usize,
        now: Time,
        segment: &Segment,
        path: &mut Path,
        recorder: &mut Recorder,
    ) {
        let occupies_buffer = segment.payload_bytes() > 0 || segment.flags.has(Flags::FIN);
        if !occupies_buffer || self.application.is_of_datagrams() {
            return;
        }
        self.tell_room(now, path);
        if self.attachment.nodes[RECEIVER] == Some(node) {
            if self.receiver.handle_departure(now) {
                self.poll_receiver_apart(now, path);
            }
        } else if self.sender.handle_departure(now) {
            self.poll_sender_apart(now, path, recorder);
        }
    }

    /// Passes on segments that have crossed the access delay.
    pub(super) fn poll_access(&mut self, now: Time, path: &mut Path, recorder: &mut Recorder) {
        while let Some(segment) = pop_due(&mut self.attachment.access.from_sender, now) {
            path.send_alone(self.attachment.data_ingress, now, &segment);
        }
        while let Some(segment) = pop_due(&mut self.attachment.access.to_sender, now) {
            if !self.defer(SENDER, now, &segment, path) {
                self.serve_at_sender(now, &segment, path, recorder);
            }
        }
        self.set_access(path);
    }

    pub(super) fn set_access(&self, path: &mut Path) {
        path.wakes.set_leaf(self.leaf(Part::Access), self.attachment.access.due());
    }
}
