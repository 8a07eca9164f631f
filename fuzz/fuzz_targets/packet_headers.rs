//! `cargo +nightly fuzz run packet_headers`: any bytes are parsed as IP and TCP headers or
//! refused.
#![no_main]

#[path = "../../crates/packet/tests/read_back/mod.rs"]
mod read_back;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| read_back::check(bytes));
