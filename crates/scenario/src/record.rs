//! The running totals of one flow, which are updated as segments pass and read after the run.

use cwndlab_packet::{Retransmissions, SeqNumber};
use cwndlab_units::{Bytes, Duration, Histogram, Time};

/// Histogram of round-trip times, accurate to 0.2 %; round-trip times of 4.5 minutes and more
/// share a bucket.
type RttHistogram = Histogram<8, { (1 << 28) - 1 }>;

/// Running totals of one flow: of its packets and of its two ends.
#[derive(Debug)]
pub struct FlowRecord {
    /// Start of the window to which means and rates refer.
    pub(crate) window_start: Time,
    /// End of the window to which means and rates refer.
    pub(crate) window_end: Time,
    /// Bytes that each stage in the data's direction could have carried by the start of the
    /// window.
    pub(crate) offered_at_start: Option<Vec<Option<Bytes>>>,
    /// Bytes that each stage in the data's direction could have carried by the end of the window.
    pub(crate) offered_at_end: Option<Vec<Option<Bytes>>>,
    /// RTT samples in the measurement window.
    pub(crate) rtt_us: RttHistogram,
    /// The minimum RTT over the life of the flow; `u32::MAX` before the first sample.
    least_rtt_us: u32,
    /// Totals since the start of the flow.
    pub(crate) totals: Totals,
    /// Totals at the start of the measurement window.
    at_start: Option<Totals>,
    /// Totals at the end of the measurement window.
    at_end: Option<Totals>,
    /// Whether the measurement window has begun and not ended.
    is_inside: bool,
    /// The last moment before the measurement window begins or ends, whichever is next.
    edge: Time,
    pub(crate) retransmissions: Retransmissions,
    pub(crate) marked_pkts: u64,
    pub(crate) cwnd: CwndMean,
    srtt_sum_us: u64,
    /// Number of samples in the measurement window before the first RTT.
    samples_without_srtt: u64,
    interval: Interval,
}

/// Cumulative totals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Totals {
    /// Bytes that arrived in the data's direction, including IP headers.
    pub(crate) arrived_bytes: u64,
    /// Payload that the sender sent.
    pub(crate) sent_bytes: u64,
    /// Payload that the receiver's application read.
    pub(crate) delivered_bytes: u64,
    /// Number of packets that arrived in the data's direction.
    pub(crate) arrived_pkts: u64,
}

/// Mean and maximum of the congestion window's samples in the measurement window.
#[derive(Debug, Default)]
pub(crate) struct CwndMean {
    sum_pkts: u64,
    samples: u64,
    max_pkts: u32,
}

/// State at the last row of the table of samples.
#[derive(Debug, Default)]
struct Interval {
    /// Bytes delivered up to the last row.
    delivered_bytes: u64,
    /// Bytes sent up to the last row.
    sent_bytes: u64,
    /// Sum of the RTT samples since the last row.
    rtt_sum_us: u64,
    /// Number of RTT samples since the last row.
    rtt_samples: u64,
}

/// Totals between two rows of the table of samples.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct IntervalTotals {
    /// Payload sent, including retransmissions.
    pub sent_bytes: u64,
    /// Payload that the receiver's application read.
    pub delivered_bytes: u64,
    /// Mean of the RTT samples; `None` if there are none.
    pub rtt_ms: Option<f64>,
}

impl FlowRecord {
    /// Creates the record of a flow with the given measurement window for means and rates.
    pub fn new(window_start: Time, window_end: Time) -> Self {
        Self {
            window_start,
            window_end,
            offered_at_start: None,
            offered_at_end: None,
            rtt_us: RttHistogram::default(),
            least_rtt_us: u32::MAX,
            totals: Totals::default(),
            at_start: None,
            at_end: None,
            is_inside: false,
            edge: window_start,
            retransmissions: Retransmissions::default(),
            marked_pkts: 0,
            cwnd: CwndMean::default(),
            srtt_sum_us: 0,
            samples_without_srtt: 0,
            interval: Interval::default(),
        }
    }

