//! When the application at the receiver reads the data that arrived.

use cwndlab_host::HostConfig;
use cwndlab_units::{Duration, Time};

/// Times at which an application reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Whether the application has started and only reads, without delay.
    pub(super) is_at_once: bool,
    /// Delay from the arrival of data to the read.
    pub(super) delay: Duration,
    /// Time of the next read.
    pub(super) next: Time,
    /// Duration of a read.
    pub(super) read_time: Duration,
    /// Time until which the application is awake after its last read.
    pub(super) awake_until: Time,
    /// Time by which a read is postponed for the device, if the application and the device share a
    /// processor.
    pub(super) yielding: Option<Duration>,
}

impl Reading {
    /// The read times of an application on this host. Without a host, the application reads at
    /// once.
    pub(super) fn new(host: Option<HostConfig>) -> Self {
        Self {
            is_at_once: false,
            delay: host.map_or(Duration::ZERO, |host| host.wake_time),
            next: Time::NEVER,
            read_time: host.map_or(Duration::ZERO, |host| host.read_time),
            awake_until: Time::ZERO,
            yielding: host
                .filter(|host| host.is_one_processor)
                .map(|host| host.receive_packet_time.max(Duration::from_nanos(1))),
        }
    }
}
