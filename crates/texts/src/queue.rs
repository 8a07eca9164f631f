//! Size of a wire's queue in packets and in bandwidth-delay products, and its default.

use serde_json::Value;

/// Bytes of a full-sized packet, without the bytes that the link adds.
pub(crate) const FULL_PACKET_BYTES: u64 = 1500;
const SMALLEST_DEFAULT_PACKETS: u128 = 10; // initial window, RFC 6928 section 2
const SMALLEST_TRACE_PACKETS: u128 = 250; // a recording's rate rises far above its mean
const NS_PER_S: u128 = 1_000_000_000;

/// A bandwidth-delay product: a rate and a base round-trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Product {
    pub(crate) bits_per_sec: u64,
    pub(crate) rtt_ns: u64,
    pub(crate) framing_bytes: u64,
}

impl Product {
    /// Number of full-sized packets in `milli_bdp` thousandths of the bandwidth-delay product,
    /// rounded up; at most the maximum of the type.
    pub(crate) fn packets(self, milli_bdp: u64) -> u128 {
        let packet_bits = u128::from(8 * (FULL_PACKET_BYTES + self.framing_bytes));
        let product = u128::from(self.bits_per_sec) * u128::from(self.rtt_ns);
        let scaled = product.checked_mul(u128::from(milli_bdp));
        scaled.map_or(u128::MAX, |bits| bits.div_ceil(NS_PER_S * 1000 * packet_bits))
    }

    /// The default limit of a queue: 1 BDP, computed for a trace from its mean rate.
    pub(crate) fn default_packets(self, is_trace: bool) -> u128 {
        let least = if is_trace { SMALLEST_TRACE_PACKETS } else { SMALLEST_DEFAULT_PACKETS };
        self.packets(1000).max(least)
    }
}

/// Size of a drop-tail queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QueueSize {
    /// Packets.
    pub packets: u64,
    /// Size in bandwidth-delay products.
    pub bdp: f64,
    /// The rate of the wire; for a trace, its mean rate.
    pub bits_per_sec: u64,
    /// The base round-trip time.
    pub rtt_ns: u64,
    /// Whether the rate of the wire is given by a trace.
    pub is_trace: bool,
    /// Whether the size equals the default limit of a queue.
    pub is_default: bool,
}

/// The size of the queue of a wire in a scenario, on a path with this round-trip time. Returns
/// `None` if the queue is managed, unlimited, limited in bytes or without a rate, or if the
/// round-trip time is 0. `server_ns` is the one-way delay between the link and the server; the
/// default size is computed from the round-trip time without this delay in both directions.
/// `mean_bits_per_sec` returns the mean rate of a trace by the trace's name.
pub fn queue_size(
    stage: &Value,
    rtt_ns: u64,
    server_ns: u64,
    mean_bits_per_sec: &dyn Fn(&str) -> Option<u64>,
) -> Option<QueueSize> {
    let rate = &stage["rate"];
    let (bits_per_sec, is_trace) = match rate["path"].as_str() {
        Some(name) => (mean_bits_per_sec(name)?, true),
        None => (rate["bits_per_sec"].as_u64()?, false),
    };
    let queue = &stage["queue"];
    let packets = queue["packets"].as_u64().filter(|_| queue["kind"] == "drop_tail")?;
    let framing_bytes = stage["framing_bytes"].as_u64().unwrap_or_default();
    let product = Product { bits_per_sec, rtt_ns, framing_bytes };
    if rtt_ns == 0 {
        return None;
    }
    let held = u128::from(packets * 8) * u128::from(FULL_PACKET_BYTES + framing_bytes) * NS_PER_S;
    let carried = u128::from(bits_per_sec) * u128::from(rtt_ns);
    #[expect(clippy::cast_precision_loss, reason = "only two digits of the ratio are written")]
    let bdp = held as f64 / carried as f64;
    let of_link = Product { rtt_ns: rtt_ns.saturating_sub(2 * server_ns), ..product };
    let is_default = u128::from(packets) == of_link.default_packets(is_trace);
    Some(QueueSize { packets, bdp, bits_per_sec, rtt_ns, is_trace, is_default })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_default_queue_is_one_product_and_at_least_the_initial_window() {
        let slow = Product { bits_per_sec: 10_000_000, rtt_ns: 40_000_000, framing_bytes: 0 };
        assert_eq!(slow.default_packets(false), 34); // 400,000 bit are 33.3 packets
        assert_eq!(slow.default_packets(true), 250);
        assert_eq!(slow.packets(500), 17);
        assert_eq!(Product { rtt_ns: 0, ..slow }.default_packets(false), 10);
        let endless = Product { bits_per_sec: u64::MAX >> 1, rtt_ns: u64::MAX >> 1, ..slow };
        assert_eq!(endless.packets(u64::MAX), u128::MAX);
    }

    #[test]
    fn the_size_of_a_queue_is_told_in_products() {
        let stage = |queue: Value| {
            let rate = json!({"kind": "fixed", "bits_per_sec": 10_000_000});
            json!({"rate": rate, "queue": queue, "delay_ns": 20_000_000, "framing_bytes": 0})
        };
        let size = |queue: Value| queue_size(&stage(queue), 40_000_000, 0, &|_| None);
        assert_eq!(size(json!({"kind": "codel", "packets": 1000})), None);
        let size = size(json!({"kind": "drop_tail", "packets": 34})).expect("a size");
        assert!((size.bdp - 1.02).abs() < 0.01 && size.is_default, "{size:?}");
    }
}
