//! Determines which kind of link a table describes: a wire, a cell, a Wi-Fi channel or a chain.

use serde_json::Value;

/// Whether a table has a value at a key.
pub(crate) fn has(table: &Value, key: &str) -> bool {
    table.get(key).is_some_and(|value| !value.is_null())
}

/// The key `cell` or `wifi` if the link is a radio cell or a Wi-Fi channel.
pub(crate) fn medium(link: &Value) -> Option<&'static str> {
    ["cell", "wifi"].into_iter().find(|key| has(link, key))
}
