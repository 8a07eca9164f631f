//! A carrier in one direction: the users that share it, and each user's radio on it.

use cwndlab_units::{Duration, Time};

use super::config::{CellConfig, UserConfig};
use super::demand::Demand;
use super::harq::{Attempt, Harq};
use super::plan::Band;
use super::scheduler::{Candidate, Scheduler};
use crate::Direction;
use crate::channel::{Adaptation, AdaptationConfig, Draws, Energy, Sinr, ratio};

/// A carrier in one direction.
#[derive(Clone, Debug)]
pub(crate) struct Carrier {
    pub(crate) band: Band,
    pub(crate) scheduler: Scheduler,
    /// Radios of the measured users, in the order of the users.
    pub(crate) radios: Vec<Radio>,
    pub(crate) background: Vec<Demand>,
    /// Users that want service in the current slot.
    pub(crate) candidates: Vec<Candidate>,
}

/// A user's radio on a carrier: its channel and its blocks under way.
#[derive(Clone, Debug)]
pub(crate) struct Radio {
    pub(crate) harq: Harq,
    pub(crate) sinr: Sinr,
    pub(crate) adaptation: Adaptation,
    pub(crate) draws: Draws,
    pub(crate) feedback: Draws,
    /// The first slot that may contain a new block for this user.
    pub(crate) next_block: u64,
}

impl Carrier {
    /// Creates a carrier of a direction; `name` and `side` are parts of the names of its random
    /// streams. All carriers of a user have the same slow variations, because the user is in one
    /// place, but they fade independently.
    pub(crate) fn new(
        band: Band,
        cell: &CellConfig,
        direction: Direction,
        side: &str,
        run_seed: u64,
        name: &str,
    ) -> Self {
        let config = match direction {
            Direction::Forward => &cell.downlink,
            Direction::Reverse => &cell.uplink,
        };
        let adaptation = |sinr: Sinr, component: &str| {
            let phase = match config.adaptation {
                AdaptationConfig::Reports { period, .. } => {
                    let part = Draws::new(run_seed, &format!("{component}.{side}.report")).unit(0);
                    Duration::from_nanos((part * period.as_nanos() as f64) as u64)
                }
                AdaptationConfig::Fixed { .. } => Duration::ZERO,
            };
            Adaptation::new(&config.adaptation, &band.coding, sinr, phase)
        };
        let radio = |(index, user): (usize, &UserConfig)| {
            let component = format!("{name}.{}", index + 1);
            let mean = match direction {
                Direction::Forward => user.downlink_mdb,
                Direction::Reverse => user.uplink_mdb,
            };
            let fading = user.fading.as_ref();
            let sinr = Sinr::new(mean, &user.drifts, fading, run_seed, &component, side);
            let draws = |what| Draws::new(run_seed, &format!("{component}.{side}.{what}"));
            Radio {
                harq: Harq::default(),
                adaptation: adaptation(sinr.clone(), &component),
                sinr,
                draws: draws("blocks"),
                feedback: draws("feedback"),
                next_block: 0,
            }
        };
        let radios: Vec<Radio> = cell.users.iter().enumerate().map(radio).collect();
        let mut background = Vec::new();
        let groups = cell.background.iter().filter(|group| group.direction == direction);
        for (group, config) in groups.enumerate() {
            for number in 0..config.users {
                let component = format!("{name}.background.{side}.{group}.{number}");
                let make = |sinr| adaptation(sinr, &component);
                background.push(Demand::new(config, make, number, run_seed, &component));
            }
        }
        let participants = radios.len() + background.len();
        Self {
            scheduler: Scheduler::new(config.scheduler, participants),
            band,
            radios,
            background,
            candidates: Vec::new(),
        }
    }

    /// Adds the background users that want service, in a slot of this capacity class.
    pub(crate) fn add_background(&mut self, class: u8, now: Time) {
        let (band, ports) = (&self.band, self.radios.len());
        for (index, demand) in self.background.iter_mut().enumerate() {
            if !demand.advance(now) {
                continue;
            }
            let Some(scheme) = demand.adaptation.scheme(&band.coding, now) else { continue };
            if demand.wants != (class, scheme) {
                demand.wants = (class, scheme);
                let (user, units) = (ports + index, band.units);
                let least = band.least_units(class, scheme);
                let full_bits = band.size(class, scheme, units).bits;
                demand.candidate = Candidate { user, scheme, least, units, full_bits };
            }
            self.candidates.push(demand.candidate);
        }
    }

    /// Decides by the error curve of the modulation and coding scheme whether a user's block is
    /// decoded. The block's slot begins at `now`. Returns `None` if the block is decoded, and
    /// otherwise the combined energy of its transmissions.
    pub(crate) fn decode(
        &mut self,
        user: usize,
        slot: u64,
        now: Time,
        attempt: &Attempt,
    ) -> Option<Energy> {
        let Attempt { scheme, bits, transmission, energy, .. } = *attempt;
        let (coding, radio) = (&self.band.coding, &mut self.radios[user]);
        let draw = radio.draws.unit(slot);
        radio.sinr.receive(now, energy, |before, decibels| {
            let combined = match transmission {
                1 => decibels,
                _ => coding.combined(scheme, before + ratio(decibels), transmission),
            };
            coding.is_decoded(scheme, combined, bits, draw)
        })
    }
}
