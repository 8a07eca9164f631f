//! Return values of system calls.

use std::io;

/// Converts the status of a system call: a negative number becomes the error of `errno`.
pub(crate) fn checked(status: libc::c_int) -> io::Result<libc::c_int> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
}
