//! Algorithms by name: the built-in ones, and those that a process has loaded.

use std::collections::BTreeMap;

use crate::algorithm::Algorithm;

/// Algorithms by the names that a scenario uses: the built-in ones, and those that were loaded.
#[derive(Clone, Debug, Default)]
pub struct Algorithms {
    loaded: BTreeMap<String, Algorithm>,
}

impl Algorithms {
    /// Adds a loaded algorithm under a name; a built-in one of this name gives way.
    pub fn insert(&mut self, name: impl Into<String>, algorithm: Algorithm) {
        self.loaded.insert(name.into(), algorithm);
    }

    /// The algorithm of this name, or of this alias. `ours:cubic`, as opposed to the kernel's own
    /// where a kernel runs, is `cubic` here.
    pub fn find(&self, name: &str) -> Option<Algorithm> {
        let name = name.strip_prefix("ours:").unwrap_or(name);
        self.loaded.get(name).copied().or_else(|| Algorithm::by_name(name))
    }

    /// Names that [`Algorithms::find`] knows, without aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let loaded = self.loaded.keys().map(String::as_str);
        loaded.chain(Algorithm::all().map(|algorithm| -> &str { algorithm.name() }))
    }
}