    /// Advances to `now`.
    ///
    /// Advances to `now`: later counts are inside the measurement window if they are after its
    /// start and not after its end.
    #[inline]
    fn advance(&mut self, now: Time) {
        if now > self.edge {
            self.cross(now);
        }
    }

    #[cold]
    fn cross(&mut self, now: Time) {
        if now > self.window_start {
            self.at_start.get_or_insert(self.totals);
            self.edge = self.window_end;
        }
        if now > self.window_end {
            self.at_end.get_or_insert(self.totals);
            self.edge = Time::NEVER;
        }
        self.is_inside = self.at_start.is_some() && self.at_end.is_none();
    }

    /// The minimum RTT over the life of the flow; `None` without a sample.
    pub(crate) fn rtt_base_us(&self) -> Option<u32> {
        (self.least_rtt_us < u32::MAX).then_some(self.least_rtt_us)
    }

    /// Totals in the measurement window so far.
    pub(crate) fn in_window(&self) -> Totals {
        let (start, end) = (self.totals_at_start(), self.totals_at_end());
        Totals {
            sent_bytes: end.sent_bytes - start.sent_bytes,
            delivered_bytes: end.delivered_bytes - start.delivered_bytes,
            arrived_bytes: end.arrived_bytes - start.arrived_bytes,
            arrived_pkts: end.arrived_pkts - start.arrived_pkts,
        }
    }

    /// Totals at the start of the measurement window; the current totals if it has not begun.
    fn totals_at_start(&self) -> Totals {
        self.at_start.unwrap_or(self.totals)
    }

    fn totals_at_end(&self) -> Totals {
        self.at_end.unwrap_or(self.totals)
    }

    /// The length of the measurement window, if the flow lasted longer than its warm-up.
    pub fn window(&self) -> Option<Duration> {
        let window = self.window_end.saturating_since(self.window_start);
        (window > Duration::ZERO).then_some(window)
    }

    /// Records a segment with payload that the sender sent.
    #[inline]
    pub fn handle_sent(&mut self, now: Time, seq: u32, payload_bytes: u32) {
        self.handle_train(now, seq, payload_bytes, 1);
    }

    /// Records a train of `count` consecutive segments, each with `payload_bytes` of payload.
    #[inline]
    pub fn handle_train(&mut self, now: Time, seq: u32, payload_bytes: u32, count: u32) {
        self.advance(now);
        self.totals.sent_bytes += u64::from(payload_bytes) * u64::from(count);
        self.retransmissions.handle_train(SeqNumber(seq), payload_bytes, count);
    }

    /// Records the acknowledgement in a segment that the sender received.
    #[inline]
    pub fn handle_ack(&mut self, ack: u32) {
        self.retransmissions.handle_ack(SeqNumber(ack));
    }

    /// Ends the measurement window if the flow ends before the run.
    pub fn end_window(&mut self, now: Time) {
        self.window_end = self.window_end.min(now);
        if self.is_inside {
            self.edge = self.window_end;
        }
    }

    /// The moment after which the measurement window begins.
    pub fn window_start(&self) -> Time {
        self.window_start
    }

    /// The last moment of the measurement window.
    pub fn window_end(&self) -> Time {
        self.window_end
    }

    /// Payload sent, and payload read, since the start of the flow.
    pub fn sent_and_delivered_bytes(&self) -> [u64; 2] {
        [self.totals.sent_bytes, self.totals.delivered_bytes]
    }

    /// Begins the next row of samples, and returns the totals since the last row.
    pub fn end_interval(&mut self) -> IntervalTotals {
        let Totals { sent_bytes, delivered_bytes, .. } = self.totals;
        let next = Interval { sent_bytes, delivered_bytes, ..Interval::default() };
        let last = std::mem::replace(&mut self.interval, next);
        IntervalTotals {
            sent_bytes: sent_bytes - last.sent_bytes,
            delivered_bytes: delivered_bytes - last.delivered_bytes,
            rtt_ms: ratio(last.rtt_sum_us as f64 / 1e3, last.rtt_samples),
        }
    }

