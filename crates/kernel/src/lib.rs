//! Algorithms in the running Linux kernel: opens an object, sets its name and parameters, verifies,
//! attaches, pins and records it.
//!
//! An object is a file of `algorithms/` that clang has compiled for BPF (`algorithms/port/bpf.h`).
//! This crate's program works in a separate process and receives requests as lines of JSON
//! ([`protocol`]): when it ends, for whatever reason, the kernel detaches its algorithms unless
//! they were pinned.
//!
//! On other systems, only the types of the protocol exist.

mod name;
pub mod protocol;

#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod layout;
#[cfg(target_os = "linux")]
mod object;
#[cfg(target_os = "linux")]
mod pin;
#[cfg(target_os = "linux")]
mod recording;
#[cfg(target_os = "linux")]
mod refusal;
#[cfg(target_os = "linux")]
mod tracing;

#[cfg(target_os = "linux")]
pub use helper::serve;
pub use name::{KernelName, KernelNameError};
