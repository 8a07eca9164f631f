//! Waits until one of many files is ready, with a timeout as precise as the clock.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use cwndlab_units::Duration;

use crate::system_call::checked;

/// A set of files to wait for.
#[derive(Debug)]
pub struct Poll {
    descriptor: OwnedFd,
}

/// Condition for reporting a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    /// Each wait reports the file while it is readable (level-triggered).
    Readable,
    /// The file is reported once when it becomes ready for anything (edge-triggered).
    Change,
}

/// A file that is ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ready {
    /// Token that was given when the file was added.
    pub token: u64,
    /// Whether the peer has ended its direction, or the file has failed.
    pub has_ended: bool,
}

const BATCH: usize = 64;

impl Poll {
    /// Creates an empty set of files; a wait for an empty set lasts until its timeout.
    ///
    /// # Errors
    /// Returns an error if this process cannot open more files.
    pub fn new() -> io::Result<Self> {
        // SAFETY: takes no pointer.
        let status = checked(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: a new descriptor with no other owner.
        Ok(Self { descriptor: unsafe { OwnedFd::from_raw_fd(status) } })
    }

    /// Adds a file to the set; when the file is ready, it is reported as `token`.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot wait for this file.
    pub fn add(&self, descriptor: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        let events = match interest {
            Interest::Readable => libc::EPOLLIN,
            Interest::Change => libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET,
        };
        let mut event = libc::epoll_event { events: events as u32, u64: token };
        // SAFETY: the event lives during the call.
        let status = unsafe {
            let poll = self.descriptor.as_raw_fd();
            libc::epoll_ctl(poll, libc::EPOLL_CTL_ADD, descriptor, &raw mut event)
        };
        checked(status).map(drop)
    }

    /// Waits for at most `most`, and stores the files that are ready in `ready`.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses to wait.
    pub fn wait(&self, most: Duration, ready: &mut Vec<Ready>) -> io::Result<()> {
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
        let ends = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;
        ready.extend(
            events[..count]
                .iter()
                .map(|event| Ready { token: event.u64, has_ended: event.events & ends != 0 }),
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use cwndlab_units::Time;

    use super::*;
    use crate::Clock;

    #[test]
    fn a_wait_ends_in_time_without_anything_to_wait_for() {
        let clock = Clock::start();
        let mut ready = Vec::new();
        Poll::new().expect("a poll").wait(Duration::from_millis(5), &mut ready).expect("waited");
        assert!(clock.now() >= Time::from_millis(5));
        assert!(ready.is_empty());
    }

    #[test]
    fn a_file_is_reported_while_it_is_readable_or_once() {
        for (interest, times) in [(Interest::Readable, 2), (Interest::Change, 1)] {
            let (mut writer, reader) = UnixStream::pair().expect("a pair");
            let poll = Poll::new().expect("a poll");
            poll.add(reader.as_raw_fd(), 7, interest).expect("added");
            let mut ready = Vec::new();
            // As soon as it can be written to, once.
            poll.wait(Duration::ZERO, &mut ready).expect("waited");
            writer.write_all(b"x").expect("written");
            let mut reports = 0;
            for _ in 0..2 {
                poll.wait(Duration::ZERO, &mut ready).expect("waited");
                reports += usize::from(ready == [Ready { token: 7, has_ended: false }]);
            }
            assert_eq!(reports, times, "{interest:?}");
        }
    }

    #[test]
    fn the_end_of_what_a_peer_sends_is_reported() {
        let (writer, reader) = UnixStream::pair().expect("a pair");
        let poll = Poll::new().expect("a poll");
        poll.add(reader.as_raw_fd(), 7, Interest::Change).expect("added");
        drop(writer);
        let mut ready = Vec::new();
        poll.wait(Duration::ZERO, &mut ready).expect("waited");
        assert_eq!(ready, [Ready { token: 7, has_ended: true }]);
    }
}
