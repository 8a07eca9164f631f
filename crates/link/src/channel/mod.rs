//! The radio channel of one user, from the user's position to the decision whether a block is
//! decoded.
//!
//! ```text
//!   mean SINR (given, or path loss and link budget) + drifts + fading = SINR at a time
//!   SINR -> channel quality, late and coarse -> scheme, with the outer loop's margin -> block size
//!   SINR, scheme, block size -> error rate
//! ```
//!
//! The SINR is a function of the run's seed and of time. It does not depend on the traffic, so two
//! algorithms have the same channel. The model leaves out frequency selectivity (a wide band is
//! modelled by more branches), variations of the interference, and errors of reports.

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
