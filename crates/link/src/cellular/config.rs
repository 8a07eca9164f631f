//! What a cell is made of, as the scenario's JSON says it.
//!
//! Times are nanoseconds, rates bits per second and ratios thousandths of a decibel there; here
//! they have their types. A key that is absent has its default, an unknown key is an error.

use core::num::NonZeroU32;

use cwndlab_units::{Bytes, Duration};
use serde::{Deserialize, Serialize};

use super::radio::RadioConfig;
use crate::channel::{AdaptationConfig, Decibel, DriftConfig, FadingConfig};
use crate::config::{AckFilter, AqmConfig, PoliceConfig};
use crate::{Direction, EarlyDiscard, Probability};

/// A cell with its users, and what lies between it and the network's end of the link.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellConfig {
    /// The technology.
    pub radio: RadioConfig,
    /// From the network to the users.
    pub downlink: DirectionConfig,
    /// From the users to the network.
    pub uplink: DirectionConfig,
    /// How a user of LTE or NR gets leave to send; absent for the others, whose users have a channel
    /// of their own.
    #[serde(default)]
    pub access: Option<AccessConfig>,
    /// The users with a port, from port 1 on.
    pub users: Vec<UserConfig>,
    /// Users without a port that always want to send or receive, or do so now and then.
    #[serde(default)]
    pub background: Vec<BackgroundConfig>,
    /// How a silent user goes to sleep and wakes up; absent if none does.
    #[serde(default)]
    pub rrc: Option<RrcConfig>,
    /// How users change from cell to cell; absent if none does.
    #[serde(default)]
    pub handover: Option<HandoverConfig>,
    /// What each user may receive, as its plan has it: the rest is dropped where it comes into the
    /// network; absent if everything may.
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
    /// What is added to it, evenly from nothing to this, without changing the order.
    #[serde(rename = "core_jitter_ns", default)]
    pub core_jitter: Duration,
    /// Packets leave the core at multiples of this only, as in frames of UMTS's Iub; 0 for at once.
    #[serde(rename = "core_frame_ns", default)]
    pub core_frame: Duration,
    /// Each user's queue: limit in packets.
    #[serde(default)]
    pub queue_packets: Option<u32>,
    /// Each user's queue: limit in bytes of IP.
    #[serde(default)]
    pub queue_bytes: Option<Bytes>,
    /// A packet that has waited so long is dropped before it is sent; absent for never.
    #[serde(rename = "discard_ns", default)]
    pub discard: Option<Duration>,
    /// How the queue tells of its length before it is full.
    #[serde(default)]
    pub early_discard: Option<EarlyDiscard>,
    /// How the queue is managed; drop-tail if absent. Not beside `discard_ns` and `early_discard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aqm: Option<AqmConfig>,
    /// Which ACKs leave the queue where later ones say as much; none if absent. Not with PIE, and not
    /// beside `discard_ns` and `early_discard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_filter: Option<AckFilter>,
    /// Of the ACKs that only count on, one in so many passes; all if absent. Not beside `discard_ns`
    /// and `early_discard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_thinning: Option<NonZeroU32>,
    /// What is lost before the queue, such as by a serial line: no radio loss.
    #[serde(rename = "residual_loss_ppb", default)]
    pub residual_loss: Probability,
    /// What becomes of blocks that are never decoded, and of the order.
    #[serde(default)]
    pub rlc: RlcConfig,
    /// Which user is served.
    #[serde(default)]
    pub scheduler: SchedulerConfig,
    /// How the scheme follows the channel.
    pub adaptation: AdaptationConfig,
    /// Which blocks fail.
    #[serde(default)]
    pub block_errors: BlockErrors,
    /// How often a block is sent at most.
    #[serde(default = "four")]
    pub transmissions: u8,
    /// How often a failure is taken for a success, so that the block is left to RLC.
    #[serde(rename = "feedback_error_ppb", default)]
    pub feedback_error: Probability,
}

/// Which blocks fail.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum BlockErrors {
    /// By the scheme's error curve and the channel.
    #[default]
    Curves,
    /// By chance, whatever the channel.
    Given {
        /// Of the first, the second transmission and so on; the last is that of all further ones.
        ppb: Vec<Probability>,
    },
}

/// The mode of radio link control.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RlcConfig {
    /// In order, and what HARQ does not deliver is sent again.
    Acknowledged {
        /// From HARQ's last failure until the data may be sent again: reordering timer, status
        /// report and what prohibits it.
        #[serde(rename = "recovery_ns")]
        recovery: Duration,
    },
    /// In order, and what HARQ does not deliver is lost.
    Unacknowledged {
        /// How long what follows waits for it.
        #[serde(rename = "reordering_ns")]
        reordering: Duration,
    },
    /// As it is decoded, in any order; what HARQ does not deliver is lost.
    Transparent {},
}

