//! Algorithms in the running Linux kernel: opened, given a name and parameters, verified, attached,
//! pinned, recorded.
//!
//! An object is a file of `algorithms/` compiled by clang for BPF (`algorithms/port/bpf.h`). The
//! program of this crate does the work in a process of its own, asked by lines of JSON
//! ([`protocol`]): what it attached is gone when it ends, however it ends, unless it was pinned.
//!
//! On other systems only the vocabulary is there.

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
