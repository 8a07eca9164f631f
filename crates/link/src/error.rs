//! Why a configuration makes no link.

use cwndlab_units::{Bytes, Time};
use thiserror::Error;

use crate::cellular::CellError;
use crate::{TraceKind, WifiError};

/// A stage of a path cannot be built.
#[derive(Clone, PartialEq, Debug, Error)]
#[error("{place}: {problem}")]
pub struct ConfigError {
    /// Which link or stage, such as `forward.0` or `links.1.wifi`.
    pub place: String,
    /// What is wrong with it.
    #[source]
    pub problem: StageError,
}

/// What is wrong with a stage.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum StageError {
    /// The caller handed in no trace of that name.
    #[error("the trace `{0}` has not been loaded")]
    UnknownTrace(String),
    /// A rate log where a Mahimahi trace is wanted, or the reverse.
    #[error("trace `{path}` is a {found}, but the kind of the rate requires a {wanted}")]
    WrongTraceKind {
        /// Its name.
        path: String,
        /// What it is.
        found: TraceKind,
        /// What it should be.
        wanted: TraceKind,
    },
    /// The schedule changes the rate of a trace.
    #[error("the schedule changes the rate at {0:?}, but the rate of a trace cannot be changed")]
    TraceRateChange(Time),
    /// A rate of zero with `keep`.
    #[error(
        "with transition `keep`, a rate of 0 would hold packets forever: use `retime` or an outage"
    )]
    KeptZeroRate,
    /// Reordering as netem does, and as `reorder` says, at one time.
    #[error(
        "reorder cannot be combined with transition `keep`, which determines the order of \
        packets itself"
    )]
    KeptReorder,
    /// Queues that know when a packet leaves as soon as it comes.
    #[error(
        "ack_filter works with drop_tail, codel, fq_codel and dualpi2, not with pie, red and step"
    )]
    AckFilterQueue,
    /// An outage that stops before it starts.
    #[error("an outage starts at {start:?} but stops at {stop:?}")]
    EmptyOutage {
        /// Its start.
        start: Time,
        /// Its stop.
        stop: Time,
    },
    /// A token bucket without room.
    #[error("a burst of {} bytes is not possible: use from 1 to {} bytes", .0.0, Self::MAX_BURST.0)]
    Burst(Bytes),
    /// RED thresholds in the wrong order.
    #[error("red: min is {} bytes, but must be below max, which is {} bytes", min.0, max.0)]
    RedThresholds {
        /// The lower one.
        min: Bytes,
        /// The upper one.
        max: Bytes,
    },
    /// A weight too small for the arithmetic.
    #[error("red: a weight of 2^-{0} is too small; use at least 2^-24 (weight_shift = 24)")]
    RedWeight(u32),
    /// RED's average cannot decay by packets that take no time.
    #[error(
        "red: with idle_packet = 0, the average queue length would never decay; remove this \
        key"
    )]
    RedIdlePacket,
    /// A step queue without threshold.
    #[error("step: the threshold mark is missing; set it in packets or bytes")]
    NoStep,
    /// A CoDel interval of zero.
    #[error("codel and fq_codel: interval must be longer than 0")]
    CodelInterval,
    /// A turn in which nothing could be sent, or one without measure.
    #[error("fq_codel: a quantum of {} bytes; use from 1 to 4,294,967,295 bytes", .0.0)]
    FqCodelQuantum(Bytes),
    /// A controller whose updates would be too frequent.
    #[error("dualpi2: target and max_rtt must each be at least 1 ms")]
    DualPi2Times,
    /// More stages than events can number.
    #[error("the path has more than 65535 stages")]
    TooManyStages,
    /// A chain of nothing.
    #[error("a chain must contain at least one link")]
    NoLinks,
    /// Media of one chain that do not have the same users.
    #[error(
        "one link of this chain has {first} users and another link has {other}: all packets pass \
         both links, so their numbers of users must be equal"
    )]
    DifferentUsers {
        /// Those of the first medium.
        first: u16,
        /// Those of another one.
        other: u16,
    },
    /// A Wi-Fi channel that cannot be.
    #[error(transparent)]
    Wifi(#[from] WifiError),
    /// A cell that cannot be.
    #[error(transparent)]
    Cell(#[from] CellError),
}

impl StageError {
    /// The key within the stage or medium that is wrong; empty where no single key is.
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
