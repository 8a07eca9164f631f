//! Configuration of a cell, as in the scenario's JSON.
//!
//! In JSON, times are in nanoseconds, rates in bits per second and ratios in thousandths of a
//! decibel; here they have types. An absent key has its default; an unknown key is an error.

use core::num::NonZeroU32;

use cwndlab_units::{Bytes, Duration};
use serde::{Deserialize, Serialize};

use super::radio::RadioConfig;
use crate::channel::{AdaptationConfig, Decibel, DriftConfig, FadingConfig};
use crate::config::{AckFilter, AqmConfig, PoliceConfig};
use crate::{Direction, EarlyDiscard, Probability};

/// A cell with its users, and the core network between it and the network's end of the link.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellConfig {
    /// The technology.
    pub radio: RadioConfig,
    /// Direction from the network to the users.
    pub downlink: DirectionConfig,
    /// Direction from the users to the network.
    pub uplink: DirectionConfig,
    /// How a user of LTE or NR obtains uplink grants; absent for UMTS, whose users have a dedicated
    /// channel.
    #[serde(default)]
    pub access: Option<AccessConfig>,
    /// The users with a port, from port 1 on.
    pub users: Vec<UserConfig>,
    /// Users without a port that have data to send or receive always, or in random periods.
    #[serde(default)]
    pub background: Vec<BackgroundConfig>,
    /// How a silent user goes to sleep and wakes up; absent if users do not sleep.
    #[serde(default)]
    pub rrc: Option<RrcConfig>,
    /// Handovers between cells; absent if there are none.
    #[serde(default)]
    pub handover: Option<HandoverConfig>,
    /// Rate limit of each user's data plan; excess packets are dropped on entering the network;
    /// absent for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub police: Option<PoliceConfig>,
}

/// One direction of a cell.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionConfig {
    /// Delay between the cell and the network's end of the link.
    #[serde(rename = "core_delay_ns", default)]
    pub core_delay: Duration,
    /// Random addition to that delay, uniform from 0 to this, without reordering.
    #[serde(rename = "core_jitter_ns", default)]
    pub core_jitter: Duration,
    /// Packets leave the core only at multiples of this, as in UMTS Iub frames; 0 for immediately.
    #[serde(rename = "core_frame_ns", default)]
    pub core_frame: Duration,
    /// Each user's queue: limit in packets.
    #[serde(default)]
    pub queue_packets: Option<u32>,
    /// Each user's queue: limit in bytes of IP.
    #[serde(default)]
    pub queue_bytes: Option<Bytes>,
    /// Packets that have waited this long before transmission are dropped; absent for never.
    #[serde(rename = "discard_ns", default)]
    pub discard: Option<Duration>,
    /// How the queue drops packets before it is full.
    #[serde(default)]
    pub early_discard: Option<EarlyDiscard>,
    /// The AQM; drop-tail if absent. Excludes `discard_ns` and `early_discard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aqm: Option<AqmConfig>,
    /// Which ACKs are dropped from the queue because later ones supersede them; none if absent.
    /// Excludes PIE, `discard_ns` and `early_discard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_filter: Option<AckFilter>,
    /// Of pure cumulative ACKs, only one in this many passes; all if absent. Excludes `discard_ns`
    /// and `early_discard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_thinning: Option<NonZeroU32>,
    /// Loss before the queue that the radio does not cause, such as on a serial line.
    #[serde(rename = "residual_loss_ppb", default)]
    pub residual_loss: Probability,
    /// How RLC treats blocks that are never decoded, and the order of packets.
    #[serde(default)]
    pub rlc: RlcConfig,
    /// How the scheduler selects users.
    #[serde(default)]
    pub scheduler: SchedulerConfig,
    /// How the modulation and coding scheme follows the channel.
    pub adaptation: AdaptationConfig,
    /// How blocks fail.
    #[serde(default)]
    pub block_errors: BlockErrors,
    /// Maximum number of transmissions of a block.
    #[serde(default = "four")]
    pub transmissions: u8,
    /// Probability that a failure is taken for a success, so that only RLC can recover the block.
    #[serde(rename = "feedback_error_ppb", default)]
    pub feedback_error: Probability,
}

/// How blocks fail.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum BlockErrors {
    /// According to the scheme's error curve and the channel.
    #[default]
    Curves,
    /// With given probabilities, independent of the channel.
    Given {
        /// Of the first transmission, the second and so on; the last one also holds for later ones.
        ppb: Vec<Probability>,
    },
}

/// The mode of radio link control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RlcConfig {
    /// In order; RLC retransmits what HARQ does not deliver.
    Acknowledged {
        /// Time from HARQ's last failure until the data can be sent again: reordering timer, status
        /// report, and status prohibit timer.
        #[serde(rename = "recovery_ns")]
        recovery: Duration,
    },
    /// In order; what HARQ does not deliver is lost.
    Unacknowledged {
        /// How long later data waits for a lost block.
        #[serde(rename = "reordering_ns")]
        reordering: Duration,
    },
    /// As soon as decoded, in any order; what HARQ does not deliver is lost.
    Transparent {},
}

