//! Whole runs, from a scenario's JSON to its output.

mod applications;
mod capture;
mod model_based;
mod runs;
mod setup;
