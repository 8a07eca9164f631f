//! A set of sequence numbers: the data that a receiver reports beyond the first gap.

use std::collections::BTreeMap;

/// Disjoint half-open ranges of sequence numbers.
#[derive(Debug, Default)]
pub struct Ranges {
    by_start: BTreeMap<u64, u64>,
    total: u64,
}

impl Ranges {
    /// Number of elements.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Adds a range.
    ///
    /// Adds a range; returns the parts of the range that were not in the set.
    pub fn add(&mut self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut new = Vec::new();
        let (mut merged_start, mut merged_end) = (start, end);
        let mut at = start;
        let first = self
            .by_start
            .range(..=start)
            .next_back()
            .filter(|&(_, &other_end)| other_end >= start)
            .map_or(start, |(&other_start, _)| other_start);
        let touching: Vec<(u64, u64)> =
            self.by_start.range(first..=end).map(|(&from, &to)| (from, to)).collect();
        for (from, to) in touching {
            if at < from {
                new.push((at, from));
            }
            at = at.max(to);
            merged_start = merged_start.min(from);
            merged_end = merged_end.max(to);
            self.by_start.remove(&from);
        }
        if at < end {
            new.push((at, end));
        }
        if merged_start < merged_end {
            self.by_start.insert(merged_start, merged_end);
        }
        self.total += new.iter().map(|(from, to)| to - from).sum::<u64>();
        new
    }

    /// Removes all numbers before `end` from the set.
    pub fn remove_before(&mut self, end: u64) {
        while let Some((&start, &stop)) = self.by_start.first_key_value() {
            if start >= end {
                break;
            }
            self.by_start.remove(&start);
            self.total -= stop.min(end) - start;
            if stop > end {
                self.by_start.insert(end, stop);
            }
        }
    }

    /// Whether the set contains every number of the given range.
    pub fn contains(&self, start: u64, end: u64) -> bool {
        self.by_start.range(..=start).next_back().is_some_and(|(_, &stop)| stop >= end)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_new_parts_are_answered() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.add(10, 20), [(10, 20)]);
        assert_eq!(ranges.add(30, 40), [(30, 40)]);
        assert_eq!(ranges.add(5, 35), [(5, 10), (20, 30)]);
        assert_eq!(ranges.add(5, 40), []);
        ranges.remove_before(38);
        assert_eq!((ranges.total(), ranges.contains(38, 40)), (2, true));
    }

    proptest! {
        #[test]
        fn it_is_a_set(steps in prop::collection::vec((any::<bool>(), 0_u64..60, 0_u64..20), 0..40)) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for (is_add, start, length) in steps {
                if is_add {
                    let new = ranges.add(start, start + length);
                    let numbers: Vec<u64> = new.iter().flat_map(|&(from, to)| from..to).collect();
                    let expected: Vec<u64> =
                        (start..start + length).filter(|n| set.insert(*n)).collect();
                    prop_assert_eq!(numbers, expected);
                } else {
                    ranges.remove_before(start);
                    set.retain(|&n| n >= start);
                }
                prop_assert_eq!(ranges.total(), set.len() as u64);
            }
        }
    }
}
