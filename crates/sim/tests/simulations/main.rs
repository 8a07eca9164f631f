//! Whole runs, from a scenario's JSON to its output.

mod applications;
mod bbr3;
mod capture;
mod cell;
mod delay_based;
mod hosts;
mod model_based;
mod queues;
mod runs;
mod setup;
mod uses;
mod wifi;
