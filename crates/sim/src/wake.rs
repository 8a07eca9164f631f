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
    /// `nodes[1]` is the root, `nodes[leaves..]` are the components.
    nodes: Vec<Time>,
    /// True wake times, not before the leaves.
    wakes: Vec<Time>,
    leaves: usize,
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
            nodes: vec![Time::NEVER; 2 * leaves],
            wakes: vec![Time::NEVER; leaves],
            leaves,
        }
    }

    /// Sets a component's wake time; [`Time::NEVER`] takes it out.
    #[inline]
    pub(crate) fn set(&mut self, component: usize, wake: Time) {
        if component < NEAR {
            self.near[component] = wake;
            return;
        }
        let leaf = component - NEAR;
        self.wakes[leaf] = wake;
        if wake < self.nodes[self.leaves + leaf] {
            self.lower(leaf, wake);
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
            let mut node = 1;
            while node < self.leaves {
                node *= 2;
                node += usize::from(self.nodes[node] != self.root);
            }
            let leaf = node - self.leaves;
            let wake = self.wakes[leaf];
            if wake == self.root {
                return (wake, leaf + NEAR);
            }
            self.raise(leaf, wake);
        }
        other
    }

    /// Moves a leaf to an earlier time.
    fn lower(&mut self, leaf: usize, wake: Time) {
        let mut node = self.leaves + leaf;
        while node > 0 && self.nodes[node] > wake {
            self.nodes[node] = wake;
            node /= 2;
        }
        self.root = self.nodes[1];
    }

    /// Moves a leaf to a later time.
    #[inline]
    fn raise(&mut self, leaf: usize, wake: Time) {
        let mut node = self.leaves + leaf;
        let mut earlier = wake;
        while self.nodes[node] != earlier {
            self.nodes[node] = earlier;
            if node > 1 {
                earlier = earlier.min(self.nodes[node ^ 1]);
                node /= 2;
            }
        }
        self.root = self.nodes[1];
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
