//! Counts of the packets at a link's stages.

use core::ops::{Add, Sub};

use cwndlab_units::{Bytes, Duration};

use crate::DropReason;

/// A number of packets, and of their bytes including framing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Number of packets.
    pub packets: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl Tally {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

impl Sub for Tally {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self { packets: self.packets - earlier.packets, bytes: self.bytes - earlier.bytes }
    }
}

/// Numbers of dropped packets, by the reason of the drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Drops {
    /// Packets lost by the link.
    pub loss: u64,
    /// Packets that arrived during an outage.
    pub outage: u64,
    /// Packets for which the queue had no room.
    pub overflow: u64,
    /// Packets dropped by active queue management.
    pub aqm: u64,
    /// Packets longer than the link can send.
    pub too_long: u64,
    /// Packets that waited longer than the link keeps packets.
    pub expired: u64,
    /// Packets that exceeded the rate of a policer.
    pub policed: u64,
    /// ACKs that later ACKs superseded.
    pub ack_filtered: u64,
}

impl Drops {
    pub(crate) fn add(&mut self, reason: DropReason) {
        *match reason {
            DropReason::Loss => &mut self.loss,
            DropReason::Outage => &mut self.outage,
            DropReason::Overflow => &mut self.overflow,
            DropReason::Aqm => &mut self.aqm,
            DropReason::TooLong => &mut self.too_long,
            DropReason::Expired => &mut self.expired,
            DropReason::Policed => &mut self.policed,
            DropReason::AckFiltered => &mut self.ack_filtered,
        } += 1;
    }
}

impl Sub for Drops {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            loss: self.loss - earlier.loss,
            outage: self.outage - earlier.outage,
            overflow: self.overflow - earlier.overflow,
            aqm: self.aqm - earlier.aqm,
            too_long: self.too_long - earlier.too_long,
            expired: self.expired - earlier.expired,
            policed: self.policed - earlier.policed,
            ack_filtered: self.ack_filtered - earlier.ack_filtered,
        }
    }
}

/// Counts of one stage of a link in a measurement window.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Counters {
    /// Length of the measurement window.
    pub window: Duration,
    /// Packets that arrived at the stage.
    pub arrived: Tally,
    /// Packets that left the stage.
    pub delivered: Tally,
    /// Packets dropped.
    pub dropped: Tally,
    /// The dropped packets by the reason of the drop.
    pub drops: Drops,
    /// Packets marked with ECN's Congestion Experienced.
    pub marked: Tally,
    /// Bytes that the link could have sent: 1504 bytes for each opportunity of a trace, or the
    /// rate times the duration.
    ///
    /// `None` if the rate of the link is unlimited.
    pub offered: Option<Bytes>,
    /// Mean over time of the number of packets that waited or were being sent; `None` for an empty
    /// measurement window.
    pub queue_mean_packets: Option<f64>,
    /// Maximum number of packets that waited or were being sent.
    pub queue_max_packets: u32,
}

/// Packets that wait or are being sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Number of packets.
    pub packets: u32,
    /// Number of bytes, including framing.
    pub bytes: u64,
}

impl Backlog {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    #[inline]
    pub(crate) fn remove(&mut self, bytes: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
    }
}

impl Add for Backlog {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}
