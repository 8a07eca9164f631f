//! Both ends of all flows: sockets, their applications and `TCP_INFO`.
//!
//! One thread acts at both ends of every flow, as in the simulator. This is possible because a
//! socket stays in the namespace in which it was created, whichever thread uses it.

use std::net::Ipv4Addr;
use std::{io, thread, time};

use cwndlab_emu::{Clock, Durations, Interest, Namespace, Poll, Ready};
use cwndlab_scenario::{Application, FlowConfig, FlowRecord, Outcome, Scenario};
use cwndlab_units::{Duration, Stream, Time};

use crate::bed::{Bed, address, ports};
use crate::error::RunError;
use crate::protocol::KernelNames;
use crate::socket::Socket;
use crate::states::States;
use crate::tcp_info::TcpInfo;
use crate::watch::{Ends, FIRST_PORT, WakeUp};

/// Interval of the samples from which means over time are computed, as in the simulator.
const MEAN_INTERVAL: Duration = Duration::from_millis(10);

/// Pause of the applications after a large read, if the previous large read was shortly before.
///
/// Data that arrive during the pause wake no thread. Waking a thread on another processor is the
/// largest cost of a write to a TUN device, and the emulator pays it: at 1 Gbit/s, it writes several
/// segments at once every 100 us. The receiver's TCP acknowledges them without its application.
const PAUSE: Duration = Duration::from_micros(100);
/// Longest time between two large reads after which the applications pause.
const CLOSE: Duration = Duration::from_micros(300);
/// Fewest bytes of a large read: four segments. At lower rates, segments arrive one by one, and TCP
/// sends some of its acknowledgements when the application reads.
const LARGE: u64 = 4 * 1448;

/// The two ends of a flow.
#[derive(Debug)]
pub(crate) struct FlowEnds {
    index: usize,
    config: FlowConfig,
    application: Application,
    pub(crate) record: FlowRecord,
    listener: Socket,
    /// Sockets of sender and receiver; the end that accepts the connection has `None` until then.
    sockets: [Option<Socket>; 2],
    connector: usize,
    /// Address on which the end that accepts the connection listens.
    server: (Ipv4Addr, u16),
    is_established: [bool; 2],
    has_started: bool,
    stop: Option<Time>,
    pub(crate) completed: Option<Time>,
    /// Latest `TCP_INFO` of the sender.
    pub(crate) info: Option<TcpInfo>,
    pub(crate) rows: Vec<Option<Row>>,
    pub(crate) events: Vec<(Time, &'static str)>,
}

const SENDER: usize = 0;
const RECEIVER: usize = 1;
/// Number that identifies the listening socket in a token, in addition to the two connected
/// sockets.
const LISTENER: usize = 2;

/// The sender's part of a row of the table of samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) info: TcpInfo,
    pub(crate) delivered_bytes: u64,
}

/// All flows of a run.
#[derive(Debug)]
pub(crate) struct AllEnds {
    pub(crate) flows: Vec<FlowEnds>,
    poll: Poll,
    ends: Ends,
    wake_up: WakeUp,
    /// Delay from the arrival of data until the application that reads them is awake.
    pub(crate) waking: Durations,
    /// Time from one read to the next, if the data arrived before the application waited.
    pub(crate) reading: Durations,
    /// Records of `TCP_INFO`; present if the scenario records samples.
    pub(crate) states: Option<States>,
    sample_interval: Option<Duration>,
    end: Time,
}

impl AllEnds {
    /// Creates the sockets before the run begins.
    pub(crate) fn new(
        scenario: &Scenario,
        bed: &Bed,
        names: &KernelNames,
        ends: Ends,
        wake_up: WakeUp,
    ) -> Result<Self, RunError> {
        let end = Time::ZERO + scenario.duration;
        let poll = Poll::new()?;
        let mut flows = Vec::with_capacity(scenario.flows.len());
        for (index, config) in scenario.flows.iter().enumerate() {
            let flow = FlowEnds::new(scenario, index, config, bed, names)?;
            poll.add(flow.listener.raw(), token(index, LISTENER), Interest::Change)?;
            flows.push(flow);
        }
        let sample_interval = scenario.record.sample_interval;
        let states = sample_interval.map(|_| States::default());
        let (waking, reading) = (Durations::default(), Durations::default());
        Ok(Self { flows, poll, ends, wake_up, waking, reading, states, sample_interval, end })
    }

