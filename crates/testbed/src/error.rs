//! Why a run could not be made.

use std::io;

use cwndlab_link::ConfigError;
use cwndlab_scenario::ScenarioError;
use thiserror::Error;

/// A run that could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario is wrong in itself.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A stage of the path cannot be made.
    #[error("{0}")]
    Path(#[from] ConfigError),
    /// What the kernel of this machine cannot do.
    #[error("{place}: the kernel backend does not support {what}")]
    Impossible {
        /// Where the scenario asks for it.
        place: String,
        /// What.
        what: &'static str,
    },
    /// The kernel has no such algorithm.
    #[error(
        "{place}: this kernel does not contain the algorithm {name}; `ours:{name}` selects \
        cwndlab's implementation"
    )]
    UnknownAlgorithm {
        /// Where the scenario asks for it.
        place: String,
        /// Its name.
        name: String,
    },
    /// A shell's program.
    #[error("the program {program} could not be started: {error}")]
    Program {
        /// As it was called.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// The machine does not let us.
    #[error("{0}")]
    Missing(String),
    /// A connection broke, or the kernel refused a socket.
    #[error("a network connection failed: {0}")]
    Socket(#[from] io::Error),
}
