//! The current state of an emulated link, for programs that display it beside a shell.

use std::io::{self, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time;

use cwndlab_emu::{Frame, Tap};
use cwndlab_link::{Direction, Link, LinkEvent, Packet, Stages};
use cwndlab_units::{Duration, Time};
use serde::Serialize;

use crate::capture::GrowingCapture;

const INTERVAL: Duration = Duration::from_millis(250);

/// The last interval of both directions: first towards the program, then from the program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status(Arc<Mutex<[Interval; 2]>>);

/// Counts of one direction of the link during an interval.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
struct Interval {
    rate_mbit_s: f64,
    /// Mean time that departed packets spent in the link; `None` if no packet departed.
    delay_ms: Option<f64>,
    queue_pkts: u32,
    queue_bytes: u64,
    dropped_pkts: u64,
}

/// Measures both directions.
#[derive(Debug)]
pub(crate) struct LiveTap {
    status: Status,
    sums: [Sum; 2],
    next: Time,
    /// Capture of the packets at the program's interface.
    capture: Option<GrowingCapture>,
}

/// Port of the link on the program's side.
const PROGRAM: u16 = 1;

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    bytes: u64,
    packets: u64,
    delay: Duration,
}

impl LiveTap {
    pub(crate) fn new(status: Status, capture: Option<GrowingCapture>) -> Self {
        Self { status, sums: Default::default(), next: Time::ZERO + INTERVAL, capture }
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// Returns an error if the capture file could not be written.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.capture.map_or(Ok(()), GrowingCapture::finish)
    }
}

impl<L: Link<Frame> + Stages> Tap<L> for LiveTap {
    fn handle_arrival(&mut self, now: Time, port: u16, frame: &mut Frame) {
        frame.assign(flow_of(frame.content()), port.max(1));
        if let Some(capture) = self.capture.as_mut().filter(|_| port == PROGRAM) {
            capture.push(now, frame.content());
        }
    }

    fn handle_departure(&mut self, now: Time, _at: Time, port: u16, frame: &Frame) {
        let sum = &mut self.sums[usize::from(port == 0)];
        sum.bytes += u64::from(frame.wire_bytes());
        sum.packets += 1;
        sum.delay += now.saturating_since(frame.entered());
        if let Some(capture) = self.capture.as_mut().filter(|_| port == PROGRAM) {
            capture.push(now, frame.content());
        }
    }

    fn handle_event(&mut self, _at: Time, _event: &LinkEvent) {}

    fn wake_time(&self) -> Time {
        self.next
    }

    fn handle_wake(&mut self, now: Time, link: &mut L) {
        self.next += INTERVAL;
        if let Some(capture) = &mut self.capture {
            capture.write();
        }
        let mut intervals = Direction::BOTH.map(|direction| {
            let queue = link.backlog_of(direction, 1, now);
            let counters = link.counters_of(direction, 1, now);
            Interval {
                queue_pkts: queue.packets,
                queue_bytes: queue.bytes,
                dropped_pkts: counters.iter().map(|counters| counters.dropped.packets).sum(),
                ..Interval::default()
            }
        });
        for (interval, sum) in intervals.iter_mut().zip(std::mem::take(&mut self.sums)) {
            interval.rate_mbit_s = sum.bytes as f64 * 8e3 / INTERVAL.as_nanos() as f64;
            interval.delay_ms =
                (sum.packets > 0).then(|| sum.delay.as_millis_f64() / sum.packets as f64);
        }
        // A reader holds the lock only while copying; the link must not wait for it.
        if let Ok(mut status) = self.status.0.try_lock() {
            *status = intervals;
        }
    }
}

/// Number of a packet's flow: a hash of addresses, protocol and the first four bytes after the IP
/// header (the ports of TCP and UDP). All packets of a connection have the same flow number.
fn flow_of(packet: &[u8]) -> u32 {
    let header_bytes = usize::from(packet[0] & 0xf) * 4;
    let ports = packet.get(header_bytes..header_bytes + 4).unwrap_or(&[]);
    // FNV-1a (Fowler, Noll, Vo).
    let bytes = packet[12..20].iter().chain(ports).chain(&packet[9..10]);
    bytes.fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Sends the state of the link, one line of JSON per interval, to every client of the abstract
/// socket `@cwndlab-shell-PID` of this namespace.
pub(crate) fn publish(status: Status) -> io::Result<()> {
    let address = SocketAddr::from_abstract_name(format!("cwndlab-shell-{}", process::id()))?;
    let listener = UnixListener::bind_addr(&address)?;
    thread::spawn(move || {
        for watcher in listener.incoming().map_while(Result::ok) {
            let status = status.clone();
            // Ends when the watcher disconnects.
            thread::spawn(move || tell(watcher, &status));
        }
    });
    Ok(())
}

fn tell(mut watcher: UnixStream, status: &Status) -> io::Result<()> {
    #[derive(Serialize)]
    struct Line {
        down: Interval,
        up: Interval,
    }
    loop {
        let [down, up] = *status.0.lock().expect("no thread panics while it holds the lock");
        let mut line = serde_json::to_vec(&Line { down, up })?;
        line.push(b'\n');
        watcher.write_all(&line)?;
        thread::sleep(time::Duration::from_nanos(INTERVAL.as_nanos()));
    }
}