impl Default for RlcConfig {
    /// Acknowledged with a recovery of 80 ms: srsRAN's reordering timer of 50 ms, half of its
    /// status prohibit timer of 50 ms, and 5 ms for the report.
    fn default() -> Self {
        Self::Acknowledged { recovery: Duration::from_millis(80) }
    }
}

/// How the scheduler selects users.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SchedulerConfig {
    /// In turn, with equal parts of the band.
    #[default]
    RoundRobin,
    /// The user with the best channel.
    MaxCi,
    /// The user whose rate is highest relative to its own average.
    ProportionalFair {
        /// Time constant of the average, in intervals.
        window: u32,
    },
}

/// How a user obtains uplink grants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessConfig {
    /// Interval between opportunities for a scheduling request.
    #[serde(rename = "request_period_ns")]
    pub request_period: Duration,
    /// Size of the first grant; absent for all waiting data.
    #[serde(default)]
    pub first_grant_bytes: Option<u32>,
    /// How long a user with an empty queue still gets grants of that size without a request.
    #[serde(rename = "keep_alive_ns", default)]
    pub keep_alive: Duration,
    /// When a user reports its backlog, besides with its first block and with blocks that have
    /// spare room; if absent, with every block.
    #[serde(default)]
    pub reports: Option<ReportsConfig>,
}

/// The timers of buffer status reports (TS 36.321 and TS 38.321 section 5.4.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportsConfig {
    /// A user that keeps sending reports again after this time (`periodicBSR-Timer`).
    #[serde(rename = "period_ns")]
    pub period: Duration,
    /// A user that has reported a backlog and gets no grant requests one again after this time
    /// (`retxBSR-Timer`).
    #[serde(rename = "repeat_ns")]
    pub repeat: Duration,
}

/// A user with a port.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserConfig {
    /// Mean signal to interference and noise ratio (SINR) of the downlink.
    pub downlink_mdb: Decibel,
    /// Mean SINR of the uplink.
    pub uplink_mdb: Decibel,
    /// Fast fading, independent in each direction.
    #[serde(default)]
    pub fading: Option<FadingConfig>,
    /// Slow variations, the same in both directions.
    #[serde(default)]
    pub drifts: Vec<DriftConfig>,
}

/// Names of the directions in scenarios of cells.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Direction")]
enum Way {
    #[serde(rename = "down")]
    Forward,
    #[serde(rename = "up")]
    Reverse,
}

/// Users without a port.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackgroundConfig {
    /// Number of users.
    pub users: u16,
    /// Direction of their traffic.
    #[serde(rename = "way", with = "Way")]
    pub direction: Direction,
    /// Their mean SINRs are evenly spaced from this...
    pub lowest_mdb: Decibel,
    /// ...to this.
    pub highest_mdb: Decibel,
    /// Fast fading.
    #[serde(default)]
    pub fading: Option<FadingConfig>,
    /// Mean of the exponentially distributed active periods.
    #[serde(rename = "on_ns")]
    pub on: Duration,
    /// Mean of the exponentially distributed pauses; 0 for always active.
    #[serde(rename = "off_ns", default)]
    pub off: Duration,
}

/// How a silent user goes to sleep and wakes up.
///
/// At the beginning of a run every user is asleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RrcConfig {
    /// Silence after which a connected user listens only periodically (DRX); absent for never.
    #[serde(rename = "drx_after_ns", default)]
    pub drx_after: Option<Duration>,
    /// Period of listening during DRX.
    #[serde(rename = "drx_cycle_ns", default)]
    pub drx_cycle: Duration,
    /// Silence after which a user leaves the connected state.
    #[serde(rename = "inactivity_ns")]
    pub inactivity: Duration,
    /// Time to connect again: uniform from this minimum...
    #[serde(rename = "promotion_least_ns")]
    pub promotion_least: Duration,
    /// ...to this maximum.
    #[serde(rename = "promotion_most_ns")]
    pub promotion_most: Duration,
    /// Period at which an idle user listens for paging.
    #[serde(rename = "paging_cycle_ns")]
    pub paging_cycle: Duration,
}

/// Handovers between cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandoverConfig {
    /// Mean of the exponentially distributed time from one handover to the next.
    #[serde(rename = "interval_ns")]
    pub interval: Duration,
    /// Duration without service.
    #[serde(rename = "interruption_ns")]
    pub interruption: Duration,
    /// Whether data under way is sent again afterwards (lossless) or lost (seamless).
    pub is_lossless: bool,
}

const fn four() -> u8 {
    4
}
