//! Finds the component that is due next, with a tournament tree over wake times.
//!
//! Each leaf contains the wake time of a component; each inner node contains the earliest time of
//! its four children. A walk down from the root finds the earliest component. The walk prefers the
//! leftmost child, so of two components with equal times, the one with the lower index comes
//! first. The order of events therefore depends only on the scenario.
//!
//! The two components with the lowest indices are the two directions of the path. They cause most
//! events, so they are stored next to the root instead of among the leaves.
//!
//! The time in a leaf may be *earlier* than the true wake time of its component, but never later.
//! Each ACK moves timers of a TCP endpoint to a later time. The leaf is corrected only when its
//! old time arrives, which costs one walk through the tree per timeout instead of one per ACK.

use cwndlab_units::Time;

/// The next wake times of a fixed number of components.
#[derive(Debug)]
pub(crate) struct WakeTree {
    /// Wake times of the two components next to the root.
    near: [Time; NEAR],
    /// The earliest wake time of the leaves.
    root: Time,
    /// The children of each inner node, level by level from the root: the children of child `i` of
    /// block `b` are in block `4 * b + 1 + i`.
    ///
    /// The last level repeats the times listed in the leaves.
    blocks: Vec<[Time; WIDTH]>,
    /// Index of the first block of the last level.
    first_last: usize,
    leaves: Vec<Leaf>,
}

/// A component's place in the tree.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    /// Wake time that the tree contains.
    listed: Time,
    /// True wake time of the component, which is not before the listed time.
    wake: Time,
}

/// Number of components that are stored next to the root.
pub(crate) const NEAR: usize = 2;

/// Number of children of an inner node.
const WIDTH: usize = 4;

impl WakeTree {
    /// Creates a tree for `components` components, none of which has a wake time.
    pub(crate) fn new(components: usize) -> Self {
        let leaves = components.saturating_sub(NEAR);
        let (mut last_blocks, mut first_last) = (1, 0);
        while last_blocks * WIDTH < leaves {
            first_last += last_blocks;
            last_blocks *= WIDTH;
        }
        // The last level contains only blocks that have a leaf.
        let last_blocks = leaves.div_ceil(WIDTH).max(1);
        Self {
            near: [Time::NEVER; NEAR],
            root: Time::NEVER,
            blocks: vec![[Time::NEVER; WIDTH]; first_last + last_blocks],
            first_last,
            leaves: vec![Leaf { listed: Time::NEVER, wake: Time::NEVER }; leaves],
        }
    }

    /// Sets a component's wake time; [`Time::NEVER`] removes it.
    #[inline]
    pub(crate) fn set(&mut self, component: usize, wake: Time) {
        match component.checked_sub(NEAR) {
            None => self.set_near(component, wake),
            Some(leaf) => self.set_leaf(leaf, wake),
        }
    }

    /// Sets the wake time of one of the two components next to the root.
    #[inline]
    pub(crate) fn set_near(&mut self, component: usize, wake: Time) {
        self.near[component] = wake;
    }

    /// The wake time of one of the two components next to the root.
    #[inline]
    pub(crate) fn near(&self, component: usize) -> Time {
        self.near[component]
    }

    /// Sets the wake time of a component among the leaves.
    #[inline]
    pub(crate) fn set_leaf(&mut self, index: usize, wake: Time) {
        let leaf = &mut self.leaves[index];
        leaf.wake = wake;
        if wake < leaf.listed {
            leaf.listed = wake;
            self.lower(index, wake);
        }
    }

    /// The component that is due first and its wake time, if this time is not after `until`.
    #[inline]
    pub(crate) fn first(&mut self, until: Time) -> Option<(Time, usize)> {
        let near = usize::from(self.near[1] < self.near[0]);
        let mut first = (self.near[near], near);
        if first.0 > self.root {
            first = self.first_with_leaves(first);
        }
        (first.0 <= until).then_some(first)
    }

    /// The first of the leaves and `other`; if the times are equal, `other` comes first.
    #[inline(never)]
    fn first_with_leaves(&mut self, other: (Time, usize)) -> (Time, usize) {
        while self.root < other.0 {
            let index = self.first_leaf();
            let leaf = &mut self.leaves[index];
            if leaf.wake == leaf.listed {
                return (leaf.wake, index + NEAR);
            }
            leaf.listed = leaf.wake;
            self.raise(index);
        }
        other
    }

