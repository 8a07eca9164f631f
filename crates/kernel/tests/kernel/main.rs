//! The helper, the running kernel and the native build, together. What this machine or user cannot
//! do is skipped, with the reason printed.
#![cfg(target_os = "linux")]

mod algorithms;
mod helper;
mod lifetime;
mod machine;
mod network;
mod refusals;
mod replay;
