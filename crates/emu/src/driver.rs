//! The loop that drives a link in real time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cwndlab_link::{Link, LinkEvent};
use cwndlab_units::{Duration, Output, Time};
use serde::Serialize;

use crate::awake::Awake;
use crate::delivery::Delivery;
use crate::intake::Intake;
use crate::outlet::{Outlet, PATIENCE, SPAN};
use crate::realtime::change_processor;
use crate::{Clock, Durations, Frame, Interest, Percentiles, Poll, Priority, Tun, set_priority};

/// Maximum of the 99th percentile of lateness. If frames are later, the run is not a valid
/// measurement of its link.
const LATENESS_BOUND: Duration = Duration::from_millis(1);
/// Maximum number of packets that are read from one port before the next port is served.
const READ_BATCH: u32 = 64;
/// Idle time after which the processors may halt, so that a shell that is open but unused costs
/// nothing.
const QUIET: Duration = Duration::from_secs(1);
/// A wait that ends this much too late shows that the emulator's processor was not available.
const TOO_LATE: Duration = Duration::from_micros(200);
/// Maximum wait while incoming packets do not wake the loop: everything that departs within
/// [`SPAN`] has been written, and a later frame may be held for [`PATIENCE`].
const LONGEST_BUSY_WAIT: Duration = Duration::from_nanos(PATIENCE.as_nanos() + SPAN.as_nanos());
/// A sleep ends this long before the departure that it waits for, because sleeps end some
/// microseconds late; the loop polls for the rest of the time.
const LEAD: Duration = Duration::from_micros(40);
/// Distance from the last departure at and above which [`LEAD`] applies, so that it never takes
/// more than 4 % of the time.
const SPARSE: Duration = Duration::from_millis(1);
/// Maximum wait in all other cases, so that the loop notices a stop.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// Observer of the frames of an emulated link.
///
/// The emulator's thread calls the tap between frames, so the tap must be as fast as the link.
pub trait Tap<L> {
    /// A frame arrived from the port's namespace. The tap must assign the frame to its flow and
    /// user.
    fn handle_arrival(&mut self, now: Time, port: u16, frame: &mut Frame);

    /// A frame left the link at `at` and was written to the port's namespace at `now`.
    ///
    /// At a busy port, `at` may be later than `now`: frames that will leave within 50 us are
    /// written together with those that are due.
    fn handle_departure(&mut self, now: Time, at: Time, port: u16, frame: &Frame);

    /// The link reported an event.
    fn handle_event(&mut self, _at: Time, _event: &LinkEvent) {}

    /// Time at which the tap next needs to look at the link.
    fn wake_time(&self) -> Time {
        Time::NEVER
    }

    /// Handles the time that the tap requested; all packets that left until `now` have been
    /// polled.
    fn handle_wake(&mut self, _now: Time, _link: &mut L) {}
}

/// A flag that stops an emulator; any thread can set it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Creates a flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is set.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How well the machine emulated the link in real time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Lateness of frames: time from departure to write; for merged frames that were written
    /// early, the time by which they were early.
    pub lateness: Percentiles,
    /// Time per frame from one read to the next, for reads that follow each other without a pause.
    pub read_time: Percentiles,
    /// Time from one write to the next, for frames that were due at the same time.
    pub write_time: Percentiles,
    /// Number of frames read from the TUN devices.
    pub arrived: u64,
    /// Number of frames that a TUN device dropped because its ring was full.
    pub ring_drops: u64,
    /// Number of frames that the kernel refused to deliver to a namespace.
    pub refused: u64,
    /// Number of frames that were written in the same packet as the previous frame.
    pub merged: u64,
    /// Number of packets that were not admitted because they are not IPv4 or cannot be split into
    /// segments.
    pub foreign: u64,
    /// Whether the emulator had real-time priority.
    pub is_realtime: bool,
    /// Share of one processor that the emulator used, in per cent.
    pub cpu_pct: f64,
    /// The reason why this run is not a valid measurement of its link; `None` if it is valid.
    pub invalid: Option<String>,
}

