//! The receive side of a host: packets that arrive within a short interval are taken from the
//! device together, and consecutive packets of one flow are merged into one (GRO), so that TCP
//! acknowledges them once.

use core::convert::Infallible;
use std::collections::VecDeque;

use cwndlab_units::{Duration, Output, Time};

/// A packet that can be merged with the next packet of its flow.
pub trait Merge {
    /// Appends `next` if its data continue the data of this packet. Returns whether `next` was
    /// appended.
    fn merge(&mut self, next: &Self) -> bool;

    /// Whether `other` belongs to the same connection as this packet.
    fn is_of_same_flow(&self, other: &Self) -> bool;
}

/// Packets that a device has received and that its host has not processed yet.
#[derive(Clone, Debug)]
pub struct Receiver<P> {
    /// Time for which the device waits for further packets before it raises an interrupt.
    interval: Duration,
    batch: VecDeque<P>,
    due: Time,
    /// Packets that the host is processing, and the time of the interrupt that delivered them.
    taken: VecDeque<P>,
    /// Time of the interrupt that delivered `taken`.
    taken_at: Time,
}

impl<P: Merge> Receiver<P> {
    /// Creates a device that raises an interrupt `interval` after the first packet.
    pub fn new(interval: Duration) -> Self {
        let (batch, taken) = (VecDeque::new(), VecDeque::new());
        Self { interval, batch, due: Time::NEVER, taken, taken_at: Time::NEVER }
    }

    /// Receives a packet from the link.
    pub fn handle_packet(&mut self, now: Time, packet: P) {
        if self.batch.is_empty() {
            self.due = now + self.interval;
        }
        let last = self.batch.iter_mut().rev().find(|held| held.is_of_same_flow(&packet));
        if !last.is_some_and(|held| held.merge(&packet)) {
            self.batch.push_back(packet);
        }
    }

    /// The next packet, at port 0, of those that arrived before the interrupt.
    pub fn poll(&mut self, now: Time) -> Option<Output<P, Infallible>> {
        if self.taken.is_empty() && self.due <= now {
            core::mem::swap(&mut self.taken, &mut self.batch);
            self.taken_at = core::mem::replace(&mut self.due, Time::NEVER);
        }
        let packet = self.taken.pop_front()?;
        Some(Output::Packet { at: self.taken_at, port: 0, packet })
    }

    /// Time at which [`Receiver::poll`] next returns a packet; [`Time::NEVER`] if no packet has
    /// arrived.
    pub fn wake_time(&self) -> Time {
        if self.taken.is_empty() { self.due } else { self.taken_at }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A flow's number and the range of its bytes.
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

    /// All packets that the device delivers at `now`.
    fn all(receiver: &mut Receiver<Piece>, now: Time) -> Vec<Piece> {
        let mut pieces = Vec::new();
        while let Some(Output::Packet { packet, .. }) = receiver.poll(now) {
            pieces.push(packet);
        }
        pieces
    }

    #[test]
    fn what_comes_within_the_interval_comes_together() {
        let mut receiver = Receiver::new(Duration::from_micros(50));
        assert_eq!(receiver.wake_time(), Time::NEVER);
        receiver.handle_packet(Time::from_micros(10), Piece(1, 0, 10));
        receiver.handle_packet(Time::from_micros(20), Piece(2, 0, 10));
        receiver.handle_packet(Time::from_micros(30), Piece(1, 10, 20));
        receiver.handle_packet(Time::from_micros(40), Piece(1, 30, 40));
        assert_eq!(all(&mut receiver, Time::from_micros(59)), []);
        assert_eq!(receiver.wake_time(), Time::from_micros(60));
        let merged = [Piece(1, 0, 20), Piece(2, 0, 10), Piece(1, 30, 40)];
        assert_eq!(all(&mut receiver, Time::from_micros(60)), merged);
        assert_eq!(all(&mut receiver, Time::from_micros(90)), []);
    }

    #[test]
    fn what_comes_after_the_interrupt_waits_for_the_next() {
        let mut receiver = Receiver::new(Duration::from_micros(50));
        receiver.handle_packet(Time::ZERO, Piece(1, 0, 10));
        receiver.handle_packet(Time::ZERO, Piece(2, 0, 10));
        let now = Time::from_micros(70);
        let first = Output::Packet { at: Time::from_micros(50), port: 0, packet: Piece(1, 0, 10) };
        assert_eq!(receiver.poll(now), Some(first));
        receiver.handle_packet(now, Piece(2, 10, 20));
        assert_eq!(receiver.wake_time(), Time::from_micros(50));
        assert_eq!(all(&mut receiver, now), [Piece(2, 0, 10)]);
        assert_eq!(receiver.wake_time(), now + Duration::from_micros(50));
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
                take(all(&mut receiver, now));
                let start = next[usize::from(flow)];
                next[usize::from(flow)] = start + bytes;
                receiver.handle_packet(now, Piece(flow, start, start + bytes));
            }
            take(all(&mut receiver, Time::from_secs(1)));
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
