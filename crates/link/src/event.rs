//! Events of a link, for recordings.

use cwndlab_units::{Duration, Rate};

use crate::OutageKind;

/// Something that happened at a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkEvent {
    /// Index of the link's stage.
    pub stage: u16,
    /// Kind of the event.
    pub kind: LinkEventKind,
}

/// Kind of an event at a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkEventKind {
    /// A packet was dropped.
    Dropped {
        /// Flow of the packet.
        flow: u32,
        /// Length with the link's framing.
        bytes: u32,
        /// Reason for the drop.
        reason: DropReason,
    },
    /// A packet was marked "congestion experienced".
    Marked {
        /// Flow of the packet.
        flow: u32,
        /// Length with the link's framing.
        bytes: u32,
    },
    /// An outage began.
    OutageBegan(OutageKind),
    /// An outage ended.
    OutageEnded(OutageKind),
    /// The schedule changed the rate.
    RateChanged(Rate),
    /// The schedule changed the delay.
    DelayChanged(Duration),
    /// The schedule changed the loss.
    LossChanged,
}

impl LinkEventKind {
    /// Name of the event in results.
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

    /// Flow of the packet, if the event concerns a packet.
    pub const fn flow(self) -> Option<u32> {
        match self {
            Self::Dropped { flow, .. } | Self::Marked { flow, .. } => Some(flow),
            _ => None,
        }
    }

    /// Value in results: bytes of a packet, bits per second, nanoseconds, or none.
    pub const fn value(self) -> Option<u64> {
        match self {
            Self::Dropped { bytes, .. } | Self::Marked { bytes, .. } => Some(bytes as u64),
            Self::RateChanged(rate) => Some(rate.bits_per_sec()),
            Self::DelayChanged(delay) => Some(delay.as_nanos()),
            Self::OutageBegan(_) | Self::OutageEnded(_) | Self::LossChanged => None,
        }
    }
}

/// Reason why a packet was dropped.
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
    /// It was longer than the link can ever send: longer than a burst or an opportunity.
    TooLong,
    /// It waited longer than the link keeps packets.
    Expired,
    /// It exceeded a policer's rate.
    Policed,
    /// It was an ACK that a later one superseded.
    AckFiltered,
}
