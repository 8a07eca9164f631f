//! One connection of a run: two endpoints, the application at both of them, and the flow's access
//! delay.

mod attachment;
mod datagrams;
mod indirect;
mod reading;
mod trains;

use cwndlab_link::Direction;
use cwndlab_packet::Segment;
use cwndlab_scenario::{Application, FlowConfig, FlowRecord, Outcome};
use cwndlab_tcp::{Endpoint, Polled, TcpOutput, Train};
use cwndlab_units::{Duration, Ecn, Time};

use crate::path::Path;
use crate::recorder::Recorder;
use crate::socket::Socket;
use attachment::{Attachment, RECEIVER, SENDER};
use reading::Reading;

/// One connection of a run, with its two ends.
#[derive(Debug)]
pub(crate) struct Flow {
    /// The flow's number in results. Segments contain the flow's index instead.
    pub(crate) id: u32,
    index: usize,
    pub(crate) sender: Endpoint,
    pub(crate) receiver: Endpoint,
    application: Application,
    pub(crate) record: FlowRecord,
    /// Direction of the data.
    pub(crate) direction: Direction,
    /// The user's port on a shared medium.
    pub(crate) user: u16,
    pub(crate) start: Time,
    /// Time at which the application stops, if this is before the end of the run.
    stop: Option<Time>,
    /// Time at which the receiver had read the last byte.
    pub(crate) completed: Option<Time>,
    has_started: bool,
    is_sender_established: bool,
    is_receiver_established: bool,
    /// How the two ends are attached to the path.
    pub(crate) attachment: Attachment,
    /// When the application at the receiver reads.
    reading: Reading,
    /// Wake time of the flow's component [`Part::Control`].
    control_wake: Time,
    first_leaf: usize,
}

/// The components of a flow, in the order of their indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// The TCP endpoint of the data sender.
    Sender,
    /// The receiver's endpoint.
    Receiver,
    /// Times at which the application acts without input, including its start and stop.
    Control,
    /// The access delay.
    Access,
}

impl Part {
    const ALL: [Self; 4] = [Self::Sender, Self::Receiver, Self::Control, Self::Access];
}

