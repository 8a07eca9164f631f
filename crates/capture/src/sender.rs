//! One direction of a connection: the data that one end sent and the acknowledgements that the
//! other end sent.

use cwndlab_packet::{Bursts, Flags, Flight, Segment, SeqNumber};
use cwndlab_units::{Ecn, Time};

use crate::arrivals::Arrivals;
use crate::round_trips::RoundTrips;
use crate::series::Series;
use crate::silence::Silence;
use crate::{AnalysisConfig, Flow, FlowEvent, Vantage};

/// Payload of a full segment on Ethernet with TCP timestamps; used if the capture lacks the
/// handshake.
const USUAL_MSS_BYTES: u32 = 1_448;
/// Maximum size of one segment, that of a jumbo frame; a longer captured packet results from
/// segmentation offload.
const MAX_SEGMENT_BYTES: u32 = 9_000;

/// The data that one end sent, and their acknowledgements.
#[derive(Debug)]
pub(crate) struct Sender {
    warm_up_ns: u64,
    /// Time of the connection's first packet.
    begin_ns: u64,
    transfer: Transfer,
    mss_bytes: Option<u32>,
    /// Data in flight; `None` until a sequence number of the data is known.
    flight: Option<Flight>,
    /// Received ranges of data; used if the capture was taken at the receiver.
    arrivals: Arrivals,
    silence: Silence,
    closing: Closing,
    last_sent_ns: u64,
    last_acked_ns: u64,
    round_trips: RoundTrips,
    bursts: Bursts,
    totals: Totals,
    in_window: InWindow,
    series: Series,
    events: Vec<FlowEvent>,
}

/// Start of the transfer.
#[derive(Debug, Default)]
struct Transfer {
    /// Time at which the sender sent the first data of the transfer; `None` before any data.
    begin_ns: Option<u64>,
    /// Bytes sent before the first full segment, such as initial messages.
    small_bytes: u64,
    has_full_segment: bool,
}

/// End of the connection.
#[derive(Debug, Default)]
struct Closing {
    /// Whether the sender reset the connection; if so, it ignores later acknowledgements.
    has_reset: bool,
    fin_seq: Option<u64>,
    completed_ns: Option<u64>,
}

/// Counts over the lifetime of the connection.
#[derive(Debug, Default)]
struct Totals {
    delivered_bytes: u64,
    sent_pkts: u64,
    marked_pkts: u64,
    timeouts: u64,
}

/// Payload within the measurement window.
#[derive(Debug, Default)]
struct InWindow {
    delivered_bytes: u64,
    sent_bytes: u64,
}

impl Sender {
    pub(crate) fn new(begin_ns: u64, config: AnalysisConfig) -> Self {
        Self {
            warm_up_ns: config.warm_up_ns,
            begin_ns,
            transfer: Transfer::default(),
            mss_bytes: None,
            flight: None,
            arrivals: Arrivals::new(begin_ns),
            silence: Silence::new(begin_ns),
            closing: Closing::default(),
            last_sent_ns: begin_ns,
            last_acked_ns: begin_ns,
            round_trips: RoundTrips::default(),
            bursts: Bursts::default(),
            totals: Totals::default(),
            in_window: InWindow::default(),
            series: Series::new(begin_ns, config),
            events: Vec::new(),
        }
    }

    /// Sets the maximum segment size that the connection negotiated.
    pub(crate) fn set_mss(&mut self, mss_bytes: u32) {
        self.mss_bytes = Some(mss_bytes.max(1));
    }

    /// Records the handshake's round-trip time.
    pub(crate) fn handle_handshake_rtt(&mut self, rtt_us: u32) {
        self.round_trips.handle_handshake(rtt_us);
    }

    pub(crate) fn has_data(&self) -> bool {
        self.totals.sent_pkts > 0
    }

    /// Handles a segment that this end sent.
    pub(crate) fn handle_sent(&mut self, at_ns: u64, segment: &Segment, vantage: Vantage) {
        self.advance(at_ns);
        if segment.flags.has(Flags::SYN | Flags::RST) {
            self.closing.has_reset |= segment.flags.has(Flags::RST);
            if segment.flags.has(Flags::SYN) {
                let first = SeqNumber(segment.seq) + 1;
                self.flight.get_or_insert_with(|| Flight::starting_at(first));
            }
            return;
        }
        if segment.payload > 0 {
            self.handle_data(at_ns, segment, vantage);
        }
        if let Some(flight) = self.flight.as_ref().filter(|_| segment.flags.has(Flags::FIN)) {
            let end = SeqNumber(segment.seq) + segment.payload;
            self.closing.fin_seq = Some(flight.number_of(end));
        }
    }