    /// Runs all flows until the end of the run.
    pub(crate) fn run(&mut self, clock: Clock) -> io::Result<()> {
        let mut next_mean = Time::ZERO + MEAN_INTERVAL;
        let mut next_sample = self.sample_interval.map_or(Time::NEVER, |i| Time::ZERO + i);
        let mut ready = Vec::new();
        let mut last_read = None;
        let mut last_large_read = Time::ZERO;
        loop {
            let now = clock.now();
            if next_mean <= now {
                for flow in &mut self.flows {
                    flow.handle_mean(next_mean)?;
                    if let Some(states) = &mut self.states {
                        flow.tell_states(next_mean, states)?;
                    }
                }
                next_mean += MEAN_INTERVAL;
                continue;
            }
            if next_sample <= now {
                for flow in &mut self.flows {
                    flow.handle_sample(next_sample)?;
                }
                next_sample += self.sample_interval.unwrap_or(Duration::MAX);
                continue;
            }
            if now >= self.end {
                return self.look_last();
            }
            let mut next = next_mean.min(next_sample).min(self.end);
            for flow in &mut self.flows {
                if flow.wake_time() <= now {
                    flow.handle_control(now, &self.poll)?;
                    self.ends.set(flow.index, flow.record.window_end());
                }
                next = next.min(flow.wake_time());
            }
            self.wake_up.wait();
            self.poll.wait(next.saturating_since(clock.now()), &mut ready)?;
            let came = self.wake_up.end();
            let is_reading = ready.iter().any(|ready: &Ready| part(ready.token) == RECEIVER);
            let read_before = last_read.take();
            let mut now = clock.now();
            if is_reading {
                last_read = Some(now);
                match (came, read_before) {
                    (Some(came), _) => self.waking.record(now.saturating_since(came)),
                    (None, Some(before)) => self.reading.record(now.saturating_since(before)),
                    (None, None) => {}
                }
            }
            let mut read_bytes = 0;
            for ready in &ready {
                let index = ready.token as usize / 4;
                let flow = &mut self.flows[index];
                read_bytes += flow.handle_ready(*ready, now, &self.poll)?;
                self.ends.set(index, flow.record.window_end());
                now = clock.now();
            }
            if read_bytes >= LARGE {
                if now.saturating_since(last_large_read) < CLOSE {
                    let pause = next.saturating_since(now).min(PAUSE);
                    thread::sleep(time::Duration::from_nanos(pause.as_nanos()));
                }
                last_large_read = clock.now();
            }
        }
    }

    /// Reads the final `TCP_INFO` of every sender at once, because without the link their timers
    /// soon expire.
    fn look_last(&mut self) -> io::Result<()> {
        for flow in &mut self.flows {
            flow.look()?;
        }
        Ok(())
    }
}

impl FlowEnds {
    fn new(
        scenario: &Scenario,
        index: usize,
        config: &FlowConfig,
        bed: &Bed,
        names: &KernelNames,
    ) -> Result<Self, RunError> {
        let ports = ports(scenario, config);
        let stream = Stream::new(scenario.seed, &format!("flow.{}.application", config.id));
        let application = Application::new(&config.application, stream);
        let connector = if application.is_opened_by_receiver() { RECEIVER } else { SENDER };
        let place = ["sender", "receiver"].map(|end| format!("flows[{index}].{end}.algorithm"));
        let socket = |end: usize| {
            let asked = [&config.sender, &config.receiver][end].algorithm.as_str();
            let name = names.get(asked).map_or(asked, String::as_str);
            make(&bed.namespaces[usize::from(ports[end])], name).map_err(|error| {
                if error.raw_os_error() == Some(libc::ENOENT) {
                    RunError::UnknownAlgorithm { place: place[end].clone(), name: asked.into() }
                } else {
                    RunError::Socket(error)
                }
            })
        };
        let (connecting, listener) = (socket(connector)?, socket(1 - connector)?);
        let server = (address(ports[1 - connector]), FIRST_PORT + index as u16);
        listener.listen(server.0, server.1)?;
        let mut sockets = [None, None];
        sockets[connector] = Some(connecting);
        let end = Time::ZERO + scenario.duration;
        let stop = config.stop.filter(|&stop| stop < end);
        Ok(Self {
            index,
            config: config.clone(),
            application,
            record: FlowRecord::new(config.start + scenario.warm_up, stop.unwrap_or(end)),
            listener,
            sockets,
            connector,
            server,
            is_established: [false; 2],
            has_started: false,
            stop,
            completed: None,
            info: None,
            rows: Vec::new(),
            events: Vec::new(),
        })
    }

    /// The results of the application from the user's point of view.
    pub(crate) fn outcome(&self) -> Outcome {
        let start = self.config.start;
        let from = self.record.window_start();
        self.application.outcome(start, from, self.record.window_end())
    }

    /// Time at which the flow next acts without input.
    fn wake_time(&self) -> Time {
        if !self.has_started {
            return self.config.start;
        }
        self.application.wake_time().min(self.stop.unwrap_or(Time::NEVER))
    }

