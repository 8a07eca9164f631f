//! Reads recorded links from a file or a folder.

use cwndlab_trace::{
    FolderError, LightReading, ReadOptions, Reading, RecordedDirection, TraceKind,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors;

/// Reads a trace in any supported form, and describes it.
#[pyfunction]
#[pyo3(signature = (content, name, *, column=None, unit=None, time_column=None, time_unit=None))]
pub(crate) fn read_trace<'py>(
    py: Python<'py>,
    content: &[u8],
    name: &str,
    column: Option<String>,
    unit: Option<String>,
    time_column: Option<String>,
    time_unit: Option<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = ReadOptions { column, unit, time_column, time_unit };
    let reading = py.detach(|| cwndlab_trace::read(content, &options));
    facts(py, &reading.map_err(|error| errors::trace(name, &error))?)
}

/// Reads the files of a folder as a recorded network with both directions.
#[pyfunction]
pub(crate) fn read_trace_folder<'py>(
    py: Python<'py>,
    files: Vec<(String, Vec<u8>)>,
    name: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let path = py.detach(|| cwndlab_trace::read_folder(&files));
    let path = path.map_err(|FolderError { file, error }| {
        let place = file.map(|file| format!("{name}/{file}"));
        errors::trace(place.as_deref().unwrap_or(name), &error)
    })?;
    let result = PyDict::new(py);
    result.set_item("down", direction(py, &path.down)?)?;
    result.set_item("up", direction(py, &path.up)?)?;
    Ok(result)
}

/// Reads packet trains that were recorded under light load, and describes them.
#[pyfunction]
pub(crate) fn read_packet_trains<'py>(
    py: Python<'py>,
    content: &[u8],
    name: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let reading = py.detach(|| cwndlab_trace::read_light(content));
    train_facts(py, &reading.map_err(|error| errors::trace(name, &error))?)
}

fn direction<'py>(py: Python<'py>, one: &RecordedDirection) -> PyResult<Bound<'py, PyDict>> {
    let result = facts(py, &one.trace)?;
    result.set_item("file", &one.file)?;
    let light = match &one.light {
        Some((file, reading)) => {
            let facts = train_facts(py, reading)?;
            facts.set_item("file", file)?;
            Some(facts)
        }
        None => None,
    };
    result.set_item("light", light)?;
    Ok(result)
}

fn train_facts<'py>(py: Python<'py>, reading: &LightReading) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("kind", "light")?;
    result.set_item("content", PyBytes::new(py, &reading.content))?;
    result.set_item("duration_s", reading.trace.period().as_secs_f64())?;
    result.set_item("shortest_delay_ns", reading.trace.shortest_delay().as_nanos())?;
    result.set_item("understood", reading.trace.to_string())?;
    Ok(result)
}

fn facts<'py>(py: Python<'py>, reading: &Reading) -> PyResult<Bound<'py, PyDict>> {
    let kind = match reading.kind() {
        TraceKind::Mahimahi => "mahimahi",
        TraceKind::Log => "log",
    };
    let result = PyDict::new(py);
    result.set_item("kind", kind)?;
    result.set_item("content", PyBytes::new(py, &reading.content))?;
    result.set_item("opportunities", reading.understood.opportunities)?;
    result.set_item("duration_s", reading.trace.period().as_secs_f64())?;
    result.set_item("mean_rate_mbit_s", reading.trace.mean_rate().as_mbit_per_sec_f64())?;
    result.set_item("understood", reading.understood.to_string())?;
    Ok(result)
}