    fn handle_data(&mut self, at_ns: u64, segment: &Segment, vantage: Vantage) {
        let seq = SeqNumber(segment.seq);
        let flight = self.flight.get_or_insert_with(|| Flight::starting_at(seq));
        let start = flight.number_of(seq);
        let end = start + u64::from(segment.payload);
        let acked = flight.acked();
        if end <= acked && segment.payload <= 1 && start + 1 == acked {
            return; // a keepalive, which carries no data
        }
        let pkts = self.packets_in(segment.payload);
        self.begin_data(at_ns, segment.payload, vantage);
        self.totals.sent_pkts += pkts;
        self.totals.marked_pkts += if segment.ecn == Ecn::Ce { pkts } else { 0 };
        self.series.handle_sent(segment.payload);
        // Data sent at the start of the window arrives within the window.
        if self.window_start_ns().is_some_and(|start_ns| at_ns >= start_ns) {
            self.in_window.sent_bytes += u64::from(segment.payload);
        }
        match vantage {
            Vantage::Receiver => self.handle_arrived(at_ns, start, end, pkts),
            Vantage::Sender | Vantage::Unknown => self.handle_departed(at_ns, start, end),
        }
        if let Some(flight) = &mut self.flight {
            flight.send(Time::from_nanos(at_ns), start, end);
        }
        self.last_sent_ns = at_ns;
    }

    /// Updates the start of the transfer: the first data, or the first full segment if smaller
    /// segments precede it and contain at most one full segment's bytes.
    fn begin_data(&mut self, at_ns: u64, payload_bytes: u32, vantage: Vantage) {
        let transfer = &mut self.transfer;
        if transfer.has_full_segment {
            return;
        }
        let mss_bytes = self.mss_bytes.unwrap_or(USUAL_MSS_BYTES);
        transfer.has_full_segment = payload_bytes >= mss_bytes;
        let was_talk = transfer.has_full_segment && transfer.small_bytes <= u64::from(mss_bytes);
        if transfer.begin_ns.is_none() || was_talk {
            let way_ns =
                if vantage == Vantage::Receiver { self.round_trips.one_way_ns() } else { 0 };
            transfer.begin_ns = Some(at_ns.saturating_sub(way_ns).max(self.begin_ns));
            self.in_window = InWindow::default();
            self.round_trips.forget_samples();
        }
        self.transfer.small_bytes += u64::from(payload_bytes);
    }

    /// Handles a segment captured at the sender: data below the highest sequence number sent are a
    /// retransmission.
    fn handle_departed(&mut self, at_ns: u64, start: u64, end: u64) {
        let Some(flight) = &self.flight else { return };
        let (next, acked) = (flight.next(), flight.acked());
        if start >= next {
            if next == acked {
                self.silence.end(at_ns); // nothing was in flight
            }
            return;
        }
        let was_idle = start <= acked
            && self.silence.take_for_timeout(
                at_ns,
                self.round_trips.srtt_ns(),
                flight.is_one_untouched_segment(),
            );
        let again = u32::try_from(next.min(end) - start).unwrap_or(u32::MAX);
        let pkts = self.packets_in(again);
        let begins = self.bursts.extend(pkts);
        if was_idle {
            self.totals.timeouts += 1;
            let value = self.totals.timeouts;
            self.events.push(FlowEvent { at_ns, event: "timeout", value });
        } else if begins {
            self.note_recovery(at_ns);
        }
        if start <= acked {
            self.silence.end(at_ns);
        }
    }

    /// Handles a segment captured at the receiver: data that had arrived before, or that fill an
    /// old gap, are a retransmission.
    fn handle_arrived(&mut self, at_ns: u64, start: u64, end: u64, pkts: u64) {
        let Some(flight) = &self.flight else { return };
        let one_way_ns = self.round_trips.one_way_ns();
        let (next, acked) = (flight.next(), flight.acked());
        let is_again = self.arrivals.take((start, end), next, at_ns, one_way_ns);
        self.arrivals.forget_before(acked);
        if is_again && self.bursts.extend(pkts) {
            self.note_recovery(at_ns);
        }
    }

    /// Records the first retransmission of a burst.
    fn note_recovery(&mut self, at_ns: u64) {
        let value = self.bursts.bursts + 1;
        self.events.push(FlowEvent { at_ns, event: "recovery", value });
    }

