//! What a link counts.

use core::ops::{Add, Sub};

use cwndlab_units::{Bytes, Duration};

use crate::DropReason;

/// Packets and their bytes, as the link counts them: framing included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// How many packets.
    pub packets: u64,
    /// How many bytes in all.
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

/// Packets dropped, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Drops {
    /// Lost by the link.
    pub loss: u64,
    /// Arrived during an outage.
    pub outage: u64,
    /// No room in the queue.
    pub overflow: u64,
    /// Dropped by active queue management.
    pub aqm: u64,
    /// Longer than the link can send.
    pub too_long: u64,
    /// Waited too long.
    pub expired: u64,
    /// Came faster than a policer allows.
    pub policed: u64,
    /// ACKs that later ones made superfluous.
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

/// What one stage of a link counted in a window of time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Counters {
    /// The window.
    pub window: Duration,
    /// What was given to it.
    pub arrived: Tally,
    /// What left at its end.
    pub delivered: Tally,
    /// What is gone.
    pub dropped: Tally,
    /// The packets of `dropped` by reason.
    pub drops: Drops,
    /// What was marked "congestion experienced".
    pub marked: Tally,
    /// What the link could have sent: a trace's opportunities at 1504 bytes, or rate times time.
    /// `None` if the rate is unlimited.
    pub offered: Option<Bytes>,
    /// Mean over time of the packets that waited or were in service; nothing in no time.
    pub queue_mean_packets: Option<f64>,
    /// The most of them at one time.
    pub queue_max_packets: u32,
}

/// What waits or is in service.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// How many packets.
    pub packets: u32,
    /// How many bytes, framing included.
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
