//! What a recorder may want to know of a link.

use cwndlab_units::{Duration, Rate};

use crate::OutageKind;

/// Something that happened at a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkEvent {
    /// At which of the link's stages.
    pub stage: u16,
    /// What happened.
    pub kind: LinkEventKind,
}

/// What happened at a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkEventKind {
    /// A packet is gone.
    Dropped {
        /// Its flow.
        flow: u32,
        /// Its length with the link's framing.
        bytes: u32,
        /// Why.
        reason: DropReason,
    },
    /// A packet was marked "congestion experienced".
    Marked {
        /// Its flow.
        flow: u32,
        /// Its length with the link's framing.
        bytes: u32,
    },
    /// An outage began.
    OutageBegan(OutageKind),
    /// An outage is over.
    OutageEnded(OutageKind),
    /// The schedule changed the rate.
    RateChanged(Rate),
    /// The schedule changed the delay.
    DelayChanged(Duration),
    /// The schedule changed the loss.
    LossChanged,
}

impl LinkEventKind {
    /// The event's name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dropped { reason, .. } => match reason {
                DropReason::Loss => "link_loss",
                DropReason::Outage => "link_outage_drop",
                DropReason::Overflow => "queue_overflow",
                DropReason::Aqm => "aqm_drop",
                DropReason::TooLong => "too_long",
                DropReason::Expired => "expired",
                DropReason::Policed => "policed",
                DropReason::AckFiltered => "ack_filtered",
            },
            Self::Marked { .. } => "ecn_mark",
            Self::OutageBegan(_) => "outage_began",
            Self::OutageEnded(_) => "outage_ended",
            Self::RateChanged(_) => "rate_changed",
            Self::DelayChanged(_) => "delay_changed",
            Self::LossChanged => "loss_changed",
        }
    }

    /// The flow it concerns, if it concerns one.
    pub const fn flow(self) -> Option<u32> {
        match self {
            Self::Dropped { flow, .. } | Self::Marked { flow, .. } => Some(flow),
            _ => None,
        }
    }

    /// Its number in results: bytes of a packet, bits per second, nanoseconds, or nothing.
    pub const fn value(self) -> Option<u64> {
        match self {
            Self::Dropped { bytes, .. } | Self::Marked { bytes, .. } => Some(bytes as u64),
            Self::RateChanged(rate) => Some(rate.bits_per_sec()),
            Self::DelayChanged(delay) => Some(delay.as_nanos()),
            Self::OutageBegan(_) | Self::OutageEnded(_) | Self::LossChanged => None,
        }
    }
}

/// Why a packet is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// The link lost it.
    Loss,
    /// It arrived during an outage.
    Outage,
    /// The queue had no room for it.
    Overflow,
    /// The queue's active management dropped it.
    Aqm,
    /// It is longer than the link can ever send: a token bucket's burst, an opportunity.
    TooLong,
    /// It waited longer than the link keeps packets.
    Expired,
    /// It came faster than a policer allows.
    Policed,
    /// It was an ACK that a later one made superfluous.
    AckFiltered,
}
