//! Which error of the core is which exception: bad input is a `ValueError`.

use cwndlab_link::TraceError;
use cwndlab_sim::{RunError, ScenarioError};
use pyo3::PyErr;
use pyo3::exceptions::{PyRuntimeError, PyValueError};

pub(crate) fn scenario(error: ScenarioError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub(crate) fn run(error: RunError) -> PyErr {
    match error {
        RunError::Scenario(error) => scenario(error),
        other => PyRuntimeError::new_err(other.to_string()),
    }
}

/// The name of the trace, its line, what is wrong there.
pub(crate) fn trace(name: &str, error: &TraceError) -> PyErr {
    PyValueError::new_err(format!("{name}: {error}"))
}
