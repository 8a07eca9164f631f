//! TUN devices, through which packets of a network namespace enter and leave the emulator.

use std::fs;
use std::io::{self, IoSlice};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::device::{bring_up, control_device, control_socket, request, set_queue_length};
use crate::frame::MTU_BYTES;
use crate::route;
use crate::system_call::checked;
use crate::{Namespace, Route};

/// Capacity of a TUN device's ring: enough for a large window that is sent at once.
///
/// With the default capacity of 500 frames, packets are lost before they enter a link of 1 Gbit/s.
const RING_FRAMES: u32 = 20_000;

/// Configuration of a TUN device in a network namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TunConfig {
    /// The name of the device, which is unique in its namespace.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// Routes that lead through the device.
    pub routes: Vec<Route>,
}

/// An open TUN device; closing it removes the device.
#[derive(Debug)]
pub struct Tun {
    descriptor: OwnedFd,
    name: String,
    namespace: Namespace,
}

impl Tun {
    /// Creates the device in `namespace` and brings it up.
    ///
    /// # Errors
    /// Returns an error if `/dev/net/tun` does not exist or may not be used, or if the name is
    /// already in use.
    pub fn new(namespace: &Namespace, config: &TunConfig) -> io::Result<Self> {
        let descriptor = namespace.run(|| {
            let descriptor = open(&config.name)?;
            // Keeps IPv6 router solicitations out of experiments. Without IPv6, this file does not
            // exist.
            let ipv6 = format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", config.name);
            let _ = fs::write(ipv6, "1");
            let control = control_socket()?;
            let mut request = request(&config.name)?;
            request.ifr_ifru.ifru_mtu = MTU_BYTES as i32;
            control_device(&control, libc::SIOCSIFMTU, &mut request)?;
            set_queue_length(&config.name, RING_FRAMES)?;
            request.ifr_ifru.ifru_addr = socket_address(config.address);
            control_device(&control, libc::SIOCSIFADDR, &mut request)?;
            request.ifr_ifru.ifru_netmask = socket_address(Ipv4Addr::BROADCAST);
            control_device(&control, libc::SIOCSIFNETMASK, &mut request)?;
            bring_up(&config.name)?;
            config.routes.iter().try_for_each(|route| route::add(&config.name, route))?;
            Ok(descriptor)
        })?;
        Ok(Self { descriptor, name: config.name.clone(), namespace: namespace.clone() })
    }

    /// The namespace of the device.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Reads the next packet, preceded by the kernel's header; returns the length of both, or
    /// `None` if no packet is available.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Option<usize> {
        // SAFETY: the length is that of the buffer.
        let bytes = unsafe {
            libc::read(self.descriptor.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len())
        };
        usize::try_from(bytes).ok()
    }

    /// Writes a packet in parts; the first part begins with the kernel's header. Returns `false`
    /// if the kernel refused the packet.
    pub(crate) fn write(&self, parts: &[IoSlice<'_>]) -> bool {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        // SAFETY: an IoSlice is an iovec, and their number is that of the slice.
        let bytes = unsafe {
            libc::writev(
                self.descriptor.as_raw_fd(),
                parts.as_ptr().cast(),
                parts.len() as libc::c_int,
            )
        };
        usize::try_from(bytes) == Ok(total)
    }

    pub(crate) fn raw_descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// Number of frames that the namespace sent and that did not fit into the ring.
    ///
    /// # Errors
    /// Returns an error if the kernel's counters cannot be read.
    pub(crate) fn ring_drops(&self) -> io::Result<u64> {
        let devices = self.namespace.run(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
        transmit_drops(&devices, &self.name).ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("no device {} any more", self.name))
        })
    }
}

/// A device's count of dropped outgoing packets in `/proc/net/dev`. After 8 columns for receiving,
/// the columns for sending are bytes, packets, errors and drops.
fn transmit_drops(devices: &str, name: &str) -> Option<u64> {
    let line =
        devices.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().nth(11)?.parse().ok()
}

