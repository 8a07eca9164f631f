//! `cargo +nightly fuzz run tcp_segments`: any peer, network and application are survived.
#![no_main]

#[path = "../../crates/tcp/tests/hostile_bytes/mod.rs"]
mod hostile;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| hostile::drive(bytes));
