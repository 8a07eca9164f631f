//! How the last packet on a wire was handled.

use cwndlab_units::{Duration, Time};

/// Times for a packet of a given length, and until when they apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Steady {
    pub(super) bytes: u32,
    /// Its service time.
    pub(super) service: Duration,
    /// Maximum length of a packet that has room and is sent in no time; 0 if there is none.
    pub(super) at_once_bytes: u32,
    pub(super) delay: Duration,
    /// The times apply to packets whose service begins before this time.
    pub(super) until: Time,
    /// Maximum number of packets in the queue.
    pub(super) room_packets: u32,
    /// Number of packets before the first packet that was handled in this way.
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
