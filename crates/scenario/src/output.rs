//! The results of a run: a summary of each flow and of each stage, and optional tables.
//!
//! An undefined value is `None`, or `NaN` in columns, and never 0. Examples are the RTT of a flow
//! without a sample and the completion time of a transfer that did not end.

use serde::Serialize;

use crate::table;

/// All results of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunOutput {
    /// One summary per flow, in the order of the scenario.
    pub flows: Vec<FlowSummary>,
    /// One summary per stage of the path; stages of the forward direction come first.
    pub links: Vec<LinkSummary>,
    /// Samples at regular intervals, if the scenario requests them.
    pub samples: Option<Samples>,
    /// Events, if the scenario requests them.
    pub events: Option<Events>,
    /// Every ACK that a data sender received, if the scenario requests this table.
    pub acks: Option<Acks>,
    /// The packets at the data senders' interfaces as a pcap file, if the scenario requests a
    /// capture.
    pub pcap: Option<Vec<u8>>,
}

/// Part of the optional tables of a run, with the same columns as [`RunOutput`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Recording {
    /// Samples at regular intervals.
    pub samples: Option<Samples>,
    /// Events.
    pub events: Option<Events>,
    /// Every ACK that a data sender received.
    pub acks: Option<Acks>,
    /// Bytes of the pcap file.
    pub pcap: Option<Vec<u8>>,
}

impl Recording {
    /// Appends a recording of later times.
    pub fn append(&mut self, later: Self) {
        append(&mut self.samples, later.samples, Samples::append);
        append(&mut self.events, later.events, Events::append);
        append(&mut self.acks, later.acks, Acks::append);
        append(&mut self.pcap, later.pcap, |bytes, later| bytes.extend(later));
    }
}

fn append<T>(own: &mut Option<T>, later: Option<T>, join: impl FnOnce(&mut T, T)) {
    match (own, later) {
        (Some(own), Some(later)) => join(own, later),
        (own, later) => *own = own.take().or(later),
    }
}

table! {
/// One flow's results.
///
/// Means and rates cover the window, which starts at the end of the warm-up. Counts cover the
/// whole life of the flow.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
row FlowSummary {
    /// Number of the flow.
    pub flow: u32,
    /// Direction of the data: `forward` or `reverse`.
    pub direction: &'static str,
    /// Number of the flow's user on a shared medium.
    pub user: u16,
    /// Congestion control algorithm of the data sender.
    pub algorithm: String,
    /// Stack profile of the data sender.
    pub stack: String,
    /// Congestion control algorithm of the receiver.
    pub receiver_algorithm: String,
    /// Stack profile of the receiver.
    pub receiver_stack: String,
    /// Application that produced the data.
    pub application: &'static str,
    /// Time at which the flow opened its connection.
    pub start_s: f64,
    /// Time at which the flow completed or was stopped, or at which the run ended.
    pub end_s: f64,
    /// Length of the measurement window; `None` if the flow ended within the warm-up.
    pub window_s: Option<f64>,
    /// Rate at which the application read payload in the window.
    pub goodput_mbit_s: Option<f64>,
    /// Rate at which the sender sent payload in the window, including retransmissions.
    pub throughput_mbit_s: Option<f64>,
    /// Payload that the application read during the whole life of the flow.
    pub delivered_bytes: u64,
    /// Mean of the RTT samples in the window; each ACK that allows a sample gives one.
    pub rtt_mean_ms: Option<f64>,
    /// Median of the RTT samples in the window.
    pub rtt_p50_ms: Option<f64>,
    /// 95th percentile of the RTT samples in the window.
    pub rtt_p95_ms: Option<f64>,
    /// 99th percentile of the RTT samples in the window.
    pub rtt_p99_ms: Option<f64>,
    /// Smallest RTT sample of the whole life of the flow.
    pub rtt_base_ms: Option<f64>,
    /// Mean of the smoothed RTT, sampled every 10 ms in the window.
    pub srtt_mean_ms: Option<f64>,
    /// Mean RTT minus the smallest RTT (`rtt_base_ms`).
    pub queueing_delay_mean_ms: Option<f64>,
    /// Segments with payload that the sender sent.
    pub sent_pkts: u64,
    /// Retransmitted segments with payload.
    pub retransmitted_pkts: u64,
    /// Share of `retransmitted_pkts` in `sent_pkts`.
    pub retransmitted_pct: Option<f64>,
    /// Number of bursts; a burst consists of retransmissions without an ACK of new data between
    /// them.
    pub retransmission_bursts: u64,
    /// Mean length of the bursts of retransmissions.
    pub retransmission_burst_mean_pkts: Option<f64>,
    /// Length of the longest burst of retransmissions.
    pub retransmission_burst_max_pkts: Option<u64>,
    /// Retransmission timeouts, not including tail loss probes.
    pub timeouts: Option<u64>,
    /// Timeouts that were found to be spurious.
    pub spurious_timeouts: Option<u64>,
    /// Fast recoveries entered.
    pub recoveries: Option<u64>,
    /// Tail loss probes sent.
    pub tail_loss_probes: Option<u64>,
    /// Times that the queue of the sender's host had no room for a segment; `None` without a host.
    pub host_refusals: Option<u64>,
    /// Segments with payload that arrived with a congestion mark.
    pub ecn_marked_pkts: u64,
    /// Mean of the congestion window, sampled every 10 ms in the window.
    pub cwnd_mean_pkts: Option<f64>,
    /// Largest of the congestion window's samples in the window.
    pub cwnd_max_pkts: Option<u32>,
    /// Time from opening the connection to reading the last byte; `None` unless a transfer of
    /// limited size was completed.
    pub completion_ms: Option<f64>,
    /// Delivered data as a share of what the flow's slowest stage could have carried in the window.
    pub utilisation_pct: Option<f64>,
    /// Time during which data were in flight or waiting to be sent.
    pub busy_s: f64,
    /// Part of `busy_s` during which the peer's receive window limited the sender.
    pub rwnd_limited_s: f64,
    /// Part of `busy_s` during which the send buffer limited the sender.
    pub sndbuf_limited_s: f64,
    /// Responses or pages completed in the window; 0 if an application sent requests but received
    /// no complete response.
    pub responses: Option<u64>,
    /// Median of the times from a request to the last byte of its response, or of its page.
    pub response_p50_ms: Option<f64>,
    /// 95th percentile of the times from a request to the last byte of its response.
    pub response_p95_ms: Option<f64>,
    /// 99th percentile of the times from a request to the last byte of its response.
    pub response_p99_ms: Option<f64>,
    /// Geometric mean of the times from a request to the last byte of its response.
    pub response_geometric_mean_ms: Option<f64>,
    /// Mean encoding rate of the video chunks that arrived in the window.
    pub video_bitrate_mbit_s: Option<f64>,
    /// Share of the time since the start of playback during which the video stalled.
    pub video_rebuffering_pct: Option<f64>,
    /// Time from the start of the flow to the start of playback.
    pub video_startup_ms: Option<f64>,
    /// Share of the datagrams sent in the window that were lost.
    pub datagram_loss_pct: Option<f64>,
    /// 95th percentile of the one-way delay of the datagrams.
    pub datagram_delay_p95_ms: Option<f64>,
}
}

