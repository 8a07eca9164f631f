//! What lies between the ends, as the scenario's JSON says it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cellular::CellConfig;
use crate::config::{RateConfig, StageConfig};
use crate::{Direction, RateTrace, TraceError, Traces, WifiConfig};

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
    /// Links one behind the other, of which any may be wires or media.
    Chain(ChainConfig),
}

/// A stage with counters of its own that packets of a user pass in a direction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PathStage<'a> {
    /// A wire, which all users share; `None` is one without any effect.
    Wire(Option<&'a StageConfig>),
    /// The user's own queue at a medium.
    Medium,
}

impl<'a> PathStage<'a> {
    /// What a wire is asked to be.
    pub fn config(self) -> Option<&'a StageConfig> {
        match self {
            Self::Wire(config) => config,
            Self::Medium => None,
        }
    }
}

/// Links one behind the other, those at the network's side first. All users pass all of them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainConfig {
    /// The links.
    pub links: Vec<PathConfig>,
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
    /// How many users the path has; `None` if it does not tell them apart.
    pub fn users(&self) -> Option<u16> {
        match self {
            Self::Wire(_) => None,
            // Not more than 2007, which the channel checks.
            Self::Wifi(wifi) => Some(u16::try_from(wifi.stations.len()).unwrap_or(u16::MAX)),
            // Not more than 1000, which the cell checks.
            Self::Cell(cell) => Some(u16::try_from(cell.users.len()).unwrap_or(u16::MAX)),
            // That all have the same number is checked when the chain is made.
            Self::Chain(chain) => chain.links.iter().find_map(Self::users),
        }
    }

    /// Whether a medium tells a device when it may send: one alone, which no wire stands before.
    pub fn is_granting(&self) -> bool {
        matches!(self, Self::Wifi(_) | Self::Cell(_))
    }

    /// The rates of the path's stages, some of which may name traces.
    pub fn rates(&self) -> impl Iterator<Item = &RateConfig> {
        let ways = Direction::BOTH.map(|direction| self.stages(direction));
        ways.into_iter().flatten().filter_map(|stage| Some(&stage.config()?.rate))
    }

    /// What packets of a user pass in a direction, in their order.
    pub fn stages(&self, direction: Direction) -> Vec<PathStage<'_>> {
        match self {
            Self::Wire(wire) => {
                let stages = match direction {
                    Direction::Forward => &wire.forward,
                    Direction::Reverse => &wire.reverse,
                };
                if stages.is_empty() {
                    return vec![PathStage::Wire(None)];
                }
                stages.iter().map(|stage| PathStage::Wire(Some(stage))).collect()
            }
            Self::Wifi(_) | Self::Cell(_) => vec![PathStage::Medium],
            Self::Chain(chain) => {
                let links = chain.links.iter();
                match direction {
                    Direction::Forward => links.flat_map(|link| link.stages(direction)).collect(),
                    Direction::Reverse => {
                        links.rev().flat_map(|link| link.stages(direction)).collect()
                    }
                }
            }
        }
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
