//! Sends packets at a rate that may change while a packet is being sent.

use cwndlab_units::{Bytes, Time};

use super::Capacity;

/// A server that sends each bit at the capacity of that time.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    pub(crate) capacity: Capacity,
    /// Time at which the previous packet leaves.
    pub(crate) free_at: Time,
}

impl Fixed {
    pub(crate) fn new(capacity: Capacity) -> Self {
        Self { capacity, free_at: Time::ZERO }
    }

    #[inline]
    pub(crate) fn serve(&mut self, now: Time, bytes: u32) -> Time {
        self.free_at = self.capacity.finish(now.max(self.free_at), bytes);
        self.free_at
    }

    pub(crate) fn dequeue_at(&self, arrived: Time) -> Time {
        self.capacity.open_from(arrived.max(self.free_at))
    }

    pub(crate) fn free_at(&self) -> Time {
        self.free_at
    }

    pub(crate) fn offered(&self, time: Time) -> Option<Bytes> {
        self.capacity.offered(time)
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_units::Rate;

    use super::*;
    use crate::config::{OutageConfig, OutageKind};
    use crate::outage::Spans;
    use crate::rate::{Source, UNLIMITED};
    use cwndlab_trace::RateTrace;

    fn millis(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn hold(start: u64, stop: u64) -> Spans {
        let kind = OutageKind::Hold;
        Spans::new(&[OutageConfig { start: millis(start), stop: millis(stop), kind }], kind)
            .expect("valid")
    }

    fn steps(steps: &[(u64, u64)]) -> Source {
        let rate = |&(from, mbit_s)| (millis(from), Rate::from_mbit_per_sec(mbit_s));
        Source::Steps(steps.iter().map(rate).collect())
    }

    fn server(source: Source, pauses: Spans) -> Fixed {
        Fixed::new(Capacity::new(source, pauses))
    }

    #[test]
    fn packets_leave_one_transmission_time_apart() {
        let mut server = server(steps(&[(0, 12)]), Spans::default());
        assert_eq!(server.serve(millis(5), 1500), millis(6));
        assert_eq!(server.serve(millis(5), 1500), millis(7));
        assert_eq!(server.serve(millis(5), 750), Time::from_micros(7_500));
        assert_eq!(server.serve(millis(8), 1500), millis(9));
    }

    #[test]
    fn what_is_left_goes_at_the_new_rate() {
        // 1500 bytes take 1 ms at 12 Mbit/s and 2 ms at 6 Mbit/s.
        let mut server = server(steps(&[(0, 12), (10, 6), (20, 0), (30, 24)]), Spans::default());
        assert_eq!(server.serve(Time::from_micros(9_500), 1500), Time::from_micros(11_000));
        assert_eq!(server.serve(millis(19), 1500), Time::from_micros(30_250));
        assert_eq!(server.offered(millis(40)), Some(Bytes(15_000 + 7_500 + 30_000)));
    }

    #[test]
    fn a_rate_of_zero_for_good_never_ends() {
        let mut server = server(steps(&[(0, 12), (10, 0)]), Spans::default());
        assert_eq!(server.serve(Time::from_micros(9_500), 1500), Time::NEVER);
        assert_eq!(server.serve(millis(11), 1), Time::NEVER);
    }

    #[test]
    fn a_pause_stops_the_packet_in_service() {
        let mut server = server(steps(&[(0, 12)]), hold(10, 30));
        assert_eq!(server.serve(Time::from_micros(9_400), 1500), Time::from_micros(30_400));
        assert_eq!(server.offered(millis(20)), Some(Bytes(15_000)));
        assert_eq!(server.offered(millis(40)), Some(Bytes(30_000)));
        let mut fast = self::server(Source::Steps(vec![(Time::ZERO, UNLIMITED)]), hold(10, 30));
        assert_eq!(fast.serve(millis(9), 1500), millis(9));
        assert_eq!(fast.serve(millis(10), 1500), millis(30));
        assert_eq!(fast.serve(millis(31), 1500), millis(31));
        assert_eq!(fast.offered(millis(5)), None);
    }

    #[test]
    fn a_log_repeats() {
        // 12 Mbit/s for 1 s, 0 for 1 s, 6 Mbit/s for 1 s, and so on.
        let Ok(RateTrace::Log(log)) = RateTrace::parse_log(b"0,12\n1,0\n2,6\n") else {
            panic!("must be a log")
        };
        let mut server = server(Source::Log(log), Spans::default());
        assert_eq!(server.serve(Time::from_micros(999_500), 1500), Time::from_micros(2_001_000));
        assert_eq!(server.serve(Time::from_micros(2_999_000), 1500), Time::from_micros(3_000_500));
        assert_eq!(server.offered(millis(4_000)), Some(Bytes(1_500_000 + 750_000 + 1_500_000)));
        assert_eq!(server.offered(millis(2_500)), Some(Bytes(1_500_000 + 375_000)));
    }

    #[test]
    fn a_slow_log_takes_no_walk_of_its_laps() {
        // 1 bit/s in periods of 2 us: the 12,000 s of a packet are six billion periods.
        let Ok(RateTrace::Log(log)) = RateTrace::parse_log(b"0,0.000001\n0.000001,0.000001\n")
        else {
            panic!("must be a log")
        };
        let mut server = server(Source::Log(log), Spans::default());
        assert_eq!(server.serve(Time::ZERO, 1500), Time::from_secs(12_000));
    }
}
