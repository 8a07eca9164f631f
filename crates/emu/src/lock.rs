//! Admits one kernel study at a time, because two studies would share the processors and distort
//! each other's timing.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A lock that a process holds while its study runs on the kernel; the kernel releases the lock
/// when the process ends.
#[derive(Debug)]
pub struct StudyLock {
    file: File,
}

impl StudyLock {
    /// The path of the lock, which all users of a machine share.
    pub fn place() -> PathBuf {
        let folder = Path::new("/run/lock");
        if folder.is_dir() { folder } else { Path::new("/tmp") }.join("cwndlab-kernel.lock")
    }

    /// Takes the lock at `path` for `owner`. If another study holds the lock, calls `waiting` once
    /// with the name of that study's owner (empty if unknown), and waits.
    ///
    /// # Errors
    /// Returns an error if the lock's file can be neither opened nor created.
    pub fn acquire(path: &Path, owner: &str, waiting: impl FnOnce(&str)) -> io::Result<Self> {
        let mut file = open(path)?;
        if !flock(&file, libc::LOCK_EX | libc::LOCK_NB)? {
            let mut other = String::new();
            // The holder's name is only for the message.
            let _ = file.read_to_string(&mut other);
            waiting(other.trim());
            while !flock(&file, libc::LOCK_EX)? {}
        }
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(owner.as_bytes()));
        Ok(Self { file })
    }
}

impl Drop for StudyLock {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
    }
}

/// Tries to open the file without `O_CREAT` first. In a sticky folder, the kernel refuses this
/// flag for a file of another user, and the permissions of the file may also forbid writing.
fn open(path: &Path) -> io::Result<File> {
    let with = |change: fn(&mut OpenOptions) -> &mut OpenOptions| {
        change(OpenOptions::new().read(true).mode(0o644)).open(path)
    };
    with(|options| options.write(true))
        .or_else(|_| with(|options| options))
        .or_else(|_| with(|options| options.write(true).create(true)))
}

/// Tries to take the lock; returns `false` if another process holds the lock or a signal
/// interrupted the call.
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
        let first =
            StudyLock::acquire(&path, "the first", |_| panic!("nobody has it")).expect("a lock");
        let (told, hear) = mpsc::channel();
        let second = std::thread::spawn({
            let path = path.clone();
            move || {
                let wait = |owner: &str| told.send(owner.to_owned()).expect("heard");
                let lock = StudyLock::acquire(&path, "the second", wait);
                told.send("taken".to_owned()).expect("heard");
                lock.is_ok()
            }
        });
        assert_eq!(hear.recv().as_deref(), Ok("the first"));
        assert_eq!(hear.recv_timeout(Duration::from_millis(50)).ok(), None);
        drop(first);
        assert_eq!(hear.recv().as_deref(), Ok("taken"));
        assert!(second.join().expect("no panic"));
        assert_eq!(
            std::fs::read(&path).expect("there"),
            b"",
            "a holder that is gone is not waited for"
        );
        std::fs::remove_file(path).expect("the file is there");
    }
}
