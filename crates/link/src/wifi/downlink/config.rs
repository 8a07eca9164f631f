//! The settings of what an access point does with packets that wait for its stations.

use core::num::NonZeroU32;

use cwndlab_units::{Bytes, Duration};
use serde::{Deserialize, Serialize};

use crate::config::{dual_pi2_max_rtt, dual_pi2_target, dual_pi2_threshold};
use crate::queue::DualPi2Settings;

/// Where packets wait for stations, and which station is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum DownlinkConfig {
    /// One queue above a driver that serves stations in turn, a frame each, as in Linux before 4.11.
    Fifo {
        /// Room of the queue: a pfifo of a device's `txqueuelen`.
        #[serde(default = "fifo_packets")]
        packets: NonZeroU32,
        /// Packets that the driver holds for all stations; 123 in ath9k.
        #[serde(default = "driver_packets")]
        driver_packets: NonZeroU32,
    },
    /// FQ-CoDel for each station; stations are served in turn, a frame each.
    FqCodel(StationQueueConfig),
    /// FQ-CoDel for each station; stations are served by the airtime that they have used.
    Airtime(StationQueueConfig),
    /// DualPI2 for each station; stations are served by the airtime that they have used.
    #[serde(rename = "dualpi2")]
    DualPi2(StationDualConfig),
}

/// A queue for each station, with a queue for each flow in it: mac80211's intermediate queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationQueueConfig {
    /// Room for packets of all stations; the longest queue loses packets beyond it.
    #[serde(default = "station_packets")]
    pub packets: NonZeroU32,
    /// How many queues a station's flows are hashed into.
    #[serde(default = "station_queues")]
    pub queues: NonZeroU32,
    /// What a flow may send in its turn.
    #[serde(rename = "quantum_bytes", default = "station_quantum")]
    pub quantum: Bytes,
    /// Acceptable standing delay of each flow's queue.
    #[serde(rename = "target_ns", default = "station_target")]
    pub target: Duration,
    /// Time that senders are given to react.
    #[serde(rename = "interval_ns", default = "station_interval")]
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    #[serde(default = "yes")]
    pub ecn: bool,
    /// How much airtime a card may hold. If absent, it holds the frame on the air and no more: what
    /// goes into a frame is decided when the channel is won.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aql: Option<AqlConfig>,
}

/// DualPI2 (RFC 9332) for each station.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationDualConfig {
    /// Room for packets of all stations; arrivals beyond it are dropped.
    #[serde(default = "station_packets")]
    pub packets: NonZeroU32,
    /// The queueing delay to which packets that are not L4S are controlled.
    #[serde(rename = "target_ns", default = "dual_pi2_target")]
    pub target: Duration,
    /// The longest usual round trip, on which the gains of the controller depend.
    #[serde(rename = "max_rtt_ns", default = "dual_pi2_max_rtt")]
    pub max_rtt: Duration,
    /// From this delay on L4S packets are marked.
    #[serde(rename = "threshold_ns", default = "dual_pi2_threshold")]
    pub threshold: Duration,
    /// How much airtime a card may hold, as of other queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aql: Option<AqlConfig>,
}

/// Airtime queue limits: packets are given to the card while what it holds takes less time to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AqlConfig {
    /// The limit of a station while the card holds at least `threshold` for all stations.
    #[serde(rename = "low_ns", default = "aql_low")]
    pub low: Duration,
    /// The limit of a station otherwise.
    #[serde(rename = "high_ns", default = "aql_high")]
    pub high: Duration,
    /// Airtime held for all stations together from which on `low` applies.
    #[serde(rename = "threshold_ns", default = "aql_threshold")]
    pub threshold: Duration,
}

impl Default for StationQueueConfig {
    /// mac80211's.
    fn default() -> Self {
        Self {
            packets: station_packets(),
            queues: station_queues(),
            quantum: station_quantum(),
            target: station_target(),
            interval: station_interval(),
            ecn: true,
            aql: None,
        }
    }
}

impl Default for AqlConfig {
    /// mac80211's.
    fn default() -> Self {
        Self { low: aql_low(), high: aql_high(), threshold: aql_threshold() }
    }
}

impl DownlinkConfig {
    /// A driver's queues for stations, of 123 packets, behind one of 1000.
    pub fn fifo() -> Self {
        Self::Fifo { packets: fifo_packets(), driver_packets: driver_packets() }
    }

    /// The limits of airtime, if there are any.
    pub(super) fn aql(&self) -> Option<AqlConfig> {
        match self {
            Self::Fifo { .. } => None,
            Self::FqCodel(config) | Self::Airtime(config) => config.aql,
            Self::DualPi2(config) => config.aql,
        }
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        match self {
            Self::FqCodel(config) | Self::Airtime(config) if config.quantum.0 == 0 => {
                return Err("the quantum is 0 bytes: no flow could ever send");
            }
            Self::DualPi2(config) if !config.settings().is_usable() => {
                return Err("dualpi2: target and max_rtt must each be at least 1 ms");
            }
            _ => {}
        }
        match self.aql() {
            Some(aql) if aql.low == Duration::ZERO || aql.high < aql.low => {
                Err("aql: low must be above 0 s and must not exceed high")
            }
            _ => Ok(()),
        }
    }
}

impl Default for StationDualConfig {
    /// That of RFC 9332, and mac80211's room.
    fn default() -> Self {
        Self {
            packets: station_packets(),
            target: dual_pi2_target(),
            max_rtt: dual_pi2_max_rtt(),
            threshold: dual_pi2_threshold(),
            aql: None,
        }
    }
}

impl StationDualConfig {
    /// What each station's queue is told.
    pub(super) fn settings(&self) -> DualPi2Settings {
        let Self { target, max_rtt, threshold, .. } = *self;
        DualPi2Settings { target, max_rtt, threshold }
    }
}

fn yes() -> bool {
    true
}

/// A number that is not 0.
const fn at_least_one(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).expect("a constant that is not 0")
}

/// `txqueuelen` of a device.
fn fifo_packets() -> NonZeroU32 {
    const { at_least_one(1_000) }
}

/// What ath9k keeps at most of an access category (Høiland-Jørgensen et al. 2017, section 2.1).
fn driver_packets() -> NonZeroU32 {
    const { at_least_one(123) }
}

/// mac80211's limit of a device.
fn station_packets() -> NonZeroU32 {
    const { at_least_one(8_192) }
}

/// mac80211's number of hash buckets.
fn station_queues() -> NonZeroU32 {
    const { at_least_one(4_096) }
}

/// mac80211's.
fn station_quantum() -> Bytes {
    Bytes(300)
}

/// mac80211's, as a frame of several packets is a burst that stands longer than 5 ms.
fn station_target() -> Duration {
    Duration::from_millis(20)
}

/// mac80211's.
fn station_interval() -> Duration {
    Duration::from_millis(100)
}

/// mac80211's.
fn aql_low() -> Duration {
    Duration::from_millis(5)
}

/// mac80211's.
fn aql_high() -> Duration {
    Duration::from_millis(12)
}

/// mac80211's.
fn aql_threshold() -> Duration {
    Duration::from_millis(24)
}
