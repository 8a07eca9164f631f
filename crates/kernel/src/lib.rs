//! Runs algorithms in the Linux kernel: opens a compiled object, sets its name and parameters, and
//! verifies, attaches, pins and records the algorithm.
//!
//! An object is a file of `algorithms/` that clang has compiled for BPF (`algorithms/port/bpf.h`).
//! The program of this crate runs in a separate process and receives requests as lines of JSON
//! ([`protocol`]). When this process ends, for whatever reason, the kernel detaches the algorithms
//! that are not pinned.
//!
//! On systems other than Linux, this crate contains only the types of the protocol.

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