impl Default for RlcConfig {
    /// Acknowledged, with a recovery of 80 ms: srsRAN's reordering timer of 50 ms and half of its
    /// status prohibition of 50 ms, and 5 ms for the report.
    fn default() -> Self {
        Self::Acknowledged { recovery: Duration::from_millis(80) }
    }
}

/// Which user is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SchedulerConfig {
    /// In turn, in equal parts of the band.
    #[default]
    RoundRobin,
    /// The user with the best channel.
    MaxCi,
    /// The user whose rate is highest relative to its own average.
    ProportionalFair {
        /// Over how many intervals the average is taken.
        window: u32,
    },
}

/// How a user gets leave to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessConfig {
    /// Time from one opportunity for a scheduling request to the next.
    #[serde(rename = "request_period_ns")]
    pub request_period: Duration,
    /// What the first grant has room for; absent for all that waits.
    #[serde(default)]
    pub first_grant_bytes: Option<u32>,
    /// How long a user whose queue is empty goes on being granted as much, unasked.
    #[serde(rename = "keep_alive_ns", default)]
    pub keep_alive: Duration,
    /// When a user tells what waits, besides with its first block and with what has room to spare;
    /// absent: with every block.
    #[serde(default)]
    pub reports: Option<ReportsConfig>,
}

/// The timers of buffer status reports (TS 36.321 and TS 38.321 section 5.4.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportsConfig {
    /// A user that goes on sending tells again after this (`periodicBSR-Timer`).
    #[serde(rename = "period_ns")]
    pub period: Duration,
    /// A user that has told, waits and is granted nothing asks again after this
    /// (`retxBSR-Timer`).
    #[serde(rename = "repeat_ns")]
    pub repeat: Duration,
}

/// A user with a port.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserConfig {
    /// Mean ratio of signal to interference and noise, down.
    pub downlink_mdb: Decibel,
    /// The same, up.
    pub uplink_mdb: Decibel,
    /// Fast fading, of its own in each direction.
    #[serde(default)]
    pub fading: Option<FadingConfig>,
    /// Slow variations, the same in both directions.
    #[serde(default)]
    pub drifts: Vec<DriftConfig>,
}

/// The direction as scenarios of cells name it.
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
    /// How many.
    pub users: u16,
    /// The direction that they use.
    #[serde(rename = "way", with = "Way")]
    pub direction: Direction,
    /// Their mean ratios lie evenly from this...
    pub lowest_mdb: Decibel,
    /// ...to this.
    pub highest_mdb: Decibel,
    /// Fast fading.
    #[serde(default)]
    pub fading: Option<FadingConfig>,
    /// Mean of the exponential time for which one wants service.
    #[serde(rename = "on_ns")]
    pub on: Duration,
    /// Mean of the exponential time for which one does not; 0 for one that always does.
    #[serde(rename = "off_ns", default)]
    pub off: Duration,
}

/// How a silent user goes to sleep and wakes up.
///
/// A run begins with every user asleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RrcConfig {
    /// Silence after which a connected user listens now and then only; absent for never.
    #[serde(rename = "drx_after_ns", default)]
    pub drx_after: Option<Duration>,
    /// Time from one moment of listening to the next.
    #[serde(rename = "drx_cycle_ns", default)]
    pub drx_cycle: Duration,
    /// Silence after which a user is no longer connected.
    #[serde(rename = "inactivity_ns")]
    pub inactivity: Duration,
    /// How long it takes to connect again, at least...
    #[serde(rename = "promotion_least_ns")]
    pub promotion_least: Duration,
    /// ...and at most; evenly between.
    #[serde(rename = "promotion_most_ns")]
    pub promotion_most: Duration,
    /// How often a user that is not connected listens for a call.
    #[serde(rename = "paging_cycle_ns")]
    pub paging_cycle: Duration,
}

/// How users change from cell to cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandoverConfig {
    /// Mean of the exponential time from one to the next.
    #[serde(rename = "interval_ns")]
    pub interval: Duration,
    /// For how long there is no service.
    #[serde(rename = "interruption_ns")]
    pub interruption: Duration,
    /// Whether what was under way is sent again afterwards (lossless) or lost (seamless).
    pub is_lossless: bool,
}

const fn four() -> u8 {
    4
}
