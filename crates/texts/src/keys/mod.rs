//! The keys that can be written for each part of a link.

mod cell;
mod queue;
mod radio;
mod wifi;
mod wire;

pub(crate) use cell::CELL_PATH;
pub(crate) use wifi::WIFI_PATH;
pub(crate) use wire::{LINK, LINK_STAGE};
