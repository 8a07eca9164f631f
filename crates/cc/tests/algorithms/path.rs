//! A path of fixed rate with an unlimited queue, for delay-based algorithms.

use crate::flow::Flow;

pub(crate) struct Path {
    /// RTT without a queue.
    pub(crate) base_us: u32,
    /// Time per packet at the bottleneck.
    pub(crate) packet_us: u32,
}

impl Path {
    /// Packets that fill the path with an empty queue.
    pub(crate) fn capacity_pkts(&self) -> f64 {
        f64::from(self.base_us) / f64::from(self.packet_us)
    }

    /// RTT with a window.
    pub(crate) fn rtt_us(&self, window_pkts: u32) -> u32 {
        self.base_us.max(window_pkts * self.packet_us)
    }

    /// Packets of a window that are queued.
    pub(crate) fn queue_pkts(&self, window_pkts: u32) -> f64 {
        (f64::from(window_pkts) - self.capacity_pkts()).max(0.0)
    }

    /// Round trips of single-packet ACKs, each with the RTT of the window at its start.
    pub(crate) fn run(&self, flow: &mut Flow, rounds: u32) {
        for _ in 0..rounds {
            round(flow, self.rtt_us(flow.sk.snd_cwnd));
        }
    }
}

/// One round trip of single-packet ACKs, evenly spaced over this RTT.
pub(crate) fn round(flow: &mut Flow, rtt_us: u32) {
    let packets = flow.sk.snd_cwnd;
    for _ in 0..packets {
        flow.advance(u64::from(rtt_us) * 1_000 / u64::from(packets));
        flow.ack(1, rtt_us as i32);
    }
}
