//! Which error of the core is which exception: bad input is a `ValueError`.

use cwndlab_link::TraceError;
use cwndlab_scenario::ScenarioError;
use cwndlab_sim::RunError;
use pyo3::PyErr;
use pyo3::exceptions::{PyRuntimeError, PyValueError};

// A class of Python's: the stable ABI of 3.11 lets no compiled class extend an exception.
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

/// The name of the trace, its line, what is wrong there.
pub(crate) fn trace(name: &str, error: &TraceError) -> PyErr {
    PyValueError::new_err(format!("{name}: {error}"))
}
