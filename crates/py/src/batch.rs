//! Executes many runs in one call, so that the cost of a call is shared.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cwndlab_link::Traces;
use cwndlab_scenario::{FlowSummary, LinkSummary, Recording, RunOutput, Scenario};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::array::array;
use crate::{Stop, columns, errors, loaded, read_traces};

/// Number of recorded rows at which a batch ends, so that its memory is limited.
const FULL_ROWS: usize = 1 << 16;

/// Concatenated results of the runs of a batch.
#[derive(Default)]
struct Batch {
    flows: Vec<FlowSummary>,
    links: Vec<LinkSummary>,
    recorded: Recording,
    /// For each row, the position of its run in the batch.
    owners: Owners,
    /// For each run, the reason for its failure, or `None`.
    errors: Vec<Option<String>>,
}

#[derive(Default)]
struct Owners {
    flows: Vec<u32>,
    links: Vec<u32>,
    samples: Vec<u32>,
    events: Vec<u32>,
    acks: Vec<u32>,
}

impl Batch {
    /// The position of the next run in the batch.
    fn position(&self) -> u32 {
        self.errors.len() as u32
    }

    /// Adds a run to the batch; the run's recording begins with `earlier`.
    fn add(&mut self, mut earlier: Recording, output: RunOutput) {
        let run = self.position();
        let RunOutput { flows, links, samples, events, acks, pcap } = output;
        earlier.append(Recording { samples, events, acks, pcap });
        self.flows.extend(flows);
        self.links.extend(links);
        self.recorded.append(earlier);
        let Owners { flows, links, samples, events, acks } = &mut self.owners;
        flows.resize(self.flows.len(), run);
        links.resize(self.links.len(), run);
        samples.resize(self.recorded.samples.as_ref().map_or(0, |samples| samples.t_s.len()), run);
        events.resize(self.recorded.events.as_ref().map_or(0, |events| events.t_s.len()), run);
        acks.resize(self.recorded.acks.as_ref().map_or(0, |acks| acks.t_s.len()), run);
        self.errors.push(None);
    }

    /// Whether the next run needs another batch, because this one has enough rows or contains a
    /// capture, which belongs to one run.
    fn is_full(&self) -> bool {
        let Owners { samples, events, acks, .. } = &self.owners;
        let rows = samples.len() + events.len() + acks.len();
        rows >= FULL_ROWS || self.recorded.pcap.is_some()
    }

    fn into_dictionary(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let Self { flows, links, recorded, owners, errors } = self;
        let Recording { samples, events, acks, pcap } = recorded;
        let output = RunOutput { flows, links, samples, events, acks, pcap };
        let result = columns::output(py, output)?;
        result.set_item("errors", PyList::new(py, errors)?)?;
        let Owners { flows, links, samples, events, acks } = owners;
        let owners = [
            ("flows", flows),
            ("links", links),
            ("samples", samples),
            ("events", events),
            ("acks", acks),
        ];
        for (table, owners) in owners {
            if let Some(columns) = result.get_item(table)?.filter(|columns| !columns.is_none()) {
                columns.set_item("run", array(py, &owners)?)?;
            }
        }
        Ok(result)
    }
}

/// Executes scenarios one after the other and releases the GIL meanwhile.
#[pyfunction]
#[pyo3(signature = (scenarios, traces, objects=None, *, stop=None, take=None))]
pub(crate) fn run_many<'py>(
    py: Python<'py>,
    scenarios: Vec<String>,
    traces: BTreeMap<String, Vec<u8>>,
    objects: Option<loaded::Objects>,
    stop: Option<&Bound<'py, Stop>>,
    take: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let algorithms = loaded::load(&objects.unwrap_or_default())?;
    let stop = stop.map(|stop| Arc::clone(&stop.get().0)).unwrap_or_default();
    let batch = py.detach(|| {
        let mut batch = Batch::default();
        let mut known = Traces::new();
        for text in &scenarios {
            let run = batch.position();
            let (mut earlier, mut refusal) = (Recording::default(), None);
            let mut hand_over = |part: Recording| {
                let Some(take) = &take else { return earlier.append(part) };
                if let Err(error) = Python::attach(|py| give(py, take, run, part)) {
                    refusal = Some(error);
                    stop.store(true, Ordering::Relaxed);
                }
            };
            let done = Scenario::from_json(text).map_err(errors::scenario).and_then(|scenario| {
                read_traces(&scenario, &traces, &mut known)?;
                cwndlab_sim::run_in_parts(&scenario, &known, &algorithms, &stop, &mut hand_over)
                    .map_err(errors::run)
            });
            if let Some(error) = refusal {
                return Err(error);
            }
            if stop.load(Ordering::Relaxed) {
                break;
            }
            match done {
                Ok(output) => batch.add(mem::take(&mut earlier), output),
                Err(error) => {
                    let reason = Python::attach(|py| error.value(py).to_string());
                    batch.errors.push(Some(reason));
                }
            }
            if batch.is_full() {
                break;
            }
        }
        Ok::<_, PyErr>(batch)
    })?;
    batch.into_dictionary(py)
}

/// Passes part of a recording to Python, with the position of its run in the batch.
fn give(py: Python<'_>, take: &Py<PyAny>, run: u32, part: Recording) -> PyResult<()> {
    let Recording { samples, events, acks, pcap } = part;
    let part = RunOutput { samples, events, acks, pcap, ..RunOutput::default() };
    take.call1(py, (run, columns::output(py, part)?)).map(drop)
}
