//! FQ-CoDel and PIE on links, with unresponsive load.

mod common;

use common::{Frame, Outcome, fixed, mahimahi, ms, run, run_until, us, wire};
use cwndlab_link::{
    Admission, AnyLink, DropReason, Link, LinkEventKind, QueueConfig, RateConfig, StageConfig,
    Stages, Traces,
};
use cwndlab_units::{Bytes, Duration, Rate, Stream, Time};

fn queue(json: &str) -> QueueConfig {
    serde_json::from_str(json).expect("a queue")
}

fn link(mbit_s: u64, json: &str) -> AnyLink<Frame> {
    wire(StageConfig { queue: queue(json), ..fixed(mbit_s, None) })
}

/// Flows of 1500-byte packets at these rates until `until`, with gaps that vary by a third.
fn loads(mbit_s: &[f64], until: Time) -> Vec<(Time, Frame)> {
    let mut random = Stream::new(3, "arrivals");
    let mut arrivals = Vec::new();
    for (flow, mbit_s) in mbit_s.iter().enumerate() {
        let gap_ns = 12e6 / mbit_s;
        let mut now_ns = gap_ns * random.unit();
        while now_ns < until.as_nanos() as f64 {
            arrivals.push((Time::from_nanos(now_ns as u64), flow as u32));
            now_ns += gap_ns * (5.0 / 6.0 + random.unit() / 3.0);
        }
    }
    arrivals.sort_unstable();
    let frames = arrivals.into_iter().enumerate();
    frames.map(|(n, (at, flow))| (at, Frame::new(n as u32, 1500).in_flow(flow))).collect()
}

/// Rate of each flow between two times, in Mbit/s.
fn rates(outcome: &Outcome, arrivals: &[(Time, Frame)], from: Time, until: Time) -> Vec<f64> {
    let mut packets = [0_u32; 3];
    for left in outcome.left.iter().filter(|left| left.at > from && left.at <= until) {
        packets[arrivals[left.number as usize].1.flow as usize] += 1;
    }
    packets.iter().map(|&n| f64::from(n) * 12e-3 / (until - from).as_secs_f64()).collect()
}

fn drops(outcome: &Outcome, why: DropReason) -> Vec<(Time, u32)> {
    let of = |&(at, event): &(Time, cwndlab_link::LinkEvent)| match event.kind {
        LinkEventKind::Dropped { flow, reason, .. } if reason == why => Some((at, flow)),
        _ => None,
    };
    outcome.events.iter().filter_map(of).collect()
}

/// Waiting time of each packet of a flow before its service of `service_ms`.
fn waits_ms(outcome: &Outcome, arrivals: &[(Time, Frame)], flow: u32, service_ms: f64) -> Vec<f64> {
    let of_flow = outcome.left.iter().filter(|l| arrivals[l.number as usize].1.flow == flow);
    of_flow.map(|l| (l.at - arrivals[l.number as usize].0).as_millis_f64() - service_ms).collect()
}

