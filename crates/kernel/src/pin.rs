//! Pins, which keep an algorithm in the kernel after the process that loaded it has ended.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::protocol::{Refusal, RefusalKind};

/// Mount point of the BPF file system.
const BPF_FOLDER: &str = "/sys/fs/bpf";

/// cwndlab's folder in the BPF file system.
const OUR_FOLDER: &str = "/sys/fs/bpf/cwndlab";

/// The kernel's `BPF_FS_MAGIC`.
const BPF_MAGIC: libc::c_long = 0xcafe_4a11;

/// Returns the path of a new pin; mounts the BPF file system and creates cwndlab's folder if
/// necessary.
///
/// # Errors
/// Returns an error if `entry` is not a plain file name, the folder cannot be created or the pin
/// already exists.
pub(crate) fn new_pin(entry: &str) -> Result<PathBuf, Refusal> {
    let path = pin_path(entry)?;
    mount_if_missing()
        .and_then(|()| fs::create_dir_all(OUR_FOLDER))
        .map_err(|error| Refusal::new(RefusalKind::File, format!("{OUR_FOLDER}: {error}")))?;
    if path.exists() {
        let message = format!("{} already exists; unload this algorithm first", path.display());
        return Err(Refusal::new(RefusalKind::NameTaken, message));
    }
    Ok(path)
}

/// Removes a pin.
///
/// # Errors
/// Returns an error if the pin does not exist or may not be removed.
pub(crate) fn remove_pin(entry: &str) -> Result<(), Refusal> {
    let path = pin_path(entry)?;
    fs::remove_file(&path).map_err(|error| {
        let kind = match error.kind() {
            io::ErrorKind::PermissionDenied => RefusalKind::Permission,
            _ => RefusalKind::File,
        };
        Refusal::new(kind, format!("{}: {error}", path.display()))
    })
}

fn pin_path(entry: &str) -> Result<PathBuf, Refusal> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if entry.is_empty() || entry.len() > 64 || !entry.bytes().all(is_plain) {
        let message = format!(
            "\"{entry}\" is not the name of a pinned algorithm; such names \
            consist of letters, digits, - and _"
        );
        return Err(Refusal::new(RefusalKind::Request, message));
    }
    Ok(Path::new(OUR_FOLDER).join(entry))
}

fn mount_if_missing() -> io::Result<()> {
    let folder = CString::new(Path::new(BPF_FOLDER).as_os_str().as_bytes()).expect("no NUL");
    // SAFETY: the strings end with a NUL and outlive the calls; the kernel fills in the struct.
    unsafe {
        let mut about: libc::statfs = std::mem::zeroed();
        if libc::statfs(folder.as_ptr(), &raw mut about) != 0 {
            return Err(io::Error::last_os_error());
        }
        if about.f_type == BPF_MAGIC {
            return Ok(());
        }
        let kind = c"bpf".as_ptr();
        if libc::mount(kind, folder.as_ptr(), kind, 0, c"mode=0700".as_ptr().cast()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_stays_in_our_folder() {
        let path = pin_path("cubic-cl_01234567").expect("a plain name");
        assert_eq!(path.parent(), Some(Path::new(OUR_FOLDER)));
        for bad in ["", "..", "a/b", "a.b", " ", "x\n"] {
            assert_eq!(pin_path(bad).expect_err(bad).kind, RefusalKind::Request);
        }
    }

    #[test]
    fn a_pin_that_is_not_there_cannot_be_removed() {
        let refusal = remove_pin("no_such_pin").expect_err("it does not exist");
        assert!(matches!(refusal.kind, RefusalKind::File | RefusalKind::Permission));
    }
}
