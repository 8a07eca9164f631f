//! Errors in a cell's configuration.

use cwndlab_units::Duration;
use thiserror::Error;

use crate::Direction;

/// An error in a cell's settings.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum CellError {
    /// LTE does not have a carrier of this bandwidth, given in resource blocks.
    #[error("lte: {0} resource blocks are not possible: use 6, 15, 25, 50, 75 or 100")]
    LteBandwidth(u16),
    /// The number of spatial layers is not possible.
    #[error("{0} spatial layers are not possible: use from 1 to {1}")]
    Layers(u8, u8),
    /// A handset of this LTE category does not support this number of layers.
    #[error(
        "a handset of LTE category {category} does not support {layers} spatial layers: use 1, \
         2, 4 or 8 layers, at most {most}, or another `category`"
    )]
    LteLayers {
        /// Number of layers.
        layers: u8,
        /// The handset's category.
        category: u8,
        /// Maximum number of layers for this category.
        most: u8,
    },
    /// The LTE cell has too many carriers.
    #[error("lte: {0} carriers are too many: use at most 5")]
    Carriers(usize),
    /// A handset of this category does not support 256QAM.
    #[error("lte: a handset of category {0} does not support 256QAM: use a category from 11 to 16")]
    No256Qam(u8),
    /// The radio technology does not have this handset category.
    #[error("{technology}: there is no handset category {category}: use {known}")]
    Category {
        /// The technology.
        technology: &'static str,
        /// The category.
        category: u8,
        /// Valid categories.
        known: &'static str,
    },
    /// NR does not have a carrier of this bandwidth.
    #[error("{}", no_bandwidth(*.subcarrier_khz, *.bandwidth_mhz, .known))]
    NrBandwidth {
        /// Subcarrier spacing.
        subcarrier_khz: u32,
        /// Bandwidth.
        bandwidth_mhz: u32,
        /// Valid bandwidths for this subcarrier spacing; empty if the spacing itself is invalid.
        known: Vec<u32>,
    },
    /// A slot of the pattern has more than 14 symbols.
    #[error("nr: slot {slot} of the pattern has {symbols} symbols: use at most 14")]
    Symbols {
        /// Index of the slot in the pattern.
        slot: usize,
        /// Number of downlink and uplink symbols of the slot.
        symbols: u32,
    },
    /// The pattern has no slots, or no room for data in one of the directions.
    #[error(
        "nr: the pattern must have from 1 to 1000 slots, and at least one of them must carry \
         data of the {}: a resource block carries 12 resource elements in each symbol, minus \
         overhead_elements in each slot",
        link_of(.0)
    )]
    EmptyPattern(Direction),
    /// UMTS does not have a dedicated channel with this rate.
    #[error("umts: a dedicated channel cannot have {0} kbit/s: use 64, 128 or 384")]
    DedicatedRate(u32),
    /// The radio technology does not have this modulation and coding scheme.
    #[error("there is no modulation and coding scheme {scheme}: use at most {highest}")]
    Scheme {
        /// The direction.
        direction: Direction,
        /// The scheme.
        scheme: u8,
        /// The highest valid modulation and coding scheme.
        highest: u8,
    },
    /// The period of the channel quality reports is 0.
    #[error("the period of the channel quality reports must be longer than 0")]
    ReportPeriod(Direction),
    /// The outer loop of the link adaptation could never reach its target.
    #[error("the target of the outer loop must be above 0 % and below 100 %")]
    OuterLoopTarget(Direction),
    /// Early discard would never begin, or never end.
    #[error(
        "at_packets must be at least 1 and less than the limit of the queue, and spacing_packets \
         must be at least 1"
    )]
    EarlyDiscard(Direction),
    /// Active queue management is combined with another kind of early drops.
    #[error("aqm cannot be combined with discard or early_discard")]
    Aqm(Direction),
    /// An ACK filter or ACK thinning is combined with early drops of other packets.
    #[error("ack_filter and ack_thinning cannot be combined with discard or early_discard")]
    FewerAcks(Direction, &'static str),
    /// An ACK filter is combined with PIE, which decides when packets arrive.
    #[error("ack_filter works with drop_tail, codel, fq_codel and dualpi2, not with pie")]
    AckFilterPie(Direction),
    /// The interval of CoDel is 0.
    #[error("the interval of codel or fq_codel must be longer than 0")]
    AqmInterval(Direction),
    /// DualPI2 would update its drop probability too often.
    #[error("dualpi2: target and max_rtt must each be at least 1 ms")]
    DualPi2Times(Direction),
    /// With no transmissions, blocks would never be sent.
    #[error("transmissions must be at least 1")]
    NoTransmission(Direction),
    /// The list of block error probabilities is empty.
    #[error("block_errors needs at least one probability")]
    NoErrorRate(Direction),
    /// Every transmission of a block would fail, so no block would be delivered.
    #[error("the last probability must be below 100 %; otherwise no block would ever arrive")]
    HopelessErrors(Direction),
    /// The channel has no block error curves.
    #[error(
        "a dedicated channel and hsupa have no error curves: write block_errors of the kind given, \
         with probabilities"
    )]
    NoCurves(Direction),
    /// The proportional fair scheduler averages over too few intervals.
    #[error("the window of the proportional fair scheduler must be at least 2 intervals")]
    SchedulerWindow(Direction),
    /// The table `access` is missing for LTE or NR, or present for UMTS.
    #[error("lte and nr need the table `access`; umts must not have it")]
    Access,
    /// The period of scheduling requests is shorter than an uplink slot.
    #[error(
        "the request period of {} ms is shorter than one transmission interval of the uplink",
        .0.as_nanos() as f64 / 1e6
    )]
    RequestPeriod(Duration),
    /// The first uplink grant has no room for data.
    #[error("a first grant of {0} bytes is too small: use at least 16 bytes")]
    FirstGrant(u32),
    /// The number of users is not possible.
    #[error("a cell must have from 1 to 1000 measured users, not {0}")]
    Users(usize),
    /// The number of fading branches is not possible.
    #[error("{0} fading branches are not possible: use from 1 to 16")]
    Branches(u8),
    /// A background user would never be active.
    #[error("the time `on` of background users must be longer than 0")]
    BackgroundOn,
    /// A minimum is greater than its maximum; the values are the place and the key of the minimum.
    #[error("{1}: the minimum is greater than the maximum")]
    Bounds(&'static str, &'static str),
    /// A period that must be positive is 0.
    #[error("{0} must be more than 0")]
    Cycle(&'static str),
    /// Handovers would overlap.
    #[error("the interval between two handovers must be longer than the interruption")]
    HandoverInterval,
}

