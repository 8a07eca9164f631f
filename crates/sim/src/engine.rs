//! The event loop: two directions of a path, and at their ends the flows.
//!
//! ```text
//!   application  ->  sender  --access-->  [ forward link ]  -->  receiver  ->  application
//!                          <--access--    [ reverse link ]  <--
//! ```
//!
//! Everything that can act has a wake time in a [`WakeTree`]. What is woken is polled until it says
//! when it wants to be woken next; a packet that leaves a link is given to its endpoint at once,
//! and what the endpoint answers to the other link. A link that was given a packet is polled
//! before time goes on. Nothing here allocates once the queues have found their size.

use std::collections::VecDeque;

use cwndlab_link::{AnyLink, Backlog, Link, LinkEvent};
use cwndlab_tcp::{Endpoint, Segment};
use cwndlab_units::{Bytes, Duration, Ecn, Output, Time};

use crate::application::Application;
use crate::frame::Frame;
use crate::record::FlowRecord;
use crate::recorder::Recorder;
use crate::scenario::{Direction, FlowConfig};
use crate::wake::WakeTree;

/// The direction from the network to the user, as index of its link.
pub(crate) const FORWARD: usize = 0;
/// The direction from the user to the network.
pub(crate) const REVERSE: usize = 1;

/// Means are taken from samples at this distance.
const MEAN_INTERVAL: Duration = Duration::from_millis(10);

/// A run in progress.
pub(crate) struct Engine {
    pub(crate) links: [AnyLink<Frame>; 2],
    /// Links that have something at once since they were given packets, as bits.
    unpolled: u8,
    pub(crate) flows: Vec<Flow>,
    components: Vec<Component>,
    wakes: WakeTree,
    pub(crate) recorder: Recorder,
    sample_interval: Option<Duration>,
    end: Time,
}

/// One connection with its two ends.
pub(crate) struct Flow {
    /// The flow's number in results; in segments it is its index.
    pub(crate) id: u32,
    pub(crate) sender: Endpoint,
    pub(crate) receiver: Endpoint,
    pub(crate) application: Application,
    pub(crate) record: FlowRecord,
    pub(crate) direction: Direction,
    pub(crate) start: Time,
    /// When the application stops, if before the end of the run.
    stop: Option<Time>,
    /// When the receiver had read the last byte.
    pub(crate) completed: Option<Time>,
    has_started: bool,
    is_sender_established: bool,
    is_receiver_established: bool,
    access: Access,
    /// Wake time of the application's component.
    control_wake: Time,
    first_component: usize,
}

/// A delay of one flow's own, in both directions, in which nothing is lost or overtaken.
#[derive(Debug, Default)]
struct Access {
    delay: Duration,
    from_sender: VecDeque<(Time, Segment)>,
    to_sender: VecDeque<(Time, Segment)>,
}

/// What a wake time belongs to. A flow's four follow each other in this order.
#[derive(Clone, Copy, Debug)]
enum Component {
    Link(usize),
    Sender(usize),
    Receiver(usize),
    /// The application's own times, its start and its stop.
    Control(usize),
    Access(usize),
    MeanSampler,
    Sampler,
}

const SENDER: usize = 0;
const RECEIVER: usize = 1;
const CONTROL: usize = 2;
const ACCESS: usize = 3;

impl Flow {
    pub(crate) fn new(
        config: &FlowConfig,
        [sender, receiver]: [Endpoint; 2],
        application: Application,
        warm_up: Duration,
        end: Time,
    ) -> Self {
        let stop = config.stop.filter(|&stop| stop < end);
        Self {
            id: config.id,
            sender,
            receiver,
            application,
            record: FlowRecord::new(config.start + warm_up, stop.unwrap_or(end)),
            direction: config.direction,
            start: config.start,
            stop,
            completed: None,
            has_started: false,
            is_sender_established: false,
            is_receiver_established: false,
            access: Access { delay: config.access_delay, ..Access::default() },
            control_wake: Time::NEVER,
            first_component: 0,
        }
    }

    /// The link that carries the data.
    pub(crate) fn data_link(&self) -> usize {
        match self.direction {
            Direction::Forward => FORWARD,
            Direction::Reverse => REVERSE,
        }
    }

    /// Whether the flow has begun and not ended yet.
    fn is_alive(&self, now: Time) -> bool {
        self.has_started && now <= self.record.window_end
    }

