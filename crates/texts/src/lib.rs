//! Link descriptions written by people, and their conversion to the path of a scenario.
//!
//! A link is a table of keys, or a line that is the short form of this table. The link may name a
//! preset; each key of the preset applies unless the link has the same key. The tables in `keys`
//! define all keys and their values; the reader, its error messages, the scenario's numbers and
//! the JSON Schema are derived from these tables. [`checked_link`] checks that keys are known and
//! that values have the correct form; [`resolve`] adds the preset and the defaults and returns the
//! path. This crate opens no file: the caller implements [`Files`].

mod chain;
mod check;
mod convert;
mod defaults;
mod document;
mod files;
mod inline;
mod keys;
mod leaves;
mod link;
mod merge;
mod parts;
mod path;
mod preset;
mod problem;
mod quantity;
mod queue;
mod schema;
mod short_keys;
mod table;
mod wire;
mod words;

pub use defaults::without_defaults;
pub use document::Document;
pub use files::{Files, PacketTrains, PresetFile, Recording, Told, Way};
pub use inline::parse_inline;
pub use leaves::counts_of;
pub use link::checked_link;
pub use path::{Resolved, expand, resolve};
pub use preset::{Expanded, Preset};
pub use problem::{Place, Problem, Step, nearest};
pub use quantity::{
    DECIBEL, DURATION, FREQUENCY, LENGTH, POWER, Quantity, QueueLimit, RATE, SHARE, SIZE,
    UNLIMITED, quantity,
};
pub use queue::{QueueSize, queue_size};
pub use schema::link_definitions;
pub use words::figures_of;
