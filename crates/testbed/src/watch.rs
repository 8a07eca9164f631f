//! Observes the link of a run: every packet that enters or leaves it, its queues and its events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cwndlab_emu::{Frame, Tap};
use cwndlab_link::{Backlog, Direction, Link, LinkEvent, Packet, PathConfig, Stages};
use cwndlab_packet::{Flags, Flight, Pcap, Segment, SeqNumber, TcpPacket};
use cwndlab_scenario::{FlowRecord, LinkSummary, Scenario, link_summaries};
use cwndlab_units::{Duration, Ecn, Time};

/// First port number: flow n listens at this port plus n.
pub(crate) const FIRST_PORT: u16 = 10_000;
/// Interval at which the observer checks whether flows have ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// The time at which each flow ended, set by [`crate::ends`] and read by the observer.
#[derive(Clone, Debug)]
pub(crate) struct Ends(Arc<Vec<AtomicU64>>);

impl Ends {
    pub(crate) fn new(flows: usize) -> Self {
        Self(Arc::new((0..flows).map(|_| AtomicU64::new(u64::MAX)).collect()))
    }

    pub(crate) fn set(&self, flow: usize, end: Time) {
        self.0[flow].store(end.as_nanos(), Ordering::Relaxed);
    }

    fn of(&self, flow: usize) -> Time {
        Time::from_nanos(self.0[flow].load(Ordering::Relaxed))
    }
}

/// Time at which the first data arrived while the applications waited. The observer sets this
/// time; the ends use it to measure how long the applications took to wake up.
#[derive(Clone, Debug, Default)]
pub(crate) struct WakeUp(Arc<AtomicU64>);

/// Value that means that no data have arrived.
const NOTHING: u64 = 0;
/// Value that means that no application is waiting.
const NOBODY: u64 = u64::MAX;

impl WakeUp {
    /// Marks that the applications begin to wait.
    pub(crate) fn wait(&self) {
        self.0.store(NOTHING, Ordering::Release);
    }

    fn handle_data(&self, now: Time) {
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        // Later data, and data while no application waits, are ignored.
        let _ = self.0.compare_exchange(NOTHING, now.as_nanos(), success, failure);
    }

    /// Marks that the applications are awake. Returns the time at which the first data arrived, or
    /// `None`.
    pub(crate) fn end(&self) -> Option<Time> {
        let came = self.0.swap(NOBODY, Ordering::AcqRel);
        (came != NOTHING && came != NOBODY).then(|| Time::from_nanos(came))
    }
}

/// Observes the link of a run on the kernel.
#[derive(Debug)]
pub(crate) struct Watch {
    wake_up: WakeUp,
    pub(crate) flows: Vec<WatchedFlow>,
    pub(crate) events: Option<Vec<(Time, LinkEvent)>>,
    pub(crate) capture: Option<Pcap>,
    pub(crate) links: Vec<LinkSummary>,
    ends: Ends,
    path: PathConfig,
    next_look: Time,
    sample_interval: Option<Duration>,
    next_sample: Time,
    /// Starts of the measurement windows that have not begun; the next one is last.
    begins: Vec<Time>,
    /// Time from which the link's counters start; never if they have already started.
    warm_up_end: Time,
    end: Time,
}

/// Observes the packets of one flow at the link.
#[derive(Debug)]
pub(crate) struct WatchedFlow {
    pub(crate) record: FlowRecord,
    pub(crate) rows: Vec<Row>,
    /// Data in flight; present once data have been sent.
    flight: Option<Flight>,
    direction: Direction,
    user: u16,
    since: RttSum,
}

#[derive(Clone, Copy, Debug, Default)]
struct RttSum {
    sum_us: u64,
    samples: u64,
}

/// The link's part of a row of the table of samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) sent_bytes: u64,
    pub(crate) rtt_ms: Option<f64>,
    pub(crate) queue: Backlog,
}

impl Watch {
    pub(crate) fn new(scenario: &Scenario, ends: Ends, wake_up: WakeUp) -> Self {
        let end = Time::ZERO + scenario.duration;
        let flows = scenario.flows.iter().map(|flow| WatchedFlow {
            record: FlowRecord::new(
                flow.start + scenario.warm_up,
                flow.stop.map_or(end, |stop| stop.min(end)),
            ),
            rows: Vec::new(),
            flight: None,
            direction: flow.direction,
            user: flow.user.get(),
            since: RttSum::default(),
        });
        let mut begins: Vec<Time> =
            scenario.flows.iter().map(|flow| flow.start + scenario.warm_up).collect();
        begins.push(Time::ZERO + scenario.warm_up);
        begins.sort_unstable_by(|a, b| b.cmp(a));
        let sample_interval = scenario.record.sample_interval;
        Self {
            wake_up,
            flows: flows.collect(),
            events: scenario.record.events.then(Vec::new),
            capture: scenario.record.pcap.is_some().then(Pcap::default),
            links: Vec::new(),
            ends,
            path: scenario.path.clone(),
            next_look: Time::ZERO + LOOK_INTERVAL,
            sample_interval,
            next_sample: sample_interval.map_or(Time::NEVER, |interval| Time::ZERO + interval),
            begins,
            warm_up_end: Time::ZERO + scenario.warm_up,
            end,
        }
    }

