//! A packet and a driver for tests of links.

#![expect(dead_code, reason = "each test program uses its own part")]

pub(crate) mod cell;
pub(crate) mod cell_rows;
pub(crate) mod tcp;

use cwndlab_link::{
    AnyLink, Link, LinkEvent, Packet, QueueConfig, RateConfig, RateTrace, StageConfig, Traces,
};
use cwndlab_units::{Bytes, Duration, Ecn, Output, Rate, Time};

/// A packet that owns heap memory, like the emulator's frames, and is not `Copy`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    pub(crate) number: Box<u32>,
    pub(crate) flow: u32,
    pub(crate) user: u16,
    pub(crate) bytes: u32,
    pub(crate) ecn: Ecn,
}

impl Frame {
    pub(crate) fn new(number: u32, bytes: u32) -> Self {
        Self::of(1, number, bytes)
    }

    /// A packet from or to the user at a port.
    pub(crate) fn of(user: u16, number: u32, bytes: u32) -> Self {
        Self { number: Box::new(number), flow: number, user, bytes, ecn: Ecn::NotEct }
    }

    /// Assigns the packet to a flow; otherwise each packet is its own flow.
    pub(crate) fn in_flow(self, flow: u32) -> Self {
        Self { flow, ..self }
    }

    pub(crate) fn capable(number: u32, bytes: u32) -> Self {
        Self { ecn: Ecn::Ect0, ..Self::new(number, bytes) }
    }
}

impl Packet for Frame {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn user(&self) -> u16 {
        self.user
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

/// A packet that left a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Left {
    pub(crate) at: Time,
    pub(crate) port: u16,
    pub(crate) number: u32,
    pub(crate) is_marked: bool,
}

/// Outputs of a link.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) left: Vec<Left>,
    pub(crate) events: Vec<(Time, LinkEvent)>,
}

impl Outcome {
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.left.iter().map(|left| left.number).collect()
    }

    pub(crate) fn millis(&self) -> Vec<u64> {
        self.left.iter().map(|left| left.at.as_millis()).collect()
    }
}

/// Polls until the link is next due after `now`, and checks the properties of every poll.
pub(crate) fn drain<L: Link<Frame>>(link: &mut L, now: Time, outcome: &mut Outcome) {
    loop {
        let wake = link.wake_time();
        match link.poll(now) {
            Some(Output::Packet { at, port, packet }) => {
                assert!(at <= now, "left at {at:?}, polled at {now:?}");
                assert!(wake <= now, "wake time {wake:?} was after the packet");
                let is_marked = packet.ecn == Ecn::Ce;
                outcome.left.push(Left { at, port, number: *packet.number, is_marked });
            }
            Some(Output::Event { at, event }) => {
                assert!(at <= now, "happened at {at:?}, polled at {now:?}");
                outcome.events.push((at, event));
            }
            None => return assert!(link.wake_time() > now, "wakes in the past of {now:?}"),
        }
    }
}

/// Takes packets that are certain at `now` to leave before `before`, after everything due was
/// polled.
pub(crate) fn take_ahead<L: Link<Frame>>(
    link: &mut L,
    now: Time,
    before: Time,
    outcome: &mut Outcome,
) {
    while let Some(output) = link.poll_ahead(now, before) {
        let Output::Packet { at, port, packet } = output else { panic!("no packet") };
        assert!(now < at && at < before, "leaves at {at:?}, between {now:?} and {before:?}");
        let is_marked = packet.ecn == Ecn::Ce;
        outcome.left.push(Left { at, port, number: *packet.number, is_marked });
    }
}

/// Passes arrivals at their times, in order, and polls whenever the link is due.
pub(crate) fn run<L: Link<Frame>>(link: &mut L, arrivals: &[(Time, Frame)], end: Time) -> Outcome {
    let mut outcome = Outcome::default();
    for (at, frame) in arrivals {
        run_until(link, *at, &mut outcome);
        link.handle_packet(*at, 0, frame.clone());
        drain(link, *at, &mut outcome);
    }
    run_until(link, end, &mut outcome);
    outcome
}

/// Polls at every time up to `end` at which the link is due.
pub(crate) fn run_until<L: Link<Frame>>(link: &mut L, end: Time, outcome: &mut Outcome) {
    while link.wake_time() <= end && !link.wake_time().is_never() {
        let time = link.wake_time();
        drain(link, time, outcome);
    }
    drain(link, end, outcome);
}

pub(crate) fn wire(stage: StageConfig) -> AnyLink<Frame> {
    AnyLink::one_way(&[stage], &Traces::new(), 1, "forward").expect("valid settings")
}

/// A wire with a rate and a drop-tail queue, without delay.
pub(crate) fn fixed(mbit_s: u64, packets: Option<u32>) -> StageConfig {
    StageConfig {
        rate: RateConfig::Fixed { rate: Rate::from_mbit_per_sec(mbit_s) },
        queue: QueueConfig::DropTail { packets, bytes: None },
        ..StageConfig::default()
    }
}

/// A stage with a Mahimahi trace, and the trace.
pub(crate) fn mahimahi(text: &[u8]) -> (StageConfig, Traces) {
    let mut traces = Traces::new();
    traces.insert("trace", RateTrace::parse_mahimahi(text).expect("a trace"));
    let rate = RateConfig::Mahimahi { path: "trace".to_owned(), light: None };
    (StageConfig { rate, ..StageConfig::default() }, traces)
}

pub(crate) fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

pub(crate) fn us(micros: u64) -> Time {
    Time::from_micros(micros)
}

pub(crate) const MS: Duration = Duration::from_millis(1);

pub(crate) fn bytes(bytes: u64) -> Option<Bytes> {
    Some(Bytes(bytes))
}
