//! Runs a compiler that may read some folders and write one, with limits on time, memory and
//! output.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::limits;

/// Maximum size of standard output and of standard error; a preprocessed kernel source needs a
/// twentieth of this.
const MOST_OUTPUT_BYTES: u64 = 64 << 20;

/// The exit status and outputs of a compiler that ended.
#[derive(Debug)]
pub struct Finished {
    /// Exit status, or the negative number of the signal that ended the compiler.
    pub status: i32,
    /// Standard output.
    pub output: Vec<u8>,
    /// Standard error.
    pub messages: Vec<u8>,
}

/// The reason why a compiler did not end by itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunCompilerError {
    /// The compiler could not be started, or a protection could not be applied.
    #[error("cannot be started: {0}")]
    Start(#[from] io::Error),
    /// The compiler exceeded the time limit and was killed; the value is the limit in seconds.
    #[error("did not end within {0} s")]
    TimeLimit(u64),
    /// The compiler exceeded the limit on its output and was killed.
    #[error("printed more than {} MB", MOST_OUTPUT_BYTES >> 20)]
    Output,
}

/// Runs a command that may only read below `readable` and change files below `writable`.
///
/// The command cannot open sockets or trace processes. Its only capability is to read other users'
/// files.
///
/// # Errors
/// Returns an error if the command cannot be started, takes longer than `time_limit_s` or prints
/// too much.
pub fn run_compiler(
    command: &[OsString],
    environment: &[(OsString, OsString)],
    readable: &[PathBuf],
    writable: &[PathBuf],
    time_limit_s: u64,
) -> Result<Finished, RunCompilerError> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    open_standard_streams()?;
    let mut starting = Command::new(program);
    starting.args(arguments).env_clear().envs(environment.iter().cloned());
    starting.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    #[cfg(target_os = "linux")]
    let mut rules = Some(crate::files::rules(readable, writable)?);
    #[cfg(not(target_os = "linux"))]
    let _ = (readable, writable);
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    let filter = crate::calls::is_available().then(crate::calls::of_compiler);
    let confine = move || {
        limits::limit_compiler(time_limit_s)?;
        #[cfg(target_os = "linux")]
        {
            limits::drop_capabilities(&[limits::READ_SEARCH])?;
            let rules = rules.take().expect("called once");
            rules.restrict_self().map_err(|_| io::ErrorKind::PermissionDenied)?;
        }
        #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
        if let Some(filter) = &filter {
            crate::calls::install(filter)?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec, `confine` makes system calls only and uses prepared data.
    unsafe { starting.pre_exec(confine) };
    wait(starting.spawn()?, time_limit_s)
}

/// Opens /dev/null for each standard stream that this process was started without. Otherwise, a file
/// could get the number of that stream, which the child needs for its own stream.
fn open_standard_streams() -> io::Result<()> {
    loop {
        let file = File::open("/dev/null")?;
        if file.as_raw_fd() > libc::STDERR_FILENO {
            return Ok(());
        }
        let _stays_open = file.into_raw_fd();
    }
}

fn wait(mut child: Child, time_limit_s: u64) -> Result<Finished, RunCompilerError> {
    let (sender, results) = mpsc::channel();
    let readers = [
        read(child.stdout.take().expect("piped"), false, sender.clone()),
        read(child.stderr.take().expect("piped"), true, sender),
    ];
    let mut outputs = [Vec::new(), Vec::new()];
    let mut problem = None;
    for _ in &readers {
        match results.recv_timeout(Duration::from_secs(time_limit_s)) {
            Ok((_, text)) if text.len() as u64 > MOST_OUTPUT_BYTES => {
                problem = Some(RunCompilerError::Output);
            }
            Ok((is_error, text)) => outputs[usize::from(is_error)] = text,
            Err(_) => problem = Some(RunCompilerError::TimeLimit(time_limit_s)),
        }
        if problem.is_some() {
            break;
        }
    }
    // After an exceeded limit, kills the whole process group; signal 0 has no effect.
    // SAFETY: the group is that of the child, which has not been reaped.
    unsafe {
        libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL * i32::from(problem.is_some()));
    }
    let status = child.wait()?;
    for reader in readers {
        let _ = reader.join();
    }
    let [output, messages] = outputs;
    let status = status.code().or(status.signal().map(|signal| -signal)).unwrap_or(-1);
    problem.map_or(Ok(Finished { status, output, messages }), Err)
}

fn read(
    from: impl Read + Send + 'static,
    is_error: bool,
    to: mpsc::Sender<(bool, Vec<u8>)>,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = from.take(MOST_OUTPUT_BYTES + 1).read_to_end(&mut text);
        let _ = to.send((is_error, text));
    })
}
