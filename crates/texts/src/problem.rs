//! Errors in documents that people wrote, and the places of these errors.

use core::fmt;

/// One step of the path to a value: a key of a table, or a position in a list.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// A key of a table.
    Key(String),
    /// A position in a list, from 0.
    Item(usize),
}

/// The path from the top-level table to a value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Place(pub Vec<Step>);

impl Place {
    /// The place of a key in the top-level table.
    pub fn of(key: &str) -> Self {
        Self::default().key(key)
    }

    /// The place of a key in the table at this place.
    pub fn key(&self, key: &str) -> Self {
        self.with(Step::Key(key.to_owned()))
    }

    /// The place of an item in the list at this place.
    pub fn item(&self, position: usize) -> Self {
        self.with(Step::Item(position))
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for Place {
    /// Formats as in `flow[0].start`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) => write!(f, "{}{}", if n > 0 { "." } else { "" }, bare(key))?,
                Step::Item(position) => write!(f, "[{position}]")?,
            }
        }
        Ok(())
    }
}

fn bare(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !key.is_empty() && key.chars().all(is_bare) { key.to_owned() } else { format!("{key:?}") }
}

/// An error at a place in a document, with its remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Place of the incorrect or missing value.
    pub place: Place,
    /// The error and its remedy, for people.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(place: &Place, message: impl Into<String>) -> Self {
        Self { place: place.clone(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// The known word that is most similar to `name`: the one that has most letters in common with
/// `name` in the same order, if these are at least six tenths of both words.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.to_lowercase().chars().take(LONGEST_NAME).collect();
    let mut best: Option<(usize, usize, &str)> = None;
    for word in known {
        let letters: Vec<char> = word.to_lowercase().chars().take(LONGEST_NAME).collect();
        let (shared, all) = (2 * common(&name, &letters), name.len() + letters.len());
        let is_near = 10 * shared >= 6 * all && shared > 0;
        if is_near && best.is_none_or(|(most, of, _)| shared * of > most * all) {
            best = Some((shared, all, word));
        }
    }
    best.map(|(_, _, word)| word)
}

/// Number of letters that two words have in common in the same order.
fn common(one: &[char], other: &[char]) -> usize {
    let mut before = vec![0; other.len() + 1];
    for letter in one {
        let mut diagonal = 0;
        for (n, same) in other.iter().map(|mine| mine == letter).enumerate() {
            let above = before[n + 1];
            before[n + 1] = if same { diagonal + 1 } else { above.max(before[n]) };
            diagonal = above;
        }
    }
    before[other.len()]
}

const LONGEST_NAME: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_has_most_of_the_letters() {
        let known = ["rate", "delay", "queue", "bandwidth", "layers"];
        assert_eq!(nearest("dealy", known), Some("delay"));
        assert_eq!(nearest("Bandwith", known), Some("bandwidth"));
        assert_eq!(nearest("layer", known), Some("layers"));
        assert_eq!(nearest("x", known), None);
        assert_eq!(nearest("", known), None);
    }

    #[test]
    fn a_place_is_written_with_dots_and_positions() {
        let place = Place::of("flow").item(0).key("start").key("a b");
        assert_eq!(place.to_string(), "flow[0].start.\"a b\"");
    }
}
