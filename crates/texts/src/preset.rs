//! Presets: reads the file of a named link, and adds the preset's keys to a link.
//!
//! A preset has a title, a `[link]`, optionally a `[reverse_link]`, and optionally tables
//! `[period.NAME]` with the keys that differ at certain times of day. This module does not read
//! the preset's sources and ranges.

use serde_json::{Map, Value};

use crate::check::{checked_table, paths_to};
use crate::document::Document;
use crate::files::{Files, PresetFile};
use crate::keys::{CELL_PATH, LINK, WIFI_PATH};
use crate::link::{checked_link, exclusive};
use crate::merge::merged;
use crate::parts::medium;
use crate::problem::{Place, Problem};
use crate::short_keys::{SHORT_KEYS, spelt_out};
use crate::table::Form;

/// The description of a link in a preset.
#[derive(Clone, PartialEq, Debug)]
pub struct Preset {
    /// The document, with each table in its standard form.
    pub document: Value,
}

/// A link with its preset's keys added, and the reverse link of the preset.
#[derive(Clone, PartialEq, Debug)]
pub struct Expanded {
    /// The link's table.
    pub link: Value,
    /// The reverse link's table, if the preset has one.
    pub reverse_link: Option<Value>,
}

impl Preset {
    /// Reads the file of a preset, or a file that contains only the keys of a link.
    ///
    /// # Errors
    /// Returns an error if the file is not a preset; the text contains file, line and key of each
    /// problem.
    pub fn read(file: &PresetFile) -> Result<Self, String> {
        let document = Document::parse(&file.name, &file.text)?;
        let mut problems = Vec::new();
        let whole = checked_document(&document.value, &mut problems);
        if !problems.is_empty() {
            let told: Vec<String> = problems.iter().map(|one| document.explain(one)).collect();
            return Err(told.join("\n"));
        }
        let mut preset = Self { document: whole };
        for link in ["link", "reverse_link"] {
            if let Some(link) = preset.document.get_mut(link) {
                if link.get("preset").is_some_and(|name| !name.is_null()) {
                    let name = &file.name;
                    return Err(format!(
                        "{name}: a preset cannot be based on another preset; \
                        remove its key \"preset\""
                    ));
                }
                find_traces(link, &file.folder);
            }
        }
        Ok(preset)
    }

    /// The keys of the preset's link in a period of the day; if the period is unknown, the error
    /// lists the known periods.
    fn at(&self, period: Option<&str>) -> Result<Value, Vec<String>> {
        let link = &self.document["link"];
        let Some(period) = period else { return Ok(link.clone()) };
        let periods = self.document.get("period").and_then(Value::as_object);
        match periods.and_then(|periods| periods.get(period)) {
            Some(then) => Ok(merged(&Form::Table(&LINK), link, then)),
            None => Err(periods.into_iter().flat_map(Map::keys).cloned().collect()),
        }
    }
}

fn checked_document(document: &Value, problems: &mut Vec<Problem>) -> Value {
    let given = document.as_object().cloned().unwrap_or_default();
    if !given.keys().any(|key| PRESET_KEYS.contains(&key.as_str())) {
        let link = checked_link(document, &Place::default(), problems);
        return Value::Object(Map::from_iter([("link".to_owned(), link)]));
    }
    let mut found = Map::new();
    for (name, value) in given {
        let place = Place::of(&name);
        let value = match name.as_str() {
            "link" | "reverse_link" => checked_link(&value, &place, problems),
            "period" => match value.as_object() {
                Some(periods) => {
                    let each = periods.iter();
                    each.map(|(name, then)| {
                        let then = checked_table(&LINK, then, &place.key(name), problems);
                        (name.clone(), then)
                    })
                    .collect()
                }
                None => {
                    problems.push(Problem::new(&place, "must be a table: { key = value }"));
                    Value::Null
                }
            },
            _ => value,
        };
        found.insert(name, value);
    }
    if !found.contains_key("link") {
        let message = "this key is needed here and is missing: a table with the keys of the link";
        problems.push(Problem::new(&Place::of("link"), message));
    }
    Value::Object(found)
}

/// Makes the paths of traces relative to the preset's file.
fn find_traces(link: &mut Value, folder: &str) {
    for key in ["trace", "light_trace"] {
        if let Some(Value::String(trace)) = link.get_mut(key) {
            if !trace.starts_with('/') {
                *trace = format!("{folder}/{trace}");
            }
        }
    }
    for key in ["wire", "reverse"] {
        if let Some(inner) = link.get_mut(key) {
            find_traces(inner, folder);
        }
    }
    for stage in link.get_mut("stage").and_then(Value::as_array_mut).into_iter().flatten() {
        find_traces(stage, folder);
    }
}

