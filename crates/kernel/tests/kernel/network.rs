//! Two hosts and a bad road between them: network namespaces of their own, a TUN device each, and a
//! thread that carries the packets with delay, at a rate, through a queue that marks and drops, and
//! that stops altogether now and then.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::machine::now;

const SENDER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const PORT: u16 = 5001;

const BYTES_PER_SEC: u64 = 12_500_000;
const ONE_WAY: Duration = Duration::from_millis(5);
const QUEUE_PACKETS: usize = 90;
const MARK_ABOVE_PACKETS: usize = 40;
const LOSE_ONE_OF: u64 = 1500;
/// After so many data packets the road is closed for [`CLOSED`]: longer than a first RTO.
const CLOSE_AFTER: u64 = 9000;
const CLOSED: Duration = Duration::from_millis(350);
/// What is written between two pauses, each longer than an RTO.
const BETWEEN_PAUSES_BYTES: usize = 6_000_000;
const PAUSE: Duration = Duration::from_millis(300);

/// Sends until `is_enough` says so; how many bytes arrived.
pub(crate) fn transfer(algorithm: &str, is_enough: impl Fn(usize) -> bool) -> usize {
    let receiver = in_namespace(RECEIVER, || {
        TcpListener::bind(SocketAddrV4::new(RECEIVER, PORT)).expect("listen")
    });
    let sender = in_namespace(SENDER, socket);
    let (to_receiver, listener) = receiver.join().expect("a namespace");
    let (to_sender, socket) = sender.join().expect("a namespace");
    choose(listener.as_raw_fd(), algorithm);
    choose(socket.as_raw_fd(), algorithm);

    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| carry(&to_sender, &to_receiver, &is_over));
        let reader = scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("accept");
            io::copy(&mut stream, &mut io::sink()).expect("read") as usize
        });
        let sent = send(connect(socket), is_enough);
        let arrived = reader.join().expect("the reader");
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(arrived, sent, "all that was sent has arrived");
        arrived
    })
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

/// A thread in a namespace of its own, with a TUN device; what `make` makes belongs to it.
fn in_namespace<T: Send + 'static>(
    address: Ipv4Addr,
    make: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<(File, T)> {
    thread::spawn(move || {
        // SAFETY: this thread alone moves.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0, "a network namespace");
        let tun = tun();
        for arguments in [
            format!("addr add {address}/24 dev tun0"),
            "link set tun0 txqueuelen 5000 up".to_owned(),
        ] {
            let done = Command::new("ip").args(arguments.split(' ')).status().expect("run ip");
            assert!(done.success(), "ip {arguments}");
        }
        // of this namespace only
        std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "1").expect("ask for ECN");
        (tun, make())
    })
}

fn tun() -> File {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
        .expect("/dev/net/tun");
    // SAFETY: all zero is a valid request, which is filled here and outlives the call.
    let done = unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(c"tun0".to_bytes()) {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request)
    };
    assert_eq!(done, 0, "TUNSETIFF: {}", io::Error::last_os_error());
    file
}

fn socket() -> File {
    // SAFETY: a plain call; the descriptor becomes one file.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        assert!(fd >= 0, "a socket");
        File::from_raw_fd(fd)
    }
}

fn choose(socket: libc::c_int, algorithm: &str) {
    // SAFETY: the name is as long as said.
    let done = unsafe {
        let name = algorithm.as_ptr().cast();
        let length = algorithm.len() as libc::socklen_t;
        libc::setsockopt(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, name, length)
    };
    assert_eq!(done, 0, "choose {algorithm}: {}", io::Error::last_os_error());
}

fn connect(socket: File) -> TcpStream {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: PORT.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(RECEIVER).to_be() },
        sin_zero: [0; 8],
    };
    // SAFETY: the address is as long as said; the descriptor is a stream socket's.
    unsafe {
        let length = size_of_val(&address) as libc::socklen_t;
        let done = libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length);
        assert_eq!(done, 0, "connect: {}", io::Error::last_os_error());
        TcpStream::from(std::os::fd::OwnedFd::from(socket))
    }
}

/// One direction of the road.
struct Lane {
    waiting: VecDeque<(Instant, Vec<u8>)>,
    is_free_at: Instant,
    packets: u64,
    random: u64,
}

impl Lane {
    fn new() -> Self {
        Self { waiting: VecDeque::new(), is_free_at: now(), packets: 0, random: 1 }
    }

    /// Queues a packet of the data's direction, or drops it.
    fn enter(&mut self, mut packet: Vec<u8>, at: Instant) {
        self.packets += 1;
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let start = self.is_free_at.max(at);
        let backlog = (start - at).as_micros() as u64 * BYTES_PER_SEC / 1_500_000_000;
        if backlog as usize > QUEUE_PACKETS || (self.random >> 33) % LOSE_ONE_OF == 0 {
            return;
        }
        if backlog as usize > MARK_ABOVE_PACKETS {
            mark_ce(&mut packet);
        }
        let closed = if self.packets % CLOSE_AFTER == 0 { CLOSED } else { Duration::ZERO };
        let takes = Duration::from_nanos(packet.len() as u64 * 1_000_000_000 / BYTES_PER_SEC);
        self.is_free_at = start + takes + closed;
        self.waiting.push_back((self.is_free_at + ONE_WAY, packet));
    }

    fn leave(&mut self, mut to: &File, at: Instant) {
        while self.waiting.front().is_some_and(|(due, _)| *due <= at) {
            let (_, packet) = self.waiting.pop_front().expect("front was Some");
            // A full device drops, as any would.
            let _ = to.write(&packet);
        }
    }
}

/// Sets "congestion experienced" where the sender understands it.
fn mark_ce(packet: &mut [u8]) {
    if packet[1] & 3 == 0 {
        return;
    }
    packet[1] |= 3;
    packet[10..12].fill(0);
    let mut sum: u32 = packet[..20]
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

fn carry(sender: &File, receiver: &File, is_over: &AtomicBool) {
    let (mut data, mut acks) = (Lane::new(), Lane::new());
    let mut buffer = [0_u8; 2048];
    while !is_over.load(Ordering::Relaxed) {
        let at = now();
        data.leave(receiver, at);
        acks.leave(sender, at);
        let next = [&data, &acks].into_iter().filter_map(|lane| lane.waiting.front());
        let next = next.map(|(due, _)| due.saturating_duration_since(now())).min();
        wait_for(&[sender, receiver], next.unwrap_or(Duration::from_millis(50)));
        for (mut from, is_data) in [(sender, true), (receiver, false)] {
            while let Ok(count) = from.read(&mut buffer) {
                let packet = buffer[..count].to_vec();
                if packet[0] >> 4 != 4 {
                    continue;
                }
                if is_data {
                    data.enter(packet, now());
                } else {
                    acks.waiting.push_back((now() + ONE_WAY, packet));
                }
            }
        }
    }
}

fn wait_for(files: &[&File; 2], at_most: Duration) {
    let mut polls =
        files.map(|file| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    let limit = libc::timespec {
        tv_sec: at_most.as_secs() as libc::time_t,
        tv_nsec: i64::from(at_most.subsec_nanos()),
    };
    // SAFETY: two valid elements, a valid limit, no mask.
    unsafe { libc::ppoll(polls.as_mut_ptr(), 2, &raw const limit, std::ptr::null()) };
}
