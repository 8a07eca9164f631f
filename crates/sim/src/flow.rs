//! One connection: two endpoints, the application at both of them, and the flow's own access delay.

use std::collections::VecDeque;

use cwndlab_link::{Admission, Direction};
use cwndlab_packet::{Flags, SackBlocks, Segment};
use cwndlab_scenario::{Application, Datagram, FlowConfig, FlowRecord, Outcome};
use cwndlab_tcp::{Endpoint, Polled, TcpOutput, Train};
use cwndlab_units::{Duration, Ecn, Time};

use crate::ingress::Ingress;
use crate::path::Path;
use crate::recorder::Recorder;
use crate::socket::Socket;

/// One connection with its two ends.
#[derive(Debug)]
pub(crate) struct Flow {
    /// The flow's number in results; in segments it is its index.
    pub(crate) id: u32,
    index: usize,
    pub(crate) sender: Endpoint,
    pub(crate) receiver: Endpoint,
    application: Application,
    pub(crate) record: FlowRecord,
    /// The way of the data.
    pub(crate) direction: Direction,
    /// The user's port on a shared medium.
    pub(crate) user: u16,
    data_ingress: Ingress,
    ack_ingress: Ingress,
    pub(crate) start: Time,
    /// When the application stops, if before the end of the run.
    stop: Option<Time>,
    /// When the receiver had read the last byte.
    pub(crate) completed: Option<Time>,
    has_started: bool,
    is_sender_established: bool,
    is_receiver_established: bool,
    /// The receiver's application has begun and does nothing but read what comes.
    is_reading_at_once: bool,
    access: Access,
    /// The devices of the sender and of the receiver.
    pub(crate) nodes: [Option<usize>; 2],
    /// The devices through which data and ACKs come in: at the sender, and at the receiver.
    pub(crate) receive_lines: Option<[Option<usize>; 2]>,
    /// Segments that the sender sent all the same, and its device lost.
    dropped_by_host: u64,
    /// Whether nothing stands between the sender and the path: neither a device nor a delay.
    is_direct: bool,
    /// The same of the receiver, and whether what comes are segments.
    is_receiver_direct: bool,
    /// How long after data have come the receiver's application reads, and when it does next.
    reading_delay: Duration,
    reading: Time,
    /// How long it takes to read, and until when it is awake as it has just read.
    read_time: Duration,
    awake_until: Time,
    /// Wake time of the control component.
    control_wake: Time,
    first_leaf: usize,
}

/// A delay of one flow's own, in both directions, in which nothing is lost or overtaken.
#[derive(Debug, Default)]
struct Access {
    delay: Duration,
    from_sender: VecDeque<(Time, Segment)>,
    to_sender: VecDeque<(Time, Segment)>,
}

/// The sender's place among the nodes, and the receiver's.
const SENDER: usize = 0;
const RECEIVER: usize = 1;

/// A flow's components, in the order of their indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// The data sender's endpoint.
    Sender,
    /// The receiver's endpoint.
    Receiver,
    /// The application's own times, its start and its stop.
    Control,
    /// The access delay.
    Access,
}

impl Part {
    const ALL: [Self; 4] = [Self::Sender, Self::Receiver, Self::Control, Self::Access];
}

impl Flow {
    /// The flow of this index.
    pub(crate) fn new(
        config: &FlowConfig,
        index: usize,
        [sender, receiver]: [Endpoint; 2],
        application: Application,
        warm_up: Duration,
        end: Time,
    ) -> Self {
        let stop = config.stop.filter(|&stop| stop < end);
        let is_of_datagrams = application.is_of_datagrams();
        Self {
            id: config.id,
            index,
            sender,
            receiver,
            application,
            record: FlowRecord::new(config.start + warm_up, stop.unwrap_or(end)),
            direction: config.direction,
            user: config.user.get(),
            data_ingress: Ingress::default(),
            ack_ingress: Ingress::default(),
            start: config.start,
            stop,
            completed: None,
            has_started: false,
            is_sender_established: false,
            is_receiver_established: false,
            is_reading_at_once: false,
            access: Access { delay: config.access_delay, ..Access::default() },
            nodes: [None; 2],
            receive_lines: None,
            dropped_by_host: 0,
            is_direct: config.sender.host.is_none() && config.access_delay == Duration::ZERO,
            is_receiver_direct: config.receiver.host.is_none() && !is_of_datagrams,
            reading_delay: config.receiver.host.map_or(Duration::ZERO, |host| host.wake_time),
            reading: Time::NEVER,
            read_time: config.receiver.host.map_or(Duration::ZERO, |host| host.read_time),
            awake_until: Time::ZERO,
            control_wake: Time::NEVER,
            first_leaf: 0,
        }
    }

