//! Prints every ACK of a run in the format of the reference kernel's per-ACK traces, so that
//! `diff` can compare them.
//!
//! Usage: `acks ALGORITHM [SECONDS] [SCENARIO.json]`. Without a file, the scenario is S1p of the
//! reference: 10 Mbit/s, a queue of 50 packets, and the whole delay of 40 ms in the direction of
//! the ACKs.

use std::fs;

use cwndlab_cc::Algorithms;
use cwndlab_link::Traces;
use cwndlab_scenario::Scenario;
use serde_json::{Value, json};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let algorithm = arguments.next().unwrap_or_else(|| "reno".into());
    let seconds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5);
    let json = match arguments.next() {
        Some(path) => fs::read_to_string(&path).expect("the scenario's file"),
        None => s1p(&algorithm, seconds).to_string(),
    };
    let scenario = Scenario::from_json(&json).unwrap_or_else(|error| panic!("{error}"));
    let output = cwndlab_sim::run(&scenario, &Traces::default(), &Algorithms::default())
        .unwrap_or_else(|e| panic!("{e}"));
    let mut rows = Vec::new();
    if let Some(acks) = &output.acks {
        for row in 0..acks.t_s.len() {
            let ssthresh = acks.ssthresh_pkts[row];
            let ssthresh =
                if ssthresh.is_nan() { "2147483647".into() } else { ssthresh.to_string() };
            rows.push((
                acks.t_s[row],
                format!(
                    "{:.6},ack,{},{},{},{ssthresh},{},{:.0}",
                    acks.t_s[row],
                    acks.snd_una[row],
                    acks.snd_nxt[row],
                    acks.cwnd_pkts[row],
                    acks.snd_wnd_bytes[row],
                    acks.srtt_ms[row] * 1e3,
                ),
            ));
        }
    }
    if let Some(events) = &output.events {
        for row in 0..events.t_s.len() {
            let (at, event, value) = (events.t_s[row], events.event[row], events.value[row]);
            rows.push((at, format!("{at:.6},{event},,,,,,,{value}")));
        }
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    println!("t_s,event,snd_una_rel,snd_nxt_rel,snd_cwnd,ssthresh,snd_wnd,srtt_us");
    for (_, line) in rows {
        println!("{line}");
    }
    eprintln!("{:#?}\n{:#?}", output.flows, output.links);
}

fn s1p(algorithm: &str, seconds: u64) -> Value {
    let end = json!({"stack": "linux-6.1", "algorithm": algorithm});
    json!({
        "version": 1, "seed": 1, "duration_ns": seconds * 1_000_000_000,
        "warm_up_ns": 1_000_000_000, "jiffies_phase_ns": 0,
        "path": {"kind": "wire",
            "forward": [{"delay_ns": 42_000}, {
                "rate": {"kind": "fixed", "bits_per_sec": 10_000_000},
                "queue": {"kind": "drop_tail", "packets": 50},
                "framing_bytes": 14, "transition": "keep",
            }],
            "reverse": [{"delay_ns": 40_000_000, "framing_bytes": 14, "transition": "keep"}],
        },
        "flows": [{"id": 0, "start_ns": 38_800, "sender": end, "receiver": end}],
        "record": {"events": true, "ack_trace": true},
    })
}
