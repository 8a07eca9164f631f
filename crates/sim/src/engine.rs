//! The event loop of a run: the two directions of a path, and the flows at their ends.
//!
//! If both directions share a medium, the two links in this module are one link with several
//! ports.
//!
//! ```text
//!   application  ->  sender  -->host--access-->  [ forward link ]  ------>  receiver  ->  application
//!                          <-------access---    [ reverse link ]  <--host--
//! ```
//!
//! Every component has a wake time in a [`WakeTree`](crate::wake::WakeTree). A component that is
//! due is polled until its next wake time lies in the future. A packet that leaves a link is
//! passed to its endpoint at once, and the endpoint's answer enters the opposite link at once. A
//! link that received a packet is polled before time advances. The loop allocates no memory once
//! the queues have reached their maximum length.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use cwndlab_host::Lost;
use cwndlab_link::{AnyLink, Direction, Link, LinkEvent};
use cwndlab_scenario::Recording;
use cwndlab_units::{Duration, Output, Time};

use crate::flow::{Flow, Part};
use crate::frame::Frame;
use crate::node::HostNodes;
use crate::path::{Links, Path};
use crate::recorder::Recorder;
use crate::sampling::push_sample;
use crate::wake::NEAR;

/// Interval of the samples from which means over time are computed.
const MEAN_INTERVAL: Duration = Duration::from_millis(10);

/// Slow start thresholds that hosts remember from earlier connections, by direction and user.
pub(crate) type Memory = BTreeMap<(Direction, u16), u32>;

/// A run in progress.
pub(crate) struct Engine<'a> {
    pub(crate) path: Path,
    pub(crate) flows: Vec<Flow>,
    pub(crate) recorder: Recorder,
    components: Vec<Component>,
    sample_interval: Option<Duration>,
    /// End of the warm-up, from which the counters of links start.
    warm_up_end: Time,
    end: Time,
    /// Time of the next samples from which means are computed.
    means_at: Time,
    /// Set by another thread to stop the run.
    stop: &'a AtomicBool,
    /// Slow start thresholds remembered from connections before this run.
    memory: Memory,
}

/// The component to which a wake time belongs; indices below [`NEAR`] belong to the two links
/// instead.
#[derive(Clone, Copy, Debug)]
enum Component {
    /// The end of the warm-up; handled before all flows whose measurement windows begin at the
    /// same time.
    WarmUp,
    Flow(usize, Part),
    /// A host's device.
    HostNode(usize),
    Sampler,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(
        links: Links,
        nodes: HostNodes,
        flows: Vec<Flow>,
        recorder: Recorder,
        sample_interval: Option<Duration>,
        end: Time,
        stop: &'a AtomicBool,
    ) -> Self {
        let mut components = vec![Component::WarmUp];
        for (index, flow) in flows.iter().enumerate() {
            components.extend(flow.parts().iter().map(|&part| Component::Flow(index, part)));
        }
        let first_node = NEAR + components.len();
        components.extend((0..nodes.len()).map(Component::HostNode));
        components.push(Component::Sampler);
        let mut path = Path::new(links, nodes, NEAR + components.len());
        path.connect_nodes(first_node);
        let memory = Memory::new();
        let warm_up_end = Time::ZERO;
        let means_at = Time::ZERO + MEAN_INTERVAL;
        Self {
            path,
            flows,
            recorder,
            components,
            sample_interval,
            warm_up_end,
            end,
            means_at,
            stop,
            memory,
        }
    }

    /// Makes the counters of links start at the end of a warm-up.
    pub(crate) fn after_warm_up(self, warm_up: Duration) -> Self {
        Self { warm_up_end: Time::ZERO + warm_up, ..self }
    }

    /// Sets the slow start thresholds that hosts remember from earlier connections.
    pub(crate) fn remembering(self, memory: Memory) -> Self {
        Self { memory, ..self }
    }

    /// Slow start thresholds that the hosts remember at this time.
    pub(crate) fn memory(&self) -> Memory {
        let mut memory = self.memory.clone();
        for flow in &self.flows {
            memory.extend(self.remembered(flow.hosts()).map(|pkts| (flow.hosts(), pkts)));
        }
        memory
    }

    /// Runs to the end, or until `stop` is set.
    ///
    /// Whenever enough data have been recorded, passes `take` the data recorded since its last
    /// call. The data after the last call of `take` stay in the recorder.
    pub(crate) fn run(&mut self, take: &mut dyn FnMut(Recording)) {
        self.begin();
        while self.run_until_full() {
            take(self.recorder.take());
        }
        for flow in &mut self.flows {
            flow.record.finish();
        }
    }

