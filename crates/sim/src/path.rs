//! The two directions of a path with the hosts' network devices at its ends, and the wake times of
//! all components.

use core::ops::Range;

use cwndlab_host::{Lost, Receiver};
use cwndlab_link::{Admission, Alike, AnyLink, Backlog, Direction, Link, Stages, Traces};
use cwndlab_packet::Segment;
use cwndlab_tcp::{TcpOutput, Train};
use cwndlab_units::{Bytes, Output, Time};

use crate::frame::Frame;
use crate::ingress::Ingress;
use crate::node::{HostNode, HostNodes};
use crate::wake::WakeTree;

/// Links of a path: one for each direction, or one medium that both directions share.
#[derive(Debug)]
pub(crate) enum Links {
    Separate(Box<[AnyLink<Frame>; 2]>),
    Shared(Box<AnyLink<Frame>>),
}

/// The links of a path and the wake times of all components; the links are components 0 and 1.
#[derive(Debug)]
pub(crate) struct Path {
    /// If both directions share a medium, the medium is the first link, and no packet enters the
    /// second link.
    pub(crate) links: [AnyLink<Frame>; 2],
    pub(crate) is_shared: bool,
    /// The hosts' network devices between the sockets and the links.
    pub(crate) nodes: HostNodes,
    pub(crate) wakes: WakeTree,
}

impl Path {
    pub(crate) fn new(links: Links, nodes: HostNodes, components: usize) -> Self {
        let wakes = WakeTree::new(components);
        match links {
            Links::Separate(links) => Self { links: *links, is_shared: false, nodes, wakes },
            Links::Shared(medium) => {
                let unused = AnyLink::one_way(&[], &Traces::new(), 0, "unused");
                let unused = unused.expect("a wire without stages has no invalid settings");
                Self { links: [*medium, unused], is_shared: true, nodes, wakes }
            }
        }
    }

    /// The place where packets of this user enter the path in `direction`.
    pub(crate) fn ingress(&self, direction: Direction, user: u16) -> Ingress {
        if !self.is_shared {
            return Ingress { link: direction, port: 0 };
        }
        Ingress { link: Direction::Forward, port: direction.port(user) }
    }

    /// Direction of a packet that has left `link` at `port`.
    #[inline]
    pub(crate) fn direction(link: Direction, port: u16) -> Direction {
        if port == 0 { Direction::Reverse } else { link }
    }

    /// Passes a segment to a link, and updates the link's wake time.
    #[inline(never)]
    pub(crate) fn send_alone(&mut self, ingress: Ingress, now: Time, segment: &Segment) {
        if self.send_apart(ingress, now, &Train { first: *segment, count: 1 }) {
            self.settle(ingress.link, now);
        }
    }

    /// Does the same as [`Path::send`], but is faster for a single ACK on a wire that only delays
    /// packets.
    #[inline(always)]
    pub(crate) fn send_answer(&mut self, ingress: Ingress, now: Time, train: &Train) -> bool {
        if train.count == 1
            && let AnyLink::Wire(wire) = &mut self.links[ingress.link as usize]
            && wire.take_at_once(now, train.first.wire_bytes(), train)
        {
            self.wakes.set_near(ingress.link as usize, wire.wake_time());
            return false;
        }
        self.send_apart(ingress, now, train)
    }

    /// Passes a train to a link. Returns whether the caller must then call [`Path::settle`].
    #[inline(always)]
    pub(crate) fn send(&mut self, ingress: Ingress, now: Time, train: &Train) -> bool {
        let Train { ref first, count } = *train;
        let link = ingress.link;
        let AnyLink::Wire(wire) = &mut self.links[link as usize] else {
            return self.send_to_medium(ingress, now, train);
        };
        let taken = wire.take_like_the_last(now, first.wire_bytes(), count, train);
        self.wakes.set_near(link as usize, wire.wake_time());
        if taken < count {
            self.send_each(ingress, now, first, taken..count);
            return true;
        }
        false
    }

    /// Calls [`Path::send`]. This function is not inlined, so that it is compiled only once.
    #[inline(never)]
    pub(crate) fn send_apart(&mut self, ingress: Ingress, now: Time, train: &Train) -> bool {
        self.send(ingress, now, train)
    }

    /// Passes a train to a link that is not a wire. A shared medium receives the whole train at
    /// once.
    ///
    /// Returns whether the caller must then call [`Path::settle`].
    #[inline(never)]
    fn send_to_medium(&mut self, ingress: Ingress, now: Time, train: &Train) -> bool {
        let Ingress { link, port } = ingress;
        let AnyLink::Wifi(channel) = &mut self.links[link as usize] else {
            self.send_to_other(ingress, now, train);
            return true;
        };
        let Train { ref first, count } = *train;
        let alike = Alike { user: first.user, wire_bytes: first.wire_bytes(), count };
        let mut seq = first.seq;
        channel.handle_alike(now, port, alike, |place| {
            // Copied as a whole, which is faster than field by field.
            place.insert(Frame(*first)).0.seq = seq;
            seq = seq.wrapping_add(first.payload);
        });
        self.wakes.set_near(link as usize, channel.wake_time().max(now));
        false
    }

