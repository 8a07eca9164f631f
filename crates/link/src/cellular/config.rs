//! Configuration of a cell in a scenario.
//!
//! In the scenario's JSON, times are in nanoseconds, rates in bits per second, and ratios in
//! thousandths of a decibel. In this module, they have types. An absent key has its default; an
//! unknown key is an error.

use core::num::NonZeroU32;

use cwndlab_units::{Bytes, Duration};
use serde::{Deserialize, Serialize};

use super::radio::RadioConfig;
use crate::channel::{AdaptationConfig, Decibel, DriftConfig, FadingConfig};
use crate::config::{AckFilter, AqmConfig, PoliceConfig};
use crate::{Direction, EarlyDiscard, Probability};

/// A cell with its users and its core network, which is between the cell and the network's end of
/// the link.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellConfig {
    /// The technology.
    pub radio: RadioConfig,
    /// Direction from the network to the users.
    pub downlink: DirectionConfig,
    /// Direction from the users to the network.
    pub uplink: DirectionConfig,
    /// How a user of LTE or NR obtains uplink grants; absent for UMTS, whose users have dedicated
    /// channels.
    #[serde(default)]
    pub access: Option<AccessConfig>,
    /// The measured users, each with a port from 1 on.
    pub users: Vec<UserConfig>,
    /// Background users without a port, which always or in random periods have data to send or
    /// receive.
    #[serde(default)]
    pub background: Vec<BackgroundConfig>,
    /// How a user without traffic goes to sleep and wakes up; absent if users do not sleep.
    #[serde(default)]
    pub rrc: Option<RrcConfig>,
    /// Handovers of users between cells; absent if there are none.
    #[serde(default)]
    pub handover: Option<HandoverConfig>,
    /// Rate limit of each user's data plan. Packets that exceed it are dropped where they enter
    /// the operator's network; absent for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub police: Option<PoliceConfig>,
}

/// Settings of one direction of a cell.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectionConfig {
    /// One-way delay between the cell and the network's end of the link.
    #[serde(rename = "core_delay_ns", default)]
    pub core_delay: Duration,
    /// Maximum random delay added to `core_delay`, uniformly distributed from 0; packets keep
    /// their order.
    #[serde(rename = "core_jitter_ns", default)]
    pub core_jitter: Duration,
    /// Packets leave the core network only at multiples of this period, as in UMTS Iub frames; 0
    /// if they can leave at any time.
    #[serde(rename = "core_frame_ns", default)]
    pub core_frame: Duration,
    /// Maximum number of packets in each user's queue.
    #[serde(default)]
    pub queue_packets: Option<u32>,
    /// Maximum size of each user's queue in bytes of IP packets.
    #[serde(default)]
    pub queue_bytes: Option<Bytes>,
    /// Maximum waiting time of a packet; a packet that has waited longer is dropped. If absent,
    /// packets are not dropped for their waiting time.
    #[serde(rename = "discard_ns", default)]
    pub discard: Option<Duration>,
    /// How the queue drops single packets before it is full.
    #[serde(default)]
    pub early_discard: Option<EarlyDiscard>,
    /// Active queue management; if absent, the queue is drop-tail. Cannot be combined with
    /// `discard_ns` or `early_discard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aqm: Option<AqmConfig>,
    /// Which ACKs the queue drops because later ACKs supersede them; if absent, none. Cannot be
    /// combined with PIE, `discard_ns` or `early_discard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_filter: Option<AckFilter>,
    /// Of the ACKs that carry no other information, one in this many passes; if absent, all pass.
    /// Cannot be combined with `discard_ns` or `early_discard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_thinning: Option<NonZeroU32>,
    /// Loss before the queue that does not depend on the radio channel, for example on a serial
    /// line.
    #[serde(rename = "residual_loss_ppb", default)]
    pub residual_loss: Probability,
    /// How RLC handles blocks that are never decoded, and whether it preserves the order of
    /// packets.
    #[serde(default)]
    pub rlc: RlcConfig,
    /// How the scheduler selects the users that are served.
    #[serde(default)]
    pub scheduler: SchedulerConfig,
    /// How the modulation and coding scheme follows the quality of the channel.
    pub adaptation: AdaptationConfig,
    /// How blocks fail.
    #[serde(default)]
    pub block_errors: BlockErrors,
    /// Maximum number of HARQ transmissions of a block.
    #[serde(default = "four")]
    pub transmissions: u8,
    /// Probability that the sender receives the report of a failed transmission as a success, so
    /// that only RLC can recover the block.
    #[serde(rename = "feedback_error_ppb", default)]
    pub feedback_error: Probability,
}

/// How blocks fail.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum BlockErrors {
    /// Blocks fail according to the error curve of their modulation and coding scheme and the
    /// channel.
    #[default]
    Curves,
    /// Blocks fail with given probabilities, independent of the channel.
    Given {
        /// Probability that the first transmission of a block fails, in parts per billion, then
        /// the probability for the second transmission, and so on; the last value also applies to
        /// all later transmissions.
        ppb: Vec<Probability>,
    },
}

