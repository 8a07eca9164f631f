//! Checks that a document contains only known keys, and that each value has the correct form.
//!
//! A missing key is not an error in this module, because a preset may add the key;
//! [`crate::convert`] reports missing keys later. A value that can be written in several ways is
//! converted to one form: `loss = "1 %"` becomes `{ kind = "iid", share = "1 %" }`. Quantities
//! remain text.

use serde_json::{Map, Value};

use crate::problem::{Place, Problem, nearest};
use crate::quantity::{Quantity, QueueLimit};
use crate::table::{Figure, Form, Short, Table};

/// Returns the table in its standard form; adds the errors that it finds to `problems`.
pub(crate) fn checked_table(
    table: &'static Table,
    value: &Value,
    place: &Place,
    problems: &mut Vec<Problem>,
) -> Value {
    let Value::Object(given) = value else {
        problems.push(Problem::new(place, "must be a table: { key = value }"));
        return value.clone();
    };
    let mut found = Map::new();
    for (name, inner) in given {
        let place = place.key(name);
        let inner = match table.key(name) {
            _ if name == "kind" && table.kind.is_some() => inner.clone(),
            Some(_) if inner.is_null() => Value::Null,
            Some(key) => checked(&key.form, inner, &place, problems),
            None => {
                problems.push(unknown_key(name, &[table], &place));
                continue;
            }
        };
        found.insert(name.clone(), inner);
    }
    Value::Object(found)
}

fn unknown_key(name: &str, tables: &[&Table], place: &Place) -> Problem {
    let mut known: Vec<&str> = tables.iter().flat_map(|table| table.names()).collect();
    known.sort_unstable();
    known.dedup();
    let farther_in: Vec<(&str, String)> =
        tables.iter().flat_map(|table| keys_within(table, DEEPEST_HINT)).collect();
    // Of equally similar keys, one of this table comes first.
    let names = known.iter().copied().chain(farther_in.iter().map(|&(name, _)| name));
    let hint = match nearest(name, names) {
        Some(near) if known.contains(&near) => format!("did you mean {near}?"),
        Some(near) => {
            let paths: Vec<&str> = farther_in
                .iter()
                .filter(|(name, _)| *name == near)
                .map(|(_, path)| &**path)
                .collect();
            format!("did you mean {}?", paths[..paths.len().min(MOST_HINTS)].join(" or "))
        }
        None => format!("known here: {}", known.join(", ")),
    };
    Problem::new(place, format!("unknown key; {hint}"))
}

/// Names and paths of all keys in nested tables, down to `depth` levels.
fn keys_within(table: &Table, depth: usize) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for key in table.keys {
        let inner: &[&'static Table] = match &key.form {
            Form::Table(inner) | Form::TableOrText(inner, _) | Form::OneOrList(inner) => &[*inner],
            Form::Kinds(kinds, _) => kinds,
            _ => continue,
        };
        let path = |within: &str| format!("{}.{within}", key.name);
        for inner in inner {
            found.extend(inner.names().into_iter().map(|name| (name, path(name))));
            if depth > 1 {
                let deeper = keys_within(inner, depth - 1);
                found.extend(deeper.into_iter().map(|(name, within)| (name, path(&within))));
            }
        }
    }
    // Different kinds have keys in common.
    let mut known = std::collections::BTreeSet::new();
    found.retain(|(_, path)| known.insert(path.clone()));
    found
}

/// Paths of all keys with this name in nested tables.
pub(crate) fn paths_to(table: &Table, name: &str) -> Vec<String> {
    let within = keys_within(table, DEEPEST_HINT).into_iter();
    within.filter(|&(key, _)| key == name).map(|(_, path)| path).take(MOST_HINTS).collect()
}

const MOST_HINTS: usize = 3;

const DEEPEST_HINT: usize = 2;

