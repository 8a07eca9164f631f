//! Errors of scenarios.

use thiserror::Error;

/// An error in a scenario, which therefore cannot be run.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{path}: {message}")]
pub struct ScenarioError {
    /// Place of the error in the JSON, such as `flows[1].sender.algorithm`.
    pub path: String,
    /// The error at this place.
    pub message: String,
}

impl ScenarioError {
    /// Creates an error at a place in the JSON.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}
