//! Requests to the kernel about routes and devices of this thread's namespace: rtnetlink(7).

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::system_call::checked;

/// Length of `struct nlmsghdr`.
const HEADER_BYTES: usize = 16;

/// Adds an attribute, padded to whole words, to the body of a request or to another attribute.
pub(crate) fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend((4 + value.len() as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// The index of a device of this thread's namespace.
///
/// # Errors
/// Returns an error if no device has this name.
pub(crate) fn index_of(device: &str) -> io::Result<u32> {
    let name = CString::new(device)?;
    // SAFETY: the name ends in a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Requests a change and waits until the kernel has made it; `flags` are added to `NLM_F_REQUEST`
/// and `NLM_F_ACK`.
///
/// # Errors
/// Returns the kernel's error.
pub(crate) fn ask(kind: u16, flags: libc::c_int, body: &[u8]) -> io::Result<()> {
    let kinds = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: takes no pointer.
    let status = checked(unsafe { libc::socket(libc::AF_NETLINK, kinds, libc::NETLINK_ROUTE) })?;
    // SAFETY: a new descriptor with no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(status) };
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16;
    let mut message = Vec::new();
    message.extend((HEADER_BYTES as u32 + body.len() as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]); // sequence number and port: there is only one message
    message.extend(body);
    let mut answer = [0_u8; 1024];
    // SAFETY: the lengths are those of the buffers.
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
    // The reply begins with a negative error number, or 0.
    let code = &answer[HEADER_BYTES..HEADER_BYTES + 4];
    match i32::from_ne_bytes(code.try_into().expect("four bytes")) {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(-code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_to_words_and_say_their_length() {
        let mut body = Vec::new();
        attribute(&mut body, 16, b"reno\0");
        assert_eq!(body, [9, 0, 16, 0, b'r', b'e', b'n', b'o', 0, 0, 0, 0]);
    }

    #[test]
    fn a_device_that_is_not_there_has_no_number() {
        assert!(index_of("lo").is_ok());
        assert!(index_of("no-such-device").is_err());
    }
}
