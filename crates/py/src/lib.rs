//! The Python module `cwndlab._core`, which only converts arguments and results.
//!
//! The input is JSON and bytes, the output is columns; this crate makes no decisions.
//! `python/cwndlab/_core.pyi` documents the Python interface.

mod array;
mod batch;
mod capture;
mod columns;
mod documents;
mod errors;
mod judge;
mod listing;
mod loaded;
mod sandbox;
mod texts;
mod traces;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cwndlab_cc::Algorithms;
use cwndlab_link::{Direction, Traces};
use cwndlab_scenario::Scenario;
use cwndlab_sim::BEHAVIOUR_EPOCH;
use cwndlab_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::batch::run_many;
    #[pymodule_export]
    use super::capture::analyse_capture;
    #[pymodule_export]
    use super::columns::columns;
    #[pymodule_export]
    use super::judge::{choose_set, logarithms, relative_change, robustness};
    #[pymodule_export]
    use super::listing::{algorithms, stacks};
    #[pymodule_export]
    use super::loaded::{call_layout, check_object, contract_files, describe_object};
    #[pymodule_export]
    use super::sandbox::{confine_worker, protections, run_compiler};
    #[pymodule_export]
    use super::texts::{
        check_link, expand_link, format_quantity, format_queue, link_definitions, medium_figures,
        parse_link_line, parse_quantity, parse_queue, queue_size, read_preset, resolve_link,
        without_defaults,
    };
    #[pymodule_export]
    use super::traces::{read_packet_trains, read_trace, read_trace_folder};
    #[pymodule_export]
    use super::{Stop, check_scenario, drawn_ns, probe, run, run_seed, saturate};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("version", env!("CARGO_PKG_VERSION"))?;
        module.add("behaviour_epoch", cwndlab_sim::BEHAVIOUR_EPOCH)
    }
}

/// A flag that cancels runs; any thread can set it.
#[pyclass(frozen, module = "cwndlab._core")]
struct Stop(Arc<AtomicBool>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Executes a scenario and releases the GIL meanwhile.
///
/// If `objects` names algorithms compiled at run time, the process must be used only for this run,
/// because a fault in one of them ends the process.
#[pyfunction]
#[pyo3(signature = (scenario_json, traces, objects=None, *, record_calls=false, stop=None))]
fn run<'py>(
    py: Python<'py>,
    scenario_json: &str,
    traces: BTreeMap<String, Vec<u8>>,
    objects: Option<loaded::Objects>,
    record_calls: bool,
    stop: Option<&Bound<'py, Stop>>,
) -> PyResult<Bound<'py, PyDict>> {
    let algorithms = loaded::load(&objects.unwrap_or_default())?;
    let stop = stop.map(|stop| Arc::clone(&stop.get().0)).unwrap_or_default();
    let output = py.detach(|| {
        let scenario = Scenario::from_json(scenario_json).map_err(errors::scenario)?;
        let mut known = Traces::new();
        read_traces(&scenario, &traces, &mut known)?;
        if record_calls {
            cwndlab_cc::record_calls();
        }
        cwndlab_sim::run_unless_stopped(&scenario, &known, &algorithms, &stop).map_err(errors::run)
    })?;
    let result = columns::output(py, output)?;
    if record_calls {
        result.set_item("calls", PyBytes::new(py, &cwndlab_cc::recorded_calls()))?;
    }
    result.set_item("behaviour_epoch", BEHAVIOUR_EPOCH)?;
    Ok(result)
}

/// Checks a scenario and returns its canonical form; if the traces are given, also checks that the
/// scenario can be executed.
#[pyfunction]
#[pyo3(signature = (scenario_json, traces=None))]
fn check_scenario(
    scenario_json: &str,
    traces: Option<BTreeMap<String, Vec<u8>>>,
) -> PyResult<String> {
    let scenario = Scenario::from_json(scenario_json).map_err(errors::scenario)?;
    if let Some(traces) = traces {
        let mut known = Traces::new();
        read_traces(&scenario, &traces, &mut known)?;
        cwndlab_sim::check(&scenario, &known, &Algorithms::default()).map_err(errors::run)?;
    }
    Ok(scenario.to_json())
}

/// The seed of one repetition of a cell.
#[pyfunction]
fn run_seed(cell_json: Option<&str>, repetition: u64, study_seed: u64) -> u64 {
    cwndlab_scenario::run_seed(cell_json, repetition, study_seed)
}

/// A random number of nanoseconds that belongs to a name in a run.
#[pyfunction]
fn drawn_ns(seed: u64, name: &str, most_ns: u64) -> u64 {
    cwndlab_scenario::drawn_ns(seed, name, most_ns)
}

/// Measures a path with a source that always has data to send, and releases the GIL meanwhile.
#[pyfunction]
fn saturate<'py>(
    py: Python<'py>,
    scenario_json: &str,
    traces: BTreeMap<String, Vec<u8>>,
    direction: &str,
    user: u16,
) -> PyResult<Bound<'py, PyDict>> {
    let direction = direction_of(direction)?;
    let saturation = py.detach(|| {
        let scenario = Scenario::from_json(scenario_json).map_err(errors::scenario)?;
        let mut known = Traces::new();
        read_traces(&scenario, &traces, &mut known)?;
        let Scenario { path, seed, duration, .. } = &scenario;
        cwndlab_sim::saturate(path, &known, *seed, direction, user, *duration)
            .map_err(errors::scenario)
    })?;
    columns::saturation(py, saturation)
}

/// Measures the delays of packets, given as send times in ns and sizes in bytes, and releases the
/// GIL meanwhile.
#[pyfunction]
fn probe(
    py: Python<'_>,
    scenario_json: &str,
    traces: BTreeMap<String, Vec<u8>>,
    direction: &str,
    user: u16,
    sent: Vec<(u64, u32)>,
) -> PyResult<Vec<Option<u64>>> {
    let direction = direction_of(direction)?;
    py.detach(|| {
        let scenario = Scenario::from_json(scenario_json).map_err(errors::scenario)?;
        let mut known = Traces::new();
        read_traces(&scenario, &traces, &mut known)?;
        let sent: Vec<(Time, u32)> =
            sent.into_iter().map(|(at_ns, bytes)| (Time::from_nanos(at_ns), bytes)).collect();
        let delays =
            cwndlab_sim::probe(&scenario.path, &known, scenario.seed, direction, user, &sent);
        let delays = delays.map_err(errors::scenario)?;
        Ok(delays.into_iter().map(|delay| Some(delay?.as_nanos())).collect())
    })
}

fn direction_of(name: &str) -> PyResult<Direction> {
    match name {
        "forward" => Ok(Direction::Forward),
        "reverse" => Ok(Direction::Reverse),
        _ => Err(PyValueError::new_err("direction must be forward or reverse")),
    }
}

/// Adds the traces that a scenario names to the traces that were already read.
fn read_traces(
    scenario: &Scenario,
    contents: &BTreeMap<String, Vec<u8>>,
    traces: &mut Traces,
) -> PyResult<()> {
    let read = scenario.path.read_traces(contents, traces);
    read.map_err(|(name, error)| errors::trace(&name, &error))
}
