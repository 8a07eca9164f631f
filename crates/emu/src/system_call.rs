//! What system calls return.

use std::io;

/// The answer of a system call that returns a negative number on failure, or its error.
pub(crate) fn checked(status: libc::c_int) -> io::Result<libc::c_int> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
}
