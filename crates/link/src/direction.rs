//! The two directions of a path.

use core::fmt;
use core::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// A direction of a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Direction from the network to a user.
    #[default]
    Forward,
    /// Direction from a user to the network.
    Reverse,
}

impl Direction {
    /// Both directions, in the order in which pairs are indexed by direction.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Reverse];

    /// The opposite direction.
    pub const fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }

    /// Port of a shared medium at which packets from or to this user enter in this direction; they
    /// leave at the port of the opposite direction.
    pub const fn port(self, user: u16) -> u16 {
        match self {
            Self::Forward => 0,
            Self::Reverse => user,
        }
    }

    /// Name of the direction in scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl<T> Index<Direction> for [T; 2] {
    type Output = T;

    #[inline]
    fn index(&self, direction: Direction) -> &T {
        &self[direction as usize]
    }
}

impl<T> IndexMut<Direction> for [T; 2] {
    #[inline]
    fn index_mut(&mut self, direction: Direction) -> &mut T {
        &mut self[direction as usize]
    }
}
