//! The helper process: reads requests and writes answers, with a single thread.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};

use crate::KernelName;
use crate::object::{Registered, register};
use crate::pin::{new_pin, remove_pin};
use crate::protocol::{Answer, Refusal, RefusalKind, Request};
use crate::recording::Recording;
use crate::tracing::Tracing;

/// Interval at which the helper empties the kernel's ring buffer.
const DRAIN_EVERY_MS: i32 = 5;

/// Answers requests until standard input ends, then unloads every algorithm that is not pinned.
///
/// # Errors
/// Returns an error if standard input cannot be read or standard output cannot be written.
pub fn serve() -> io::Result<()> {
    let mut helper = Helper::default();
    let mut input = Lines::new(io::stdin().as_raw_fd());
    let mut output = io::stdout().lock();
    loop {
        let wait_ms = if helper.is_recording() { DRAIN_EVERY_MS } else { -1 };
        match input.next_within(wait_ms)? {
            Next::Line(line) => {
                serde_json::to_writer(&mut output, &helper.answer(&line))?;
                output.write_all(b"\n")?;
                output.flush()?;
            }
            Next::Nothing => {}
            Next::End => return Ok(()),
        }
        helper.drain();
    }
}

#[derive(Default)]
struct Helper {
    // Declared, and therefore dropped, before the objects whose ring buffers they read.
    recordings: BTreeMap<KernelName, Recording>,
    registered: BTreeMap<KernelName, Registered>,
    tracing: Option<Tracing>,
}

impl Helper {
    fn is_recording(&self) -> bool {
        !self.recordings.is_empty() || self.tracing.is_some()
    }

    fn drain(&self) {
        self.recordings.values().for_each(Recording::drain);
        self.tracing.iter().for_each(Tracing::drain);
    }

    fn answer(&mut self, line: &str) -> Answer {
        serde_json::from_str(line)
            .map_err(|error| Refusal::new(RefusalKind::Request, error))
            .and_then(|request| self.obey(request))
            .unwrap_or_else(Answer::Refused)
    }

    fn obey(&mut self, request: Request) -> Result<Answer, Refusal> {
        match request {
            Request::Load { object, name, parameters, seed, pin } => {
                let pin = pin.as_deref().map(new_pin).transpose()?;
                let mut registered = register(&object, &name, &parameters, seed)?;
                if let Some(path) = pin {
                    registered.link.pin(&path).map_err(|error| {
                        Refusal::new(RefusalKind::File, format!("{}: {error}", path.display()))
                    })?;
                }
                self.registered.insert(name, registered);
            }
            Request::Unload { name } => {
                self.recordings.remove(&name);
                self.registered.remove(&name).ok_or_else(|| not_loaded(&name))?;
            }
            Request::Unpin { pin } => remove_pin(&pin)?,
            Request::Record { name, file } => {
                let registered = self.registered.get(&name).ok_or_else(|| not_loaded(&name))?;
                self.recordings.insert(name, Recording::start(&registered.object, &file)?);
            }
            Request::StopRecording { name } => {
                let recording = self.recordings.remove(&name).ok_or_else(|| {
                    Refusal::new(RefusalKind::Request, format!("{name} is not being recorded"))
                })?;
                return Ok(Answer::Recorded { calls: recording.finish()? });
            }
            Request::Trace { object, file } => {
                self.tracing = None;
                self.tracing = Some(Tracing::start(&object, &file)?);
            }
            Request::StopTracing => {
                let tracing = self
                    .tracing
                    .take()
                    .ok_or_else(|| Refusal::new(RefusalKind::Request, "nothing is being traced"))?;
                return Ok(Answer::Recorded { calls: tracing.finish()? });
            }
        }
        Ok(Answer::Done)
    }
}

fn not_loaded(name: &KernelName) -> Refusal {
    Refusal::new(
        RefusalKind::Request,
        format!("the algorithm {name} has not been loaded by this process"),
    )
}

enum Next {
    Line(String),
    Nothing,
    End,
}

/// Lines from a file descriptor, read with a timeout.
struct Lines {
    descriptor: RawFd,
    pending: Vec<u8>,
    is_at_end: bool,
}

impl Lines {
    fn new(descriptor: RawFd) -> Self {
        Self { descriptor, pending: Vec::new(), is_at_end: false }
    }

    /// Returns the next line if it arrives within `wait_ms` milliseconds; -1 waits forever.
    fn next_within(&mut self, wait_ms: i32) -> io::Result<Next> {
        loop {
            if let Some(end) = self.pending.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return Ok(Next::Line(String::from_utf8_lossy(&line[..end]).into_owned()));
            }
            if self.is_at_end {
                return Ok(Next::End);
            }
            if !self.is_readable_within(wait_ms)? {
                return Ok(Next::Nothing);
            }
            self.read()?;
        }
    }

    fn is_readable_within(&self, wait_ms: i32) -> io::Result<bool> {
        let mut poll = libc::pollfd { fd: self.descriptor, events: libc::POLLIN, revents: 0 };
        // SAFETY: the pointer is to one valid element.
        match unsafe { libc::poll(&raw mut poll, 1, wait_ms) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => Ok(false),
            -1 => Err(io::Error::last_os_error()),
            count => Ok(count > 0),
        }
    }

    fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0_u8; 4096];
        // SAFETY: the length is that of the buffer.
        let count =
            unsafe { libc::read(self.descriptor, buffer.as_mut_ptr().cast(), buffer.len()) };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        self.is_at_end = count == 0;
        self.pending.extend_from_slice(&buffer[..count]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe() -> (Lines, std::fs::File, std::fs::File) {
        use std::os::fd::FromRawFd;
        let mut ends = [0; 2];
        // SAFETY: the array has room for both ends, each of which becomes one file.
        let (read, write) = unsafe {
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            (std::fs::File::from_raw_fd(ends[0]), std::fs::File::from_raw_fd(ends[1]))
        };
        (Lines::new(read.as_raw_fd()), read, write)
    }

    #[test]
    fn lines_come_whole_however_they_are_written() {
        let (mut lines, _read, mut write) = pipe();
        assert!(matches!(lines.next_within(0), Ok(Next::Nothing)));
        write.write_all(b"one\ntw").expect("a pipe");
        assert!(matches!(lines.next_within(-1), Ok(Next::Line(line)) if line == "one"));
        assert!(matches!(lines.next_within(0), Ok(Next::Nothing)));
        write.write_all(b"o\n").expect("a pipe");
        drop(write);
        assert!(matches!(lines.next_within(-1), Ok(Next::Line(line)) if line == "two"));
        assert!(matches!(lines.next_within(-1), Ok(Next::End)));
    }

    #[test]
    fn a_bad_request_is_answered() {
        let mut helper = Helper::default();
        for line in
            ["", "{}", "[1]", r#"{"do":"unload","name":"cl_00000000"}"#, r#"{"do":"stop_tracing"}"#]
        {
            let Answer::Refused(refusal) = helper.answer(line) else { panic!("{line}") };
            assert_eq!(refusal.kind, RefusalKind::Request, "{line}");
            assert!(!refusal.message.is_empty());
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let mut helper = Helper::default();
        let file = std::env::current_exe().expect("this test's program");
        let line = serde_json::json!({"do": "load", "object": file, "name": "cl_00000000"});
        let Answer::Refused(refusal) = helper.answer(&line.to_string()) else { panic!("refused") };
        assert_eq!(refusal.kind, RefusalKind::Object, "{refusal:?}");
    }
}
