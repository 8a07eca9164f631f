//! Permissions of a command that runs as a compiler.
#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use cwndlab_sandbox::{Finished, Protection, RunCompilerError, run_compiler};

const SYSTEM: [&str; 5] = ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"];

/// Runs a shell script as the compiler, which may write below `writable`.
fn shell(script: &str, writable: &[PathBuf]) -> Result<Finished, RunCompilerError> {
    let command = ["/bin/sh", "-c", script].map(OsString::from);
    let environment = [("PATH".into(), "/usr/bin:/bin".into())];
    run_compiler(&command, &environment, &SYSTEM.map(PathBuf::from), writable, 2)
}

/// A folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("cwndlab-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_command_has_its_output_and_status() {
    let done = shell("echo out; echo err >&2; exit 3", &[]).expect("starts");
    assert_eq!(done.status, 3);
    assert_eq!((&*done.output, &*done.messages), (&b"out\n"[..], &b"err\n"[..]));
}

#[test]
fn files_are_written_where_it_was_permitted_alone() {
    if !Protection::of_kernel().has_landlock {
        return;
    }
    let (own, other) = (Folder::new("own"), Folder::new("other"));
    let secret = other.0.join("secret");
    fs::write(&secret, "secret").expect("a file");
    let script = format!(
        "echo a > {}/a; echo b > {}/b; cat {}",
        own.0.display(),
        other.0.display(),
        secret.display()
    );
    let done = shell(&script, std::slice::from_ref(&own.0)).expect("starts");
    assert_eq!(fs::read(own.0.join("a")).expect("was written"), b"a\n");
    assert!(!other.0.join("b").exists());
    assert_eq!(done.output, b"", "the secret was read");
}

#[test]
fn what_does_not_end_is_ended_with_all_that_it_started() {
    let error = shell("sleep 1000 & sleep 1000", &[]).expect_err("takes too long");
    assert!(matches!(error, RunCompilerError::TimeLimit(2)), "{error}");
}

#[test]
fn output_is_limited() {
    let error = shell("while :; do head -c 1000000 /usr/bin/env; done", &[]).expect_err("endless");
    assert!(matches!(error, RunCompilerError::Output | RunCompilerError::TimeLimit(_)), "{error}");
}

#[test]
fn a_command_that_is_not_there_cannot_be_started() {
    let error = run_compiler(&["/no/such/cc".into()], &[], &[], &[], 1).expect_err("is not there");
    assert!(matches!(error, RunCompilerError::Start(_)), "{error}");
}
