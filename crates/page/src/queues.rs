//! Size of the queue at the narrowest wire of a link, as the command line reports it.

use std::collections::BTreeMap;

use cwndlab_texts::{QueueSize, Resolved, quantity, queue_size};
use serde_json::{Value, json};

/// Step to which mean rates of traces are rounded, in bits per second.
const RATE_STEP: u64 = 10_000;

/// The queue at the wire with the lowest downlink rate, as JSON; `null` if no wire has such a
/// queue.
///
/// `mean_bits_per_sec` contains the mean rate of each trace, by name.
pub(crate) fn narrowest_queue(
    resolved: &Resolved,
    mean_bits_per_sec: &BTreeMap<String, u64>,
) -> Value {
    let links = match resolved.path["kind"].as_str() {
        Some("chain") => resolved.path["links"].as_array().map_or(&[][..], Vec::as_slice),
        _ => std::slice::from_ref(&resolved.path),
    };
    let rtt_ns = links.iter().map(delay_ns).sum();
    let rate = |name: &str| mean_bits_per_sec.get(name).copied();
    let wires = links.iter().filter(|link| link["kind"] == "wire");
    let stages = wires.flat_map(|wire| wire["forward"].as_array().into_iter().flatten());
    let sizes = stages.filter_map(|stage| queue_size(stage, rtt_ns, resolved.server_ns, &rate));
    sizes.min_by_key(|size| size.bits_per_sec).map_or(Value::Null, |size| written(&size))
}

/// Fixed delay of both directions of a link together.
fn delay_ns(link: &Value) -> u64 {
    let delay = |value: &Value| value.as_u64().unwrap_or(0);
    match link["kind"].as_str() {
        Some("cell") => {
            let ways = [&link["downlink"], &link["uplink"]];
            ways.iter().map(|way| delay(&way["core_delay_ns"])).sum()
        }
        Some("wifi") => 2 * delay(&link["wire_delay_ns"]),
        _ => {
            let ways = [&link["forward"], &link["reverse"]];
            let stages = ways.iter().filter_map(|way| way.as_array()).flatten();
            stages.map(|stage| delay(&stage["delay_ns"])).sum()
        }
    }
}

fn written(size: &QueueSize) -> Value {
    let text = |name: &str, count: u64| {
        quantity(name).map(|known| known.format(i64::try_from(count).unwrap_or(i64::MAX)))
    };
    let exact = size.bits_per_sec;
    let half_even = |count: u64| {
        let (whole, rest) = (count / RATE_STEP, count % RATE_STEP);
        let is_up = rest * 2 > RATE_STEP || (rest * 2 == RATE_STEP && whole % 2 == 1);
        (whole + u64::from(is_up)) * RATE_STEP
    };
    json!({
        "packets": size.packets,
        "bdp": size.bdp,
        "rate": text("rate", if size.is_trace { half_even(exact) } else { exact }),
        "rtt": text("duration", size.rtt_ns),
        "is_trace": size.is_trace,
        "is_default": size.is_default,
    })
}