    /// The leftmost of the leaves that have the earliest listed time.
    fn first_leaf(&self) -> usize {
        let mut number = 0;
        loop {
            let [first, second, third, _] = self.blocks[number];
            let child = if first == self.root {
                0
            } else if second == self.root {
                1
            } else if third == self.root {
                2
            } else {
                3
            };
            if number >= self.first_last {
                return (number - self.first_last) * WIDTH + child;
            }
            number = number * WIDTH + 1 + child;
        }
    }

    /// Updates the tree after the time of a leaf moved to an earlier time.
    fn lower(&mut self, leaf: usize, listed: Time) {
        let (mut number, mut child) = (self.first_last + leaf / WIDTH, leaf % WIDTH);
        loop {
            let time = &mut self.blocks[number][child];
            if *time <= listed {
                return;
            }
            *time = listed;
            if number == 0 {
                break;
            }
            (number, child) = ((number - 1) / WIDTH, (number - 1) % WIDTH);
        }
        self.root = self.root.min(listed);
    }

    /// Updates the tree after the time of the first leaf moved to a later time.
    fn raise(&mut self, leaf: usize) {
        let mut earliest = self.leaves[leaf].listed;
        let (mut number, mut child) = (self.first_last + leaf / WIDTH, leaf % WIDTH);
        loop {
            let block = &mut self.blocks[number];
            block[child] = earliest;
            let [first, second, third, fourth] = *block;
            earliest = first.min(second).min(third.min(fourth));
            if number == 0 {
                break;
            }
            (number, child) = ((number - 1) / WIDTH, (number - 1) % WIDTH);
        }
        self.root = earliest;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn ties_go_to_the_lower_index() {
        let mut tree = WakeTree::new(5);
        for component in [4, 1, 3] {
            tree.set(component, at(7));
        }
        assert_eq!(tree.first(at(7)), Some((at(7), 1)));
        tree.set(1, Time::NEVER);
        assert_eq!(tree.first(at(7)), Some((at(7), 3)));
    }

    #[test]
    fn nothing_is_due_before_its_time() {
        let mut tree = WakeTree::new(1);
        assert_eq!(tree.first(at(1_000)), None);
        tree.set(0, at(10));
        assert_eq!(tree.first(at(9)), None);
        assert_eq!(tree.first(at(10)), Some((at(10), 0)));
    }

    #[test]
    fn a_timer_that_moves_on_fires_at_its_last_time() {
        let mut tree = WakeTree::new(3);
        for nanos in 1..50 {
            tree.set(2, at(nanos));
        }
        tree.set(0, at(20));
        assert_eq!(tree.first(at(100)), Some((at(20), 0)));
        tree.set(0, Time::NEVER);
        assert_eq!(tree.first(at(100)), Some((at(49), 2)));
    }

    #[test]
    fn trees_of_all_sizes_know_their_last_component() {
        for components in 1..90 {
            let mut tree = WakeTree::new(components);
            for component in 0..components {
                tree.set(component, at(1_000 - component as u64));
            }
            let last = components - 1;
            assert_eq!(tree.first(at(1_000)), Some((at(1_000 - last as u64), last)));
        }
    }

    proptest! {
        #[test]
        fn first_is_the_minimum_of_a_plain_list(
            sets in prop::collection::vec((0usize..41, 0u64..40), 1..400)
        ) {
            let mut tree = WakeTree::new(41);
            let mut list = [u64::MAX; 41];
            for (component, nanos) in sets {
                let nanos = if nanos == 39 { u64::MAX } else { nanos };
                tree.set(component, at(nanos));
                list[component] = nanos;
                let expected = list.iter().copied().enumerate().min_by_key(|&(i, t)| (t, i));
                let (index, time) = expected.expect("forty-one components");
                let first = tree.first(at(u64::MAX - 1));
                prop_assert_eq!(first, (time != u64::MAX).then_some((at(time), index)));
            }
        }
    }
}
