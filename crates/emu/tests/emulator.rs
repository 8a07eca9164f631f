//! The emulator with kernel sockets at both ends.
//!
//! Skipped, with the reason, without the right to create namespaces.

#![cfg(target_os = "linux")]

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::thread;

use cwndlab_emu::{
    Clock, Emulator, Frame, Namespace, Report, Route, Stop, Tap, Tun, TunConfig, what_is_missing,
};
use cwndlab_link::{
    AnyLink, Duplex, JitterConfig, Link, LinkEvent, LossConfig, Packet, QueueConfig, RateConfig,
    StageConfig, Stages, Traces,
};
use cwndlab_units::{Bytes, Duration, Output, Rate, Time};

const SERVER: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 2);

/// Counts the frames that pass.
#[derive(Default)]
struct Counts {
    arrived: [u64; 2],
    departed: [u64; 2],
    drops: u64,
    looks: Vec<Time>,
    next_look: u64,
}

impl<L> Tap<L> for Counts {
    fn handle_arrival(&mut self, _now: Time, port: u16, frame: &mut Frame) {
        frame.assign(7, 1);
        self.arrived[usize::from(port)] += 1;
    }

    fn handle_departure(&mut self, now: Time, at: Time, port: u16, _frame: &Frame) {
        assert!(at <= now);
        self.departed[usize::from(port)] += 1;
    }

    fn handle_event(&mut self, _at: Time, event: &LinkEvent) {
        assert_eq!(event.kind.flow(), Some(7));
        self.drops += 1;
    }

    fn wake_time(&self) -> Time {
        Time::from_millis(10 * self.next_look)
    }

    fn handle_wake(&mut self, now: Time, _link: &mut L) {
        self.looks.push(now);
        self.next_look += 1;
    }
}

/// A machine that stalls for 10 ms, 20 times a second.
#[derive(Default)]
struct Stalls(u64);

impl<L> Tap<L> for Stalls {
    fn handle_arrival(&mut self, _now: Time, _port: u16, _frame: &mut Frame) {}

    fn handle_departure(&mut self, now: Time, at: Time, _port: u16, _frame: &Frame) {
        assert!(at <= now);
    }

    fn wake_time(&self) -> Time {
        Time::from_millis(50 * self.0)
    }

    fn handle_wake(&mut self, _now: Time, _link: &mut L) {
        self.0 += 1;
        thread::sleep(std::time::Duration::from_millis(10));
    }
}

struct Bed<T> {
    ends: [Namespace; 2],
    stop: Stop,
    emulator: thread::JoinHandle<io::Result<(Report, T)>>,
}

impl<T: Tap<AnyLink<Frame>> + Default + Send + 'static> Bed<T> {
    /// `None`, with the reason printed, without the necessary rights.
    fn new(down: StageConfig, up: StageConfig) -> Option<Self> {
        if let Some(reason) = what_is_missing() {
            println!("skipped: {reason}");
            return None;
        }
        let wire = |stage, name| AnyLink::one_way(&[stage], &Traces::new(), 1, name).expect("fine");
        let ends = [(); 2].map(|()| Namespace::new().expect("a namespace"));
        let tun = |(namespace, address)| {
            let routes = vec![Route::default_with(Some("reno"))];
            let config = TunConfig { name: "tun0".into(), address, routes };
            Tun::new(namespace, &config).expect("a TUN")
        };
        let tuns = ends.iter().zip([SERVER, CLIENT]).map(tun).collect();
        let stop = Stop::new();
        let emulator = thread::spawn({
            let stop = stop.clone();
            move || {
                let link = Duplex::new(wire(down, "down"), wire(up, "up"));
                let link: AnyLink<Frame> = AnyLink::Duplex(Box::new(link));
                Emulator::new(link, tuns, T::default()).run(Clock::start(), Time::NEVER, &stop)
            }
        });
        Some(Self { ends, stop, emulator })
    }

    fn finish(self) -> (Report, T) {
        self.stop.stop();
        self.emulator.join().expect("no panic").expect("no error")
    }
}

