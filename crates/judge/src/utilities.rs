//! Utilities of contestants, run by run.

/// The utility of each contestant in each repetition.
///
/// Repetitions are pairs: all contestants met the same random draws in a repetition. A run that is
/// missing is NaN.
#[derive(Clone, PartialEq, Debug)]
pub struct Utilities {
    rows: Vec<Vec<f64>>,
}

impl Utilities {
    /// Takes one row for each contestant; all rows have the same number of repetitions.
    ///
    /// # Panics
    ///
    /// Panics if the rows differ in length.
    #[must_use]
    pub fn new(rows: Vec<Vec<f64>>) -> Self {
        let repetitions = rows.first().map_or(0, Vec::len);
        assert!(rows.iter().all(|row| row.len() == repetitions), "rows of one length");
        Self { rows }
    }

    /// The utilities of runs that weigh `cost` against `gain`: gain - price x cost.
    ///
    /// # Panics
    ///
    /// Panics if the two do not have the same shape.
    #[must_use]
    pub fn weighed(gain: &Self, cost: &Self, price: f64) -> Self {
        assert_eq!(gain.contestants(), cost.contestants(), "as many contestants");
        let rows = gain
            .rows
            .iter()
            .zip(&cost.rows)
            .map(|(gains, costs)| {
                assert_eq!(gains.len(), costs.len(), "as many repetitions");
                if price == 0.0 {
                    return gains.clone(); // a run may have no cost
                }
                gains.iter().zip(costs).map(|(gain, cost)| gain - price * cost).collect()
            })
            .collect();
        Self { rows }
    }

    /// How many contestants there are.
    #[must_use]
    pub fn contestants(&self) -> usize {
        self.rows.len()
    }

    /// How many repetitions there are, missing runs counted.
    #[must_use]
    pub fn repetitions(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// A contestant's utilities, NaN where a run is missing.
    #[must_use]
    pub fn of(&self, contestant: usize) -> &[f64] {
        &self.rows[contestant]
    }

    /// A contestant's mean over the runs there are; NaN without any.
    #[must_use]
    pub fn mean(&self, contestant: usize) -> f64 {
        let (sum, count) = self.rows[contestant]
            .iter()
            .filter(|value| value.is_finite())
            .fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
        sum / f64::from(count)
    }

    /// Whether a contestant's runs differ from each other.
    #[must_use]
    pub fn differ(&self) -> bool {
        self.rows.iter().any(|row| {
            let mut finite = row.iter().filter(|value| value.is_finite());
            finite.next().is_some_and(|first| finite.any(|value| value != first))
        })
    }

    /// The repetitions in which every one of these contestants has a run.
    pub(crate) fn complete(&self, contestants: &[usize]) -> Vec<usize> {
        (0..self.repetitions())
            .filter(|&at| contestants.iter().all(|&each| self.rows[each][at].is_finite()))
            .collect()
    }
}
