//! Classic loss recovery: Tahoe, Reno, NewReno, SACK and FACK, as textbooks and ns-2 have them.
//!
//! A sender of this kind goes back to the first hole after a timeout, counts its window in whole
//! segments, and leaves out what Linux added since: no RACK, no tail loss probe, no undo, no pacing.
//! The window itself belongs to the same congestion control as everywhere
//! ([`cwndlab_cc::Congestion`]); recovery only inflates and deflates it.
//!
//! Sources: Jacobson, "Congestion avoidance and control", 1988; RFC 5681, RFC 6582, RFC 2018,
//! RFC 3042, RFC 6675; Fall and Floyd, "Simulation-based comparisons of Tahoe, Reno, and SACK TCP",
//! 1996; Mathis and Mahdavi, "Forward acknowledgement", 1996; and runs of ns-2.35 for what its
//! agents do beyond these (`profiles/ns-2-*.toml`).

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