    /// Takes the flow's places among the components, and waits for its start.
    pub(crate) fn begin(&mut self, first_leaf: usize, path: &mut Path) {
        self.first_leaf = first_leaf;
        self.data_ingress = path.ingress(self.direction, self.user);
        self.ack_ingress = path.ingress(self.direction.opposite(), self.user);
        self.set_control(path);
    }

    /// The components that the flow has; the last, its access delay, only if that takes time.
    pub(crate) fn parts(&self) -> &'static [Part] {
        if self.access.delay > Duration::ZERO { &Part::ALL } else { &Part::ALL[..3] }
    }

    pub(crate) fn has_started(&self) -> bool {
        self.has_started
    }

    /// The device through which what went this way comes in, if that takes time.
    #[inline]
    pub(crate) fn receive_line(&self, direction: Direction) -> Option<usize> {
        self.receive_lines?[usize::from(direction == self.direction)]
    }

    /// Which host sends to which: the way of the data and the user.
    pub(crate) fn hosts(&self) -> (Direction, u16) {
        (self.direction, self.user)
    }

    /// How often the sender's device had no room, if it has one.
    pub(crate) fn host_refusals(&self) -> Option<u64> {
        let refusals = self.sender.counters().refusals;
        self.nodes[SENDER].map(|_| refusals + self.dropped_by_host)
    }

    /// Whether the connection is closed.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_started && self.sender.is_closed() && !self.application.is_of_datagrams()
    }

    /// Whether the flow has a sender of TCP that has begun and not ended yet.
    pub(crate) fn is_alive(&self, now: Time) -> bool {
        let is_running = self.has_started && now <= self.record.window_end();
        is_running && !self.application.is_of_datagrams()
    }

    /// What the application's user noticed.
    pub(crate) fn outcome(&self) -> Outcome {
        let (window_start, window_end) = (self.record.window_start(), self.record.window_end());
        self.application.outcome(self.start, window_start, window_end)
    }

    /// A part's time has come.
    pub(crate) fn handle_wake(
        &mut self,
        part: Part,
        now: Time,
        path: &mut Path,
        recorder: &mut Recorder,
    ) {
        self.tell_room(now, path);
        match part {
            Part::Sender => self.poll_sender(now, path, recorder),
            Part::Receiver => self.poll_receiver(now, path),
            Part::Control => self.handle_control(now, path, recorder),
            Part::Access => self.poll_access(now, path, recorder),
        }
    }

    /// A segment came to its end in one of the directions.
    #[inline(always)]
    pub(crate) fn handle_segment(
        &mut self,
        direction: Direction,
        now: Time,
        segment: &Segment,
        path: &mut Path,
        recorder: &mut Recorder,
    ) {
        if direction == self.direction {
            if segment.payload_bytes() > 0 {
                let is_marked = segment.ecn == Ecn::Ce;
                self.record.handle_arrived(now, segment.wire_bytes(), is_marked);
            }
            if !self.is_receiver_direct && self.defer(RECEIVER, now, segment, path) {
                return;
            }
            self.give_to_receiver(now, segment, path);
        } else if self.is_direct {
            self.give_to_sender(now, segment, path, recorder);
        } else {
            self.handle_indirect(now, segment, path, recorder);
        }
    }

    /// A segment for a sender that is not at the path itself.
    #[inline(never)]
    fn handle_indirect(
        &mut self,
        now: Time,
        segment: &Segment,
        path: &mut Path,
        recorder: &mut Recorder,
    ) {
        if self.access.delay > Duration::ZERO {
            self.access.to_sender.push_back((now + self.access.delay, *segment));
            self.set_access(path);
        } else if !self.defer(SENDER, now, segment, path) {
            self.give_to_sender(now, segment, path, recorder);
        }
    }

    /// Gives what comes from the link to the end's device, which hands it over later, or a datagram to
    /// the application. Returns whether one of them took it; if not, it is for TCP now.
    #[inline(never)]
    fn defer(&mut self, end: usize, now: Time, segment: &Segment, path: &mut Path) -> bool {
        if self.application.is_of_datagrams() {
            self.application.handle_datagram(now, segment.seq);
            self.record.handle_read(now, u64::from(segment.payload));
            return true;
        }
        let Some(node) = self.nodes[end] else { return false };
        let is_later = path.receive(node, now, segment);
        if !is_later {
            self.tell_room(now, path);
        }
        is_later
    }

    /// A device hands over what it has received.
    pub(crate) fn handle_received(
        &mut self,
        node: usize,
        now: Time,
        segment: &Segment,
        path: &mut Path,
        recorder: &mut Recorder,
    ) {
        self.tell_room(now, path);
        if self.nodes[RECEIVER] == Some(node) {
            self.give_to_receiver(now, segment, path);
        } else {
            self.give_to_sender(now, segment, path, recorder);
        }
    }

    /// Tells both ends what their devices take, before they send.
    fn tell_room(&mut self, now: Time, path: &mut Path) {
        for (node, end) in self.nodes.iter().zip([&mut self.sender, &mut self.receiver]) {
            if let Some(node) = *node {
                end.set_room(path.room(node, self.index, now));
            }
        }
    }

    /// A segment has left the device of one of the ends.
    pub(crate) fn handle_departed(
        &mut self,
        node: usize,
        now: Time,
        segment: &Segment,
        path: &mut Path,
        recorder: &mut Recorder,
    ) {
        let is_receivers = self.nodes[RECEIVER] == Some(node);
        if is_receivers {
            path.send_alone(self.ack_ingress, now, segment);
        } else if self.access.delay == Duration::ZERO {
            path.send_alone(self.data_ingress, now, segment);
        } else {
            self.access.from_sender.push_back((now + self.access.delay, *segment));
            self.set_access(path);
        }
        self.release(node, now, segment, path, recorder);
    }

    /// A segment is no longer in the device of one of the ends, which may go on sending.
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
        if self.nodes[RECEIVER] == Some(node) {
            if self.receiver.handle_departure(now) {
                self.poll_receiver(now, path);
            }
        } else if self.sender.handle_departure(now) {
            self.poll_sender(now, path, recorder);
        }
    }

    /// The data sender gets a segment, its application writes, and what both answer is sent.
    #[inline(always)]
    fn give_to_sender(
        &mut self,
        now: Time,
        segment: &Segment,
        path: &mut Path,
        recorder: &mut Recorder,
    ) {
        if let Some(recording) = &mut recorder.on_demand {
            recording.handle_arrival_at_sender(self.index, now, segment, &self.sender);
        }
        self.sender.handle_segment(now, segment);
        if let Some(rtt_us) = self.sender.last_rtt_us() {
            self.record.handle_rtt(now, rtt_us);
        }
        self.record.handle_ack(segment.ack);
        self.serve_sender(now, path, recorder);
    }

    /// The receiver gets a segment, and its application reads: at once, or when it is awake.
    #[inline(always)]
    fn give_to_receiver(&mut self, now: Time, segment: &Segment, path: &mut Path) {
        if self.is_reading_at_once {
            let (read, has_finished) = self.receiver.handle_segment_and_read(now, segment);
            if read > 0 {
                self.record.handle_read(now, read);
            }
            if has_finished {
                self.is_reading_at_once = false;
                return self.serve_receiver(now, path);
            }
            return self.poll_receiver(now, path);
        }
        self.receiver.handle_segment(now, segment);
        if self.reading_delay == Duration::ZERO {
            self.serve_receiver(now, path);
        } else {
            self.wake_receiver(now, path);
        }
    }

    /// The application at the receiver is woken, if it waits for what has come.
    #[inline(never)]
    fn wake_receiver(&mut self, now: Time, path: &mut Path) {
        let has_news = self.receiver.readable() > 0 || self.receiver.peer_has_finished();
        if !has_news || !self.is_receiver_established {
            self.serve_receiver(now, path);
            return;
        }
        if self.reading.is_never() {
            let is_awake = now < self.awake_until;
            self.reading = if is_awake { self.awake_until } else { now + self.reading_delay };
            self.set_control(path);
        }
        self.poll_receiver(now, path);
    }

    /// Lets the application act at the receiver, then polls it.
    #[inline(always)]
    fn serve_receiver(&mut self, now: Time, path: &mut Path) {
        self.reading = Time::NEVER;
        if !self.is_receiver_established && self.receiver.is_established() {
            self.is_receiver_established = true;
            self.application.handle_receiver_established(now);
            self.is_reading_at_once =
                self.reading_delay == Duration::ZERO && self.application.only_reads();
        }
        if self.is_receiver_established {
            let read = self.application.act_at_receiver(now, &mut Socket(&mut self.receiver));
            if read > 0 {
                self.awake_until = now + self.read_time;
                self.record.handle_read(now, read);
            }
            if self.application.is_complete() && self.completed.is_none() {
                self.completed = Some(now);
                self.record.end_window(now);
                self.set_control(path);
            } else if self.application.wake_time() < self.control_wake {
                self.set_control(path);
            }
        }
        self.poll_receiver(now, path);
    }

    /// Lets the application act at the data sender, then polls it.
    #[inline(always)]
    fn serve_sender(&mut self, now: Time, path: &mut Path, recorder: &mut Recorder) {
        if !self.is_sender_established && self.sender.is_established() {
            self.is_sender_established = true;
            self.application.handle_sender_established(now);
        }
        if self.is_sender_established {
            self.application.act_at_sender(now, &mut Socket(&mut self.sender));
            if self.application.wake_time() < self.control_wake {
                self.set_control(path);
            }
        }
        self.poll_sender(now, path, recorder);
    }

    /// Polls the data sender until it has nothing more at this time.
    #[inline(always)]
    fn poll_sender(&mut self, now: Time, path: &mut Path, recorder: &mut Recorder) {
        let mut is_unsettled = false;
        let Polled { outputs, next } = self.sender.poll(now);
        for output in outputs {
            match output {
                TcpOutput::Train(train) => {
                    let Train { first, count } = train;
                    let payload_bytes = first.payload_bytes();
                    if payload_bytes > 0 {
                        self.record.handle_train(now, first.seq, payload_bytes, *count);
                    }
                    if let Some(recording) = &mut recorder.on_demand {
                        for segment in train.segments() {
                            recording.handle_departure_from_sender(now, &segment);
                        }
                    }
                    if self.is_direct {
                        is_unsettled |= path.send(self.data_ingress, now, first, *count);
                        continue;
                    }
                    is_unsettled = true;
                    for segment in train.segments() {
                        if let Some(node) = self.nodes[SENDER] {
                            let admission = path.send_to_node(node, now, &segment);
                            self.dropped_by_host += u64::from(admission == Admission::Dropped);
                        } else {
                            self.access.from_sender.push_back((now + self.access.delay, segment));
                        }
                    }
                }
                TcpOutput::Event { at, event } => {
                    if let Some(recording) = &mut recorder.on_demand {
                        recording.handle_tcp_event(self.index, *at, event);
                    }
                }
            }
        }
        path.wakes.set_leaf(self.leaf(Part::Sender), next);
        if is_unsettled {
            if self.is_direct {
                path.settle(self.data_ingress.link, now);
            } else if let Some(node) = self.nodes[SENDER] {
                path.settle_node(node, now);
            } else {
                self.set_access(path);
            }
        }
    }

    /// Polls the receiver until it has nothing more at this time.
    #[inline(always)]
    fn poll_receiver(&mut self, now: Time, path: &mut Path) {
        let mut is_unsettled = false;
        let Polled { outputs, next } = self.receiver.poll(now);
        for output in outputs {
            if let TcpOutput::Train(train) = output {
                match self.nodes[RECEIVER] {
                    None => {
                        let Train { first, count } = train;
                        is_unsettled |= path.send(self.ack_ingress, now, first, *count);
                    }
                    Some(node) => {
                        for segment in train.segments() {
                            path.send_to_node(node, now, &segment);
                        }
                        is_unsettled = true;
                    }
                }
            }
        }
        path.wakes.set_leaf(self.leaf(Part::Receiver), next);
        if is_unsettled {
            match self.nodes[RECEIVER] {
                None => {
                    path.settle(self.ack_ingress.link, now);
                }
                Some(node) => path.settle_node(node, now),
            }
        }
    }

    /// The start, the stop, an end of the window, or a time that the application asked for.
    fn handle_control(&mut self, now: Time, path: &mut Path, recorder: &mut Recorder) {
        if self.application.is_of_datagrams() {
            self.control_datagrams(now, path);
            return;
        }
        if !self.has_started {
            self.has_started = true;
            if self.application.is_opened_by_receiver() {
                self.sender.listen();
                self.receiver.connect(now);
            } else {
                self.receiver.listen();
                self.sender.connect(now);
            }
        }
        if self.application.wake_time() <= now {
            self.application.handle_wake(now);
        }
        if self.stop.is_some_and(|stop| stop <= now) {
            self.stop = None;
            self.application.stop(now, &mut Socket(&mut self.sender));
        }
        if self.reading <= now {
            self.serve_receiver(now, path);
        }
        self.handle_offered(now, path);
        self.set_control(path);
        self.serve_sender(now, path, recorder);
        self.serve_receiver(now, path);
    }

    /// The same of a flow of datagrams.
    fn control_datagrams(&mut self, now: Time, path: &mut Path) {
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
        if self.is_direct {
            path.send_alone(self.data_ingress, now, &segment);
        } else if let Some(node) = self.nodes[SENDER] {
            let admission = path.send_to_node(node, now, &segment);
            self.dropped_by_host += u64::from(admission == Admission::Dropped);
            path.settle_node(node, now);
        } else {
            self.access.from_sender.push_back((now + self.access.delay, segment));
            self.set_access(path);
        }
    }

    fn handle_offered(&mut self, now: Time, path: &mut Path) {
        let (direction, user) = (self.direction, self.user);
        self.record.handle_offered(now, || path.offered(direction, user, now));
    }

    fn set_control(&mut self, path: &mut Path) {
        self.control_wake = self.next_control();
        path.wakes.set_leaf(self.leaf(Part::Control), self.control_wake);
    }

    /// When the flow's control has something to do.
    fn next_control(&self) -> Time {
        if !self.has_started {
            return self.start;
        }
        let mut next = self.application.wake_time().min(self.stop.unwrap_or(Time::NEVER));
        next = next.min(self.reading);
        next.min(self.record.next_offered())
    }

    /// What has crossed the access delay goes on.
    fn poll_access(&mut self, now: Time, path: &mut Path, recorder: &mut Recorder) {
        while let Some(segment) = pop_due(&mut self.access.from_sender, now) {
            path.send_alone(self.data_ingress, now, &segment);
        }
        while let Some(segment) = pop_due(&mut self.access.to_sender, now) {
            if !self.defer(SENDER, now, &segment, path) {
                self.give_to_sender(now, &segment, path, recorder);
            }
        }
        self.set_access(path);
    }

    fn set_access(&self, path: &mut Path) {
        path.wakes.set_leaf(self.leaf(Part::Access), self.access.due());
    }

    #[inline]
    fn leaf(&self, part: Part) -> usize {
        self.first_leaf + part as usize
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

fn pop_due(queue: &mut VecDeque<(Time, Segment)>, now: Time) -> Option<Segment> {
    let (due, _) = queue.front()?;
    if *due > now {
        return None;
    }
    queue.pop_front().map(|(_, segment)| segment)
}
