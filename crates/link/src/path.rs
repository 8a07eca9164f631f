//! What lies between the ends, as the scenario's JSON says it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cellular::CellConfig;
use crate::config::{RateConfig, StageConfig};
use crate::{RateTrace, TraceError, Traces, WifiConfig};

/// The path between the network and its users.
///
/// A wire has two directions that know nothing of each other. Every other kind is a shared medium:
/// one object with port 0 on the network's side and a port for each user.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PathConfig {
    /// Two independent directions, which all users share.
    Wire(WireConfig),
    /// A Wi-Fi channel: the access point is on the network's side, and its stations are the users.
    Wifi(Box<WifiConfig>),
    /// A radio cell.
    Cell(Box<CellConfig>),
}

/// Two independent directions, each a chain of stages. No stage is a wire without any effect.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireConfig {
    /// From the network to the user.
    pub forward: Vec<StageConfig>,
    /// From the user to the network.
    #[serde(default)]
    pub reverse: Vec<StageConfig>,
}

impl PathConfig {
    /// How many users the path has; nothing if it does not tell them apart.
    pub fn users(&self) -> Option<u16> {
        match self {
            Self::Wire(_) => None,
            // Not more than 2007, which the channel checks.
            Self::Wifi(wifi) => Some(u16::try_from(wifi.stations.len()).unwrap_or(u16::MAX)),
            // Not more than 1000, which the cell checks.
            Self::Cell(cell) => Some(u16::try_from(cell.users.len()).unwrap_or(u16::MAX)),
        }
    }

    /// The rates of the path's stages, some of which may name traces.
    pub fn rates(&self) -> impl Iterator<Item = &RateConfig> {
        let wire = match self {
            Self::Wire(wire) => Some(wire),
            Self::Cell(_) | Self::Wifi(_) => None,
        };
        let stages = wire.into_iter().flat_map(|wire| wire.forward.iter().chain(&wire.reverse));
        stages.map(|stage| &stage.rate)
    }

    /// Adds the traces that the path names to those already read, each as the kind that its stage
    /// wants. One without contents is left out: [`AnyLink`](crate::AnyLink) reports it with its stage.
    ///
    /// # Errors
    /// The name of the first trace that cannot be read, and why.
    pub fn read_traces<C: AsRef<[u8]>>(
        &self,
        contents: &BTreeMap<String, C>,
        traces: &mut Traces,
    ) -> Result<(), (String, TraceError)> {
        for rate in self.rates() {
            let (name, parse): (_, fn(&[u8]) -> _) = match rate {
                RateConfig::Mahimahi { path } => (path, RateTrace::parse_mahimahi),
                RateConfig::Log { path, .. } => (path, RateTrace::parse_log),
                _ => continue,
            };
            if let (None, Some(content)) = (traces.find(name), contents.get(name)) {
                let trace = parse(content.as_ref()).map_err(|error| (name.clone(), error))?;
                traces.insert(name.clone(), trace);
            }
        }
        Ok(())
    }
}
