//! Configuration of a Wi-Fi channel in a scenario.

use core::num::NonZeroU32;

use cwndlab_units::Duration;
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::downlink::DownlinkConfig;
use crate::Probability;
use crate::config::AckFilter;

/// A Wi-Fi channel with an access point, which is port 0, and its stations, which are the ports
/// from 1 on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WifiConfig {
    /// Version of 802.11.
    pub standard: Standard,
    /// Frequency band, for 802.11n; if absent, 5 GHz. The other standards have only one band.
    #[serde(default)]
    pub band: Option<Band>,
    /// Width of the channel in MHz.
    #[serde(default = "twenty")]
    pub channel_mhz: u32,
    /// Number of spatial streams of each frame.
    #[serde(default = "one")]
    pub spatial_streams: u8,
    /// Whether the guard interval is 400 ns instead of 800 ns.
    #[serde(default)]
    pub short_guard_interval: bool,
    /// How senders choose among the rates of the standard.
    #[serde(default)]
    pub rate_control: RateControlConfig,
    /// Aggregation of several packets into one frame; `null` for one packet in each frame, which
    /// is always the case in 802.11a, b and g.
    #[serde(default)]
    pub aggregation: Option<AggregationConfig>,
    /// Length from which frames are protected by RTS and CTS.
    #[serde(default)]
    pub rts_threshold_bytes: Option<u32>,
    /// Maximum number of transmissions of a packet, after which it is dropped. If absent, 7
    /// without aggregation; with aggregation, only the time in the queue is limited (802.11-2012
    /// sections 9.19.2.6 and 9.21.3).
    #[serde(default)]
    pub attempts: Option<NonZeroU32>,
    /// Whether a sender whose aggregated frame was not acknowledged first sends a block ACK
    /// request, and then retransmits. ns-3 does, most hardware does not.
    #[serde(default)]
    pub asks_before_repeating: bool,
    /// Whether a sender also sends a block ACK request after packets have expired that had been
    /// sent, or whose frame was on the air, as in ns-3.
    #[serde(default)]
    pub asks_after_expiry: bool,
    /// Whether the channel stays idle after a collision for the duration of a response, because
    /// stations could not decode the frame (EIFS). Bianchi's analysis covers both cases.
    #[serde(default = "yes")]
    pub eifs: bool,
    /// The beacons of the access point; if absent, it sends none.
    #[serde(default)]
    pub beacons: Option<BeaconConfig>,
    /// Maximum number of packets in the queue of each node.
    #[serde(default = "queue_packets")]
    pub queue_packets: u32,
    /// Maximum waiting time of a packet in the queue.
    #[serde(
        rename = "queue_time_ns",
        default = "queue_time",
        deserialize_with = "given_queue_time"
    )]
    pub queue_time: Duration,
    /// Settings of the access point.
    #[serde(default)]
    pub access_point: AccessPointConfig,
    /// The stations.
    pub stations: Vec<NodeConfig>,
    /// Transmission powers and path losses; if absent, packets are lost only by collisions and
    /// interference.
    #[serde(default)]
    pub radio: Option<RadioConfig>,
    /// Another network that uses the same channel.
    #[serde(default)]
    pub interference: Option<InterferenceConfig>,
    /// One-way delay of the wire between the access point and the server; if absent, there is no
    /// wire.
    #[serde(rename = "wire_delay_ns", default)]
    pub wire_delay: Option<Duration>,
}

/// A version of the standard IEEE 802.11.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Standard {
    /// 802.11a: up to 54 Mbit/s at 5 GHz.
    #[serde(rename = "802.11a")]
    A,
    /// 802.11b: up to 11 Mbit/s at 2.4 GHz.
    #[serde(rename = "802.11b")]
    B,
    /// 802.11g: up to 54 Mbit/s at 2.4 GHz, without 802.11b stations.
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

/// How a sender chooses its transmission rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RateControlConfig {
    /// The transmission rate is always the same.
    Fixed {
        /// Index in the rate table of the standard, for one spatial stream. The number of streams
        /// does not change this index: MCS 15 of 802.11n is MCS 7 with two streams, so its index
        /// is 7.
        index: u8,
    },
    /// The fastest rate at which fewer than a tenth of the frames of 1500 bytes are lost, chosen
    /// with perfect knowledge of the channel.
    Ideal {},
    /// The rate is chosen from the share of acknowledged frames, as in Linux's Minstrel.
    Minstrel {},
}

