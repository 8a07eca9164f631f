//! Of a connection's ACKs that only acknowledge more data, passes one in a given number. This is
//! ACK decimation (RFC 3449 section 5.2.2), as in satellite modems and performance-enhancing
//! proxies.
//!
//! No packet is delayed, so the last ACK of a train may be dropped. Some ACKs always pass: those
//! with data, with options that contain other information, or with SACK blocks; duplicate ACKs;
//! and ACKs that echo a different congestion mark than the previous ACK.

use core::num::NonZeroU32;
use std::collections::BTreeMap;

use crate::Ack;

#[derive(Clone, Debug)]
pub(crate) struct AckThinner {
    every: NonZeroU32,
    connections: BTreeMap<u64, Seen>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    last: Ack,
    /// Number of ACKs dropped since the last ACK that passed.
    dropped: u32,
}

impl AckThinner {
    pub(crate) fn new(every: NonZeroU32) -> Self {
        Self { every, connections: BTreeMap::new() }
    }

    /// Whether to drop a packet that contains this acknowledgement.
    pub(crate) fn drops(&mut self, ack: Option<Ack>) -> bool {
        let Some(ack) = ack else { return false };
        let seen = self.connections.entry(ack.connection);
        let seen = seen.or_insert(Seen { last: ack, dropped: self.every.get() });
        let counts_on = ack.is_pure
            && ack.number != seen.last.number
            && ack.sacks == [(0, 0); Ack::MOST_SACKS]
            && ack.supersedes(&Ack { is_pure: true, ..seen.last });
        let is_dropped = counts_on && seen.dropped + 1 < self.every.get();
        *seen = Seen { last: ack, dropped: if is_dropped { seen.dropped + 1 } else { 0 } };
        is_dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(number: u32) -> Ack {
        let sacks = [(0, 0); Ack::MOST_SACKS];
        Ack { connection: 1, number, sacks, echo: 0, timestamp: None, is_pure: true }
    }

    fn thinner(every: u32) -> AckThinner {
        AckThinner::new(NonZeroU32::new(every).expect("at least one"))
    }

    /// Indices of the ACKs that pass.
    fn passing(every: u32, acks: &[Ack]) -> Vec<usize> {
        let mut thinner = thinner(every);
        let places = acks.iter().enumerate();
        places.filter(|(_, ack)| !thinner.drops(Some(**ack))).map(|(place, _)| place).collect()
    }

    #[test]
    fn one_in_so_many_passes_for_each_connection() {
        let acks: Vec<Ack> = (0..10).map(|n| ack(1_000 * n)).collect();
        assert_eq!(passing(1, &acks), (0..10).collect::<Vec<usize>>());
        assert_eq!(passing(4, &acks), [0, 4, 8]);
        let two: Vec<Ack> =
            (0..12).map(|n| Ack { connection: u64::from(n % 2), ..ack(1_000 * n) }).collect();
        assert_eq!(passing(3, &two), [0, 1, 6, 7]);
        assert!(!thinner(4).drops(None), "what acknowledges nothing");
    }

    #[test]
    fn what_says_more_passes_and_the_count_begins_anew() {
        let mut sack = ack(3_000);
        sack.sacks[0] = (5_000, 6_000);
        let duplicate = ack(1_000);
        let marked = Ack { echo: 0x40, ..ack(2_000) };
        let data = Ack { is_pure: false, ..ack(2_000) };
        for more in [sack, duplicate, marked, data] {
            let after = ack(3_500);
            let acks = [ack(0), ack(1_000), more, after, ack(4_000), ack(5_000), ack(6_000)];
            let passed = passing(4, &acks);
            assert!(passed.starts_with(&[0, 2]), "{more:?}: {passed:?}");
        }
    }
}
