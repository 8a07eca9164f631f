//! Classifies errors of the kernel and libbpf as kinds of refusals.

use std::error::Error;
use std::fmt::Display;
use std::sync::Mutex;

use libbpf_rs::{ErrorKind, PrintLevel, set_print};

use crate::protocol::{Refusal, RefusalKind};

/// Maximum number of log lines in a refusal.
const LOG_LINES: usize = 30;

/// Messages that libbpf has printed since the last [`start_listening`].
static SAID: Mutex<String> = Mutex::new(String::new());

/// Starts to collect the messages of libbpf, including the verifier's log.
pub(crate) fn start_listening() {
    SAID.lock().expect("no thread panics while it holds the lock").clear();
    set_print(Some((PrintLevel::Warn, |_, text| {
        SAID.lock().expect("no thread panics while it holds the lock").push_str(&text);
    })));
}

impl Refusal {
    /// A refusal without a log.
    pub(crate) fn new(kind: RefusalKind, message: impl Display) -> Self {
        Self { kind, message: message.to_string(), log: Vec::new() }
    }

    /// The refusal for an object that cannot be opened.
    pub(crate) fn not_opened(error: &libbpf_rs::Error) -> Self {
        Self {
            kind: RefusalKind::Object,
            message: format!("this file is not a BPF object of an algorithm: {}", chain(error)),
            log: end_of_log(),
        }
    }

    /// The refusal for programs that the kernel does not load.
    pub(crate) fn not_loaded(error: &libbpf_rs::Error) -> Self {
        let said = SAID.lock().expect("no thread panics while it holds the lock").clone();
        let (kind, message) = why_not_loaded(&said, error.kind());
        let message = message.map_or_else(
            || format!("the kernel does not load the algorithm: {}", chain(error)),
            ToOwned::to_owned,
        );
        Self { kind, message, log: end_of_log() }
    }

    /// The refusal for a table of hooks that the kernel does not register.
    pub(crate) fn not_attached(error: &libbpf_rs::Error, name: &dyn Display) -> Self {
        let (kind, message) = match error.kind() {
            ErrorKind::AlreadyExists => (
                RefusalKind::NameTaken,
                format!("an algorithm {name} already exists in the kernel; unload it first"),
            ),
            ErrorKind::InvalidInput => (
                RefusalKind::MissingHook,
                "the kernel rejects the table of hooks; CC_OPS needs .ssthresh, .undo_cwnd, and \
                 either .cong_avoid or .cong_control"
                    .to_owned(),
            ),
            ErrorKind::PermissionDenied => (RefusalKind::Permission, NO_PERMISSION.to_owned()),
            _ => (
                RefusalKind::Kernel,
                format!(
                    "the kernel does not register the algorithm: {} ({NEEDED_KERNEL})",
                    chain(error)
                ),
            ),
        };
        Self { kind, message, log: end_of_log() }
    }
}

const NO_PERMISSION: &str =
    "loading an algorithm into the kernel needs root; run the command as root";
const NEEDED_KERNEL: &str =
    "Linux 6.4 or later is needed, with BPF, its JIT and /sys/kernel/btf/vmlinux";

fn why_not_loaded(said: &str, kind: ErrorKind) -> (RefusalKind, Option<&'static str>) {
    let has = |text: &str| said.contains(text);
    if has("must have a GPL compatible license") {
        let message = "the kernel loads only algorithms whose licence is compatible with the GPL";
        (RefusalKind::Licence, Some(message))
    } else if has("BPF program is too large") || has("program too large") {
        let message = "the algorithm is too large: the verifier would have to check more than a \
            million instructions; use loops with constant bounds and without branches";
        (RefusalKind::TooLarge, Some(message))
    } else if has("jumps is too complex") {
        let message = "the algorithm has more branches than this kernel's verifier follows (8192 at \
            once); newer kernels recognize equal states of a loop sooner";
        (RefusalKind::TooLarge, Some(message))
    } else if has("beyond the member") {
        let message = "the algorithm's state is too large: it writes beyond its 104 bytes of \
            private state (icsk_ca_priv)";
        (RefusalKind::TooLarge, Some(message))
    } else if has("no write support to") {
        let message = "the algorithm writes a field that the kernel does not allow it to write, \
            or beyond its 104 bytes of private state";
        (RefusalKind::Verifier, Some(message))
    } else if has("BPF stack limit") || has("Combined stack size") {
        (
            RefusalKind::TooLarge,
            Some("the local variables of the algorithm are too large: they exceed 512 bytes"),
        )
    } else if has("program isn't referenced anywhere") {
        (RefusalKind::Object, Some("a function that CC_PROG defines is missing in CC_OPS"))
    } else if has("BEGIN PROG LOAD LOG") {
        (RefusalKind::Verifier, Some("the kernel's verifier rejects the algorithm"))
    } else if kind == ErrorKind::PermissionDenied {
        (RefusalKind::Permission, Some(NO_PERMISSION))
    } else if has("vmlinux BTF") || has("kernel BTF") || has("is not found in kernel") {
        (RefusalKind::Kernel, Some(NEEDED_KERNEL))
    } else {
        (RefusalKind::Kernel, None)
    }
}

/// The text of an error and its causes, on one line.
fn chain(error: &libbpf_rs::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text += &format!(": {inner}");
        cause = inner.source();
    }
    text
}

fn end_of_log() -> Vec<String> {
    let said = SAID.lock().expect("no thread panics while it holds the lock");
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].iter().map(|&line| line.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(said: &str) -> RefusalKind {
        why_not_loaded(said, ErrorKind::InvalidInput).0
    }

    #[test]
    fn what_the_verifier_says_becomes_a_kind() {
        let log = "libbpf: prog 'x': -- BEGIN PROG LOAD LOG --\n";
        let licence = "struct ops programs must have a GPL compatible license";
        assert_eq!(kind_of(&format!("{log}{licence}")), RefusalKind::Licence);
        let large = "BPF program is too large. Processed 1000001 insn";
        assert_eq!(kind_of(&format!("{log}{large}")), RefusalKind::TooLarge);
        let branches = "The sequence of 8193 jumps is too complex.";
        assert_eq!(kind_of(&format!("{log}{branches}")), RefusalKind::TooLarge);
        let state = "write access at off 1396 with size 8 beyond the member 103 of icsk_ca_priv";
        assert_eq!(kind_of(&format!("{log}{state}")), RefusalKind::TooLarge);
        assert_eq!(kind_of(&format!("{log}R1 !read_ok")), RefusalKind::Verifier);
        assert_eq!(kind_of("something else"), RefusalKind::Kernel);
    }

    #[test]
    fn only_the_end_of_a_long_log_is_kept() {
        start_listening();
        SAID.lock().expect("a test").push_str(&"a line\n\n".repeat(100));
        assert_eq!(end_of_log().len(), LOG_LINES);
    }
}
