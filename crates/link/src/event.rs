//! Events at a link, which a run can record.

use cwndlab_units::{Duration, Rate};

use crate::OutageKind;

/// An event at a stage of a link.
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
        /// Length of the packet with the link's framing.
        bytes: u32,
        /// Reason for the drop.
        reason: DropReason,
    },
    /// A packet was marked with ECN's Congestion Experienced.
    Marked {
        /// Flow of the packet.
        flow: u32,
        /// Length of the packet with the link's framing.
        bytes: u32,
    },
    /// An outage began.
    OutageBegan(OutageKind),
    /// An outage ended.
    OutageEnded(OutageKind),
    /// The schedule changed the rate of the link.
    RateChanged(Rate),
    /// The schedule changed the delay of the link.
    DelayChanged(Duration),
    /// The schedule changed the loss process of the link.
    LossChanged,
}

impl LinkEventKind {
    /// Name of the event in the table of events.
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

    /// Flow of the packet, if the event is about a packet.
    pub const fn flow(self) -> Option<u32> {
        match self {
            Self::Dropped { flow, .. } | Self::Marked { flow, .. } => Some(flow),
            _ => None,
        }
    }

    /// Value of the event in the table of events: bytes of a packet, bits per second, nanoseconds,
    /// or none.
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
    /// The link lost the packet.
    Loss,
    /// The packet arrived during an outage.
    Outage,
    /// The queue had no room for the packet.
    Overflow,
    /// Active queue management dropped the packet.
    Aqm,
    /// The packet was longer than the link can ever send: longer than a burst or a delivery
    /// opportunity.
    TooLong,
    /// The packet waited longer than the link keeps packets.
    Expired,
    /// The packet exceeded the rate of a policer.
    Policed,
    /// The packet was an ACK that a later ACK superseded.
    AckFiltered,
}
