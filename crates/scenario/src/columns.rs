//! The columns of a run's tables. Each column's name, unit, type and meaning are defined by the
//! field that holds its values, so there is only one list of columns.

/// A column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Name of the column, which ends in its unit.
    pub name: &'static str,
    /// Kind of the column's values.
    pub kind: Kind,
    /// Whether a value of the column can be undefined: `None`, or `NaN` in a column of floats.
    pub can_be_undefined: bool,
    /// Type of the column's values in Rust.
    pub rust_type: &'static str,
    /// Doc comment of the field that holds the column's values.
    pub meaning: &'static str,
}

/// Kind of a column's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A word.
    Text,
    /// A whole number.
    Integer,
    /// Any number.
    Real,
}

/// Suffixes of column names and their units. If two suffixes match, the longer one comes first in
/// this list.
const UNITS: [(&str, &str); 9] = [
    ("_mbit_s", "Mbit/s"),
    ("_pkts", "packets"),
    ("_bytes", "bytes"),
    ("_pct", "%"),
    ("_ms", "ms"),
    ("_us", "µs"),
    ("_ns", "ns"),
    ("_db", "dB"),
    ("_s", "s"),
];

impl Column {
    /// Creates the column that a field defines.
    pub const fn of<T: Cell>(name: &'static str, meaning: &'static str) -> Self {
        let (kind, can_be_undefined, rust_type) = (T::KIND, T::CAN_BE_UNDEFINED, T::NAME);
        Self { name, kind, can_be_undefined, rust_type, meaning }
    }

    /// Unit at the end of the column's name; empty for a word, a count or an index.
    pub fn unit(&self) -> &'static str {
        let found = UNITS.iter().find(|(suffix, _)| self.name.ends_with(suffix));
        found.map_or("", |(_, unit)| unit)
    }
}

/// The values of a column, in order of the rows.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// Words created at run time.
    Texts(Vec<String>),
    /// Words from a fixed set.
    Names(Vec<&'static str>),
    /// Small numbers.
    U8(Vec<u8>),
    /// Numbers of users.
    U16(Vec<u16>),
    /// Counts.
    U32(Vec<u32>),
    /// Large counts.
    U64(Vec<u64>),
    /// Measured values; `NaN` is undefined.
    F64(Vec<f64>),
    /// Counts that can be undefined.
    SomeU32(Vec<Option<u32>>),
    /// Large counts that can be undefined.
    SomeU64(Vec<Option<u64>>),
    /// Measured values that can be undefined.
    SomeF64(Vec<Option<f64>>),
}

/// A type that a column's values can have.
pub trait Cell: Sized {
    /// Kind of the values of this type.
    const KIND: Kind;
    /// Whether a value of this type can be undefined.
    const CAN_BE_UNDEFINED: bool;
    /// Name of this type in Python.
    const NAME: &'static str;

    /// Converts a column of this type.
    fn values(column: Vec<Self>) -> Values;
}

macro_rules! cell {
    ($type:ty, $variant:ident, $kind:ident, $can_be_undefined:literal, $name:literal) => {
        impl Cell for $type {
            const KIND: Kind = Kind::$kind;
            const CAN_BE_UNDEFINED: bool = $can_be_undefined;
            const NAME: &'static str = $name;

            fn values(column: Vec<Self>) -> Values {
                Values::$variant(column)
            }
        }
    };
}

cell!(String, Texts, Text, false, "str");
cell!(&'static str, Names, Text, false, "str");
cell!(u8, U8, Integer, false, "uint8");
cell!(u16, U16, Integer, false, "uint16");
cell!(u32, U32, Integer, false, "uint32");
cell!(u64, U64, Integer, false, "uint64");
cell!(f64, F64, Real, false, "float64");
cell!(Option<u32>, SomeU32, Integer, true, "uint32");
cell!(Option<u64>, SomeU64, Integer, true, "uint64");
cell!(Option<f64>, SomeF64, Real, true, "float64");

/// Defines a struct whose fields are the columns of a table, either as single rows or as whole
/// columns.
#[macro_export]
macro_rules! table {
    ($(#[$attribute:meta])* row $name:ident {
        $($(#[doc = $meaning:literal])+ pub $field:ident: $type:ty,)*
    }) => {
        $(#[$attribute])*
        pub struct $name {
            $($(#[doc = $meaning])+ pub $field: $type,)*
        }

        impl $name {
            /// The columns of a table of such rows.
            pub const COLUMNS: &[$crate::Column] = &[
                $($crate::Column::of::<$type>(stringify!($field), concat!($($meaning),+)),)*
            ];

            /// Converts the rows of a table to columns, in the order of `COLUMNS`.
            pub fn columns(rows: &[Self]) -> Vec<$crate::Values> {
                vec![$($crate::Cell::values(
                    rows.iter().map(|row| row.$field.clone()).collect(),
                ),)*]
            }
        }
    };
    ($(#[$attribute:meta])* columns $name:ident {
        $($(#[doc = $meaning:literal])+ pub $field:ident: Vec<$type:ty>,)*
    }) => {
        $(#[$attribute])*
        pub struct $name {
            $($(#[doc = $meaning])+ pub $field: Vec<$type>,)*
        }

        impl $name {
            /// Appends later rows.
            pub fn append(&mut self, later: Self) {
                $(self.$field.extend(later.$field);)*
            }

            /// The columns of this table.
            pub const COLUMNS: &[$crate::Column] = &[
                $($crate::Column::of::<$type>(stringify!($field), concat!($($meaning),+)),)*
            ];

            /// The columns of this table, in the order of `COLUMNS`.
            pub fn columns(self) -> Vec<$crate::Values> {
                vec![$($crate::Cell::values(self.$field),)*]
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{Acks, Events, FlowSummary, LinkSummary, Samples};

    use super::*;

    #[test]
    fn every_number_but_counts_ends_in_its_unit() {
        let without = ["flow", "user", "value", "snd_una", "snd_nxt", "ca_state"];
        for column in [
            FlowSummary::COLUMNS,
            LinkSummary::COLUMNS,
            Samples::COLUMNS,
            Events::COLUMNS,
            Acks::COLUMNS,
        ]
        .concat()
        {
            let is_measure = column.kind == Kind::Real && !without.contains(&column.name);
            assert!(!is_measure || !column.unit().is_empty(), "{column:?}");
            assert!(column.kind != Kind::Text || column.unit().is_empty(), "{column:?}");
        }
    }

    #[test]
    fn columns_stand_in_the_order_of_their_fields() {
        let row =
            LinkSummary { link: "forward.0".to_owned(), queue_max_pkts: 7, ..Default::default() };
        let values = LinkSummary::columns(&[row]);
        assert_eq!(values.len(), LinkSummary::COLUMNS.len());
        assert_eq!(values.first(), Some(&Values::Texts(vec!["forward.0".to_owned()])));
        assert_eq!(values.last(), Some(&Values::U32(vec![7])));
        assert_eq!(
            LinkSummary::COLUMNS.last().map(|last| (last.name, last.unit())),
            Some(("queue_max_pkts", "packets"))
        );
    }
}
