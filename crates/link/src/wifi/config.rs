//! What a Wi-Fi channel is made of, as the scenario's JSON says it.

use core::num::NonZeroU32;

use cwndlab_units::Duration;
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::downlink::DownlinkConfig;
use crate::Probability;
use crate::config::AckFilter;

/// One channel with an access point, which is port 0, and its stations, the ports from 1 on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WifiConfig {
    /// Which 802.11.
    pub standard: Standard,
    /// Where the standard leaves it open: 802.11n, at 5 GHz if absent.
    #[serde(default)]
    pub band: Option<Band>,
    /// Width of the channel.
    #[serde(default = "twenty")]
    pub channel_mhz: u32,
    /// Streams that each frame has.
    #[serde(default = "one")]
    pub spatial_streams: u8,
    /// Guard intervals of 0.4 instead of 0.8 us.
    #[serde(default)]
    pub short_guard_interval: bool,
    /// How senders choose among the standard's rates.
    #[serde(default)]
    pub rate_control: RateControlConfig,
    /// How many packets go into one frame; `null` for one each. 802.11a, b and g have no other way.
    #[serde(default)]
    pub aggregation: Option<AggregationConfig>,
    /// Frames from this length on are announced by RTS and CTS.
    #[serde(default)]
    pub rts_threshold_bytes: Option<u32>,
    /// How often a packet is sent before it is dropped. If absent, 7 times, or with aggregation as
    /// often as its time in the queue allows (802.11-2012 sections 9.19.2.6 and 9.21.3).
    #[serde(default)]
    pub attempts: Option<NonZeroU32>,
    /// Whether a sender whose aggregate was not answered first asks what has arrived, with a short
    /// request, before it repeats anything: ns-3 does, most hardware does not.
    #[serde(default)]
    pub asks_before_repeating: bool,
    /// Whether a sender tells the receiver, with such a request, of packets whose time was over after
    /// they had been sent, or while their frame was on the air: as ns-3 does.
    #[serde(default)]
    pub asks_after_expiry: bool,
    /// Whether the channel rests after a collision for as long as a response would have taken, as
    /// stations do that could not decode a frame (EIFS). Bianchi's analysis has it either way.
    #[serde(default = "yes")]
    pub eifs: bool,
    /// The access point's beacons, if it sends any.
    #[serde(default)]
    pub beacons: Option<BeaconConfig>,
    /// Room of each node's queue.
    #[serde(default = "queue_packets")]
    pub queue_packets: u32,
    /// How long a packet may be in it.
    #[serde(
        rename = "queue_time_ns",
        default = "queue_time",
        deserialize_with = "given_queue_time"
    )]
    pub queue_time: Duration,
    /// What sets the access point apart.
    #[serde(default)]
    pub access_point: AccessPointConfig,
    /// The stations.
    pub stations: Vec<NodeConfig>,
    /// Powers and losses between the nodes; if absent, whatever does not collide is received.
    #[serde(default)]
    pub radio: Option<RadioConfig>,
    /// Another network on the channel.
    #[serde(default)]
    pub interference: Option<InterferenceConfig>,
    /// The wire between the access point and the server, one way; absent, they are one machine.
    #[serde(rename = "wire_delay_ns", default)]
    pub wire_delay: Option<Duration>,
}

/// A version of IEEE 802.11.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Standard {
    /// 54 Mbit/s at 5 GHz.
    #[serde(rename = "802.11a")]
    A,
    /// 11 Mbit/s at 2.4 GHz.
    #[serde(rename = "802.11b")]
    B,
    /// 54 Mbit/s at 2.4 GHz, without 802.11b stations.
    #[serde(rename = "802.11g")]
    G,
    /// High throughput.
    #[serde(rename = "802.11n")]
    N,
    /// Very high throughput.
    #[serde(rename = "802.11ac")]
    Ac,
}

impl core::fmt::Display for Standard {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::A => "802.11a",
            Self::B => "802.11b",
            Self::G => "802.11g",
            Self::N => "802.11n",
            Self::Ac => "802.11ac",
        })
    }
}

/// A frequency band.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Band {
    /// 2.4 GHz.
    #[serde(rename = "2.4 GHz")]
    Ghz2,
    /// 5 GHz.
    #[serde(rename = "5 GHz")]
    Ghz5,
}

