//! When the machine lets a thread run.

use std::io;

/// How urgent a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// The emulator: before everything else, and never a core busy for long, as Linux stops
    /// real-time threads for 50 ms of each second in which they take all of it.
    Emulator,
    /// The applications: after the emulator, before what else the machine does.
    Application,
}

/// Makes this thread real-time, and its sleeps end when they are due instead of 50 us later.
///
/// # Errors
/// Without the right to be real-time (`CAP_SYS_NICE`); its sleeps are short then all the same.
pub fn set_priority(priority: Priority) -> io::Result<()> {
    // SAFETY: concerns this thread alone.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
    let (policy, sched_priority) = match priority {
        Priority::Emulator => (libc::SCHED_FIFO, 10),
        Priority::Application => (libc::SCHED_RR, 5),
    };
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: `parameters` lives during the call; 0 is this thread.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
