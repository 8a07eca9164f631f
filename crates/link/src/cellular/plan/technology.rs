//! Selects the properties of a cell's radio technology.

use super::{Plan, lte, nr, umts};
use crate::cellular::error::CellError;
use crate::cellular::radio::RadioConfig;

/// Returns the properties of the downlink and the uplink of a radio technology.
pub(crate) fn plans(radio: &RadioConfig) -> Result<[Plan; 2], CellError> {
    match *radio {
        RadioConfig::Umts { downlink, uplink } => {
            Ok([umts::downlink(downlink)?, umts::uplink(uplink)?])
        }
        RadioConfig::Lte(ref radio) => lte::both(radio),
        RadioConfig::Nr(ref radio) => nr::both(radio),
    }
}
