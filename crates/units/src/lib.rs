//! Time, rate and size with their arithmetic, random numbers, histograms, and the output type of
//! state machines.
//!
//! Time is a 64-bit count of nanoseconds since the run began, which suffices for 584 years.
//! Nothing here reads a clock. Rates are in bits per second, sizes in bytes, and only the
//! operators below combine them, so a factor of eight cannot be forgotten.

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
