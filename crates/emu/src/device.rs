//! Configures network devices of this thread's namespace with the system calls of netdevice(7) and
//! rtnetlink(7).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::netlink::{self, attribute};
use crate::system_call::checked;

/// Brings up a device of this thread's namespace.
pub(crate) fn bring_up(name: &str) -> io::Result<()> {
    let control = control_socket()?;
    let mut request = request(name)?;
    control_device(&control, libc::SIOCGIFFLAGS, &mut request)?;
    // SAFETY: the call before has filled in the flags.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as i16;
    control_device(&control, libc::SIOCSIFFLAGS, &mut request)
}

/// Sets the maximum number of packets that wait in the queue of a device.
///
/// Uses rtnetlink, because `SIOCSIFTXQLEN` needs privileges over the whole machine.
pub(crate) fn set_queue_length(name: &str, packets: u32) -> io::Result<()> {
    // `struct ifinfomsg`: family, type, index, flags, and mask of the flags to change.
    let mut body = vec![0; 4];
    body.extend(netlink::index_of(name)?.to_ne_bytes());
    body.extend([0; 8]);
    attribute(&mut body, libc::IFLA_TXQLEN, &packets.to_ne_bytes());
    netlink::ask(libc::RTM_NEWLINK, 0, &body)
}

/// Opens a socket for reading and configuring devices.
pub(crate) fn control_socket() -> io::Result<OwnedFd> {
    // SAFETY: takes no pointer.
    let descriptor =
        checked(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: a new descriptor with no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Prepares a request about the device of this name.
pub(crate) fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all zeros is an ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no device name: {name}")));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Reads or changes a property of a device.
pub(crate) fn control_device(
    descriptor: &OwnedFd,
    operation: libc::Ioctl,
    request: &mut libc::ifreq,
) -> io::Result<()> {
    // SAFETY: every operation here reads or writes an ifreq.
    let status =
        unsafe { libc::ioctl(descriptor.as_raw_fd(), operation, std::ptr::from_mut(request)) };
    checked(status).map(|_| ())
}
