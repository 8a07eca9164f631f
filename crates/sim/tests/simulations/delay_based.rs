//! Delay-based algorithms on whole paths: Vegas's queue, its two weaknesses and the remedy for one
//! of them, YeAH's two modes, Veno on a radio link, and LP behind other flows.

use crate::setup::{Setup, algorithm, bottleneck, run_json, wire};
use cwndlab_link::Traces;
use cwndlab_scenario::RunOutput;
use serde_json::{Value, json};

const SECOND_NS: u64 = 1_000_000_000;

/// Goodput of a flow after `from_s`, in Mbit/s.
fn goodput(output: &RunOutput, flow: u32, from_s: f64) -> f64 {
    let samples = output.samples.as_ref().expect("samples");
    let rows = (0..samples.t_s.len())
        .filter(|&row| samples.flow[row] == flow && samples.t_s[row] > from_s + 0.01);
    let values: Vec<f64> = rows.map(|row| samples.goodput_mbit_s[row]).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean, minimum and maximum of the queue after `from_s`, in packets.
fn queue(output: &RunOutput, from_s: f64) -> (f64, u32, u32) {
    let samples = output.samples.as_ref().expect("samples");
    let rows = (0..samples.t_s.len())
        .filter(|&row| samples.flow[row] == 0 && samples.t_s[row] > from_s + 0.01);
    let values: Vec<u32> = rows.map(|row| samples.queue_pkts[row]).collect();
    let mean = f64::from(values.iter().sum::<u32>()) / values.len() as f64;
    (mean, *values.iter().min().expect("rows"), *values.iter().max().expect("rows"))
}

fn phases(output: &RunOutput) -> Vec<(f64, f64)> {
    let events = output.events.as_ref().expect("events");
    (0..events.t_s.len())
        .filter(|&row| events.event[row] == "phase")
        .map(|row| (events.t_s[row], events.value[row]))
        .collect()
}

fn setup(algorithms: &[&str]) -> Setup {
    Setup {
        record: json!({"sample_interval_ns": 10_000_000, "events": true}),
        duration_s: 60,
        ..Setup::new(algorithms.iter().map(|name| algorithm(name)).collect())
    }
}

#[test]
fn vegas_keeps_alpha_to_beta_packets_in_the_queue_and_loses_none() {
    // The queue includes the packet in transmission, and delayed ACKs release packets in pairs.
    for (alpha, beta) in [(2, 4), (5, 8)] {
        let vegas =
            Setup { parameters: json!({"alpha": alpha, "beta": beta}), ..setup(&["vegas"]) };
        let output = vegas.run();
        let (mean, _, most) = queue(&output, 20.0);
        let [low, high] = [f64::from(alpha), f64::from(beta)];
        assert!(low - 1.0 <= mean && mean <= high + 1.0, "{mean:.2} packets for {low} to {high}");
        assert!(f64::from(most) <= high + 3.0, "{most}");
        assert!(goodput(&output, 0, 20.0) > 9.5);
        assert_eq!(output.flows[0].retransmitted_pkts, 0);
    }
}

/// Runs a flow whose path becomes 60 ms longer after 20 s.
fn longer_path(name: &str, parameters: &Value) -> RunOutput {
    let longer = json!([{
        "delay_ns": 20_000_000, "transition": "keep",
        "schedule": [{"at_ns": 20 * SECOND_NS, "delay_ns": 80_000_000}],
    }]);
    Setup { reverse: longer, parameters: parameters.clone(), ..setup(&[name]) }.run()
}

#[test]
fn a_path_that_gets_longer_starves_vegas_unless_the_remedy_is_on() {
    // Base RTT of 40 ms on a path of 100 ms: 1.5 * cwnd <= beta = 4, so 2 or 3 packets per RTT.
    let vegas = goodput(&longer_path("vegas", &json!({})), 0, 40.0);
    assert!(vegas < 0.5, "{vegas:.2} Mbit/s without the remedy");
    let reno = goodput(&longer_path("reno", &json!({})), 0, 40.0);
    assert!(reno > 8.0, "{reno:.2} Mbit/s of reno");
    let remedied = longer_path("vegas", &json!({"reroute_groups": 4}));
    let rate = goodput(&remedied, 0, 40.0);
    assert!(rate > 9.4, "{rate:.2} Mbit/s with the remedy");
    let (mean, _, _) = queue(&remedied, 40.0);
    assert!((1.0..6.0).contains(&mean), "{mean:.2} packets in the queue");
}

#[test]
fn the_remedy_changes_nothing_on_a_path_that_stays() {
    let [without, with] = [0, 4].map(|groups| {
        let vegas = Setup { parameters: json!({"reroute_groups": groups}), ..setup(&["vegas"]) };
        format!("{:?}", vegas.run().samples)
    });
    assert!(without == with);
}

/// Five flows, one more every 20 s, on a queue that never overflows.
fn late_comers(name: &str) -> RunOutput {
    Setup {
        forward: bottleneck(10_000_000, 500, 20),
        starts_ns: (0..5).map(|n| n * 20 * SECOND_NS).collect(),
        duration_s: 140,
        ..setup(&[name; 5])
    }
    .run()
}

#[test]
fn late_comers_that_overestimate_the_base_rtt_of_vegas_hold_a_standing_queue() {
    let output = late_comers("vegas");
    let rates: Vec<f64> = (0..5).map(|flow| goodput(&output, flow, 110.0)).collect();
    // Each flow takes the queueing delay of its predecessors as part of the base RTT, and so gets
    // more.
    assert!(rates[4] > 2.0 * rates[0], "{rates:.2?}");
    assert!(rates.is_sorted(), "{rates:.2?}");
    // With beta packets each, the queue would hold at most 20.
    let (mean, least, _) = queue(&output, 110.0);
    assert!(mean > 1.3 * 20.0 && least > 0, "{mean:.1} packets, at least {least}");
    let bases: Vec<f64> =
        output.flows.iter().map(|flow| flow.rtt_base_ms.expect("samples")).collect();
    assert!(bases[4] > bases[0] + 10.0, "{bases:.1?}");
}

#[test]
fn vegas_waits_for_fewer_timeouts_with_its_fine_timers() {
    // Reno's recovery, as when the paper was written, repairs one loss per window by duplicate
    // ACKs.
    let timeouts = |fine_retransmission: bool| {
        let lossy = json!([{
            "rate": {"kind": "fixed", "bits_per_sec": 2_000_000},
            "queue": {"kind": "drop_tail", "packets": 50},
            "delay_ns": 20_000_000, "framing_bytes": 14, "loss": {"kind": "iid", "ppb": 10_000_000},
        }]);
        let (mut timeouts, mut rate) = (0, 0.0);
        for seed in 1..=5 {
            let mut json = Setup {
                seed,
                forward: lossy.clone(),
                stack_overrides: json!({
                    "recovery": "reno", "fine_retransmission": fine_retransmission,
                }),
                ..setup(&["vegas"])
            }
            .json();
            for end in ["sender", "receiver"] {
                json["flows"][0][end]["stack"] = json!("textbook");
            }
            let output = run_json(&json, &Traces::default());
            timeouts += output.flows[0].timeouts.expect("the simulator counts them");
            rate += goodput(&output, 0, 5.0) / 5.0;
        }
        (timeouts, rate)
    };
    let [(coarse, coarse_rate), (fine, fine_rate)] = [timeouts(false), timeouts(true)];
    assert!(2 * fine < coarse, "{fine} timeouts with, {coarse} without");
    assert!(fine_rate > 1.05 * coarse_rate, "{fine_rate:.2} and {coarse_rate:.2} Mbit/s");
}

#[test]
fn yeah_fills_a_large_path_alone_and_decongests_it() {
    // 100 Mbit/s and 100 ms are 826 packets, and the queue has the same size.
    let yeah =
        Setup { forward: bottleneck(100_000_000, 826, 50), reverse: wire(50), ..setup(&["yeah"]) };
    let output = yeah.run();
    let rate = goodput(&output, 0, 20.0);
    assert!(rate > 95.0, "{rate:.1} Mbit/s");
    let (mean, _, most) = queue(&output, 20.0);
    // alpha = 80 packets; half of the path's capacity is left to others.
    assert!(mean < 80.0 && most < 200, "{mean:.1} packets, at most {most}");
    let seen: Vec<f64> = phases(&output).into_iter().map(|(_, phase)| phase).collect();
    for phase in [1.0, 2.0, 3.0, 4.0] {
        assert!(seen.contains(&phase), "phase {phase} of {seen:?}");
    }
}

#[test]
fn yeah_stands_its_ground_against_reno_where_vegas_does_not() {
    let share = |name: &str| {
        let output = Setup {
            forward: bottleneck(20_000_000, 200, 20),
            duration_s: 120,
            ..setup(&[name, "reno"])
        }
        .run();
        let [own, renos] = [0, 1].map(|flow| goodput(&output, flow, 60.0));
        own / (own + renos)
    };
    let [yeah, vegas] = ["yeah", "vegas"].map(share);
    assert!(yeah > 0.3, "yeah has {yeah:.2}");
    assert!(vegas < 0.1, "vegas has {vegas:.2}");
}

#[test]
fn veno_and_illinois_have_more_than_reno_where_the_radio_loses() {
    let rate = |name: &str| {
        let lossy = json!([{
            "rate": {"kind": "fixed", "bits_per_sec": 10_000_000},
            "queue": {"kind": "drop_tail", "packets": 50},
            "delay_ns": 20_000_000, "framing_bytes": 14, "loss": {"kind": "iid", "ppb": 10_000_000},
        }]);
        (1..=3)
            .map(|seed| Setup { forward: lossy.clone(), seed, ..setup(&[name]) }.run())
            .map(|output| goodput(&output, 0, 5.0))
            .sum::<f64>()
            / 3.0
    };
    let [reno, veno, illinois] = ["reno", "veno", "illinois"].map(rate);
    assert!(veno > 1.3 * reno, "veno {veno:.2}, reno {reno:.2} Mbit/s");
    assert!(illinois > 1.3 * reno, "illinois {illinois:.2}, reno {reno:.2} Mbit/s");
}

#[test]
fn lp_is_reno_with_random_timestamps_and_gives_way_even_to_its_own_queue_without() {
    let alone = |name: &str, has_offsets: bool| {
        let stack_overrides = json!({"timestamp_offsets": has_offsets});
        let output = Setup { stack_overrides, ..setup(&[name]) }.run();
        let inferences = phases(&output).into_iter().filter(|&(_, phase)| phase == 3.0).count();
        (goodput(&output, 0, 10.0), inferences)
    };
    assert_eq!(alone("lp", true), alone("reno", true));
    let (rate, inferences) = alone("lp", false);
    assert!(inferences > 10, "{inferences} phases of inference");
    // A kernel's lp achieves 5.73 Mbit/s here.
    assert!((4.5..7.0).contains(&rate), "{rate:.2} Mbit/s");
}
