//! Unnamed network namespaces, which exist while a process holds them open.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::thread;

/// A network namespace, which exists while its file is open.
#[derive(Clone, Debug)]
pub struct Namespace {
    file: Arc<File>,
}

impl Namespace {
    /// Creates a namespace whose only device is a loopback device that is up.
    ///
    /// # Errors
    /// Returns an error if this process lacks the privilege to create a namespace
    /// (`CAP_SYS_ADMIN`).
    pub fn new() -> io::Result<Self> {
        // A separate thread, because a thread that has left its namespace does not return to it.
        apart(|| {
            // SAFETY: concerns this thread alone, which ends here.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return Err(io::Error::last_os_error());
            }
            crate::device::bring_up("lo")?;
            Self::current()
        })
    }

    /// The namespace of this thread.
    ///
    /// # Errors
    /// Returns an error if `/proc` is not mounted.
    pub fn current() -> io::Result<Self> {
        Ok(Self { file: Arc::new(File::open("/proc/thread-self/ns/net")?) })
    }

    /// The number by which the kernel identifies the namespace.
    ///
    /// # Errors
    /// The call has no known errors.
    pub fn number(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.ino())
    }

    /// Runs `work` in this namespace, in a separate thread.
    ///
    /// # Errors
    /// Returns an error of `work`, or an error if this process may not enter the namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        apart(|| {
            self.enter()?;
            work()
        })
    }

    /// Moves this thread into the namespace.
    ///
    /// # Errors
    /// Returns an error if this process lacks the privilege to enter the namespace
    /// (`CAP_SYS_ADMIN`).
    pub fn enter(&self) -> io::Result<()> {
        // SAFETY: the descriptor is open and of a network namespace.
        match unsafe { libc::setns(self.file.as_raw_fd(), libc::CLONE_NEWNET) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn apart<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| scope.spawn(work).join().expect("the given work does not panic"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privilege::skip_unprivileged;

    fn devices() -> io::Result<String> {
        std::fs::read_to_string("/proc/thread-self/net/dev")
    }

    #[test]
    fn a_new_namespace_has_a_loopback_only_and_leaves_ours_alone() {
        if skip_unprivileged() {
            return;
        }
        let before = devices().expect("readable");
        let namespace = Namespace::new().expect("a namespace");
        let inside = namespace.run(devices).expect("readable");
        assert_eq!(inside.lines().skip(2).count(), 1, "{inside}");
        assert!(inside.contains("lo:"));
        let names = |text: &str| {
            text.lines().skip(2).map(|l| l.split(':').next().map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(names(&devices().expect("readable")), names(&before));
    }

    #[test]
    fn loopback_works_inside() {
        if skip_unprivileged() {
            return;
        }
        let namespace = Namespace::new().expect("a namespace");
        let bytes = namespace.run(|| {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
            socket.send_to(b"x", socket.local_addr()?)?;
            socket.recv(&mut [0; 8])
        });
        assert_eq!(bytes.expect("sent and received"), 1);
    }
}
