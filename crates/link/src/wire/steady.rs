//! The treatment of the last packet on a wire.

use cwndlab_units::{Duration, Time};

/// Times of a packet of a given length, and the end of their validity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Steady {
    pub(super) bytes: u32,
    /// Its service time.
    pub(super) service: Duration,
    /// Maximum length of a packet that has room and is served in no time; 0 if there is none.
    pub(super) at_once_bytes: u32,
    pub(super) delay: Duration,
    /// Valid for packets whose service begins before this time.
    pub(super) until: Time,
    /// Limit of the queue in packets.
    pub(super) room_packets: u32,
    /// Number of packets before the first one with this treatment.
    pub(super) packets_before: u64,
}

impl Steady {
    /// The state before the first packet.
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
