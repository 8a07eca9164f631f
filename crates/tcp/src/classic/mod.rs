//! Classic loss recovery (Tahoe, Reno, NewReno, SACK and FACK) as in textbooks and in ns-2.
//!
//! After a timeout, a classic sender continues at the first hole. It counts its window in whole
//! segments, and has none of the mechanisms that Linux added later: RACK, tail loss probes, undo
//! and pacing. As in every stack, congestion control determines the window
//! ([`cwndlab_cc::Congestion`]); recovery only inflates and deflates it.
//!
//! The sources are Jacobson, "Congestion avoidance and control", 1988; RFC 5681, RFC 6582, RFC
//! 2018, RFC 3042, RFC 6675; Fall and Floyd, "Simulation-based comparisons of Tahoe, Reno, and
//! SACK TCP", 1996; Mathis and Mahdavi, "Forward acknowledgement", 1996; and runs of ns-2.35, for
//! behaviour of its agents that these publications do not describe (`profiles/ns-2-*.toml`).

mod endpoint;
#[cfg(test)]
mod endpoint_tests;
mod intervals;
#[cfg(test)]
mod ns2;
mod receiver;
mod scoreboard;
mod sender;
#[cfg(test)]
mod sender_tests;
mod settings;
#[cfg(test)]
mod testing;
mod timer;

pub(crate) use endpoint::ClassicEndpoint;
pub use settings::{
    ClassicSettings, ClassicTimer, Handshake, Overhead, Recovery, RttReport, RttSampling,
};
