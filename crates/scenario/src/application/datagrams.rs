//! Datagrams of equal size at equal intervals, as a call sends them with RTP over UDP (RFC 3550).
//!
//! Datagrams are not acknowledged or retransmitted, and their rate does not adapt. They leave at
//! fixed times, so the number of a datagram determines when it was sent.

use cwndlab_units::{Duration, Time};

use super::times::percentile;

/// Bytes of the IPv4 and UDP headers (RFC 791, RFC 768).
const HEADER_BYTES: u16 = 28;

/// The sender and the receiver of datagrams.
#[derive(Debug)]
pub(super) struct Datagrams {
    bytes: u32,
    interval: Duration,
    began: Time,
    sent: u32,
    is_due: bool,
    /// Numbers of the datagrams that arrived, and the delay of each.
    arrived: Vec<(u32, Duration)>,
}

/// A datagram to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// The datagram's number, from 0.
    pub number: u32,
    /// Payload of the datagram.
    pub payload_bytes: u32,
    /// Length of the IP and UDP headers.
    pub header_bytes: u16,
}

impl Datagrams {
    pub(super) fn new(bytes: u32, interval: Duration) -> Self {
        let arrived = Vec::new();
        Self { bytes, interval, began: Time::ZERO, sent: 0, is_due: false, arrived }
    }

    /// Starts the flow; the first datagram is due at `now`.
    pub(super) fn begin(&mut self, now: Time) {
        self.began = now;
    }

    /// Marks the next datagram as due, and returns the time at which the following one is due.
    pub(super) fn handle_wake(&mut self) -> Time {
        self.is_due = true;
        self.sent_at(self.sent + 1)
    }

    /// Removes and returns the datagram that is due.
    pub(super) fn take(&mut self) -> Option<Datagram> {
        if !core::mem::take(&mut self.is_due) {
            return None;
        }
        let number = self.sent;
        self.sent += 1;
        Some(Datagram { number, payload_bytes: self.bytes, header_bytes: HEADER_BYTES })
    }

    /// Records the arrival of a datagram at the receiver.
    pub(super) fn handle_arrival(&mut self, now: Time, number: u32) {
        self.arrived.push((number, now.saturating_since(self.sent_at(number))));
    }

    fn sent_at(&self, number: u32) -> Time {
        self.began + Duration::from_nanos(self.interval.as_nanos() * u64::from(number))
    }

    /// Loss in per cent, and 95th percentile of the delay in ms, of the datagrams that were sent
    /// after `from` and not after `until`.
    ///
    /// Datagrams sent after the last one that arrived may still be in flight, so they do not count
    /// as lost.
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

    /// A call of ten datagrams. Those in the list arrive, each after the delay given there.
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
        // Sent at 100 ms and every 20 ms: the first datagram after 120 ms has number 2.
        let (loss_pct, _) =
            call.loss_pct_and_delay_p95_ms(Time::from_millis(120), Time::from_secs(9));
        assert!((loss_pct.expect("some") - 100.0 / 3.0).abs() < 1e-9, "{loss_pct:?}");
    }
}
