//! What a link's table says that it is.

use serde_json::Value;

/// Whether a table says something at a key.
pub(crate) fn has(table: &Value, key: &str) -> bool {
    table.get(key).is_some_and(|value| !value.is_null())
}

/// The key of the medium that a link is, if it is one.
pub(crate) fn medium(link: &Value) -> Option<&'static str> {
    ["cell", "wifi"].into_iter().find(|key| has(link, key))
}
