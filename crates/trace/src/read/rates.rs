//! Reads the rates of a table, row by row.

use super::clock::Stamp;
use super::heading::Column;
use super::number::Number;
use super::options::ReadOptions;
use super::plan::Plan;
use super::samples::{self, Log, Sample};
use super::table::{Table, is_missing, value_and_unit};
use super::unit::Unit;
use crate::error::shorten;
use crate::{TraceError, TraceProblem};

/// The rate log read from a table, and how the table was interpreted.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct TableLog {
    pub log: Log,
    pub unit: &'static str,
    /// The column of the rate: its number, from 1, and its name.
    pub column: (usize, String),
    pub notes: Vec<String>,
}

/// A number without a unit that is larger than this is not assumed to be in Mbit/s; the next
/// larger constant is the least number assumed to be in bit/s.
pub(super) const MOST_MBIT_S: f64 = 3_000.0;
/// A number without a unit that is at least this large is assumed to be in bit/s.
const FEWEST_BIT_S: f64 = 2e7;

const NANOS_PER_S: i64 = 1_000_000_000;
const NANOS_PER_DAY: i64 = 86_400 * NANOS_PER_S;

pub(super) fn log(table: &Table<'_>, options: &ReadOptions) -> Result<TableLog, TraceError> {
    if table.rows.is_empty() {
        return Err(TraceError::whole(TraceProblem::Empty));
    }
    let plan = Plan::of(table, options).map_err(TraceError::whole)?;
    let rows = rows(table, &plan)?;
    let mut notes = Vec::new();
    let unit = match unit_of(&plan, &rows).map_err(TraceError::whole)? {
        Some((unit, is_assumed)) => {
            if is_assumed {
                notes.push(format!("unit {} assumed", unit.text));
            }
            Some(unit)
        }
        None => None,
    };
    let told = unit.or_else(|| rows.iter().find_map(|row| row.unit)).unwrap_or(Unit::MBIT_S);
    let has_times = plan.time.is_some();
    if !has_times && plan.duration.is_none() {
        notes.push("no times: one sample per second assumed".to_owned());
    }
    if let (true, Some((at, _))) = (table.names.is_empty(), plan.duration) {
        notes.push(format!("column {} read as durations", at + 1));
    }
    let unknown = rows.iter().filter(|row| row.value.is_none()).count();
    if unknown > 0 {
        let plural = if unknown == 1 { "" } else { "s" };
        notes.push(format!("{unknown} row{plural} without a rate: the previous rate continues"));
    }
    let starts = starts(&plan, &rows).map_err(TraceError::whole)?;
    let mut found: Vec<Sample> = Vec::with_capacity(rows.len());
    let is_counter = !told.is_rate && plan.duration.is_none() && is_counter(&plan, &rows);
    if is_counter {
        notes.push("the bytes are the differences of a counter".to_owned());
    }
    for (row, start_ns) in rows.iter().zip(starts) {
        let unit = row.unit.or(unit).unwrap_or(told);
        let mbit = row.value.map(|value| unit.megabits(value));
        found.push(Sample { line: row.line, start_ns, mbit_s: mbit, duration_ns: row.duration_ns });
    }
    if !told.is_rate {
        found = of_sizes(&found, is_counter);
    }
    let log = samples::log(&found)?;
    if log.pauses > 0 {
        let plural = if log.pauses == 1 { "" } else { "s" };
        notes.push(format!("{} pause{plural} of the recorder removed", log.pauses));
    }
    if log.late > 0 {
        let plural = if log.late == 1 { "" } else { "s" };
        notes.push(format!("{} row{plural} out of order", log.late));
    }
    let name = plan.columns[plan.rate].name.clone();
    Ok(TableLog { log, unit: told.text, column: (plan.rate + 1, name), notes })
}

/// The values of a row of the table.
struct Row {
    line: usize,
    /// The time: nanoseconds, or a number whose unit is determined from all rows.
    stamp: Option<Stamp>,
    value: Option<f64>,
    unit: Option<Unit>,
    duration_ns: Option<i64>,
}

