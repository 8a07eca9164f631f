//! Packets in the hosts' network devices at the ends of the path, and room for more.

use cwndlab_host::{Lost, Receiver};
use cwndlab_link::{Admission, Direction};
use cwndlab_packet::Segment;
use cwndlab_tcp::Train;
use cwndlab_units::{Bytes, Output, Time};

use super::Path;
use crate::frame::Frame;
use crate::node::HostNode;

impl Path {
    /// Connects the devices to the path; the first device has the component index
    /// `first_component`.
    pub(crate) fn connect_nodes(&mut self, first_component: usize) {
        for number in 0..self.nodes.len() {
            let HostNode { direction, user, .. } = self.nodes.all[number];
            let ingress = self.ingress(direction, user);
            let node = &mut self.nodes.all[number];
            (node.ingress, node.component) = (ingress, first_component + number);
        }
    }

    /// Number of packets of a flow for which a device has room.
    pub(crate) fn room(&mut self, number: usize, flow: usize, now: Time) -> u32 {
        let in_link = self.bytes_in_link(number, now);
        self.nodes.all[number].host.room(now, in_link, flow as u32)
    }

    /// Passes a segment from the link to a device that delivers received segments with a delay.
    ///
    /// Returns whether the device delivers received segments with a delay.
    pub(crate) fn receive(&mut self, number: usize, now: Time, segment: &Segment) -> bool {
        let Some(receiver) = &mut self.nodes.all[number].receiver else { return false };
        receiver.handle_packet(now, Frame(*segment));
        self.settle_node(number, now);
        true
    }

    /// Removes the next received segment that a device delivers at this time.
    pub(crate) fn poll_received(&mut self, number: usize, now: Time) -> Option<Segment> {
        match self.nodes.all[number].receiver.as_mut()?.poll(now)? {
            Output::Packet { packet: Frame(segment), .. } => Some(segment),
            Output::Event { event, .. } => match event {},
        }
    }

    /// Number of packets in a device and its queue.
    pub(crate) fn waiting_in(&self, number: usize) -> u32 {
        self.nodes.all[number].host.backlog_packets()
    }

    /// Passes a segment to a device. The caller must then call [`Path::settle_node`].
    pub(crate) fn send_to_node(
        &mut self,
        number: usize,
        now: Time,
        segment: &Segment,
    ) -> Admission {
        let in_link = self.bytes_in_link(number, now);
        self.nodes.all[number].host.handle_packet(now, in_link, Frame(*segment))
    }

    /// Passes the segments of a train to a device, and returns how many segments the device
    /// dropped.
    #[inline(never)]
    pub(crate) fn send_train_to_node(&mut self, number: usize, now: Time, train: &Train) -> u64 {
        let admissions = train.segments().map(|segment| self.send_to_node(number, now, &segment));
        admissions.filter(|&admission| admission == Admission::Dropped).count() as u64
    }

    /// Removes the next segment that leaves a device or that the device's queue drops, if it is
    /// due.
    ///
    /// [`Path::settle_node`] must follow.
    pub(crate) fn poll_node(
        &mut self,
        number: usize,
        now: Time,
    ) -> Option<Output<Frame, Lost<Frame>>> {
        let in_link = self.bytes_in_link(number, now);
        self.nodes.all[number].host.poll(now, in_link)
    }

    /// Sets a device's wake time.
    pub(crate) fn settle_node(&mut self, number: usize, now: Time) {
        let in_link = self.bytes_in_link(number, now);
        let node = &mut self.nodes.all[number];
        let received = node.receiver.as_ref().map_or(Time::NEVER, Receiver::wake_time);
        let wake = node.host.wake_time(now, in_link).min(received);
        self.wakes.set(node.component, wake);
    }

    /// Updates the devices whose buffer the link empties, after the link has acted.
    #[inline]
    pub(crate) fn settle_nodes_behind(&mut self, link: Direction, now: Time) {
        if self.nodes.is_any_emptied_by_link {
            self.wake_nodes_behind(link, now);
        }
    }

    #[cold]
    fn wake_nodes_behind(&mut self, link: Direction, now: Time) {
        for number in 0..self.nodes.len() {
            let node = &self.nodes.all[number];
            if node.ingress.link == link
                && node.host.is_emptied_by_link()
                && node.host.backlog_packets() > 0
            {
                self.settle_node(number, now);
            }
        }
    }

    /// Bytes of a device's buffer that the link still holds; 0 if the link does not empty this
    /// buffer.
    fn bytes_in_link(&mut self, number: usize, now: Time) -> Bytes {
        let HostNode { direction, user, ref host, .. } = self.nodes.all[number];
        if !host.is_emptied_by_link() {
            return Bytes(0);
        }
        Bytes(self.backlog(direction, user, now).bytes)
    }
}
