//! Non-blocking TCP sockets of the Linux kernel.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use cwndlab_emu::Ready;
use cwndlab_scenario::Connection;
use cwndlab_units::Time;

use crate::tcp_info::{self, TcpInfo};

/// Bytes that the applications send: only their number matters, not their content.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// A TCP socket: a connection or a listener.
#[derive(Debug)]
pub(crate) struct Socket {
    descriptor: OwnedFd,
    peer_has_finished: bool,
    /// Whether the peer's end, or an error, follows the data that can still be read.
    has_ended: bool,
    /// The first error of a read or a write.
    pub(crate) failure: Option<io::Error>,
}

impl Socket {
    /// Creates a socket in this thread's namespace with the congestion control `algorithm`.
    pub(crate) fn new(algorithm: &str) -> io::Result<Self> {
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: takes no pointer.
        let socket = Self::from_status(unsafe { libc::socket(libc::AF_INET, kind, 0) })?;
        socket.set(libc::IPPROTO_TCP, libc::TCP_CONGESTION, algorithm.as_bytes())?;
        Ok(socket)
    }

    /// Listens for a connection at an address.
    pub(crate) fn listen(&self, address: Ipv4Addr, port: u16) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_REUSEADDR, &1_i32.to_ne_bytes())?;
        let (address, length) = socket_address(SocketAddrV4::new(address, port));
        // SAFETY: the length is that of the address.
        checked(unsafe { libc::bind(self.raw(), (&raw const address).cast(), length) })?;
        // SAFETY: takes no pointer.
        checked(unsafe { libc::listen(self.raw(), 8) }).map(drop)
    }

    /// Accepts a connection; returns `None` if no connection is waiting.
    pub(crate) fn accept(&self) -> io::Result<Option<Self>> {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: the peer's address is not requested, so null pointers are allowed.
        let status =
            unsafe { libc::accept4(self.raw(), std::ptr::null_mut(), std::ptr::null_mut(), flags) };
        match Self::from_status(status) {
            Ok(socket) => Ok(Some(socket)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Starts to connect.
    pub(crate) fn connect(&self, address: Ipv4Addr, port: u16) -> io::Result<()> {
        let (address, length) = socket_address(SocketAddrV4::new(address, port));
        // SAFETY: the length is that of the address.
        let status = unsafe { libc::connect(self.raw(), (&raw const address).cast(), length) };
        match checked(status) {
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
            other => other.map(drop),
        }
    }

    /// Whether a connection attempt has succeeded.
    ///
    /// # Errors
    /// Returns an error if the connection was refused or timed out.
    pub(crate) fn is_connected(&self) -> io::Result<bool> {
        let mut error = [0; 4];
        self.option(libc::SOL_SOCKET, libc::SO_ERROR, &mut error)?;
        match i32::from_ne_bytes(error) {
            0 => Ok(!matches!(self.state(&mut [0; 1])?, [TCP_SYN_SENT | TCP_CLOSE])),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }

    /// Reads `TCP_INFO`.
    pub(crate) fn info(&self) -> io::Result<TcpInfo> {
        let mut buffer = tcp_info::buffer();
        Ok(TcpInfo::parse(self.state(&mut buffer)?))
    }

    /// Does the same as [`info`](Self::info), but returns the kernel's bytes, at the start of
    /// `buffer`.
    pub(crate) fn state<'a>(&self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let length = self.option(libc::IPPROTO_TCP, libc::TCP_INFO, buffer)?;
        Ok(&buffer[..length])
    }

    /// Notes that the socket has become ready.
    pub(crate) fn handle_ready(&mut self, ready: Ready) {
        self.has_ended |= ready.has_ended;
    }

    pub(crate) fn raw(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    fn from_status(status: libc::c_int) -> io::Result<Self> {
        // SAFETY: a new descriptor with no other owner.
        let descriptor = unsafe { OwnedFd::from_raw_fd(checked(status)?) };
        Ok(Self { descriptor, peer_has_finished: false, has_ended: false, failure: None })
    }

    fn set(&self, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
        let length = value.len() as libc::socklen_t;
        // SAFETY: the length is that of the value.
        let status =
            unsafe { libc::setsockopt(self.raw(), level, option, value.as_ptr().cast(), length) };
        checked(status).map(drop)
    }

    fn option(&self, level: i32, option: i32, value: &mut [u8]) -> io::Result<usize> {
        let mut length = value.len() as libc::socklen_t;
        // SAFETY: the length is that of the value.
        let status = unsafe {
            let value = value.as_mut_ptr().cast();
            libc::getsockopt(self.raw(), level, option, value, &raw mut length)
        };
        checked(status).map(|_| length as usize)
    }

    /// Bytes that a call read or wrote; zero if the call would block or failed.
    fn moved(&mut self, status: isize) -> usize {
        usize::try_from(status).unwrap_or_else(|_| {
            let error = io::Error::last_os_error();
            if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) {
                self.failure.get_or_insert(error);
            }
            0
        })
    }
}

impl Connection for Socket {
    fn write(&mut self, _now: Time, bytes: u64) -> u64 {
        let length = bytes.min(ZEROS.len() as u64) as usize;
        // SAFETY: the length is at most that of the zeros.
        let status =
            unsafe { libc::send(self.raw(), ZEROS.as_ptr().cast(), length, libc::MSG_NOSIGNAL) };
        self.moved(status) as u64
    }

    fn read(&mut self, _now: Time) -> u64 {
        let mut total = 0;
        loop {
            // SAFETY: with MSG_TRUNC, TCP discards the data without copying (tcp(7)): no memory is
            // written.
            let status =
                unsafe { libc::recv(self.raw(), std::ptr::null_mut(), 1 << 30, libc::MSG_TRUNC) };
            self.peer_has_finished |= status == 0;
            let bytes = self.moved(status);
            total += bytes as u64;
            // One read takes all available data; data that arrive later are reported again.
            if bytes == 0 || !self.has_ended {
                return total;
            }
        }
    }

    fn peer_has_finished(&self) -> bool {
        self.peer_has_finished
    }

    fn close(&mut self, _now: Time) {
        // SAFETY: takes no pointer. Failure is harmless: the peer may already have closed.
        unsafe { libc::shutdown(self.raw(), libc::SHUT_WR) };
    }
}

/// Socket state before the connection is established, from `linux/tcp_states.h`.
const TCP_SYN_SENT: u8 = 2;
/// Socket state without a connection, from `linux/tcp_states.h`.
const TCP_CLOSE: u8 = 7;

fn socket_address(address: SocketAddrV4) -> (libc::sockaddr_in, libc::socklen_t) {
    let internet = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    };
    (internet, size_of::<libc::sockaddr_in>() as libc::socklen_t)
}

fn checked(status: libc::c_int) -> io::Result<libc::c_int> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
}