    /// Runs until enough data have been recorded; returns false at the end of the run, or if
    /// `stop` is set.
    #[inline(never)]
    fn run_until_full(&mut self) -> bool {
        loop {
            let until = self.end.min(self.means_at);
            while let Some((now, component)) = self.path.wakes.first(until) {
                match component {
                    0 | 1 => {
                        let is_first = component == 0;
                        let link = if is_first { Direction::Forward } else { Direction::Reverse };
                        self.poll_link(link, now);
                    }
                    _ => self.wake(component, now),
                }
            }
            if self.means_at > self.end {
                return false;
            }
            self.sample_means();
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            if self.recorder.is_full() {
                return true;
            }
        }
    }

    /// Wakes a component that is not a link.
    #[inline(never)]
    fn wake(&mut self, component: usize, now: Time) {
        match self.components[component - NEAR] {
            Component::WarmUp => {
                self.path.begin_window(now);
                self.path.wakes.set(component, Time::NEVER);
            }
            Component::Flow(index, part) => {
                if part == Part::Control {
                    self.recall(index);
                }
                let flow = &mut self.flows[index];
                flow.handle_wake(part, now, &mut self.path, &mut self.recorder);
            }
            Component::HostNode(number) => self.poll_node(number, now),
            Component::Sampler => self.sample(now, component),
        }
    }

    /// Gives a flow that is about to start the slow start threshold of the last connection that
    /// ended between the same hosts, if the stack caches thresholds.
    fn recall(&mut self, index: usize) {
        if self.flows[index].has_started() {
            return;
        }
        if let Some(pkts) = self.remembered(self.flows[index].hosts()) {
            self.flows[index].sender.remember_ssthresh(pkts);
        }
    }

    fn remembered(&self, hosts: (Direction, u16)) -> Option<u32> {
        let ended = self.flows.iter().filter(|flow| flow.hosts() == hosts && flow.has_ended());
        match ended.max_by_key(|flow| (flow.start, flow.id)) {
            Some(last) => last.sender.ssthresh_to_remember(),
            None => self.memory.get(&hosts).copied(),
        }
    }

    fn begin(&mut self) {
        for direction in Direction::BOTH {
            self.path.settle(direction, Time::ZERO);
        }
        for (component, entry) in (NEAR..).zip(&self.components) {
            match *entry {
                Component::Flow(index, Part::Sender) => {
                    self.flows[index].begin(component - NEAR, &mut self.path);
                }
                Component::WarmUp if self.warm_up_end > Time::ZERO => {
                    self.path.wakes.set(component, self.warm_up_end);
                }
                Component::Sampler => {
                    let first = self.sample_interval.map_or(Time::NEVER, |i| Time::ZERO + i);
                    self.path.wakes.set(component, first);
                }
                Component::WarmUp | Component::Flow(..) | Component::HostNode(_) => {}
            }
        }
    }

    /// Polls a link that is due until the link has no further output at this time; delivers the
    /// output to the flows.
    ///
    /// In most cases, the output is a single packet of a wire.
    #[inline(always)]
    fn poll_link(&mut self, link: Direction, now: Time) {
        if let AnyLink::Wire(wire) = &mut self.path.links[link as usize]
            && wire.has_arrived(now)
        {
            let mut arrived = None;
            wire.move_arrived(&mut arrived);
            self.path.wakes.set_near(link as usize, wire.wake_time());
            self.deliver(link, now, arrived.as_ref());
        }
        if self.path.wakes.near(link as usize) <= now {
            self.drain_link(link, now);
        }
        self.path.settle_nodes_behind(link, now);
    }

    /// Does the same as [`Self::poll_link`], but handles more than one packet of a wire.
    ///
    /// This function contains a second compiled copy of the flow's code, so that
    /// [`Self::poll_link`] needs fewer registers.
    #[inline(never)]
    fn drain_link(&mut self, link: Direction, now: Time) {
        let mut arrived = None;
        loop {
            let direction;
            match &mut self.path.links[link as usize] {
                AnyLink::Wire(wire) if wire.has_arrived(now) => {
                    direction = link;
                    wire.move_arrived(&mut arrived);
                    self.path.wakes.set_near(link as usize, wire.wake_time());
                }
                AnyLink::Cell(cell) if cell.has_packet(now) => {
                    direction = Path::direction(link, cell.move_packet(&mut arrived).1);
                    self.path.settle(link, now);
                }
                AnyLink::Wifi(_) => return self.drain_channel(link, now),
                _ => {
                    direction = self.poll_output(link, now, &mut arrived);
                    self.path.settle(link, now);
                }
            }
            self.deliver(direction, now, arrived.as_ref());
            if self.path.wakes.near(link as usize) > now {
                break;
            }
        }
    }

    /// Does the same as [`Self::drain_link`] for a Wi-Fi channel, which delivers the packets of a
    /// frame as a train.
    #[inline(never)]
    fn drain_channel(&mut self, link: Direction, now: Time) {
        loop {
            let AnyLink::Wifi(channel) = &mut self.path.links[link as usize] else { return };
            if let Some((port, packets)) = channel.first_train() {
                self.deliver_train(link, Path::direction(link, port), packets, now);
            } else if let Some((at, event)) = channel.pop_event(now) {
                self.record_link_event(at, &event);
            } else if !channel.act_to_output(now) {
                self.path.wakes.set_near(link as usize, channel.wake_time());
                return;
            }
        }
    }