/// The address of a device in this thread's namespace; `None` if there is no such device.
///
/// # Errors
/// Returns an error if the kernel refuses the request.
pub fn address_of(name: &str) -> io::Result<Option<Ipv4Addr>> {
    let mut request = request(name)?;
    match control_device(&control_socket()?, libc::SIOCGIFADDR, &mut request) {
        // SAFETY: the call has filled in a sockaddr_in, from which the address is read.
        Ok(()) => Ok(Some(unsafe {
            let address = (&raw const request.ifr_ifru).cast::<libc::sockaddr_in>();
            Ipv4Addr::from(address.read_unaligned().sin_addr.s_addr.to_ne_bytes())
        })),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENODEV | libc::EADDRNOTAVAIL) => Ok(None),
            _ => Err(error),
        },
    }
}

fn open(name: &str) -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
    // SAFETY: the path ends in a zero.
    let descriptor = checked(unsafe { libc::open(c"/dev/net/tun".as_ptr(), flags) })?;
    // SAFETY: a new descriptor with no other owner.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as i16;
    control_device(&descriptor, libc::TUNSETIFF as libc::Ioctl, &mut request)?;
    let offloads = libc::c_ulong::from(libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO_ECN);
    // SAFETY: takes no pointer.
    checked(unsafe {
        libc::ioctl(descriptor.as_raw_fd(), libc::TUNSETOFFLOAD as libc::Ioctl, offloads)
    })?;
    Ok(descriptor)
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    let internet = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.octets()) },
        sin_zero: [0; 8],
    };
    // SAFETY: both are plain bytes of the same size.
    unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(internet) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intake::Intake;
    use crate::privilege::skip_unprivileged;

    fn config(name: &str) -> TunConfig {
        TunConfig {
            name: name.into(),
            address: Ipv4Addr::new(100, 64, 0, 1),
            routes: vec![Route::default_with(None)],
        }
    }

    #[test]
    fn drops_are_read_from_the_transmit_columns() {
        let devices = "Inter-| Receive | Transmit\n face |bytes ...\n  tun10: 1 2 3 4 5 6 7 8 9 10 \
                       11 99 13 14 15 16\n   tun1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        assert_eq!(transmit_drops(devices, "tun1"), Some(12));
        assert_eq!(transmit_drops(devices, "tun"), None);
    }

    #[test]
    fn a_tun_carries_what_its_namespace_sends() {
        if skip_unprivileged() {
            return;
        }
        let namespace = Namespace::new().expect("a namespace");
        let tun = Tun::new(&namespace, &config("tun0")).expect("a TUN");
        namespace
            .run(|| std::net::UdpSocket::bind("0.0.0.0:0")?.send_to(b"hello", "203.0.113.7:9"))
            .expect("sent");
        let mut intake = Intake::new();
        let frame = intake.read(&tun).expect("a packet").next().expect("a frame");
        assert!(frame.is_ipv4());
        assert_eq!(frame.content()[12..20], [100, 64, 0, 1, 203, 0, 113, 7]);
        let address = |name| namespace.run(|| address_of(name)).expect("told");
        assert_eq!(address("tun0"), Some(Ipv4Addr::new(100, 64, 0, 1)));
        assert_eq!((address("tun1"), address("lo").is_some()), (None, true));
        assert!(intake.read(&tun).is_none(), "nothing but that: no IPv6 either");
        assert_eq!(tun.ring_drops().expect("told"), 0);
    }

    #[test]
    fn a_ring_that_nobody_reads_overflows_and_says_so() {
        if skip_unprivileged() {
            return;
        }
        let namespace = Namespace::new().expect("a namespace");
        let tun = Tun::new(&namespace, &config("tun0")).expect("a TUN");
        namespace
            .run(|| {
                let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
                for _ in 0..RING_FRAMES + 100 {
                    socket.send_to(b"x", "203.0.113.7:9")?;
                }
                Ok(())
            })
            .expect("sent");
        assert!(tun.ring_drops().expect("told") >= 90);
    }

    #[test]
    fn the_device_vanishes_with_its_file() {
        if skip_unprivileged() {
            return;
        }
        let namespace = Namespace::new().expect("a namespace");
        let tun = Tun::new(&namespace, &config("tun0")).expect("a TUN");
        assert!(Tun::new(&namespace, &config("tun0")).is_err(), "the name is taken");
        drop(tun);
        Tun::new(&namespace, &config("tun0")).expect("the name is free again");
    }
}