    /// Time at which [`FlowRecord::handle_offered`] must be called next; [`Time::NEVER`] if no
    /// call is needed.
    pub fn next_offered(&self) -> Time {
        let mut next = Time::NEVER;
        if self.offered_at_start.is_none() && self.window().is_some() {
            next = self.window_start;
        }
        if self.offered_at_end.is_none() { next.min(self.window_end) } else { next }
    }

    /// Records how much each stage in the data's direction could have carried so far. Values are
    /// kept at the first call at or after the start of the measurement window, and at or after its
    /// end.
    pub fn handle_offered(&mut self, now: Time, mut offered: impl FnMut() -> Vec<Option<Bytes>>) {
        if self.offered_at_start.is_none() && self.window_start <= now {
            self.offered_at_start = Some(offered());
        }
        if self.offered_at_end.is_none() && self.window_end <= now {
            self.offered_at_end = Some(offered());
        }
    }

    /// Combines the record of a flow's packets (`self`) with the record of the flow's ends, which
    /// was made separately.
    #[must_use]
    pub fn joined_with(self, ends: Self) -> Self {
        Self {
            window_end: ends.window_end,
            totals: self.totals.joined_with(ends.totals),
            at_start: Some(self.totals_at_start().joined_with(ends.totals_at_start())),
            at_end: Some(self.totals_at_end().joined_with(ends.totals_at_end())),
            cwnd: ends.cwnd,
            srtt_sum_us: ends.srtt_sum_us,
            samples_without_srtt: ends.samples_without_srtt,
            ..self
        }
    }

    /// Finishes the record at the end of the run.
    pub fn finish(&mut self) {
        self.retransmissions.bursts.end();
    }

    /// Records the RTT sample that an ACK gave.
    #[inline]
    pub fn handle_rtt(&mut self, now: Time, rtt_us: u32) {
        self.least_rtt_us = self.least_rtt_us.min(rtt_us);
        self.interval.rtt_sum_us += u64::from(rtt_us);
        self.advance(now);
        if self.is_inside {
            self.rtt_us.record(rtt_us.into());
        }
        self.interval.rtt_samples += 1;
    }

    /// Records the arrival of a segment with payload at the receiver's interface.
    #[inline]
    pub fn handle_arrived(&mut self, now: Time, wire_bytes: u32, is_marked: bool) {
        if is_marked {
            self.marked_pkts += 1;
        }
        self.advance(now);
        self.totals.arrived_bytes += u64::from(wire_bytes);
        self.totals.arrived_pkts += 1;
    }

    /// Records data that the receiver's application read.
    #[inline]
    pub fn handle_read(&mut self, now: Time, bytes: u64) {
        self.advance(now);
        self.totals.delivered_bytes += bytes;
    }

    /// Records a sample of the congestion window and the smoothed RTT; means are computed from one
    /// sample every 10 ms.
    pub fn handle_sample(&mut self, now: Time, cwnd_pkts: u32, srtt_us: u32) {
        if now < self.window_start || self.window_end < now {
            return;
        }
        self.cwnd.sum_pkts += u64::from(cwnd_pkts);
        self.cwnd.samples += 1;
        self.cwnd.max_pkts = self.cwnd.max_pkts.max(cwnd_pkts);
        self.srtt_sum_us += u64::from(srtt_us);
        if srtt_us == 0 {
            self.samples_without_srtt += 1;
        }
    }

    pub(crate) fn srtt_mean_ms(&self) -> Option<f64> {
        let samples = self.cwnd.samples - self.samples_without_srtt;
        ratio(self.srtt_sum_us as f64 / 1e3, samples)
    }
}

