//! Keeps processors from halting while they are idle.
//!
//! An idle processor halts, and waking it takes tens of microseconds. On a virtual machine, the
//! host meanwhile gives the processor to others and returns it when convenient. `cyclictest`
//! prevents deep sleep through `/dev/cpu_dma_latency`, but a virtual machine does not have this
//! device. In both cases, a process that is always busy keeps a processor from halting, and
//! `SCHED_IDLE` lets every other process run first.
//!
//! If the kernel's autogroup feature is enabled, sessions share the processors, and a `SCHED_IDLE`
//! process yields only to its own session: in a measurement, such a loop took half a processor
//! from a process of another session. Each process therefore runs in its own session with the
//! lowest weight.

use std::io;
use std::mem;
use std::ptr;

/// Busy-waiting processes: one on each processor that this thread may use.
///
/// The processes end together with the thread that created them, for whatever reason this thread
/// ends.
#[derive(Debug)]
pub(crate) struct Awake {
    processes: Vec<libc::pid_t>,
    is_resting: bool,
}

impl Awake {
    /// Starts the processes.
    ///
    /// # Errors
    /// Returns an error if the machine permits no more processes.
    pub(crate) fn begin() -> io::Result<Self> {
        let mut awake = Self::none();
        for processor in processors()? {
            awake.processes.push(fork(processor)?);
        }
        Ok(awake)
    }

    /// Starts no processes: idle processors may halt.
    pub(crate) fn none() -> Self {
        Self { processes: Vec::new(), is_resting: false }
    }

    /// Pauses the processes, so that processors may halt, or resumes them.
    #[inline]
    pub(crate) fn rest(&mut self, is_resting: bool) {
        if is_resting != self.is_resting {
            self.is_resting = is_resting;
            self.signal(if is_resting { libc::SIGSTOP } else { libc::SIGCONT });
        }
    }

    fn signal(&self, signal: libc::c_int) {
        for &process in &self.processes {
            // SAFETY: takes no pointer. They are unreaped children of this process.
            unsafe { libc::kill(process, signal) };
        }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
        for &process in &self.processes {
            // SAFETY: the status pointer may be null.
            unsafe { libc::waitpid(process, ptr::null_mut(), 0) };
        }
    }
}

/// The processors on which this thread may run.
fn processors() -> io::Result<Vec<usize>> {
    // SAFETY: a set is an array of integers.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: the size is that of the set; 0 is this thread.
    if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: no number is beyond the set.
    Ok((0..libc::CPU_SETSIZE as usize).filter(|&n| unsafe { libc::CPU_ISSET(n, &set) }).collect())
}

fn fork(processor: usize) -> io::Result<libc::pid_t> {
    // SAFETY: takes no pointer.
    let parent = unsafe { libc::getpid() };
    // The child shares the table of open files until it has an empty one: a copy would briefly keep
    // open the files that this process closes.
    let flags = libc::CLONE_FILES | libc::SIGCHLD;
    // SAFETY: the child makes system calls only and allocates nothing.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        -1 => Err(io::Error::last_os_error()),
        0 => stay(processor, parent),
        child => Ok(child as libc::pid_t),
    }
}

