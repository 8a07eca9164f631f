//! Sends packets when there are tokens for them, as in Linux's tbf.
//!
//! Tokens arrive at the rate, and at most a burst of them is kept. A packet leaves as soon as
//! there are tokens for its whole length; its transmission takes no time. No tokens arrive during
//! a pause.

use cwndlab_units::{Bytes, Time};

use super::Capacity;
use super::capacity::nanobits_of;

#[derive(Clone, Debug)]
pub(crate) struct TokenBucket {
    capacity: Capacity,
    burst_bytes: u32,
    /// Number of tokens at the time `counted`, in billionths of a bit.
    tokens: u128,
    /// Time at which the previous packet left.
    counted: Time,
}

impl TokenBucket {
    /// Creates a server whose token bucket is full.
    pub(crate) fn new(capacity: Capacity, burst_bytes: u32) -> Self {
        Self { capacity, burst_bytes, tokens: nanobits_of(burst_bytes), counted: Time::ZERO }
    }

    pub(crate) fn serve(&mut self, now: Time, bytes: u32) -> Time {
        let (start, leaves) = self.next(now, bytes);
        if leaves.is_never() {
            self.counted = leaves;
            return leaves;
        }
        self.tokens = self.tokens_at(start) + self.capacity.nanobits_between(start, leaves)
            - nanobits_of(bytes);
        self.counted = leaves;
        leaves
    }

    /// Time at which a packet of this length could leave.
    pub(crate) fn dequeue_at(&mut self, arrived: Time, bytes: u32) -> Time {
        self.next(arrived, bytes).1
    }

    pub(crate) fn burst_bytes(&self) -> u32 {
        self.burst_bytes
    }

    pub(crate) fn free_at(&self) -> Time {
        self.counted
    }

    pub(crate) fn offered(&self, time: Time) -> Option<Bytes> {
        self.capacity.offered(time)
    }

    /// Time at which a packet begins to wait for tokens, and time at which it leaves.
    fn next(&mut self, now: Time, bytes: u32) -> (Time, Time) {
        let start = self.capacity.open_from(now.max(self.counted));
        if start.is_never() {
            return (start, start);
        }
        let missing = nanobits_of(bytes).saturating_sub(self.tokens_at(start));
        (start, if missing == 0 { start } else { self.capacity.sent_by(start, missing) })
    }

    fn tokens_at(&self, time: Time) -> u128 {
        let arrived = self.capacity.nanobits_between(self.counted, time);
        nanobits_of(self.burst_bytes).min(self.tokens + arrived)
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Rate;

    use super::*;
    use crate::config::{OutageConfig, OutageKind};
    use crate::outage::Spans;
    use crate::rate::Source;

    fn bucket(mbit_s: u64, burst_bytes: u32, pauses: Spans) -> TokenBucket {
        let steps = vec![(Time::ZERO, Rate::from_mbit_per_sec(mbit_s))];
        TokenBucket::new(Capacity::new(Source::Steps(steps), pauses), burst_bytes)
    }

    #[test]
    fn a_burst_leaves_at_once_and_then_the_rate_holds() {
        // 1 byte per microsecond.
        let mut bucket = bucket(8, 4_500, Spans::default());
        let us = Time::from_micros;
        assert_eq!([0; 3].map(|_| bucket.serve(us(100), 1500)), [us(100); 3]);
        assert_eq!(bucket.serve(us(100), 1500), us(1_600));
        assert_eq!(bucket.serve(us(100), 1000), us(2_600));
        // After 700 us there are 700 tokens: a small packet leaves, the next one waits.
        assert_eq!(bucket.serve(us(3_300), 600), us(3_300));
        assert_eq!(bucket.serve(us(3_300), 600), us(3_800));
        // However long the link is idle, at most a burst of tokens is kept.
        assert_eq!([0; 3].map(|_| bucket.serve(us(9_000_000), 1500)), [us(9_000_000); 3]);
        assert_eq!(bucket.serve(us(9_000_000), 1), us(9_000_001));
    }

    #[test]
    fn the_bucket_of_the_linux_reference_spaces_packets_by_their_length() {
        // 10 Mbit/s, burst 1600: the first packet of 1514 bytes leaves 86 tokens, or 68.8 us.
        let mut bucket = bucket(10, 1_600, Spans::default());
        let ns = Time::from_nanos;
        assert_eq!(bucket.serve(Time::ZERO, 1514), Time::ZERO);
        assert_eq!(bucket.serve(Time::ZERO, 1514), ns(1_142_400));
        assert_eq!(bucket.serve(Time::ZERO, 1514), ns(1_142_400 + 1_211_200));
    }

    #[test]
    fn no_token_is_lost_to_rounding() {
        // 7 Mbit/s: 1500 bytes take 1,714,285.71 ns.
        let mut bucket = bucket(7, 1_500, Spans::default());
        let mut last = Time::ZERO;
        for _ in 0..=7_000 {
            last = bucket.serve(Time::ZERO, 1500);
        }
        assert_eq!(last, Time::from_secs(12));
    }

    #[test]
    fn no_tokens_arrive_in_a_pause_and_none_are_spent() {
        let kind = OutageKind::Hold;
        let us = Time::from_micros;
        let outages = [OutageConfig { start: us(1_000), stop: us(5_000), kind }];
        let mut bucket = bucket(8, 1_500, Spans::new(&outages, kind).expect("valid"));
        assert_eq!(bucket.serve(us(0), 1500), us(0));
        assert_eq!(bucket.serve(us(0), 1500), us(5_500));
        let mut full = self::bucket(8, 1_500, Spans::new(&outages, kind).expect("valid"));
        assert_eq!(full.serve(us(2_000), 1500), us(5_000));
    }
}
