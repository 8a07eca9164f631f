//! A run's output as dictionaries of columns.

use cwndlab_sim::{Acks, Events, FlowSummary, LinkSummary, RunOutput, Samples, Saturation};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Sets one entry of a dictionary per named field, a list over all rows.
macro_rules! lists {
    ($py:expr, $rows:expr, [$($field:ident),* $(,)?]) => {{
        let columns = PyDict::new($py);
        $(columns.set_item(
            stringify!($field),
            $rows.iter().map(|row| row.$field.clone()).collect::<Vec<_>>(),
        )?;)*
        columns
    }};
}

/// Sets one entry of a dictionary per named field, which becomes an array without a copy.
macro_rules! arrays {
    ($py:expr, $columns:expr, [$($field:ident),* $(,)?]) => {{
        let columns = PyDict::new($py);
        $(columns.set_item(stringify!($field), $columns.$field.into_pyarray($py))?;)*
        columns
    }};
}

/// Everything that a run answers.
pub(crate) fn output(py: Python<'_>, output: RunOutput) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("flows", flows(py, &output.flows)?)?;
    result.set_item("links", links(py, &output.links)?)?;
    result.set_item("samples", output.samples.map(|columns| samples(py, columns)).transpose()?)?;
    result.set_item("events", output.events.map(|columns| events(py, columns)).transpose()?)?;
    result.set_item("acks", output.acks.map(|columns| acks(py, columns)).transpose()?)?;
    result.set_item("pcap", output.pcap.map(|bytes| PyBytes::new(py, &bytes)))?;
    Ok(result)
}

fn flows<'py>(py: Python<'py>, rows: &[FlowSummary]) -> PyResult<Bound<'py, PyDict>> {
    Ok(lists!(
        py,
        rows,
        [
            flow,
            direction,
            user,
            algorithm,
            stack,
            receiver_algorithm,
            receiver_stack,
            application,
            start_s,
            end_s,
            window_s,
            goodput_mbit_s,
            throughput_mbit_s,
            delivered_bytes,
            rtt_mean_ms,
            rtt_p50_ms,
            rtt_p95_ms,
            rtt_p99_ms,
            rtt_base_ms,
            srtt_mean_ms,
            queueing_delay_mean_ms,
            sent_pkts,
            retransmitted_pkts,
            retransmitted_pct,
            retransmission_bursts,
            retransmission_burst_mean_pkts,
            retransmission_burst_max_pkts,
            timeouts,
            spurious_timeouts,
            recoveries,
            tail_loss_probes,
            host_refusals,
            ecn_marked_pkts,
            cwnd_mean_pkts,
            cwnd_max_pkts,
            completion_ms,
            utilisation_pct,
            busy_s,
            rwnd_limited_s,
            sndbuf_limited_s,
        ]
    ))
}

fn links<'py>(py: Python<'py>, rows: &[LinkSummary]) -> PyResult<Bound<'py, PyDict>> {
    Ok(lists!(
        py,
        rows,
        [
            link,
            arrived_pkts,
            delivered_pkts,
            dropped_pkts,
            marked_pkts,
            arrived_bytes,
            delivered_bytes,
            offered_bytes,
            queue_mean_pkts,
            queue_max_pkts,
        ]
    ))
}

fn samples(py: Python<'_>, columns: Samples) -> PyResult<Bound<'_, PyDict>> {
    Ok(arrays!(
        py,
        columns,
        [
            flow,
            t_s,
            cwnd_pkts,
            ssthresh_pkts,
            srtt_ms,
            rtt_ms,
            throughput_mbit_s,
            goodput_mbit_s,
            inflight_pkts,
            queue_pkts,
            queue_bytes,
            host_queue_pkts,
            pacing_rate_mbit_s,
            delivery_rate_mbit_s,
            ca_state,
        ]
    ))
}

fn acks(py: Python<'_>, columns: Acks) -> PyResult<Bound<'_, PyDict>> {
    Ok(arrays!(
        py,
        columns,
        [flow, t_s, snd_una, snd_nxt, cwnd_pkts, ssthresh_pkts, snd_wnd_bytes, srtt_ms]
    ))
}

/// What came of a saturated direction.
pub(crate) fn saturation(py: Python<'_>, columns: Saturation) -> PyResult<Bound<'_, PyDict>> {
    Ok(arrays!(py, columns, [at_ns, delay_ns, queue_pkts, queue_bytes, block_at_ns, block_sinr_db]))
}

fn events(py: Python<'_>, columns: Events) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("flow", columns.flow)?;
    result.set_item("t_s", columns.t_s.into_pyarray(py))?;
    result.set_item("event", columns.event)?;
    result.set_item("value", columns.value.into_pyarray(py))?;
    Ok(result)
}
