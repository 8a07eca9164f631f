//! The trade-off: at which price of delay does each algorithm have the highest utility?
//!
//! Utility is linear in the price d of delay: U = gain - d x cost. Each algorithm is therefore a
//! line, and the upper envelope of all lines shows exactly which algorithm leads at each price.

/// An algorithm's utility as a function of the price of delay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Line {
    /// Mean logarithm of the algorithm's goodput.
    pub gain: f64,
    /// Mean logarithm of the algorithm's delay.
    pub cost: f64,
}

impl Line {
    fn at(self, price: f64) -> f64 {
        self.gain - price * self.cost
    }
}

/// A range of prices of delay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Span {
    /// Minimum.
    pub low: f64,
    /// Highest price; infinite if there is no upper bound.
    pub high: f64,
}

/// The prices, from 0 on, at which an algorithm's utility is less than the highest utility by at
/// most `zone`; `None` if there are no such prices.
///
/// The distance to the highest utility is convex in the price, so these prices form one range.
#[must_use]
pub fn span(lines: &[Line], contestant: usize, zone: f64) -> Option<Span> {
    let own = lines[contestant];
    let (mut low, mut high) = (0.0_f64, f64::INFINITY);
    for line in lines {
        // own.at(d) + zone >= line.at(d)  <=>  d (own.cost - line.cost) <= own.gain - line.gain + zone
        let (slope, room) = (own.cost - line.cost, own.gain - line.gain + zone);
        if slope > 0.0 {
            high = high.min(room / slope);
        } else if slope < 0.0 {
            low = low.max(room / slope);
        } else if room < 0.0 {
            return None;
        }
    }
    (low <= high).then_some(Span { low, high })
}

/// The algorithms that are not dominated: no other algorithm is at least as good in both gain and
/// cost, and better in one of them.
#[must_use]
pub fn undominated(lines: &[Line]) -> Vec<usize> {
    let beats = |a: &Line, b: &Line| {
        a.gain >= b.gain && a.cost <= b.cost && (a.gain > b.gain || a.cost < b.cost)
    };
    (0..lines.len()).filter(|&each| !lines.iter().any(|other| beats(other, &lines[each]))).collect()
}

/// The algorithm with the highest utility at a price; `None` if there are no algorithms.
#[must_use]
pub fn leader_at(lines: &[Line], price: f64) -> Option<usize> {
    (0..lines.len()).max_by(|&a, &b| lines[a].at(price).total_cmp(&lines[b].at(price)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(gain: f64, cost: f64) -> Line {
        Line { gain, cost }
    }

    #[test]
    fn the_fast_leads_where_delay_is_cheap_and_the_short_where_it_is_dear() {
        let lines = [line(1.0, 2.0), line(0.9, 1.0), line(0.0, 0.9)];
        // 1 - 2 d = 0.9 - d at d = 0.1; 0.9 - d = 0 - 0.9 d at d = 9.
        assert_eq!(leader_at(&lines, 0.05), Some(0));
        assert_eq!(leader_at(&lines, 0.2), Some(1));
        assert_eq!(leader_at(&lines, 10.0), Some(2));
        let middle = span(&lines, 1, 0.0).expect("it leads somewhere");
        assert!((middle.low - 0.1).abs() < 1e-12 && (middle.high - 9.0).abs() < 1e-12);
        assert_eq!(undominated(&lines), [0, 1, 2]);
    }

    #[test]
    fn the_dominated_leads_at_no_price() {
        let lines = [line(1.0, 1.0), line(0.5, 2.0)];
        assert_eq!(span(&lines, 1, 0.03), None);
        assert_eq!(undominated(&lines), [0]);
    }

    proptest! {
        #[test]
        fn a_span_is_where_the_contestant_is_within_the_zone(
            lines in prop::collection::vec((-2.0..2.0_f64, -2.0..2.0_f64), 1..6),
            price in 0.0..5.0_f64,
        ) {
            let lines: Vec<Line> = lines.into_iter().map(|(g, c)| line(g, c)).collect();
            let best = lines.iter().map(|l| l.at(price)).fold(f64::NEG_INFINITY, f64::max);
            for each in 0..lines.len() {
                let apart = best - lines[each].at(price) - 0.03;
                prop_assume!(apart.abs() > 1e-9);
                let is_in = span(&lines, each, 0.03).is_some_and(|s| s.low <= price && price <= s.high);
                prop_assert_eq!(is_in, apart < 0.0);
            }
        }
    }
}
