//! One kernel study at a time: two would share the processors and spoil each other's clocks.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Held while a study runs on the kernel; gone with the process that holds it.
#[derive(Debug)]
pub struct StudyLock {
    _file: File,
}

impl StudyLock {
    /// Where all users of a machine look.
    pub fn place() -> PathBuf {
        let folder = Path::new("/run/lock");
        if folder.is_dir() { folder } else { Path::new("/tmp") }.join("cwndlab-kernel.lock")
    }

    /// Takes the lock at `path`; while another process has it, calls `waiting` once and waits.
    ///
    /// # Errors
    /// If the file can be neither opened nor made.
    pub fn acquire(path: &Path, waiting: impl FnOnce()) -> io::Result<Self> {
        let file = open(path)?;
        if !flock(&file, libc::LOCK_EX | libc::LOCK_NB)? {
            waiting();
            while !flock(&file, libc::LOCK_EX)? {}
        }
        Ok(Self { _file: file })
    }
}

/// Without `O_CREAT` first: in a sticky folder, that flag is refused for a file of another user.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path).or_else(|_| {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o644)
            .open(path)
    })
}

/// Whether the lock was taken; not, if another has it or a signal came.
fn flock(file: &File, operation: libc::c_int) -> io::Result<bool> {
    // SAFETY: the descriptor is open.
    if unsafe { libc::flock(file.as_raw_fd(), operation) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(false),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_second_study_waits_for_the_first() {
        let path = std::env::temp_dir().join(format!("cwndlab-lock-{}", std::process::id()));
        let first = StudyLock::acquire(&path, || panic!("nobody has it")).expect("a lock");
        let (told, hear) = mpsc::channel();
        let second = std::thread::spawn({
            let path = path.clone();
            move || {
                let lock = StudyLock::acquire(&path, || told.send("waiting").expect("heard"));
                told.send("taken").expect("heard");
                lock.is_ok()
            }
        });
        assert_eq!(hear.recv(), Ok("waiting"));
        assert_eq!(hear.recv_timeout(Duration::from_millis(50)).ok(), None);
        drop(first);
        assert_eq!(hear.recv(), Ok("taken"));
        assert!(second.join().expect("no panic"));
        std::fs::remove_file(path).expect("the file is there");
    }
}
