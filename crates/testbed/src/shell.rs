//! Runs a program behind an emulated link.
//!
//! ```text
//!   here:  this namespace -- TUN, port 0 [ link ] port 1, TUN -- a new namespace: the program
//! ```
//!
//! The program has its own PID namespace: when the program's first process or this process ends,
//! the kernel kills all processes in the namespace. A nested shell uses the next addresses, so
//! that a packet of the inner program crosses both links, and a server at the outermost end has
//! the same address on every level. Other servers are reached by HTTP (see [`crate::proxy`]). The
//! routing, forwarding and congestion control of the machine itself do not change.
//!
//! Without root, no device can be added to the machine's own namespace. The outer end of the link
//! is then also in a new namespace, in which only the proxy listens, and the machine's network is
//! reached only through the proxy.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::thread;

use cwndlab_emu::{
    Clock, Emulator, Frame, Namespace, Report, Right, Route, Stop, Tun, TunConfig, what_is_missing,
};
use cwndlab_link::{AnyLink, PathConfig};
use cwndlab_units::Time;
use serde::Deserialize;

use crate::capture::GrowingCapture;
use crate::child;
use crate::error::RunError;
use crate::live::{self, LiveTap, Status};
use crate::proxy;
use crate::traces::read_traces;

/// Settings of a shell.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellSetup {
    /// The link.
    pub path: PathConfig,
    /// Contents of the traces that the link names.
    #[serde(default)]
    pub traces: BTreeMap<String, String>,
    /// Seed of the link's random numbers.
    pub seed: u64,
    /// The kernel's name of the congestion control for connections over the link, in both
    /// directions, that do not select an algorithm.
    #[serde(default)]
    pub algorithm: Option<String>,
    /// Capture file for packets at the program's interface.
    #[serde(default)]
    pub capture: Option<PathBuf>,
}

/// Name of the network device in a namespace behind a link.
const INNER_DEVICE: &str = "cwndlab-in";
/// Addresses of the outer and inner ends of links: level n has the numbers n and 128 + n in a
/// network 100.64.x.0/24 (RFC 6598 section 7).
const INWARD: u8 = 128;
const INWARD_PREFIX_BITS: u8 = 25;
const DEEPEST: u8 = 100;

/// Runs a program behind a link, on this terminal, until the program ends.
///
/// # Errors
/// Returns an error if the link is invalid, the machine does not meet a requirement, or the
/// program does not exist.
pub fn shell(
    setup: &ShellSetup,
    command: &[OsString],
    right: Right,
) -> Result<(ExitStatus, Report), RunError> {
    if let Some(reason) = what_is_missing() {
        return Err(RunError::Missing(reason.to_string()));
    }
    let traces = read_traces(&setup.path, &setup.traces).map_err(RunError::Missing)?;
    let link = AnyLink::<Frame>::shared(&setup.path, &traces, setup.seed)?;
    let file = setup.capture.as_deref().map(|path| {
        fs::File::create(path)
            .map_err(|error| RunError::Missing(format!("{}: {error}", path.display())))
    });
    let file = file.transpose()?;
    let inside = Namespace::new()?;
    let (outside, place) = match right {
        Right::Machine => (Namespace::current()?, Place::find()?),
        Right::OwnNamespaces => (Namespace::new()?, Place::FIRST),
    };
    // Namespaces behind nested links are reached through this one. Affects only the new namespace.
    inside.run(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1"))?;
    permit_ping(&inside)?;
    let algorithm = setup.algorithm.as_deref();
    let (outer, place) = place.take(&outside, algorithm)?;
    let inner = Tun::new(
        &inside,
        &TunConfig {
            name: INNER_DEVICE.to_owned(),
            address: place.inner(),
            routes: vec![Route::default_with(algorithm)],
        },
    )?;
    let (clock, stop, status) = (Clock::start(), Stop::new(), Status::default());
    live::publish(status.clone())?;
    let environment = proxy::offer(&outside, place.outer(), right)?;
    let capture = file.map(|file| GrowingCapture::begin(file, clock.origin_of_day_nanos()));
    let emulator = Emulator::new(link, vec![outer, inner], LiveTap::new(status, capture));
    let emulating = thread::spawn({
        let stop = stop.clone();
        move || emulator.run(clock, Time::NEVER, &stop)
    });
    let mut prepared = prepared(command, &place);
    prepared.envs(environment);
    let ended = child::run(prepared, &inside);
    stop.stop();
    let (report, tap) = emulating.join().expect("no panic")?;
    let ended = ended.map_err(|error| {
        let program = command[0].to_string_lossy().into_owned();
        RunError::Program { program, error }
    })?;
    tap.finish()?;
    Ok((ended, report))
}

/// Permits the user's group to send echo requests; ping(8) otherwise needs a capability.
fn permit_ping(inside: &Namespace) -> io::Result<()> {
    // SAFETY: takes no pointer.
    let group = unsafe { libc::getegid() };
    let groups = format!("{group} {group}");
    inside.run(|| fs::write("/proc/sys/net/ipv4/ping_group_range", groups))
}

fn prepared(command: &[OsString], place: &Place) -> Command {
    let mut prepared = Command::new(&command[0]);
    prepared.args(&command[1..]);
    // Address of servers on this side.
    prepared.env("CWNDLAB_HOST", place.outer().to_string());
    prepared
}

/// The pair of addresses at the two ends of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    network: u8,
    level: u8,
}

