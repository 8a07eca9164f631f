//! Datagrams of one size at equal intervals: a call, as RTP sends it over UDP (RFC 3550).
//!
//! Nothing is acknowledged, repeated or slowed down. As they leave at known times, the number of a
//! datagram tells when it was sent.

use cwndlab_units::{Duration, Time};

use super::times::percentile;

/// The headers of IPv4 and UDP (RFC 791, RFC 768).
const HEADER_BYTES: u16 = 28;

/// A sender and its receiver.
#[derive(Debug)]
pub(super) struct Datagrams {
    bytes: u32,
    interval: Duration,
    began: Time,
    sent: u32,
    is_due: bool,
    /// Numbers of those that arrived and how long they took.
    arrived: Vec<(u32, Duration)>,
}

/// A datagram that is to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Counted from 0.
    pub number: u32,
    /// Its payload.
    pub payload_bytes: u32,
    /// The headers before it.
    pub header_bytes: u16,
}

impl Datagrams {
    pub(super) fn new(bytes: u32, interval: Duration) -> Self {
        let arrived = Vec::new();
        Self { bytes, interval, began: Time::ZERO, sent: 0, is_due: false, arrived }
    }

    /// The flow starts, and with it the first datagram.
    pub(super) fn begin(&mut self, now: Time) {
        self.began = now;
    }

    /// One is due. Answers when the next one is.
    pub(super) fn handle_wake(&mut self) -> Time {
        self.is_due = true;
        self.sent_at(self.sent + 1)
    }

    /// The datagram that is due, once.
    pub(super) fn take(&mut self) -> Option<Datagram> {
        if !core::mem::take(&mut self.is_due) {
            return None;
        }
        let number = self.sent;
        self.sent += 1;
        Some(Datagram { number, payload_bytes: self.bytes, header_bytes: HEADER_BYTES })
    }

    /// A datagram has come to the receiver.
    pub(super) fn handle_arrival(&mut self, now: Time, number: u32) {
        self.arrived.push((number, now.saturating_since(self.sent_at(number))));
    }

    fn sent_at(&self, number: u32) -> Time {
        self.began + Duration::from_nanos(self.interval.as_nanos() * u64::from(number))
    }

    /// Loss in per cent and the 95th percentile of the delay in ms, of what was sent after `from`
    /// and until `until`. What may still be on its way, behind the last that arrived, is not lost.
    pub(super) fn loss_pct_and_delay_p95_ms(
        &self,
        from: Time,
        until: Time,
    ) -> (Option<f64>, Option<f64>) {
        let is_inside = |number: u32| {
            let at = self.sent_at(number);
            from < at && at <= until
        };
        let known = self.arrived.iter().map(|entry| entry.0 + 1).max().unwrap_or(self.sent);
        let expected = (0..known).filter(|&number| is_inside(number)).count();
        let inside = self.arrived.iter().filter(|entry| is_inside(entry.0));
        let mut delays_ms: Vec<f64> = inside.map(|entry| entry.1.as_millis_f64()).collect();
        delays_ms.sort_by(f64::total_cmp);
        let lost = expected - delays_ms.len();
        let loss_pct = (expected > 0).then(|| 100.0 * lost as f64 / expected as f64);
        (loss_pct, percentile(&delays_ms, 95.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(20);

    /// Ten datagrams, of which those with these numbers arrive after a delay.
    fn call(arriving: &[(u32, u64)]) -> Datagrams {
        let mut call = Datagrams::new(172, INTERVAL);
        call.begin(Time::from_millis(100));
        for number in 0..10 {
            let next = call.handle_wake();
            assert_eq!(call.take().map(|datagram| datagram.number), Some(number));
            assert_eq!(call.take(), None);
            assert_eq!(next, Time::from_millis(100 + 20 * (u64::from(number) + 1)));
        }
        for &(number, delay_ms) in arriving {
            let at = Time::from_millis(100 + 20 * u64::from(number) + delay_ms);
            call.handle_arrival(at, number);
        }
        call
    }

    #[test]
    fn what_is_missing_before_the_last_arrival_is_lost() {
        let call = call(&[(0, 30), (1, 30), (3, 70), (7, 30)]);
        let (loss_pct, delay_ms) = call.loss_pct_and_delay_p95_ms(Time::ZERO, Time::from_secs(9));
        assert_eq!(loss_pct, Some(50.0), "four of eight; two more may be on their way");
        assert!((delay_ms.expect("arrivals") - 64.0).abs() < 1e-9, "{delay_ms:?}");
    }

    #[test]
    fn a_call_that_nothing_of_arrives_has_lost_everything() {
        let (loss_pct, delay_ms) =
            call(&[]).loss_pct_and_delay_p95_ms(Time::ZERO, Time::from_secs(9));
        assert_eq!((loss_pct, delay_ms), (Some(100.0), None));
    }

    #[test]
    fn what_is_sent_in_the_warm_up_does_not_count() {
        let call = call(&[(2, 10), (4, 10)]);
        // Sent at 100 ms and every 20 ms: after 120 ms come the numbers from 2 on.
        let (loss_pct, _) =
            call.loss_pct_and_delay_p95_ms(Time::from_millis(120), Time::from_secs(9));
        assert!((loss_pct.expect("some") - 100.0 / 3.0).abs() < 1e-9, "{loss_pct:?}");
    }
}
