//! One direction of a connection: the data of one end and what the other answered.

use std::collections::VecDeque;

use cwndlab_packet::{Flags, Segment};
use cwndlab_units::Ecn;

use crate::ranges::Ranges;
use crate::{AnalysisConfig, Flow, FlowEvent, FlowSample, Vantage};

/// Segments whose round trip may be pending: without acknowledgements in the capture, older ones are
/// forgotten.
const MAX_PENDING: usize = 1 << 20;
/// Linux's floor of the retransmission timeout beyond the smoothed RTT (`TCP_RTO_MIN`), less a tenth
/// for timers that fire early.
const RTO_FLOOR_NS: u64 = 180_000_000;
/// A segment below others that arrives this soon was overtaken, not sent again: what tshark takes
/// where it knows no round trip.
const REORDERING_NS: u64 = 3_000_000;
/// Segment size of Ethernet with time stamps, where no handshake tells.
const USUAL_MSS_BYTES: u32 = 1_448;
/// Without offload no segment is longer: a jumbo frame.
const MAX_SEGMENT_BYTES: u32 = 9_000;

/// What one end sent and the other acknowledged.
#[derive(Debug)]
pub(crate) struct Sender {
    config: AnalysisConfig,
    /// The connection's first packet.
    begin_ns: u64,
    /// When the transfer began, as its sender saw it; `None` before any data.
    data_begin_ns: Option<u64>,
    /// Messages before the first full segment: what the ends had to say to each other first.
    small_bytes: u64,
    has_full_segment: bool,
    mss_bytes: Option<u32>,
    /// Number of the first byte of data, in this capture.
    first_seq: Option<u64>,
    /// The number after the highest that was sent.
    next_seq: u64,
    /// The lowest that is not acknowledged.
    acked_seq: Option<u64>,
    sacked: Ranges,
    /// Beside the receiver: what arrived.
    arrived: Ranges,
    pending: VecDeque<Pending>,
    /// When the retransmission timer was last set, as far as packets tell.
    timer_set_ns: u64,
    last_sent_ns: u64,
    last_acked_ns: u64,
    hole_since_ns: u64,
    has_probed: bool,
    /// It broke the connection off: what is acknowledged after that, it does not learn.
    has_reset: bool,
    fin_seq: Option<u64>,
    open_burst_pkts: u64,
    srtt_us: Option<f64>,
    delivered_bytes: u64,
    window_delivered_bytes: u64,
    window_sent_bytes: u64,
    rtts_us: Vec<u32>,
    rtt_base_us: Option<u32>,
    sent_pkts: u64,
    retransmitted_pkts: u64,
    marked_pkts: u64,
    bursts: u64,
    longest_burst_pkts: u64,
    timeouts: u64,
    completed_ns: Option<u64>,
    interval: Interval,
    samples: Vec<FlowSample>,
    events: Vec<FlowEvent>,
}

/// A segment that was sent and not acknowledged.
#[derive(Debug)]
struct Pending {
    start: u64,
    end: u64,
    sent_ns: u64,
    /// Sent once, and not yet reported as received: its answer gives a round-trip time (Karn).
    is_timed: bool,
}

#[derive(Debug, Default)]
struct Interval {
    end_ns: u64,
    delivered_bytes: u64,
    sent_bytes: u64,
    rtt_sum_us: f64,
    rtt_count: u64,
}

impl Sender {
    pub(crate) fn new(begin_ns: u64, config: AnalysisConfig) -> Self {
        Self {
            config,
            begin_ns,
            data_begin_ns: None,
            small_bytes: 0,
            has_full_segment: false,
            mss_bytes: None,
            first_seq: None,
            next_seq: 0,
            acked_seq: None,
            sacked: Ranges::default(),
            arrived: Ranges::default(),
            pending: VecDeque::new(),
            timer_set_ns: begin_ns,
            last_sent_ns: begin_ns,
            last_acked_ns: begin_ns,
            hole_since_ns: begin_ns,
            has_probed: false,
            has_reset: false,
            fin_seq: None,
            open_burst_pkts: 0,
            srtt_us: None,
            delivered_bytes: 0,
            window_delivered_bytes: 0,
            window_sent_bytes: 0,
            rtts_us: Vec::new(),
            rtt_base_us: None,
            sent_pkts: 0,
            retransmitted_pkts: 0,
            marked_pkts: 0,
            bursts: 0,
            longest_burst_pkts: 0,
            timeouts: 0,
            completed_ns: None,
            interval: Interval {
                end_ns: begin_ns.saturating_add(config.sample_interval_ns),
                ..Interval::default()
            },
            samples: Vec::new(),
            events: Vec::new(),
        }
    }