impl Place {
    const FIRST: Self = Self { network: 0, level: 1 };

    /// The first network if this namespace is not behind a link; otherwise the next level of the
    /// same network.
    fn find() -> io::Result<Self> {
        let Some([_, _, network, number]) =
            cwndlab_emu::address_of(INNER_DEVICE)?.map(|address| address.octets())
        else {
            return Ok(Self::FIRST);
        };
        let level = number.wrapping_sub(INWARD) + 1;
        if level > DEEPEST {
            return Err(io::Error::other(
                "too many nested shells of cwndlab: leave one of them \
                first",
            ));
        }
        Ok(Self { network, level })
    }

    /// Creates the outer TUN device, in the next network if another shell uses this one.
    fn take(
        mut self,
        outside: &Namespace,
        algorithm: Option<&str>,
    ) -> Result<(Tun, Self), RunError> {
        loop {
            let config = TunConfig {
                name: format!("cwndlab-{}-{}", self.network, self.level),
                address: self.outer(),
                routes: vec![Route {
                    network: self.address(INWARD),
                    prefix_bits: INWARD_PREFIX_BITS,
                    algorithm: algorithm.map(str::to_owned),
                }],
            };
            let error = match Tun::new(outside, &config) {
                Ok(tun) => return Ok((tun, self)),
                Err(error) => error,
            };
            let is_taken = matches!(error.raw_os_error(), Some(libc::EEXIST | libc::EBUSY));
            if error.raw_os_error() == Some(libc::EINVAL) && algorithm.is_some() {
                let name = algorithm.unwrap_or_default().to_owned();
                return Err(RunError::UnknownAlgorithm { place: "--algorithm".to_owned(), name });
            }
            if !is_taken || self.level > 1 || self.network == u8::MAX {
                return Err(error.into());
            }
            self.network += 1;
        }
    }

    fn outer(self) -> Ipv4Addr {
        self.address(self.level)
    }

    fn inner(self) -> Ipv4Addr {
        self.address(INWARD + self.level)
    }

    fn address(self, number: u8) -> Ipv4Addr {
        Ipv4Addr::new(100, 64, self.network, number)
    }
}

/// Converts the exit status of a process to the status code that shells use.
pub fn status_code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(1)
}

/// Reads the settings of a shell from an open file, and its program from the arguments: `shell
/// DESCRIPTOR PROGRAM...`.
///
/// # Errors
/// Returns one sentence that explains the error to the caller.
pub fn main_of_shell(arguments: &[OsString]) -> Result<u8, String> {
    let [descriptor, command @ ..] = arguments else {
        return Err("usage: cwndlab-testbed shell DESCRIPTOR PROGRAM...".to_owned());
    };
    if command.is_empty() {
        return Err("the shell needs a program to run; none was given".to_owned());
    }
    // If this fails, the shell reports what is missing.
    let right = Right::acquire().unwrap_or(Right::Machine);
    let file = PathBuf::from("/proc/self/fd").join(descriptor);
    let text = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let setup: ShellSetup = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let (status, report) = shell(&setup, command, right).map_err(|error| error.to_string())?;
    if let Some(reason) = report.invalid {
        eprintln!("cwndlab: this machine was too slow to emulate the link in real time: {reason}");
    }
    Ok(status_code(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_has_addresses_of_its_own_that_face_the_right_way() {
        let first = Place { network: 3, level: 1 };
        assert_eq!(first.outer(), Ipv4Addr::new(100, 64, 3, 1));
        assert_eq!(first.inner(), Ipv4Addr::new(100, 64, 3, 129));
        let deepest = Place { network: 3, level: DEEPEST };
        assert!(deepest.outer().octets()[3] < INWARD, "it would be taken for an inner one");
    }

    #[test]
    fn a_status_is_that_of_a_shell() {
        assert_eq!(status_code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(status_code(ExitStatus::from_raw(libc::SIGTERM)), 143);
    }
}
