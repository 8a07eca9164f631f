//! The core network between the cell and the network's end of the link.

use cwndlab_units::{Duration, Time};

use super::config::DirectionConfig;
use crate::channel::Draws;

/// The core network as a delay with jitter and framing that preserves the order of packets.
#[derive(Clone, Debug)]
pub(crate) struct Core {
    delay: Duration,
    jitter: Duration,
    frame: Duration,
    draws: Draws,
    last: Time,
}

impl Core {
    pub(crate) fn new(config: &DirectionConfig, run_seed: u64, component: &str) -> Self {
        Self {
            delay: config.core_delay,
            jitter: config.core_jitter,
            frame: config.core_frame,
            draws: Draws::new(run_seed, component),
            last: Time::ZERO,
        }
    }

    /// Time at which a packet that enters the core network at `at` leaves it.
    pub(crate) fn leave(&mut self, at: Time) -> Time {
        let mut leaves = at + self.delay;
        if self.jitter > Duration::ZERO {
            let part = self.draws.unit(at.as_nanos());
            leaves += Duration::from_nanos((part * self.jitter.as_nanos() as f64) as u64);
        }
        if self.frame > Duration::ZERO {
            let frame = self.frame.as_nanos();
            leaves = Time::from_nanos(leaves.as_nanos().div_ceil(frame) * frame);
        }
        self.last = self.last.max(leaves);
        self.last
    }
}