impl CellError {
    /// The configuration key that contains the error, such as `downlink.adaptation`.
    pub fn place(&self) -> String {
        let (direction, key) = match self {
            Self::LteBandwidth(_) => (None, "radio.resource_blocks"),
            Self::LteLayers { .. } => (None, "radio.layers"),
            Self::NrBandwidth { known, .. } if known.is_empty() => (None, "radio.subcarrier"),
            Self::NrBandwidth { .. } => (None, "radio.bandwidth"),
            Self::Category { technology: "lte", .. } => (None, "radio.category"),
            Self::Symbols { .. } | Self::EmptyPattern(_) => (None, "radio.pattern"),
            Self::No256Qam(_)
            | Self::Carriers(_)
            | Self::Layers(..)
            | Self::Category { .. }
            | Self::DedicatedRate(_) => (None, "radio"),
            Self::Scheme { direction, .. }
            | Self::ReportPeriod(direction)
            | Self::OuterLoopTarget(direction) => (Some(direction), "adaptation"),
            Self::EarlyDiscard(direction) => (Some(direction), "early_discard"),
            Self::Aqm(direction) | Self::AqmInterval(direction) | Self::DualPi2Times(direction) => {
                (Some(direction), "aqm")
            }
            Self::FewerAcks(direction, key) => (Some(direction), *key),
            Self::AckFilterPie(direction) => (Some(direction), "ack_filter"),
            Self::NoTransmission(direction) => (Some(direction), "transmissions"),
            Self::NoErrorRate(direction)
            | Self::HopelessErrors(direction)
            | Self::NoCurves(direction) => (Some(direction), "block_errors"),
            Self::SchedulerWindow(direction) => (Some(direction), "scheduler"),
            Self::Access | Self::RequestPeriod(_) | Self::FirstGrant(_) => (None, "access"),
            Self::Users(_) => (None, "users"),
            Self::Branches(_) => (None, "users.fading"),
            Self::BackgroundOn => (None, "background"),
            Self::Bounds(place, _) => (None, *place),
            Self::Cycle(_) => (None, "rrc"),
            Self::HandoverInterval => (None, "handover"),
        };
        match direction {
            Some(direction) => format!("{}.{key}", link_of(direction)),
            None => key.to_owned(),
        }
    }
}

/// The error for a bandwidth or subcarrier spacing that NR does not have.
fn no_bandwidth(subcarrier_khz: u32, bandwidth_mhz: u32, known: &[u32]) -> String {
    if known.is_empty() {
        return format!(
            "NR has no subcarrier spacing of {subcarrier_khz} kHz in this frequency range: use \
             15, 30 or 60 kHz in fr1, or 60 or 120 kHz in fr2"
        );
    }
    let known: Vec<String> = known.iter().map(u32::to_string).collect();
    format!(
        "NR has no bandwidth of {bandwidth_mhz} MHz with a subcarrier spacing of \
         {subcarrier_khz} kHz (3GPP TS 38.101): use {} MHz",
        known.join(", ")
    )
}

/// The configuration key for the settings of a direction.
fn link_of(direction: &Direction) -> &'static str {
    match direction {
        Direction::Forward => "downlink",
        Direction::Reverse => "uplink",
    }
}