    /// When the flow's control has something to do.
    fn next_control(&self) -> Time {
        if !self.has_started {
            return self.start;
        }
        let mut next = self.application.wake.min(self.stop.unwrap_or(Time::NEVER));
        let record = &self.record;
        if record.offered_at_start.is_none() && record.window().is_some() {
            next = next.min(record.window_start);
        }
        if record.offered_at_end.is_none() {
            next = next.min(record.window_end);
        }
        next
    }
}

impl Engine {
    pub(crate) fn new(
        links: [AnyLink<Frame>; 2],
        mut flows: Vec<Flow>,
        recorder: Recorder,
        sample_interval: Option<Duration>,
        end: Time,
    ) -> Self {
        let mut components = vec![Component::Link(FORWARD), Component::Link(REVERSE)];
        for (index, flow) in flows.iter_mut().enumerate() {
            flow.first_component = components.len();
            components.push(Component::Sender(index));
            components.push(Component::Receiver(index));
            components.push(Component::Control(index));
            components.push(Component::Access(index));
        }
        components.push(Component::MeanSampler);
        components.push(Component::Sampler);
        let wakes = WakeTree::new(components.len());
        Self { links, unpolled: 0, flows, components, wakes, recorder, sample_interval, end }
    }

    /// Runs to the end.
    pub(crate) fn run(&mut self) {
        self.begin();
        while let Some((now, component)) = self.wakes.first(self.end) {
            match self.components[component] {
                Component::Link(link) => self.poll_link(link, now),
                Component::Sender(flow) => self.poll_sender(flow, now),
                Component::Receiver(flow) => self.poll_receiver(flow, now),
                Component::Control(flow) => self.handle_control(flow, now),
                Component::Access(flow) => self.poll_access(flow, now),
                Component::MeanSampler => self.sample_means(now, component),
                Component::Sampler => self.sample(now, component),
            }
            while self.unpolled != 0 {
                self.poll_link(self.unpolled.trailing_zeros() as usize, now);
            }
        }
        for flow in &mut self.flows {
            flow.record.finish();
        }
    }

    fn begin(&mut self) {
        for link in [FORWARD, REVERSE] {
            self.poll_link(link, Time::ZERO);
        }
        for flow in 0..self.flows.len() {
            self.set_control(flow);
        }
        let samplers = self.components.len() - 2;
        self.wakes.set(samplers, Time::ZERO + MEAN_INTERVAL);
        if let Some(interval) = self.sample_interval {
            self.wakes.set(samplers + 1, Time::ZERO + interval);
        }
    }

    /// Polls a link until it has nothing more at this time.
    fn poll_link(&mut self, link: usize, now: Time) {
        self.unpolled &= !(1 << link);
        loop {
            let wake = self.links[link].wake_time();
            if wake > now {
                return self.wakes.set(link, wake);
            }
            match self.links[link].poll(now) {
                Output::Packet { packet, .. } => self.deliver(link, now, &packet.0),
                Output::Event { at, event } => self.handle_link_event(at, &event),
                Output::Wait(wake) => return self.wakes.set(link, wake),
                Output::Idle => return self.wakes.set(link, Time::NEVER),
            }
            self.unpolled &= !(1 << link);
        }
    }

    /// A packet came out of a link.
    #[inline]
    fn deliver(&mut self, link: usize, now: Time, segment: &Segment) {
        let index = segment.flow as usize;
        let flow = &mut self.flows[index];
        if flow.data_link() == link {
            self.give_to_receiver(index, now, segment);
        } else if flow.access.delay == Duration::ZERO {
            self.give_to_sender(index, now, segment);
        } else {
            flow.access.to_sender.push_back((now + flow.access.delay, *segment));
            self.set_access(index);
        }
    }

    fn give_to_receiver(&mut self, index: usize, now: Time, segment: &Segment) {
        let flow = &mut self.flows[index];
        if segment.payload_bytes() > 0 {
            let is_marked = segment.ecn == Ecn::Ce;
            flow.record.handle_arrived(now, segment.wire_bytes(), is_marked);
        }
        flow.receiver.handle_segment(now, segment);
        self.poll_receiver(index, now);
        self.serve_receiver(index, now);
    }