impl Flow {
    /// Creates the flow with this index.
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
            start: config.start,
            stop,
            completed: None,
            has_started: false,
            is_sender_established: false,
            is_receiver_established: false,
            attachment: Attachment::new(config, is_of_datagrams),
            reading: Reading::new(config.receiver.host),
            control_wake: Time::NEVER,
            first_leaf: 0,
        }
    }

    /// Assigns the flow's components their leaves in the wake tree, and schedules the start of the
    /// flow.
    pub(crate) fn begin(&mut self, first_leaf: usize, path: &mut Path) {
        self.first_leaf = first_leaf;
        self.attachment.data_ingress = path.ingress(self.direction, self.user);
        self.attachment.ack_ingress = path.ingress(self.direction.opposite(), self.user);
        self.set_control(path);
    }

    /// Number of the flow's components; the last component, the access delay, exists only if the
    /// delay is not zero.
    pub(crate) fn parts(&self) -> &'static [Part] {
        if self.attachment.access.delay > Duration::ZERO { &Part::ALL } else { &Part::ALL[..3] }
    }

    pub(crate) fn has_started(&self) -> bool {
        self.has_started
    }

    /// Identifies the two hosts of the flow: direction of the data, and user.
    pub(crate) fn hosts(&self) -> (Direction, u16) {
        (self.direction, self.user)
    }

    /// Whether the connection is closed.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_started && self.sender.is_closed() && !self.application.is_of_datagrams()
    }

    /// Whether the handshake of the TCP sender was completed, even if the connection has ended since.
    pub(crate) fn has_connected(&self) -> bool {
        self.is_sender_established && !self.application.is_of_datagrams()
    }

    /// Whether the TCP sender has started and the measurement window has not ended.
    pub(crate) fn is_alive(&self, now: Time) -> bool {
        self.has_started && !self.application.is_of_datagrams() && now <= self.record.window_end()
    }

    /// The application's results from the user's point of view.
    pub(crate) fn outcome(&self) -> Outcome {
        let (window_start, window_end) = (self.record.window_start(), self.record.window_end());
        self.application.outcome(self.start, window_start, window_end)
    }

    /// Handles the wake time of one of the flow's components.
    pub(crate) fn handle_wake(
        &mut self,
        part: Part,
        now: Time,
        path: &mut Path,
        recorder: &mut Recorder,
    ) {
        self.tell_room(now, path);
        match part {
            Part::Sender => self.poll_sender_apart(now, path, recorder),
            Part::Receiver => self.poll_receiver_apart(now, path),
            Part::Control => self.handle_control(now, path, recorder),
            Part::Access => self.poll_access(now, path, recorder),
        }
    }

    /// Delivers a segment to the end of the flow that receives it.
    #[inline(always)]
    pub(crate) fn handle_segment(
        &mut self,
        direction: Direction,
        now: Time,
        segment: &Segment,
        path: &mut Path,
        recorder: &mut Recorder,
    ) {
        let is_data = direction == self.direction;
        if is_data && self.attachment.is_receiver_direct {
            self.record_arrival(now, segment);
            self.serve_at_receiver(now, segment, path);
        } else if !is_data && self.attachment.is_direct {
            self.serve_at_sender(now, segment, path, recorder);
        } else if !self.enter_line(direction, now, segment, path) {
            self.handle_beyond_line(direction, now, segment, path, recorder);
        }
    }

    /// Passes a segment to the receiver, and sends the receiver's answer.
    #[inline(always)]
    fn serve_at_receiver(&mut self, now: Time, segment: &Segment, path: &mut Path) {
        if self.give_to_receiver(now, segment, path) {
            self.poll_receiver(now, path);
        }
    }

    /// Passes a segment to the data sender, and sends the sender's answer.
    #[inline(always)]
    fn serve_at_sender(
        &mut self,
        now: Time,
        segment: &Segment,
        path: &mut Path,
        recorder: &mut Recorder,
    ) {
        self.give_to_sender(now, segment, path, recorder);
        self.poll_sender(now, path, recorder);
    }

    /// Records the arrival of a segment at the receiver's interface.
    #[inline(always)]
    fn record_arrival(&mut self, now: Time, segment: &Segment) {
        if segment.payload_bytes() > 0 {
            let is_marked = segment.ecn == Ecn::Ce;
            self.record.handle_arrived(now, segment.wire_bytes(), is_marked);
        }
    }

    /// Passes a segment to the data sender, and lets its application write.
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
        self.act_at_sender(now, path);
    }

    /// Passes a segment to the receiver, and lets the application read, either at once or after
    /// its wake-up delay.
    ///
    /// Returns whether the caller must still poll the receiver.
    #[inline(always)]
    fn give_to_receiver(&mut self, now: Time, segment: &Segment, path: &mut Path) -> bool {
        if self.reading.is_at_once {
            let (read, has_finished) = self.receiver.handle_segment_and_read(now, segment);
            self.record.handle_read(now, read);
            if !has_finished {
                return true;
            }
            self.reading.is_at_once = false;
            self.serve_receiver(now, path);
            return false;
        }
        self.receiver.handle_segment(now, segment);
        if self.reading.delay == Duration::ZERO {
            self.serve_receiver(now, path);
        } else {
            self.wake_receiver(now, path);
        }
        false
    }

    /// Wakes the receiver's application if it is waiting for the data that arrived.
    #[inline(never)]
    fn wake_receiver(&mut self, now: Time, path: &mut Path) {
        let has_news = self.receiver.readable() > 0 || self.receiver.peer_has_finished();
        if !has_news || !self.is_receiver_established {
            self.serve_receiver(now, path);
            return;
        }
        if self.reading.next.is_never() {
            let is_awake = now < self.reading.awake_until;
            self.reading.next =
                if is_awake { self.reading.awake_until } else { now + self.reading.delay };
            self.set_control(path);
        }
        self.poll_receiver_apart(now, path);
    }

    /// Lets the application act at the receiver, and then polls the receiver.
    #[inline(never)]
    fn serve_receiver(&mut self, now: Time, path: &mut Path) {
        self.reading.next = Time::NEVER;
        if !self.is_receiver_established && self.receiver.is_established() {
            self.is_receiver_established = true;
            self.application.handle_receiver_established(now);
            self.reading.is_at_once =
                self.reading.delay == Duration::ZERO && self.application.only_reads();
        }
        if self.is_receiver_established {
            let read = self.application.act_at_receiver(now, &mut Socket(&mut self.receiver));
            if read > 0 {
                self.reading.awake_until = now + self.reading.read_time;
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
        self.poll_receiver_apart(now, path);
    }

    /// Lets the application act at the data sender, and then polls the sender.
    fn serve_sender(&mut self, now: Time, path: &mut Path, recorder: &mut Recorder) {
        self.act_at_sender(now, path);
        self.poll_sender_apart(now, path, recorder);
    }

    /// Lets the application act at the data sender.
    #[inline(always)]
    fn act_at_sender(&mut self, now: Time, path: &mut Path) {
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
    }

    /// Polls the data sender until it has no further segment to send at this time.
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
                        recording.handle_departure_from_sender(now, train);
                    }
                    if self.attachment.is_direct {
                        is_unsettled |= path.send(self.attachment.data_ingress, now, train);
                    } else {
                        self.attachment.send_indirectly(now, train, path);
                        is_unsettled = true;
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
            if self.attachment.is_direct {
                path.settle(self.attachment.data_ingress.link, now);
            } else if let Some(node) = self.attachment.nodes[SENDER] {
                path.settle_node(node, now);
            } else {
                self.set_access(path);
            }
        }
    }

    /// Polls the receiver until it has no further segment to send at this time.
    #[inline(always)]
    fn poll_receiver(&mut self, now: Time, path: &mut Path) {
        let mut is_unsettled = false;
        let Polled { outputs, next } = self.receiver.poll(now);
        for output in outputs {
            if let TcpOutput::Train(train) = output {
                match self.attachment.nodes[RECEIVER] {
                    None => {
                        let ingress = self.attachment.ack_ingress;
                        is_unsettled |= path.send_answer(ingress, now, train);
                    }
                    Some(node) => {
                        path.send_train_to_node(node, now, train);
                        is_unsettled = true;
                    }
                }
            }
        }
        path.wakes.set_leaf(self.leaf(Part::Receiver), next);
        if is_unsettled {
            match self.attachment.nodes[RECEIVER] {
                None => {
                    path.settle(self.attachment.ack_ingress.link, now);
                }
                Some(node) => path.settle_node(node, now),
            }
        }
    }

    /// Calls [`Flow::poll_receiver`]. This function is not inlined, so that it is compiled only once.
    #[inline(never)]
    fn poll_receiver_apart(&mut self, now: Time, path: &mut Path) {
        self.poll_receiver(now, path);
    }

    /// Calls [`Flow::poll_sender`]. This function is not inlined, so that it is compiled only once.
    #[inline(never)]
    fn poll_sender_apart(&mut self, now: Time, path: &mut Path, recorder: &mut Recorder) {
        self.poll_sender(now, path, recorder);
    }

    /// Handles the start, the stop, the end of a measurement window, and the times that the
    /// application requested.
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
        let is_held_up = self.hold_up_reading(now, path);
        if self.reading.next <= now {
            self.serve_receiver(now, path);
        }
        self.handle_offered(now, path);
        self.set_control(path);
        self.serve_sender(now, path, recorder);
        if is_held_up {
            self.poll_receiver_apart(now, path);
        } else {
            self.serve_receiver(now, path);
        }
    }

    /// Postpones a read that is due while the device, which shares the processor, still has
    /// packets to receive.
    ///
    /// Returns whether the read was postponed.
    fn hold_up_reading(&mut self, now: Time, path: &Path) -> bool {
        let (Some(wait), true) = (self.reading.yielding, self.reading.next <= now) else {
            return false;
        };
        let line = self.attachment.receive_lines.and_then(|lines| lines[RECEIVER]);
        let is_busy = line.is_some_and(|line| path.waiting_in(line) > 0);
        if is_busy {
            self.reading.next = now + wait;
        }
        is_busy
    }

    fn handle_offered(&mut self, now: Time, path: &mut Path) {
        let (direction, user) = (self.direction, self.user);
        self.record.handle_offered(now, || path.offered(direction, user, now));
    }

    fn set_control(&mut self, path: &mut Path) {
        self.control_wake = self.next_control();
        path.wakes.set_leaf(self.leaf(Part::Control), self.control_wake);
    }

    /// Next wake time of the flow's control component.
    fn next_control(&self) -> Time {
        if !self.has_started {
            return self.start;
        }
        let mut next = self.application.wake_time().min(self.stop.unwrap_or(Time::NEVER));
        next = next.min(self.reading.next);
        next.min(self.record.next_offered())
    }

    #[inline]
    fn leaf(&self, part: Part) -> usize {
        self.first_leaf + part as usize
    }
}