/// A checked link with its preset's keys added and short keys expanded, and the preset's reverse
/// link.
pub(crate) fn expanded(
    link: &Value,
    place: &Place,
    files: &dyn Files,
) -> Result<Expanded, Vec<Problem>> {
    let one = |place: &Place, message: String| vec![Problem::new(place, message)];
    let name = link.get("preset").and_then(Value::as_str);
    let Some(name) = name else {
        let link = spelt_out(link, place).map_err(|problem| vec![problem])?;
        return Ok(Expanded { link, reverse_link: None });
    };
    let preset = files.preset(name).and_then(|file| Preset::read(&file));
    let preset = preset.map_err(|message| one(&place.key("preset"), message))?;
    let period = link.get("period").and_then(Value::as_str);
    let given = preset.at(period).map_err(|known| {
        let known = known.join(", ");
        let hint = if known.is_empty() { known } else { format!("; its periods are {known}") };
        one(&place.key("period"), format!("the preset {name} has no values for this period{hint}"))
    })?;
    // A table whose kind the preset states can be checked only now.
    let mut problems = Vec::new();
    let both = checked_table(&LINK, &with_own_keys(&given, link), place, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let own = link.as_object().map(Map::keys).into_iter().flatten();
    let own: Vec<&str> = own.map(String::as_str).filter(|key| !KEYS_OF_ANY.contains(key)).collect();
    let is_chain = both.get("stage").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    if let Some(key) =
        own.iter().find(|&&key| is_chain && key != "stage" && !SHORT_KEYS.contains(&key))
    {
        let message = format!("{name} is a chain of links; write \"{key}\" in one of its stages");
        return Err(one(&place.key(key), message));
    }
    if let Some(medium) = medium(&both) {
        let others =
            |key: &&&str| **key != medium && **key != "police" && !SHORT_KEYS.contains(key);
        if let Some(key) = own.iter().find(others) {
            return Err(one(&place.key(key), of_a_wire(name, medium, key)));
        }
    }
    if let Some(problem) = exclusive(&both, place) {
        return Err(vec![problem]);
    }
    let link = spelt_out(&both, place).map_err(|problem| vec![problem])?;
    let reverse_link = preset.document.get("reverse_link").cloned();
    Ok(Expanded { link, reverse_link })
}

/// The error for a wire's key in a cell or a Wi-Fi channel; suggests the equivalent key.
fn of_a_wire(name: &str, medium: &str, key: &str) -> String {
    let (what, table) = match medium {
        "cell" => ("cell", &CELL_PATH),
        _ => ("Wi-Fi channel", &WIFI_PATH),
    };
    let instead = match (medium, key) {
        ("wifi", "queue" | "aqm") => vec!["access_point.queue".to_owned()],
        (_, "delay") => vec![],
        _ => paths_to(table, key),
    };
    let instead: Vec<String> = instead.iter().map(|path| format!("{medium}.{path}")).collect();
    let instead = match (&instead[..], key) {
        ([], "delay") => "write server".to_owned(),
        ([], _) => format!("for a wire in front of the {what}, write wire.{key}"),
        (paths, _) => format!("write {}", paths.join(" or ")),
    };
    format!("this is a key of wires, but {name} is a {what}; {instead}")
}

/// Adds the preset's keys to the link's own. A table with a `kind` in the link replaces the table
/// of the preset, except that two media of the same kind (two cells, or two Wi-Fi channels) are
/// merged.
fn with_own_keys(given: &Value, own: &Value) -> Value {
    let mut both = given.as_object().cloned().unwrap_or_default();
    let says = |key: &str| own.get(key).is_some();
    if says("rate") || says("trace") {
        both.retain(|key, _| !RATE_KEYS.contains(&key.as_str()));
    }
    for (name, value) in own.as_object().into_iter().flatten() {
        let keeps = MEDIA.contains(&name.as_str()) || value.get("kind").is_none();
        let value = match (both.get(name), LINK.key(name)) {
            (Some(usual), Some(key)) if keeps => merged(&key.form, usual, value),
            _ => value.clone(),
        };
        both.insert(name.clone(), value);
    }
    Value::Object(both)
}

const MEDIA: [&str; 2] = ["cell", "wifi"];
const KEYS_OF_ANY: [&str; 5] = ["name", "preset", "period", "server", "wire"];
const RATE_KEYS: [&str; 11] = [
    "rate",
    "burst",
    "trace",
    "column",
    "unit",
    "time_column",
    "time_unit",
    "light_trace",
    "light_after",
    "busy_delay",
    "light_first",
];
const PRESET_KEYS: [&str; 8] =
    ["title", "description", "link", "reverse_link", "period", "sources", "ranges", "fixed"];
