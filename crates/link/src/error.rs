//! Errors of link configurations.

use cwndlab_units::{Bytes, Time};
use thiserror::Error;

use crate::cellular::CellError;
use crate::{TraceKind, WifiError};

/// A stage of a path cannot be built.
#[derive(Clone, PartialEq, Debug, Error)]
#[error("{place}: {problem}")]
pub struct ConfigError {
    /// Link or stage, such as `forward.0` or `links.1.wifi`.
    pub place: String,
    /// The problem at that place.
    #[source]
    pub problem: StageError,
}

/// A problem with a stage.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum StageError {
    /// The caller provided no trace of that name.
    #[error("the trace `{0}` has not been loaded")]
    UnknownTrace(String),
    /// A rate log instead of a Mahimahi trace, or vice versa.
    #[error("trace `{path}` is a {found}, but the kind of the rate requires a {wanted}")]
    WrongTraceKind {
        /// Name of the trace.
        path: String,
        /// Kind of the trace.
        found: TraceKind,
        /// Required kind.
        wanted: TraceKind,
    },
    /// The schedule changes the rate of a trace.
    #[error("the schedule changes the rate at {0:?}, but the rate of a trace cannot be changed")]
    TraceRateChange(Time),
    /// A rate of zero with transition `keep`.
    #[error(
        "with transition `keep`, a rate of 0 would hold packets forever: use `retime` or an outage"
    )]
    KeptZeroRate,
    /// `reorder` together with transition `keep`, which reorders packets as netem does.
    #[error(
        "reorder cannot be combined with transition `keep`, which determines the order of \
        packets itself"
    )]
    KeptReorder,
    /// An ACK filter with a queue that determines departures on arrival.
    #[error(
        "ack_filter works with drop_tail, codel, fq_codel and dualpi2, not with pie, red and step"
    )]
    AckFilterQueue,
    /// An outage that does not stop after its start.
    #[error("an outage starts at {start:?} but stops at {stop:?}")]
    EmptyOutage {
        /// Start of the outage.
        start: Time,
        /// End of the outage.
        stop: Time,
    },
    /// A token bucket whose burst is zero or too large.
    #[error("a burst of {} bytes is not possible: use from 1 to {} bytes", .0.0, Self::MAX_BURST.0)]
    Burst(Bytes),
    /// RED thresholds in the wrong order.
    #[error("red: min is {} bytes, but must be below max, which is {} bytes", min.0, max.0)]
    RedThresholds {
        /// The lower threshold.
        min: Bytes,
        /// The upper threshold.
        max: Bytes,
    },
    /// A weight too small for the arithmetic.
    #[error("red: a weight of 2^-{0} is too small; use at least 2^-24 (weight_shift = 24)")]
    RedWeight(u32),
    /// An idle packet time of zero, with which RED's average cannot decay.
    #[error(
        "red: with idle_packet = 0, the average queue length would never decay; remove this \
        key"
    )]
    RedIdlePacket,
    /// A step queue without a threshold.
    #[error("step: the threshold mark is missing; set it in packets or bytes")]
    NoStep,
    /// A CoDel interval of zero.
    #[error("codel and fq_codel: interval must be longer than 0")]
    CodelInterval,
    /// An FQ-CoDel quantum of zero or out of range.
    #[error("fq_codel: a quantum of {} bytes; use from 1 to 4,294,967,295 bytes", .0.0)]
    FqCodelQuantum(Bytes),
    /// A controller whose updates would be too frequent.
    #[error("dualpi2: target and max_rtt must each be at least 1 ms")]
    DualPi2Times,
    /// More stages than events can number.
    #[error("the path has more than 65535 stages")]
    TooManyStages,
    /// A chain without links.
    #[error("a chain must contain at least one link")]
    NoLinks,
    /// Media of one chain that have different numbers of users.
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
    /// An invalid Wi-Fi channel.
    #[error(transparent)]
    Wifi(#[from] WifiError),
    /// An invalid cell.
    #[error(transparent)]
    Cell(#[from] CellError),
}

impl StageError {
    /// The invalid key within the stage or medium; empty if no single key is invalid.
    pub fn place(&self) -> String {
        match self {
            Self::Wifi(error) => error.place().to_owned(),
            Self::Cell(error) => error.place(),
            _ => String::new(),
        }
    }

    /// The largest burst of a token bucket.
    pub const MAX_BURST: Bytes = Bytes(1 << 30);
}