fn delayed(millis: u64) -> StageConfig {
    StageConfig { delay: Duration::from_millis(millis), ..StageConfig::default() }
}

fn limited(mbit_s: u64, queue_packets: u32, millis: u64) -> StageConfig {
    StageConfig {
        rate: RateConfig::Fixed { rate: Rate::from_mbit_per_sec(mbit_s) },
        queue: QueueConfig::DropTail { packets: Some(queue_packets), bytes: None },
        ..delayed(millis)
    }
}

#[test]
fn a_round_trip_takes_both_delays() {
    let Some(bed) = Bed::<Counts>::new(delayed(20), delayed(30)) else { return };
    let server = bed.ends[0].run(|| UdpSocket::bind((SERVER, 9))).expect("bound");
    let client = bed.ends[1].run(|| UdpSocket::bind((CLIENT, 9))).expect("bound");
    let clock = Clock::start();
    let (mut fastest, mut rounds) = (Duration::MAX, 0);
    // A busy machine delays some; delaying all of a hundred is an error.
    while rounds < 10 || rounds < 100 && fastest >= Duration::from_millis(55) {
        rounds += 1;
        let began = clock.now();
        client.send_to(b"ping", (SERVER, 9)).expect("sent");
        let (_, from) = server.recv_from(&mut [0; 64]).expect("received");
        server.send_to(b"pong", from).expect("sent");
        client.recv(&mut [0; 64]).expect("received");
        let took = clock.now().saturating_since(began);
        assert!(took >= Duration::from_millis(50), "{took:?}: faster than the link");
        fastest = fastest.min(took);
    }
    assert!(fastest < Duration::from_millis(55), "{fastest:?}");
    let (report, counts) = bed.finish();
    assert_eq!((counts.arrived, counts.departed), ([rounds; 2], [rounds; 2]));
    assert_eq!((report.arrived, report.ring_drops, report.refused), (2 * rounds, 0, 0));
    assert_eq!(report.lateness.count, 2 * rounds);
}

#[test]
fn a_bulk_transfer_gets_the_rate_of_the_link_and_no_more() {
    let queue_packets = 60;
    let Some(bed) = Bed::<Counts>::new(limited(20, queue_packets, 10), delayed(10)) else { return };
    let listener = bed.ends[0].run(|| TcpListener::bind((SERVER, 80))).expect("bound");
    let sender = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accepted");
        // Ends when the receiver closes the connection.
        while stream.write_all(&[0; 65_536]).is_ok() {}
    });
    let mut client = bed.ends[1].run(|| TcpStream::connect((SERVER, 80))).expect("connected");
    let (clock, mut bytes, mut buffer) = (Clock::start(), 0, vec![0; 65_536]);
    let mut read_until = |end: Time| {
        let before = bytes;
        while clock.now() < end {
            bytes += client.read(&mut buffer).expect("read");
        }
        bytes - before
    };
    read_until(Time::from_secs(1));
    let began = clock.now();
    let bytes = read_until(began + Duration::from_secs(3));
    let goodput_bit_s = 8e9 * bytes as f64 / clock.now().saturating_since(began).as_nanos() as f64;
    drop(client);
    sender.join().expect("no panic");
    let (report, counts) = bed.finish();
    // A packet of 1500 bytes has 1448 bytes of payload.
    let share = goodput_bit_s / (20e6 * 1448.0 / 1500.0);
    assert!((0.9..1.03).contains(&share), "{share} of what the link can carry, {report:?}");
    assert!(counts.drops > 0, "slow start fills a queue of {queue_packets}");
    assert_eq!(report.ring_drops, 0);
    // The tap was woken at its own times, however late the loop was.
    assert!(counts.looks.len() > 400);
    assert!((0_u64..).zip(&counts.looks).all(|(n, &at)| at == Time::from_millis(10 * n)));
}

