//! What a wire has whose queue decides when a packet is dequeued.

use cwndlab_units::Time;

use crate::config::AckFilter;
use crate::queue::{DequeueAqm, Limits};

/// A queue that decides when a packet is dequeued.
#[derive(Clone, Debug)]
pub(super) struct OnDequeue<P> {
    pub(super) queue: DequeueAqm<P>,
    pub(super) limits: Limits,
    pub(super) ack_filter: Option<AckFilter>,
    /// When a packet is dequeued next, if one waits.
    pub(super) next_dequeue: Time,
}
