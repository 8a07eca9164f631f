//! Lists the built-in algorithms and stack profiles.

use cwndlab_cc::Algorithm;
use cwndlab_tcp::Profile;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sha2::{Digest, Sha256};

/// The built-in congestion control algorithms.
#[pyfunction]
pub(crate) fn algorithms(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for algorithm in Algorithm::all() {
        list.append(entry(py, algorithm)?)?;
    }
    Ok(list)
}

/// The description of an algorithm, from its C file.
pub(crate) fn entry(py: Python<'_>, algorithm: Algorithm) -> PyResult<Bound<'_, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", algorithm.name())?;
    entry.set_item("aliases", algorithm.aliases())?;
    entry.set_item("description", algorithm.description())?;
    let parameters = PyList::empty(py);
    for parameter in algorithm.parameters() {
        let dict = PyDict::new(py);
        dict.set_item("name", parameter.name)?;
        dict.set_item("unit", parameter.unit)?;
        dict.set_item("default", parameter.default)?;
        dict.set_item("min", parameter.min)?;
        dict.set_item("max", parameter.max)?;
        dict.set_item("doc", parameter.doc)?;
        parameters.append(dict)?;
    }
    entry.set_item("parameters", parameters)?;
    entry.set_item("phases", algorithm.phases())?;
    entry.set_item("hooks", algorithm.hooks())?;
    entry.set_item("source_file", algorithm.source_file())?;
    entry.set_item("source_text", algorithm.source_text())?;
    entry.set_item("source_sha256", algorithm.source_sha256())?;
    Ok(entry)
}

/// The stack profiles.
#[pyfunction]
pub(crate) fn stacks(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let loads = py.import("json")?.getattr("loads")?;
    let list = PyList::empty(py);
    for name in Profile::names() {
        let text = Profile::text(name).expect("a listed profile has a text");
        let profile = Profile::by_name(name).expect("a listed profile exists");
        let values = serde_json::to_string(&profile).expect("a profile has string keys only");
        let entry = PyDict::new(py);
        entry.set_item("name", name)?;
        entry.set_item("text", text)?;
        entry.set_item("sha256", hex(&Sha256::digest(text)))?;
        entry.set_item("values", loads.call1((values,))?)?;
        list.append(entry)?;
    }
    Ok(list)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
