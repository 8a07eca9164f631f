//! Determines which columns of a table contain the rate, its unit, the time and the duration.

use super::clock::Stamp;
use super::heading::{Column, Meaning};
use super::number::Number;
use super::options::ReadOptions;
use super::table::{Table, is_missing, value_and_unit};
use super::unit::{Unit, time_unit_ns};
use crate::TraceProblem;

/// The columns and units to read from each row.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Plan {
    pub columns: Vec<Column>,
    /// Column of the rate, or of the transferred size.
    pub rate: usize,
    /// Unit of the rate, if an option or the heading states it.
    pub unit: Option<Unit>,
    /// Column with the unit of the rate, if each row states the unit.
    pub unit_cell: Option<usize>,
    /// Column of the time, and column of the time of day if date and time are in separate columns.
    pub time: Option<(usize, Option<usize>)>,
    /// Unit of times that are numbers, if an option or the heading states it.
    pub time_unit_ns: Option<i64>,
    /// Column of the duration that a row covers, and the unit of this duration in nanoseconds.
    pub duration: Option<(usize, i64)>,
}

impl Plan {
    pub(super) fn of(table: &Table<'_>, options: &ReadOptions) -> Result<Self, TraceProblem> {
        let head =
            Head { rows: table.head(), has_decimal_comma: table.delimiter.has_decimal_comma() };
        let name = |index: usize| table.names.get(index).map_or("", String::as_str);
        let columns: Vec<Column> =
            (0..table.width).map(|index| Column::named(name(index))).collect();
        let named = |key, wanted: &Option<String>| {
            wanted.as_deref().map(|wanted| find(&columns, key, wanted)).transpose()
        };
        let wanted_time = named("time_column", &options.time_column)?;
        let unit_cell = (0..table.width).find(|&index| head.is_unit(index));
        let rate = match named("column", &options.column)? {
            Some(rate) => rate,
            None if table.names.is_empty() => unnamed_rate(&head, &columns, unit_cell, options)
                .map_err(|problem| table.uneven().unwrap_or(problem))?,
            None => named_rate(&head, &columns, unit_cell, wanted_time)?,
        };
        let unit = options.rate_unit()?.or(columns[rate].unit);
        let time = match wanted_time {
            Some(time) => Some(head.with_its_other_half(time, rate)),
            None => time_of(&head, &columns, rate),
        };
        let duration = columns.iter().position(|column| column.meaning == Meaning::Duration);
        let duration = duration.filter(|&at| at != rate && head.is_number(at)).map(|at| {
            let is_long = || head.numbers(at).is_some_and(|numbers| median(numbers) >= 50.0);
            let usual_ns = if is_long() { 1_000_000 } else { 1_000_000_000 };
            (at, time_unit_ns(&columns[at].name).unwrap_or(usual_ns))
        });
        let duration = duration.or_else(|| {
            let is_bare = table.names.is_empty() && table.width == 2 && time.is_none();
            let lengths = head.numbers(0).filter(|_| is_bare && rate == 1)?;
            let are_lengths = lengths.iter().all(|&length| length > 0.0) && !mostly_grow(&lengths);
            let unit_ns = if median(lengths) >= 50.0 { 1_000_000 } else { 1_000_000_000 };
            are_lengths.then_some((0, unit_ns))
        });
        let time_name = time.map_or("", |(time, _)| columns[time].name.as_str());
        let time_unit_ns = options.time_unit_ns()?.or_else(|| time_unit_ns(time_name));
        let unit_cell = if unit.is_some() { None } else { unit_cell };
        Ok(Self { columns, rate, unit, unit_cell, time, time_unit_ns, duration })
    }
}

/// The column that an option names: by its name, by its number, or by a part of its name that no
/// other column has.
fn find(columns: &[Column], key: &'static str, wanted: &str) -> Result<usize, TraceProblem> {
    let lower = wanted.trim().to_lowercase();
    let position = |is: &dyn Fn(&Column) -> bool| columns.iter().position(is);
    let is_part =
        |column: &Column| !lower.is_empty() && column.name.to_lowercase().contains(&lower);
    let by_number = || {
        let number: usize = wanted.trim().parse().ok()?;
        (1..=columns.len()).contains(&number).then(|| number - 1)
    };
    position(&|column| column.name == wanted)
        .or_else(|| position(&|column| column.name.to_lowercase() == lower))
        .or_else(by_number)
        .or_else(|| {
            let parts = columns.iter().filter(|column| is_part(column)).count();
            if parts == 1 { position(&is_part) } else { None }
        })
        .ok_or_else(|| TraceProblem::NoColumn {
            key,
            wanted: crate::error::shorten(wanted),
            columns: told(columns),
        })
}