impl Default for RateControlConfig {
    fn default() -> Self {
        Self::Ideal {}
    }
}

/// Limits of an aggregated frame (A-MPDU).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AggregationConfig {
    /// Maximum size in bytes; if absent, the limit of the standard: 65535 for 802.11n, 1048575 for
    /// 802.11ac.
    #[serde(default)]
    pub max_bytes: Option<u32>,
    /// Maximum number of packets; also the maximum distance of a packet from the first packet that
    /// the receiver lacks.
    #[serde(default = "block_ack_window")]
    pub max_packets: u32,
    /// Maximum transmission time of the frame.
    #[serde(rename = "max_time_ns", default = "longest_frame")]
    pub max_time: Duration,
}

impl Default for AggregationConfig {
    /// The standard's limits.
    fn default() -> Self {
        Self { max_bytes: None, max_packets: block_ack_window(), max_time: longest_frame() }
    }
}

/// Beacons: frames that the access point broadcasts periodically.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BeaconConfig {
    /// Time between two beacons, usually 102.4 ms.
    #[serde(rename = "interval_ns")]
    pub interval: Duration,
    /// Length of a beacon.
    pub bytes: u32,
}

/// A node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    /// Position along x.
    #[serde(default)]
    pub x_mm: i64,
    /// Position along y.
    #[serde(default)]
    pub y_mm: i64,
    /// Access category of the station; if absent, best effort, or legacy with 802.11a, b and g.
    #[serde(default)]
    pub access: Option<AccessCategory>,
}

/// The access point and its queue of packets for the stations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessPointConfig {
    /// Position along x.
    #[serde(default)]
    pub x_mm: i64,
    /// Position along y.
    #[serde(default)]
    pub y_mm: i64,
    /// Access category of the access point; if absent, best effort, or legacy with 802.11a, b and
    /// g.
    #[serde(default)]
    pub access: Option<AccessCategory>,
    /// Queue for packets to the stations. If absent, there is one queue of `queue_packets`: the
    /// access point serves the station whose packet has waited longest, with all packets of this
    /// station in the queue, as in ns-3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<DownlinkConfig>,
    /// Which ACKs `queue` drops because later ACKs supersede them; if absent, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_filter: Option<AckFilter>,
    /// Of the ACKs that carry no other information, one in this many enters `queue`; if absent,
    /// all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_thinning: Option<NonZeroU32>,
}

/// An access category of EDCA (802.11-2012 table 8-105).
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
    /// The distributed coordination function, which has no priorities.
    Legacy,
}

/// Transmission powers and path losses between the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RadioConfig {
    /// Transmission power of every node in thousandths of a dBm, including antenna gains.
    pub power_mdbm: i64,
    /// Noise figure of each receiver, in thousandths of a decibel.
    #[serde(default = "noise_figure_mdb")]
    pub noise_figure_mdb: i64,
    /// Path loss exponent in thousandths: with 3000, the path loss increases by 30 dB when the
    /// distance increases tenfold. The first metre is free space.
    #[serde(default = "path_loss_exponent_milli")]
    pub path_loss_exponent_milli: u32,
    /// How error rates follow from the signal-to-noise ratio; if absent, `nist`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_curve: Option<ErrorCurve>,
    /// Signal-to-noise ratio that a real receiver needs in addition to the error curve, in
    /// thousandths of a decibel (802.11-2012 section 18.3.10.2 assumes 5 dB); if absent, 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation_loss_mdb: Option<i64>,
}

/// The bit error rate after the decoder, as a function of the signal-to-noise ratio.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCurve {
    /// A decoder with soft decisions, as in ns-3's `NistErrorRateModel`.
    #[default]
    Nist,
    /// A decoder with hard decisions, as in ns-3's `YansErrorRateModel`.
    Yans,
}

/// Another network on the same channel: it sends bursts; the lengths of bursts and gaps are
/// exponentially distributed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterferenceConfig {
    /// Whether the two networks sense each other's transmissions.
    pub kind: InterferenceKind,
    /// Mean length of a burst.
    #[serde(rename = "mean_burst_ns")]
    pub mean_burst: Duration,
    /// Share of the time in which the other network transmits on an otherwise idle channel.
    #[serde(rename = "share_ppb")]
    pub share: Probability,
}

/// How the other network and the modelled network affect each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterferenceKind {
    /// The networks sense each other: a burst waits for the end of a frame, and frames wait for
    /// the end of a burst.
    Heard,
    /// Neither network senses the other, but receivers receive both: every packet that overlaps
    /// with a burst is lost.
    Hidden,
}