    /// Lets the application act at the receiver.
    fn serve_receiver(&mut self, index: usize, now: Time) {
        let flow = &mut self.flows[index];
        if !flow.is_receiver_established {
            if !flow.receiver.is_established() {
                return;
            }
            flow.is_receiver_established = true;
            flow.application.handle_receiver_established();
        }
        let (read, mut has_acted) = flow.application.act_at_receiver(now, &mut flow.receiver);
        if read > 0 {
            has_acted = true;
            flow.record.handle_read(now, read);
            if flow.application.is_complete && flow.completed.is_none() {
                flow.completed = Some(now);
                flow.record.window_end = flow.record.window_end.min(now);
            }
        }
        let has_ended = flow.completed == Some(now);
        if has_ended || flow.application.wake < flow.control_wake {
            self.set_control(index);
        }
        if has_acted {
            self.poll_receiver(index, now);
        }
    }

    fn give_to_sender(&mut self, index: usize, now: Time, segment: &Segment) {
        let flow = &mut self.flows[index];
        if let Some(recording) = &mut self.recorder.on_demand {
            recording.handle_arrival_at_sender(index, now, segment, &flow.sender);
        }
        flow.sender.handle_segment(now, segment);
        if let Some(rtt_us) = flow.sender.last_rtt_us() {
            flow.record.handle_rtt(now, rtt_us);
        }
        flow.record.handle_ack(segment.ack);
        self.poll_sender(index, now);
        self.serve_sender(index, now);
    }

    /// Lets the application act at the sender.
    fn serve_sender(&mut self, index: usize, now: Time) {
        let flow = &mut self.flows[index];
        if !flow.is_sender_established {
            if !flow.sender.is_established() {
                return;
            }
            flow.is_sender_established = true;
            flow.application.handle_sender_established(now);
        }
        let has_acted = flow.application.act_at_sender(now, &mut flow.sender);
        if flow.application.wake < flow.control_wake {
            self.set_control(index);
        }
        if has_acted {
            self.poll_sender(index, now);
        }
    }

    /// Polls the data sender until it has nothing more at this time.
    fn poll_sender(&mut self, index: usize, now: Time) {
        let flow = &mut self.flows[index];
        let mut has_sent = false;
        let wake = loop {
            match flow.sender.poll(now) {
                Output::Packet { packet, .. } => {
                    let payload_bytes = packet.payload_bytes();
                    if payload_bytes > 0 {
                        flow.record.handle_sent(now, packet.seq, payload_bytes);
                    }
                    if let Some(recording) = &mut self.recorder.on_demand {
                        recording.handle_departure_from_sender(now, &packet);
                    }
                    if flow.access.delay == Duration::ZERO {
                        self.links[flow.data_link()].handle_packet(now, 0, Frame(packet));
                        has_sent = true;
                    } else {
                        flow.access.from_sender.push_back((now + flow.access.delay, packet));
                        let due = flow.access.due();
                        self.wakes.set(flow.first_component + ACCESS, due);
                    }
                }
                Output::Event { at, event } => {
                    if let Some(recording) = &mut self.recorder.on_demand {
                        recording.handle_tcp_event(index, at, &event);
                    }
                }
                Output::Wait(wake) => break wake,
                Output::Idle => break Time::NEVER,
            }
        };
        self.wakes.set(flow.first_component + SENDER, wake);
        if has_sent {
            let link = flow.data_link();
            self.set_link(link, now);
        }
    }

    /// Polls the receiver until it has nothing more at this time.
    fn poll_receiver(&mut self, index: usize, now: Time) {
        let flow = &mut self.flows[index];
        let link = 1 - flow.data_link();
        let mut has_sent = false;
        let wake = loop {
            match flow.receiver.poll(now) {
                Output::Packet { packet, .. } => {
                    self.links[link].handle_packet(now, 0, Frame(packet));
                    has_sent = true;
                }
                Output::Event { .. } => {}
                Output::Wait(wake) => break wake,
                Output::Idle => break Time::NEVER,
            }
        };
        self.wakes.set(flow.first_component + RECEIVER, wake);
        if has_sent {
            self.set_link(link, now);
        }
    }

    /// A link was given packets: when it acts next, or that it must be polled before time goes on.
    #[inline]
    fn set_link(&mut self, link: usize, now: Time) {
        let wake = self.links[link].wake_time();
        if wake > now {
            self.wakes.set(link, wake);
        } else {
            self.unpolled |= 1 << link;
        }
    }

