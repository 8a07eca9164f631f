//! Native side of the congestion-control contract.
//!
//! The algorithms are the C files of `algorithms/`, compiled into this crate by its build script.
//! [`Algorithm`] is a handle to one of them, [`Congestion`] one flow's instance with its own
//! parameters, [`TcpSock`] the socket that both sides see. An algorithm keeps all its state in the
//! socket (`icsk_ca_priv`, 104 bytes), none of it here.

mod algorithm;
mod conformance;
mod congestion;
mod ffi;
mod guard;
mod layout;
mod load;
#[cfg(test)]
mod native_tests;
mod recorder;
mod sock;

pub use algorithm::{Algorithm, ContractError, ParameterInfo, contract_files};
pub use conformance::{Example, Rule, Suite, Violation, check};
pub use congestion::{Congestion, CwndEvent, ParameterError, RequestedAck, Requests};
pub use guard::{GUARD_EXIT_STATUS, GUARD_LINE, record_calls, recorded_calls};
pub use load::{Algorithms, LoadError};
pub use recorder::{CallField, call_bytes, call_fields, hook_names};
pub use sock::*;