impl Totals {
    /// Combines the totals of packets with totals that were observed at the ends of the flow.
    fn joined_with(self, ends: Self) -> Self {
        Self { delivered_bytes: ends.delivered_bytes, ..self }
    }
}

impl CwndMean {
    pub(crate) fn mean_pkts(&self) -> Option<f64> {
        ratio(self.sum_pkts as f64, self.samples)
    }

    pub(crate) fn max_pkts(&self) -> Option<u32> {
        (self.samples > 0).then_some(self.max_pkts)
    }
}

/// A ratio, or `None` if `count` is 0.
pub(crate) fn ratio(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn warm_up_counts_for_totals_and_not_for_the_window() {
        let mut record = FlowRecord::new(at(100), at(200));
        for millis in [100, 101, 200, 201] {
            record.handle_read(at(millis), 10);
            record.handle_rtt(at(millis), 1_000 + millis as u32);
        }
        let delivered = (record.totals.delivered_bytes, record.in_window().delivered_bytes);
        assert_eq!(delivered, (40, 20));
        assert_eq!(record.rtt_us.mean(), Some(1_150.5));
        assert_eq!(record.rtt_base_us(), Some(1_100));
    }

    #[test]
    fn a_window_that_ends_early_counts_what_comes_until_then() {
        let mut record = FlowRecord::new(at(100), at(200));
        for millis in [90, 110, 150] {
            record.handle_sent(at(millis), millis as u32 * 10, 10);
        }
        record.end_window(at(150));
        for millis in [150, 160] {
            record.handle_sent(at(millis), millis as u32 * 20, 10);
        }
        assert_eq!((record.totals.sent_bytes, record.in_window().sent_bytes), (50, 30));
    }

    #[test]
    fn a_flow_that_ends_in_its_warm_up_has_no_window() {
        let mut record = FlowRecord::new(at(100), at(50));
        for millis in [40, 60, 110, 120] {
            record.handle_read(at(millis), 10);
        }
        assert_eq!(record.in_window(), Totals::default());
        assert_eq!(record.window(), None);
        assert_eq!(record.srtt_mean_ms(), None);
        assert_eq!(record.cwnd.mean_pkts(), None);
        assert_eq!(record.cwnd.max_pkts(), None);
    }

    #[test]
    fn packets_and_ends_that_were_watched_apart_are_one_record() {
        let [mut packets, mut ends, mut whole] =
            [(); 3].map(|()| FlowRecord::new(at(100), at(200)));
        for record in [&mut packets, &mut whole] {
            record.handle_sent(at(150), 0, 1_000);
            record.handle_sent(at(150), 0, 1_000);
            record.handle_arrived(at(160), 1_040, true);
            record.handle_rtt(at(170), 20_000);
        }
        for record in [&mut ends, &mut whole] {
            record.handle_read(at(160), 1_000);
            record.handle_sample(at(170), 10, 20_000);
            record.end_window(at(180));
        }
        let joined = packets.joined_with(ends);
        let totals = |record: &FlowRecord| (record.totals, record.in_window());
        assert_eq!(totals(&joined), totals(&whole));
        assert_eq!(totals(&joined).0, totals(&joined).1);
        let rest = |record| {
            let record = FlowRecord { at_start: None, at_end: None, edge: Time::NEVER, ..record };
            format!("{record:?}")
        };
        assert_eq!(rest(joined), rest(whole));
    }

    #[test]
    fn what_was_offered_is_told_at_the_windows_begin_and_end() {
        let mut record = FlowRecord::new(at(100), at(200));
        for millis in [0, 99, 100, 150, 201, 300] {
            record.handle_offered(at(millis), || vec![Some(Bytes(millis))]);
        }
        assert_eq!(record.offered_at_start, Some(vec![Some(Bytes(100))]));
        assert_eq!(record.offered_at_end, Some(vec![Some(Bytes(201))]));
    }
}
