//! The Wi-Fi channel as a whole: against closed forms, against ns-3, and what it must always keep.

mod channel;
#[path = "../common/mod.rs"]
mod common;
mod properties;
mod saturation;
