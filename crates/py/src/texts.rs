//! Texts that users write: quantities, and links as tables or in one line.

use std::cell::RefCell;

use cwndlab_texts::{
    Files, PacketTrains, Place, Preset, PresetFile, Problem, Quantity, QueueLimit, Recording, Step,
    Told, Way,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::Value;

use crate::documents::{from_python, to_python};

pyo3::import_exception!(cwndlab.errors, CwndlabError);
pyo3::import_exception!(cwndlab.errors, QuantityError);

/// A link's table, its numbers with their paths, and the problems found.
type Expanded<'py> = (Bound<'py, PyAny>, Vec<(String, i64)>, Refusals<'py>);

/// Problems with their places; a place is a tuple of keys and positions.
type Refusals<'py> = Vec<(Bound<'py, PyTuple>, String)>;

/// Reads a quantity as an integer number of its smallest unit.
#[pyfunction]
pub(crate) fn parse_quantity(kind: &str, value: &Bound<'_, PyAny>) -> PyResult<i64> {
    known(kind)?.read(&from_python(value)?).map_err(QuantityError::new_err)
}

/// Formats a quantity, which is given in its smallest unit.
#[pyfunction]
pub(crate) fn format_quantity(kind: &str, count: i64) -> PyResult<String> {
    Ok(known(kind)?.format(count))
}

fn known(kind: &str) -> PyResult<&'static Quantity> {
    cwndlab_texts::quantity(kind)
        .ok_or_else(|| PyValueError::new_err(format!("there is no quantity called {kind}")))
}

/// Reads the limit of a queue: returns its unit and its number.
#[pyfunction]
pub(crate) fn parse_queue(value: &Bound<'_, PyAny>) -> PyResult<(&'static str, i64)> {
    let limit = QueueLimit::read(&from_python(value)?).map_err(QuantityError::new_err)?;
    Ok(match limit {
        QueueLimit::Packets(count) => ("packets", count.into()),
        QueueLimit::Bytes(count) => ("bytes", count),
        QueueLimit::MilliBdp(count) => ("milli_bdp", count),
        QueueLimit::Unlimited => ("unlimited", 0),
    })
}

/// Formats the limit of a queue from its unit and number.
#[pyfunction]
pub(crate) fn format_queue(unit: &str, count: i64) -> PyResult<String> {
    let limit = match (unit, u32::try_from(count)) {
        ("packets", Ok(count)) => QueueLimit::Packets(count),
        ("bytes", _) => QueueLimit::Bytes(count),
        ("milli_bdp", _) => QueueLimit::MilliBdp(count),
        ("unlimited", _) => QueueLimit::Unlimited,
        _ => {
            return Err(PyValueError::new_err(format!(
                "{count} {unit} is not a valid limit of a \
            queue"
            )));
        }
    };
    Ok(limit.to_string())
}

/// Parses a one-line link into its table.
#[pyfunction]
pub(crate) fn parse_link_line<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let table = cwndlab_texts::parse_inline(text).map_err(QuantityError::new_err)?;
    to_python(py, &table)
}

/// Returns a link's table in standard form, and the problems found.
#[pyfunction]
pub(crate) fn check_link<'py>(
    py: Python<'py>,
    written: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Refusals<'py>)> {
    let mut problems = Vec::new();
    let written = from_python(written)?;
    let link = cwndlab_texts::checked_link(&written, &Place::default(), &mut problems);
    Ok((to_python(py, &link)?, told(py, &problems)?))
}

/// Converts both directions of a checked link to the path of a scenario. Returns the path, whether
/// the reverse direction has a rate and a queue of its own, the delay to the server in
/// nanoseconds, and the problems found.
#[pyfunction]
pub(crate) fn resolve_link<'py>(
    py: Python<'py>,
    link: Option<&Bound<'py, PyAny>>,
    reverse_link: Option<&Bound<'py, PyAny>>,
    files: &Bound<'py, PyAny>,
) -> PyResult<(Option<String>, bool, u64, Refusals<'py>)> {
    let files = PythonFiles::new(files);
    let link = link.map(from_python).transpose()?;
    let reverse_link = reverse_link.map(from_python).transpose()?;
    let resolved = cwndlab_texts::resolve(link.as_ref(), reverse_link.as_ref(), &files);
    files.failure()?;
    Ok(match resolved {
        Ok(found) => {
            let path = Some(found.path.to_string());
            (path, found.has_reverse_link, found.server_ns, Vec::new())
        }
        Err(problems) => (None, false, 0, told(py, &problems)?),
    })
}

/// Returns a checked link with the keys of its preset added and its short keys expanded, each
/// number in its smallest unit with its path, and the problems found.
#[pyfunction]
pub(crate) fn expand_link<'py>(
    py: Python<'py>,
    link: &Bound<'py, PyAny>,
    files: &Bound<'py, PyAny>,
) -> PyResult<Expanded<'py>> {
    let files = PythonFiles::new(files);
    let expanded = cwndlab_texts::expand(&from_python(link)?, &files);
    files.failure()?;
    match expanded {
        Ok(link) => Ok((to_python(py, &link)?, cwndlab_texts::counts_of(&link), Vec::new())),
        Err(problems) => Ok((to_python(py, &Value::Null)?, Vec::new(), told(py, &problems)?)),
    }
}