    /// The connection agreed on this segment size.
    pub(crate) fn set_mss(&mut self, mss_bytes: u32) {
        self.mss_bytes = Some(mss_bytes.max(1));
    }

    /// The handshake's round trip.
    pub(crate) fn handle_handshake_rtt(&mut self, rtt_us: u32) {
        self.rtt_base_us = Some(self.rtt_base_us.map_or(rtt_us, |base| base.min(rtt_us)));
        self.srtt_us.get_or_insert(f64::from(rtt_us));
    }

    pub(crate) fn has_data(&self) -> bool {
        self.sent_pkts > 0
    }

    /// The end sent this.
    pub(crate) fn handle_sent(&mut self, at_ns: u64, segment: &Segment, vantage: Vantage) {
        self.advance(at_ns);
        if segment.flags.has(Flags::SYN | Flags::RST) {
            self.has_reset |= segment.flags.has(Flags::RST);
            if segment.flags.has(Flags::SYN) {
                self.begin_at(segment.seq.wrapping_add(1));
            }
            return;
        }
        if segment.payload > 0 {
            self.handle_data(at_ns, segment, vantage);
        }
        if segment.flags.has(Flags::FIN) && self.first_seq.is_some() {
            let end = segment.seq.wrapping_add(segment.payload);
            self.fin_seq = Some(unwrap(end, self.next_seq));
        }
    }

    fn begin_at(&mut self, seq: u32) {
        if self.first_seq.is_none() {
            // Far from zero, so that what lies before is a number too.
            let seq = u64::from(seq) + (1 << 32);
            self.first_seq = Some(seq);
            self.next_seq = seq;
            self.acked_seq = Some(seq);
        }
    }

    fn handle_data(&mut self, at_ns: u64, segment: &Segment, vantage: Vantage) {
        self.begin_at(segment.seq);
        let start = unwrap(segment.seq, self.next_seq);
        let end = start + u64::from(segment.payload);
        let acked = self.acked_seq.unwrap_or(start);
        if end <= acked && segment.payload <= 1 && start + 1 == acked {
            return; // keeps the connection alive, carries nothing
        }
        let pkts = self.packets_in(segment.payload);
        self.begin_data(at_ns, segment.payload, vantage);
        self.sent_pkts += pkts;
        self.marked_pkts += if segment.ecn == Ecn::Ce { pkts } else { 0 };
        self.interval.sent_bytes += u64::from(segment.payload);
        // What is sent at its beginning arrives within it.
        if self.window_start_ns().is_some_and(|start_ns| at_ns >= start_ns) {
            self.window_sent_bytes += u64::from(segment.payload);
        }
        match vantage {
            Vantage::Receiver => self.handle_arrived(at_ns, start, end, pkts),
            Vantage::Sender | Vantage::Unknown => self.handle_departed(at_ns, start, end, acked),
        }
        self.next_seq = self.next_seq.max(end);
        self.last_sent_ns = at_ns;
    }

    /// A transfer begins with its first data, or with the first full segment if no more than one's
    /// bytes in smaller ones came before.
    fn begin_data(&mut self, at_ns: u64, payload_bytes: u32, vantage: Vantage) {
        if self.has_full_segment {
            return;
        }
        let mss_bytes = self.mss_bytes.unwrap_or(USUAL_MSS_BYTES);
        self.has_full_segment = payload_bytes >= mss_bytes;
        let was_talk = self.has_full_segment && self.small_bytes <= u64::from(mss_bytes);
        if self.data_begin_ns.is_none() || was_talk {
            let way_ns = if vantage == Vantage::Receiver { self.one_way_ns() } else { 0 };
            self.data_begin_ns = Some(at_ns.saturating_sub(way_ns).max(self.begin_ns));
            self.window_sent_bytes = 0;
            self.window_delivered_bytes = 0;
            self.rtts_us.clear();
        }
        self.small_bytes += u64::from(payload_bytes);
    }

