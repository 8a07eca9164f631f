//! Filters of a wire before its queue.

use cwndlab_units::{Stream, Time};

use crate::event::DropReason;
use crate::loss::Loss;
use crate::outage::Blackouts;
use crate::packet::Packet;
use crate::policer::Policer;
use crate::queue::AckThinner;
use crate::schedule::Steps;

/// Policer, loss, outages and ACK thinning, before the queue.
#[derive(Clone, Debug)]
pub(super) struct IngressFilter {
    pub(super) policer: Option<Policer>,
    pub(super) blackouts: Blackouts,
    pub(super) loss: Steps<Loss>,
    pub(super) thinner: Option<AckThinner>,
    pub(super) random: Stream,
}

impl IngressFilter {
    /// Reason to drop a packet of `bytes` that arrives now, if any.
    pub(super) fn drop_reason(
        &mut self,
        now: Time,
        bytes: u32,
        packet: &impl Packet,
    ) -> Option<DropReason> {
        if self.policer.as_mut().is_some_and(|policer| !policer.passes(now, bytes)) {
            return Some(DropReason::Policed);
        }
        self.loss.advance(now);
        if self.blackouts.covers(now) {
            Some(DropReason::Outage)
        } else if self.loss.value_mut().decide(&mut self.random) {
            Some(DropReason::Loss)
        } else {
            let is_thinned = self.thinner.as_mut().is_some_and(|acks| acks.drops(packet.ack()));
            is_thinned.then_some(DropReason::AckFiltered)
        }
    }
}
