//! The numbers in a link's table, with their paths.

use serde_json::Value;

use crate::keys::LINK;
use crate::quantity::QueueLimit;
use crate::table::{Form, Table};

/// Each number of a checked link in its smallest unit, with its path, such as
/// `link.cell.user.downlink`. The share of packets that an independent loss drops is also listed
/// under the path of the loss.
pub fn counts_of(link: &Value) -> Vec<(String, i64)> {
    let mut found = Vec::new();
    of_table(&LINK, link, "link", &mut found);
    found
}

fn of_table(table: &Table, value: &Value, path: &str, found: &mut Vec<(String, i64)>) {
    for (name, inner) in value.as_object().into_iter().flatten() {
        if let Some(key) = table.key(name) {
            of_value(&key.form, inner, &format!("{path}.{name}"), found);
        }
    }
}

fn of_value(form: &Form, value: &Value, path: &str, found: &mut Vec<(String, i64)>) {
    let count = match form {
        Form::Figure(figure) => figure.quantity.read(value).ok(),
        Form::Queue => QueueLimit::read(value).ok().map(|limit| match limit {
            QueueLimit::Packets(count) => count.into(),
            QueueLimit::Bytes(count) | QueueLimit::MilliBdp(count) => count,
            QueueLimit::Unlimited => 0,
        }),
        Form::Whole { .. } => value.as_i64(),
        Form::Several { .. } if value.is_number() => value.as_i64(),
        Form::Table(table) | Form::TableOrText(table, _) => {
            of_table(table, value, path, found);
            None
        }
        Form::Kinds(kinds, _) => {
            let kind = value["kind"].as_str();
            if let Some(table) = kinds.iter().find(|table| kind.is_some() && table.kind == kind) {
                of_table(table, value, path, found);
                let inner = format!("{path}.share");
                let share = found.iter().rfind(|(path, _)| *path == inner);
                share.filter(|_| kind == Some("iid")).map(|&(_, count)| count)
            } else {
                None
            }
        }
        Form::List(item) => {
            of_items(item, value, path, found);
            None
        }
        Form::Several { item, .. } | Form::OneOrList(item) if value.is_array() => {
            of_items(&Form::Table(item), value, path, found);
            None
        }
        Form::OneOrList(item) => {
            of_table(item, value, path, found);
            None
        }
        _ => None,
    };
    found.extend(count.map(|count| (path.to_owned(), count)));
}

fn of_items(form: &Form, value: &Value, path: &str, found: &mut Vec<(String, i64)>) {
    for (n, item) in value.as_array().into_iter().flatten().enumerate() {
        of_value(form, item, &format!("{path}.{n}"), found);
    }
}