/// Reads a preset; the tables of its links are in standard form.
#[pyfunction]
pub(crate) fn read_preset<'py>(
    py: Python<'py>,
    name: String,
    folder: String,
    text: String,
) -> PyResult<Bound<'py, PyAny>> {
    let preset = Preset::read(&PresetFile { name, folder, text }).map_err(PyValueError::new_err)?;
    to_python(py, &preset.document)
}

/// Size of the queue of a wire on a path with this round-trip time.
#[pyfunction]
pub(crate) fn queue_size<'py>(
    py: Python<'py>,
    stage_json: &str,
    rtt_ns: u64,
    server_ns: u64,
    mean_bits_per_sec: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let rate = |name: &str| mean_bits_per_sec.get_item(name).ok()??.extract().ok();
    let stage = parsed(stage_json)?;
    let Some(size) = cwndlab_texts::queue_size(&stage, rtt_ns, server_ns, &rate) else {
        return Ok(None);
    };
    let fields = PyDict::new(py);
    fields.set_item("packets", size.packets)?;
    fields.set_item("bdp", size.bdp)?;
    fields.set_item("rate_bits_per_sec", size.bits_per_sec)?;
    fields.set_item("rtt_ns", size.rtt_ns)?;
    fields.set_item("is_trace", size.is_trace)?;
    fields.set_item("is_default", size.is_default)?;
    Ok(Some(fields))
}

/// Path and text of each setting of a cell or a Wi-Fi channel that differs from its default.
#[pyfunction]
pub(crate) fn medium_figures(path_json: &str) -> PyResult<Vec<(String, String)>> {
    Ok(cwndlab_texts::figures_of(&parsed(path_json)?))
}

/// Removes from a path all values that equal their defaults.
#[pyfunction]
pub(crate) fn without_defaults<'py>(
    py: Python<'py>,
    path_json: &str,
) -> PyResult<Bound<'py, PyAny>> {
    to_python(py, &cwndlab_texts::without_defaults(&parsed(path_json)?))
}

/// The JSON Schema definitions of a link and of all its tables.
#[pyfunction]
pub(crate) fn link_definitions(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_python(py, &cwndlab_texts::link_definitions())
}

fn parsed(json: &str) -> PyResult<Value> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn told<'py>(py: Python<'py>, problems: &[Problem]) -> PyResult<Refusals<'py>> {
    let each = problems.iter().map(|problem| {
        let steps = problem.place.0.iter().map(|step| match step {
            Step::Key(key) => key.into_pyobject(py).map(Bound::into_any),
            Step::Item(position) => position.into_pyobject(py).map(Bound::into_any),
        });
        let steps: Vec<_> =
            steps.collect::<Result<_, core::convert::Infallible>>().expect("infallible");
        Ok((PyTuple::new(py, steps)?, problem.message.clone()))
    });
    each.collect()
}

/// Files that Python opens, through an object with the methods `preset(name)` and
/// `recording(...)`.
struct PythonFiles<'a, 'py> {
    object: &'a Bound<'py, PyAny>,
    failure: RefCell<Option<PyErr>>,
}

impl<'a, 'py> PythonFiles<'a, 'py> {
    fn new(object: &'a Bound<'py, PyAny>) -> Self {
        Self { object, failure: RefCell::default() }
    }

    /// Returns an error that the user cannot correct, if one occurred.
    fn failure(&self) -> PyResult<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    fn sentence<T>(&self, answer: PyResult<T>) -> Result<T, String> {
        answer.map_err(|error| {
            let sentence = error.value(self.object.py()).to_string();
            if !error.is_instance_of::<CwndlabError>(self.object.py()) {
                self.failure.replace(Some(error));
            }
            sentence
        })
    }
}

impl Files for PythonFiles<'_, '_> {
    fn preset(&self, name: &str) -> Result<PresetFile, String> {
        let answer = self.object.call_method1("preset", (name,)).and_then(|file| file.extract());
        let (name, folder, text) = self.sentence(answer)?;
        Ok(PresetFile { name, folder, text })
    }

    fn recording(&self, told: &Told, way: Way) -> Result<Recording, String> {
        let way = if way == Way::Down { "down" } else { "up" };
        let Told { path, column, unit, time_column, time_unit } = told;
        let arguments = (path, column, unit, time_column, time_unit, way);
        let answer = self.object.call_method1("recording", arguments);
        let (name, is_mahimahi, mean_bits_per_sec, is_of_folder, light) =
            self.sentence(answer.and_then(|found| found.extract()))?;
        let light: Option<(String, u64)> = light;
        let light = light.map(|(name, shortest_delay_ns)| PacketTrains { name, shortest_delay_ns });
        Ok(Recording { name, is_mahimahi, mean_bits_per_sec, is_of_folder, light })
    }

    fn packet_trains(&self, path: &str) -> Result<PacketTrains, String> {
        let answer = self.object.call_method1("packet_trains", (path,));
        let (name, shortest_delay_ns) = self.sentence(answer.and_then(|found| found.extract()))?;
        Ok(PacketTrains { name, shortest_delay_ns })
    }
}