    /// Delivers the packets of a train to their flows.
    ///
    /// A flow usually answers only after the last of its consecutive packets in the train.
    #[inline(always)]
    fn deliver_train(&mut self, link: Direction, direction: Direction, packets: u32, now: Time) {
        let mut arrived = None;
        // The flow that has not answered yet.
        let mut waiting: Option<usize> = None;
        for _ in 0..packets {
            let AnyLink::Wifi(channel) = &mut self.path.links[link as usize] else { return };
            channel.move_packet(&mut arrived);
            let Some(Frame(segment)) = &arrived else { continue };
            let index = segment.flow as usize;
            let (path, recorder) = (&mut self.path, &mut self.recorder);
            if let Some(other) = waiting
                && other != index
            {
                self.flows[other].answer_train(direction, now, path);
            }
            let flow = &mut self.flows[index];
            let waits = flow.handle_segment_of_train(direction, now, segment, path, recorder);
            waiting = waits.then_some(index);
        }
        if let Some(index) = waiting {
            self.flows[index].answer_train(direction, now, &mut self.path);
        }
    }

    /// Delivers a segment that left a link, if there is one, to its flow.
    #[inline(always)]
    fn deliver(&mut self, direction: Direction, now: Time, arrived: Option<&Frame>) {
        if let Some(Frame(segment)) = arrived {
            let flow = &mut self.flows[segment.flow as usize];
            let (path, recorder) = (&mut self.path, &mut self.recorder);
            flow.handle_segment(direction, now, segment, path, recorder);
        }
    }

    fn record_link_event(&mut self, at: Time, event: &LinkEvent) {
        if let Some(recording) = &mut self.recorder.on_demand {
            recording.handle_link_event(at, event);
        }
    }

    /// Moves the next packet that leaves a link to `arrived`, or records the event that the link
    /// reports.
    ///
    /// Returns the direction of the packet.
    #[inline(never)]
    fn poll_output(
        &mut self,
        link: Direction,
        now: Time,
        arrived: &mut Option<Frame>,
    ) -> Direction {
        *arrived = None;
        match self.path.links[link as usize].poll(now) {
            Some(Output::Packet { port, packet, .. }) => {
                *arrived = Some(packet);
                return Path::direction(link, port);
            }
            Some(Output::Event { at, event }) => self.record_link_event(at, &event),
            None => {}
        }
        link
    }

    /// Passes on the segments that have left a host's device, and delivers the segments that the
    /// device has received.
    fn poll_node(&mut self, number: usize, now: Time) {
        while let Some(segment) = self.path.poll_received(number, now) {
            let flow = &mut self.flows[segment.flow as usize];
            flow.handle_received(number, now, &segment, &mut self.path, &mut self.recorder);
        }
        let direction_behind = self.path.nodes.direction_behind(number);
        while let Some(output) = self.path.poll_node(number, now) {
            let (path, recorder) = (&mut self.path, &mut self.recorder);
            match output {
                Output::Packet { packet: Frame(segment), .. } => {
                    let flow = &mut self.flows[segment.flow as usize];
                    if let Some(direction) = direction_behind {
                        flow.handle_beyond_line(direction, now, &segment, path, recorder);
                    } else {
                        flow.handle_departed(number, now, &segment, path, recorder);
                    }
                }
                Output::Event { event: Lost(Frame(segment)), .. } => {
                    let flow = &mut self.flows[segment.flow as usize];
                    flow.release(number, now, &segment, path, recorder);
                }
            }
        }
        self.path.settle_node(number, now);
    }

    /// Takes samples for means if they are due, after all other events at the same time.
    #[inline(never)]
    fn sample_means(&mut self) {
        let now = self.means_at;
        for flow in &mut self.flows {
            if flow.has_connected() {
                let (cwnd_pkts, srtt_us) = flow.sender.cwnd_and_srtt();
                flow.record.handle_sample(now, cwnd_pkts, srtt_us);
            }
        }
        self.means_at = now + MEAN_INTERVAL;
    }

    fn sample(&mut self, now: Time, component: usize) {
        let Some(interval) = self.sample_interval else { return };
        let on_demand = self.recorder.on_demand.as_mut();
        if let Some(samples) = on_demand.and_then(|recorded| recorded.samples.as_mut()) {
            for flow in self.flows.iter_mut().filter(|flow| flow.is_alive(now)) {
                let queue = self.path.backlog(flow.direction, flow.user, now);
                let host_queue = flow.attachment.nodes[0].map(|node| self.path.waiting_in(node));
                push_sample(samples, now, interval, flow, queue, host_queue);
            }
        }
        self.path.wakes.set(component, now + interval);
    }
}
