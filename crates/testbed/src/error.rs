//! Reasons why a run on the kernel is impossible.

use std::io;

use cwndlab_link::ConfigError;
use cwndlab_scenario::ScenarioError;
use thiserror::Error;

/// The reason why a run on the kernel is impossible.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A stage of the path is invalid.
    #[error("{0}")]
    Path(#[from] ConfigError),
    /// The scenario needs a feature that the kernel backend does not have.
    #[error("{place}: the kernel backend does not support {what}")]
    Impossible {
        /// Place in the scenario, such as a key.
        place: String,
        /// The feature.
        what: &'static str,
    },
    /// The kernel lacks an algorithm.
    #[error(
        "{place}: this kernel does not contain the algorithm {name}; `ours:{name}` selects \
        cwndlab's implementation"
    )]
    UnknownAlgorithm {
        /// Place in the scenario, such as a key.
        place: String,
        /// Name of the algorithm.
        name: String,
    },
    /// The program of a shell could not be started.
    #[error("the program {program} could not be started: {error}")]
    Program {
        /// Name of the program.
        program: String,
        /// The reason.
        error: io::Error,
    },
    /// The machine does not meet a requirement, or the user lacks a privilege.
    #[error("{0}")]
    Missing(String),
    /// A connection broke, or the kernel refused a socket.
    #[error("a network connection failed: {0}")]
    Socket(#[from] io::Error),
}
