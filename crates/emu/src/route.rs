//! Routes through a device, with the congestion control of the connections that take them.

use std::ffi::CString;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Packets to a network leave through a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// First address of the network.
    pub network: Ipv4Addr,
    /// How many bits of an address are those of the network; none for all addresses.
    pub prefix_bits: u8,
    /// The algorithm of connections that take the route and do not choose one themselves; the
    /// namespace's default if absent.
    pub algorithm: Option<String>,
}

impl Route {
    /// Everything that no other route knows of.
    pub fn default_with(algorithm: Option<&str>) -> Self {
        let algorithm = algorithm.map(str::to_owned);
        Self { network: Ipv4Addr::UNSPECIFIED, prefix_bits: 0, algorithm }
    }
}

/// Adds a route through a device of this thread's namespace.
///
/// # Errors
/// If there is one to this network already (`EEXIST`), or no such algorithm (`EINVAL`).
pub(crate) fn add(device: &str, route: &Route) -> io::Result<()> {
    let name = CString::new(device)?;
    // SAFETY: the name ends in a zero.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: takes no pointer.
    let status = unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE)
    };
    if status < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else has.
    let socket = unsafe { OwnedFd::from_raw_fd(status) };
    ask(&socket, &message(index, route))
}

/// `RTM_NEWROUTE` as in rtnetlink(7).
fn message(device_index: u32, route: &Route) -> Vec<u8> {
    let mut body = vec![
        libc::AF_INET as u8,
        route.prefix_bits,
        0, // of the source
        0, // type of service
        libc::RT_TABLE_MAIN,
        libc::RTPROT_STATIC,
        libc::RT_SCOPE_LINK,
        libc::RTN_UNICAST,
        0,
        0,
        0,
        0,
    ];
    attribute(&mut body, libc::RTA_DST, &route.network.octets());
    attribute(&mut body, libc::RTA_OIF, &device_index.to_ne_bytes());
    if let Some(algorithm) = &route.algorithm {
        let mut metrics = Vec::new();
        attribute(&mut metrics, RTAX_CC_ALGO, &[algorithm.as_bytes(), &[0]].concat());
        attribute(&mut body, libc::RTA_METRICS, &metrics);
    }
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let mut message = Vec::new();
    message.extend((HEADER_BYTES as u32 + body.len() as u32).to_ne_bytes());
    message.extend(libc::RTM_NEWROUTE.to_ne_bytes());
    message.extend((flags as u16).to_ne_bytes());
    message.extend([0; 8]); // sequence number and port: there is but one message
    message.extend(body);
    message
}

/// Of `struct nlmsghdr`.
const HEADER_BYTES: usize = 16;
/// A route's congestion control, in `linux/rtnetlink.h`.
const RTAX_CC_ALGO: u16 = 16;

fn attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend((4 + value.len() as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(value);
    message.resize(message.len().next_multiple_of(4), 0);
}

fn ask(socket: &OwnedFd, message: &[u8]) -> io::Result<()> {
    let mut answer = [0_u8; 1024];
    // SAFETY: both buffers are as long as is said.
    let length = unsafe {
        let descriptor = socket.as_raw_fd();
        if libc::send(descriptor, message.as_ptr().cast(), message.len(), 0) < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::recv(descriptor, answer.as_mut_ptr().cast(), answer.len(), 0)
    };
    if length < (HEADER_BYTES + 4) as isize {
        return Err(io::Error::last_os_error());
    }
    // An answer begins with the negative number of an error, or 0.
    let code = &answer[HEADER_BYTES..HEADER_BYTES + 4];
    match i32::from_ne_bytes(code.try_into().expect("four bytes")) {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(-code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Namespace;
    use crate::privilege::skip_unprivileged;

    #[test]
    fn attributes_are_padded_to_words_and_say_their_length() {
        let mut message = Vec::new();
        attribute(&mut message, 16, b"reno\0");
        assert_eq!(message, [9, 0, 16, 0, b'r', b'e', b'n', b'o', 0, 0, 0, 0]);
    }

    #[test]
    fn a_route_is_added_once_and_only_with_an_algorithm_that_exists() {
        if skip_unprivileged() {
            return;
        }
        let namespace = Namespace::new().expect("a namespace");
        let route = |network: [u8; 4], algorithm: Option<&str>| Route {
            network: network.into(),
            prefix_bits: 25,
            algorithm: algorithm.map(str::to_owned),
        };
        let try_to = |route: Route| namespace.run(|| add("lo", &route));
        try_to(route([100, 64, 0, 128], Some("reno"))).expect("added");
        let error = try_to(route([100, 64, 0, 128], None)).expect_err("there is one");
        assert_eq!(error.raw_os_error(), Some(libc::EEXIST));
        let error = try_to(route([100, 64, 1, 128], Some("nonsuch"))).expect_err("none such");
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }
}
