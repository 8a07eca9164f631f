//! Native side of the congestion-control contract.
//!
//! The algorithms are the C files of `algorithms/`, compiled into this crate by its build script.
//! [`Algorithm`] is a handle to one of them, [`Congestion`] one flow's instance with its own
//! parameters, [`TcpSock`] the socket that both sides see. An algorithm keeps all its state in the
//! socket (`icsk_ca_priv`, 104 bytes), none of it here.

mod algorithm;
mod congestion;
mod ffi;
#[cfg(test)]
mod native_tests;
mod sock;

pub use algorithm::{Algorithm, ParameterInfo};
pub use congestion::{Congestion, CwndEvent, ParameterError};
pub use sock::*;
