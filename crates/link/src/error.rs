//! Errors of link configurations.

use cwndlab_units::{Bytes, Time};
use thiserror::Error;

use crate::cellular::CellError;
use crate::{TraceKind, WifiError};

/// The error for a stage of a path that cannot be created.
#[derive(Clone, PartialEq, Debug, Error)]
#[error("{place}: {problem}")]
pub struct ConfigError {
    /// Place of the error: the link or stage, such as `forward.0` or `links.1.wifi`.
    pub place: String,
    /// The problem with the stage.
    #[source]
    pub problem: StageError,
}

/// A problem with the settings of a stage.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum StageError {
    /// The caller did not provide a trace with this name.
    #[error("the trace `{0}` has not been loaded")]
    UnknownTrace(String),
    /// The trace is a log of rates where a Mahimahi trace is required, or the reverse.
    #[error("trace `{path}` is a {found}, but the kind of the rate requires a {wanted}")]
    WrongTraceKind {
        /// Name of the trace.
        path: String,
        /// Kind of the trace that was provided.
        found: TraceKind,
        /// Required kind.
        wanted: TraceKind,
    },
    /// The schedule changes the rate of a link whose rate is given by a trace.
    #[error("the schedule changes the rate at {0:?}, but the rate of a trace cannot be changed")]
    TraceRateChange(Time),
    /// With transition `keep`, a rate of 0 would hold packets forever.
    #[error(
        "with transition `keep`, a rate of 0 would hold packets forever: use `retime` or an outage"
    )]
    KeptZeroRate,
    /// `reorder` is combined with transition `keep`, which reorders packets as netem does.
    #[error(
        "reorder cannot be combined with transition `keep`, which determines the order of \
        packets itself"
    )]
    KeptReorder,
    /// An ACK filter is combined with a queue that determines departures when packets arrive.
    #[error(
        "ack_filter works with drop_tail, codel, fq_codel and dualpi2, not with pie, red and step"
    )]
    AckFilterQueue,
    /// An outage does not stop after its start.
    #[error("an outage starts at {start:?} but stops at {stop:?}")]
    EmptyOutage {
        /// Start of the outage.
        start: Time,
        /// End of the outage.
        stop: Time,
    },
    /// The burst of a token bucket is zero or too large.
    #[error("a burst of {} bytes is not possible: use from 1 to {} bytes", .0.0, Self::MAX_BURST.0)]
    Burst(Bytes),
    /// The minimum threshold of RED is not below the maximum threshold.
    #[error("red: min is {} bytes, but must be below max, which is {} bytes", min.0, max.0)]
    RedThresholds {
        /// The lower threshold.
        min: Bytes,
        /// The upper threshold.
        max: Bytes,
    },
    /// The weight of RED's average is too small for the arithmetic.
    #[error("red: a weight of 2^-{0} is too small; use at least 2^-24 (weight_shift = 24)")]
    RedWeight(u32),
    /// With an idle packet time of zero, RED's average would never decay.
    #[error(
        "red: with idle_packet = 0, the average queue length would never decay; remove this \
        key"
    )]
    RedIdlePacket,
    /// A queue with step marking has no threshold.
    #[error("step: the threshold mark is missing; set it in packets or bytes")]
    NoStep,
    /// The interval of CoDel is zero.
    #[error("codel and fq_codel: interval must be longer than 0")]
    CodelInterval,
    /// The quantum of FQ-CoDel is zero or too large.
    #[error("fq_codel: a quantum of {} bytes; use from 1 to 4,294,967,295 bytes", .0.0)]
    FqCodelQuantum(Bytes),
    /// DualPI2 would update its drop probability too often.
    #[error("dualpi2: target and max_rtt must each be at least 1 ms")]
    DualPi2Times,
    /// The path has more stages than events can number.
    #[error("the path has more than 65535 stages")]
    TooManyStages,
    /// A chain contains no links.
    #[error("a chain must contain at least one link")]
    NoLinks,
    /// The media of a chain have different numbers of users.
    #[error(
        "one link of this chain has {first} users and another link has {other}: all packets pass \
         both links, so their numbers of users must be equal"
    )]
    DifferentUsers {
        /// Number of users of the first medium.
        first: u16,
        /// Number of users of another medium.
        other: u16,
    },
    /// The settings of a Wi-Fi channel are invalid.
    #[error(transparent)]
    Wifi(#[from] WifiError),
    /// An invalid cell.
    #[error(transparent)]
    Cell(#[from] CellError),
}

impl StageError {
    /// The invalid key within the stage or medium; empty if the error is not in a single key.
    pub fn place(&self) -> String {
        match self {
            Self::Wifi(error) => error.place().to_owned(),
            Self::Cell(error) => error.place(),
            _ => String::new(),
        }
    }

    /// The largest permitted burst of a token bucket.
    pub const MAX_BURST: Bytes = Bytes(1 << 30);
}
