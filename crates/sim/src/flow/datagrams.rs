//! A flow without TCP, whose application sends datagrams.

use cwndlab_link::Admission;
use cwndlab_packet::{Flags, SackBlocks, Segment};
use cwndlab_scenario::Datagram;
use cwndlab_units::{Ecn, Time};

use super::Flow;
use super::attachment::SENDER;
use crate::path::Path;
use crate::socket::Socket;

impl Flow {
    /// Does the work of [`Flow::handle_control`] for a flow of datagrams.
    pub(super) fn control_datagrams(&mut self, now: Time, path: &mut Path) {
        if !self.has_started {
            self.has_started = true;
            self.application.handle_sender_established(now);
        }
        if self.stop.is_some_and(|stop| stop <= now) {
            self.stop = None;
            self.application.stop(now, &mut Socket(&mut self.sender));
        }
        if self.application.wake_time() <= now {
            self.application.handle_wake(now);
        }
        if let Some(datagram) = self.application.take_datagram() {
            self.send_datagram(now, datagram, path);
        }
        self.handle_offered(now, path);
        self.set_control(path);
    }

    fn send_datagram(&mut self, now: Time, datagram: Datagram, path: &mut Path) {
        let Datagram { number, payload_bytes, header_bytes } = datagram;
        let segment = Segment {
            flow: self.index as u32,
            user: self.user,
            seq: number,
            ack: 0,
            payload: payload_bytes,
            window: 0,
            flags: Flags::default(),
            ecn: Ecn::NotEct,
            timestamps: None,
            sacks: SackBlocks::default(),
            syn: None,
            header_bytes,
        };
        self.record.handle_sent(now, number.wrapping_mul(payload_bytes), payload_bytes);
        if self.attachment.is_direct {
            path.send_alone(self.attachment.data_ingress, now, &segment);
        } else if let Some(node) = self.attachment.nodes[SENDER] {
            let admission = path.send_to_node(node, now, &segment);
            self.attachment.dropped_by_host += u64::from(admission == Admission::Dropped);
            path.settle_node(node, now);
        } else {
            self.attachment
                .access
                .from_sender
                .push_back((now + self.attachment.access.delay, segment));
            self.set_access(path);
        }
    }
}
