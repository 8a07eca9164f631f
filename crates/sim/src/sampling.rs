//! A row of samples of a flow's state.

use cwndlab_link::Backlog;
use cwndlab_scenario::Samples;
use cwndlab_units::{Duration, Time};

use crate::flow::Flow;
use crate::recorder::{nan_if_none, nan_if_zero};

/// Adds a row of samples of the flow's state.
pub(crate) fn push_sample(
    samples: &mut Samples,
    now: Time,
    interval: Duration,
    flow: &mut Flow,
    queue: Backlog,
    host_queue: Option<u32>,
) {
    let info = flow.sender.info();
    let since = flow.record.end_interval();
    let mbit_s = |bytes: u64| bytes as f64 * 8e3 / interval.as_nanos() as f64;
    samples.flow.push(flow.id);
    samples.t_s.push(now.as_secs_f64());
    samples.cwnd_pkts.push(info.cwnd_pkts);
    samples.ssthresh_pkts.push(nan_if_none(info.ssthresh_pkts.map(f64::from)));
    samples.srtt_ms.push(nan_if_zero(f64::from(info.srtt_us) / 1e3));
    samples.rtt_ms.push(nan_if_none(since.rtt_ms));
    samples.throughput_mbit_s.push(mbit_s(since.sent_bytes));
    samples.goodput_mbit_s.push(mbit_s(since.delivered_bytes));
    samples.inflight_pkts.push(info.in_flight_pkts);
    samples.queue_pkts.push(queue.packets);
    samples.queue_bytes.push(queue.bytes);
    samples.host_queue_pkts.push(nan_if_none(host_queue.map(f64::from)));
    samples.pacing_rate_mbit_s.push(nan_if_none(info.pacing_rate.map(|r| r.as_mbit_per_sec_f64())));
    samples
        .delivery_rate_mbit_s
        .push(nan_if_none(info.delivery_rate.map(|r| r.as_mbit_per_sec_f64())));
    samples.ca_state.push(info.ca_state as u8);
}
