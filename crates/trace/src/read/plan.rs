//! Which columns of a table are the rate, its unit, the time and its length.

use super::clock::Stamp;
use super::heading::{Column, Meaning};
use super::number::Number;
use super::options::ReadOptions;
use super::table::{Table, is_missing, value_and_unit};
use super::unit::{Unit, time_unit_ns};
use crate::TraceProblem;

/// What is read of each row.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Plan {
    pub columns: Vec<Column>,
    /// Where the rate stands, or the size of what passed.
    pub rate: usize,
    /// Its unit, if the settings or the heading say it.
    pub unit: Option<Unit>,
    /// Where its unit stands, if each row says it.
    pub unit_cell: Option<usize>,
    /// Where the time stands, and the time of the day if that is apart from its date.
    pub time: Option<(usize, Option<usize>)>,
    /// Of times that are numbers, if the settings or the heading say it.
    pub time_unit_ns: Option<i64>,
    /// Where the time stands that a row is for, and its unit.
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

/// The column that a setting names: by name, by a part of one name, by number.
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

/// All columns, as messages write them.
pub(super) fn told(columns: &[Column]) -> String {
    let shown = columns.iter().enumerate().take(40).map(|(index, column)| column.told(index));
    let more = if columns.len() > 40 { vec!["...".to_owned()] } else { Vec::new() };
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

/// The rate of a table with a heading: what is named as a rate, towards the user if both
/// directions are there; without one, the bytes that passed.
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
        let &(first, column) = firsts.next().expect("the minimum is one of them");
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

/// The rate of a table without a heading: a number with its unit, or the number beside a time.
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

/// The time of each row: what is named so, or what looks so.
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
        // What is called a time and is none is an error of its first line.
        others().find(|&index| {
            columns[index].name.to_lowercase().starts_with("time") && is_called(index)
        })
    });
    let found =
        named.or_else(|| others().find(|&index| head.is_calendar(index))).or_else(|| {
            // Without a name, a number that grows; but a row number that has a name is not a time.
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

/// Whether most numbers are more than the one above, as times are of which a few stand wrong.
fn mostly_grow(numbers: &[f64]) -> bool {
    let grown = numbers.windows(2).filter(|pair| pair[0] < pair[1]).count();
    4 * grown >= 3 * numbers.len().saturating_sub(1)
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

/// The first rows of a table.
struct Head<'a> {
    rows: Vec<Vec<&'a str>>,
    has_decimal_comma: bool,
}

impl Head<'_> {
    /// The cells of a column that have something in them.
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

    /// A first cell that is a value: one that is wrong further down is an error of its line.
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

    /// A date and the column of its time of the day, or the reverse.
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