table! {
/// One stage's counts from the end of the warm-up to the end of the run.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
row LinkSummary {
    /// Direction and number of the stage, such as `forward.0`; on a shared medium, preceded by the
    /// user, as in `user1.forward.0`.
    pub link: String,
    /// Packets that arrived at the stage.
    pub arrived_pkts: u64,
    /// Packets that left the stage at its far end.
    pub delivered_pkts: u64,
    /// Packets that were lost or dropped.
    pub dropped_pkts: u64,
    /// Packets that the stage marked with ECN's CE codepoint.
    pub marked_pkts: u64,
    /// Bytes that arrived at the stage, including framing.
    pub arrived_bytes: u64,
    /// Bytes that left the stage at its far end, including framing.
    pub delivered_bytes: u64,
    /// Bytes that the stage could have carried; `None` if it has no rate.
    pub offered_bytes: Option<u64>,
    /// Mean over time of the packets waiting or in service.
    pub queue_mean_pkts: Option<f64>,
    /// Largest number of packets waiting or in service.
    pub queue_max_pkts: u32,
}
}

table! {
/// State of each flow at regular intervals.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
columns Samples {
    /// Number of the flow.
    pub flow: Vec<u32>,
    /// Time since the start of the run.
    pub t_s: Vec<f64>,
    /// Congestion window.
    pub cwnd_pkts: Vec<u32>,
    /// Slow start threshold; `NaN` while infinite.
    pub ssthresh_pkts: Vec<f64>,
    /// Smoothed RTT.
    pub srtt_ms: Vec<f64>,
    /// Mean of the RTT samples since the last row.
    pub rtt_ms: Vec<f64>,
    /// Rate at which payload was sent since the last row, including retransmissions.
    pub throughput_mbit_s: Vec<f64>,
    /// Rate at which the application read payload since the last row.
    pub goodput_mbit_s: Vec<f64>,
    /// Segments in flight, as the sender estimates them.
    pub inflight_pkts: Vec<u32>,
    /// Packets in all queues of the data's direction.
    pub queue_pkts: Vec<u32>,
    /// Bytes in all queues of the data's direction.
    pub queue_bytes: Vec<u64>,
    /// Packets in the queue of the sender's host; `NaN` without a host.
    pub host_queue_pkts: Vec<f64>,
    /// Pacing rate; `NaN` if the sender does not pace.
    pub pacing_rate_mbit_s: Vec<f64>,
    /// Latest delivery rate that the sender estimated.
    pub delivery_rate_mbit_s: Vec<f64>,
    /// State of the ACK state machine: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub ca_state: Vec<u8>,
}
}

table! {
/// Events at the senders and on the path.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
columns Events {
    /// Number of the flow; `None` for an event of the path that concerns every flow.
    pub flow: Vec<Option<u32>>,
    /// Time since the start of the run.
    pub t_s: Vec<f64>,
    /// Name of the event.
    pub event: Vec<&'static str>,
    /// Number that belongs to the event; `NaN` if it has none.
    pub value: Vec<f64>,
}
}

table! {
/// Each ACK, with the sender's state before it handles the ACK.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
columns Acks {
    /// Number of the flow.
    pub flow: Vec<u32>,
    /// Time since the start of the run.
    pub t_s: Vec<f64>,
    /// First unacknowledged byte, counted from the first byte of data.
    pub snd_una: Vec<u64>,
    /// Next byte to send, counted from the first byte of data.
    pub snd_nxt: Vec<u64>,
    /// Congestion window.
    pub cwnd_pkts: Vec<u32>,
    /// Slow start threshold; `NaN` while infinite.
    pub ssthresh_pkts: Vec<f64>,
    /// Receive window that the peer announced last.
    pub snd_wnd_bytes: Vec<u32>,
    /// Smoothed RTT; `NaN` before the first sample.
    pub srtt_ms: Vec<f64>,
}
}
