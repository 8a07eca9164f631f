//! Capabilities of this machine, and compilers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use cwndlab_kernel::protocol::{Answer, Refusal, RefusalKind};

use crate::helper::{Helper, load};

/// The reason why the kernel's tests cannot run here, determined once.
pub(crate) fn obstacle() -> Option<String> {
    static OBSTACLE: OnceLock<Option<String>> = OnceLock::new();
    OBSTACLE.get_or_init(look_for_obstacle).clone()
}

fn look_for_obstacle() -> Option<String> {
    if let Some(missing) = cwndlab_emu::what_is_missing() {
        return Some(missing.to_string());
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Some("this kernel has no /sys/kernel/btf/vmlinux".to_owned());
    }
    if let Err(error) = Command::new("clang").arg("--version").output() {
        return Some(format!("cannot run clang: {error}"));
    }
    // Root of a container may create namespaces but cannot load programs.
    let request = load(&compile_object(&folder().join("fixed.c"), &[]), &unused_name());
    match Helper::start().ask(&request) {
        Answer::Refused(Refusal { kind: RefusalKind::Permission, message, .. }) => Some(message),
        _ => None,
    }
}

/// Returns from a test that cannot run here, after printing the reason.
macro_rules! skip_unless_possible {
    () => {
        if let Some(reason) = crate::machine::obstacle() {
            println!("skipped: {reason}");
            return;
        }
    };
}
pub(crate) use skip_unless_possible;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../algorithms")
}

/// Name and source file of each algorithm.
pub(crate) fn sources() -> Vec<(String, PathBuf)> {
    cwndlab_cc::Algorithm::all()
        .map(|algorithm| (algorithm.name().to_owned(), folder().join(algorithm.source_file())))
        .collect()
}

/// A path that no other test uses.
pub(crate) fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", next()))
}

/// A name that no other algorithm in this kernel has.
pub(crate) fn unused_name() -> String {
    format!("cl_{:08x}", (std::process::id() << 12) | (next() & 0xfff))
}

fn next() -> u32 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// Compiles a source file for BPF.
pub(crate) fn compile_object(source: &Path, more: &[&str]) -> PathBuf {
    let object = scratch("object.o");
    let flags = ["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-std=gnu11", "-c"];
    run_compiler("clang", &[&flags[..], more].concat(), &[source], &object);
    object
}

/// Compiles the program that replays recorded calls.
pub(crate) fn compile_replay(source: &Path) -> PathBuf {
    let program = scratch("replay");
    let flags = ["-O2", "-std=gnu11", "-DCC_LOADED", "-DCC_REPLAY"];
    run_compiler("cc", &flags, &[source, &folder().join("port/replay.c")], &program);
    program
}

fn run_compiler(compiler: &str, flags: &[&str], files: &[&Path], out: &Path) {
    let include = folder().join("include");
    let done = Command::new(compiler)
        .args(flags)
        .arg("-I")
        .arg(include)
        .args(files)
        .arg("-o")
        .arg(out)
        .output()
        .unwrap_or_else(|error| panic!("run {compiler}: {error}"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{compiler} {}:\n{said}", files[0].display());
}

/// A copy of an algorithm's file with the first occurrence of a text replaced; the text must exist.
pub(crate) fn changed(source: &Path, old: &str, new: &str) -> PathBuf {
    let text = std::fs::read_to_string(source).expect("UTF-8");
    assert!(text.contains(old), "{}: no \"{old}\"", source.display());
    written(&text.replacen(old, new, 1))
}

/// A new C file with this text.
pub(crate) fn written(text: &str) -> PathBuf {
    let path = scratch("algorithm.c");
    std::fs::write(&path, text).expect("write a scratch file");
    path
}

/// Whether a socket could select this algorithm.
pub(crate) fn is_available(name: &str) -> bool {
    let all = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    std::fs::read_to_string(all).expect("a list").split_whitespace().any(|one| one == name)
}
