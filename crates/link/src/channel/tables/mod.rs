//! Tables of the 3GPP specifications, with their sources.

pub(crate) mod hsdpa;
pub(crate) mod lte;
mod lte_block_bits;
pub(crate) mod nr;
