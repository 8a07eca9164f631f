//! Where segments enter the path.

use cwndlab_link::Direction;

/// Where a flow's segments of one direction enter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ingress {
    pub(crate) link: Direction,
    pub(crate) port: u16,
}