    /// Handles a segment from the end that receives the data.
    pub(crate) fn handle_answer(&mut self, at_ns: u64, segment: &Segment, vantage: Vantage) {
        self.advance(at_ns);
        let Some(flight) = &mut self.flight else { return };
        let is_answer = segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::RST);
        if !is_answer || self.closing.has_reset {
            return;
        }
        let ack = flight.number_of(SeqNumber(segment.ack));
        // The number after the last byte acknowledges a FIN or a SYN.
        if ack > flight.next().max(self.closing.fin_seq.unwrap_or(0)) + 1 {
            return; // acknowledges data that the capture does not contain
        }
        let before = flight.acked();
        let sent = match vantage {
            Vantage::Receiver => flight.acknowledge(ack),
            Vantage::Sender | Vantage::Unknown => flight.handle_answer(segment),
        };
        let new_bytes = flight.acked() - before;
        if new_bytes > 0 {
            self.handle_acked(at_ns, new_bytes);
        }
        if let Some(sent) = sent.filter(|_| vantage != Vantage::Receiver) {
            let rtt = Time::from_nanos(at_ns).saturating_since(sent);
            let rtt_us = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX);
            self.round_trips.handle_sample(rtt_us, self.in_window(at_ns));
            self.series.handle_rtt(rtt_us);
        }
        let Closing { fin_seq, completed_ns, .. } = &mut self.closing;
        if fin_seq.is_some_and(|fin| ack > fin) {
            completed_ns.get_or_insert(self.last_acked_ns);
        }
    }

    fn handle_acked(&mut self, at_ns: u64, bytes: u64) {
        self.totals.delivered_bytes += bytes;
        self.series.handle_delivered(bytes);
        if self.in_window(at_ns) {
            self.in_window.delivered_bytes += bytes;
        }
        self.silence.end_by_ack(at_ns);
        self.last_acked_ns = at_ns;
        self.bursts.end();
    }

    fn in_window(&self, at_ns: u64) -> bool {
        self.window_start_ns().is_some_and(|start_ns| at_ns > start_ns)
    }

    fn window_start_ns(&self) -> Option<u64> {
        Some(self.transfer.begin_ns?.saturating_add(self.warm_up_ns))
    }

    /// Number of TCP segments in a captured packet, which may contain several because of offload.
    fn packets_in(&mut self, payload_bytes: u32) -> u64 {
        let mss_bytes = *self.mss_bytes.get_or_insert(match payload_bytes {
            USUAL_MSS_BYTES..=MAX_SEGMENT_BYTES => payload_bytes,
            _ => USUAL_MSS_BYTES,
        });
        u64::from(payload_bytes.div_ceil(mss_bytes))
    }

    fn advance(&mut self, at_ns: u64) {
        let inflight_bytes = self.flight.as_ref().map_or(0, Flight::bytes);
        self.series.advance(at_ns, self.round_trips.srtt_us(), inflight_bytes);
    }

    /// Returns the results; the connection adds its number and which end is the client.
    pub(crate) fn finish(mut self, vantage: Vantage, ends: (crate::Peer, crate::Peer)) -> Flow {
        self.bursts.end();
        let is_behind = vantage == Vantage::Receiver;
        let end_ns =
            if self.last_acked_ns > self.begin_ns { self.last_acked_ns } else { self.last_sent_ns };
        // At the sender, an ACK reports data that arrived a one-way delay earlier.
        let way_ns = if is_behind { 0 } else { self.round_trips.one_way_ns() };
        let arrived_ns = end_ns.saturating_sub(way_ns);
        let window_ns =
            self.window_start_ns().map_or(0, |start_ns| arrived_ns.saturating_sub(start_ns));
        let completed_ns = self.closing.completed_ns;
        Flow {
            connection: 0,
            sender: ends.0,
            receiver: ends.1,
            is_sender_client: None,
            vantage,
            begin_ns: self.begin_ns,
            mss_bytes: self.mss_bytes.unwrap_or(USUAL_MSS_BYTES),
            lifetime_ns: end_ns - self.begin_ns,
            window_ns: (window_ns > 0).then_some(window_ns),
            delivered_bytes: self.totals.delivered_bytes,
            window_delivered_bytes: self.in_window.delivered_bytes,
            window_sent_bytes: self.in_window.sent_bytes,
            rtt_base_us: self.round_trips.base_us(),
            rtts_us: self.round_trips.into_sorted_us(),
            sent_pkts: self.totals.sent_pkts,
            retransmitted_pkts: self.bursts.resent_pkts,
            bursts: self.bursts.bursts,
            longest_burst_pkts: self.bursts.longest_pkts,
            timeouts: (!is_behind).then_some(self.totals.timeouts),
            ecn_marked_pkts: is_behind.then_some(self.totals.marked_pkts),
            completion_ns: completed_ns.map(|at_ns| at_ns - self.begin_ns),
            samples: self.series.into_samples(end_ns),
            events: self.events,
        }
    }
}