    /// Does the same as [`Path::send_to_medium`] for links that are neither a wire nor a Wi-Fi
    /// channel.
    #[inline(never)]
    fn send_to_other(&mut self, ingress: Ingress, now: Time, train: &Train) {
        let Ingress { link, port } = ingress;
        let Train { ref first, count } = *train;
        if let AnyLink::Cell(cell) = &mut self.links[link as usize] {
            let direction = if port == 0 { Direction::Forward } else { Direction::Reverse };
            cell.handle_packets(now, direction, first.user, frames(first, 0..count));
        } else {
            self.send_each(ingress, now, first, 0..count);
        }
    }

    /// Passes all segments that an end sends at the same time to their link, and updates the
    /// link's wake time.
    ///
    /// Trains of segments of equal length enter a Wi-Fi channel as one train.
    #[inline]
    pub(crate) fn send_together(&mut self, ingress: Ingress, now: Time, outputs: &[TcpOutput]) {
        let Ingress { link, port } = ingress;
        for trains in outputs.chunk_by(are_alike) {
            let [TcpOutput::Train(train), ..] = trains else { continue };
            let AnyLink::Wifi(channel) = &mut self.links[link as usize] else {
                trains.iter().for_each(|output| self.send_output(ingress, now, output));
                continue;
            };
            let (user, wire_bytes) = (train.first.user, train.first.wire_bytes());
            let count = trains.iter().map(segments).sum();
            let mut trains = trains.iter();
            let (mut first, mut seq, mut left) = (&train.first, 0, 0);
            channel.handle_alike(now, port, Alike { user, wire_bytes, count }, |place| {
                if left == 0
                    && let Some(TcpOutput::Train(train)) = trains.next()
                {
                    (first, seq, left) = (&train.first, train.first.seq, train.count);
                }
                place.insert(Frame(*first)).0.seq = seq;
                seq = seq.wrapping_add(first.payload);
                left -= 1;
            });
        }
        self.settle(link, now);
    }

    fn send_output(&mut self, ingress: Ingress, now: Time, output: &TcpOutput) {
        if let TcpOutput::Train(train) = output {
            self.send_apart(ingress, now, train);
        }
    }

    #[inline(never)]
    fn send_each(&mut self, ingress: Ingress, now: Time, first: &Segment, indices: Range<u32>) {
        let Ingress { link, port } = ingress;
        let link = &mut self.links[link as usize];
        frames(first, indices).for_each(|frame| _ = link.handle_packet(now, port, frame));
    }

    /// The link that carries a direction of the path, and the name of this direction within the
    /// link.
    pub(crate) fn link_of(&mut self, direction: Direction) -> (&mut AnyLink<Frame>, Direction) {
        if self.is_shared {
            (&mut self.links[0], direction)
        } else {
            (&mut self.links[direction as usize], Direction::Forward)
        }
    }

    /// Updates a link's wake time; the caller must do this after the link received packets.
    ///
    /// Returns whether the link is due at `now`.
    #[inline]
    pub(crate) fn settle(&mut self, link: Direction, now: Time) -> bool {
        let wake = self.links[link as usize].wake_time().max(now);
        self.wakes.set(link as usize, wake);
        wake == now
    }

    /// Sets the counters of all links to zero.
    pub(crate) fn begin_window(&mut self, now: Time) {
        for link in &mut self.links {
            link.begin_window(now);
        }
    }

    /// Bytes that each stage of a direction could have carried for this user so far.
    pub(crate) fn offered(
        &mut self,
        direction: Direction,
        user: u16,
        now: Time,
    ) -> Vec<Option<Bytes>> {
        let (link, direction) = self.link_of(direction);
        link.offered_of(direction, user, now)
    }

    /// Backlog of all queues of a direction that contain packets of this user.
    pub(crate) fn backlog(&mut self, direction: Direction, user: u16, now: Time) -> Backlog {
        let (link, direction) = self.link_of(direction);
        link.backlog_of(direction, user, now)
    }
}

/// The hosts' network devices: the packets in them, and their room for more packets.
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

/// Whether both outputs are trains of segments of equal length.
fn are_alike(one: &TcpOutput, other: &TcpOutput) -> bool {
    match (one, other) {
        (TcpOutput::Train(one), TcpOutput::Train(other)) => {
            one.first.wire_bytes() == other.first.wire_bytes()
        }
        _ => false,
    }
}

/// Number of segments in an output of an endpoint.
fn segments(output: &TcpOutput) -> u32 {
    match output {
        TcpOutput::Train(train) => train.count,
        TcpOutput::Event { .. } => 0,
    }
}

/// The segments of a train at these indices, each copied completely.
fn frames(first: &Segment, indices: Range<u32>) -> impl Iterator<Item = Frame> {
    indices.map(|index| {
        let mut segment = *first;
        segment.seq = segment.seq.wrapping_add(index.wrapping_mul(segment.payload));
        Frame(segment)
    })
}