/// Sends `bytes` bytes from the first end to the second and checks that they arrive unchanged.
fn transfer<T>(bed: &Bed<T>, bytes: u32) {
    let content: Vec<u8> = (0..bytes).map(|n| (n % 251) as u8).collect();
    let listener = bed.ends[0].run(|| TcpListener::bind((SERVER, 80))).expect("bound");
    let sender = thread::spawn({
        let content = content.clone();
        move || listener.accept().expect("accepted").0.write_all(&content).expect("sent")
    });
    let mut client = bed.ends[1].run(|| TcpStream::connect((SERVER, 80))).expect("connected");
    let mut received = Vec::new();
    client.read_to_end(&mut received).expect("read");
    sender.join().expect("no panic");
    assert!(received == content, "{} of {} bytes", received.len(), content.len());
}

#[test]
fn what_is_late_is_merged_and_arrives_whole() {
    let Some(bed) = Bed::<Stalls>::new(limited(100, 500, 2), delayed(2)) else { return };
    transfer(&bed, 8_000_000);
    let (report, _) = bed.finish();
    let packets = 8_000_000 / 1448;
    assert!(report.merged > packets / 20, "{report:?}");
    assert!(report.merged < packets, "what is in time is not merged: {report:?}");
    assert_eq!((report.refused, report.ring_drops), (0, 0));
    assert!(report.lateness.count > packets, "each frame is counted: {report:?}");
}

/// Arrivals, and departures in the link's own time.
#[derive(Default)]
struct Journal {
    arrivals: Vec<(Time, u16, Frame)>,
    departures: [Vec<(Time, u32)>; 2],
    /// For each write: its time, its delay after the logical departure, and that departure.
    written: Vec<(Time, Duration, Time)>,
    drops: Vec<Time>,
}

impl<L> Tap<L> for Journal {
    fn handle_arrival(&mut self, now: Time, port: u16, frame: &mut Frame) {
        assert!(frame.wire_bytes() <= 1_500, "the link sees segments");
        frame.assign(7, 1);
        let mut copy = Frame::new(frame.content());
        copy.assign(7, 1);
        self.arrivals.push((now, port, copy));
    }

    fn handle_departure(&mut self, now: Time, at: Time, port: u16, frame: &Frame) {
        self.departures[usize::from(port)].push((at, frame.wire_bytes()));
        self.written.push((now, now.saturating_since(at), at));
    }

    fn handle_event(&mut self, at: Time, _event: &LinkEvent) {
        self.drops.push(at);
    }
}

/// A busy link whose queue overflows and that also loses every 5,000th packet.
fn fast() -> StageConfig {
    let loss = LossConfig::Periodic { every: 5_000.try_into().expect("not 0") };
    StageConfig { loss: Some(loss), ..limited(1_000, 400, 2) }
}

#[test]
fn large_segments_depart_as_the_simulator_says_and_arrive_whole() {
    let Some(bed) = Bed::<Journal>::new(fast(), delayed(2)) else { return };
    transfer(&bed, 40_000_000);
    let (report, journal) = bed.finish();
    assert_eq!((report.refused, report.ring_drops, report.foreign), (0, 0, 0));
    assert!(!journal.drops.is_empty(), "the link loses packets");
    assert!(report.merged > 0, "{report:?}");
    // Many packets arrived in one read, at the same time.
    let together = journal.arrivals.windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
    assert!(together > 40_000_000 / 1448 / 4, "{together} came with the one before");
    // The same packets at the same times through a link in simulated time.
    let wire = |stage, name| AnyLink::one_way(&[stage], &Traces::new(), 1, name).expect("fine");
    let mut link: AnyLink<Frame> =
        AnyLink::Duplex(Box::new(Duplex::new(wire(fast(), "down"), wire(delayed(2), "up"))));
    let (mut departures, mut drops) = ([Vec::new(), Vec::new()], Vec::new());
    let mut poll = |link: &mut AnyLink<Frame>, now| {
        while let Some(output) = link.poll(now) {
            match output {
                Output::Packet { at, port, packet } => {
                    departures[usize::from(port)].push((at, packet.wire_bytes()));
                }
                Output::Event { at, .. } => drops.push(at),
            }
        }
    };
    let last = journal.arrivals.last().expect("some").0;
    for (now, port, frame) in journal.arrivals {
        poll(&mut link, now);
        link.handle_packet(now, port, frame);
    }
    poll(&mut link, last + Duration::from_secs(10));
    for (simulated, emulated) in departures.iter().zip(&journal.departures) {
        // The simulator also delivers what was in the link when the emulator stopped.
        assert_eq!(simulated[..emulated.len()], emulated[..]);
        assert!(simulated.len() - emulated.len() < 10);
    }
    assert_eq!(drops, journal.drops);
    // Frames in transit are written with those that are due, at most 50 us early.
    let early = journal.written.iter().map(|(now, _, at)| at.saturating_since(*now));
    let early: Vec<Duration> = early.filter(|&early| early > Duration::ZERO).collect();
    assert!(early.len() as u64 > report.merged / 10, "{} of {}", early.len(), report.merged);
    assert!(early.iter().all(|&early| early <= Duration::from_micros(50)));
}

