//! Tables of keys: they define everything that users can write in a link. The reader, its error
//! messages, the scenario's numbers and the JSON Schema are derived from these tables.

use crate::quantity::{DECIBEL, DURATION, FREQUENCY, LENGTH, POWER, Quantity, RATE, SHARE, SIZE};

/// A table of a document, defined by the keys that it may have.
#[derive(Debug)]
pub(crate) struct Table {
    /// Name of the table in the JSON Schema.
    pub(crate) name: &'static str,
    /// Description.
    pub(crate) about: &'static str,
    /// Value of the table's key `kind`, if tables of other kinds are allowed in the same place.
    pub(crate) kind: Option<&'static str>,
    /// The table's keys, except `kind`.
    pub(crate) keys: &'static [Key],
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Name in documents.
    pub(crate) name: &'static str,
    /// Name of the key in the scenario; empty if the scenario has no such key.
    pub(crate) si: &'static str,
    /// Form of the key's value.
    pub(crate) form: Form,
    /// The value that applies if the key is absent.
    pub(crate) absent: Absent,
    /// Description.
    pub(crate) about: &'static str,
}

/// Form of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// A quantity, which is converted to an integer of the scenario.
    Figure(Figure),
    /// A queue limit.
    Queue,
    /// An integer in the range from `least` to `most`.
    Whole { least: i64, most: i64 },
    /// True or false.
    Flag,
    /// Text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A table.
    Table(&'static Table),
    /// A table of one of these kinds, or a text that stands for such a table.
    Kinds(&'static [&'static Table], Short),
    /// A table, or a text that stands for this table.
    TableOrText(&'static Table, Short),
    /// A list of values of this form.
    List(&'static Form),
    /// A list of tables, or the number of equal tables; the key `alike` contains the settings that
    /// all of them share.
    Several { item: &'static Table, alike: &'static str },
    /// One table that applies to all users, or a list of tables that are assigned to the users in
    /// turn.
    OneOrList(&'static Table),
}

/// Conversion of a quantity to an integer of the scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    /// The quantity.
    pub(crate) quantity: &'static Quantity,
    /// Number of the quantity's smallest units in one unit of the scenario.
    pub(crate) scale: i64,
    /// Minimum value in the scenario's unit.
    pub(crate) least: i64,
    /// Maximum value in the scenario's unit.
    pub(crate) most: i64,
}

/// How a text is converted to the table for which it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Short {
    /// The text is the kind of the table.
    Kind,
    /// The table has this kind, and the text becomes the value of this key.
    Key { kind: &'static str, key: &'static str },
    /// If the text begins with one of these words, the table has the kind with this name, and the
    /// rest of the text becomes the value of the key paired with the word. Any other text is
    /// converted as in `Key`.
    Worded { words: &'static [(&'static str, &'static str)], kind: &'static str, key: &'static str },
    /// The texts before and after the comma become the values of two keys; a text without a comma
    /// is an error with this `remedy`.
    Pair { first: &'static str, second: &'static str, remedy: &'static str },
    /// If the text equals `word`, the table has the kind `word`. Otherwise, the table has the kind
    /// `kind`, and the texts before and after the comma become the values of two keys.
    KindOrPair {
        word: &'static str,
        kind: &'static str,
        first: &'static str,
        second: &'static str,
        remedy: &'static str,
    },
}

/// The value that applies if a key is absent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Absent {
    /// The key is required.
    Needed,
    /// The key then has no value.
    Nothing,
    /// The key then has this default value, as JSON.
    Is(&'static str),
}

impl Table {
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The names of the table's keys, sorted, with `kind` if the table has a kind.
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

/// A key with a default, which is written as JSON.
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

/// Maximum of counters in the scenario: they have 32 bits.
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
