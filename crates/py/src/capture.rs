//! Converts the flows of a capture to dictionaries, with integer nanoseconds, microseconds and
//! bytes.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use cwndlab_capture::{AnalysisConfig, CaptureError, Flow, analyse};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::array;

/// Analyses a pcap or pcapng file and releases the GIL meanwhile.
#[pyfunction]
#[pyo3(signature = (path, *, warm_up_ns=0, sample_interval_ns=100_000_000))]
pub(crate) fn analyse_capture<'py>(
    py: Python<'py>,
    path: PathBuf,
    warm_up_ns: u64,
    sample_interval_ns: u64,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let config = AnalysisConfig { warm_up_ns, sample_interval_ns, ..AnalysisConfig::default() };
    let flows = py.detach(|| {
        let file = File::open(path)?;
        analyse(BufReader::with_capacity(1 << 20, file), config).map_err(|error| match error {
            CaptureError::Read(error) => error.into(),
            other => PyValueError::new_err(other.to_string()),
        })
    })?;
    flows.into_iter().map(|flow| as_dict(py, flow)).collect()
}

/// Sets a dictionary entry for each of the named fields.
macro_rules! set {
    ($to:expr, $from:expr, [$($field:ident),* $(,)?]) => {
        $($to.set_item(stringify!($field), $from.$field)?;)*
    };
}

/// Creates a dictionary of columns: for each named field, a list of its values in all rows.
macro_rules! columns {
    ($py:expr, $rows:expr, [$($field:ident),* $(,)?]) => {{
        let columns = PyDict::new($py);
        $(columns.set_item(
            stringify!($field),
            $rows.iter().map(|row| row.$field).collect::<Vec<_>>(),
        )?;)*
        columns
    }};
}

fn as_dict(py: Python<'_>, flow: Flow) -> PyResult<Bound<'_, PyDict>> {
    let row = PyDict::new(py);
    set!(
        row,
        flow,
        [
            connection,
            is_sender_client,
            begin_ns,
            mss_bytes,
            lifetime_ns,
            window_ns,
            delivered_bytes,
            window_delivered_bytes,
            window_sent_bytes,
            rtt_base_us,
            sent_pkts,
            retransmitted_pkts,
            bursts,
            longest_burst_pkts,
            timeouts,
            ecn_marked_pkts,
            completion_ns,
        ]
    );
    row.set_item("sender", (flow.sender.address.to_string(), flow.sender.port))?;
    row.set_item("receiver", (flow.receiver.address.to_string(), flow.receiver.port))?;
    row.set_item("vantage", flow.vantage.name())?;
    row.set_item(
        "samples",
        columns!(
            py,
            flow.samples,
            [at_ns, delivered_bytes, sent_bytes, rtt_us, srtt_us, inflight_bytes]
        ),
    )?;
    row.set_item("events", columns!(py, flow.events, [at_ns, event, value]))?;
    row.set_item("rtts_us", array(py, &flow.rtts_us)?)?;
    Ok(row)
}