    /// The start, the stop, an end of the window, or a time that the application asked for.
    fn handle_control(&mut self, index: usize, now: Time) {
        let flow = &mut self.flows[index];
        if !flow.has_started {
            flow.has_started = true;
            if flow.application.is_opened_by_receiver() {
                flow.sender.listen();
                flow.receiver.connect(now);
            } else {
                flow.receiver.listen();
                flow.sender.connect(now);
            }
        }
        if flow.application.wake <= now {
            flow.application.handle_wake(now);
        }
        if flow.stop.is_some_and(|stop| stop <= now) {
            flow.stop = None;
            flow.application.stop(now, &mut flow.sender);
        }
        let record = &flow.record;
        if record.offered_at_start.is_none() && record.window_start <= now {
            let offered = self.offered(index, now);
            self.flows[index].record.offered_at_start = Some(offered);
        }
        let record = &self.flows[index].record;
        if record.offered_at_end.is_none() && record.window_end <= now {
            let offered = self.offered(index, now);
            self.flows[index].record.offered_at_end = Some(offered);
        }
        self.set_control(index);
        self.poll_sender(index, now);
        self.serve_sender(index, now);
        self.poll_receiver(index, now);
        self.serve_receiver(index, now);
    }

    /// What each stage in the data's direction could have carried so far.
    fn offered(&mut self, index: usize, now: Time) -> Vec<Option<Bytes>> {
        let link = &mut self.links[self.flows[index].data_link()];
        (0..link.stages()).map(|stage| link.counters(stage, now).offered).collect()
    }

    fn set_control(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.control_wake = flow.next_control();
        self.wakes.set(flow.first_component + CONTROL, flow.control_wake);
    }

    fn poll_access(&mut self, index: usize, now: Time) {
        while let Some(segment) = pop_due(&mut self.flows[index].access.from_sender, now) {
            let link = self.flows[index].data_link();
            self.links[link].handle_packet(now, 0, Frame(segment));
            self.set_link(link, now);
        }
        while let Some(segment) = pop_due(&mut self.flows[index].access.to_sender, now) {
            self.give_to_sender(index, now, &segment);
        }
        self.set_access(index);
    }

    fn set_access(&mut self, index: usize) {
        let flow = &self.flows[index];
        self.wakes.set(flow.first_component + ACCESS, flow.access.due());
    }

    fn sample_means(&mut self, now: Time, component: usize) {
        for flow in &mut self.flows {
            if flow.is_alive(now) {
                flow.record.handle_sample(now, &flow.sender.info());
            }
        }
        self.wakes.set(component, now + MEAN_INTERVAL);
    }

    fn sample(&mut self, now: Time, component: usize) {
        let Some(interval) = self.sample_interval else { return };
        if let Some(recording) = &mut self.recorder.on_demand {
            let queues = [FORWARD, REVERSE].map(|link| backlog(&mut self.links[link], now));
            for flow in self.flows.iter_mut().filter(|flow| flow.is_alive(now)) {
                recording.sample(now, interval, flow, queues[flow.data_link()]);
            }
        }
        self.wakes.set(component, now + interval);
    }

    fn handle_link_event(&mut self, at: Time, event: &LinkEvent) {
        if let Some(recording) = &mut self.recorder.on_demand {
            recording.handle_link_event(at, event);
        }
    }
}

impl Access {
    /// When the next segment leaves either delay.
    fn due(&self) -> Time {
        let head =
            |queue: &VecDeque<(Time, Segment)>| queue.front().map_or(Time::NEVER, |head| head.0);
        head(&self.from_sender).min(head(&self.to_sender))
    }
}

/// What waits in all queues of a link.
fn backlog(link: &mut AnyLink<Frame>, now: Time) -> Backlog {
    let mut sum = Backlog::default();
    for stage in 0..link.stages() {
        let backlog = link.backlog(stage, now);
        sum.packets += backlog.packets;
        sum.bytes += backlog.bytes;
    }
    sum
}

fn pop_due(queue: &mut VecDeque<(Time, Segment)>, now: Time) -> Option<Segment> {
    let (due, _) = queue.front()?;
    if *due > now {
        return None;
    }
    queue.pop_front().map(|(_, segment)| segment)
}
