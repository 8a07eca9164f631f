//! Converts TOML and JSON values between Python and Rust.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyNone, PyString, PyTuple};
use serde_json::{Map, Number, Value};

/// Converts a Python value to a document; a value of any other type becomes its text.
pub(crate) fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    read(object, 0)
}

fn read(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > MOST_NESTED || object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::from(text.to_cow()?.as_ref()));
    }
    if object.is_instance_of::<PyBool>() {
        return Ok(Value::Bool(object.extract()?));
    }
    if object.is_instance_of::<PyInt>() {
        let whole: Option<i64> = object.extract().ok();
        return Ok(whole.map_or_else(|| Value::from(object.to_string()), Value::from));
    }
    if object.is_instance_of::<PyFloat>() {
        let number = Number::from_f64(object.extract()?).map(Value::Number);
        return Ok(number.unwrap_or_else(|| Value::from(object.to_string())));
    }
    if let Ok(items) = object.cast::<PyList>() {
        return items.iter().map(|item| read(&item, depth + 1)).collect();
    }
    if let Ok(items) = object.cast::<PyTuple>() {
        return items.iter().map(|item| read(&item, depth + 1)).collect();
    }
    if let Ok(table) = object.cast::<PyMapping>() {
        let mut found = Map::new();
        for pair in table.items()? {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            found.insert(key.to_string(), read(&value, depth + 1)?);
        }
        return Ok(Value::Object(found));
    }
    Ok(Value::from(object.to_string()))
}

/// Converts a document to a Python value.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => PyNone::get(py).to_owned().into_any(),
        Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into_pyobject(py)?.into_any(),
            None => number.as_f64().unwrap_or_default().into_pyobject(py)?.into_any(),
        },
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Array(items) => {
            let each = items.iter().map(|item| to_python(py, item));
            PyList::new(py, each.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Value::Object(table) => {
            let found = PyDict::new(py);
            for (key, value) in table {
                found.set_item(key, to_python(py, value)?)?;
            }
            found.into_any()
        }
    })
}

const MOST_NESTED: usize = 100;
