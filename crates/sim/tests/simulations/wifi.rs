//! TCP over a Wi-Fi channel.

use cwndlab_link::Traces;
use cwndlab_scenario::RunOutput;
use serde_json::{Value, json};

use crate::setup::run_json;

/// Flows of 20 s with ns-3's TCP over 802.11n at 65 Mbit/s, each to or from its own station.
fn wifi(algorithm: &str, directions: &[&str], seed: u64) -> RunOutput {
    let end = |algorithm: &str| {
        json!({"stack": "ns-3", "algorithm": algorithm, "parameters": {},
               "stack_overrides": {"segment_bytes": 1472}})
    };
    let flow = |(index, direction): (usize, &&str)| {
        json!({"id": index, "user": index + 1, "direction": direction,
               "start_ns": index * 10_000_000, "sender": end(algorithm), "receiver": end("reno")})
    };
    let flows: Vec<Value> = directions.iter().enumerate().map(flow).collect();
    let path = json!({
        "kind": "wifi", "standard": "802.11n", "rate_control": {"kind": "fixed", "index": 7},
        "aggregation": {}, "stations": vec![json!({}); directions.len()],
    });
    let scenario = json!({
        "version": 1, "seed": seed, "duration_ns": 20_000_000_000_u64, "warm_up_ns": 1_000_000_000,
        "path": path, "flows": flows, "record": {},
    });
    run_json(&scenario, &Traces::default())
}

fn sum(output: &RunOutput) -> f64 {
    output.flows.iter().filter_map(|flow| flow.goodput_mbit_s).sum()
}

/// Packets that arrived at stage `name`, such as `user1.forward.0`, and those that it dropped.
fn packets(output: &RunOutput, name: &str) -> (u64, u64) {
    let link = output.links.iter().find(|link| link.link == name).expect("a link");
    (link.arrived_pkts, link.dropped_pkts)
}

#[test]
fn one_flow_gets_less_than_datagrams_as_its_acks_need_the_air_too() {
    let output = wifi("cubic", &["reverse"], 1);
    let goodput = sum(&output);
    // Datagrams of this size achieve 59.6 Mbit/s.
    assert!((52.0..54.5).contains(&goodput), "{goodput}");
    let (data, lost_data) = packets(&output, "user1.reverse.0");
    let (acks, lost_acks) = packets(&output, "user1.forward.0");
    assert_eq!((lost_data, lost_acks), (0, 0));
    // Delayed ACKs: one ACK per two segments, except for packets in flight.
    assert!((acks * 2).abs_diff(data) < 200, "{acks} for {data}");
}

#[test]
fn both_ways_at_once_share_the_air() {
    let up = sum(&wifi("cubic", &["reverse"], 1));
    let down = sum(&wifi("cubic", &["forward"], 1));
    let both = wifi("cubic", &["reverse", "forward"], 1);
    // An empty channel performs equally in both directions.
    assert!((up / down - 1.0).abs() < 0.02, "{up} up, {down} down");
    assert!((44.0..54.0).contains(&sum(&both)), "{}", sum(&both));
    for flow in &both.flows {
        let goodput = flow.goodput_mbit_s.expect("a rate");
        assert!(goodput > 5.0, "{} {goodput}", flow.direction);
    }
}

#[test]
fn stations_cost_each_other_air_but_not_much() {
    let of = |stations| sum(&wifi("cubic", &vec!["reverse"; stations], 1));
    let rates: Vec<f64> = [1, 3, 7].map(of).to_vec();
    assert!(rates[0] > rates[1] && rates[1] > rates[2], "{rates:?}");
    assert!(rates[2] > 0.8 * rates[0], "{rates:?}");
}

#[test]
fn a_run_depends_on_its_seed_alone() {
    let goodputs = |seed| {
        let output = wifi("westwood", &["reverse", "reverse"], seed);
        output.flows.iter().map(|flow| flow.delivered_bytes).collect::<Vec<_>>()
    };
    assert_eq!(goodputs(1), goodputs(1));
    assert_ne!(goodputs(1), goodputs(2));
}

/// Runs for 20 s CUBIC from the server to two near stations and a distant one, and to each station
/// also a flow of two packets at a time, which are acknowledged at once, like a ping.
fn downlink(queue: &Value) -> RunOutput {
    let end = |algorithm: &str, parameters: Value| json!({"stack": "linux-6.1", "algorithm": algorithm, "parameters": parameters});
    let flow = |id: usize| {
        let bulk = end("cubic", json!({}));
        let ping = end("fixed", json!({"window_pkts": 2}));
        json!({"id": id, "user": id % 3 + 1, "direction": "forward", "start_ns": id * 10_000_000,
               "sender": if id < 3 { bulk } else { ping }, "receiver": end("reno", json!({}))})
    };
    let path = json!({
        "kind": "wifi", "standard": "802.11n", "aggregation": {}, "wire_delay_ns": 1_000_000,
        "radio": {"power_mdbm": 16_000}, "access_point": {"queue": queue},
        "stations": [{"x_mm": 3_000}, {"x_mm": 3_000}, {"x_mm": 75_000}],
    });
    let scenario = json!({
        "version": 1, "seed": 1, "duration_ns": 20_000_000_000_u64, "warm_up_ns": 5_000_000_000_u64,
        "path": path, "flows": (0..6).map(flow).collect::<Vec<_>>(), "record": {},
    });
    run_json(&scenario, &Traces::default())
}

/// Rates of the three bulk flows in Mbit/s, and median delays of the pings in milliseconds.
fn rates_and_delays(queue: &Value) -> (Vec<f64>, Vec<f64>) {
    let output = downlink(queue);
    let (long, pings) = output.flows.split_at(3);
    let rates: Vec<f64> = long.iter().filter_map(|flow| flow.goodput_mbit_s).collect();
    let delays: Vec<f64> = pings.iter().filter_map(|flow| flow.rtt_p50_ms).collect();
    println!("{queue}: {rates:.2?} Mbit/s, {delays:.1?} ms");
    (rates, delays)
}

#[test]
fn delay_under_fairness_is_an_order_of_magnitude_below_that_of_a_fifo() {
    let (_, fifo) = rates_and_delays(&json!({"kind": "fifo"}));
    // Packets that the card holds for each station, up to 12 ms, also delay the other stations.
    for (queue, factor) in [
        (json!({"kind": "fq_codel"}), 10.0),
        (json!({"kind": "airtime"}), 10.0),
        (json!({"kind": "airtime", "aql": {}}), 5.0),
    ] {
        let (_, fair) = rates_and_delays(&queue);
        for station in 0..3 {
            assert!(fifo[station] > factor * fair[station], "{queue}: {fifo:?} {fair:?}");
        }
    }
}
