//! What the path asks of the hosts' devices at its ends, and tells them.

use cwndlab_host::{Lost, Receiver};
use cwndlab_link::{Admission, Direction};
use cwndlab_packet::Segment;
use cwndlab_tcp::Train;
use cwndlab_units::{Bytes, Output, Time};

use super::Path;
use crate::frame::Frame;
use crate::node::HostNode;

impl Path {
    /// Connects the devices, the first of which is this component.
    pub(crate) fn connect_nodes(&mut self, first_component: usize) {
        for number in 0..self.nodes.len() {
            let HostNode { direction, user, .. } = self.nodes.all[number];
            let ingress = self.ingress(direction, user);
            let node = &mut self.nodes.all[number];
            (node.ingress, node.component) = (ingress, first_component + number);
        }
    }

    /// How many packets of a flow a device takes now.
    pub(crate) fn room(&mut self, number: usize, flow: usize, now: Time) -> u32 {
        let in_link = self.bytes_in_link(number, now);
        self.nodes.all[number].host.room(now, in_link, flow as u32)
    }

    /// Gives a segment that comes from the link to a device that hands over later what it receives.
    /// Returns whether it does.
    pub(crate) fn receive(&mut self, number: usize, now: Time, segment: &Segment) -> bool {
        let Some(receiver) = &mut self.nodes.all[number].receiver else { return false };
        receiver.handle_packet(now, Frame(*segment));
        self.settle_node(number, now);
        true
    }

    /// The next segment that a device hands over now of what it received.
    pub(crate) fn poll_received(&mut self, number: usize, now: Time) -> Option<Segment> {
        match self.nodes.all[number].receiver.as_mut()?.poll(now)? {
            Output::Packet { packet: Frame(segment), .. } => Some(segment),
            Output::Event { event, .. } => match event {},
        }
    }

    /// Packets in a device and its queue.
    pub(crate) fn waiting_in(&self, number: usize) -> u32 {
        self.nodes.all[number].host.backlog_packets()
    }

    /// Gives a segment to a device. [`Path::settle_node`] must follow.
    pub(crate) fn send_to_node(
        &mut self,
        number: usize,
        now: Time,
        segment: &Segment,
    ) -> Admission {
        let in_link = self.bytes_in_link(number, now);
        self.nodes.all[number].host.handle_packet(now, in_link, Frame(*segment))
    }

    /// The same with the segments of a train. Returns how many the device dropped.
    #[inline(never)]
    pub(crate) fn send_train_to_node(&mut self, number: usize, now: Time, train: &Train) -> u64 {
        let admissions = train.segments().map(|segment| self.send_to_node(number, now, &segment));
        admissions.filter(|&admission| admission == Admission::Dropped).count() as u64
    }

    /// What leaves a device next or is lost in its queue, if it is due. [`Path::settle_node`] must
    /// follow.
    pub(crate) fn poll_node(
        &mut self,
        number: usize,
        now: Time,
    ) -> Option<Output<Frame, Lost<Frame>>> {
        let in_link = self.bytes_in_link(number, now);
        self.nodes.all[number].host.poll(now, in_link)
    }

    /// Sets when a device acts next.
    pub(crate) fn settle_node(&mut self, number: usize, now: Time) {
        let in_link = self.bytes_in_link(number, now);
        let node = &mut self.nodes.all[number];
        let received = node.receiver.as_ref().map_or(Time::NEVER, Receiver::wake_time);
        let wake = node.host.wake_time(now, in_link).min(received);
        self.wakes.set(node.component, wake);
    }

    /// A link has acted: devices that it empties may have room.
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

    /// Bytes of a device's buffer that the link holds; none if the device itself is the buffer.
    fn bytes_in_link(&mut self, number: usize, now: Time) -> Bytes {
        let HostNode { direction, user, ref host, .. } = self.nodes.all[number];
        if !host.is_emptied_by_link() {
            return Bytes(0);
        }
        Bytes(self.backlog(direction, user, now).bytes)
    }
}
