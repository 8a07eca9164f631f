//! What the emulator needs of the machine.

use std::fs::OpenOptions;

use crate::Namespace;

/// What keeps the emulator from working here, in words that say what to do; `None` if it works.
pub fn what_is_missing() -> Option<String> {
    if let Err(error) = OpenOptions::new().read(true).write(true).open("/dev/net/tun") {
        return Some(format!("/dev/net/tun cannot be opened ({error}); try: sudo modprobe tun"));
    }
    if let Err(error) = Namespace::new() {
        return Some(format!(
            "no network namespace can be made ({error}); it needs root: put sudo before the command"
        ));
    }
    None
}

/// Whether a test that needs root has to be skipped, with the reason printed.
#[cfg(test)]
pub(crate) fn skip_unprivileged() -> bool {
    let missing = what_is_missing();
    if let Some(reason) = &missing {
        println!("skipped: {reason}");
    }
    missing.is_some()
}
