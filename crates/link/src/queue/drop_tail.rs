//! Drop-tail: a packet that does not fit is dropped.

use cwndlab_units::Bytes;

use crate::Backlog;

/// Limits of a queue; they include the packet that is being sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    packets: u32,
    bytes: u64,
}

impl Limits {
    pub(crate) fn new(packets: Option<u32>, bytes: Option<Bytes>) -> Self {
        Self {
            packets: packets.unwrap_or(u32::MAX),
            bytes: bytes.map_or(u64::MAX, |bytes| bytes.0),
        }
    }

    /// Whether the backlog is within both limits.
    pub(crate) fn hold(self, backlog: Backlog) -> bool {
        backlog.packets <= self.packets && backlog.bytes <= self.bytes
    }

    #[inline]
    pub(crate) fn have_room(self, backlog: Backlog, bytes: u32) -> bool {
        backlog.packets < self.packets && backlog.bytes + u64::from(bytes) <= self.bytes
    }

    /// Limit in packets, if the queue has no limit in bytes.
    #[inline]
    pub(crate) fn packets_alone(self) -> Option<u32> {
        (self.bytes == u64::MAX).then_some(self.packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_reached_and_not_passed() {
        let backlog = Backlog { packets: 49, bytes: 49 * 1500 };
        assert!(Limits::new(None, None).have_room(backlog, u32::MAX));
        assert!(Limits::new(Some(50), None).have_room(backlog, 1500));
        assert!(!Limits::new(Some(49), None).have_room(backlog, 1));
        let limits = Limits::new(None, Some(Bytes(50 * 1500)));
        assert!(limits.have_room(backlog, 1500));
        assert!(!limits.have_room(backlog, 1501));
        assert!(!Limits::new(Some(49), Some(Bytes(1 << 40))).have_room(backlog, 1));
    }
}