/// How a sender chooses its rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RateControlConfig {
    /// Always the same.
    Fixed {
        /// Its index in the standard's table, per stream: 802.11n's MCS 15 is 7 with two streams.
        index: u8,
    },
    /// The fastest at which a frame of 1500 bytes is lost in less than a tenth of all cases, as if
    /// the sender knew the channel.
    Ideal {},
    /// By what was acknowledged, as Linux's Minstrel does.
    Minstrel {},
}

impl Default for RateControlConfig {
    fn default() -> Self {
        Self::Ideal {}
    }
}

/// How large a frame of several packets gets (A-MPDU).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AggregationConfig {
    /// Most bytes; 65535 for 802.11n and 1048575 for 802.11ac if absent, the standards' limits.
    #[serde(default)]
    pub max_bytes: Option<u32>,
    /// Most packets, which is also how far the sender may be ahead of the first that is missing.
    #[serde(default = "block_ack_window")]
    pub max_packets: u32,
    /// Longest time on the air.
    #[serde(rename = "max_time_ns", default = "longest_frame")]
    pub max_time: Duration,
}

impl Default for AggregationConfig {
    /// The standard's limits.
    fn default() -> Self {
        Self { max_bytes: None, max_packets: block_ack_window(), max_time: longest_frame() }
    }
}

/// Frames that the access point sends at an interval to all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BeaconConfig {
    /// The interval, usually 102.4 ms.
    #[serde(rename = "interval_ns")]
    pub interval: Duration,
    /// A beacon's length.
    pub bytes: u32,
}

/// One node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    /// Where it is.
    #[serde(default)]
    pub x_mm: i64,
    /// Where it is.
    #[serde(default)]
    pub y_mm: i64,
    /// Its priority for the channel; best effort if absent, or what there was before priorities
    /// with 802.11a, b and g.
    #[serde(default)]
    pub access: Option<AccessCategory>,
}

/// The access point: a node, and its queue for the stations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessPointConfig {
    /// Where it is.
    #[serde(default)]
    pub x_mm: i64,
    /// Where it is.
    #[serde(default)]
    pub y_mm: i64,
    /// Its priority for the channel, as a station's.
    #[serde(default)]
    pub access: Option<AccessCategory>,
    /// Where packets wait for stations. If absent, in one queue of `queue_packets`, and the station
    /// whose packet has waited longest is served, with all that the queue holds for it: ns-3's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<DownlinkConfig>,
    /// Which ACKs leave `queue` where later ones say as much; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_filter: Option<AckFilter>,
    /// Of the ACKs that only count on, one in so many comes into `queue`; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_thinning: Option<NonZeroU32>,
}

/// A priority for the channel (802.11-2012 table 8-105).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessCategory {
    /// AC_BK.
    Background,
    /// AC_BE.
    BestEffort,
    /// AC_VI.
    Video,
    /// AC_VO.
    Voice,
    /// The distributed coordination function, without priorities.
    Legacy,
}

/// Powers and losses between the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RadioConfig {
    /// Power that every node sends with, in thousandths of a dBm, antennas included.
    pub power_mdbm: i64,
    /// Noise figure of the receivers, in thousandths of a dB.
    #[serde(default = "noise_figure_mdb")]
    pub noise_figure_mdb: i64,
    /// Ten times this number of decibels are lost with each tenfold distance beyond one metre, in
    /// thousandths; the first metre is that of free space.
    #[serde(default = "path_loss_exponent_milli")]
    pub path_loss_exponent_milli: u32,
    /// How errors follow from the signal; `nist` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_curve: Option<ErrorCurve>,
    /// By so much a receiver is worse than the curve, in thousandths of a dB (802.11-2012 section
    /// 18.3.10.2 assumes 5 dB); nothing if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation_loss_mdb: Option<i64>,
}

/// How many bits are wrong behind the decoder, at a ratio of signal to noise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCurve {
    /// Soft decisions, as ns-3's `NistErrorRateModel` has them.
    #[default]
    Nist,
    /// Hard decisions, as ns-3's `YansErrorRateModel` has them.
    Yans,
}

