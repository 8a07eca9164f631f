//! Tables of keys: all that is known of what people may write, from which the reader, its errors,
//! the numbers of the scenario and the JSON Schema are made.

use crate::quantity::{DECIBEL, DURATION, FREQUENCY, LENGTH, POWER, Quantity, RATE, SHARE, SIZE};

/// A table of a document: which keys it may have.
#[derive(Debug)]
pub(crate) struct Table {
    /// What the JSON Schema calls it.
    pub(crate) name: &'static str,
    /// What it describes.
    pub(crate) about: &'static str,
    /// The word at its key `kind`, where others may stand in its place.
    pub(crate) kind: Option<&'static str>,
    /// Its keys, without `kind`.
    pub(crate) keys: &'static [Key],
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// As people write it.
    pub(crate) name: &'static str,
    /// As the scenario has it; empty where it has no such key.
    pub(crate) si: &'static str,
    /// What its value is.
    pub(crate) form: Form,
    /// What holds where it is not written.
    pub(crate) absent: Absent,
    /// What it means.
    pub(crate) about: &'static str,
}

/// What a value is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// A quantity, which becomes a whole number.
    Figure(Figure),
    /// The limit of a queue.
    Queue,
    /// A whole number between these two.
    Whole { least: i64, most: i64 },
    /// True or false.
    Flag,
    /// A text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A table.
    Table(&'static Table),
    /// A table of one of these kinds, for which a text may be short.
    Kinds(&'static [&'static Table], Short),
    /// A table for which a text may be short.
    TableOrText(&'static Table, Short),
    /// A list of such values.
    List(&'static Form),
    /// A list of tables, or how many there are; the key `alike` says what they have in common.
    Several { item: &'static Table, alike: &'static str },
    /// What several tables have in common, or a list of such tables, which take turns.
    OneOrList(&'static Table),
}

/// How a quantity becomes a number of the scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    /// The quantity.
    pub(crate) quantity: &'static Quantity,
    /// How many of its smallest units are one of the scenario's.
    pub(crate) scale: i64,
    /// Fewest of the scenario's units.
    pub(crate) least: i64,
    /// Most of them.
    pub(crate) most: i64,
}

/// Which table a text is short for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Short {
    /// The one of that kind.
    Kind,
    /// The one of this kind that has the text at this key.
    Key { kind: &'static str, key: &'static str },
    /// Behind one of these words, the one of its kind that has the rest at the key beside it; any
    /// other text is as with `Key`.
    Worded { words: &'static [(&'static str, &'static str)], kind: &'static str, key: &'static str },
    /// The one with what stands before the comma and behind it; else this is to be written.
    Pair { first: &'static str, second: &'static str, remedy: &'static str },
    /// The one of the kind `word`, or of `kind` with what stands before the comma and behind it.
    KindOrPair {
        word: &'static str,
        kind: &'static str,
        first: &'static str,
        second: &'static str,
        remedy: &'static str,
    },
}

/// What holds where a key is not written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Absent {
    /// It must be written.
    Needed,
    /// There is nothing of the kind.
    Nothing,
    /// This value, as JSON has it.
    Is(&'static str),
}

impl Table {
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The names of its keys, sorted, `kind` among them where it has one.
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

/// A key whose value is usually `usual`, as JSON has it.
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

/// The most that a counter of the scenario holds.
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
