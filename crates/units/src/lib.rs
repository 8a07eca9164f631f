//! Time, rate and size with their arithmetic, random numbers, histograms, and the output type of
//! state machines.
//!
//! Time is a 64-bit count of nanoseconds since the run began, which suffices for 584 years. This
//! crate reads no clock. Rates are in bits per second and sizes are in bytes. Only the operators
//! of these types combine them, so that a factor of eight cannot be forgotten.

mod duration;
mod ecn;
mod histogram;
mod output;
mod rate;
mod rng;
mod time;

pub use duration::Duration;
pub use ecn::Ecn;
pub use histogram::Histogram;
pub use output::Output;
pub use rate::{Bytes, Rate};
pub use rng::{Stream, split_mix_64};
pub use time::Time;