/// An error in the configuration of a Wi-Fi channel.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum WifiError {
    /// The Wi-Fi standard does not have a channel with these settings.
    #[error("{standard} has no channel {what}: use {there_are}")]
    NoSuchChannel {
        /// The standard.
        standard: Standard,
        /// The configuration key.
        key: &'static str,
        /// The missing feature.
        what: &'static str,
        /// The valid choices.
        there_are: &'static str,
    },
    /// The rate table of the standard has no entry at this index.
    #[error("{standard} has no rate with index {index} on this channel: use {there_are}")]
    NoSuchRate {
        /// The standard.
        standard: Standard,
        /// The index.
        index: u8,
        /// The valid indices.
        there_are: String,
    },
    /// The standard does not support aggregation of packets.
    #[error("{0} sends only one packet in each frame: remove `aggregation`")]
    NoAggregation(Standard),
    /// A limit of aggregated frames is out of range.
    #[error("{0}")]
    Aggregation(&'static str),
    /// The standard does not support priorities.
    #[error("{0} has no priorities: `access` must be legacy or absent")]
    NoPriorities(Standard),
    /// The number of stations is not possible.
    #[error("{0} stations are not possible: use from 1 to 2007")]
    Stations(usize),
    /// A station is too near to the access point or too far away from it.
    #[error(
        "the radio model needs a distance from 1 mm to 1000 km between the access point and \
        each station: correct the position of station {0}"
    )]
    Position(usize),
    /// There is no error model for the standard.
    #[error("there is no error model for 802.11b: remove `radio`")]
    NoErrorModel,
    /// The settings of the access point's queue are invalid.
    #[error("{0}")]
    Queue(&'static str),
    /// The value of a setting is out of range.
    #[error("{0}")]
    Range(&'static str),
}

impl WifiError {
    /// The configuration key that contains the error; empty if the error is not in a single key.
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
    /// Position and access category of a node.
    pub(crate) fn node(&self) -> NodeConfig {
        NodeConfig { x_mm: self.x_mm, y_mm: self.y_mm, access: self.access }
    }
}

impl WifiConfig {
    /// A channel with this number of stations and default settings.
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

    /// The nodes of the channel: the access point, then the stations.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeConfig> {
        core::iter::once(self.access_point.node()).chain(self.stations.iter().copied())
    }

    /// Whether frames have the QoS header that 802.11e introduced.
    pub(crate) fn has_priorities(&self) -> bool {
        matches!(self.standard, Standard::N | Standard::Ac)
    }

    /// Checks the conditions that neither the types nor the tables of the standard check.
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

    /// Maximum number of transmissions of a packet; with block ACKs, only the time in the queue is
    /// limited.
    pub(crate) fn most_attempts(&self) -> u32 {
        match self.attempts {
            None if self.aggregation.is_some() => u32::MAX,
            _ => self.most_failures(),
        }
    }

    /// Number of consecutive failures after which the contention window is reset.
    /// dot11ShortRetryLimit is 7, which most drivers use for all frames (802.11-2012 section
    /// 9.19.2.5).
    pub(crate) fn most_failures(&self) -> u32 {
        self.attempts.map_or(7, NonZeroU32::get)
    }

    /// The maximum size of an aggregated frame in bytes (802.11-2012 table 8-125, 802.11ac-2013
    /// section 8.4.2.160.2).
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

/// Default: the limit of ns-3's WifiMacQueue.
fn queue_packets() -> u32 {
    500
}

fn given_queue_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_else(queue_time))
}

/// Default: the limit of ns-3's WifiMacQueue; dot11EDCATableMSDULifetime is 500 TU, 512 ms.
fn queue_time() -> Duration {
    Duration::from_millis(500)
}

/// Number of packets that a block ACK covers.
fn block_ack_window() -> u32 {
    64
}

/// Longest frame: aPPDUMaxTime (802.11-2012 table 20-25).
fn longest_frame() -> Duration {
    Duration::from_micros(5_484)
}

/// Default: the noise figure of ns-3's WifiPhy.
fn noise_figure_mdb() -> i64 {
    7_000
}

/// Default: the exponent of ns-3's LogDistancePropagationLossModel, which suits indoor paths
/// through walls.
fn path_loss_exponent_milli() -> u32 {
    3_000
}
