//! The interface between the TCP endpoint and the congestion control algorithms, which are written
//! in C.
//!
//! The algorithms are the C files of `algorithms/`; the build script of this crate compiles them.
//! [`Algorithm`] identifies an algorithm, [`Congestion`] is one flow's instance with its own
//! parameters, and [`TcpSock`] is the socket that the endpoint and the algorithm access. An
//! algorithm keeps all its state in the socket (`icsk_ca_priv`, 104 bytes, or `cc_state`, 256
//! bytes), not in this crate.
//!
//! Loading and guarding an algorithm at run time requires Unix. The built-in algorithms also run
//! in a browser.

mod algorithm;
#[cfg(unix)]
mod conformance;
mod congestion;
mod ffi;
#[cfg(unix)]
mod guard;
#[cfg(target_os = "linux")]
mod imports;
#[cfg(unix)]
mod layout;
#[cfg(unix)]
mod load;
#[cfg(test)]
mod native_tests;
#[cfg(unix)]
mod recorder;
mod registry;
mod sock;

pub use algorithm::{Algorithm, ContractError, ParameterInfo, contract_files};
#[cfg(unix)]
pub use conformance::{Example, Rule, Suite, Violation, check};
pub use congestion::{Congestion, CwndEvent, ParameterError, RequestedAck, Requests};
#[cfg(unix)]
pub use guard::{GUARD_EXIT_STATUS, GUARD_LINE, install_guard, record_calls, recorded_calls};
#[cfg(unix)]
pub use load::LoadError;
#[cfg(unix)]
pub use recorder::{CallField, call_bytes, call_fields, hook_names};
pub use registry::Algorithms;
pub use sock::*;
