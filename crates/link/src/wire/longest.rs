//! The longest queue of a wire, and a fast test whether the queue is shorter now.

use cwndlab_units::{Duration, Time};

use super::steady::Steady;
use crate::ring::Ring;

/// Length of the longest queue since a measurement window began, and a lower bound on recent service
/// times.
///
/// With this bound, the state of the server alone usually shows that the queue is shorter now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LongestQueue {
    /// Maximum number of packets in the queue and in service.
    packets: u32,
    /// Lower bound on the service time of each of the last `packets` packets.
    shortest_service: Duration,
    /// Minimum time in which `packets - 1` packets are served.
    least_time: Duration,
}

impl LongestQueue {
    /// Creates the state before the first packet.
    pub(super) fn new() -> Self {
        let shortest_service = Duration::from_nanos(u64::MAX);
        Self { packets: 0, shortest_service, least_time: Duration::ZERO }
    }

    #[inline]
    pub(super) fn packets(&self) -> u32 {
        self.packets
    }

    /// Sets the length of the longest queue.
    pub(super) fn set(&mut self, packets: u32) {
        self.packets = packets;
        let others = u64::from(packets.saturating_sub(1));
        let nanos = self.shortest_service.as_nanos().saturating_mul(others);
        self.least_time = Duration::from_nanos(nanos);
    }

    /// Records the service time of a packet.
    #[inline]
    pub(super) fn note_service(&mut self, service: Duration) {
        if service < self.shortest_service {
            self.shortest_service = service;
            self.set(self.packets);
        }
    }

    /// Checks the queue itself. Returns whether the queue at `now` is as long as the longest
    /// queue.
    #[inline(never)]
    pub(super) fn look_at<P>(&mut self, ring: &Ring<P>, steady: &Steady, now: Time) -> bool {
        self.note_alike(steady.service, ring.pushed().packets - steady.packets_before);
        self.packets == 0 || !ring.has_fewer_waiting(self.packets, now)
    }

    /// Raises the bound if the last `count` packets all had this service time, because packets
    /// with shorter service times have left a queue of at most this length.
    fn note_alike(&mut self, service: Duration, count: u64) {
        if service > self.shortest_service && count >= u64::from(self.packets) {
            self.shortest_service = service;
            self.set(self.packets);
        }
    }

    /// Whether the queue at `now` is certainly shorter than the longest queue, if the server
    /// finishes it at `free_at`: if it were as long, the packets after the first would take
    /// longer.
    #[inline]
    pub(super) fn is_longer_than_queue(&self, free_at: Time, now: Time) -> bool {
        free_at.as_nanos() - now.as_nanos() < self.least_time.as_nanos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_packets_of_ten_nanoseconds_take_twenty_after_the_first() {
        let mut longest = LongestQueue::new();
        let now = Time::from_nanos(100);
        assert!(!longest.is_longer_than_queue(now, now), "it was empty at most");
        longest.note_service(Duration::from_nanos(30));
        longest.set(3);
        longest.note_service(Duration::from_nanos(10));
        let is_longer =
            [119, 120].map(|at| longest.is_longer_than_queue(Time::from_nanos(at), now));
        assert_eq!(is_longer, [true, false]);
        assert_eq!(longest.packets(), 3);
    }

    #[test]
    fn a_short_packet_is_forgotten_when_as_many_long_ones_have_come_as_the_queue_held() {
        let mut longest = LongestQueue::new();
        let (now, free_at) = (Time::ZERO, Time::from_nanos(19));
        longest.note_service(Duration::from_nanos(1));
        longest.set(3);
        longest.note_alike(Duration::from_nanos(10), 2);
        assert!(!longest.is_longer_than_queue(free_at, now), "the short one may wait");
        longest.note_alike(Duration::from_nanos(10), 3);
        assert!(longest.is_longer_than_queue(free_at, now));
        longest.note_service(Duration::from_nanos(1));
        assert!(!longest.is_longer_than_queue(free_at, now), "another short one came");
    }

    #[test]
    fn a_packet_that_takes_no_time_says_nothing() {
        let mut longest = LongestQueue::new();
        longest.set(5);
        longest.note_service(Duration::ZERO);
        assert!(!longest.is_longer_than_queue(Time::ZERO, Time::ZERO));
    }
}
