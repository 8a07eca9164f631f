//! Native side of the congestion-control contract.

mod sock;

pub use sock::*;
