//! Loads algorithms that were compiled at run time, and describes recordings of their calls.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cwndlab_cc::{Algorithm, Algorithms};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::listing;

/// For each name of an algorithm, the path of the shared object, and the name of the source file
/// in messages.
pub(crate) type Objects = BTreeMap<String, (PathBuf, String)>;

/// Loads the algorithms that a scenario may name in addition to the built-in algorithms.
pub(crate) fn load(objects: &Objects) -> PyResult<Algorithms> {
    let mut algorithms = Algorithms::default();
    for (name, (object, file)) in objects {
        algorithms.insert(name, open(object, file)?);
    }
    Ok(algorithms)
}

fn open(object: &Path, file: &str) -> PyResult<Algorithm> {
    Algorithm::load(object, file).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The files needed to compile an algorithm at run time: for each path below `algorithms/`, the
/// text.
#[pyfunction]
pub(crate) fn contract_files() -> BTreeMap<&'static str, &'static str> {
    cwndlab_cc::contract_files().iter().copied().collect()
}

/// Loads a shared object and returns a description in the form of an entry of `algorithms()`.
#[pyfunction]
pub(crate) fn describe_object<'py>(
    py: Python<'py>,
    object: PathBuf,
    file: &str,
) -> PyResult<Bound<'py, PyDict>> {
    listing::entry(py, open(&object, file)?)
}

/// Runs the conformance suite on a shared object; returns the first broken rule, or `None`.
#[pyfunction]
pub(crate) fn check_object<'py>(
    py: Python<'py>,
    object: PathBuf,
    file: &str,
    examples: usize,
    seed: u64,
    is_module: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let algorithm = open(&object, file)?;
    let suite = cwndlab_cc::Suite { examples, seed, is_module };
    let Err(violation) = cwndlab_cc::check(algorithm, suite) else { return Ok(None) };
    let result = PyDict::new(py);
    result.set_item("hook", violation.hook)?;
    result.set_item("rule", violation.rule.to_string())?;
    result.set_item("example", violation.example.to_string())?;
    Ok(Some(result))
}

/// Layout of a recorded call: names of the hooks, total length, and the name, offset, length and
/// sign of each field.
#[pyfunction]
pub(crate) fn call_layout(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let fields = PyList::empty(py);
    for field in cwndlab_cc::call_fields() {
        fields.append((field.name, field.offset, field.bytes, field.is_signed))?;
    }
    let layout = PyDict::new(py);
    layout.set_item("hooks", cwndlab_cc::hook_names())?;
    layout.set_item("bytes", cwndlab_cc::call_bytes())?;
    layout.set_item("fields", fields)?;
    Ok(layout)
}
