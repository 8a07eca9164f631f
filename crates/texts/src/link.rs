//! A link as a table or a line, and the rules by which keys of a link exclude or require each
//! other.

use serde_json::{Map, Value};

use crate::check::checked_table;
use crate::inline::parse_inline;
use crate::keys::{LINK, LINK_STAGE};
use crate::parts::{has, medium};
use crate::problem::{Place, Problem};

/// Converts a link's table or line to the standard form; adds the errors that it finds to
/// `problems`.
///
/// A missing key is not an error if a preset may provide the key.
pub fn checked_link(written: &Value, place: &Place, problems: &mut Vec<Problem>) -> Value {
    let table = match written {
        Value::String(line) => match parse_inline(line) {
            Ok(table) => table,
            Err(message) => {
                problems.push(Problem::new(place, message));
                return Value::Null;
            }
        },
        other => other.clone(),
    };
    let before = problems.len();
    let Some(table) = with_trace(table, place, problems) else { return Value::Null };
    let link = checked_table(&LINK, &table, place, problems);
    if problems.len() == before {
        problems.extend(exclusive(&link, place));
        if problems.len() == before {
            problems.extend(lacking(&link, place));
        }
    }
    link
}

/// Renames the key `log`, which older files use, to `trace`, also in the links of a chain.
fn with_trace(table: Value, place: &Place, problems: &mut Vec<Problem>) -> Option<Value> {
    let Value::Object(keys) = table else { return Some(table) };
    if keys.contains_key("log") && keys.contains_key("trace") {
        let message = "\"trace\" and \"log\" both define the rate; remove one of them";
        problems.push(Problem::new(&place.key("log"), message));
        return None;
    }
    let mut found = Map::new();
    for (name, value) in keys {
        let place = place.key(&name);
        let value = match (name.as_str(), value) {
            ("stage", Value::Array(stages)) => {
                let each = stages.into_iter().enumerate();
                let stages: Option<Vec<Value>> =
                    each.map(|(n, stage)| with_trace(stage, &place.item(n), problems)).collect();
                Value::Array(stages?)
            }
            ("wire" | "reverse", value) => with_trace(value, &place, problems)?,
            (_, value) => value,
        };
        found.insert(if name == "log" { "trace".to_owned() } else { name }, value);
    }
    Some(Value::Object(found))
}

/// The first two keys of a checked link that exclude each other.
pub(crate) fn exclusive(link: &Value, place: &Place) -> Option<Problem> {
    for (stage, place) in wires(link, place) {
        if has(stage, "rate") && has(stage, "trace") {
            let message = "\"rate\" and \"trace\" both define the rate; remove one of them";
            return Some(Problem::new(&place.key("trace"), message));
        }
    }
    let is_chain = has(link, "stage") && link["stage"] != Value::Array(Vec::new());
    if let Some(key) = wire_keys(link).first().filter(|_| is_chain) {
        let message =
            format!("\"{key}\" cannot be next to [[link.stage]]; move it into one of the stages");
        return Some(Problem::new(&place.key(key), message));
    }
    let other = ["cell", "wifi", "wire"].into_iter().find(|key| is_chain && has(link, key));
    if let Some(other) = other {
        let message =
            format!("\"stage\" and \"{other}\" both define the kind of link; remove one of them");
        return Some(Problem::new(&place.key(other), message));
    }
    links(link, place).into_iter().find_map(|(link, place)| beside_medium(link, &place))
}

/// The first key that a cell or a Wi-Fi channel does not permit beside itself in a link.
fn beside_medium(link: &Value, place: &Place) -> Option<Problem> {
    let medium = medium(link)?;
    if has(link, "cell") && has(link, "wifi") {
        let message = "\"cell\" and \"wifi\" both define the kind of link; remove one of them";
        return Some(Problem::new(&place.key("wifi"), message));
    }
    if has(link, "reverse") {
        let message = format!(
            "\"reverse\" is a key of wires; a {medium} already defines both \
            directions"
        );
        return Some(Problem::new(&place.key("reverse"), message));
    }
    let key = wire_keys(link).into_iter().find(|key| *key != "police")?; // allowed in every link
    let message = format!(
        "\"{key}\" is a key of wires; this link is a {medium}, which has other \
        keys"
    );
    Some(Problem::new(&place.key(key), message))
}

/// The keys that apply to a wire and are written in the link's own table.
fn wire_keys(link: &Value) -> Vec<&str> {
    let keys = link.as_object().map(Map::keys).into_iter().flatten().map(String::as_str);
    keys.filter(|key| LINK_STAGE.key(key).is_some() && has(link, key)).collect()
}

/// The first key of a checked link that requires a key which the link does not have.
pub(crate) fn lacking(link: &Value, place: &Place) -> Option<Problem> {
    // A preset may provide the missing key.
    for (stage, place) in wires(link, place).into_iter().filter(|(link, _)| !has(link, "preset")) {
        let told = ["column", "unit", "time_column", "time_unit"];
        if let Some(key) = told.into_iter().find(|key| has(stage, key) && !has(stage, "trace")) {
            let message = format!(
                "\"{key}\" describes a \"trace\", but this link has no trace; \
                 add a trace or remove this key"
            );
            return Some(Problem::new(&place.key(key), message));
        }
        if has(stage, "light_trace") && !has(stage, "trace") {
            let message = "\"light_trace\" applies while the load is light, but this link has no \
                \"trace\" that was recorded under load; add one";
            return Some(Problem::new(&place.key("light_trace"), message));
        }
        if has(stage, "burst") && !has(stage, "rate") {
            let message = "\"burst\" makes the rate a token bucket, but this link has no \
                \"rate\"; add one";
            return Some(Problem::new(&place.key("burst"), message));
        }
    }
    None
}

/// The link itself and the links of its chain.
fn links<'a>(link: &'a Value, place: &Place) -> Vec<(&'a Value, Place)> {
    let chain = link.get("stage").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let each = chain.iter().enumerate();
    let inner = each.map(|(n, stage)| (stage, place.key("stage").item(n)));
    let wire = link.get("wire").map(|wire| (wire, place.key("wire")));
    core::iter::once((link, place.clone())).chain(wire).chain(inner).collect()
}

/// The link itself, the links of its chain, and the reverse directions of their wires.
fn wires<'a>(link: &'a Value, place: &Place) -> Vec<(&'a Value, Place)> {
    let with_back = |(link, place): (&'a Value, Place)| {
        let back = link.get("reverse").map(|reverse| (reverse, place.key("reverse")));
        core::iter::once((link, place)).chain(back)
    };
    links(link, place).into_iter().flat_map(with_back).collect()
}
