//! The tables of the standards: facts of 3GPP specifications, each with its place.

pub(crate) mod hsdpa;
pub(crate) mod lte;
mod lte_block_bits;
pub(crate) mod nr;