/// Another network on the channel: bursts of exponentially distributed length and distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterferenceConfig {
    /// Who hears whom.
    pub kind: InterferenceKind,
    /// Mean length of a burst.
    #[serde(rename = "mean_burst_ns")]
    pub mean_burst: Duration,
    /// Share of the time that it is on the air if left alone.
    #[serde(rename = "share_ppb")]
    pub share: Probability,
}

/// How another network meets ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterferenceKind {
    /// Both hear each other: a burst waits for a frame to end, and frames for the burst.
    Heard,
    /// Neither hears the other, but the receivers hear both: what a burst meets is lost.
    Hidden,
}

/// A configuration that makes no channel.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum WifiError {
    /// The standard has no such channel.
    #[error("{standard} has no channel {what}: use {there_are}")]
    NoSuchChannel {
        /// The standard.
        standard: Standard,
        /// The key that asks for it.
        key: &'static str,
        /// What it lacks.
        what: &'static str,
        /// What it has instead.
        there_are: &'static str,
    },
    /// The table of rates has a hole there or ends before.
    #[error("{standard} has no rate with index {index} on this channel: use {there_are}")]
    NoSuchRate {
        /// The standard.
        standard: Standard,
        /// The index asked for.
        index: u8,
        /// Those that there are.
        there_are: String,
    },
    /// More packets in a frame than the standard knows how.
    #[error("{0} sends only one packet in each frame: remove `aggregation`")]
    NoAggregation(Standard),
    /// A limit of aggregation out of range.
    #[error("{0}")]
    Aggregation(&'static str),
    /// Priorities in a standard without.
    #[error("{0} has no priorities: `access` must be legacy or absent")]
    NoPriorities(Standard),
    /// No station, or too many.
    #[error("{0} stations are not possible: use from 1 to 2007")]
    Stations(usize),
    /// Two nodes at one place, or too far apart to calculate with.
    #[error(
        "the radio model needs a distance from 1 mm to 1000 km between the access point and \
        each station: correct the position of station {0}"
    )]
    Position(usize),
    /// No error rates are known.
    #[error("there is no error model for 802.11b: remove `radio`")]
    NoErrorModel,
    /// The access point's queue cannot be such.
    #[error("{0}")]
    Queue(&'static str),
    /// A number out of range.
    #[error("{0}")]
    Range(&'static str),
}

impl WifiError {
    /// The key of a channel's configuration that is wrong; empty where it is no single one.
    pub fn place(&self) -> &'static str {
        match self {
            Self::NoAggregation(_) | Self::Aggregation(_) => "aggregation",
            Self::NoErrorModel => "radio",
            Self::Queue(_) => "access_point.queue",
            Self::NoSuchRate { .. } => "rate_control",
            Self::NoSuchChannel { key, .. } => key,
            Self::Stations(_) | Self::Position(1..) => "stations",
            _ => "",
        }
    }
}

impl AccessPointConfig {
    /// Its place and priority.
    pub(crate) fn node(&self) -> NodeConfig {
        NodeConfig { x_mm: self.x_mm, y_mm: self.y_mm, access: self.access }
    }
}

impl WifiConfig {
    /// A channel with defaults and this many stations.
    pub fn new(standard: Standard, stations: usize) -> Self {
        Self {
            standard,
            band: None,
            channel_mhz: twenty(),
            spatial_streams: one(),
            short_guard_interval: false,
            rate_control: RateControlConfig::default(),
            aggregation: None,
            rts_threshold_bytes: None,
            attempts: None,
            asks_before_repeating: false,
            asks_after_expiry: false,
            eifs: true,
            beacons: None,
            queue_packets: queue_packets(),
            queue_time: queue_time(),
            access_point: AccessPointConfig::default(),
            stations: vec![NodeConfig::default(); stations],
            radio: None,
            interference: None,
            wire_delay: None,
        }
    }