/// The mode of radio link control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RlcConfig {
    /// Acknowledged mode: packets keep their order, and RLC retransmits blocks that HARQ did not
    /// deliver.
    Acknowledged {
        /// Time from the last failed HARQ transmission until the data can be sent again:
        /// reordering timer, status report, and status prohibit timer.
        #[serde(rename = "recovery_ns")]
        recovery: Duration,
    },
    /// Unacknowledged mode: packets keep their order, and blocks that HARQ did not deliver are
    /// lost.
    Unacknowledged {
        /// Time for which later data wait for a lost block.
        #[serde(rename = "reordering_ns")]
        reordering: Duration,
    },
    /// Transparent mode: packets are delivered as soon as they are decoded, in any order; blocks
    /// that HARQ did not deliver are lost.
    Transparent {},
}

impl Default for RlcConfig {
    /// Acknowledged mode with a recovery of 80 ms: srsRAN's reordering timer of 50 ms, half of its
    /// status prohibit timer of 50 ms, and 5 ms for the report.
    fn default() -> Self {
        Self::Acknowledged { recovery: Duration::from_millis(80) }
    }
}

/// How the scheduler selects the users that are served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SchedulerConfig {
    /// Users are served in turn, with equal shares of the band.
    #[default]
    RoundRobin,
    /// The user with the best channel is served.
    MaxCi,
    /// The user whose possible rate is highest relative to its own average rate is served.
    ProportionalFair {
        /// Time constant of the average, in scheduling intervals.
        window: u32,
    },
}

/// How a user obtains uplink grants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessConfig {
    /// Time between two opportunities to send a scheduling request.
    #[serde(rename = "request_period_ns")]
    pub request_period: Duration,
    /// Size of the first grant after a request; if absent, this grant covers all data that wait.
    #[serde(default)]
    pub first_grant_bytes: Option<u32>,
    /// Time for which a user with an empty queue continues to get grants of the same size without
    /// a request.
    #[serde(rename = "keep_alive_ns", default)]
    pub keep_alive: Duration,
    /// When a user reports its backlog, in addition to its first block and to blocks with spare
    /// room; if absent, every block carries a report.
    #[serde(default)]
    pub reports: Option<ReportsConfig>,
}

/// The timers of buffer status reports (TS 36.321 and TS 38.321 section 5.4.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportsConfig {
    /// Time after which a user that continues to send reports its backlog again
    /// (`periodicBSR-Timer`).
    #[serde(rename = "period_ns")]
    pub period: Duration,
    /// Time since the last report after which a user that has a backlog, but no grant, requests a
    /// grant again (`retxBSR-Timer`).
    #[serde(rename = "repeat_ns")]
    pub repeat: Duration,
}

/// A user of the cell that is measured and has a port.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserConfig {
    /// Mean signal to interference and noise ratio (SINR) of the downlink.
    pub downlink_mdb: Decibel,
    /// Mean SINR of the uplink.
    pub uplink_mdb: Decibel,
    /// Fast fading of the user's channel, independent in each direction.
    #[serde(default)]
    pub fading: Option<FadingConfig>,
    /// Slow variations of the user's channel, the same in both directions.
    #[serde(default)]
    pub drifts: Vec<DriftConfig>,
}

/// Names of the two directions in scenarios with cells.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Direction")]
enum Way {
    #[serde(rename = "down")]
    Forward,
    #[serde(rename = "up")]
    Reverse,
}

/// Background users: their traffic uses capacity and is not measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackgroundConfig {
    /// Number of users.
    pub users: u16,
    /// Direction of the background users' traffic.
    #[serde(rename = "way", with = "Way")]
    pub direction: Direction,
    /// Mean SINR of the background user with the worst channel; the means of the other users are
    /// evenly spaced up to the best.
    pub lowest_mdb: Decibel,
    /// ...to this.
    pub highest_mdb: Decibel,
    /// Fast fading.
    #[serde(default)]
    pub fading: Option<FadingConfig>,
    /// Mean duration of an active period; durations are exponentially distributed.
    #[serde(rename = "on_ns")]
    pub on: Duration,
    /// Mean duration of a pause; durations are exponentially distributed, and 0 means that users
    /// are always active.
    #[serde(rename = "off_ns", default)]
    pub off: Duration,
}

/// How a user without traffic goes to sleep and wakes up.
///
/// At the beginning of a run, every user is asleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RrcConfig {
    /// Time without traffic after which a connected user listens only periodically (DRX); if
    /// absent, a connected user always listens.
    #[serde(rename = "drx_after_ns", default)]
    pub drx_after: Option<Duration>,
    /// Time between two listening windows of a user in DRX.
    #[serde(rename = "drx_cycle_ns", default)]
    pub drx_cycle: Duration,
    /// Time without traffic after which a user changes from connected to idle.
    #[serde(rename = "inactivity_ns")]
    pub inactivity: Duration,
    /// Minimum time that a user needs to connect again; the time is uniformly distributed.
    #[serde(rename = "promotion_least_ns")]
    pub promotion_least: Duration,
    /// ...to this maximum.
    #[serde(rename = "promotion_most_ns")]
    pub promotion_most: Duration,
    /// Time between two paging occasions, at which an idle user listens.
    #[serde(rename = "paging_cycle_ns")]
    pub paging_cycle: Duration,
}

/// Handovers between cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandoverConfig {
    /// Mean time from one handover to the next, which is exponentially distributed.
    #[serde(rename = "interval_ns")]
    pub interval: Duration,
    /// Duration without service.
    #[serde(rename = "interruption_ns")]
    pub interruption: Duration,
    /// Whether data in transmission at a handover are sent again afterwards (lossless) or lost
    /// (seamless).
    pub is_lossless: bool,
}

const fn four() -> u8 {
    4
}
