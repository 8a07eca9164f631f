//! Links compared with closed forms.

mod common;

use common::{Frame, Outcome, fixed, run_until, wire};
use cwndlab_link::{Admission, Link, LinkEventKind, QueueConfig, StageConfig, Stages};
use cwndlab_units::{Duration, Stream, Time};

/// Poisson arrivals of 1500 bytes at 12 Mbit/s, 1 ms each.
///
/// Returns mean wait in ms, mean queue, and share of arrivals dropped.
fn poisson(load: f64, packets: u32, limit: Option<u32>) -> (f64, f64, f64) {
    let mut link = wire(fixed(12, limit));
    let mut random = Stream::new(17, "arrivals");
    let mut arrived = Vec::new();
    let mut outcome = Outcome::default();
    let mut now = Time::ZERO;
    let mut dropped = 0;
    for number in 0..packets {
        now += Duration::from_nanos(random.exponential(1e6 / load) as u64);
        run_until(&mut link, now, &mut outcome);
        let admission = link.handle_packet(now, 0, Frame::new(number, 1500));
        dropped += u32::from(admission == Admission::Dropped);
        arrived.push(now);
    }
    run_until(&mut link, now + Duration::from_secs(10), &mut outcome);
    let end = outcome.left[outcome.left.len() - 1].at;
    let wait_ms: f64 = outcome
        .left
        .iter()
        .map(|left| (left.at - arrived[left.number as usize]).as_millis_f64() - 1.0)
        .sum();
    let mean_queue = link.counters(0, end).queue_mean_packets.expect("time has passed");
    let mean_wait_ms = wait_ms / outcome.left.len() as f64;
    (mean_wait_ms, mean_queue, f64::from(dropped) / f64::from(packets))
}

#[test]
fn the_wait_in_an_m_d_1_queue_is_that_of_pollaczek_and_khinchine() {
    for (load, tolerance) in [(0.3, 0.02), (0.5, 0.02), (0.8, 0.05)] {
        let (wait_ms, mean_queue, dropped) = poisson(load, 400_000, None);
        let expected_ms = load / (2.0 * (1.0 - load));
        assert!((wait_ms / expected_ms - 1.0).abs() < tolerance, "{load}: {wait_ms}");
        // Little's law with the packet in service: lambda (wait + 1 ms).
        let little = load * (wait_ms + 1.0);
        assert!((mean_queue / little - 1.0).abs() < 0.01, "{load}: {mean_queue} {little}");
        assert_eq!(dropped, 0.0);
    }
}

#[test]
fn one_place_without_waiting_room_blocks_as_erlang_says() {
    // M/D/1/1: the blocking probability is load / (1 + load) for any distribution of service.
    let (wait_ms, _, dropped) = poisson(0.7, 400_000, Some(1));
    assert!(wait_ms.abs() < 1e-9);
    assert!((dropped - 0.7 / 1.7).abs() < 0.003, "{dropped}");
}

/// Results of arrivals at 12 Mbit/s through CoDel, one every `gap_us`.
struct Codel {
    drops_ms: Vec<f64>,
    sojourns_ms: Vec<f64>,
    marked: u32,
}

fn codel(gap_us: u64, packets: u32, ecn: bool) -> Codel {
    let queue = QueueConfig::Codel {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn,
        packets: None,
        bytes: None,
    };
    let mut link = wire(StageConfig { queue, ..fixed(12, None) });
    let mut outcome = Outcome::default();
    let at = |number: u32| Time::from_micros(gap_us * u64::from(number));
    for number in 0..packets {
        run_until(&mut link, at(number), &mut outcome);
        link.handle_packet(at(number), 0, Frame::capable(number, 1500));
    }
    run_until(&mut link, at(packets) + Duration::from_secs(100), &mut outcome);
    let drops = outcome
        .events
        .iter()
        .filter(|(_, event)| matches!(event.kind, LinkEventKind::Dropped { .. }));
    Codel {
        drops_ms: drops.map(|&(at, _)| at.as_nanos() as f64 / 1e6).collect(),
        sojourns_ms: outcome
            .left
            .iter()
            .map(|left| (left.at - at(left.number)).as_millis_f64() - 1.0)
            .collect(),
        marked: outcome.left.iter().filter(|left| left.is_marked).count() as u32,
    }
}

#[test]
fn codel_leaves_a_queue_below_its_target_alone() {
    let below = codel(1_001, 20_000, false);
    assert!(below.drops_ms.is_empty());
    assert_eq!(below.sojourns_ms.len(), 20_000);
}

#[test]
fn codel_waits_an_interval_and_then_drops_by_the_control_law() {
    // An overload that drops do not reduce: 2.5 packets per millisecond for 4 s.
    let overloaded = codel(400, 10_000, false);
    let drops = &overloaded.drops_ms;
    // The n-th packet arrives at 0.4 n ms and is dequeued at n ms: the sojourn time reaches 5 ms at
    // the ninth dequeue, and the first drop is at a dequeue one whole interval later.
    assert!((drops[0] - 109.0).abs() < 1.5, "{}", drops[0]);
    for (count, pair) in (1..).zip(drops.windows(2)).take(300) {
        let law = 100.0 / f64::from(count).sqrt();
        let gap = pair[1] - pair[0];
        // A drop waits for a dequeue, at most 1 ms; later gaps make up for the delay.
        assert!((gap - law).abs() <= 1.01, "gap {count} is {gap} ms, the law says {law} ms");
    }
    // Over many drops the control law holds exactly: the sum of interval / sqrt(count).
    let sum: f64 = (1..=300).map(|count| 100.0 / f64::from(count).sqrt()).sum();
    assert!((drops[300] - drops[0] - sum).abs() < 2.0);
}

#[test]
fn codel_marks_where_it_would_drop_and_loses_nothing() {
    let dropping = codel(400, 5_000, false);
    let marking = codel(400, 5_000, true);
    assert!(marking.drops_ms.is_empty());
    assert_eq!(marking.sojourns_ms.len(), 5_000);
    // Marked packets are sent, so the queue takes longer to drain, and more packets are marked.
    assert!(marking.marked >= dropping.drops_ms.len() as u32);
    assert!(dropping.drops_ms.len() > 100);
}
