//! Which component is due next: a tournament tree over wake times.
//!
//! The leaves hold one wake time per component, every inner node the earlier of its two children.
//! The earliest component is found by walking down from the root, the left child first, so that
//! ties go to the component with the lower index and the order of events is a function of the
//! scenario alone.
//!
//! The two components with the lowest indices, which are the two directions of the path and cause
//! most of the events, stand beside the root instead of among the leaves.
//!
//! A leaf may be *earlier* than its component's true wake time, never later. Timers of a TCP
//! endpoint move on with every ACK: only when the old time comes round is the leaf put right, which
//! costs one look at the tree per timeout instead of one per ACK.

use cwndlab_units::Time;

/// The next wake times of a fixed number of components.
#[derive(Debug)]
pub(crate) struct WakeTree {
    /// Wake times of the first two components.
    near: [Time; NEAR],
    /// The earliest of the leaves.
    root: Time,
    /// `nodes[1]` is the root, the children of `nodes[i]` are `2 * i` and `2 * i + 1`; where those
    /// numbers go beyond the nodes, they go on in `leaves`.
    nodes: Vec<Time>,
    leaves: Vec<Leaf>,
}

/// A component's place in the tree.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    /// What the tree knows.
    listed: Time,
    /// The true wake time, not before the listed one.
    wake: Time,
}

/// How many components stand beside the root.
pub(crate) const NEAR: usize = 2;

impl WakeTree {
    /// A tree of `components` components, none of which wants to be woken.
    pub(crate) fn new(components: usize) -> Self {
        let leaves = components.saturating_sub(NEAR).next_power_of_two().max(2);
        Self {
            near: [Time::NEVER; NEAR],
            root: Time::NEVER,
            nodes: vec![Time::NEVER; leaves],
            leaves: vec![Leaf { listed: Time::NEVER, wake: Time::NEVER }; leaves],
        }
    }

    /// Sets a component's wake time; [`Time::NEVER`] takes it out.
    #[inline]
    pub(crate) fn set(&mut self, component: usize, wake: Time) {
        match component.checked_sub(NEAR) {
            None => self.set_near(component, wake),
            Some(leaf) => self.set_leaf(leaf, wake),
        }
    }

    /// The same for one of the first two components.
    #[inline]
    pub(crate) fn set_near(&mut self, component: usize, wake: Time) {
        self.near[component] = wake;
    }

    /// The same for a component among the leaves.
    #[inline]
    pub(crate) fn set_leaf(&mut self, index: usize, wake: Time) {
        let leaf = &mut self.leaves[index];
        leaf.wake = wake;
        if wake < leaf.listed {
            leaf.listed = wake;
            self.lower(index, wake);
        }
    }

    /// The component that is due first and its time, if any is at or before `until`.
    #[inline]
    pub(crate) fn first(&mut self, until: Time) -> Option<(Time, usize)> {
        let near = usize::from(self.near[1] < self.near[0]);
        let mut first = (self.near[near], near);
        if first.0 > self.root {
            first = self.first_with_leaves(first);
        }
        (first.0 <= until).then_some(first)
    }

    /// The first component of the leaves and this one, which goes before a leaf of the same time.
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

    /// The first of the leaves that are listed the earliest.
    fn first_leaf(&self) -> usize {
        let mut node = 1;
        while 2 * node < self.nodes.len() {
            node *= 2;
            node += usize::from(self.nodes[node] != self.root);
        }
        let left = 2 * node - self.leaves.len();
        left + usize::from(self.leaves[left].listed != self.root)
    }

    /// A leaf has moved to an earlier time.
    fn lower(&mut self, leaf: usize, listed: Time) {
        let mut node = (self.leaves.len() + leaf) / 2;
        while node > 0 && self.nodes[node] > listed {
            self.nodes[node] = listed;
            node /= 2;
        }
        self.root = self.nodes[1];
    }

    /// The first leaf has moved to a later time.
    fn raise(&mut self, leaf: usize) {
        let mut earlier = self.leaves[leaf].listed.min(self.leaves[leaf ^ 1].listed);
        let mut node = (self.leaves.len() + leaf) / 2;
        while node > 1 {
            self.nodes[node] = earlier;
            earlier = earlier.min(self.nodes[node ^ 1]);
            node /= 2;
        }
        self.nodes[1] = earlier;
        self.root = earlier;
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

    proptest! {
        #[test]
        fn first_is_the_minimum_of_a_plain_list(
            sets in prop::collection::vec((0usize..11, 0u64..40), 1..200)
        ) {
            let mut tree = WakeTree::new(11);
            let mut list = [u64::MAX; 11];
            for (component, nanos) in sets {
                let nanos = if nanos == 39 { u64::MAX } else { nanos };
                tree.set(component, at(nanos));
                list[component] = nanos;
                let expected = list.iter().copied().enumerate().min_by_key(|&(i, t)| (t, i));
                let (index, time) = expected.expect("eleven components");
                let first = tree.first(at(u64::MAX - 1));
                prop_assert_eq!(first, (time != u64::MAX).then_some((at(time), index)));
            }
        }
    }
}