fn checked(form: &Form, value: &Value, place: &Place, problems: &mut Vec<Problem>) -> Value {
    let result = match form {
        Form::Figure(figure) => figure.read(value).map(|_| value.clone()),
        Form::Queue => QueueLimit::read(value).map(|_| value.clone()),
        Form::Whole { least, most } => whole(value, *least, *most).map(Value::from),
        Form::Flag => flag(value).map(Value::from),
        Form::Text => text(value),
        Form::Word(words) => word(value, words).map(Value::from),
        Form::Table(table) => return checked_table(table, value, place, problems),
        Form::Kinds(kinds, short) if value.is_string() => {
            // An error in the text is an error of the whole value.
            let mut found = Vec::new();
            let value = of_kinds(kinds, *short, value, place, &mut found);
            problems.extend(found.into_iter().map(|one| Problem::new(place, one.message)));
            return value;
        }
        Form::Kinds(kinds, short) => return of_kinds(kinds, *short, value, place, problems),
        Form::TableOrText(table, short) => match spelt_out(*short, value) {
            Ok(value) => return checked_table(table, &value, place, problems),
            Err(message) => Err(message),
        },
        Form::List(item) => return list(item, value, place, problems),
        Form::Several { item, .. } if value.is_array() => {
            return list(&Form::Table(item), value, place, problems);
        }
        Form::Several { .. } => whole(value, 1, MOST_ALIKE).map(Value::from),
        Form::OneOrList(item) if value.is_array() => {
            if value.as_array().is_some_and(Vec::is_empty) {
                Err("must not be empty".to_owned())
            } else {
                return list(&Form::Table(item), value, place, problems);
            }
        }
        Form::OneOrList(item) => return checked_table(item, value, place, problems),
    };
    result.unwrap_or_else(|message| {
        problems.push(Problem::new(place, message));
        Value::Null
    })
}

fn list(form: &Form, value: &Value, place: &Place, problems: &mut Vec<Problem>) -> Value {
    let Value::Array(items) = value else {
        problems.push(Problem::new(place, "must be a list"));
        return Value::Null;
    };
    let each = items.iter().enumerate();
    Value::Array(each.map(|(n, item)| checked(form, item, &place.item(n), problems)).collect())
}

fn of_kinds(
    kinds: &'static [&'static Table],
    short: Short,
    value: &Value,
    place: &Place,
    problems: &mut Vec<Problem>,
) -> Value {
    let value = match spelt_out(short, value) {
        Ok(value) => value,
        Err(message) => {
            problems.push(Problem::new(place, message));
            return Value::Null;
        }
    };
    let Value::Object(given) = &value else {
        problems.push(Problem::new(place, "must be a table: { key = value }"));
        return Value::Null;
    };
    let names: Vec<&str> = kinds.iter().filter_map(|table| table.kind).collect();
    match given.get("kind") {
        None => without_kind(kinds, given, place, problems),
        Some(kind) => match kinds.iter().find(|table| table.kind == kind.as_str()) {
            Some(table) if kind.is_string() => checked_table(table, &value, place, problems),
            _ => {
                let near = kind.as_str().and_then(|kind| nearest(kind, names.iter().copied()));
                let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                let message = format!("must be one of {}{hint}", names.join(", "));
                problems.push(Problem::new(&place.key("kind"), message));
                Value::Null
            }
        },
    }
}

/// Checks a table without the key `kind`, whose kind a preset defines: keys of any kind are
/// permitted.
fn without_kind(
    kinds: &'static [&'static Table],
    given: &Map<String, Value>,
    place: &Place,
    problems: &mut Vec<Problem>,
) -> Value {
    let mut found = Map::new();
    for (name, inner) in given {
        let keys: Vec<_> = kinds.iter().filter_map(|table| table.key(name)).collect();
        let place = place.key(name);
        match keys[..] {
            [] => {
                problems.push(unknown_key(name, kinds, &place));
                continue;
            }
            [only] => found.insert(name.clone(), checked(&only.form, inner, &place, problems)),
            _ => found.insert(name.clone(), inner.clone()),
        };
    }
    Value::Object(found)
}

