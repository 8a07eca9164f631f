//! Configuration of the path between the ends in a scenario.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cellular::CellConfig;
use crate::config::{LightConfig, RateConfig, StageConfig};
use crate::{Direction, LightTrace, RateTrace, TraceError, Traces, WifiConfig};

/// The path between the network and its users.
///
/// A wire has two independent directions. Every other kind of path is a shared medium: one object,
/// with port 0 on the network's side and a port for each user.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PathConfig {
    /// A wire with two independent directions, which all users share.
    Wire(WireConfig),
    /// A Wi-Fi channel: the access point is on the network's side, and the stations are the users.
    Wifi(Box<WifiConfig>),
    /// A radio cell.
    Cell(Box<CellConfig>),
    /// Links in series; each may be a wire or a shared medium.
    Chain(ChainConfig),
}

/// A stage with its own counters, which a user's packets pass in one direction of the path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PathStage<'a> {
    /// A wire, which all users share; `None` is a wire that does not change packets.
    Wire(Option<&'a StageConfig>),
    /// The user's own queue at a shared medium.
    Medium,
}

impl<'a> PathStage<'a> {
    /// Configuration of the stage, if it is a wire.
    pub fn config(self) -> Option<&'a StageConfig> {
        match self {
            Self::Wire(config) => config,
            Self::Medium => None,
        }
    }
}

/// Links in series, beginning at the network's side. The packets of all users pass all links.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainConfig {
    /// The links.
    pub links: Vec<PathConfig>,
}

/// Two independent directions, each with a list of stages. An empty list is a wire that does not
/// change packets.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireConfig {
    /// Stages from the network to the user.
    pub forward: Vec<StageConfig>,
    /// Stages from the user to the network.
    #[serde(default)]
    pub reverse: Vec<StageConfig>,
}

impl PathConfig {
    /// Number of users; `None` if the path does not distinguish its users.
    pub fn users(&self) -> Option<u16> {
        match self {
            Self::Wire(_) => None,
            // At most 2007, which the channel checks.
            Self::Wifi(wifi) => Some(u16::try_from(wifi.stations.len()).unwrap_or(u16::MAX)),
            // At most 1000, which the cell checks.
            Self::Cell(cell) => Some(u16::try_from(cell.users.len()).unwrap_or(u16::MAX)),
            // Creating the chain checks that all links have the same number of users.
            Self::Chain(chain) => chain.links.iter().find_map(Self::users),
        }
    }

    /// Whether a medium determines when a device may send, because no wire precedes the medium.
    pub fn is_granting(&self) -> bool {
        matches!(self, Self::Wifi(_) | Self::Cell(_))
    }

    /// The rates of the path's stages; some rates may name traces.
    pub fn rates(&self) -> impl Iterator<Item = &RateConfig> {
        let ways = Direction::BOTH.map(|direction| self.stages(direction));
        ways.into_iter().flatten().filter_map(|stage| Some(&stage.config()?.rate))
    }

    /// The stages that a user's packets pass in a direction, in order.
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

    /// Adds the traces that the path names to `traces`; each trace is parsed as the kind that its
    /// stage requires.
    ///
    /// Skips traces without contents: [`AnyLink`](crate::AnyLink) later reports them with their
    /// stages.
    ///
    /// # Errors
    /// Returns an error if a trace cannot be parsed: the trace's name and the reason.
    pub fn read_traces<C: AsRef<[u8]>>(
        &self,
        contents: &BTreeMap<String, C>,
        traces: &mut Traces,
    ) -> Result<(), (String, TraceError)> {
        for rate in self.rates() {
            let (name, parse): (_, fn(&[u8]) -> _) = match rate {
                RateConfig::Mahimahi { path, .. } => (path, RateTrace::parse_mahimahi),
                RateConfig::Log { path, .. } => (path, RateTrace::parse_log),
                _ => continue,
            };
            if let (None, Some(content)) = (traces.find(name), contents.get(name)) {
                let trace = parse(content.as_ref()).map_err(|error| (name.clone(), error))?;
                traces.insert(name.clone(), trace);
            }
            let RateConfig::Mahimahi { light: Some(LightConfig { path, .. }), .. } = rate else {
                continue;
            };
            if let (None, Some(content)) = (traces.find_light(path), contents.get(path)) {
                let trace = LightTrace::parse(content.as_ref());
                traces.insert_light(path.clone(), trace.map_err(|error| (path.clone(), error))?);
            }
        }
        Ok(())
    }
}
