//! Tests of the helper, the running kernel and the native build together.
//!
//! Tests that this machine or user cannot run are skipped, with the reason printed.
#![cfg(target_os = "linux")]

mod algorithms;
mod helper;
mod lifetime;
mod machine;
mod network;
mod refusals;
mod replay;
