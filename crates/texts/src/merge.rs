//! Merges two documents; if both have a key, one document has precedence, as a link does over its
//! preset.

use serde_json::Value;

use crate::table::{Form, Table};

/// Returns `own` with the keys added that only `base` has. Tables of different kinds are not
/// merged.
pub(crate) fn merged(form: &Form, base: &Value, own: &Value) -> Value {
    if !base.is_object() || !own.is_object() {
        return own.clone();
    }
    match form {
        Form::Table(table) | Form::TableOrText(table, _) | Form::OneOrList(table) => {
            merged_keys(table, base, own)
        }
        Form::Kinds(kinds, _) => {
            let (usual, kind) = (base.get("kind"), own.get("kind"));
            let is_same = kind.is_none() || kind == usual;
            match kinds.iter().find(|table| table.kind == usual.and_then(Value::as_str)) {
                Some(table) if is_same => merged_keys(table, base, own),
                _ => own.clone(),
            }
        }
        _ => own.clone(),
    }
}

fn merged_keys(table: &Table, base: &Value, own: &Value) -> Value {
    let mut found = base.as_object().cloned().unwrap_or_default();
    for (name, value) in own.as_object().into_iter().flatten() {
        let value = match (found.get(name), table.key(name)) {
            (Some(usual), Some(key)) => merged(&key.form, usual, value),
            _ => value.clone(),
        };
        found.insert(name.clone(), value);
    }
    Value::Object(found)
}