    /// Finds the flow of a packet by its port number.
    fn find(&self, packet: &TcpPacket) -> Option<usize> {
        [packet.source.port, packet.destination.port]
            .into_iter()
            .filter_map(|port| port.checked_sub(FIRST_PORT))
            .map(usize::from)
            .find(|&flow| flow < self.flows.len())
    }

    fn look(&mut self, now: Time, link: &mut impl Stages) {
        if self.warm_up_end <= now {
            link.begin_window(now);
            self.warm_up_end = Time::NEVER;
        }
        for (index, flow) in self.flows.iter_mut().enumerate() {
            flow.record.end_window(self.ends.of(index));
            let (direction, user) = (flow.direction, flow.user);
            flow.record.handle_offered(now, || link.offered_of(direction, user, now));
        }
    }

    fn sample(&mut self, now: Time, link: &mut impl Stages) {
        for flow in &mut self.flows {
            let queue = link.backlog_of(flow.direction, flow.user, now);
            let [sent_bytes, _] = flow.record.sent_and_delivered_bytes();
            let RttSum { sum_us, samples } = std::mem::take(&mut flow.since);
            let rtt_ms = (samples > 0).then(|| sum_us as f64 / samples as f64 / 1e3);
            flow.rows.push(Row { sent_bytes, rtt_ms, queue });
        }
    }

    fn summarize(&mut self, now: Time, link: &mut impl Stages) {
        self.links =
            link_summaries(&self.path, |direction, user| link.counters_of(direction, user, now));
    }
}

impl WatchedFlow {
    /// Handles a segment from the data sender.
    fn handle_sent(&mut self, now: Time, segment: &Segment) {
        let Segment { seq, payload, .. } = *segment;
        if payload > 0 {
            self.record.handle_sent(now, seq, payload);
            let flight = self.flight.get_or_insert_with(|| Flight::starting_at(SeqNumber(seq)));
            let start = flight.number_of(SeqNumber(seq));
            flight.send(now, start, start + u64::from(payload));
        }
    }

    /// Handles a segment that travels to the data sender.
    fn handle_answer(&mut self, now: Time, segment: &Segment) {
        let sent = self.flight.as_mut().and_then(|flight| flight.handle_answer(segment));
        if let Some(sent) = sent {
            let rtt_us = now.saturating_since(sent).as_micros();
            let rtt_us = u32::try_from(rtt_us).unwrap_or(u32::MAX);
            self.record.handle_rtt(now, rtt_us);
            self.since.sum_us += u64::from(rtt_us);
            self.since.samples += 1;
        }
        if segment.flags.has(Flags::ACK) {
            self.record.handle_ack(segment.ack);
        }
    }

    /// Whether the data sender is at this port.
    fn is_sender_at(&self, port: u16) -> bool {
        (port == 0) == (self.direction == Direction::Forward)
    }
}

impl<L: Link<Frame> + Stages> Tap<L> for Watch {
    fn handle_arrival(&mut self, now: Time, port: u16, frame: &mut Frame) {
        let Some(packet) = TcpPacket::parse(frame.content(), frame.wire_bytes()) else { return };
        let Some(index) = self.find(&packet) else { return };
        let flow = &mut self.flows[index];
        frame.assign(index as u32, flow.user);
        if flow.is_sender_at(port) {
            flow.handle_sent(now, &packet.segment);
            if let Some(capture) = &mut self.capture {
                capture.push(now, frame.wire_bytes(), frame.content());
            }
        }
    }

    fn handle_departure(&mut self, now: Time, _at: Time, port: u16, frame: &Frame) {
        let Some(packet) = TcpPacket::parse(frame.content(), frame.wire_bytes()) else { return };
        let Some(index) = self.find(&packet) else { return };
        let flow = &mut self.flows[index];
        if flow.is_sender_at(port) {
            flow.handle_answer(now, &packet.segment);
            if let Some(capture) = &mut self.capture {
                capture.push(now, frame.wire_bytes(), frame.content());
            }
        } else if packet.segment.payload > 0 {
            self.wake_up.handle_data(now);
            flow.record.handle_arrived(now, frame.wire_bytes(), frame.ecn() == Ecn::Ce);
        }
    }

    fn handle_event(&mut self, at: Time, event: &LinkEvent) {
        if let Some(events) = &mut self.events {
            events.push((at, *event));
        }
    }

    fn wake_time(&self) -> Time {
        let begin = self.begins.last().copied().unwrap_or(Time::NEVER);
        self.next_look.min(self.next_sample).min(begin).min(self.end)
    }

    fn handle_wake(&mut self, now: Time, link: &mut L) {
        if self.next_sample <= now {
            self.sample(now, link);
            self.next_sample += self.sample_interval.unwrap_or(Duration::MAX);
        }
        while self.begins.last().is_some_and(|&begin| begin <= now) {
            self.begins.pop();
        }
        self.look(now, link);
        if self.next_look <= now {
            self.next_look += LOOK_INTERVAL;
        }
        if self.end <= now {
            self.summarize(now, link);
            self.end = Time::NEVER;
            (self.next_look, self.next_sample) = (Time::NEVER, Time::NEVER);
        }
    }
}
