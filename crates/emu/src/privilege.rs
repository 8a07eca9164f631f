//! What the emulator needs of the machine, and by which right it gets it.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;

use crate::Namespace;

/// Bits of a set of capabilities (capabilities(7)).
const NET_ADMIN: u64 = 1 << 12;
const SYS_ADMIN: u64 = 1 << 21;

/// By which right this process makes namespaces and devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Right {
    /// Root's, over the whole machine.
    Machine,
    /// Root's, over namespaces that belong to this process alone (user_namespaces(7)): no device in
    /// the machine's own network, no real-time priority, no BPF.
    OwnNamespaces,
}

impl Right {
    /// The right that this process has; without root, it makes a user namespace for itself, in which
    /// it remains the same user. To be called while the process has one thread only.
    ///
    /// # Errors
    /// If this process may not make a user namespace.
    pub fn acquire() -> io::Result<Self> {
        let needed = NET_ADMIN | SYS_ADMIN;
        if capabilities()? & needed == needed {
            return Ok(Self::Machine);
        }
        // SAFETY: take no pointers.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        // SAFETY: concerns this process alone.
        if unsafe { libc::unshare(libc::CLONE_NEWUSER) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // Without root, a group may be mapped only by who cannot drop one (user_namespaces(7)).
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

/// Why the emulator does not work here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Obstacle {
    /// What is missing.
    pub what: String,
    /// What to do about it.
    pub remedy: &'static str,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.what, self.remedy)
    }
}

/// What keeps the emulator from working here; `None` if it works.
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

/// Whether a test that needs root has to be skipped, with the reason printed.
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
