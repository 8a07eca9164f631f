//! The radio channel of one user: from where it stands to whether a block is decoded.
//!
//! ```text
//!   mean ratio (given, or path loss and a budget) + drifts + fading = ratio at a time
//!   ratio -> channel quality, late and coarse -> scheme, by the outer loop's margin -> block size
//!   ratio, scheme, block size -> error rate
//! ```
//!
//! The ratio is a function of the run's seed and of time: what is sent changes nothing, so that two
//! algorithms meet the same channel. Left out: selectivity in frequency (a wide band is more
//! branches), interference that varies by itself, errors of reports.

mod adaptation;
mod block_error;
mod coding;
mod decibel;
mod draw;
mod drift;
mod fading;
mod path_loss;
mod series;
mod sinr;
pub(crate) mod tables;

pub use adaptation::{AdaptationConfig, OuterLoopConfig};
pub use decibel::Decibel;
pub use drift::DriftConfig;
pub use fading::FadingConfig;
pub use path_loss::{Budget, PathLoss, Place};
pub use tables::nr::FrequencyRange;

pub(crate) use adaptation::Adaptation;
pub(crate) use coding::Coding;
pub(crate) use decibel::ratio;
pub(crate) use draw::Draws;
pub(crate) use sinr::{Energy, Sinr};
