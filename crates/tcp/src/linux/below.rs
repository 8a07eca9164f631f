//! The host below: what it takes, and what becomes of what it refuses.
//!
//! A device's queue that is full is congestion of which no ACK will tell. Linux learns it as the
//! segment is handed over: the segment counts as never sent, the window is reduced as for a
//! congestion mark (once in a window), and the data wait for the next ACK or timer.

use super::LinuxEndpoint;

/// What the host below takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below {
    /// Packets until it is told anew.
    room_pkts: u32,
}

/// `TCP_RESOURCE_PROBE_INTERVAL`: how long a retransmission that was refused waits, in microseconds.
const RESOURCE_PROBE_US: u64 = 500_000;

impl LinuxEndpoint {
    pub(crate) fn set_room(&mut self, packets: u32) {
        self.below = Some(Below { room_pkts: packets });
    }

    /// Takes the place of one packet in the host below, or has the window reduced.
    pub(super) fn takes_place_below(&mut self) -> bool {
        let Some(below) = &mut self.below else { return true };
        if below.room_pkts > 0 {
            below.room_pkts -= 1;
            return true;
        }
        self.counters.refusals += 1;
        self.enter_cwr();
        false
    }

    /// An ACK takes the place of a packet too; if there is none, it is lost, and the next one says
    /// more than it did.
    #[cold]
    pub(super) fn take_place_of_ack_below(&mut self) {
        if let Some(below) = &mut self.below {
            below.room_pkts = below.room_pkts.saturating_sub(1);
        }
    }

    /// When a retransmission after a timeout is tried again that the host refused, in ticks.
    pub(super) fn refused_retransmission_delay(&self) -> u64 {
        self.rto.min(self.clock.jiffies_of_us(RESOURCE_PROBE_US))
    }
}
