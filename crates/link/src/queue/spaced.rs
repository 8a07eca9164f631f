//! Drops single packets that are spaced apart, with a packet discard prevention counter.
//!
//! A queue that overflows under a growing window drops several packets before the sender notices
//! the first drop. Sågfors, Ludwig, Meyer and Peisa, "Queue management for TCP traffic over 3G
//! links", 2003, let a radio bearer's queue drop one packet at a threshold, and then count packets
//! before the next one may be dropped. This implementation has only one of their thresholds.

use crate::Backlog;
use crate::config::EarlyDiscard;

#[derive(Clone, Copy, Debug)]
pub(crate) struct SpacedDiscard {
    config: EarlyDiscard,
    /// Number of packets that were accepted since the last discard.
    taken: u32,
}

impl SpacedDiscard {
    pub(crate) fn new(config: EarlyDiscard) -> Self {
        Self { config, taken: u32::MAX }
    }

    /// Decides whether to drop a packet that arrives when the queue has this backlog.
    pub(crate) fn decide(&mut self, backlog: Backlog) -> bool {
        let is_due = self.taken >= self.config.spacing_packets;
        if is_due && backlog.packets >= self.config.at_packets {
            self.taken = 0;
            return true;
        }
        self.taken = self.taken.saturating_add(1);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(discard: &mut SpacedDiscard, packets: u32) -> bool {
        !discard.decide(Backlog { packets, bytes: u64::from(packets) * 1500 })
    }

    #[test]
    fn one_is_dropped_at_the_threshold_and_the_next_after_so_many_others() {
        let mut discard = SpacedDiscard::new(EarlyDiscard { at_packets: 10, spacing_packets: 4 });
        assert!((0..10).all(|packets| takes(&mut discard, packets)));
        let taken: Vec<bool> = (0..10).map(|_| takes(&mut discard, 12)).collect();
        let one_in_five = [false, true, true, true, true].repeat(2);
        assert_eq!(taken, one_in_five, "the first at once, then every fifth");
    }

    #[test]
    fn what_came_while_the_queue_was_short_counts_too() {
        let mut discard = SpacedDiscard::new(EarlyDiscard { at_packets: 10, spacing_packets: 4 });
        assert!(!takes(&mut discard, 10));
        assert!((0..4).all(|_| takes(&mut discard, 1)));
        assert!(!takes(&mut discard, 10));
    }
}
