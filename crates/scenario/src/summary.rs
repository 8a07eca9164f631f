//! Converts the totals of a run to the rows and units of its results.

use cwndlab_link::{
    Counters, Direction, OpportunityTrace, PathConfig, PathStage, RateConfig, StageConfig,
};
use cwndlab_units::{Duration, Time};

use crate::application::{ApplicationConfig, Outcome};
use crate::output::{FlowSummary, LinkSummary};
use crate::record::{FlowRecord, ratio};
use crate::scenario::FlowConfig;

/// A flow at the end of its run.
#[derive(Clone, Copy, Debug)]
pub struct FinishedFlow<'a> {
    /// The flow's configuration.
    pub config: &'a FlowConfig,
    /// Names of the stack profiles of the sender and of the receiver.
    pub stacks: [&'a str; 2],
    /// Port of the flow's user on a shared medium.
    pub user: u16,
    /// The flow's measurements.
    pub record: &'a FlowRecord,
    /// Counts that the flow's sender provides.
    pub counts: SenderCounts,
    /// Time at which the receiver had read the last byte.
    pub completed: Option<Time>,
    /// The application's results from its user's point of view.
    pub outcome: Outcome,
}

/// Counts of a flow's sender; `None` for counts that the sender does not provide.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderCounts {
    /// Retransmission timeouts.
    pub timeouts: Option<u64>,
    /// Number of timeouts that were undone as spurious.
    pub spurious_timeouts: Option<u64>,
    /// Entries into fast recovery.
    pub recoveries: Option<u64>,
    /// Tail loss probes sent.
    pub tail_loss_probes: Option<u64>,
    /// Number of times that the sender's host had no room for a segment.
    pub host_refusals: Option<u64>,
    /// Time with data in flight or waiting to be sent.
    pub busy: Duration,
    /// Part of `busy` in which the peer's receive window limited the sender.
    pub rwnd_limited: Duration,
    /// Part of `busy` in which the send buffer limited the sender.
    pub sndbuf_limited: Duration,
}

/// Summarizes one flow.
pub fn flow_summary(flow: &FinishedFlow<'_>, path: &PathConfig) -> FlowSummary {
    let FinishedFlow { config, record, counts, outcome, .. } = *flow;
    let is_tcp = !matches!(config.application, ApplicationConfig::Datagrams { .. });
    let of_tcp = |name: &str| if is_tcp { name } else { NO_TCP }.to_owned();
    let window = record.window();
    let ms = |us: f64| us / 1e3;
    let bursts = &record.retransmissions.bursts;
    let rtt_mean_us = record.rtt_us.mean();
    let percentile_ms = |percent: f64| record.rtt_us.percentile(percent).map(ms);
    let base_us = record.rtt_base_us().map(f64::from);
    let in_window = record.in_window();
    FlowSummary {
        flow: config.id,
        direction: config.direction.name(),
        user: flow.user,
        algorithm: of_tcp(&config.sender.algorithm),
        stack: of_tcp(flow.stacks[0]),
        receiver_algorithm: of_tcp(&config.receiver.algorithm),
        receiver_stack: of_tcp(flow.stacks[1]),
        application: config.application.name(),
        start_s: config.start.as_secs_f64(),
        end_s: record.window_end.as_secs_f64(),
        window_s: window.map(Duration::as_secs_f64),
        goodput_mbit_s: window.map(|window| mbit_s(in_window.delivered_bytes, window)),
        throughput_mbit_s: window.map(|window| mbit_s(in_window.sent_bytes, window)),
        delivered_bytes: record.totals.delivered_bytes,
        rtt_mean_ms: rtt_mean_us.map(ms),
        rtt_p50_ms: percentile_ms(50.0),
        rtt_p95_ms: percentile_ms(95.0),
        rtt_p99_ms: percentile_ms(99.0),
        rtt_base_ms: base_us.map(ms),
        srtt_mean_ms: record.srtt_mean_ms(),
        queueing_delay_mean_ms: rtt_mean_us.zip(base_us).map(|(mean, base)| ms(mean - base)),
        sent_pkts: record.retransmissions.sent_pkts,
        retransmitted_pkts: bursts.resent_pkts,
        retransmitted_pct: ratio(
            100.0 * bursts.resent_pkts as f64,
            record.retransmissions.sent_pkts,
        ),
        retransmission_bursts: bursts.bursts,
        retransmission_burst_mean_pkts: ratio(bursts.resent_pkts as f64, bursts.bursts),
        retransmission_burst_max_pkts: (bursts.bursts > 0).then_some(bursts.longest_pkts),
        timeouts: counts.timeouts,
        spurious_timeouts: counts.spurious_timeouts,
        recoveries: counts.recoveries,
        tail_loss_probes: counts.tail_loss_probes,
        host_refusals: counts.host_refusals,
        ecn_marked_pkts: record.marked_pkts,
        cwnd_mean_pkts: record.cwnd.mean_pkts(),
        cwnd_max_pkts: record.cwnd.max_pkts(),
        completion_ms: flow.completed.map(|at| (at - config.start).as_millis_f64()),
        utilisation_pct: utilisation_pct(flow, path),
        busy_s: counts.busy.as_secs_f64(),
        rwnd_limited_s: counts.rwnd_limited.as_secs_f64(),
        sndbuf_limited_s: counts.sndbuf_limited.as_secs_f64(),
        responses: outcome.responses,
        response_p50_ms: outcome.response_p50_ms,
        response_p95_ms: outcome.response_p95_ms,
        response_p99_ms: outcome.response_p99_ms,
        response_geometric_mean_ms: outcome.response_geometric_mean_ms,
        video_bitrate_mbit_s: outcome.video_bitrate_mbit_s,
        video_rebuffering_pct: outcome.video_rebuffering_pct,
        video_startup_ms: outcome.video_startup_ms,
        datagram_loss_pct: outcome.datagram_loss_pct,
        datagram_delay_p95_ms: outcome.datagram_delay_p95_ms,
    }
}

