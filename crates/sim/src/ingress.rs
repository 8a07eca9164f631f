//! The place where segments enter the path.

use cwndlab_link::Direction;

/// The place where segments of a flow enter the path in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ingress {
    pub(crate) link: Direction,
    pub(crate) port: u16,
}