/// Expands a text that stands for a table; returns any other value unchanged.
fn spelt_out(short: Short, value: &Value) -> Result<Value, String> {
    let Value::String(text) = value else { return Ok(value.clone()) };
    let pairs = match short {
        Short::Kind => vec![("kind", text.as_str())],
        Short::Key { kind, key } => vec![("kind", kind), (key, text)],
        Short::Worded { words, kind, key } => {
            let behind = words.iter().find_map(|&(word, word_key)| {
                let rest = text.strip_prefix(word)?.strip_prefix(' ')?;
                Some(vec![("kind", word), (word_key, rest.trim())])
            });
            behind.unwrap_or_else(|| vec![("kind", kind), (key, text)])
        }
        Short::Pair { first, second, remedy } => {
            let (one, other) = text.split_once(',').ok_or(remedy)?;
            vec![(first, one.trim()), (second, other.trim())]
        }
        Short::KindOrPair { word, .. } if text.trim() == word => vec![("kind", word)],
        Short::KindOrPair { kind, first, second, remedy, .. } => {
            let (one, other) = text.split_once(',').ok_or(remedy)?;
            vec![("kind", kind), (first, one.trim()), (second, other.trim())]
        }
    };
    Ok(pairs.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect())
}

impl Figure {
    /// Reads a quantity as an integer in the scenario's unit.
    pub(crate) fn read(&self, value: &Value) -> Result<i64, String> {
        let count = self.quantity.read(value)?;
        let text = |count: i64| self.quantity.format(count.saturating_mul(self.scale));
        if count % self.scale != 0 {
            return Err(format!("too precise; write a whole multiple of {}", text(1)));
        }
        let count = count / self.scale;
        if count < self.least {
            return Err(format!("must be at least {}", text(self.least)));
        }
        if count > self.most {
            return Err(format!("must be at most {}", text(self.most)));
        }
        Ok(count)
    }
}

/// Reads an integer. A text is also accepted, because all values in a one-line link are text.
pub(crate) fn whole(value: &Value, least: i64, most: i64) -> Result<i64, String> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => number.as_i64().or_else(|| {
            let number = number.as_f64()?;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the integer is compared with the original number"
            )]
            let whole = number as i64;
            #[expect(
                clippy::cast_precision_loss,
                reason = "a number that is not exact is rejected"
            )]
            let is_whole = whole as f64 == number && number.abs() < 1e15;
            is_whole.then_some(whole)
        }),
        _ => None,
    };
    match number {
        None => Err("must be a whole number".to_owned()),
        Some(number) if number < least => Err(format!("must be at least {least}")),
        Some(number) if number > most => Err(format!("must be at most {most}")),
        Some(number) => Ok(number),
    }
}

fn flag(value: &Value) -> Result<bool, String> {
    let word = match value {
        Value::Bool(flag) => return Ok(*flag),
        Value::String(text) => text.trim().to_lowercase(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    match word.as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err("must be true or false".to_owned()),
    }
}

fn text(value: &Value) -> Result<Value, String> {
    match value {
        Value::String(_) => Ok(value.clone()),
        Value::Number(number) => Ok(Value::from(number.to_string())),
        _ => Err("must be a text".to_owned()),
    }
}

fn word(value: &Value, words: &[&'static str]) -> Result<&'static str, String> {
    if let Some(known) = words.iter().find(|known| value.as_str() == Some(known)) {
        return Ok(known);
    }
    let quoted: Vec<String> = words.iter().map(|known| format!("\"{known}\"")).collect();
    let (last, others) = quoted.split_last().expect("there are words");
    let near = value.as_str().and_then(|text| nearest(text, words.iter().copied()));
    let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    let others = others.join(", ");
    Err(format!("must be {others}{}{last}{hint}", if others.is_empty() { "" } else { " or " }))
}

/// Reads a quantity from a document that was already checked.
pub(crate) fn known(quantity: &Quantity, value: Option<&Value>) -> Option<i64> {
    value.and_then(|value| quantity.read(value).ok())
}

/// Maximum number of users of a cell or stations of a Wi-Fi channel: the number of association
/// identifiers in IEEE 802.11.
const MOST_ALIKE: i64 = 2007;