    /// Half of the shortest round trip: either way, where none of them is known by itself.
    fn one_way_ns(&self) -> u64 {
        self.rtt_base_us.map_or(0, |us| u64::from(us) * 500)
    }

    fn handle_departed(&mut self, at_ns: u64, start: u64, end: u64, acked: u64) {
        let is_again = start < self.next_seq;
        if is_again {
            let again = u32::try_from(self.next_seq.min(end) - start).unwrap_or(u32::MAX);
            let was_idle = self.take_for_timeout(at_ns, start, acked);
            for pending in &mut self.pending {
                pending.is_timed &= pending.end <= start || end <= pending.start;
            }
            if was_idle {
                self.timeouts += 1;
                self.events.push(FlowEvent { at_ns, event: "timeout", value: self.timeouts });
            } else if self.open_burst_pkts == 0 {
                let value = self.bursts + 1;
                self.events.push(FlowEvent { at_ns, event: "recovery", value });
            }
            let pkts = self.packets_in(again);
            self.retransmitted_pkts += pkts;
            self.open_burst_pkts += pkts;
            if start <= acked {
                self.timer_set_ns = at_ns;
            }
        } else if self.next_seq == acked {
            self.timer_set_ns = at_ns; // nothing was in flight
        }
        let new_start = start.max(self.next_seq);
        if new_start < end {
            if self.pending.len() == MAX_PENDING {
                self.pending.pop_front();
            }
            self.pending.push_back(Pending {
                start: new_start,
                end,
                sent_ns: at_ns,
                is_timed: !is_again,
            });
        }
    }

    /// Whether the first byte outstanding is sent again after so long a silence that it was the
    /// retransmission timer (RFC 6298) and no answer that made it go.
    fn take_for_timeout(&mut self, at_ns: u64, start: u64, acked: u64) -> bool {
        if start > acked {
            return false;
        }
        let srtt_ns = (self.srtt_us.unwrap_or(0.0) * 1e3) as u64;
        if at_ns.saturating_sub(self.timer_set_ns) < srtt_ns + RTO_FLOOR_NS {
            return false;
        }
        // RFC 8985 section 7: one segment alone is probed once before its timeout.
        let is_alone = self.pending.len() == 1 && srtt_ns > 0;
        let is_probe = is_alone && !self.has_probed && self.pending[0].is_timed;
        self.has_probed |= is_probe;
        !is_probe
    }

    /// Beside the receiver: what fills a hole long after it appeared, or was here, was sent again.
    fn handle_arrived(&mut self, at_ns: u64, start: u64, end: u64, pkts: u64) {
        let is_below = start < self.next_seq;
        if start > self.next_seq {
            self.hole_since_ns = at_ns;
        }
        let is_known = self.arrived.contains(start, end);
        let is_late =
            at_ns.saturating_sub(self.hole_since_ns) > REORDERING_NS.max(self.one_way_ns());
        if is_known || is_below && is_late {
            self.retransmitted_pkts += pkts;
            if self.open_burst_pkts == 0 {
                let value = self.bursts + 1;
                self.events.push(FlowEvent { at_ns, event: "recovery", value });
            }
            self.open_burst_pkts += pkts;
        }
        self.arrived.add(start, end);
        if let Some(acked) = self.acked_seq {
            self.arrived.remove_before(acked.saturating_sub(1 << 22));
        }
    }

