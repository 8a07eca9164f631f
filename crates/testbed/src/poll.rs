//! Waits for many sockets with the resolution of the clock.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use cwndlab_units::Duration;

/// A set of sockets, each reported once when it becomes ready for anything (edge-triggered).
#[derive(Debug)]
pub(crate) struct Poll {
    descriptor: OwnedFd,
}

const BATCH: usize = 64;

impl Poll {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: takes no pointer.
        let status = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if status < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor with no other owner.
        Ok(Self { descriptor: unsafe { OwnedFd::from_raw_fd(status) } })
    }

    /// Adds a socket, which is reported as `token`.
    pub(crate) fn add(&self, descriptor: RawFd, token: u64) -> io::Result<()> {
        let interest = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = libc::epoll_event { events: interest as u32, u64: token };
        // SAFETY: the event lives during the call.
        let status = unsafe {
            let poll = self.descriptor.as_raw_fd();
            libc::epoll_ctl(poll, libc::EPOLL_CTL_ADD, descriptor, &raw mut event)
        };
        if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits for at most `most` and stores the tokens of ready sockets in `ready`.
    pub(crate) fn wait(&self, most: Duration, ready: &mut Vec<u64>) -> io::Result<()> {
        ready.clear();
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
        let nanos = most.as_nanos();
        let most = libc::timespec {
            tv_sec: (nanos / 1_000_000_000) as libc::time_t,
            tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
        };
        // epoll_wait counts whole milliseconds; not every libc has the function epoll_pwait2.
        // SAFETY: the length is that of the array, the time lives during the call, no signal mask.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.descriptor.as_raw_fd(),
                events.as_mut_ptr(),
                BATCH,
                &raw const most,
                std::ptr::null::<libc::sigset_t>(),
                0_usize,
            )
        };
        let Ok(count) = usize::try_from(count) else {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        };
        ready.extend(events[..count].iter().map(|event| event.u64));
        Ok(())
    }
}