/// Emulates a link between TUN devices.
#[derive(Debug)]
pub struct Emulator<L, T> {
    link: L,
    tuns: Vec<Tun>,
    tap: T,
    /// One exit for each port of the link.
    outlets: Vec<Outlet>,
    counts: Counts,
    last_arrival: Time,
    last_departure: Time,
    keeps_awake: bool,
}

/// Counts for the emulator's report.
#[derive(Debug, Default)]
struct Counts {
    late: Durations,
    reading: Durations,
    writing: Durations,
    /// Time just before the last write, if the write contained a single frame.
    last_alone: Option<Time>,
    arrived: u64,
    refused: u64,
    merged: u64,
    foreign: u64,
}

impl<L: Link<Frame>, T: Tap<L>> Emulator<L, T> {
    /// Creates an emulator in which TUN device number i is attached to port i of the link.
    pub fn new(link: L, tuns: Vec<Tun>, tap: T) -> Self {
        Self {
            link,
            outlets: tuns.iter().map(|_| Outlet::new()).collect(),
            tuns,
            tap,
            counts: Counts::default(),
            last_arrival: Time::ZERO,
            last_departure: Time::ZERO,
            keeps_awake: true,
        }
    }

    /// Lets the processors halt while the emulator waits. On a machine whose time is counted in
    /// instructions, keeping a processor awake costs time and gains nothing.
    #[must_use]
    pub fn letting_processors_halt(mut self) -> Self {
        self.keeps_awake = false;
        self
    }

    /// Runs the emulator on this thread, with real-time priority if permitted, until `end` or a
    /// stop.
    ///
    /// Frames that arrive or depart after `end` are ignored, however late the loop is.
    ///
    /// # Errors
    /// Returns an error if waiting fails, or the drop counters of the TUN devices cannot be read.
    pub fn run(mut self, clock: Clock, end: Time, stop: &Stop) -> io::Result<(Report, T)> {
        // Before this thread becomes real-time, because children inherit the priority.
        let mut awake = if self.keeps_awake { Awake::begin()? } else { Awake::none() };
        let is_realtime = set_priority(Priority::Emulator).is_ok();
        let mut intake = Intake::new();
        let (began, cpu_before) = (clock.now(), cpu_time());
        let (packets, nothing, mut ready) = (Poll::new()?, Poll::new()?, Vec::new());
        for (port, tun) in self.tuns.iter().enumerate() {
            packets.add(tun.raw_descriptor(), port as u64, Interest::Readable)?;
        }
        let mut has_slept = false;
        let mut now = clock.now();
        loop {
            let next = self.give_out(now.min(end), clock);
            if now >= end || stop.is_stopped() {
                break;
            }
            // The receiver's TCP runs inside the write, so its response is already in the ring.
            let (arrived, is_unseen) = (self.counts.arrived, std::mem::take(&mut has_slept));
            for port in 0..self.tuns.len() {
                if self.outlets[port].take_has_written() || is_unseen {
                    self.take_in(port, &mut intake, clock, end);
                }
            }
            if arrived < self.counts.arrived {
                now = clock.now();
                continue;
            }
            awake.rest(now > self.last_arrival + QUIET);
            let before = clock.now();
            let most = next.min(end).saturating_since(before);
            // While a port is busy, the loop does not wake up for each arriving packet.
            has_slept = self.outlets.iter().any(|outlet| outlet.is_busy(before));
            let (poll, most) = if has_slept {
                (&nothing, most.min(LONGEST_BUSY_WAIT))
            } else if self.keeps_awake && next >= self.last_departure + SPARSE {
                (&packets, most.saturating_sub(LEAD).min(LONGEST_WAIT))
            } else {
                (&packets, most.min(LONGEST_WAIT))
            };
            poll.wait(most, &mut ready)?;
            now = clock.now();
            if now > before + most + TOO_LATE {
                change_processor();
                now = clock.now();
            }
            if !ready.is_empty() {
                for port in &ready {
                    self.take_in(port.token as usize, &mut intake, clock, end);
                }
                now = clock.now();
            }
        }
        self.release_all(clock);
        let elapsed = clock.now().saturating_since(began);
        let cpu = cpu_time().as_nanos() - cpu_before.as_nanos();
        let ring_drops = self.tuns.iter().map(Tun::ring_drops).sum::<io::Result<u64>>()?;
        let counts = self.counts;
        let mut report = Report {
            lateness: counts.late.percentiles(),
            read_time: counts.reading.percentiles(),
            write_time: counts.writing.percentiles(),
            arrived: counts.arrived,
            ring_drops,
            refused: counts.refused,
            merged: counts.merged,
            foreign: counts.foreign,
            is_realtime,
            cpu_pct: 100.0 * cpu as f64 / elapsed.as_nanos().max(1) as f64,
            invalid: None,
        };
        report.invalid = report.reason_against();
        Ok((report, self.tap))
    }

