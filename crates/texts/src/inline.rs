//! A link in one line: `lte-typical`, `trace:PATH,delay=20 ms`, `rate=10 Mbit/s,loss=1 %`.
//!
//! The line may begin with the name of a preset, a TOML file or `trace:PATH`. Then follow keys of a
//! study's `[link]` table, separated by commas; a key of a nested table is written with dots. The
//! line is converted to such a table.

use serde_json::{Map, Value};

/// Converts a line to the `[link]` table; does not check values.
///
/// # Errors
/// If `text` is empty, or has a duplicate key or a key without a value.
pub fn parse_inline(text: &str) -> Result<Value, String> {
    let trimmed = text.trim();
    let pairs = pairs_of(trimmed);
    let head_end = pairs.first().map_or(trimmed.len(), |pair| pair.begin);
    let head = trimmed[..head_end].trim();
    let mut table = Map::new();
    if !head.is_empty() {
        match head.split_once(':').filter(|(kind, _)| HEADS.contains(kind)) {
            Some((_, path)) => table.insert("trace".to_owned(), Value::from(path.trim())),
            None => table.insert("preset".to_owned(), Value::from(head)),
        };
    }
    for pair in &pairs {
        insert(&mut table, pair.key, plain(pair.value))?;
    }
    let is_empty = |value: &Value| value.as_str().is_some_and(str::is_empty);
    if table.is_empty() || table.values().any(is_empty) || text.contains('\0') {
        return Err(format!("not a link; {REMEDY}"));
    }
    Ok(Value::Object(table))
}

struct Pair<'a> {
    begin: usize,
    key: &'a str,
    value: &'a str,
}

/// The `key=value` pairs of a line; each begins at the line's start or after a comma.
fn pairs_of(text: &str) -> Vec<Pair<'_>> {
    let commas = text.match_indices(',').map(|(at, _)| at);
    let mut begins: Vec<(usize, usize, usize)> = Vec::new(); // of the comma, the key, the value
    for (comma, after) in core::iter::once((0, 0)).chain(commas.map(|at| (at, at + 1))) {
        let key_at = text.len() - text[after..].trim_start().len();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let rest = &text[key_at..];
        let key = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let behind = rest[key.len()..].trim_start();
        if is_key && behind.starts_with('=') {
            begins.push((comma, key_at, text.len() - behind.len() + 1));
        }
    }
    let ends = begins.iter().skip(1).map(|&(comma, ..)| comma).chain([text.len()]);
    let pair = |(&(begin, key_at, value_at), end)| Pair {
        begin,
        key: text[key_at..value_at - 1].trim(),
        value: text[value_at..end].trim(),
    };
    begins.iter().zip(ends).map(pair).collect()
}

/// Inserts a value at a key with dots.
fn insert(table: &mut Map<String, Value>, key: &str, value: Value) -> Result<(), String> {
    let mut place = table;
    let mut parts: Vec<&str> = key.split('.').collect();
    let last = parts.pop().unwrap_or_default();
    for name in parts {
        let inner = place.entry(name).or_insert_with(|| Value::Object(Map::new()));
        place = inner.as_object_mut().ok_or_else(|| {
            format!("\"{name}\" already has a value, so it cannot contain \"{key}\"; {REMEDY}")
        })?;
    }
    if place.contains_key(last) {
        return Err(format!("\"{key}\" appears twice; {REMEDY}"));
    }
    place.insert(last.to_owned(), value);
    Ok(())
}

/// A number without a unit is a count; quotation marks around text are optional.
fn plain(text: &str) -> Value {
    for quote in ['"', '\''] {
        let inside = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inside) = inside.filter(|inside| !inside.contains(quote)) {
            return Value::from(inside.trim());
        }
    }
    let is_count = text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= MOST_DIGITS;
    match text.parse::<i64>() {
        Ok(count) if is_count => Value::from(count),
        _ => Value::from(text),
    }
}

const HEADS: [&str; 2] = ["trace", "log"]; // older files say log
const MOST_DIGITS: usize = 18;
const REMEDY: &str = "write for example \"rate=10 Mbit/s,delay=20 ms,queue=50 packets\", \
     \"trace:FILE,delay=20 ms\" or the name of a preset (cwndlab link list)";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_a_table() {
        let read = |text: &str| parse_inline(text).expect("a link");
        assert_eq!(read("lte-typical"), json!({"preset": "lte-typical"}));
        assert_eq!(
            read("trace: a b.txt , delay = 20 ms"),
            json!({"trace": "a b.txt", "delay": "20 ms"})
        );
        assert_eq!(
            read("nr-good,cell.radio.layers=2,police=20 Mbit/s, 100 kB"),
            json!({
                "preset": "nr-good",
                "cell": {"radio": {"layers": 2}},
                "police": "20 Mbit/s, 100 kB",
            })
        );
        assert_eq!(read("rate=1 Mbit/s"), json!({"rate": "1 Mbit/s"}));
        assert_eq!(read("a,b,c=1"), json!({"preset": "a,b", "c": 1}));
        assert_eq!(
            read("a,b=\"1 s, 2 s\",c='d'"),
            json!({"preset": "a", "b": "1 s, 2 s", "c": "d"})
        );
    }

    #[test]
    fn what_is_no_link_says_what_to_write() {
        for text in ["", " ", "rate=", "a\0b"] {
            assert!(
                parse_inline(text).expect_err("none").starts_with("not a link; write"),
                "{text}"
            );
        }
        assert!(parse_inline("a=1,a=2").expect_err("twice").starts_with("\"a\" appears twice"));
        assert!(parse_inline("a=1,a.b=2").expect_err("both").starts_with("\"a\" already has"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_table_or_a_sentence(text in "[a-c=,.: \\PC]{0,40}") {
            let _ = parse_inline(&text);
        }
    }
}
