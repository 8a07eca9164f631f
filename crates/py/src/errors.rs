//! Converts errors to Python exceptions; bad input is a `ValueError`.

use cwndlab_link::TraceError;
use cwndlab_scenario::ScenarioError;
use cwndlab_sim::RunError;
use pyo3::PyErr;
use pyo3::exceptions::{PyRuntimeError, PyValueError};

// Defined in Python: the stable ABI of 3.11 does not let a compiled class extend an exception.
pyo3::import_exception!(cwndlab.errors, ScenarioRefusedError);

pub(crate) fn scenario(error: ScenarioError) -> PyErr {
    ScenarioRefusedError::new_err((error.path, error.message))
}

pub(crate) fn run(error: RunError) -> PyErr {
    match error {
        RunError::Scenario(error) => scenario(error),
        other => PyRuntimeError::new_err(other.to_string()),
    }
}

/// The error in a trace, with the trace's name and the line.
pub(crate) fn trace(name: &str, error: &TraceError) -> PyErr {
    PyValueError::new_err(format!("{name}: {error}"))
}