#[cfg(test)]
mod tests {
    use cwndlab_emu::{Interest, Poll};
    use cwndlab_units::Duration;

    use super::*;

    /// An algorithm that every kernel permits to users without privileges.
    const ANYBODYS: &str = "reno";

    /// Both ends of a connection over the loopback device.
    fn pair(port: u16) -> (Socket, Socket) {
        let listener = Socket::new(ANYBODYS).expect("a socket");
        listener.listen(Ipv4Addr::LOCALHOST, port).expect("listening");
        let client = Socket::new(ANYBODYS).expect("a socket");
        client.connect(Ipv4Addr::LOCALHOST, port).expect("connecting");
        let server = (0..1_000).find_map(|_| listener.accept().expect("accepting"));
        (client, server.expect("a connection"))
    }

    #[test]
    fn bytes_are_counted_and_an_end_is_seen() {
        let (mut client, mut server) = pair(47_801);
        assert!(client.is_connected().expect("connected"));
        assert_eq!(server.read(Time::ZERO), 0);
        assert!(!server.peer_has_finished());
        assert_eq!(client.write(Time::ZERO, 10_000), 10_000);
        client.close(Time::ZERO);
        let read: u64 = (0..100_000).map(|_| server.read(Time::ZERO)).sum();
        assert_eq!(read, 10_000);
        assert!(server.peer_has_finished());
        assert!(server.failure.is_none() && client.failure.is_none());
        assert!(client.info().expect("told").cwnd_pkts >= 2);
    }

    #[test]
    fn a_read_sees_the_end_behind_the_data_once_it_has_been_reported() {
        let (mut client, mut server) = pair(47_803);
        assert_eq!(client.write(Time::ZERO, 10_000), 10_000);
        client.close(Time::ZERO);
        let poll = Poll::new().expect("a poll");
        poll.add(server.raw(), 5, Interest::Change).expect("added");
        let mut ready = Vec::new();
        while !ready.iter().any(|ready: &Ready| ready.has_ended) {
            poll.wait(Duration::from_secs(1), &mut ready).expect("waited");
            ready.iter().for_each(|&ready| server.handle_ready(ready));
        }
        assert_eq!(server.read(Time::ZERO), 10_000);
        assert!(server.peer_has_finished());
    }

    #[test]
    fn a_full_socket_takes_no_more_and_is_no_failure() {
        let (mut client, _server) = pair(47_802);
        let mut total = 0;
        while let bytes @ 1.. = client.write(Time::ZERO, u64::MAX) {
            total += bytes;
            assert!(total < 1 << 30, "nobody reads");
        }
        assert!(client.failure.is_none());
    }

    #[test]
    fn an_algorithm_that_is_not_there_is_an_error() {
        let error = Socket::new("no-such-one").expect_err("no such algorithm");
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }

    #[test]
    fn a_refused_connection_is_an_error() {
        let client = Socket::new(ANYBODYS).expect("a socket");
        // On the loopback device, the refusal may arrive at once.
        let refused = client.connect(Ipv4Addr::LOCALHOST, 47_809).is_err()
            || (0..1_000).any(|_| client.is_connected().is_err());
        assert!(refused);
    }
}
