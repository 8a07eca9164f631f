//! Lifetime of loaded and pinned algorithms.

use std::process::Command;

use cwndlab_emu::Clock;
use cwndlab_kernel::protocol::RefusalKind;
use cwndlab_units::Time;
use serde_json::json;

use crate::helper::{Helper, load};
use crate::machine::{compile_object, folder, is_available, skip_unless_possible, unused_name};

fn reno() -> std::path::PathBuf {
    compile_object(&folder().join("reno.c"), &[])
}

/// Longer than any operation on a slow and busy machine.
const PATIENCE: Time = Time::from_secs(120);

/// Whether the kernel soon removes an algorithm; this happens some time after the last reference.
pub(crate) fn is_gone_soon(name: &str) -> bool {
    let clock = Clock::start();
    while is_available(name) {
        if clock.now() > PATIENCE {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    true
}

#[test]
fn it_is_there_until_unloaded() {
    skip_unless_possible!();
    let (mut helper, name) = (Helper::start(), unused_name());
    helper.do_this(&load(&reno(), &name));
    assert!(is_available(&name));
    helper.do_this(&json!({"do": "unload", "name": name}));
    assert!(is_gone_soon(&name));
    let again = helper.refuses(&json!({"do": "unload", "name": name}));
    assert_eq!(again.kind, RefusalKind::Request);
}

#[test]
fn it_goes_with_the_helper() {
    skip_unless_possible!();
    let (mut helper, name) = (Helper::start(), unused_name());
    helper.do_this(&load(&reno(), &name));
    helper.end();
    assert!(is_gone_soon(&name));
}

#[test]
fn it_goes_when_the_helper_is_killed() {
    skip_unless_possible!();
    let (mut helper, name) = (Helper::start(), unused_name());
    helper.do_this(&load(&reno(), &name));
    assert!(is_available(&name));
    helper.process.kill().expect("our own process");
    helper.process.wait().expect("its end");
    assert!(is_gone_soon(&name));
}

/// Pins are entries of a file system; this test mounts its own in a separate mount namespace.
#[test]
fn a_pin_keeps_it_until_removed() {
    skip_unless_possible!();
    let (object, name) = (reno(), unused_name());
    let pin = format!("reno-{name}");
    let script = r#"
        set -eu
        mount -t bpf bpf /sys/fs/bpf
        list=/proc/sys/net/ipv4/tcp_available_congestion_control
        load="{\"do\":\"load\",\"object\":\"$1\",\"name\":\"$2\",\"pin\":\"$3\"}"
        unpin="{\"do\":\"unpin\",\"pin\":\"$3\"}"
        echo "$load" | "$0"
        ls /sys/fs/bpf/cwndlab
        grep -c "$2" $list
        echo "$load" | "$0"
        echo "$unpin" | "$0"
        ls /sys/fs/bpf/cwndlab
        for i in $(seq 2400); do grep -q "$2" $list || break; sleep 0.05; done
        grep -c "$2" $list || true
        echo "$unpin" | "$0"
    "#;
    let done = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_cwndlab-kernel")])
        .arg(&object)
        .args([&name, &pin])
        .output();
    let Ok(done) = done else {
        println!("skipped: cannot run unshare");
        return;
    };
    let said = String::from_utf8_lossy(&done.stdout);
    let lines: Vec<&str> = said.lines().collect();
    let kind = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("JSON");
    assert_eq!(lines.len(), 7, "{said}{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(kind(lines[0])["answer"], "done", "{said}");
    assert_eq!(&lines[1..3], [pin.as_str(), "1"], "it outlived its helper");
    assert_eq!(kind(lines[3])["kind"], "name_taken", "{said}");
    assert_eq!(kind(lines[4])["answer"], "done", "{said}");
    assert_eq!(lines[5], "0", "it went with its pin");
    assert_eq!(kind(lines[6])["kind"], "file", "{said}");
    assert!(!is_available(&name));
}
