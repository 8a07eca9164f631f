//! A sorted set of disjoint byte ranges: the out-of-order data of a receiver, or what the sender
//! knows of them.

use std::collections::VecDeque;

/// Half-open byte ranges that are sorted, disjoint and not adjacent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intervals {
    ranges: VecDeque<(u64, u64)>,
    covered: u64,
}

impl Intervals {
    /// Number of bytes in all ranges.
    pub(crate) fn covered(&self) -> u64 {
        self.covered
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The ranges in ascending order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().copied()
    }

    /// End of the highest range.
    pub(crate) fn highest(&self) -> Option<u64> {
        self.ranges.back().map(|range| range.1)
    }

    /// Index of the first range that ends at or after `at`. The last range is checked first,
    /// because new ranges are usually near the end.
    fn first_reaching(&self, at: u64) -> usize {
        match self.ranges.back() {
            None => 0,
            Some(&(start, _)) if at > start => {
                self.ranges.len() - usize::from(self.ranges.back().is_some_and(|r| r.1 >= at))
            }
            Some(_) => self.ranges.partition_point(|range| range.1 < at),
        }
    }

    /// Adds a range. Returns the merged range that now contains it, and the number of new bytes.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> ((u64, u64), u64) {
        debug_assert!(start < end, "range {start}..{end}");
        let first = self.first_reaching(start);
        let mut last = first;
        let (mut low, mut high, mut known) = (start, end, 0);
        while let Some(&(from, to)) = self.ranges.get(last).filter(|range| range.0 <= end) {
            low = low.min(from);
            high = high.max(to);
            known += to - from;
            last += 1;
        }
        let added = high - low - known;
        match last - first {
            0 => self.ranges.insert(first, (low, high)),
            merged => {
                self.ranges[first] = (low, high);
                if merged > 1 {
                    self.ranges.drain(first + 1..last);
                }
            }
        }
        self.covered += added;
        ((low, high), added)
    }

    /// Removes everything below `at`.
    pub(crate) fn remove_below(&mut self, at: u64) {
        while let Some(front) = self.ranges.front_mut() {
            if front.0 >= at {
                return;
            }
            let cut = front.1.min(at);
            self.covered -= cut - front.0;
            front.0 = cut;
            if front.0 < front.1 {
                return;
            }
            self.ranges.pop_front();
        }
    }

    /// Number of bytes in `start..end` that no range covers; the time is linear in the number of
    /// ranges in between.
    pub(crate) fn uncovered(&self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let covered: u64 = self
            .ranges
            .iter()
            .skip(self.first_reaching(start))
            .take_while(|range| range.0 < end)
            .map(|&(from, to)| to.min(end) - from.max(start))
            .sum();
        end - start - covered
    }

    /// The first gap in `start..end`, if any.
    pub(crate) fn first_hole(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let mut at = start;
        for &(from, to) in self.ranges.iter().skip(self.first_reaching(start)) {
            if at < from {
                return (at < end).then(|| (at, from.min(end)));
            }
            at = at.max(to);
        }
        (at < end).then_some((at, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranges(intervals: &Intervals) -> Vec<(u64, u64)> {
        intervals.iter().collect()
    }

    #[test]
    fn touching_ranges_become_one() {
        let mut set = Intervals::default();
        assert_eq!(set.insert(10, 20), ((10, 20), 10));
        assert_eq!(set.insert(30, 40), ((30, 40), 10));
        assert_eq!(set.insert(20, 30), ((10, 40), 10));
        assert_eq!(ranges(&set), [(10, 40)]);
    }

    #[test]
    fn known_range_adds_nothing() {
        let mut set = Intervals::default();
        set.insert(10, 40);
        assert_eq!(set.insert(15, 20), ((10, 40), 0));
        assert_eq!(set.covered(), 30);
    }

    #[test]
    fn holes_are_found_in_order() {
        let mut set = Intervals::default();
        set.insert(10, 20);
        set.insert(30, 40);
        assert_eq!(set.first_hole(0, 40), Some((0, 10)));
        assert_eq!(set.first_hole(10, 40), Some((20, 30)));
        assert_eq!(set.first_hole(12, 25), Some((20, 25)));
        assert_eq!(set.first_hole(30, 40), None);
        assert_eq!(set.uncovered(5, 35), 15);
    }

    proptest! {
        #[test]
        fn agrees_with_a_set_of_bytes(
            operations in prop::collection::vec((0_u64..200, 1_u64..20, 0_u8..8), 1..60)
        ) {
            let mut set = Intervals::default();
            let mut bytes = std::collections::BTreeSet::new();
            for (at, length, kind) in operations {
                if kind == 0 {
                    set.remove_below(at);
                    bytes.retain(|byte| *byte >= at);
                } else {
                    let before = bytes.len();
                    bytes.extend(at..at + length);
                    let (range, added) = set.insert(at, at + length);
                    prop_assert_eq!(added as usize, bytes.len() - before);
                    prop_assert!(range.0 <= at && at + length <= range.1);
                }
                prop_assert_eq!(set.covered() as usize, bytes.len());
                let missing = (at..at + 40).filter(|byte| !bytes.contains(byte)).count();
                prop_assert_eq!(set.uncovered(at, at + 40) as usize, missing);
                let hole = (at..at + 40).find(|byte| !bytes.contains(byte));
                prop_assert_eq!(set.first_hole(at, at + 40).map(|hole| hole.0), hole);
                let sorted = ranges(&set);
                prop_assert!(sorted.windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
        }
    }
}