    /// Writes the frames that left the link until `now`; returns the time at which the next write
    /// is due.
    fn give_out(&mut self, now: Time, clock: Clock) -> Time {
        let mut actual = None;
        loop {
            // The tap sees the link at the tap's own times, even if the loop is late.
            let wake = self.tap.wake_time();
            match self.link.poll(now.min(wake)) {
                Some(Output::Packet { at, port, packet }) => {
                    match self.outlets.get_mut(usize::from(port)) {
                        Some(outlet) => {
                            let now = *actual.get_or_insert_with(|| clock.now());
                            outlet.add(now, at, packet);
                        }
                        None => self.counts.refused += 1,
                    }
                    actual = self.write(port.into(), clock).or(actual);
                }
                Some(Output::Event { at, event }) => self.tap.handle_event(at, &event),
                None if wake <= now => {
                    self.release_all(clock);
                    self.tap.handle_wake(wake, &mut self.link);
                }
                None => return self.settle(now, clock).min(wake),
            }
        }
    }

    /// Writes the deliveries that are due, if no further frame leaves the link until `now`;
    /// returns the time at which the next write is due.
    fn settle(&mut self, now: Time, clock: Clock) -> Time {
        self.look_ahead(now, clock);
        let next = self.link.wake_time();
        for port in 0..self.outlets.len() {
            self.outlets[port].settle(now, next);
            self.write(port, clock);
        }
        let due = self.outlets.iter().map(Outlet::due).min().unwrap_or(Time::NEVER);
        let is_busy = self.outlets.iter().any(|outlet| outlet.is_busy(next));
        due.min(if is_busy { next + PATIENCE } else { next })
    }

    /// If a busy port has a delivery that is due, adds the frames that are certain to depart soon
    /// at any port.
    fn look_ahead(&mut self, now: Time, clock: Clock) {
        let until = self.outlets.iter_mut().filter_map(|outlet| outlet.look_ahead(now)).max();
        let Some(until) = until else { return };
        // At its wake times, the tap must find exactly what has departed until then.
        let before = until.min(self.tap.wake_time());
        while let Some(output) = self.link.poll_ahead(now, before) {
            if let Output::Packet { at, port, packet } = output {
                match self.outlets.get_mut(usize::from(port)) {
                    Some(outlet) => outlet.add(now, at, packet),
                    None => self.counts.refused += 1,
                }
                self.write(port.into(), clock);
            }
        }
    }

    /// Writes all frames that are held.
    fn release_all(&mut self, clock: Clock) {
        for port in 0..self.outlets.len() {
            self.outlets[port].release_all();
            self.write(port, clock);
        }
    }

    /// Writes the deliveries that are ready at a port; returns the time of the last write, or
    /// `None` without a write.
    fn write(&mut self, port: usize, clock: Clock) -> Option<Time> {
        let Self { outlets, tuns, tap, counts, last_departure, .. } = self;
        let (outlet, tun) = (outlets.get_mut(port)?, tuns.get(port)?);
        if !outlet.is_ready() {
            return None;
        }
        let mut last = None;
        outlet.write(|delivery| {
            let actual = clock.now();
            last = Some(actual);
            *last_departure = actual;
            counts.handle_delivery(actual, delivery);
            if !delivery.write(tun) {
                counts.refused += delivery.frames().len() as u64;
            }
            for (at, frame) in delivery.frames() {
                tap.handle_departure(actual, *at, port as u16, frame);
            }
        });
        last
    }

