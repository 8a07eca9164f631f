//! The plans of a radio technology.

use super::{Plan, lte, nr, umts};
use crate::cellular::error::CellError;
use crate::cellular::radio::RadioConfig;

/// Both directions of a technology: down and up.
pub(crate) fn plans(radio: &RadioConfig) -> Result<[Plan; 2], CellError> {
    match *radio {
        RadioConfig::Umts { downlink, uplink } => {
            Ok([umts::downlink(downlink)?, umts::uplink(uplink)?])
        }
        RadioConfig::Lte(ref radio) => lte::both(radio),
        RadioConfig::Nr(ref radio) => nr::both(radio),
    }
}
