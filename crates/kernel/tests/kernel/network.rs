//! Two hosts with an adverse link in between: the emulator with a queue that marks and drops,
//! random losses and outages.

use std::fs::File;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::thread;

use cwndlab_emu::{Clock, Emulator, Frame, Namespace, Route, Stop, Tap, Tun, TunConfig};
use cwndlab_link::{
    AnyLink, Duplex, LinkEvent, LossConfig, OutageConfig, OutageKind, QueueConfig, RateConfig,
    StageConfig, Traces,
};
use cwndlab_units::{Duration, Rate, Time};

const SENDER: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(100, 64, 0, 2);
const PORT: u16 = 5001;

/// Bytes between two pauses, each of which is longer than an RTO.
const BETWEEN_PAUSES_BYTES: usize = 6_000_000;
const PAUSE: std::time::Duration = std::time::Duration::from_millis(300);

/// Sends until `is_enough` returns true; returns the number of bytes that arrived.
pub(crate) fn transfer(algorithm: &str, is_enough: impl Fn(usize) -> bool) -> usize {
    let ends = [(); 2].map(|()| Namespace::new().expect("a namespace"));
    let tuns = ends.iter().zip([SENDER, RECEIVER]).map(tun).collect();
    let (listener, socket) = (
        ends[1].run(|| TcpListener::bind((RECEIVER, PORT))).expect("listen"),
        ends[0].run(socket).expect("a socket"),
    );
    for end in &ends {
        // Affects this namespace only.
        end.run(|| std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "1")).expect("ask for ECN");
    }
    choose(listener.as_raw_fd(), algorithm).expect("an algorithm");
    choose(socket.as_raw_fd(), algorithm).expect("an algorithm");

    let stop = Stop::new();
    thread::scope(|scope| {
        let road = scope
            .spawn(|| Emulator::new(road(), tuns, Nothing).run(Clock::start(), Time::NEVER, &stop));
        let reader = scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("accept");
            io::copy(&mut stream, &mut io::sink()).expect("read") as usize
        });
        let sent = send(connect(socket).expect("connect"), is_enough);
        let arrived = reader.join().expect("the reader");
        stop.stop();
        let (report, _) = road.join().expect("no panic").expect("no error");
        assert_eq!(arrived, sent, "all that was sent has arrived");
        assert_eq!(report.ring_drops, 0);
        arrived
    })
}

fn road() -> AnyLink<Frame> {
    let wire = |stage: StageConfig, name| {
        AnyLink::one_way(&[stage], &Traces::new(), 1, name).expect("a wire")
    };
    let delay = Duration::from_millis(5);
    let every = NonZeroU32::new(1500).expect("not 0");
    // Longer than a first RTO.
    let closed = |second| OutageConfig {
        start: Time::from_secs(second),
        stop: Time::from_millis(1000 * second + 350),
        kind: OutageKind::Hold,
    };
    let data = StageConfig {
        rate: RateConfig::Fixed { rate: Rate::from_mbit_per_sec(100) },
        queue: QueueConfig::Step {
            mark_bytes: None,
            mark_packets: Some(40),
            packets: Some(90),
            bytes: None,
        },
        loss: Some(LossConfig::Periodic { every }),
        outages: (1..100).map(closed).collect(),
        delay,
        ..StageConfig::default()
    };
    let acks = StageConfig { delay, ..StageConfig::default() };
    AnyLink::Duplex(Box::new(Duplex::new(wire(data, "data"), wire(acks, "acks"))))
}

/// A tap that ignores all frames.
struct Nothing;

impl<L> Tap<L> for Nothing {
    fn handle_arrival(&mut self, _now: Time, _port: u16, frame: &mut Frame) {
        frame.assign(0, 1);
    }

    fn handle_departure(&mut self, _now: Time, _at: Time, _port: u16, _frame: &Frame) {}

    fn handle_event(&mut self, _at: Time, _event: &LinkEvent) {}

    fn wake_time(&self) -> Time {
        Time::NEVER
    }

    fn handle_wake(&mut self, _now: Time, _link: &mut L) {}
}

fn tun((namespace, address): (&Namespace, Ipv4Addr)) -> Tun {
    let config =
        TunConfig { name: "tun0".into(), address, routes: vec![Route::default_with(None)] };
    Tun::new(namespace, &config).expect("a TUN")
}

fn send(mut stream: TcpStream, is_enough: impl Fn(usize) -> bool) -> usize {
    let block = [0x5a_u8; 20_000];
    let mut sent = 0;
    while !is_enough(sent) {
        stream.write_all(&block).expect("write");
        sent += block.len();
        if sent % BETWEEN_PAUSES_BYTES == 0 {
            thread::sleep(PAUSE);
        }
    }
    sent
}

fn socket() -> io::Result<File> {
    // SAFETY: a plain call; the new descriptor has no other owner.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(File::from_raw_fd(fd)) }
    }
}

fn choose(socket: libc::c_int, algorithm: &str) -> io::Result<()> {
    // SAFETY: the length is that of the name.
    let done = unsafe {
        let name = algorithm.as_ptr().cast();
        let length = algorithm.len() as libc::socklen_t;
        libc::setsockopt(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name, length)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn connect(socket: File) -> io::Result<TcpStream> {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: PORT.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(RECEIVER).to_be() },
        sin_zero: [0; 8],
    };
    // SAFETY: the length is that of the address.
    let done = unsafe {
        let length = size_of_val(&address) as libc::socklen_t;
        libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length)
    };
    if done == 0 { Ok(OwnedFd::from(socket).into()) } else { Err(io::Error::last_os_error()) }
}
