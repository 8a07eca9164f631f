//! The JSON Schema of a link, generated from the tables that define its keys.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::convert::usual_value;
use crate::keys::LINK;
use crate::quantity::QUEUE_EXAMPLES;
use crate::table::{Absent, Form, Key, Short, Table};

/// The JSON Schema definitions of a link's table and of all nested tables, by name.
///
/// A key that a preset may provide is not marked as required. Required keys are marked only in
/// tables that must be complete.
pub fn link_definitions() -> Value {
    let mut found = BTreeMap::new();
    define(&LINK, false, &mut found);
    found.into_iter().collect()
}

type Definitions = BTreeMap<String, Value>;

fn define(table: &'static Table, is_whole: bool, found: &mut Definitions) {
    if found.contains_key(table.name) {
        return;
    }
    found.insert(table.name.to_owned(), Value::Null);
    let mut properties = Map::new();
    if let Some(kind) = table.kind {
        let about = table.about;
        properties.insert("kind".to_owned(), json!({"const": kind, "description": about}));
    }
    for key in table.keys {
        properties.insert(key.name.to_owned(), property(key, found));
    }
    let mut definition = json!({
        "title": table.name,
        "description": table.about,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    let is_needed = |key: &&Key| matches!(key.absent, Absent::Needed);
    let needed: Vec<&str> = table.keys.iter().filter(is_needed).map(|key| key.name).collect();
    if is_whole && !needed.is_empty() {
        definition["required"] = json!(needed);
    }
    found.insert(table.name.to_owned(), definition);
}

fn property(key: &Key, found: &mut Definitions) -> Value {
    let mut property = schema(&key.form, found);
    property["description"] = Value::from(key.about);
    if let Absent::Is(text) = key.absent {
        property["default"] = usual_value(text);
    }
    property
}

fn schema(form: &Form, found: &mut Definitions) -> Value {
    match form {
        Form::Figure(figure) => {
            let fits = |text: &&&str| figure.read(&Value::from(**text)).is_ok();
            let examples: Vec<_> = figure.quantity.examples.iter().filter(fits).collect();
            json!({"type": "string", "examples": examples})
        }
        Form::Queue => json!({"type": "string", "examples": QUEUE_EXAMPLES}),
        Form::Whole { least, most } => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        Form::Flag => json!({"type": "boolean"}),
        Form::Text => json!({"type": "string"}),
        Form::Word(words) => json!({"enum": words}),
        Form::Table(table) => reference(table, false, found),
        Form::TableOrText(table, short) => any_of(core::slice::from_ref(table), *short, found),
        Form::Kinds(kinds, short) => any_of(kinds, *short, found),
        Form::List(Form::Table(item)) => {
            json!({"type": "array", "items": reference(item, true, found)})
        }
        Form::List(item) => json!({"type": "array", "items": schema(item, found)}),
        Form::Several { item, .. } => {
            let items = json!({"type": "array", "items": reference(item, false, found)});
            json!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 2007}, items]})
        }
        Form::OneOrList(item) => {
            let one = reference(item, false, found);
            json!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]})
        }
    }
}

fn any_of(tables: &[&'static Table], short: Short, found: &mut Definitions) -> Value {
    let text = match short {
        Short::Kind => {
            let kinds: Vec<&str> = tables.iter().filter_map(|table| table.kind).collect();
            json!({"enum": kinds})
        }
        Short::Key { .. }
        | Short::Worded { .. }
        | Short::Pair { .. }
        | Short::KindOrPair { .. } => {
            json!({"type": "string"})
        }
    };
    let each = tables.iter().map(|table| reference(table, false, found));
    json!({"anyOf": core::iter::once(text).chain(each).collect::<Vec<_>>()})
}

fn reference(table: &'static Table, is_whole: bool, found: &mut Definitions) -> Value {
    define(table, is_whole, found);
    json!({"$ref": format!("#/$defs/{}", table.name)})
}
