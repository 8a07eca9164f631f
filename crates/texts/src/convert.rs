//! Conversion of a checked document to the integers of a scenario, with defaults for missing keys.

use serde_json::{Map, Value};

use crate::check::{checked_table, whole};
use crate::merge::merged;
use crate::problem::{Place, Problem};
use crate::table::{Absent, Form, Key, Table};

/// Converts a table of a document to the scenario's form; adds required keys that are missing to
/// `problems`.
pub(crate) fn scenario_table(
    table: &'static Table,
    given: &Value,
    place: &Place,
    problems: &mut Vec<Problem>,
) -> Value {
    let mut found = Map::new();
    for key in table.keys.iter().filter(|key| !key.si.is_empty()) {
        if let Some(value) = scenario_key(key, given, place, problems) {
            found.insert(key.si.to_owned(), value);
        }
    }
    if let Some(kind) = table.kind {
        found.insert("kind".to_owned(), Value::from(kind));
    }
    Value::Object(found)
}

/// The value of a key in the scenario's form; `None` if the key has no value.
pub(crate) fn scenario_key(
    key: &'static Key,
    given: &Value,
    place: &Place,
    problems: &mut Vec<Problem>,
) -> Option<Value> {
    let place_of_key = place.key(key.name);
    let written = given.get(key.name).filter(|value| !value.is_null());
    if let Form::Several { item, alike } = key.form {
        let alike = given.get(alike).filter(|value| !value.is_null());
        return Some(several(item, written, alike, &place_of_key, problems));
    }
    match (written, key.absent) {
        (Some(value), _) => Some(scenario_value(&key.form, value, &place_of_key, problems)),
        (None, Absent::Nothing) => None,
        (None, Absent::Needed) => {
            let about = key.about;
            let message = format!("this key is needed here and is missing: {about}");
            problems.push(Problem::new(&place_of_key, message));
            None
        }
        (None, Absent::Is(usual)) => {
            Some(scenario_value(&key.form, &usual_value(usual), &place_of_key, problems))
        }
    }
}

/// Parses the default value of a key.
pub(crate) fn usual_value(text: &str) -> Value {
    serde_json::from_str(text).expect("the defaults of the tables are JSON")
}

fn scenario_value(form: &Form, value: &Value, place: &Place, problems: &mut Vec<Problem>) -> Value {
    match form {
        Form::Figure(figure) => match figure.read(value) {
            Ok(count) => Value::from(count),
            Err(message) => {
                problems.push(Problem::new(place, message));
                Value::Null
            }
        },
        Form::Table(table) | Form::TableOrText(table, _) => {
            scenario_table(table, value, place, problems)
        }
        Form::Kinds(kinds, _) => {
            let kind = value.get("kind").and_then(Value::as_str);
            match kinds.iter().find(|table| kind.is_some() && table.kind == kind) {
                Some(table) => scenario_table(table, value, place, problems),
                None => {
                    problems.push(no_kind(kinds, place));
                    Value::Null
                }
            }
        }
        Form::List(item) => {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default().iter();
            let items = items.enumerate();
            items.map(|(n, one)| scenario_value(item, one, &place.item(n), problems)).collect()
        }
        _ => value.clone(),
    }
}

fn no_kind(kinds: &[&Table], place: &Place) -> Problem {
    let names: Vec<&str> = kinds.iter().filter_map(|table| table.kind).collect();
    let names = names.join(", ");
    Problem::new(
        &place.key("kind"),
        format!("this key is needed here and is missing: one of {names}"),
    )
}

/// Expands a list of tables, or a number of equal tables; adds to each table the keys that all of
/// them share.
fn several(
    item: &'static Table,
    written: Option<&Value>,
    alike: Option<&Value>,
    place: &Place,
    problems: &mut Vec<Problem>,
) -> Value {
    let empty = Value::Object(Map::new());
    let turns: Vec<&Value> = match alike {
        Some(Value::Array(turns)) => turns.iter().collect(),
        Some(one) => vec![one],
        None => vec![&empty],
    };
    let turn = |n: usize| turns[n % turns.len()];
    let items: Vec<Value> = match written {
        Some(Value::Array(items)) => {
            let each = items.iter().enumerate();
            each.map(|(n, own)| merged(&Form::Table(item), turn(n), own)).collect()
        }
        Some(count) => {
            let count = whole(count, 0, i64::from(u16::MAX)).unwrap_or_default();
            (0..usize::try_from(count).unwrap_or_default()).map(|n| turn(n).clone()).collect()
        }
        None => vec![turn(0).clone()],
    };
    let each = items.iter().enumerate();
    each.map(|(n, one)| scenario_table(item, one, &place.item(n), problems)).collect()
}

/// Checks and converts a table that was combined from several tables.
pub(crate) fn whole_table(
    table: &'static Table,
    given: &Value,
    place: &Place,
) -> Result<Value, Vec<Problem>> {
    let mut problems = Vec::new();
    let given = checked_table(table, given, place, &mut problems);
    if problems.is_empty() {
        let found = scenario_table(table, &given, place, &mut problems);
        if problems.is_empty() {
            return Ok(found);
        }
    }
    Err(problems)
}