/// The main loop of a busy-waiting process. A process that cannot get idle priority exits, so that
/// it does not compete with others for processor time.
fn stay(processor: usize, parent: libc::pid_t) -> ! {
    // SAFETY: system calls, whose pointers are to constants and to what lives during them.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::prctl(libc::PR_SET_NAME, c"cwndlab-awake".as_ptr());
        let flags = libc::CLOSE_RANGE_UNSHARE;
        if libc::syscall(libc::SYS_close_range, 0_u32, u32::MAX, flags) != 0 {
            libc::_exit(1);
        }
        libc::setsid();
        // Without autogroup, this file does not exist and the writes fail harmlessly.
        let group = libc::open(c"/proc/self/autogroup".as_ptr(), libc::O_WRONLY);
        // Without root, all users together may write it ten times per second on this machine.
        while libc::write(group, c"19".as_ptr().cast(), 2) == -1
            && *libc::__errno_location() == libc::EAGAIN
        {
            libc::usleep(20_000);
        }
        libc::close(group);
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        let parameters = libc::sched_param { sched_priority: 0 };
        let is_set = libc::sched_setaffinity(0, size_of_val(&set), &raw const set) == 0
            && libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) == 0;
        if !is_set || libc::getppid() != parent {
            libc::_exit(1);
        }
    }
    loop {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    use cwndlab_units::Time;

    use super::*;
    use crate::Clock;

    /// Index of the scheduling policy, which is the last property that a busy-waiting process
    /// sets.
    const POLICY: usize = 38;

    /// Fields of `/proc/PID/stat` from the process state on; their indices are the numbers in
    /// proc(5) minus three.
    fn stat(process: libc::pid_t) -> Option<Vec<String>> {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let (_, fields) = text.rsplit_once(')')?;
        Some(fields.split_whitespace().map(str::to_owned).collect())
    }

    fn state(process: libc::pid_t) -> String {
        stat(process).map_or_else(String::new, |fields| fields[0].clone())
    }

    /// CPU time that a process has used, in ticks.
    fn computed(process: libc::pid_t) -> u64 {
        let fields = stat(process).expect("it runs");
        fields[11].parse::<u64>().expect("a number") + fields[12].parse::<u64>().expect("a number")
    }

    fn soon(holds: impl Fn() -> bool) -> bool {
        let clock = Clock::start();
        while !holds() && clock.now() < Time::from_secs(20) {
            thread::sleep(Duration::from_millis(5));
        }
        holds()
    }

    /// Starts busy-waiting processes and waits until each has its final scheduling policy.
    fn begin() -> Awake {
        let awake = Awake::begin().expect("begun");
        let policy = |process| stat(process).map(|fields| fields[POLICY].clone());
        for &process in &awake.processes {
            assert!(soon(|| policy(process) == Some(libc::SCHED_IDLE.to_string())));
        }
        awake
    }

    #[test]
    fn each_processor_has_one_that_lets_everything_run_before_it() {
        let awake = begin();
        assert_eq!(awake.processes.len(), processors().expect("told").len());
        for (&process, processor) in awake.processes.iter().zip(processors().expect("told")) {
            let fields = stat(process).expect("it runs");
            assert_eq!(fields[3], process.to_string(), "a session of its own");
            assert_eq!(fields[36], processor.to_string(), "where it ran last");
            let open = fs::read_dir(format!("/proc/{process}/fd")).expect("it runs");
            assert_eq!(open.count(), 0, "it would hold what is to go with the run");
        }
        let processes = awake.processes.clone();
        drop(awake);
        assert!(processes.iter().all(|&process| stat(process).is_none()));
    }

    #[test]
    fn a_sender_of_another_session_keeps_its_processor() {
        let awake = begin();
        let (process, processor) = (awake.processes[0], processors().expect("told")[0]);
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]);
        // SAFETY: system calls that allocate nothing.
        unsafe {
            command.pre_exec(move || {
                let mut set: libc::cpu_set_t = mem::zeroed();
                libc::CPU_SET(processor, &mut set);
                libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
                libc::setsid();
                Ok(())
            });
        }
        let mut sender = command.spawn().expect("a shell");
        let of_sender = sender.id() as libc::pid_t;
        assert!(soon(|| computed(of_sender) >= 2), "it has not begun");
        let (before, begun) = (computed(process), computed(of_sender));
        let is_done = soon(|| computed(of_sender) >= begun + 40);
        let took = computed(process) - before;
        sender.kill().expect("it runs");
        sender.wait().expect("it runs");
        assert!(is_done, "the sender does not get its processor");
        // By weight the ratio is 1 to 68; without a session of its own, one half.
        assert!(took <= 6, "{took} ticks beside 40 of the sender");
    }

    #[test]
    fn they_stop_while_they_rest() {
        let mut awake = begin();
        awake.rest(true);
        assert!(soon(|| awake.processes.iter().all(|&process| state(process) == "T")));
        awake.rest(false);
        assert!(soon(|| awake.processes.iter().all(|&process| state(process) == "R")));
        awake.rest(true);
        let processes = awake.processes.clone();
        drop(awake);
        assert!(processes.iter().all(|&process| stat(process).is_none()), "also when they rest");
    }

    #[test]
    fn they_end_with_their_thread_whatever_ends_it() {
        let forgets = || {
            let awake = begin();
            let processes = awake.processes.clone();
            mem::forget(awake);
            processes
        };
        for process in thread::spawn(forgets).join().expect("no panic") {
            let mut status = 0;
            // SAFETY: the status lives during the call.
            assert_eq!(unsafe { libc::waitpid(process, &raw mut status, 0) }, process);
            assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL);
        }
    }
}
