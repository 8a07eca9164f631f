//! A TOML document with the line number of each key.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::{Place, Problem};

/// The content of a TOML text, with line numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Document {
    /// Name of the file, for error messages.
    pub name: String,
    /// The top-level table.
    pub value: Value,
    /// Line number of each key and of each list item, from 1.
    pub lines: BTreeMap<Place, usize>,
}

impl Document {
    /// Parses a TOML text; error messages refer to it as `name`.
    ///
    /// # Errors
    /// Returns an error if the text is not TOML; the message contains line and column.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(text.len(), |span| span.start.min(text.len()));
            let before = &text.as_bytes()[..at];
            let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
            let begin = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            let column = String::from_utf8_lossy(&before[begin..]).chars().count() + 1;
            let written = text.lines().nth(line - 1).unwrap_or_default().trim();
            let what = error.message().replace('\n', ", ");
            let written = short(written);
            format!("{name}:{line}: {written}\n  not valid TOML: {what}, column {column}")
        })?;
        let mut reader = Reader { text, lines: BTreeMap::new(), line_at: (0, 1) };
        let table = reader.table(table.get_ref(), &Place::default(), 0);
        let lines = reader.lines;
        let value = table.map_err(|what| format!("{name}: cannot be read\n  {what}"))?;
        Ok(Self { name: name.to_owned(), value: Value::Object(value), lines })
    }

    /// Describes a problem in two lines: the place, key and value as in the file, and then the
    /// error.
    pub fn explain(&self, problem: &Problem) -> String {
        let mut place = problem.place.clone();
        let line = loop {
            match self.lines.get(&place) {
                Some(line) => break Some(line),
                None if place.0.pop().is_none() => break None,
                None => {}
            }
        };
        let file = &self.name;
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{file}{line}: {}\n  {}", describe(&self.value, &problem.place), problem.message)
    }
}

/// The key as written in the document, and its value unless the value is a table or a list.
pub(crate) fn describe(document: &Value, place: &Place) -> String {
    match value_at(document, place) {
        Some(Value::Object(_) | Value::Array(_)) | None => place.to_string(),
        Some(value) => format!("{place} = {}", short(&value.to_string())),
    }
}

/// The value at a place in the document.
pub(crate) fn value_at<'a>(document: &'a Value, place: &Place) -> Option<&'a Value> {
    use crate::problem::Step;
    place.0.iter().try_fold(document, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Item(position) => value.get(position),
    })
}

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTED) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

struct Reader<'a> {
    text: &'a str,
    lines: BTreeMap<Place, usize>,
    line_at: (usize, usize), // offset of a byte, and the number of its line
}

impl Reader<'_> {
    fn table(
        &mut self,
        table: &DeTable<'_>,
        place: &Place,
        depth: usize,
    ) -> Read<Map<String, Value>> {
        let mut found = Map::new();
        for (key, value) in table {
            let name: &str = key.get_ref();
            let inner = place.key(name);
            self.note(&inner, key.span().start);
            found.insert(name.to_owned(), self.value(value, &inner, depth + 1)?);
        }
        Ok(found)
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, place: &Place, depth: usize) -> Read<Value> {
        if depth > MOST_NESTED {
            return Err(format!("tables and lists are nested more than {MOST_NESTED} levels deep"));
        }
        match value.get_ref() {
            DeValue::String(text) if text.contains('\0') => {
                Err("a text contains the character NUL; remove this character".to_owned())
            }
            DeValue::String(text) => Ok(Value::from(text.as_ref())),
            DeValue::Boolean(flag) => Ok(Value::from(*flag)),
            DeValue::Integer(digits) => i64::from_str_radix(digits.as_str(), digits.radix())
                .map(Value::from)
                .map_err(|_| "a number has too many digits".to_owned()),
            DeValue::Float(number) => {
                let number: f64 = number.as_str().parse().map_err(|_| "no number".to_owned())?;
                // JSON has neither infinity nor NaN: these become text.
                let finite = Number::from_f64(number).map(Value::Number);
                Ok(finite.unwrap_or_else(|| Value::from(number.to_string())))
            }
            DeValue::Datetime(time) => Ok(Value::from(time.to_string())),
            DeValue::Array(items) => {
                let mut found = Vec::new();
                for (n, item) in items.iter().enumerate() {
                    let inner = place.item(n);
                    self.note(&inner, item.span().start);
                    found.push(self.value(item, &inner, depth + 1)?);
                }
                Ok(Value::Array(found))
            }
            DeValue::Table(table) => Ok(Value::Object(self.table(table, place, depth)?)),
        }
    }

    fn note(&mut self, place: &Place, at: usize) {
        let at = at.min(self.text.len());
        if at < self.line_at.0 {
            self.line_at = (0, 1);
        }
        let (from, line) = self.line_at;
        let ends = self.text.as_bytes()[from..at].iter().filter(|&&byte| byte == b'\n').count();
        self.line_at = (at, line + ends);
        self.lines.insert(place.clone(), line + ends);
    }
}

type Read<T> = Result<T, String>;

const MOST_NESTED: usize = 50;
const LONGEST_QUOTED: usize = 200;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = "title = \"t\"\n\n[link]\nrate = \"1 Mbit/s\"\n\n[[link.stage]]\n\
        delay = \"1 ms\"\nloss = { kind = \"iid\" }\n\n[[link.stage]]\nschedule = [\n  { at = 1 },\n]\n";

    #[test]
    fn every_key_knows_its_line() {
        let document = Document::parse("x.toml", TEXT).expect("TOML");
        let line = |place: &Place| document.lines.get(place).copied();
        let stage = Place::of("link").key("stage");
        assert_eq!(line(&Place::of("link").key("rate")), Some(4));
        assert_eq!(line(&stage.item(0).key("delay")), Some(7));
        assert_eq!(line(&stage.item(0).key("loss").key("kind")), Some(8));
        assert_eq!(line(&stage.item(1).key("schedule").item(0).key("at")), Some(12));
        assert_eq!(document.value["link"]["stage"][0]["loss"], json!({"kind": "iid"}));
        let problem = Problem::new(&stage.item(0).key("delay").key("x"), "no");
        assert_eq!(document.explain(&problem), "x.toml:7: link.stage[0].delay.x\n  no");
        let problem = Problem::new(&stage.item(0).key("delay"), "no");
        assert_eq!(document.explain(&problem), "x.toml:7: link.stage[0].delay = \"1 ms\"\n  no");
    }

    #[test]
    fn what_is_no_toml_says_where() {
        let error = Document::parse("x.toml", "a = 1\nb = = 2\n").expect_err("not TOML");
        assert!(error.starts_with("x.toml:2: b = = 2\n  not valid TOML: "), "{error}");
        let deep = format!("a = {}{}", "[".repeat(60), "]".repeat(60));
        assert!(Document::parse("x.toml", &deep).is_err());
        assert!(Document::parse("x.toml", "a = \"\\u0000\"").expect_err("NUL").contains("NUL"));
        assert!(Document::parse("x.toml", "a = 99999999999999999999").is_err());
    }
}
