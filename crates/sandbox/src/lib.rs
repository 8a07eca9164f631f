//! Removes rights that a user's algorithm, and the compiler that reads this algorithm, do not
//! need.
//!
//! [`confine_worker`] confines the process that loads the compiled algorithm: the process may read
//! some folders and compute. [`run_compiler`] starts a compiler that may read some folders and
//! write one folder. Both functions use the protections of the kernel: Landlock for files (Linux
//! 5.13), seccomp for system calls, dropped capabilities and resource limits. Protections that the
//! kernel lacks are skipped; [`Protection::of_kernel`] lists the available ones. Anything that the
//! process read before it was confined stays readable.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod calls;
#[cfg(unix)]
mod compiler;
#[cfg(target_os = "linux")]
mod files;
#[cfg(unix)]
mod limits;

#[cfg(unix)]
pub use compiler::{Finished, RunCompilerError, run_compiler};

use std::io;
use std::path::PathBuf;

/// The kernel's protections against a harmful process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protection {
    /// Landlock, which restricts the files that a process may read and write.
    pub has_landlock: bool,
    /// seccomp, which restricts the system calls that a process may make.
    pub has_seccomp: bool,
}

impl Protection {
    /// The protections of the running kernel.
    #[must_use]
    pub fn of_kernel() -> Self {
        #[cfg(target_os = "linux")]
        let has_landlock = files::is_available();
        #[cfg(not(target_os = "linux"))]
        let has_landlock = false;
        #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
        let has_seccomp = calls::is_available();
        #[cfg(not(all(
            target_os = "linux",
            any(target_arch = "x86_64", target_arch = "aarch64")
        )))]
        let has_seccomp = false;
        Self { has_landlock, has_seccomp }
    }
}

/// Confines this process permanently: it may read below `readable`, compute, and use its open
/// files.
///
/// The process must have only one thread, because Landlock applies to the calling thread and its
/// descendants.
///
/// A system call that is not allowed raises SIGSYS, and so does every system call made by code
/// outside the C library, the loader and the vDSO: an algorithm has no reason to make system
/// calls.
///
/// # Errors
/// Returns an error if the kernel has a protection but fails to apply it.
pub fn confine_worker(readable: &[PathBuf]) -> io::Result<()> {
    #[cfg(unix)]
    limits::limit_worker()?;
    #[cfg(target_os = "linux")]
    {
        limits::drop_capabilities(&[])?;
        files::rules(readable, &[])?.restrict_self().map_err(io::Error::other)?;
    }
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    if calls::is_available() {
        calls::install(&calls::of_worker())?;
    }
    #[cfg(not(target_os = "linux"))]
    let _ = readable;
    Ok(())
}
