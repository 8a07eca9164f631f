//! `cargo +nightly fuzz run tcp_segments`: no peer, network or application causes a
//! panic.
#![no_main]

#[path = "../../crates/tcp/tests/hostile_bytes/mod.rs"]
mod hostile;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| hostile::drive(bytes));