/// Algorithm and stack in the results of a datagram flow, which has no congestion control.
const NO_TCP: &str = "none";

/// Bytes that the flow delivered as a share of the bytes that its slowest stage could have carried
/// in the measurement window.
fn utilisation_pct(flow: &FinishedFlow<'_>, path: &PathConfig) -> Option<f64> {
    let record = flow.record;
    record.window()?;
    let starts = record.offered_at_start.as_ref()?;
    let ends = record.offered_at_end.as_ref()?;
    let (offered_bytes, stage) = starts
        .iter()
        .zip(ends)
        .enumerate()
        .filter_map(|(n, (start, end))| Some((end.as_ref()?.0 - start.as_ref()?.0, n)))
        .min_by_key(|&(bytes, _)| bytes)?;
    // A shared medium reports no capacity for one flow, so this stage is a wire.
    let stages = path.stages(flow.config.direction);
    let framing_bytes = stages.get(stage).and_then(|stage| stage.config()).map_or(0, framing_bytes);
    let framing_bytes = u64::from(framing_bytes);
    let in_window = record.in_window();
    let carried = in_window.arrived_bytes + framing_bytes * in_window.arrived_pkts;
    ratio(100.0 * carried as f64, offered_bytes)
}

/// Bytes of framing that a stage adds to each packet.
fn framing_bytes(stage: &StageConfig) -> u32 {
    stage.framing_bytes.unwrap_or(match stage.rate {
        RateConfig::Mahimahi { .. } => OpportunityTrace::FRAMING_BYTES,
        _ => 0,
    })
}

/// The counts of every stage that packets pass, for each user and direction.
///
/// A wire that all users of a medium share appears once, as `forward.0`; a medium appears for each
/// user, as `user2.forward.1`.
pub fn link_summaries(
    path: &PathConfig,
    mut counters_of: impl FnMut(Direction, u16) -> Vec<Counters>,
) -> Vec<LinkSummary> {
    let mut summaries = Vec::new();
    for user in 1..=path.users().unwrap_or(1) {
        for direction in Direction::BOTH {
            let name = direction.name();
            let counters = counters_of(direction, user);
            for ((n, counters), stage) in
                counters.into_iter().enumerate().zip(path.stages(direction))
            {
                let name = match stage {
                    PathStage::Wire(_) if user > 1 => continue,
                    PathStage::Wire(_) => format!("{name}.{n}"),
                    PathStage::Medium => format!("user{user}.{name}.{n}"),
                };
                summaries.push(summary(name, counters));
            }
        }
    }
    summaries
}

/// Summarizes one stage.
fn summary(link: String, counters: Counters) -> LinkSummary {
    LinkSummary {
        link,
        arrived_pkts: counters.arrived.packets,
        delivered_pkts: counters.delivered.packets,
        dropped_pkts: counters.dropped.packets,
        marked_pkts: counters.marked.packets,
        arrived_bytes: counters.arrived.bytes,
        delivered_bytes: counters.delivered.bytes,
        offered_bytes: counters.offered.map(|bytes| bytes.0),
        queue_mean_pkts: counters.queue_mean_packets,
        queue_max_pkts: counters.queue_max_packets,
    }
}

fn mbit_s(bytes: u64, window: Duration) -> f64 {
    bytes as f64 * 8e3 / window.as_nanos() as f64
}
