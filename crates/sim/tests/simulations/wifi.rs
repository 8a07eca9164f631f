//! TCP over a Wi-Fi channel.

use cwndlab_link::Traces;
use cwndlab_scenario::RunOutput;
use serde_json::{Value, json};

use crate::setup::run_json;

/// Flows of 20 s with ns-3's TCP over 802.11n at 65 Mbit/s, each of its own station.
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

/// Packets of the way `name`, such as `user1.forward.0`, that were given to it and that it lost.
fn packets(output: &RunOutput, name: &str) -> (u64, u64) {
    let link = output.links.iter().find(|link| link.link == name).expect("a link");
    (link.arrived_pkts, link.dropped_pkts)
}

#[test]
fn one_flow_gets_less_than_datagrams_as_its_acks_need_the_air_too() {
    let output = wifi("cubic", &["reverse"], 1);
    let goodput = sum(&output);
    // Datagrams of this size get 59.6 Mbit/s.
    assert!((52.0..54.5).contains(&goodput), "{goodput}");
    let (data, lost_data) = packets(&output, "user1.reverse.0");
    let (acks, lost_acks) = packets(&output, "user1.forward.0");
    assert_eq!((lost_data, lost_acks), (0, 0));
    // Delayed ACKs: one for two, but for what is under way.
    assert!((acks * 2).abs_diff(data) < 200, "{acks} for {data}");
}

#[test]
fn both_ways_at_once_share_the_air() {
    let up = sum(&wifi("cubic", &["reverse"], 1));
    let down = sum(&wifi("cubic", &["forward"], 1));
    let both = wifi("cubic", &["reverse", "forward"], 1);
    // An empty channel is the same in both directions.
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
