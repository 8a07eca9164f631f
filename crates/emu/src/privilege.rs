//! The privileges that the emulator needs, and how it obtains them.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;

use crate::Namespace;

/// Bit of the capability `CAP_NET_ADMIN` in a set of capabilities (capabilities(7)).
const NET_ADMIN: u64 = 1 << 12;
/// Bit of the capability `CAP_SYS_ADMIN`.
const SYS_ADMIN: u64 = 1 << 21;

/// The privileges with which this process creates network namespaces and devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Right {
    /// Privileges of root over the whole machine.
    Machine,
    /// Privileges of root only in namespaces of this process (user_namespaces(7)): the process
    /// cannot add devices to the machine's own network, use real-time priority, or use BPF.
    OwnNamespaces,
}

impl Right {
    /// Determines the privileges of this process.
    ///
    /// Without root, creates a user namespace in which the process keeps its user ID. Must be
    /// called while the process has only one thread.
    ///
    /// # Errors
    /// Returns an error if this process may not create a user namespace.
    pub fn acquire() -> io::Result<Self> {
        let needed = NET_ADMIN | SYS_ADMIN;
        if capabilities()? & needed == needed {
            return Ok(Self::Machine);
        }
        // SAFETY: neither takes a pointer.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        // SAFETY: concerns this process alone.
        if unsafe { libc::unshare(libc::CLONE_NEWUSER) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // Without root, a process may map a group only after giving up setgroups
        // (user_namespaces(7)).
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        Ok(Self::OwnNamespaces)
    }
}

/// The effective capabilities of this thread.
fn capabilities() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/thread-self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    bits.ok_or_else(|| io::Error::other("/proc/thread-self/status names no capabilities"))
}

/// The reason why the emulator does not work on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Obstacle {
    /// What is missing.
    pub what: String,
    /// How to remove the obstacle, for people.
    pub remedy: &'static str,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.what, self.remedy)
    }
}

/// Checks whether the emulator works on this machine; returns the obstacle, or `None` if there is
/// none.
pub fn what_is_missing() -> Option<Obstacle> {
    if let Err(error) = OpenOptions::new().read(true).write(true).open("/dev/net/tun") {
        let remedy = match error.kind() {
            io::ErrorKind::PermissionDenied => "sudo cwndlab ..., or: sudo chmod 666 /dev/net/tun",
            _ => "sudo modprobe tun",
        };
        return Some(Obstacle { what: format!("/dev/net/tun cannot be opened: {error}"), remedy });
    }
    let error = Namespace::new().err()?;
    Some(Obstacle {
        what: format!("no network namespace can be created: {error}"),
        remedy: "sudo cwndlab ..., or permit user namespaces: user.max_user_namespaces, and \
                 kernel.apparmor_restrict_unprivileged_userns on Ubuntu",
    })
}

/// Whether to skip a test that needs root; if so, prints the reason.
#[cfg(test)]
pub(crate) fn skip_unprivileged() -> bool {
    let missing = what_is_missing();
    if let Some(reason) = &missing {
        println!("skipped: {reason}");
    }
    missing.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_those_of_the_user() {
        let bits = capabilities().expect("readable");
        // SAFETY: takes no pointer.
        if unsafe { libc::geteuid() } != 0 {
            assert_eq!(bits & SYS_ADMIN, 0);
        }
    }
}