fn rows(table: &Table<'_>, plan: &Plan) -> Result<Vec<Row>, TraceError> {
    let has_decimal_comma = table.delimiter.has_decimal_comma();
    let mut cells = Vec::new();
    let mut rows = Vec::with_capacity(table.rows.len());
    for &(line, text) in &table.rows {
        table.delimiter.split(text, &mut cells);
        let cell = |index: usize| cells.get(index).copied().unwrap_or("");
        let bad = |index: usize, wanted| {
            let column = plan.columns[index].told(index);
            TraceError::at(
                line,
                TraceProblem::BadCell { column, found: shorten(cell(index)), wanted },
            )
        };
        let mut unit = None;
        let value = match cell(plan.rate) {
            missing if is_missing(missing) => None,
            text => Some(match Number::parse(text, has_decimal_comma) {
                Some(number) => number.value(),
                None => {
                    let (value, said) =
                        value_and_unit(text).ok_or_else(|| bad(plan.rate, "a number"))?;
                    unit = Some(said);
                    value
                }
            }),
        };
        if let (Some(at), None, Some(_)) = (plan.unit_cell, unit, value) {
            let said = Unit::find(cell(at)).ok_or_else(|| bad(at, "a unit of a rate"))?;
            unit = Some(said);
        }
        let stamp = match plan.time {
            Some((at, _)) if is_missing(cell(at)) => continue,
            Some((at, None)) => Some(Stamp::parse(cell(at)).ok_or_else(|| bad(at, "a time"))?),
            Some((at, Some(of_day))) => {
                match (Stamp::parse(cell(at)), Stamp::parse(cell(of_day))) {
                    (Some(Stamp::Date(date_ns)), Some(Stamp::OfDay(ns))) => {
                        Some(Stamp::Moment(date_ns + ns))
                    }
                    (Some(Stamp::Date(_)), _) => return Err(bad(of_day, "a time")),
                    _ => return Err(bad(at, "a date")),
                }
            }
            None => None,
        };
        let duration_ns = match plan.duration {
            Some((at, unit_ns)) if !is_missing(cell(at)) => {
                let number = Number::parse(cell(at), has_decimal_comma);
                let ns = number.and_then(|number| number.times(unit_ns)).filter(|&ns| ns >= 0);
                Some(ns.ok_or_else(|| bad(at, "a duration"))?)
            }
            _ => None,
        };
        rows.push(Row { line, stamp, value, unit, duration_ns });
    }
    if rows.is_empty() { Err(TraceError::whole(TraceProblem::Empty)) } else { Ok(rows) }
}

/// The unit of all rows that do not state a unit, and whether this unit is assumed.
fn unit_of(plan: &Plan, rows: &[Row]) -> Result<Option<(Unit, bool)>, TraceProblem> {
    if let Some(unit) = plan.unit {
        return Ok(Some((unit, false)));
    }
    if rows.iter().all(|row| row.unit.is_some() || row.value.is_none()) {
        return Ok(None);
    }
    let mut values: Vec<f64> =
        rows.iter().filter_map(|row| row.value).filter(|&value| value > 0.0).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.get(values.len() / 2).copied().unwrap_or(0.0);
    if middle <= MOST_MBIT_S {
        return Ok(Some((Unit::MBIT_S, true)));
    }
    if middle >= FEWEST_BIT_S {
        return Ok(Some((Unit::BIT_S, true)));
    }
    Err(TraceProblem::WhichUnit {
        column: plan.columns[plan.rate].told(plan.rate),
        value: format!("{middle}"),
        example: "kbit/s",
    })
}

/// Start time of each row, in nanoseconds.
fn starts(plan: &Plan, rows: &[Row]) -> Result<Vec<i64>, TraceProblem> {
    let Some((at, _)) = plan.time else {
        let mut now_ns = 0_i64;
        return Ok(rows
            .iter()
            .map(|row| {
                let start_ns = now_ns;
                now_ns = now_ns.saturating_add(row.duration_ns.unwrap_or(NANOS_PER_S));
                start_ns
            })
            .collect());
    };
    let column = &plan.columns[at];
    let unit_ns = number_unit_ns(plan, column, at, rows)?;
    let mut day_ns = 0;
    let mut before_ns: Option<i64> = None;
    let mut starts = Vec::with_capacity(rows.len());
    for row in rows {
        let start_ns = match row.stamp {
            Some(Stamp::Number(number)) => number.times(unit_ns).filter(|ns| ns.abs() < MOST_NS),
            Some(Stamp::Moment(ns) | Stamp::Date(ns)) => Some(ns),
            // Times of day restart at midnight.
            Some(Stamp::OfDay(ns)) => {
                if before_ns.is_some_and(|before_ns| before_ns - (day_ns + ns) > NANOS_PER_DAY / 2)
                {
                    day_ns += NANOS_PER_DAY;
                }
                Some(day_ns + ns)
            }
            None => None,
        };
        let start_ns = start_ns.ok_or_else(|| TraceProblem::BadCell {
            column: column.told(at),
            found: format!("line {}", row.line),
            wanted: "a time of the 21st century",
        })?;
        before_ns = Some(start_ns);
        starts.push(start_ns);
    }
    Ok(starts)
}

