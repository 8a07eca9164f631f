//! Finds algorithms by name: built-in algorithms, and those loaded into this process.

use std::collections::BTreeMap;

use crate::algorithm::Algorithm;

/// Algorithms by the names that scenarios use, both built-in and loaded.
#[derive(Clone, Debug, Default)]
pub struct Algorithms {
    loaded: BTreeMap<String, Algorithm>,
}

impl Algorithms {
    /// Adds a loaded algorithm under a name, which then replaces a built-in algorithm with the
    /// same name.
    pub fn insert(&mut self, name: impl Into<String>, algorithm: Algorithm) {
        self.loaded.insert(name.into(), algorithm);
    }

    /// Returns the algorithm with this name or alias. The prefix `ours:`, which distinguishes
    /// `ours:cubic` from a kernel's own module, is ignored.
    pub fn find(&self, name: &str) -> Option<Algorithm> {
        let name = name.strip_prefix("ours:").unwrap_or(name);
        self.loaded.get(name).copied().or_else(|| Algorithm::by_name(name))
    }

    /// Names that [`Algorithms::find`] accepts, without aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let loaded = self.loaded.keys().map(String::as_str);
        loaded.chain(Algorithm::all().map(|algorithm| -> &str { algorithm.name() }))
    }
}
