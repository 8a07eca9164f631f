//! Options for reading a table whose content does not show what its columns mean.

use super::unit::{Unit, time_unit_ns};
use crate::TraceProblem;

/// The columns and units of a table of rates, given by the user; an option has precedence over the
/// table's content.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadOptions {
    /// Column of the rate: its name, or its number from 1.
    pub column: Option<String>,
    /// Unit of the rate, such as `Mbit/s`, `kbps` or `bytes`.
    pub unit: Option<String>,
    /// Column of the times: its name, or its number from 1.
    pub time_column: Option<String>,
    /// Unit of the times, such as `ms`.
    pub time_unit: Option<String>,
}

impl ReadOptions {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn rate_unit(&self) -> Result<Option<Unit>, TraceProblem> {
        let Some(text) = &self.unit else { return Ok(None) };
        let unit = Unit::find(text);
        unit.map(Some).ok_or_else(|| TraceProblem::UnknownUnit {
            key: "unit",
            found: text.clone(),
            example: "Mbit/s",
        })
    }

    pub(super) fn time_unit_ns(&self) -> Result<Option<i64>, TraceProblem> {
        let Some(text) = &self.time_unit else { return Ok(None) };
        time_unit_ns(text).map(Some).ok_or_else(|| TraceProblem::UnknownUnit {
            key: "time_unit",
            found: text.clone(),
            example: "ms",
        })
    }
}