/// Half of the range of 64-bit nanoseconds, so that differences do not overflow.
const MOST_NS: i64 = i64::MAX / 2;

/// The unit of times that are numbers: the stated unit, or the one in which the numbers are times
/// of this century.
fn number_unit_ns(
    plan: &Plan,
    column: &Column,
    at: usize,
    rows: &[Row],
) -> Result<i64, TraceProblem> {
    let numbers = || {
        rows.iter().filter_map(|row| match row.stamp {
            Some(Stamp::Number(number)) => Some(number),
            _ => None,
        })
    };
    let first = numbers().next().map_or(0.0, Number::value);
    let is_possible = |unit_ns: &i64| first.abs() * (*unit_ns as f64) < MOST_NS as f64;
    if let Some(unit_ns) = plan.time_unit_ns.filter(is_possible) {
        return Ok(unit_ns);
    }
    Ok(match first {
        1e17.. => 1,
        1e14.. => 1_000,
        1e11.. => 1_000_000,
        1e8.. => NANOS_PER_S,
        _ => {
            let values: Vec<f64> = numbers().map(Number::value).collect();
            let mut steps: Vec<f64> = values
                .windows(2)
                .map(|pair| pair[1] - pair[0])
                .filter(|&step| step > 0.0)
                .collect();
            steps.sort_by(f64::total_cmp);
            let middle = steps.get(steps.len() / 2).copied().unwrap_or(1.0);
            // In a column with a name, integers so far apart are rarely seconds.
            if middle >= 100.0 && numbers().all(Number::is_whole) && !column.name.is_empty() {
                let step = format!("{middle}");
                return Err(TraceProblem::WhichTimeUnit { column: column.told(at), step });
            }
            NANOS_PER_S
        }
    })
}

/// Whether sizes are readings of a counter: they never decrease, and either their column's name
/// says so or there are many of them.
fn is_counter(plan: &Plan, rows: &[Row]) -> bool {
    let values: Vec<f64> = rows.iter().filter_map(|row| row.value).collect();
    let name = plan.columns[plan.rate].name.to_lowercase();
    let is_named = ["total", "cumul", "counter"].iter().any(|word| name.contains(word));
    let grows = values.first() < values.last() && values.is_sorted();
    grows && (is_named || values.len() >= FEWEST_READINGS)
}

/// Minimum number of sizes for a counter: this many sizes rarely increase by chance.
const FEWEST_READINGS: usize = 10;

/// Converts sizes to rates: data since the previous row, or data in the duration that the row
/// states.
fn of_sizes(sizes: &[Sample], is_counter: bool) -> Vec<Sample> {
    let starts = sizes.iter().map(|size| size.start_ns);
    let usual_ns = samples::usual_ns(starts).unwrap_or(NANOS_PER_S);
    let mut rates = Vec::with_capacity(sizes.len());
    let mut before: Option<Sample> = None;
    for &size in sizes {
        let Some(mbit) = size.mbit_s else { continue };
        let since_ns = before.map(|before| size.start_ns.saturating_sub(before.start_ns));
        let since_ns = since_ns.filter(|&ns| ns > 0).unwrap_or(usual_ns);
        let length_ns = size.duration_ns.filter(|&ns| ns > 0).unwrap_or(since_ns);
        let passed = match (is_counter, before) {
            (false, _) => Some(mbit),
            (true, Some(before)) => before.mbit_s.map(|before| mbit - before),
            (true, None) => None,
        };
        if let Some(passed) = passed {
            rates.push(Sample {
                line: size.line,
                start_ns: size.start_ns.saturating_sub(length_ns),
                mbit_s: Some(passed / (length_ns as f64 / 1e9)),
                duration_ns: Some(length_ns),
            });
        }
        before = Some(size);
    }
    rates
}
