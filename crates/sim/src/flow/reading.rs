//! When the application at a receiver reads what has come.

use cwndlab_host::HostConfig;
use cwndlab_units::{Duration, Time};

/// The times of a reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// The application has begun and does nothing but read what comes.
    pub(super) is_at_once: bool,
    /// How long after data have come it reads, and when it does next.
    pub(super) delay: Duration,
    pub(super) next: Time,
    /// How long it takes to read, and until when it is awake as it has just read.
    pub(super) read_time: Duration,
    pub(super) awake_until: Time,
    /// How long it waits at a time for the device, with which it shares a processor.
    pub(super) yielding: Option<Duration>,
}

impl Reading {
    /// That of an application on this host; without one it reads at once.
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
