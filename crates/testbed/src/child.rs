//! Runs a program in its own PID and network namespaces; the program cannot outlive this process.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::thread;

use cwndlab_emu::Namespace;

/// Runs a program in a network namespace until it ends.
///
/// The program's parent is the first process of a new PID namespace. When this parent or the
/// thread that started it ends, the kernel kills every process of the namespace.
pub(crate) fn run(mut command: Command, inside: &Namespace) -> io::Result<ExitStatus> {
    let inside = inside.clone();
    // SAFETY: between fork and exec, only system calls are made and nothing is allocated.
    unsafe { command.pre_exec(move || begin(&inside)) };
    // A separate thread, because it cannot start threads after `unshare(CLONE_NEWPID)`.
    let ended = thread::spawn(move || {
        // SAFETY: concerns the children of this thread.
        if unsafe { libc::unshare(libc::CLONE_NEWPID) } != 0 {
            return Err(io::Error::last_os_error());
        }
        command.spawn()?.wait()
    });
    let ended = ended.join().expect("no panic");
    take_terminal();
    ended
}

/// Turns this process into the first process of the PID namespace, and returns in its child.
fn begin(inside: &Namespace) -> io::Result<()> {
    // SAFETY: system calls whose only pointers are to constants.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        inside.enter()?;
        checked(libc::unshare(libc::CLONE_NEWNS))?;
        let private = libc::MS_REC | libc::MS_PRIVATE;
        let none = std::ptr::null();
        checked(libc::mount(c"none".as_ptr(), c"/".as_ptr(), none, private, none.cast()))?;
        // Mounted so that `ps` and similar programs see the program's processes.
        let proc = c"proc".as_ptr();
        checked(libc::mount(proc, c"/proc".as_ptr(), proc, 0, none.cast()))?;
        match checked(libc::fork())? {
            0 => {
                if libc::isatty(0) == 1 {
                    libc::setpgid(0, 0);
                    take_terminal();
                }
                Ok(())
            }
            program => watch(program),
        }
    }
}

/// Waits for all child processes until the program ends, and then exits with the program's status.
fn watch(program: libc::pid_t) -> ! {
    // SAFETY: system calls only; the status lives during the call. Files are closed so that the
    // parent, which waits for the exec, does not wait for this process.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32);
        loop {
            let mut status = 0;
            let dead = libc::waitpid(-1, &raw mut status, 0);
            if dead == program {
                libc::_exit(if libc::WIFEXITED(status) {
                    libc::WEXITSTATUS(status)
                } else {
                    128 + libc::WTERMSIG(status)
                });
            }
        }
    }
}

/// Makes the process group of this process the foreground group of the terminal, if there is a
/// terminal.
fn take_terminal() {
    // SAFETY: system calls without pointers. SIGTTOU would stop a background process that makes
    // this call.
    unsafe {
        if libc::isatty(0) == 1 {
            let before = libc::signal(libc::SIGTTOU, libc::SIG_IGN);
            libc::tcsetpgrp(0, libc::getpgrp());
            libc::signal(libc::SIGTTOU, before);
        }
    }
}

fn checked(status: libc::c_int) -> io::Result<libc::c_int> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
}

#[cfg(test)]
mod tests {
    use cwndlab_emu::what_is_missing;

    use super::*;

    fn shell(script: &str) -> Option<ExitStatus> {
        if let Some(reason) = what_is_missing() {
            println!("skipped: {reason}");
            return None;
        }
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(std::process::Stdio::null());
        let inside = Namespace::new().expect("a namespace");
        Some(run(command, &inside).expect("it runs"))
    }

    #[test]
    fn a_program_sees_its_own_processes_and_network_and_gives_its_status() {
        let Some(status) = shell("test $(ls -d /proc/[0-9]* | wc -l) -lt 8 || exit 1; exit 7")
        else {
            return;
        };
        assert_eq!(status.code(), Some(7));
        let devices = "test \"$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ')\" = lo";
        assert_eq!(shell(devices).and_then(|status| status.code()), Some(0));
        let killed = shell("kill -TERM $$").expect("not skipped");
        assert_eq!(killed.code(), Some(143));
    }

    #[test]
    fn what_a_program_leaves_running_ends_with_it() {
        let file = std::env::temp_dir().join(format!("cwndlab-child-{}", std::process::id()));
        let path = file.display();
        let script = format!("setsid sh -c 'sleep 0.5; echo late > {path}' & exit 0");
        let Some(status) = shell(&script) else { return };
        assert!(status.success());
        thread::sleep(std::time::Duration::from_millis(900));
        assert!(!file.exists(), "it went on");
    }

    #[test]
    fn a_program_that_does_not_exist_is_an_error() {
        if what_is_missing().is_some() {
            return;
        }
        let inside = Namespace::new().expect("a namespace");
        let error = run(Command::new("/nonexistent/program"), &inside).expect_err("none such");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
