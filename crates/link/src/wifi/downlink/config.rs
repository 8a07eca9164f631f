//! Settings of the access point's queues of packets for its stations.

use core::num::NonZeroU32;

use cwndlab_units::{Bytes, Duration};
use serde::{Deserialize, Serialize};

use crate::config::{dual_pi2_max_rtt, dual_pi2_target, dual_pi2_threshold};
use crate::queue::DualPi2Settings;

/// The queue for packets to the stations, and how stations are scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum DownlinkConfig {
    /// One queue, followed by a driver that serves stations in turn, one frame each, as in Linux
    /// before 4.11.
    Fifo {
        /// Maximum number of packets in the queue: a pfifo with the device's `txqueuelen`.
        #[serde(default = "fifo_packets")]
        packets: NonZeroU32,
        /// Maximum number of packets that the driver holds for all stations together; 123 in
        /// ath9k.
        #[serde(default = "driver_packets")]
        driver_packets: NonZeroU32,
    },
    /// FQ-CoDel for each station; stations are served in turn, one frame each.
    FqCodel(StationQueueConfig),
    /// FQ-CoDel for each station; the access point shares airtime equally between stations.
    Airtime(StationQueueConfig),
    /// DualPI2 for each station; the access point shares airtime equally between stations.
    #[serde(rename = "dualpi2")]
    DualPi2(StationDualConfig),
}

/// Settings of FQ-CoDel for each station: the intermediate queues of mac80211.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationQueueConfig {
    /// Maximum number of packets in the queues of all stations; if it is exceeded, the longest
    /// queue drops packets.
    #[serde(default = "station_packets")]
    pub packets: NonZeroU32,
    /// Number of queues into which a station's flows are hashed.
    #[serde(default = "station_queues")]
    pub queues: NonZeroU32,
    /// Bytes that a flow sends in its turn.
    #[serde(rename = "quantum_bytes", default = "station_quantum")]
    pub quantum: Bytes,
    /// Queueing delay that may persist in a flow's queue without drops.
    #[serde(rename = "target_ns", default = "station_target")]
    pub target: Duration,
    /// Time that senders have to react to a drop.
    #[serde(rename = "interval_ns", default = "station_interval")]
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    #[serde(default = "yes")]
    pub ecn: bool,
    /// Limits on the airtime of the packets that the network card holds. If absent, the card holds
    /// only the frame that it is transmitting: a frame is filled when the access point has won the
    /// channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aql: Option<AqlConfig>,
}

/// Settings of DualPI2 (RFC 9332) for each station.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationDualConfig {
    /// Maximum number of packets in the queues of all stations; if it is reached, arriving packets
    /// are dropped.
    #[serde(default = "station_packets")]
    pub packets: NonZeroU32,
    /// Target queueing delay of packets that are not L4S packets.
    #[serde(rename = "target_ns", default = "dual_pi2_target")]
    pub target: Duration,
    /// Largest expected round-trip time, which determines the controller's gains.
    #[serde(rename = "max_rtt_ns", default = "dual_pi2_max_rtt")]
    pub max_rtt: Duration,
    /// Queueing delay from which L4S packets are marked.
    #[serde(rename = "threshold_ns", default = "dual_pi2_threshold")]
    pub threshold: Duration,
    /// Limits on the airtime of the packets that the network card holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aql: Option<AqlConfig>,
}

/// Airtime queue limits: packets are passed to the network card while the airtime of the packets
/// that it holds is below a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AqlConfig {
    /// Airtime limit of each station while the card holds at least `threshold` for all stations
    /// together.
    #[serde(rename = "low_ns", default = "aql_low")]
    pub low: Duration,
    /// Airtime limit of each station while the card holds less than `threshold`.
    #[serde(rename = "high_ns", default = "aql_high")]
    pub high: Duration,
    /// Total airtime of all packets in the card from which `low` applies instead of `high`.
    #[serde(rename = "threshold_ns", default = "aql_threshold")]
    pub threshold: Duration,
}

impl Default for StationQueueConfig {
    /// The default limits of mac80211.
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
    /// The default settings of mac80211.
    fn default() -> Self {
        Self { low: aql_low(), high: aql_high(), threshold: aql_threshold() }
    }
}

impl DownlinkConfig {
    /// A queue of 1000 packets, followed by a driver that holds 123 packets.
    pub fn fifo() -> Self {
        Self::Fifo { packets: fifo_packets(), driver_packets: driver_packets() }
    }

    /// The airtime queue limits, if they are set.
    pub(super) fn aql(&self) -> Option<AqlConfig> {
        match self {
            Self::Fifo { .. } => None,
            Self::FqCodel(config) | Self::Airtime(config) => config.aql,
            Self::DualPi2(config) => config.aql,
        }
    }

    /// Checks the conditions that the types do not check.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid.
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
    /// The defaults of RFC 9332, with the maximum number of packets of mac80211.
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
    /// The DualPI2 settings of the queue of each station.
    pub(super) fn settings(&self) -> DualPi2Settings {
        let Self { target, max_rtt, threshold, .. } = *self;
        DualPi2Settings { target, max_rtt, threshold }
    }
}

fn yes() -> bool {
    true
}

/// Converts a count that is known not to be 0.
const fn at_least_one(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).expect("a constant that is not 0")
}

/// Linux's default `txqueuelen`.
fn fifo_packets() -> NonZeroU32 {
    const { at_least_one(1_000) }
}

/// Default: the maximum that ath9k holds for an access category (Høiland-Jørgensen et al. 2017,
/// section 2.1).
fn driver_packets() -> NonZeroU32 {
    const { at_least_one(123) }
}

/// Default: the limit of a device in mac80211.
fn station_packets() -> NonZeroU32 {
    const { at_least_one(8_192) }
}

/// Default: the number of hash buckets in mac80211.
fn station_queues() -> NonZeroU32 {
    const { at_least_one(4_096) }
}

/// Quantum of mac80211.
fn station_quantum() -> Bytes {
    Bytes(300)
}

/// Default: the target of mac80211, because an aggregated frame is a burst that stays in the queue
/// for more than 5 ms.
fn station_target() -> Duration {
    Duration::from_millis(20)
}

/// Interval of mac80211.
fn station_interval() -> Duration {
    Duration::from_millis(100)
}

/// Default: the low limit of mac80211.
fn aql_low() -> Duration {
    Duration::from_millis(5)
}

/// Default: the high limit of mac80211.
fn aql_high() -> Duration {
    Duration::from_millis(12)
}

/// Threshold of mac80211.
fn aql_threshold() -> Duration {
    Duration::from_millis(24)
}
