//! Scenarios and their results: the part of a run that the simulator and the kernel backend share.
//!
//! [`Scenario`] describes the run. [`Application`] produces and consumes a flow's data over a
//! [`Connection`], which is an endpoint of the simulator or a socket. [`FlowRecord`] collects a
//! flow's measurements; [`flow_summary`] and [`link_summaries`] convert them to the rows of
//! [`RunOutput`], so a column has the same meaning in all backends. This crate uses no clock,
//! socket or file.

mod application;
mod columns;
mod draws;
mod error;
mod file_name;
mod output;
mod record;
mod scenario;
mod summary;

pub use application::{
    Application, ApplicationConfig, Connection, Datagram, Distribution, Outcome,
};
pub use columns::{Cell, Column, Kind, Values};
pub use draws::{drawn_ns, run_seed};
pub use error::ScenarioError;
pub use file_name::{FileName, FileNameError};
pub use output::{Acks, Events, FlowSummary, LinkSummary, Recording, RunOutput, Samples};
pub use record::{FlowRecord, IntervalTotals};
pub use scenario::{EndConfig, FlowConfig, RecordConfig, SCENARIO_VERSION, Scenario};
pub use summary::{FinishedFlow, SenderCounts, flow_summary, link_summaries};
