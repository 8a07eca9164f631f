//! What the last packet has met on a wire.

use cwndlab_units::{Duration, Time};

/// How long a packet of a length takes, as long as that holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Steady {
    pub(super) bytes: u32,
    /// Its time in service, and from the server to the far end.
    pub(super) service: Duration,
    /// How long a packet may be for which service takes no time and which has room: 0 if none is.
    pub(super) at_once_bytes: u32,
    pub(super) delay: Duration,
    /// It holds for packets whose service begins before this time.
    pub(super) until: Time,
    /// How many packets the queue holds.
    pub(super) room_packets: u32,
    /// How many packets had come before this one and those that met the same.
    pub(super) packets_before: u64,
}

impl Steady {
    /// Nothing was remembered.
    pub(super) fn unknown() -> Self {
        let (service, delay) = (Duration::ZERO, Duration::ZERO);
        Self {
            bytes: 0,
            service,
            at_once_bytes: 0,
            delay,
            until: Time::ZERO,
            room_packets: 0,
            packets_before: 0,
        }
    }
}
