//! The packets of a lane that a frame contains.

/// Places in a lane, in ascending order; usually the first `count` places, which are not stored
/// one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    count: u32,
    /// All places; empty if these are the first `count` places.
    listed: Vec<u32>,
}

impl Places {
    /// Chooses nothing.
    pub(crate) fn clear(&mut self) {
        self.choose_first(0);
    }

    /// Chooses the first `count` places.
    pub(crate) fn choose_first(&mut self, count: u32) {
        self.count = count;
        self.listed.clear();
    }

    /// Adds a place after the others; all of them must have been added with this method.
    pub(crate) fn push(&mut self, place: u32) {
        debug_assert_eq!(self.listed.len(), self.len(), "all places are stored in the list");
        self.count += 1;
        self.listed.push(place);
    }

    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the places begin with the first place of the lane and have no gaps.
    pub(crate) fn is_from_front(&self) -> bool {
        self.last().is_some_and(|last| last + 1 == self.count)
    }

    pub(crate) fn first(&self) -> Option<u32> {
        self.iter().next()
    }

    pub(crate) fn last(&self) -> Option<u32> {
        let last = self.count.checked_sub(1)?;
        Some(self.listed.last().copied().unwrap_or(last))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        let place = |index: u32| self.listed.get(index as usize).copied().unwrap_or(index);
        (0..self.count).map(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_the_same_whether_they_are_listed_or_not() {
        let mut at_once = Places::default();
        at_once.choose_first(3);
        let mut one_by_one = Places::default();
        (0..3).for_each(|place| one_by_one.push(place));
        for places in [&at_once, &one_by_one] {
            assert_eq!(places.iter().collect::<Vec<_>>(), [0, 1, 2]);
            assert_eq!((places.first(), places.last(), places.len()), (Some(0), Some(2), 3));
            assert!(places.is_from_front());
        }
        at_once.clear();
        assert!(at_once.is_empty() && !at_once.is_from_front());
        assert_eq!((at_once.first(), at_once.last()), (None, None));
        one_by_one.push(7);
        assert!(!one_by_one.is_from_front());
        assert_eq!(one_by_one.iter().last(), Some(7));
    }
}
