//! Converts the output of a run to dictionaries of columns, and lists these columns.

use cwndlab_scenario::{
    Acks, Column, Events, FlowSummary, Kind, LinkSummary, RunOutput, Samples, Values,
};
use cwndlab_sim::Saturation;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::array::array;

/// The tables of the simulator, their columns, and whether the columns are arrays.
const TABLES: [(&str, &[Column], bool); 6] = [
    ("flows", FlowSummary::COLUMNS, false),
    ("links", LinkSummary::COLUMNS, false),
    ("samples", Samples::COLUMNS, true),
    ("events", Events::COLUMNS, true),
    ("acks", Acks::COLUMNS, true),
    ("saturation", Saturation::COLUMNS, true),
];

/// Returns every column of every table of the simulator.
#[pyfunction]
pub(crate) fn columns(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for (table, columns, is_array) in TABLES {
        for column in columns {
            let kind = match column.kind {
                Kind::Text => "text",
                Kind::Integer => "integer",
                Kind::Real => "real",
            };
            let is_array = is_array && column.kind != Kind::Text && !column.can_be_undefined;
            let row = PyDict::new(py);
            row.set_item("table", table)?;
            row.set_item("name", column.name)?;
            row.set_item("unit", column.unit())?;
            row.set_item("type", kind)?;
            row.set_item("can_be_undefined", column.can_be_undefined)?;
            row.set_item("array", is_array.then_some(column.rust_type))?;
            row.set_item("meaning", column.meaning.trim())?;
            list.append(row)?;
        }
    }
    Ok(list)
}

/// Converts the complete output of a run to dictionaries of columns.
pub(crate) fn output(py: Python<'_>, output: RunOutput) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    let flows = FlowSummary::columns(&output.flows);
    result.set_item("flows", lists(py, FlowSummary::COLUMNS, flows)?)?;
    let links = LinkSummary::columns(&output.links);
    result.set_item("links", lists(py, LinkSummary::COLUMNS, links)?)?;
    let samples = output.samples.map(|table| arrays(py, Samples::COLUMNS, table.columns()));
    result.set_item("samples", samples.transpose()?)?;
    let events = output.events.map(|table| arrays(py, Events::COLUMNS, table.columns()));
    result.set_item("events", events.transpose()?)?;
    let acks = output.acks.map(|table| arrays(py, Acks::COLUMNS, table.columns()));
    result.set_item("acks", acks.transpose()?)?;
    result.set_item("pcap", output.pcap.map(|bytes| PyBytes::new(py, &bytes)))?;
    Ok(result)
}

/// Converts the results of saturating one direction of a path.
pub(crate) fn saturation(py: Python<'_>, table: Saturation) -> PyResult<Bound<'_, PyDict>> {
    arrays(py, Saturation::COLUMNS, table.columns())
}

/// Creates a dictionary of lists, in which an undefined value is `None`.
fn lists<'py>(
    py: Python<'py>,
    columns: &[Column],
    values: Vec<Values>,
) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for (Column { name, .. }, values) in columns.iter().zip(values) {
        match values {
            Values::Texts(values) => result.set_item(name, values)?,
            Values::Names(values) => result.set_item(name, values)?,
            Values::U8(values) => result.set_item(name, PyList::new(py, values)?)?,
            Values::U16(values) => result.set_item(name, values)?,
            Values::U32(values) => result.set_item(name, values)?,
            Values::U64(values) => result.set_item(name, values)?,
            Values::F64(values) => result.set_item(name, values)?,
            Values::SomeU32(values) => result.set_item(name, values)?,
            Values::SomeU64(values) => result.set_item(name, values)?,
            Values::SomeF64(values) => result.set_item(name, values)?,
        }
    }
    Ok(result)
}

/// Creates a dictionary of arrays; columns of text and columns with undefined values become lists.
fn arrays<'py>(
    py: Python<'py>,
    columns: &[Column],
    values: Vec<Values>,
) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for (Column { name, .. }, values) in columns.iter().zip(values) {
        match values {
            Values::Texts(values) => result.set_item(name, values)?,
            Values::Names(values) => result.set_item(name, values)?,
            Values::U8(values) => result.set_item(name, array(py, &values)?)?,
            Values::U16(values) => result.set_item(name, array(py, &values)?)?,
            Values::U32(values) => result.set_item(name, array(py, &values)?)?,
            Values::U64(values) => result.set_item(name, array(py, &values)?)?,
            Values::F64(values) => result.set_item(name, array(py, &values)?)?,
            Values::SomeU32(values) => result.set_item(name, values)?,
            Values::SomeU64(values) => result.set_item(name, values)?,
            Values::SomeF64(values) => result.set_item(name, values)?,
        }
    }
    Ok(result)
}
