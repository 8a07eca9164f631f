//! A scenario's path without values that equal their defaults: the result stays the same if a
//! later version adds keys with defaults.

use serde_json::{Map, Value};

use crate::convert::{scenario_key, usual_value};
use crate::keys::{CELL_PATH, LINK_STAGE, WIFI_PATH};
use crate::problem::Place;
use crate::table::{Absent, Form, Key, Table};

/// The path without kinds and without values that equal their defaults.
pub fn without_defaults(path: &Value) -> Value {
    match path["kind"].as_str() {
        Some("cell") => table_rest(&CELL_PATH, path),
        Some("wifi") => table_rest(&WIFI_PATH, path),
        Some("chain") => {
            let links = path["links"].as_array().into_iter().flatten().map(without_defaults);
            Value::from_iter([("links".to_owned(), links.collect::<Value>())])
        }
        _ => {
            let ways = ["forward", "reverse"].into_iter().filter_map(|way| {
                let stages = path[way].as_array()?;
                let is_told = way == "forward" || !stages.is_empty();
                is_told.then(|| (way.to_owned(), stages.iter().map(stage_rest).collect()))
            });
            Value::Object(ways.collect())
        }
    }
}

/// Whether a value of the scenario equals the default of its key.
pub(crate) fn is_usual(key: &'static Key, value: &Value) -> bool {
    let Absent::Is(text) = key.absent else { return value.is_null() };
    let usual = Value::from_iter([(key.name, usual_value(text))]);
    scenario_key(key, &usual, &Place::default(), &mut Vec::new()).as_ref() == Some(value)
}

fn table_rest(table: &'static Table, value: &Value) -> Value {
    let mut found = Map::new();
    for key in table.keys.iter().filter(|key| !key.si.is_empty()) {
        if let Some(inner) = value.get(key.si).filter(|inner| !is_usual(key, inner)) {
            found.insert(key.si.to_owned(), rest(&key.form, inner));
        }
    }
    Value::Object(found)
}

fn rest(form: &Form, value: &Value) -> Value {
    let items = |table: &'static Table| {
        value.as_array().into_iter().flatten().map(|one| table_rest(table, one)).collect()
    };
    match form {
        Form::Table(table) | Form::TableOrText(table, _) => table_rest(table, value),
        Form::Kinds(kinds, _) => {
            let kind = value["kind"].as_str();
            let table = kinds.iter().find(|table| kind.is_some() && table.kind == kind);
            table.map_or_else(|| value.clone(), |table| table_rest(table, value))
        }
        Form::List(Form::Table(item)) | Form::Several { item, .. } => items(item),
        _ => value.clone(),
    }
}

fn stage_rest(stage: &Value) -> Value {
    let mut found = table_rest(&LINK_STAGE, stage);
    for (name, value) in stage.as_object().into_iter().flatten() {
        let kind = value["kind"].as_str();
        let value = match name.as_str() {
            "rate" if kind == Some("unlimited") => continue,
            "rate" => without(value, |key, value| {
                key == "kind" || (key == "hold" && *value == Value::Bool(true))
            }),
            "queue" => queue_rest(value),
            "delay_ns" | "framing_bytes" if *value != 0 => value.clone(),
            _ => continue,
        };
        if name != "queue" || value != Value::Object(Map::new()) || kind != Some("drop_tail") {
            found[name] = value;
        }
    }
    found
}

/// A queue without its kind and without settings of its queueing discipline that equal their
/// defaults.
fn queue_rest(queue: &Value) -> Value {
    let form = LINK_STAGE.key("aqm").map(|key| key.form);
    let Some(Form::Kinds(kinds, _)) = form else { return queue.clone() };
    let table = kinds.iter().find(|table| table.kind == queue["kind"].as_str());
    let keys = table.map(|table| table.keys).unwrap_or_default();
    without(queue, |name, value| {
        let key = keys.iter().find(|key| key.si == name);
        name == "kind" || key.is_some_and(|key| is_usual(key, value))
    })
}

fn without(table: &Value, is_left_out: impl Fn(&str, &Value) -> bool) -> Value {
    let keys = table.as_object().into_iter().flatten();
    let told = keys.filter(|(name, value)| !value.is_null() && !is_left_out(name, value));
    Value::Object(told.map(|(name, value)| (name.clone(), value.clone())).collect())
}
