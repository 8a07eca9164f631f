//! Takes from a process what an algorithm of a user, and the compiler that reads it, do not need.
//!
//! [`confine_worker`] is for the process that loads the compiled algorithm: it may read some folders
//! and compute. [`run_compiler`] starts a compiler that may read some folders and write one. Both
//! use what the kernel has: Landlock for files (Linux 5.13), seccomp for system calls, no
//! capabilities, and resource limits. What the kernel lacks is left out; [`Protection::of_kernel`]
//! says what there is. Nothing here hides what the process had read before it was confined.

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

/// What the kernel offers to confine a process with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protection {
    /// Landlock: which files a process may read and write.
    pub has_landlock: bool,
    /// seccomp: which system calls a process may make.
    pub has_seccomp: bool,
}

impl Protection {
    /// What the running kernel has.
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

/// Confines this process for good: it may read below `readable`, compute, and use the files that it
/// has open. It must have one thread, since Landlock holds for a thread and those that it starts.
///
/// A system call that is not allowed raises SIGSYS. One that an instruction outside the C library
/// makes is never allowed: an algorithm has no reason to make one.
///
/// # Errors
/// If the kernel has a protection and refuses to apply it.
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
