//! Limits on memory, time and files, and dropping of capabilities.

use std::io;

/// Memory limit of the worker process: room for the tables of a long run.
const WORKER_MEMORY_BYTES: u64 = 8 << 30;
/// Memory limit of the compiler: optimising a large kernel source needs a tenth of it.
const COMPILER_MEMORY_BYTES: u64 = 2 << 30;
/// Limit on the size of a file that the worker process writes, which contains only messages.
const WORKER_FILE_BYTES: u64 = 1 << 20;
/// Limit on the size of an object file that the compiler writes.
const COMPILER_FILE_BYTES: u64 = 256 << 20;
const OPEN_FILES: u64 = 256;

pub(crate) fn limit_worker() -> io::Result<()> {
    set(libc::RLIMIT_CORE as _, 0)?;
    set(libc::RLIMIT_DATA as _, WORKER_MEMORY_BYTES)?;
    set(libc::RLIMIT_FSIZE as _, WORKER_FILE_BYTES)?;
    set(libc::RLIMIT_NOFILE as _, OPEN_FILES)
}

/// Sets the compiler's limits. Called between fork and exec, so it makes only system calls.
pub(crate) fn limit_compiler(time_limit_s: u64) -> io::Result<()> {
    set(libc::RLIMIT_CORE as _, 0)?;
    set(libc::RLIMIT_CPU as _, time_limit_s)?;
    set(libc::RLIMIT_DATA as _, COMPILER_MEMORY_BYTES)?;
    set(libc::RLIMIT_FSIZE as _, COMPILER_FILE_BYTES)
}

/// Lowers a resource limit; a limit that is already lower stays.
fn set(resource: libc::c_int, most: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct is valid for both calls.
    let status = unsafe {
        libc::getrlimit(resource as _, &raw mut limit);
        limit.rlim_max = limit.rlim_max.min(most);
        limit.rlim_cur = limit.rlim_cur.min(limit.rlim_max);
        libc::setrlimit(resource as _, &raw const limit)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `CAP_DAC_READ_SEARCH`: permission to read files of any owner.
#[cfg(target_os = "linux")]
pub(crate) const READ_SEARCH: u32 = 2;

/// Drops every capability except those in `kept`, for this process and the programs that it
/// starts.
///
/// Safe between fork and exec, because the function makes only system calls.
#[cfg(target_os = "linux")]
pub(crate) fn drop_capabilities(kept: &[u32]) -> io::Result<()> {
    /// `_LINUX_CAPABILITY_VERSION_3`.
    const VERSION: u32 = 0x2008_0522;
    let mask = kept.iter().fold(0_u64, |mask, capability| mask | 1 << capability);
    let [low, high] = [mask as u32, (mask >> 32) as u32];
    let mut header = [VERSION, 0];
    let mut sets = [0_u32; 6]; // effective, permitted, inheritable: low words, then high ones
    // SAFETY: the kernel reads and writes two words of the header and six of the sets; prctl takes
    // numbers.
    unsafe {
        let set = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if set != 0 {
            return Err(io::Error::last_os_error());
        }
        if libc::syscall(libc::SYS_capget, header.as_mut_ptr(), sets.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        // Fails for a user without CAP_SETPCAP, but after no_new_privs an exec gains no
        // capabilities.
        for capability in 0..64 {
            if mask >> capability & 1 == 0 {
                libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
            }
        }
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        let left = [sets[1] & low, sets[1] & low, 0, sets[4] & high, sets[4] & high, 0];
        if libc::syscall(libc::SYS_capset, header.as_mut_ptr(), left.as_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