    /// The other end sent this.
    pub(crate) fn handle_answer(&mut self, at_ns: u64, segment: &Segment, vantage: Vantage) {
        self.advance(at_ns);
        if !segment.flags.has(Flags::ACK)
            || segment.flags.has(Flags::RST)
            || self.has_reset
            || self.first_seq.is_none()
        {
            return;
        }
        let ack = unwrap(segment.ack, self.next_seq);
        let end = self.fin_seq.map_or(self.next_seq, |fin| fin.max(self.next_seq));
        let before = self.acked_seq.unwrap_or(ack);
        if ack > end + 1 {
            return; // of data that the capture has not seen
        }
        // The number after the last byte acknowledges a FIN, or a SYN.
        let acked = ack.min(self.next_seq);
        let mut rtt_ns = None;
        if acked > before {
            rtt_ns = self.handle_acked(at_ns, before, acked);
        }
        if vantage != Vantage::Receiver {
            for block in segment.sacks.as_slice() {
                let [start, end] = [block.start, block.end].map(|seq| unwrap(seq, self.next_seq));
                let start = start.max(acked);
                if start < end && end <= self.next_seq {
                    rtt_ns = self.handle_sacked(at_ns, start, end).or(rtt_ns);
                }
            }
            if let Some(rtt_ns) = rtt_ns {
                self.handle_rtt(at_ns, rtt_ns);
            }
        }
        if self.fin_seq.is_some_and(|fin| ack > fin) && self.completed_ns.is_none() {
            self.completed_ns = Some(self.last_acked_ns);
        }
    }

    /// New data are acknowledged; the round trip of the last of them that gives one.
    fn handle_acked(&mut self, at_ns: u64, before: u64, acked: u64) -> Option<u64> {
        self.acked_seq = Some(acked);
        self.sacked.remove_before(acked);
        self.delivered_bytes += acked - before;
        self.interval.delivered_bytes += acked - before;
        if self.in_window(at_ns) {
            self.window_delivered_bytes += acked - before;
        }
        self.timer_set_ns = at_ns;
        self.last_acked_ns = at_ns;
        self.has_probed = false;
        self.close_burst();
        let mut sent_ns = None;
        while let Some(first) = self.pending.front_mut() {
            if first.end > acked {
                first.start = first.start.max(acked);
                break;
            }
            if first.is_timed {
                sent_ns = Some(first.sent_ns);
            }
            self.pending.pop_front();
        }
        sent_ns.map(|sent_ns| at_ns.saturating_sub(sent_ns))
    }

    /// Data are reported as received beyond a hole; the round trip of the last that are new.
    fn handle_sacked(&mut self, at_ns: u64, start: u64, end: u64) -> Option<u64> {
        let mut sent_ns = None;
        for (from, to) in self.sacked.add(start, end) {
            let first = self.pending.partition_point(|pending| pending.end <= from);
            for pending in self.pending.range_mut(first..).take_while(|p| p.start < to) {
                if pending.is_timed {
                    sent_ns = Some(pending.sent_ns);
                    pending.is_timed = false;
                }
            }
        }
        sent_ns.map(|sent_ns| at_ns.saturating_sub(sent_ns))
    }

    fn handle_rtt(&mut self, at_ns: u64, rtt_ns: u64) {
        let rtt_us = u32::try_from(rtt_ns / 1_000).unwrap_or(u32::MAX);
        self.rtt_base_us = Some(self.rtt_base_us.map_or(rtt_us, |base| base.min(rtt_us)));
        let sample_us = f64::from(rtt_us);
        // RFC 6298 section 2.3, alpha 1/8.
        self.srtt_us = Some(self.srtt_us.map_or(sample_us, |srtt| srtt + (sample_us - srtt) / 8.0));
        self.interval.rtt_sum_us += sample_us;
        self.interval.rtt_count += 1;
        if self.in_window(at_ns) {
            self.rtts_us.push(rtt_us);
        }
    }

    fn close_burst(&mut self) {
        if self.open_burst_pkts > 0 {
            self.bursts += 1;
            self.longest_burst_pkts = self.longest_burst_pkts.max(self.open_burst_pkts);
            self.open_burst_pkts = 0;
        }
    }

    fn in_window(&self, at_ns: u64) -> bool {
        self.window_start_ns().is_some_and(|start_ns| at_ns > start_ns)
    }

