//! A wire's queue that decides when packets are dequeued.

use cwndlab_units::Time;

use crate::config::AckFilter;
use crate::queue::{DequeueAqm, Limits};

/// A queue that decides when a packet is dequeued.
#[derive(Clone, Debug)]
pub(super) struct OnDequeue<P> {
    pub(super) queue: DequeueAqm<P>,
    pub(super) limits: Limits,
    pub(super) ack_filter: Option<AckFilter>,
    /// Time of the next dequeue, if a packet waits.
    pub(super) next_dequeue: Time,
}
