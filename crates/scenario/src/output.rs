//! The results of a run: a summary per flow and per stage, and optional columns.
//!
//! An undefined value (the RTT of a flow without a sample, the completion of a transfer that did
//! not end) is `None`, or `NaN` in columns; it is never 0.

use serde::Serialize;

use crate::table;

/// All results of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunOutput {
    /// One summary per flow, in the scenario's order.
    pub flows: Vec<FlowSummary>,
    /// One summary per stage of the path, forward first.
    pub links: Vec<LinkSummary>,
    /// Samples at an interval, if the scenario asks for them.
    pub samples: Option<Samples>,
    /// Events, if the scenario asks for them.
    pub events: Option<Events>,
    /// Every ACK that a data sender received, if the scenario asks for it.
    pub acks: Option<Acks>,
    /// The packets at the data senders' interfaces as a pcap file, if the scenario asks for it.
    pub pcap: Option<Vec<u8>>,
}

/// A part of a run's optional recordings, with the same columns as [`RunOutput`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Recording {
    /// Samples at an interval.
    pub samples: Option<Samples>,
    /// Events.
    pub events: Option<Events>,
    /// Every ACK that a data sender received.
    pub acks: Option<Acks>,
    /// Bytes of the capture.
    pub pcap: Option<Vec<u8>>,
}

impl Recording {
    /// Appends a later recording.
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
/// Means and rates are for the window from the warm-up's end; counts are for the flow's whole life.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
row FlowSummary {
    /// The flow's number.
    pub flow: u32,
    /// `forward` or `reverse`: which way the data ran.
    pub direction: &'static str,
    /// Which user of a shared medium it belongs to.
    pub user: u16,
    /// The data sender's algorithm.
    pub algorithm: String,
    /// The data sender's stack profile.
    pub stack: String,
    /// The receiver's algorithm.
    pub receiver_algorithm: String,
    /// The receiver's stack profile.
    pub receiver_stack: String,
    /// What produced the data.
    pub application: &'static str,
    /// When it connected.
    pub start_s: f64,
    /// When it completed, was stopped, or the run ended.
    pub end_s: f64,
    /// Length of the window; `None` if the flow ended within the warm-up.
    pub window_s: Option<f64>,
    /// Payload that the application read in the window.
    pub goodput_mbit_s: Option<f64>,
    /// Payload that the sender sent in the window, retransmissions included.
    pub throughput_mbit_s: Option<f64>,
    /// Payload that the application read, ever.
    pub delivered_bytes: u64,
    /// Mean of the RTT samples in the window, one for each ACK that allows one.
    pub rtt_mean_ms: Option<f64>,
    /// Median of the same.
    pub rtt_p50_ms: Option<f64>,
    /// 95th percentile of the same.
    pub rtt_p95_ms: Option<f64>,
    /// 99th percentile of the same.
    pub rtt_p99_ms: Option<f64>,
    /// Smallest RTT sample of the flow's life.
    pub rtt_base_ms: Option<f64>,
    /// Mean of the smoothed RTT, sampled every 10 ms in the window.
    pub srtt_mean_ms: Option<f64>,
    /// Mean RTT less the smallest.
    pub queueing_delay_mean_ms: Option<f64>,
    /// Segments with payload that the sender sent.
    pub sent_pkts: u64,
    /// How many of them were retransmissions.
    pub retransmitted_pkts: u64,
    /// Their share.
    pub retransmitted_pct: Option<f64>,
    /// Runs of retransmissions without an ACK of new data between.
    pub retransmission_bursts: u64,
    /// Their mean length.
    pub retransmission_burst_mean_pkts: Option<f64>,
    /// The longest.
    pub retransmission_burst_max_pkts: Option<u64>,
    /// Retransmission timeouts; a tail loss probe is none.
    pub timeouts: Option<u64>,
    /// Timeouts that turned out to be unnecessary.
    pub spurious_timeouts: Option<u64>,
    /// Fast recoveries entered.
    pub recoveries: Option<u64>,
    /// Tail loss probes sent.
    pub tail_loss_probes: Option<u64>,
    /// How often the sender's host had no room for a segment; `None` without a host.
    pub host_refusals: Option<u64>,
    /// Segments with payload that arrived with a congestion mark.
    pub ecn_marked_pkts: u64,
    /// Mean of the congestion window, sampled every 10 ms in the window.
    pub cwnd_mean_pkts: Option<f64>,
    /// Largest of the same samples.
    pub cwnd_max_pkts: Option<u32>,
    /// From connect to the last byte read, for a transfer with an end that was reached.
    pub completion_ms: Option<f64>,
    /// The flow's share of what its slowest stage could have carried in the window.
    pub utilisation_pct: Option<f64>,
    /// Time with data in flight or to send.
    pub busy_s: f64,
    /// Part of it in which the peer's window was the limit.
    pub rwnd_limited_s: f64,
    /// Part of it in which the send buffer was the limit.
    pub sndbuf_limited_s: f64,
    /// Responses and pages that were complete in the window; 0 of an application that asks and was
    /// not answered.
    pub responses: Option<u64>,
    /// Median time from a request to the last byte of its response, or of a page.
    pub response_p50_ms: Option<f64>,
    /// 95th percentile of the same.
    pub response_p95_ms: Option<f64>,
    /// 99th percentile of the same.
    pub response_p99_ms: Option<f64>,
    /// Geometric mean of the same.
    pub response_geometric_mean_ms: Option<f64>,
    /// Mean rate at which the video's chunks are encoded that came in the window.
    pub video_bitrate_mbit_s: Option<f64>,
    /// Share of the time since playing began in which the player had nothing to play.
    pub video_rebuffering_pct: Option<f64>,
    /// From the flow's start until its video began to play.
    pub video_startup_ms: Option<f64>,
    /// Share of the datagrams sent in the window that never arrived.
    pub datagram_loss_pct: Option<f64>,
    /// 95th percentile of the time from a datagram's sending to its arrival.
    pub datagram_delay_p95_ms: Option<f64>,
}
}

