//! Links as state machines without a clock.
//!
//! A link receives packets in [`Link::handle_packet`] and returns them from [`Link::poll`] with
//! the logical time at which they leave, even if it is polled later. A link reads no clock and no
//! file and does not depend on TCP. [`Wire`] is a one-way link with loss and outages, a queue, a
//! rate and a delay. [`Chain`] and [`Duplex`] combine links. [`AnyLink`] is any of these links,
//! selected by an enum. A shared medium is also a link: port 0 is the network's side, and each
//! other port belongs to a user. A packet that enters at port 0 leaves at the port given by
//! [`Packet::user`].
//!
//! If a packet leaves at the same time as another packet arrives, every link handles the departure
//! first.

mod ack;
mod any;
pub mod cellular;
mod chain;
pub mod channel;
mod config;
mod counters;
mod delay;
mod direction;
mod distance;
mod duplex;
mod error;
mod event;
mod link;
mod loss;
mod meter;
mod outage;
mod packet;
mod path;
mod policer;
mod probability;
mod queue;
mod rate;
mod ring;
mod scatter;
mod schedule;
mod stages;
mod wifi;
mod wire;

pub use ack::Ack;
pub use any::AnyLink;
pub use chain::Chain;
pub use config::{
    AckFilter, AqmConfig, DualPi2Config, EarlyDiscard, FqCodelConfig, JitterConfig, LightConfig,
    LossConfig, OutageConfig, OutageKind, PieConfig, PoliceConfig, QueueConfig, RateConfig,
    RedConfig, ReorderConfig, StageConfig, StepConfig, Transition,
};
pub use counters::{Backlog, Counters, Drops, Tally};
pub use cwndlab_trace::{
    LightTrace, OpportunityTrace, RateLog, RateTrace, TraceError, TraceKind, TraceProblem, Traces,
};
pub use direction::Direction;
pub use distance::Distance;
pub use duplex::Duplex;
pub use error::{ConfigError, StageError};
pub use event::{DropReason, LinkEvent, LinkEventKind};
pub use link::Link;
pub use packet::{Admission, Alike, Packet, Train};
pub use path::{ChainConfig, PathConfig, PathStage, WireConfig};
pub use probability::{Probability, ProbabilityError};
pub use queue::{Dequeued, Discipline};
pub use scatter::Scatter;
pub use stages::Stages;
pub use wifi::{
    AccessCategory, AccessPointConfig, AggregationConfig, AirUse, AqlConfig, Band, BeaconConfig,
    DownlinkConfig, ErrorCurve, InterferenceConfig, InterferenceKind, NodeConfig, RadioConfig,
    RateControlConfig, Standard, StationDualConfig, StationQueueConfig, WifiChannel, WifiConfig,
    WifiError, WifiStatistics,
};
pub use wire::Wire;
