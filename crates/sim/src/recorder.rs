//! The tables that a scenario can request: samples, events, ACKs and packets.

use std::mem;

use cwndlab_link::LinkEvent;
use cwndlab_packet::Segment;
use cwndlab_scenario::{Acks, Events, RecordConfig, Recording, Samples};
use cwndlab_tcp::{Endpoint, TcpEvent, Train};
use cwndlab_units::Time;

use crate::pcap::Capture;

/// Maximum number of rows, or bytes of a capture, before the recorded data are passed on and the
/// run continues. The limit is some megabytes, so that a long run needs no more memory than a
/// short run.
const FULL_ROWS: usize = 1 << 16;
/// Maximum bytes of a capture before the recorded data are passed on.
const FULL_CAPTURE_BYTES: usize = 4 << 20;

/// All recorded data of a run except the totals of the flows.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// Tables that the scenario requests, if any.
    pub(crate) on_demand: Option<Box<OnDemand>>,
}

/// Tables that are recorded only on request, because they cost time and memory.
#[derive(Debug)]
pub(crate) struct OnDemand {
    /// The flows' numbers.
    ids: Vec<u32>,
    pub(crate) samples: Option<Samples>,
    pub(crate) events: Option<Events>,
    pub(crate) acks: Option<Acks>,
    pub(crate) pcap: Option<Capture>,
}

impl Recorder {
    pub(crate) fn new(config: &RecordConfig, ids: Vec<u32>) -> Self {
        let samples = config.sample_interval.is_some();
        let pcap = config.pcap.is_some();
        let is_asked = samples || config.events || config.ack_trace || pcap;
        let on_demand = is_asked.then(|| {
            Box::new(OnDemand {
                ids,
                samples: samples.then(Samples::default),
                events: config.events.then(Events::default),
                acks: config.ack_trace.then(Acks::default),
                pcap: pcap.then(Capture::default),
            })
        });
        Self { on_demand }
    }

    /// Whether enough data have been recorded to be passed on.
    pub(crate) fn is_full(&self) -> bool {
        self.on_demand.as_ref().is_some_and(|recorded| recorded.is_full())
    }

    /// Removes and returns the data recorded since the last call.
    pub(crate) fn take(&mut self) -> Recording {
        let Some(recorded) = &mut self.on_demand else { return Recording::default() };
        Recording {
            samples: recorded.samples.as_mut().map(mem::take),
            events: recorded.events.as_mut().map(mem::take),
            acks: recorded.acks.as_mut().map(mem::take),
            pcap: recorded.pcap.as_mut().map(Capture::take),
        }
    }
}

impl OnDemand {
    fn is_full(&self) -> bool {
        let rows = self.samples.as_ref().map_or(0, |samples| samples.t_s.len())
            + self.events.as_ref().map_or(0, |events| events.t_s.len())
            + self.acks.as_ref().map_or(0, |acks| acks.t_s.len());
        let capture_bytes = self.pcap.as_ref().map_or(0, Capture::bytes);
        rows >= FULL_ROWS || capture_bytes >= FULL_CAPTURE_BYTES
    }

    /// Records a segment that arrives at the data sender, before the sender handles it.
    #[inline(never)]
    pub(crate) fn handle_arrival_at_sender(
        &mut self,
        index: usize,
        now: Time,
        segment: &Segment,
        sender: &Endpoint,
    ) {
        if let Some(pcap) = &mut self.pcap {
            pcap.push(now, segment, false);
        }
        let Some(acks) = self.acks.as_mut().filter(|_| sender.is_established()) else { return };
        let info = sender.info();
        acks.flow.push(self.ids[index]);
        acks.t_s.push(now.as_secs_f64());
        acks.snd_una.push(info.snd_una_bytes);
        acks.snd_nxt.push(info.snd_nxt_bytes);
        acks.cwnd_pkts.push(info.cwnd_pkts);
        acks.ssthresh_pkts.push(nan_if_none(info.ssthresh_pkts.map(f64::from)));
        acks.snd_wnd_bytes.push(info.snd_wnd_bytes);
        acks.srtt_ms.push(nan_if_zero(f64::from(info.srtt_us) / 1e3));
    }

    /// Records segments that the data sender sent.
    #[inline(never)]
    pub(crate) fn handle_departure_from_sender(&mut self, now: Time, train: &Train) {
        if let Some(pcap) = &mut self.pcap {
            for segment in train.segments() {
                pcap.push(now, &segment, true);
            }
        }
    }

    #[inline(never)]
    pub(crate) fn handle_tcp_event(&mut self, index: usize, at: Time, event: &TcpEvent) {
        self.push_event(Some(index), at, event.name(), event.value().map(|value| value as f64));
    }

    #[inline(never)]
    pub(crate) fn handle_link_event(&mut self, at: Time, event: &LinkEvent) {
        let flow = event.kind.flow().map(|index| index as usize);
        let value = event.kind.value().map(|value| value as f64);
        self.push_event(flow, at, event.kind.name(), value);
    }

    fn push_event(
        &mut self,
        flow: Option<usize>,
        at: Time,
        name: &'static str,
        value: Option<f64>,
    ) {
        let Some(events) = &mut self.events else { return };
        events.flow.push(flow.map(|index| self.ids[index]));
        events.t_s.push(at.as_secs_f64());
        events.event.push(name);
        events.value.push(nan_if_none(value));
    }
}

/// Converts a value to a number in a column; NaN if there is no value.
pub(crate) fn nan_if_none(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}

/// Converts an RTT to a number in a column; endpoints report an unknown RTT as 0.
pub(crate) fn nan_if_zero(value: f64) -> f64 {
    if value > 0.0 { value } else { f64::NAN }
}