    /// Reads the frames that a namespace sent before `end`.
    fn take_in(&mut self, port: usize, intake: &mut Intake, clock: Clock, end: Time) {
        let mut before = None;
        for _ in 0..READ_BATCH {
            let Some(frames) = intake.read(&self.tuns[port]) else { break };
            let now = clock.now();
            if now >= end {
                break;
            }
            let count = frames.len() as u64;
            if let Some(before) = before.replace(now) {
                let took = now.saturating_since(before).as_nanos() / count.max(1);
                (0..count).for_each(|_| self.counts.reading.record(Duration::from_nanos(took)));
            }
            self.counts.arrived += count;
            self.counts.foreign += u64::from(count == 0);
            self.last_arrival = now;
            for frame in frames {
                // What was due before `now` must leave the link before a new frame enters.
                if self.link.wake_time().min(self.tap.wake_time()) <= now {
                    self.give_out(now, clock);
                    // The time of that work is not part of the next read.
                    before = None;
                }
                self.enter(now, port as u16, frame);
            }
        }
    }

    /// Passes a frame to the link.
    fn enter(&mut self, now: Time, port: u16, mut frame: Frame) {
        if !frame.is_ipv4() {
            self.counts.foreign += 1;
            return;
        }
        frame.enter(now);
        self.tap.handle_arrival(now, port, &mut frame);
        self.link.handle_packet(now, port, frame);
    }
}

impl Counts {
    /// Counts a delivery that is about to be written.
    fn handle_delivery(&mut self, now: Time, delivery: &Delivery) {
        let frames = delivery.frames();
        let Some(&(first, _)) = frames.first() else { return };
        let is_alone = frames.len() == 1;
        let before = self.last_alone.take().filter(|&before| is_alone && first <= before);
        if let Some(before) = before {
            self.writing.record(now.saturating_since(before));
        }
        self.last_alone = is_alone.then_some(now);
        let distance = |at: Time| now.saturating_since(at).max(at.saturating_since(now));
        frames.iter().for_each(|&(at, _)| self.late.record(distance(at)));
        self.merged += frames.len() as u64 - 1;
    }
}

impl Report {
    fn reason_against(&self) -> Option<String> {
        let bound_us = LATENESS_BOUND.as_nanos() as f64 / 1e3;
        if self.ring_drops > 0 {
            Some(format!("{} packets were dropped before they entered the link", self.ring_drops))
        } else if self.refused > 0 {
            Some(format!("the kernel refused {} packets that the link delivered", self.refused))
        } else if self.lateness.p99_us > bound_us {
            Some(format!(
                "1 % of the packets left more than {:.1} ms late (bound: {:.0} ms)",
                self.lateness.p99_us / 1e3,
                bound_us / 1e3
            ))
        } else {
            None
        }
    }
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec that the call may write to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(p99_us: f64, ring_drops: u64, refused: u64) -> Report {
        Report {
            lateness: Percentiles { p99_us, ..Percentiles::default() },
            read_time: Percentiles::default(),
            write_time: Percentiles::default(),
            arrived: 1_000,
            ring_drops,
            refused,
            merged: 0,
            foreign: 0,
            is_realtime: true,
            cpu_pct: 5.0,
            invalid: None,
        }
    }

    #[test]
    fn lateness_past_a_millisecond_and_any_lost_packet_make_a_run_invalid() {
        assert_eq!(report(1_000.0, 0, 0).reason_against(), None);
        let late = report(1_700.0, 0, 0).reason_against().expect("invalid");
        assert!(late.contains("1.7 ms late (bound: 1 ms)"), "{late}");
        assert!(report(10.0, 1, 0).reason_against().expect("invalid").contains("1 packets"));
        assert!(report(10.0, 0, 3).reason_against().is_some());
    }
}
