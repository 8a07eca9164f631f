//! Replays calls recorded in the kernel with the native build of the same file.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use cwndlab_emu::Clock;
use cwndlab_kernel::protocol::Answer;
use cwndlab_units::Time;
use serde_json::{Value, json};

use crate::helper::{Helper, load};
use crate::machine::{
    changed, compile_object, compile_replay, folder, scratch, skip_unless_possible, sources,
    unused_name,
};
use crate::network::transfer;

const LEAST_CALLS: u64 = 10_000;

/// Upper bound of `sizeof(struct cc_record)`; the file may lag behind by a whole buffer.
const RECORD_BYTES: u64 = 1600;
const BUFFER_BYTES: u64 = 1 << 16;

/// Records a transfer of an algorithm; returns the file of its calls and their number.
fn record(source: &Path) -> (PathBuf, u64) {
    record_with(source, "parameters", json!({}))
}

/// Like [`record`], with one more key in the request to load the algorithm.
fn record_with(source: &Path, key: &str, value: Value) -> (PathBuf, u64) {
    let (mut helper, name, file) = (Helper::start(), unused_name(), scratch("calls"));
    let mut request = load(&compile_object(source, &["-DCC_RECORD"]), &name);
    request[key] = value;
    helper.do_this(&request);
    helper.do_this(&json!({"do": "record", "name": name, "file": file}));
    let clock = Clock::start();
    transfer(&name, |_| {
        let written = fs::metadata(&file).map_or(0, |about| about.len());
        written > LEAST_CALLS * RECORD_BYTES + BUFFER_BYTES || clock.now() > Time::from_secs(300)
    });
    let answer = helper.ask(&json!({"do": "stop_recording", "name": name}));
    let Answer::Recorded { calls } = answer else { panic!("{answer:?}") };
    (file, calls)
}

/// Replays a recording with the native build: calls by program, mismatches, and all output.
fn replay(source: &Path, calls: &Path, set: &[&str]) -> (BTreeMap<String, u64>, u64, String) {
    let done = Command::new(compile_replay(source))
        .args(set)
        .stdin(File::open(calls).expect("a recording"))
        .output()
        .expect("run the replay");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let (mut programs, mut mismatches) = (BTreeMap::new(), 0);
    for line in said.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        if let Some(program) = line["program"].as_str() {
            programs.insert(program.to_owned(), line["calls"].as_u64().expect("a count"));
            mismatches += line["mismatches"].as_u64().expect("a count");
        }
    }
    let complaint = String::from_utf8_lossy(&done.stderr);
    let status = done.status.code().expect("an exit status");
    assert_eq!(status, i32::from(mismatches > 0), "{complaint}");
    (programs, mismatches, said)
}

#[test]
fn every_call_of_the_kernel_is_that_of_the_native_build() {
    skip_unless_possible!();
    let waiting = Mutex::new(sources());
    let take = || waiting.lock().expect("no panic holds it").pop();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((algorithm, source)) = take() {
                    let (file, calls) = record(&source);
                    let (programs, mismatches, said) = replay(&source, &file, &[]);
                    fs::remove_file(&file).expect("our own file");
                    println!("{algorithm}: {calls} calls, {mismatches} mismatches {programs:?}");
                    assert!(calls >= LEAST_CALLS, "{algorithm}: {calls} calls");
                    assert_eq!(programs.values().sum::<u64>(), calls, "{algorithm}");
                    assert_eq!(mismatches, 0, "{algorithm}:\n{said}");
                }
            });
        }
    });
}

#[test]
fn random_numbers_begin_with_the_seed() {
    skip_unless_possible!();
    let (seed, source) = (0x0123_4567_89ab_cdef_u64, folder().join("reno.c"));
    let (file, _) = record_with(&source, "seed", json!(seed));
    let calls = fs::read(&file).expect("a recording");
    fs::remove_file(&file).expect("our own file");
    // Reno draws no random numbers, so every record still has the seed.
    let records = calls.windows(8).filter(|window| **window == seed.to_le_bytes()).count();
    assert!(records as u64 >= LEAST_CALLS, "{records}");
    let mut request = load(&compile_object(&source, &[]), &unused_name());
    request["seed"] = json!(seed);
    let refusal = Helper::start().refuses(&request);
    assert!(refusal.message.contains("-DCC_RECORD"), "{refusal:?}");
}

/// For each algorithm, a constant that matters on the tests' link.
const CHANGES: [(&str, &str, &str); 4] = [
    ("bbr", "BBR_PACING_PERCENT	99u", "BBR_PACING_PERCENT	98u"),
    ("cubic", "packets/s^3\", 41,", "packets/s^3\", 42,"),
    ("illinois", "\"1/128 packet\", 1280, 1, 1280,", "\"1/128 packet\", 1279, 1, 1280,"),
    ("westwood", "WESTWOOD_GAIN		8u", "WESTWOOD_GAIN		9u"),
];

#[test]
fn one_other_constant_is_noticed() {
    skip_unless_possible!();
    for (algorithm, old, new) in CHANGES {
        let source = folder().join(format!("{algorithm}.c"));
        let (calls, _) = record(&source);
        let (_, mismatches, said) = replay(&changed(&source, old, new), &calls, &[]);
        println!("{algorithm} with {new}: {mismatches} mismatches");
        assert!(mismatches > 0, "{algorithm}: {said}");
        fs::remove_file(&calls).expect("our own file");
    }
}

#[test]
fn a_parameter_is_the_kernels_too() {
    skip_unless_possible!();
    let source = folder().join("cubic.c");
    let (calls, _) = record_with(&source, "parameters", json!({"beta": 512, "hystart": 0}));
    let (_, mismatches, said) = replay(&source, &calls, &["beta=512", "hystart=0"]);
    assert_eq!(mismatches, 0, "{said}");
    let (_, mismatches, said) = replay(&source, &calls, &["hystart=0"]);
    assert!(mismatches > 0, "{said}");
    fs::remove_file(&calls).expect("our own file");
}
