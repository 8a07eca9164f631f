//! The settings of a cell or a Wi-Fi channel in a scenario, written as users write them.

use serde_json::Value;

use crate::defaults::is_usual;
use crate::keys::{CELL_PATH, WIFI_PATH};
use crate::table::{Figure, Form, Table};

/// Path and text of each setting of a cell or a Wi-Fi channel that differs from its default.
pub fn figures_of(path: &Value) -> Vec<(String, String)> {
    let table = if path["kind"] == "cell" { &CELL_PATH } else { &WIFI_PATH };
    let mut found = Vec::new();
    table_figures(table, path, "", &mut found);
    found
}

fn table_figures(table: &'static Table, value: &Value, path: &str, found: &mut Found) {
    let mut known = Vec::new();
    for key in table.keys.iter().filter(|key| !key.si.is_empty()) {
        if known.contains(&key.si) {
            continue; // short for a key that is listed
        }
        known.push(key.si);
        if let Some(inner) = value.get(key.si).filter(|inner| !is_usual(key, inner)) {
            let path = format!("{path}{}{}", if path.is_empty() { "" } else { "." }, key.name);
            figures(&key.form, inner, &path, found);
        }
    }
}

fn figures(form: &Form, value: &Value, path: &str, found: &mut Found) {
    match form {
        Form::Table(table) | Form::TableOrText(table, _) => {
            table_figures(table, value, path, found)
        }
        Form::Kinds(kinds, _) => {
            let kind = value["kind"].as_str();
            if let Some(table) = kinds.iter().find(|table| kind.is_some() && table.kind == kind) {
                found.push((path.to_owned(), kind.unwrap_or_default().to_owned()));
                table_figures(table, value, path, found);
            }
        }
        Form::List(Form::Table(item)) | Form::Several { item, .. } => {
            items(item, value.as_array().map(Vec::as_slice).unwrap_or_default(), path, found);
        }
        Form::List(item) => {
            let each = value.as_array().into_iter().flatten().map(|one| plain(item, one));
            found.push((path.to_owned(), each.collect::<Vec<_>>().join(", ")));
        }
        form => found.push((path.to_owned(), plain(form, value))),
    }
}

/// The settings of a list of tables; consecutive equal tables are listed once.
fn items(item: &'static Table, all: &[Value], path: &str, found: &mut Found) {
    let mut at = 0;
    while let Some(one) = all.get(at) {
        let alike = all[at..].iter().take_while(|other| *other == one).count();
        let last = at + alike - 1;
        let name = if alike == 1 { format!("{path}.{at}") } else { format!("{path}.{at}-{last}") };
        table_figures(item, one, &name, found);
        at += alike;
    }
}

fn plain(form: &Form, value: &Value) -> String {
    match (form, value) {
        (Form::Figure(Figure { quantity, scale, .. }), Value::Number(count)) => {
            quantity.format(count.as_i64().unwrap_or_default().saturating_mul(*scale))
        }
        (_, Value::Bool(flag)) => if *flag { "yes" } else { "no" }.to_owned(),
        (_, Value::String(text)) => text.clone(),
        (_, other) => other.to_string(),
    }
}

type Found = Vec<(String, String)>;