/// Numbers and names of all columns, for messages.
pub(super) fn told(columns: &[Column]) -> String {
    let shown = columns.iter().enumerate().take(40).map(|(index, column)| column.told(index));
    let more = if columns.len() > 40 { vec!["...".to_owned()] } else { Vec::new() };
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

/// The column of the rate in a table with a heading. A column named as a rate has precedence over
/// one named as a size, and the direction towards the user over other directions.
fn named_rate(
    head: &Head<'_>,
    columns: &[Column],
    unit_cell: Option<usize>,
    time: Option<usize>,
) -> Result<usize, TraceProblem> {
    for meaning in [Meaning::Rate, Meaning::Size] {
        let candidates = columns.iter().enumerate().filter(|&(index, column)| {
            column.meaning == meaning && Some(index) != time && head.is_value(index)
        });
        let rank = |column: &Column| (column.is_derived, column.towards);
        let candidates: Vec<(usize, &Column)> = candidates.collect();
        let Some(best) = candidates.iter().map(|(_, column)| rank(column)).min() else { continue };
        let mut firsts = candidates.iter().filter(|(_, column)| rank(column) == best);
        let &(first, column) = firsts.next().expect("the minimum is an element of the list");
        if firsts.next().is_none() {
            return Ok(first);
        }
        return Err(TraceProblem::WhichColumn {
            why: "several columns could be the rate",
            columns: told(columns),
            example: column.name.clone(),
        });
    }
    let before_unit = unit_cell.and_then(|at| (0..at).rev().find(|&index| head.is_number(index)));
    before_unit.ok_or_else(|| {
        let numbers = || (0..columns.len()).filter(|&index| head.is_number(index));
        let other = numbers().rfind(|&index| columns[index].meaning == Meaning::Other);
        let Some(example) = other.or_else(|| numbers().next_back()) else {
            return TraceProblem::Foreign("not a trace: none of its columns contains numbers");
        };
        TraceProblem::WhichColumn {
            why: "no column has the name of a rate",
            columns: told(columns),
            example: columns[example].name.clone(),
        }
    })
}

/// The column of the rate in a table without a heading: a number with its unit, or the number next
/// to a time.
fn unnamed_rate(
    head: &Head<'_>,
    columns: &[Column],
    unit_cell: Option<usize>,
    options: &ReadOptions,
) -> Result<usize, TraceProblem> {
    let with_unit = (0..columns.len()).find(|&index| head.is_value_with_unit(index));
    let before_unit = unit_cell.and_then(|at| (0..at).rev().find(|&index| head.is_number(index)));
    if let Some(rate) = with_unit.or(before_unit) {
        return Ok(rate);
    }
    match columns.len() {
        1 if options.unit.is_some() => Ok(0),
        2 if head.is_number(1) => Ok(1),
        count => Err(TraceProblem::WhichColumn {
            why: "the columns have no names",
            columns: told(columns),
            example: if count == 1 { "1\", unit = \"Mbit/s" } else { "2" }.to_owned(),
        }),
    }
}

/// The column of the time: a column that is named as a time or whose values look like times.
fn time_of(head: &Head<'_>, columns: &[Column], rate: usize) -> Option<(usize, Option<usize>)> {
    let others = || (0..columns.len()).filter(|&index| index != rate);
    let is_named = |&index: &usize| columns[index].meaning == Meaning::Time && head.is_time(index);
    let is_called = |index: usize| columns[index].meaning == Meaning::Time;
    let rank = |&index: &usize| match columns[index].name.to_lowercase().as_str() {
        "timestamp" | "time" | "datetime" => 0,
        name if name.contains("time") => 1,
        _ => 2,
    };
    let named = others().filter(is_named).min_by_key(rank).or_else(|| {
        // If a column is named as a time but is not one, its first line causes the error.
        others().find(|&index| {
            columns[index].name.to_lowercase().starts_with("time") && is_called(index)
        })
    });
    let found =
        named.or_else(|| others().find(|&index| head.is_calendar(index))).or_else(|| {
            // Without names, a number that grows; a column with a name may be a row number.
            let is_unnamed = columns.iter().all(|column| column.name.is_empty());
            let mostly_grows =
                |index: usize| head.numbers(index).is_some_and(|numbers| mostly_grow(&numbers));
            let grows = |&index: &usize| is_unnamed && head.grows(index);
            others().find(grows).or_else(|| {
                others().find(|&index| is_unnamed && columns.len() == 2 && mostly_grows(index))
            })
        })?;
    Some(head.with_its_other_half(found, rate))
}

/// Whether most numbers are greater than the number above them, as times are if only a few are out
/// of order.
fn mostly_grow(numbers: &[f64]) -> bool {
    let grown = numbers.windows(2).filter(|pair| pair[0] < pair[1]).count();
    4 * grown >= 3 * numbers.len().saturating_sub(1)
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

/// The first rows of a table, from which the columns are classified.
struct Head<'a> {
    rows: Vec<Vec<&'a str>>,
    has_decimal_comma: bool,
}

impl Head<'_> {
    /// The cells of a column without missing values.
    fn cells(&self, index: usize) -> impl Iterator<Item = &str> {
        self.rows
            .iter()
            .filter_map(move |row| row.get(index).copied())
            .filter(|cell| !is_missing(cell))
    }

    fn all(&self, index: usize, is: impl Fn(&str) -> bool) -> bool {
        self.cells(index).next().is_some() && self.cells(index).all(is)
    }

    fn number(&self, cell: &str) -> Option<f64> {
        Number::parse(cell, self.has_decimal_comma).map(Number::value)
    }

    fn numbers(&self, index: usize) -> Option<Vec<f64>> {
        self.cells(index).map(|cell| self.number(cell)).collect()
    }

    fn is_number(&self, index: usize) -> bool {
        self.all(index, |cell| self.number(cell).is_some())
    }

    /// Whether the first cell of the column is a value; an invalid value further down is an error
    /// in its line.
    fn is_value(&self, index: usize) -> bool {
        let first = self.cells(index).next();
        first.is_none_or(|cell| self.number(cell).is_some() || value_and_unit(cell).is_some())
    }

    fn is_value_with_unit(&self, index: usize) -> bool {
        self.all(index, |cell| value_and_unit(cell).is_some())
    }

    fn is_unit(&self, index: usize) -> bool {
        self.all(index, |cell| {
            self.number(cell).is_none() && Unit::find(cell).is_some_and(|unit| unit.is_rate)
        })
    }

    fn is_time(&self, index: usize) -> bool {
        self.cells(index).next().and_then(Stamp::parse).is_some()
    }

    fn is_calendar(&self, index: usize) -> bool {
        self.all(index, |cell| {
            matches!(Stamp::parse(cell), Some(Stamp::Moment(_) | Stamp::OfDay(_)))
        })
    }

    fn grows(&self, index: usize) -> bool {
        self.numbers(index).is_some_and(|numbers| {
            let ends = numbers.first().zip(numbers.last());
            numbers.is_sorted()
                && ends.is_some_and(|(first, last)| first < last || numbers.len() == 1)
        })
    }

    /// If a column contains dates, also returns the column of the time of day, and the reverse.
    fn with_its_other_half(&self, time: usize, rate: usize) -> (usize, Option<usize>) {
        let kind = |index: usize| self.cells(index).next().and_then(Stamp::parse);
        let width = self.rows.first().map_or(0, Vec::len);
        let other = |is: fn(&Option<Stamp>) -> bool| {
            (0..width).find(|&index| index != rate && index != time && is(&kind(index)))
        };
        match kind(time) {
            Some(Stamp::Date(_)) => (time, other(|kind| matches!(kind, Some(Stamp::OfDay(_))))),
            Some(Stamp::OfDay(_)) => match other(|kind| matches!(kind, Some(Stamp::Date(_)))) {
                Some(date) => (date, Some(time)),
                None => (time, None),
            },
            _ => (time, None),
        }
    }
}
