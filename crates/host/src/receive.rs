//! The receiving side: packets that come close together are taken from the device together, and
//! those of one flow that follow on each other become one (GRO), so that TCP answers once.

use cwndlab_units::{Duration, Time};

/// A packet that can swallow the next one.
pub trait Merge {
    /// Takes in `next` if that is the continuation of this packet. Returns whether it did.
    fn merge(&mut self, next: &Self) -> bool;

    /// Whether `other` belongs to the same connection.
    fn is_of_same_flow(&self, other: &Self) -> bool;
}

/// What a device has received and its machine has not looked at.
#[derive(Clone, Debug)]
pub struct Receiver<P> {
    /// How long the device waits for more after a packet before it interrupts.
    interval: Duration,
    batch: Vec<P>,
    due: Time,
}

impl<P: Merge> Receiver<P> {
    /// A device that waits so long for more.
    pub fn new(interval: Duration) -> Self {
        Self { interval, batch: Vec::new(), due: Time::NEVER }
    }

    /// Takes a packet from the link.
    pub fn handle_packet(&mut self, now: Time, packet: P) {
        if self.batch.is_empty() {
            self.due = now + self.interval;
        }
        let last = self.batch.iter_mut().rev().find(|held| held.is_of_same_flow(&packet));
        if !last.is_some_and(|held| held.merge(&packet)) {
            self.batch.push(packet);
        }
    }

    /// What the machine gets, all at once, if it is time.
    pub fn poll(&mut self, now: Time) -> Vec<P> {
        if self.due > now {
            return Vec::new();
        }
        self.due = Time::NEVER;
        core::mem::take(&mut self.batch)
    }

    /// When [`Receiver::poll`] has something; [`Time::NEVER`] if nothing came.
    pub fn wake_time(&self) -> Time {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A flow and the range of its bytes.
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Piece(u8, u32, u32);

    impl Merge for Piece {
        fn merge(&mut self, next: &Self) -> bool {
            let follows = self.is_of_same_flow(next) && self.2 == next.1;
            if follows {
                self.2 = next.2;
            }
            follows
        }

        fn is_of_same_flow(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }

    #[test]
    fn what_comes_within_the_interval_comes_together() {
        let mut receiver = Receiver::new(Duration::from_micros(50));
        assert_eq!(receiver.wake_time(), Time::NEVER);
        receiver.handle_packet(Time::from_micros(10), Piece(1, 0, 10));
        receiver.handle_packet(Time::from_micros(20), Piece(2, 0, 10));
        receiver.handle_packet(Time::from_micros(30), Piece(1, 10, 20));
        receiver.handle_packet(Time::from_micros(40), Piece(1, 30, 40));
        assert_eq!(receiver.poll(Time::from_micros(59)), []);
        assert_eq!(receiver.wake_time(), Time::from_micros(60));
        let all = [Piece(1, 0, 20), Piece(2, 0, 10), Piece(1, 30, 40)];
        assert_eq!(receiver.poll(Time::from_micros(60)), all);
        assert_eq!(receiver.poll(Time::from_micros(90)), []);
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_and_no_flow_is_reordered(
            arrivals in prop::collection::vec((0u64..40, 0u8..3, 1u32..4), 1..100),
        ) {
            let mut receiver = Receiver::new(Duration::from_micros(50));
            let (mut next, mut now) = ([0_u32; 3], Time::ZERO);
            let mut seen: [Vec<Piece>; 3] = Default::default();
            let mut take = |pieces: Vec<Piece>| {
                for piece in pieces {
                    seen[usize::from(piece.0)].push(piece);
                }
            };
            for (gap_us, flow, bytes) in arrivals {
                now += Duration::from_micros(gap_us);
                take(receiver.poll(now));
                let start = next[usize::from(flow)];
                next[usize::from(flow)] = start + bytes;
                receiver.handle_packet(now, Piece(flow, start, start + bytes));
            }
            take(receiver.poll(Time::from_secs(1)));
            for (pieces, end) in seen.iter().zip(next) {
                let mut at = 0;
                for piece in pieces {
                    prop_assert_eq!(piece.1, at);
                    at = piece.2;
                }
                prop_assert_eq!(at, end);
            }
        }
    }
}