#[test]
fn a_link_that_is_not_busy_gives_out_packet_by_packet() {
    let Some(bed) = Bed::<Journal>::new(limited(100, 500, 2), delayed(2)) else { return };
    let listener = bed.ends[0].run(|| TcpListener::bind((SERVER, 80))).expect("bound");
    let sender = thread::spawn(move || {
        listener.accept().expect("accepted").0.write_all(&[7; 4_000_000]).expect("sent")
    });
    let mut client = bed.ends[1].run(|| TcpStream::connect((SERVER, 80))).expect("connected");
    let mut received = Vec::new();
    client.read_to_end(&mut received).expect("read");
    sender.join().expect("no panic");
    let (report, journal) = bed.finish();
    // Frames are merged only after a late one.
    let together: Vec<_> = journal.written.chunk_by(|a, b| a.0 == b.0).collect();
    assert_eq!(together.len() as u64 + report.merged, report.lateness.count);
    for frames in together.iter().filter(|frames| frames.len() > 1) {
        assert!(frames[0].1 > Duration::from_micros(250), "{frames:?}");
    }
}

#[test]
fn jitter_and_loss_work_in_real_time_too() {
    let jitter = JitterConfig::Uniform { max: Duration::from_millis(5) };
    let loss = LossConfig::Periodic { every: 10.try_into().expect("not 0") };
    let down = StageConfig { jitter: Some(jitter), loss: Some(loss), ..delayed(1) };
    let Some(bed) = Bed::<Counts>::new(down, delayed(1)) else { return };
    let server = bed.ends[0].run(|| UdpSocket::bind((SERVER, 9))).expect("bound");
    let client = bed.ends[1].run(|| UdpSocket::bind((CLIENT, 9))).expect("bound");
    for number in 0..100_u8 {
        server.send_to(&[number], (CLIENT, 9)).expect("sent");
    }
    client.set_read_timeout(Some(std::time::Duration::from_millis(500))).expect("set");
    let mut received = Vec::new();
    let mut buffer = [0; 8];
    while client.recv(&mut buffer).is_ok() {
        received.push(buffer[0]);
    }
    assert_eq!(received.len(), 90);
    assert!(received.is_sorted(), "jitter does not reorder: {received:?}");
    assert_eq!(bed.finish().1.drops, 10);
}

#[test]
fn a_queue_of_bytes_counts_frames_by_their_length() {
    let queue = QueueConfig::DropTail { packets: None, bytes: Some(Bytes(3_000)) };
    let stage = StageConfig { queue, ..limited(1, 1, 0) };
    let mut link: AnyLink<Frame> =
        AnyLink::one_way(&[stage], &Traces::new(), 1, "down").expect("fine");
    for _ in 0..4 {
        link.handle_packet(Time::ZERO, 0, Frame::new(&[0x45; 1_400]));
    }
    assert_eq!(link.counters(0, Time::from_millis(1)).dropped.packets, 2);
}