    /// Handles the start, the stop or a wake-up of the application.
    fn handle_control(&mut self, now: Time, poll: &Poll) -> io::Result<()> {
        if !self.has_started {
            self.has_started = true;
            let socket =
                self.sockets[self.connector].as_ref().expect("sockets are created before the run");
            socket.connect(self.server.0, self.server.1)?;
            poll.add(socket.raw(), token(self.index, self.connector), Interest::Change)?;
            return Ok(());
        }
        if self.application.wake_time() <= now {
            self.application.handle_wake(now);
        }
        if self.stop.is_some_and(|stop| stop <= now) {
            self.stop = None;
            if let Some(sender) = &mut self.sockets[SENDER] {
                self.application.stop(now, sender);
            }
        }
        self.serve(SENDER, now)?;
        self.serve(RECEIVER, now)?;
        Ok(())
    }

    /// Handles a socket that has become ready; returns how many bytes its application has read.
    fn handle_ready(&mut self, ready: Ready, now: Time, poll: &Poll) -> io::Result<u64> {
        let part = part(ready.token);
        if part != LISTENER {
            if let Some(socket) = &mut self.sockets[part] {
                socket.handle_ready(ready);
            }
            return self.serve(part, now);
        }
        let end = 1 - self.connector;
        if let (None, Some(socket)) = (&self.sockets[end], self.listener.accept()?) {
            poll.add(socket.raw(), token(self.index, end), Interest::Change)?;
            self.sockets[end] = Some(socket);
            return self.serve(end, now);
        }
        Ok(0)
    }

    /// Lets the application act at one end of the flow; returns how many bytes it has read.
    fn serve(&mut self, end: usize, now: Time) -> io::Result<u64> {
        let Some(socket) = self.sockets[end].as_mut().filter(|_| self.has_started) else {
            return Ok(0);
        };
        if !self.is_established[end] {
            if !socket.is_connected()? {
                return Ok(0);
            }
            self.is_established[end] = true;
            if end == SENDER {
                self.events.push((now, "established"));
                self.application.handle_sender_established(now);
            } else {
                self.application.handle_receiver_established(now);
            }
        }
        let mut read = 0;
        if end == SENDER {
            self.application.act_at_sender(now, socket);
        } else {
            read = self.application.act_at_receiver(now, socket);
            if read > 0 {
                self.record.handle_read(now, read);
            }
            if self.application.is_complete() && self.completed.is_none() {
                self.completed = Some(now);
                self.record.end_window(now);
            }
        }
        // After the transfer is complete, a reset is a normal way to close.
        match socket.failure.take() {
            Some(error) if self.completed.is_none() => Err(error),
            _ => Ok(read),
        }
    }

    fn is_alive(&self, now: Time) -> bool {
        self.config.start < now && now <= self.record.window_end()
    }

    /// Updates and returns the `TCP_INFO` of the sender.
    fn look(&mut self) -> io::Result<Option<TcpInfo>> {
        let is_established = self.is_established[SENDER];
        if let Some(sender) = self.sockets[SENDER].as_ref().filter(|_| is_established) {
            self.info = Some(sender.info()?);
        }
        Ok(self.info)
    }

    /// Takes a sample from which means are computed.
    fn handle_mean(&mut self, now: Time) -> io::Result<()> {
        if !self.is_alive(now) {
            return Ok(());
        }
        let before = self.info;
        let Some(info) = self.look()? else { return Ok(()) };
        self.record.handle_sample(now, info.cwnd_pkts, info.srtt_us);
        let before = before.unwrap_or_default();
        if before.timeouts.unwrap_or(0) < info.timeouts.unwrap_or(0) {
            self.events.push((now, "timeout"));
        }
        if before.ca_state != info.ca_state {
            let names = ["open", "disorder", "cwr", "recovery", "loss"];
            self.events.extend(names.get(usize::from(info.ca_state)).map(|&name| (now, name)));
        }
        Ok(())
    }

    /// Records the `TCP_INFO` of both ends.
    fn tell_states(&self, now: Time, states: &mut States) -> io::Result<()> {
        for end in [SENDER, RECEIVER] {
            let is_told = self.is_alive(now) && self.is_established[end];
            if let Some(socket) = self.sockets[end].as_ref().filter(|_| is_told) {
                states.take(now, self.config.id, end as u16, socket)?;
            }
        }
        Ok(())
    }

    /// Adds a row to the table of samples.
    fn handle_sample(&mut self, now: Time) -> io::Result<()> {
        let info = if self.is_alive(now) { self.look()? } else { None };
        let [_, delivered_bytes] = self.record.sent_and_delivered_bytes();
        self.rows.push(info.map(|info| Row { info, delivered_bytes }));
        Ok(())
    }
}

fn make(namespace: &Namespace, algorithm: &str) -> io::Result<Socket> {
    namespace.run(|| Socket::new(algorithm))
}

fn token(index: usize, part: usize) -> u64 {
    (index * 4 + part) as u64
}

fn part(token: u64) -> usize {
    token as usize % 4
}
