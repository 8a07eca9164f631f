//! Utilities of the algorithms in each run.

/// The utility of each algorithm in each repetition.
///
/// Repetitions are paired: within a repetition, all algorithms run with the same random numbers. A
/// missing run is NaN.
#[derive(Clone, PartialEq, Debug)]
pub struct Utilities {
    rows: Vec<Vec<f64>>,
}

impl Utilities {
    /// Takes a row for each algorithm, with a value for each repetition.
    ///
    /// # Panics
    ///
    /// Panics if the rows differ in length.
    #[must_use]
    pub fn new(rows: Vec<Vec<f64>>) -> Self {
        let repetitions = rows.first().map_or(0, Vec::len);
        assert!(rows.iter().all(|row| row.len() == repetitions), "all rows have the same length");
        Self { rows }
    }

    /// The utilities of runs, computed as gain - price x cost.
    ///
    /// # Panics
    ///
    /// Panics if the two arguments differ in shape.
    #[must_use]
    pub fn weighed(gain: &Self, cost: &Self, price: f64) -> Self {
        assert_eq!(
            gain.contestants(),
            cost.contestants(),
            "gain and cost have the same number of algorithms"
        );
        let rows = gain
            .rows
            .iter()
            .zip(&cost.rows)
            .map(|(gains, costs)| {
                assert_eq!(
                    gains.len(),
                    costs.len(),
                    "gain and cost have the same number of repetitions"
                );
                if price == 0.0 {
                    return gains.clone(); // a run may have no cost
                }
                gains.iter().zip(costs).map(|(gain, cost)| gain - price * cost).collect()
            })
            .collect();
        Self { rows }
    }

    /// Number of contestants.
    #[must_use]
    pub fn contestants(&self) -> usize {
        self.rows.len()
    }

    /// Number of repetitions, including missing runs.
    #[must_use]
    pub fn repetitions(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// An algorithm's utilities; NaN for missing runs.
    #[must_use]
    pub fn of(&self, contestant: usize) -> &[f64] {
        &self.rows[contestant]
    }

    /// Mean of an algorithm's utilities without missing runs; NaN if the algorithm has no run.
    #[must_use]
    pub fn mean(&self, contestant: usize) -> f64 {
        let (sum, count) = self.rows[contestant]
            .iter()
            .filter(|value| value.is_finite())
            .fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
        sum / f64::from(count)
    }

    /// Whether the runs of any algorithm differ from each other.
    #[must_use]
    pub fn differ(&self) -> bool {
        self.rows.iter().any(|row| {
            let mut finite = row.iter().filter(|value| value.is_finite());
            finite.next().is_some_and(|first| finite.any(|value| value != first))
        })
    }

    /// The repetitions in which all these algorithms have a run.
    pub(crate) fn complete(&self, contestants: &[usize]) -> Vec<usize> {
        (0..self.repetitions())
            .filter(|&at| contestants.iter().all(|&each| self.rows[each][at].is_finite()))
            .collect()
    }
}
