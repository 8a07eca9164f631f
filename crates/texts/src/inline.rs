//! Parser for a link in one line: `lte-typical`, `trace:PATH,delay=20 ms`, `rate=10 Mbit/s,loss=1
//! %`.
//!
//! The line may begin with the name of a preset, a TOML file or `trace:PATH`. After this come keys
//! of a study's `[link]` table, separated by commas; a key of a nested table is written with dots.
//! A value or a path that contains commas needs quotation marks. The result is the equivalent
//! `[link]` table.

use serde_json::{Map, Value};

/// Converts a one-line link to the `[link]` table, without checking the values.
///
/// # Errors
/// Returns an error if `text` is empty, or has a duplicate key or a key without a value.
pub fn parse_inline(text: &str) -> Result<Value, String> {
    let trimmed = text.trim();
    let pairs = pairs_of(trimmed);
    let head_end = pairs.first().map_or(trimmed.len(), |pair| pair.begin);
    let head = trimmed[..head_end].trim();
    let mut table = Map::new();
    if !head.is_empty() {
        let (key, name) = path_of(head).map_or(("preset", head), |path| ("trace", path.trim()));
        table.insert(key.to_owned(), Value::from(unquoted(name).unwrap_or(name)));
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

/// The `key=value` pairs of a one-line link; a pair begins at the start of the line or after a
/// comma outside quotation marks.
fn pairs_of(text: &str) -> Vec<Pair<'_>> {
    let mut begins: Vec<(usize, usize, usize)> = Vec::new(); // of the comma, the key, the value
    let mut candidate = Some((0, 0));
    while let Some((comma, after)) = candidate {
        let key_at = text.len() - text[after..].trim_start().len();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let rest = &text[key_at..];
        let key = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let behind = rest[key.len()..].trim_start();
        let mut value = path_of(rest).unwrap_or(rest);
        if is_key && behind.starts_with('=') {
            value = &behind[1..];
            begins.push((comma, key_at, text.len() - value.len()));
        }
        let next = text.len() - behind_quotes(value).unwrap_or(&text[after..]).len();
        candidate = text[next..].find(',').map(|at| (next + at, next + at + 1));
    }
    let ends = begins.iter().skip(1).map(|&(comma, ..)| comma).chain([text.len()]);
    let pair = |(&(begin, key_at, value_at), end)| Pair {
        begin,
        key: text[key_at..value_at - 1].trim(),
        value: text[value_at..end].trim(),
    };
    begins.iter().zip(ends).map(pair).collect()
}

/// The path of a line that begins with `trace:PATH`; `None` for any other line.
fn path_of(head: &str) -> Option<&str> {
    head.split_once(':').filter(|(kind, _)| HEADS.contains(kind)).map(|(_, path)| path)
}

/// The text after a value in quotation marks, which may contain commas; `None` if the value has no
/// quotation marks.
fn behind_quotes(value: &str) -> Option<&str> {
    let value = value.trim_start();
    let quote = value.chars().next().filter(|first| QUOTES.contains(first))?;
    let (_, behind) = value[1..].split_once(quote)?;
    let next = behind.trim_start().chars().next();
    next.is_none_or(|next| next == ',').then_some(behind)
}

/// Inserts a value into nested tables; dots in the key separate the levels.
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

/// Converts a value: a number without a unit is a count, and other values are text with optional
/// quotation marks.
fn plain(text: &str) -> Value {
    if let Some(inside) = unquoted(text) {
        return Value::from(inside);
    }
    let is_count = text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= MOST_DIGITS;
    match text.parse::<i64>() {
        Ok(count) if is_count => Value::from(count),
        _ => Value::from(text),
    }
}

/// A text without its quotation marks; `None` if the text has no quotation marks.
fn unquoted(text: &str) -> Option<&str> {
    QUOTES.iter().find_map(|&quote| {
        let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inside.contains(quote)).then(|| inside.trim())
    })
}

const QUOTES: [char; 2] = ['"', '\''];
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
    fn quotes_keep_the_commas_of_a_path() {
        let read = |text: &str| parse_inline(text).expect("a link");
        let wanted = json!({"trace": "a,b=1/c d.up", "delay": "20 ms"});
        for line in [
            "trace:\"a,b=1/c d.up\",delay=20 ms",
            "trace: 'a,b=1/c d.up' , delay=20 ms",
            "trace=\"a,b=1/c d.up\",delay=20 ms",
            "delay=20 ms, trace = 'a,b=1/c d.up'",
        ] {
            assert_eq!(read(line), wanted, "{line}");
        }
        assert_eq!(read("\"a,b=1.toml\""), json!({"preset": "a,b=1.toml"}));
        assert_eq!(read("trace:\"a,b=1"), json!({"trace": "\"a", "b": 1})); // never closed
        assert_eq!(read("trace:\"a\"b,c=1"), json!({"trace": "\"a\"b", "c": 1}));
        assert!(parse_inline("trace:\"\"").expect_err("none").starts_with("not a link"));
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
