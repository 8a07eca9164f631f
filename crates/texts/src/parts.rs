//! Which kind of link a table describes.

use serde_json::Value;

/// Whether a table has a value at a key.
pub(crate) fn has(table: &Value, key: &str) -> bool {
    table.get(key).is_some_and(|value| !value.is_null())
}

/// The key of the link's medium, if it has one.
pub(crate) fn medium(link: &Value) -> Option<&'static str> {
    ["cell", "wifi"].into_iter().find(|key| has(link, key))
}
