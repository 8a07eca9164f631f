//! Scheduling priorities of threads.

use std::io;

/// Scheduling priority of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// The emulator, which runs before every other thread.
    ///
    /// The emulator never keeps a core busy for long: if a real-time thread uses a core fully,
    /// Linux stops it for 50 ms of each second.
    Emulator,
    /// The applications, which run after the emulator and before all other threads.
    Application,
}

/// Gives this thread real-time priority and precise timers; by default, sleeps end up to 50 us
/// late.
///
/// # Errors
/// Returns an error if this process lacks the privilege for real-time priority (`CAP_SYS_NICE`);
/// the timers are precise even then.
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

/// Moves this thread to another processor, if it may use one.
///
/// The scheduler leaves a real-time thread on its processor even while the processor executes
/// uninterruptible kernel code for another process, which can take milliseconds.
pub(crate) fn change_processor() {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: all zeros is a cpu_set_t, and each call gets its size.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        let Ok(here) = usize::try_from(libc::sched_getcpu()) else { return };
        if libc::sched_getaffinity(0, size, &raw mut all) != 0 {
            return;
        }
        let mut others = all;
        libc::CPU_CLR(here, &mut others);
        // Fails if there are no others.
        if libc::sched_setaffinity(0, size, &raw const others) == 0 {
            libc::sched_setaffinity(0, size, &raw const all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> i32 {
        // SAFETY: takes nothing.
        unsafe { libc::sched_getcpu() }
    }

    /// The processors that this thread may use.
    fn allowed() -> Vec<usize> {
        // SAFETY: as above.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let size = size_of::<libc::cpu_set_t>();
            assert_eq!(libc::sched_getaffinity(0, size, &raw mut set), 0);
            (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
        }
    }

    fn allow(processor: usize) {
        // SAFETY: as above.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(processor, &mut set);
            let size = size_of::<libc::cpu_set_t>();
            assert_eq!(libc::sched_setaffinity(0, size, &raw const set), 0);
        }
    }

    #[test]
    fn a_thread_changes_its_processor_and_may_come_back() {
        std::thread::spawn(|| {
            let before = allowed();
            change_processor();
            assert_eq!(allowed(), before, "it may use all that it might");
            // The scheduler may move the thread back at once, so one success in 100 suffices.
            let has_changed = |_| {
                let from = here();
                change_processor();
                here() != from
            };
            assert_eq!((0..100).any(has_changed), before.len() > 1);
            allow(before[0]);
            change_processor();
            assert_eq!((allowed(), here()), (vec![before[0]], before[0] as i32), "no other");
        })
        .join()
        .expect("no panic");
    }
}
