//! Measurements of cells; the same as in the tests of the crate `link`.

#[path = "../../../link/tests/common/mod.rs"]
mod common;

use crate::Report;
use common::cell_rows;

/// Makes the selected measurements of cells.
pub(crate) fn measure(report: &Report) {
    for rows in cell_rows::all() {
        if !rows.ids.iter().any(|id| report.wants(id)) {
            continue;
        }
        for (id, value) in rows.ids.iter().zip((rows.measure)(|config| config)) {
            report.measure(id, || value);
        }
    }
}