#[test]
fn flow_queues_give_the_shares_of_max_min_fairness() {
    let arrivals = loads(&[2.0, 6.0, 20.0], ms(20_000));
    let one = rates(
        &run(&mut link(12, r#"{"kind": "codel"}"#), &arrivals, ms(20_000)),
        &arrivals,
        ms(5_000),
        ms(20_000),
    );
    // One queue serves flows in proportion to their load.
    assert!((one[2] / one[1] - 20.0 / 6.0).abs() < 0.3, "{one:?}");
    for kind in [
        r#"{"kind": "fq_codel"}"#,
        r#"{"kind": "fq_codel", "quantum_bytes": 300}"#,
        r#"{"kind": "fq_codel", "ecn": true, "packets": 100}"#,
    ] {
        let outcome = run(&mut link(12, kind), &arrivals, ms(20_000));
        let rates = rates(&outcome, &arrivals, ms(5_000), ms(20_000));
        // 2 Mbit/s for the flow that sends no more, and half of the remainder for each of the
        // others.
        for (rate, share) in rates.iter().zip([2.0, 5.0, 5.0]) {
            assert!((rate / share - 1.0).abs() < 0.02, "{kind}: {rates:?}");
        }
        let sparse = waits_ms(&outcome, &arrivals, 0, 1.0);
        let longest = sparse.iter().copied().fold(0.0, f64::max);
        assert!(longest < 3.01, "one in service and each other's turn: {longest} ms");
        assert!(drops(&outcome, DropReason::Aqm).iter().all(|&(_, flow)| flow != 0));
    }
}

#[test]
fn flow_queues_share_a_trace_and_a_token_bucket_too() {
    let arrivals = loads(&[4.0, 20.0], ms(10_000));
    let (trace, traces) = mahimahi(b"1\n2\n3\n");
    let rate = Rate::from_mbit_per_sec(12);
    let bucket = RateConfig::TokenBucket { rate, burst: Bytes(15_000) };
    let bucket = StageConfig { rate: bucket, ..StageConfig::default() };
    for (stage, traces) in [(trace, traces), (bucket, Traces::new())] {
        let stage = StageConfig { queue: queue(r#"{"kind": "fq_codel"}"#), ..stage };
        let mut link = AnyLink::one_way(&[stage], &traces, 1, "forward").expect("valid settings");
        let outcome = run(&mut link, &arrivals, ms(10_000));
        let rates = rates(&outcome, &arrivals, ms(5_000), ms(10_000));
        assert!((rates[0] - 4.0).abs() < 0.1 && (rates[1] - 8.0).abs() < 0.2, "{rates:?}");
        let waits = waits_ms(&outcome, &arrivals, 0, 0.0);
        assert!(waits.iter().all(|&wait| wait < 4.1), "an opportunity, and the other's turn");
    }
}

#[test]
fn a_full_flow_queue_makes_room_at_the_cost_of_the_longest() {
    let mut link = link(12, r#"{"kind": "fq_codel", "packets": 10}"#);
    let put = |link: &mut AnyLink<Frame>, number, flow| {
        link.handle_packet(us(10), 0, Frame::new(number, 1500).in_flow(flow))
    };
    for number in 0..10 {
        assert_eq!(put(&mut link, number, 0), Admission::Queued);
    }
    // One packet is in service; of the nine that wait, the first ones are dropped until half of
    // their bytes remain.
    assert_eq!(put(&mut link, 10, 1), Admission::Queued);
    assert_eq!(link.backlog(0, us(10)).packets, 6);
    for number in 11..15 {
        assert_eq!(put(&mut link, number, 2 + number), Admission::Queued);
    }
    assert_eq!(link.backlog(0, us(10)).packets, 10);
    assert_eq!(put(&mut link, 15, 99), Admission::Queued);
    let mut outcome = Outcome::default();
    run_until(&mut link, ms(100), &mut outcome);
    assert_eq!(drops(&outcome, DropReason::Overflow), [(us(10), 0); 7]);
    // Flow 0 has sent less than a quantum, so it is served again before the other flows.
    assert_eq!(outcome.numbers(), [0, 8, 10, 11, 12, 13, 14, 15, 9]);
    // If only the packet in service is left, the arrival itself is dropped.
    let mut service_only = self::link(12, r#"{"kind": "fq_codel", "packets": 1}"#);
    assert_eq!(put(&mut service_only, 0, 0), Admission::Queued);
    assert_eq!(put(&mut service_only, 1, 1), Admission::Dropped);
    assert_eq!(service_only.counters(0, us(10)).drops.overflow, 1);
}

#[test]
fn pie_lets_a_burst_of_100_ms_pass_and_drops_of_a_longer_one() {
    // Twice the rate: after 100 ms, packets wait for 100 ms.
    let burst = |until| {
        let arrivals = loads(&[24.0], until);
        run(&mut link(12, r#"{"kind": "pie"}"#), &arrivals, ms(10_000))
    };
    let short = burst(ms(100));
    assert!(short.events.is_empty(), "{:?}", short.events);
    let long = burst(ms(2_000));
    let first = drops(&long, DropReason::Aqm)[0].0;
    assert!(first >= ms(150) && first < ms(600), "{first:?}");
}

#[test]
fn pie_drops_the_share_that_is_too_much_and_keeps_its_target() {
    for (target_ms, load) in [(15.0, 15.0), (15.0, 24.0), (40.0, 18.0)] {
        let target_ns = target_ms * 1e6;
        let kind = format!(r#"{{"kind": "pie", "target_ns": {target_ns}}}"#);
        let arrivals = loads(&[load], ms(60_000));
        let outcome = run(&mut link(12, &kind), &arrivals, ms(70_000));
        let waits = waits_ms(&outcome, &arrivals, 0, 1.0);
        let settled = &waits[waits.len() / 2..];
        let mean = settled.iter().sum::<f64>() / settled.len() as f64;
        assert!((mean / target_ms - 1.0).abs() < 0.1, "{load} Mbit/s: {mean} ms");
        let lost =
            drops(&outcome, DropReason::Aqm).iter().filter(|(at, _)| *at > ms(30_000)).count();
        let arrived = arrivals.iter().filter(|(at, _)| *at > ms(30_000)).count();
        let share = lost as f64 / arrived as f64;
        assert!((share - (1.0 - 12.0 / load)).abs() < 0.01, "{load} Mbit/s: {share}");
    }
}

#[test]
fn pie_measures_the_past_and_knows_nothing_of_an_outage_to_come() {
    // Packets that arrive just before the outage leave long after it, which PIE cannot know then.
    let stage: StageConfig = serde_json::from_str(
        r#"{"rate": {"kind": "fixed", "bits_per_sec": 12000000}, "queue": {"kind": "pie"},
            "outages": [{"start_ns": 500000000, "stop_ns": 2000000000, "kind": "hold"}]}"#,
    )
    .expect("a stage");
    let arrivals = loads(&[6.0], ms(3_000));
    let outcome = run(&mut wire(stage), &arrivals, ms(10_000));
    let first = drops(&outcome, DropReason::Aqm)[0].0;
    assert!(first > ms(2_000) + Duration::from_millis(1), "{first:?}");
}
