//! Tables of keys: the definition of everything that can be written, from which the reader, its
//! error messages, the scenario's numbers and the JSON Schema are derived.

use crate::quantity::{DECIBEL, DURATION, FREQUENCY, LENGTH, POWER, Quantity, RATE, SHARE, SIZE};

/// A table of a document: the keys that it may have.
#[derive(Debug)]
pub(crate) struct Table {
    /// Name in the JSON Schema.
    pub(crate) name: &'static str,
    /// Description.
    pub(crate) about: &'static str,
    /// Value of its key `kind`, if other tables are allowed in its place.
    pub(crate) kind: Option<&'static str>,
    /// Its keys, except `kind`.
    pub(crate) keys: &'static [Key],
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Name in documents.
    pub(crate) name: &'static str,
    /// Name in the scenario; empty if it has no such key.
    pub(crate) si: &'static str,
    /// Form of the value.
    pub(crate) form: Form,
    /// What applies if the key is absent.
    pub(crate) absent: Absent,
    /// Description.
    pub(crate) about: &'static str,
}

/// Form of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// A quantity, which is converted to an integer.
    Figure(Figure),
    /// A queue limit.
    Queue,
    /// An integer in this range.
    Whole { least: i64, most: i64 },
    /// True or false.
    Flag,
    /// Text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A table.
    Table(&'static Table),
    /// A table of one of these kinds, or a text that is short for it.
    Kinds(&'static [&'static Table], Short),
    /// A table, or a text that is short for it.
    TableOrText(&'static Table, Short),
    /// A list of values of this form.
    List(&'static Form),
    /// A list of tables, or their number; the key `alike` contains what they have in common.
    Several { item: &'static Table, alike: &'static str },
    /// A table that applies to all, or a list of tables that are used in turn.
    OneOrList(&'static Table),
}

/// Conversion of a quantity to a number of the scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    /// The quantity.
    pub(crate) quantity: &'static Quantity,
    /// Number of the quantity's smallest units in one of the scenario's units.
    pub(crate) scale: i64,
    /// Minimum in the scenario's units.
    pub(crate) least: i64,
    /// Maximum in the scenario's units.
    pub(crate) most: i64,
}

/// The table for which a text is short.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Short {
    /// The table of the kind that the text names.
    Kind,
    /// The table of this kind with the text at this key.
    Key { kind: &'static str, key: &'static str },
    /// After one of these words: the table of that kind with the remaining text at the paired key.
    /// Any other text: as for `Key`.
    Worded { words: &'static [(&'static str, &'static str)], kind: &'static str, key: &'static str },
    /// The table with the texts before and after the comma; without a comma, `remedy` is the error.
    Pair { first: &'static str, second: &'static str, remedy: &'static str },
    /// The table of kind `word`, or of `kind` with the texts before and after the comma.
    KindOrPair {
        word: &'static str,
        kind: &'static str,
        first: &'static str,
        second: &'static str,
        remedy: &'static str,
    },
}

/// What applies if a key is absent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Absent {
    /// The key is required.
    Needed,
    /// There is no value.
    Nothing,
    /// This default value, as JSON.
    Is(&'static str),
}

impl Table {
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The names of its keys, sorted, with `kind` if it has one.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.keys.iter().map(|key| key.name).collect();
        names.extend(self.kind.map(|_| "kind"));
        names.sort_unstable();
        names
    }
}

pub(crate) const fn needed(
    name: &'static str,
    si: &'static str,
    form: Form,
    about: &'static str,
) -> Key {
    Key { name, si, form, absent: Absent::Needed, about }
}

pub(crate) const fn optional(
    name: &'static str,
    si: &'static str,
    form: Form,
    about: &'static str,
) -> Key {
    Key { name, si, form, absent: Absent::Nothing, about }
}

/// A key with a default, as JSON.
pub(crate) const fn usual(
    name: &'static str,
    si: &'static str,
    form: Form,
    usual: &'static str,
    about: &'static str,
) -> Key {
    Key { name, si, form, absent: Absent::Is(usual), about }
}

const fn figure(quantity: &'static Quantity, scale: i64, least: i64, most: i64) -> Form {
    Form::Figure(Figure { quantity, scale, least, most })
}

/// Maximum of the scenario's counters.
pub(crate) const MOST_COUNT: i64 = u32::MAX as i64;

pub(crate) const TIME: Form = figure(&DURATION, 1, 0, i64::MAX);
pub(crate) const TIME_ABOVE_0: Form = figure(&DURATION, 1, 1, i64::MAX);
pub(crate) const BITS_PER_SEC: Form = figure(&RATE, 1, 1, i64::MAX);
pub(crate) const KILOBITS_PER_SEC: Form = figure(&RATE, 1000, 0, MOST_COUNT);
pub(crate) const BYTES: Form = figure(&SIZE, 1, 0, i64::MAX);
pub(crate) const FEW_BYTES: Form = figure(&SIZE, 1, 0, MOST_COUNT);
pub(crate) const PPB: Form = figure(&SHARE, 1, 0, 1_000_000_000);
pub(crate) const RATIO: Form = figure(&DECIBEL, 1, -300_000, 300_000);
pub(crate) const DBM: Form = figure(&POWER, 1, -300_000, 300_000);
pub(crate) const MILLIMETRES: Form = figure(&LENGTH, 1, -1_000_000_000, 1_000_000_000);
pub(crate) const MEGAHERTZ: Form = figure(&FREQUENCY, 1_000_000_000, 0, MOST_COUNT);
pub(crate) const KILOHERTZ: Form = figure(&FREQUENCY, 1_000_000, 0, MOST_COUNT);
pub(crate) const MILLIHERTZ: Form = figure(&FREQUENCY, 1, 0, MOST_COUNT);
pub(crate) const COUNT: Form = Form::Whole { least: 0, most: MOST_COUNT };
pub(crate) const SMALL: Form = Form::Whole { least: 0, most: 255 };