    /// The nodes: the access point, then the stations.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeConfig> {
        core::iter::once(self.access_point.node()).chain(self.stations.iter().copied())
    }

    /// Whether frames have 802.11e's extended header.
    pub(crate) fn has_priorities(&self) -> bool {
        matches!(self.standard, Standard::N | Standard::Ac)
    }

    /// Checks what the types and the channel's tables do not.
    pub(crate) fn check(&self) -> Result<(), WifiError> {
        if !(1..=2007).contains(&self.stations.len()) {
            return Err(WifiError::Stations(self.stations.len()));
        }
        let is_legacy = |node: NodeConfig| !matches!(node.access, Some(access) if access != AccessCategory::Legacy);
        if !self.has_priorities() && !self.nodes().all(is_legacy) {
            return Err(WifiError::NoPriorities(self.standard));
        }
        if let Some(aggregation) = &self.aggregation {
            self.check_aggregation(aggregation)?;
        }
        if self.radio.is_some() && self.standard == Standard::B {
            return Err(WifiError::NoErrorModel);
        }
        if let Some(queue) = &self.access_point.queue {
            queue.check().map_err(WifiError::Queue)?;
        } else if self.access_point.ack_filter.is_some() || self.access_point.ack_thinning.is_some()
        {
            return Err(WifiError::Queue(
                "ack_filter and ack_thinning of an access point need a `queue`: fifo, fq_codel, \
                 airtime or dualpi2",
            ));
        }
        if self.queue_packets == 0 {
            return Err(WifiError::Range(
                "queue_packets is 0: a queue must hold at least one packet",
            ));
        }
        if self.beacons.is_some_and(|beacons| beacons.interval < Duration::from_millis(10)) {
            return Err(WifiError::Range("beacons: the interval must be at least 10 ms"));
        }
        if let Some(interference) = &self.interference {
            if interference.mean_burst < Duration::from_micros(1) {
                return Err(WifiError::Range("interference: mean_burst must be at least 1 us"));
            }
            if interference.share.as_f64() > 0.95 {
                return Err(WifiError::Range("interference: share must be at most 95 %"));
            }
        }
        Ok(())
    }

    fn check_aggregation(&self, aggregation: &AggregationConfig) -> Result<(), WifiError> {
        let fail = |what| Err(WifiError::Aggregation(what));
        if !self.has_priorities() {
            return Err(WifiError::NoAggregation(self.standard));
        }
        if !(1..=block_ack_window()).contains(&aggregation.max_packets) {
            return fail("max_packets must be from 1 to 64, the window of a block ACK");
        }
        let limit = self.aggregate_limit();
        if aggregation.max_bytes.is_some_and(|bytes| !(4096..=limit).contains(&bytes)) {
            return fail("max must be between 4096 bytes and the limit of the standard");
        }
        let times = Duration::from_micros(100)..=longest_frame();
        if !times.contains(&aggregation.max_time) {
            return fail("max_time must be between 0.1 and 5.484 ms");
        }
        Ok(())
    }

    /// How often a packet is sent: with block ACKs it ends when its time does.
    pub(crate) fn most_attempts(&self) -> u32 {
        match self.attempts {
            None if self.aggregation.is_some() => u32::MAX,
            _ => self.most_failures(),
        }
    }

    /// After so many failures in a row the contention begins again: dot11ShortRetryLimit is 7, and
    /// most drivers use it for all frames (802.11-2012 section 9.19.2.5).
    pub(crate) fn most_failures(&self) -> u32 {
        self.attempts.map_or(7, NonZeroU32::get)
    }

    /// The most bytes in one A-MPDU (802.11-2012 table 8-125, 802.11ac-2013 section 8.4.2.160.2).
    pub(crate) fn aggregate_limit(&self) -> u32 {
        if self.standard == Standard::Ac { 1_048_575 } else { 65_535 }
    }
}

fn yes() -> bool {
    true
}

fn one() -> u8 {
    1
}

fn twenty() -> u32 {
    20
}

/// ns-3's WifiMacQueue.
fn queue_packets() -> u32 {
    500
}

fn given_queue_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(queue_time))
}

/// ns-3's WifiMacQueue; dot11EDCATableMSDULifetime is 500 TU, 512 ms.
fn queue_time() -> Duration {
    Duration::from_millis(500)
}

/// Sequence numbers that one block ACK covers.
fn block_ack_window() -> u32 {
    64
}

/// aPPDUMaxTime (802.11-2012 table 20-25).
fn longest_frame() -> Duration {
    Duration::from_micros(5_484)
}

/// ns-3's WifiPhy.
fn noise_figure_mdb() -> i64 {
    7_000
}

/// ns-3's LogDistancePropagationLossModel: indoors through walls.
fn path_loss_exponent_milli() -> u32 {
    3_000
}