table! {
/// One stage's counts from the end of the warm-up to the end of the run.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
row LinkSummary {
    /// Direction and number, such as `forward.0`; on a shared medium behind the user,
    /// `user1.forward.0`.
    pub link: String,
    /// Packets that came in.
    pub arrived_pkts: u64,
    /// Packets that left.
    pub delivered_pkts: u64,
    /// Packets lost or discarded.
    pub dropped_pkts: u64,
    /// Packets that were given a congestion mark.
    pub marked_pkts: u64,
    /// Bytes that came in, with framing.
    pub arrived_bytes: u64,
    /// Bytes that left, with framing.
    pub delivered_bytes: u64,
    /// Bytes that the stage could have carried; `None` without a rate.
    pub offered_bytes: Option<u64>,
    /// Mean over time of the packets that wait or are in service.
    pub queue_mean_pkts: Option<f64>,
    /// The most of them at one time.
    pub queue_max_pkts: u32,
}
}

table! {
/// State of each flow at regular intervals.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
columns Samples {
    /// The flow's number.
    pub flow: Vec<u32>,
    /// Time.
    pub t_s: Vec<f64>,
    /// Congestion window.
    pub cwnd_pkts: Vec<u32>,
    /// Slow start threshold; `NaN` while infinite.
    pub ssthresh_pkts: Vec<f64>,
    /// Smoothed RTT.
    pub srtt_ms: Vec<f64>,
    /// Mean of the RTT samples since the last row.
    pub rtt_ms: Vec<f64>,
    /// Payload sent since the last row, retransmissions included.
    pub throughput_mbit_s: Vec<f64>,
    /// Payload read by the application since the last row.
    pub goodput_mbit_s: Vec<f64>,
    /// Segments in flight as the sender estimates them.
    pub inflight_pkts: Vec<u32>,
    /// Packets in all queues of the data's direction.
    pub queue_pkts: Vec<u32>,
    /// Bytes in all queues of the data's direction.
    pub queue_bytes: Vec<u64>,
    /// Packets in the sender's host; `NaN` without a host.
    pub host_queue_pkts: Vec<f64>,
    /// Pacing rate; `NaN` if the sender does not pace.
    pub pacing_rate_mbit_s: Vec<f64>,
    /// The sender's last estimate of its delivery rate.
    pub delivery_rate_mbit_s: Vec<f64>,
    /// State of the ACK state machine: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub ca_state: Vec<u8>,
}
}

table! {
/// Events at the senders and on the path.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
columns Events {
    /// The flow's number; `None` for an event of the path that concerns every flow.
    pub flow: Vec<Option<u32>>,
    /// Time.
    pub t_s: Vec<f64>,
    /// What happened.
    pub event: Vec<&'static str>,
    /// A number that belongs to it; `NaN` if there is none.
    pub value: Vec<f64>,
}
}

table! {
/// Each ACK, with the sender's state before it handles the ACK.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
columns Acks {
    /// The flow's number.
    pub flow: Vec<u32>,
    /// Time.
    pub t_s: Vec<f64>,
    /// First unacknowledged byte, counted from the first byte of data.
    pub snd_una: Vec<u64>,
    /// Next byte to send, counted likewise.
    pub snd_nxt: Vec<u64>,
    /// Congestion window.
    pub cwnd_pkts: Vec<u32>,
    /// Slow start threshold; `NaN` while infinite.
    pub ssthresh_pkts: Vec<f64>,
    /// The receive window that the peer last announced.
    pub snd_wnd_bytes: Vec<u32>,
    /// Smoothed RTT; `NaN` before the first sample.
    pub srtt_ms: Vec<f64>,
}
}