    fn window_start_ns(&self) -> Option<u64> {
        Some(self.data_begin_ns?.saturating_add(self.config.warm_up_ns))
    }

    fn inflight_bytes(&self) -> u64 {
        let outstanding = self.next_seq - self.acked_seq.unwrap_or(self.next_seq);
        outstanding.saturating_sub(self.sacked.total())
    }

    /// Segments that a captured packet stands for.
    fn packets_in(&mut self, payload_bytes: u32) -> u64 {
        let mss_bytes = *self.mss_bytes.get_or_insert(match payload_bytes {
            USUAL_MSS_BYTES..=MAX_SEGMENT_BYTES => payload_bytes,
            _ => USUAL_MSS_BYTES,
        });
        u64::from(payload_bytes.div_ceil(mss_bytes))
    }

    /// Writes the samples that are due by then.
    fn advance(&mut self, at_ns: u64) {
        let step_ns = self.config.sample_interval_ns;
        if step_ns == 0 {
            return;
        }
        while self.interval.end_ns <= at_ns && self.samples.len() < self.config.max_samples {
            let interval = &mut self.interval;
            let rtt_us =
                (interval.rtt_count > 0).then(|| interval.rtt_sum_us / interval.rtt_count as f64);
            let sample = FlowSample {
                at_ns: interval.end_ns,
                delivered_bytes: interval.delivered_bytes,
                sent_bytes: interval.sent_bytes,
                rtt_us,
                srtt_us: self.srtt_us,
                inflight_bytes: 0,
            };
            *interval =
                Interval { end_ns: interval.end_ns.saturating_add(step_ns), ..Interval::default() };
            let inflight_bytes = self.inflight_bytes();
            self.samples.push(FlowSample { inflight_bytes, ..sample });
        }
    }

    /// Everything that is known; connection, ends and vantage are the connection's to say.
    pub(crate) fn finish(mut self, vantage: Vantage, ends: (crate::Peer, crate::Peer)) -> Flow {
        self.close_burst();
        self.rtts_us.sort_unstable();
        let is_behind = vantage == Vantage::Receiver;
        let end_ns =
            if self.last_acked_ns > self.begin_ns { self.last_acked_ns } else { self.last_sent_ns };
        // Beside the sender an acknowledgement tells of an arrival that was one way before it.
        let way_ns = if is_behind { 0 } else { self.one_way_ns() };
        let arrived_ns = end_ns.saturating_sub(way_ns);
        let window_ns =
            self.window_start_ns().map_or(0, |start_ns| arrived_ns.saturating_sub(start_ns));
        let samples_end_ns = end_ns.saturating_add(self.config.sample_interval_ns);
        self.samples.retain(|sample| sample.at_ns < samples_end_ns);
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
            delivered_bytes: self.delivered_bytes,
            window_delivered_bytes: self.window_delivered_bytes,
            window_sent_bytes: self.window_sent_bytes,
            rtts_us: self.rtts_us,
            rtt_base_us: self.rtt_base_us,
            sent_pkts: self.sent_pkts,
            retransmitted_pkts: self.retransmitted_pkts,
            bursts: self.bursts,
            longest_burst_pkts: self.longest_burst_pkts,
            timeouts: (!is_behind).then_some(self.timeouts),
            ecn_marked_pkts: is_behind.then_some(self.marked_pkts),
            completion_ns: self.completed_ns.map(|at_ns| at_ns - self.begin_ns),
            samples: self.samples,
            events: self.events,
        }
    }
}

/// The number near `near` whose lower 32 bits are `seq`.
fn unwrap(seq: u32, near: u64) -> u64 {
    let distance = seq.wrapping_sub(near as u32) as i32;
    near.saturating_add_signed(i64::from(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_go_on_beyond_32_bits() {
        let near = (1_u64 << 32) + 5;
        assert_eq!(unwrap(7, near), near + 2);
        assert_eq!(unwrap(0xffff_ffff, near), (1 << 32) - 1);
        assert_eq!(unwrap(0, 0xffff_fff0), 1 << 32);
    }
}
