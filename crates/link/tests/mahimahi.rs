//! Trace-driven links, compared with a direct implementation of Mahimahi's rules.

mod common;

use common::{Frame, Outcome, drain, mahimahi, ms, run, run_until};
use cwndlab_link::{AnyLink, DropReason, Link, LinkEventKind, OutageConfig, OutageKind, Stages};
use cwndlab_units::{Bytes, Duration, Stream, Time};
use proptest::prelude::*;

/// Departures of the packets in ms, by Mahimahi's rules, one opportunity after the other.
///
/// Arrivals are times in nanoseconds and IP lengths, in order.
fn reference(stamps_ms: &[u64], arrivals: &[(u64, u32)], end_ms: u64) -> Vec<u64> {
    let mut left_at = Vec::new();
    let mut queue = std::collections::VecDeque::new();
    let mut arrivals = arrivals.iter().copied().peekable();
    let mut in_transit_left: Option<u32> = None;
    let mut base = 0;
    'run: loop {
        for &stamp in stamps_ms {
            let now = base + stamp;
            if now > end_ms {
                break 'run;
            }
            // "Arrival at time t is enqueued after opportunities <= t were consumed."
            while let Some((_, length)) = arrivals.next_if(|&(at, _)| at < now * 1_000_000) {
                queue.push_back(length + 4);
            }
            let mut bytes_left = 1504;
            while bytes_left > 0 {
                let Some(left) = in_transit_left.take().or_else(|| queue.pop_front()) else {
                    break;
                };
                let sent = bytes_left.min(left);
                bytes_left -= sent;
                if sent == left {
                    left_at.push(now);
                } else {
                    in_transit_left = Some(left - sent);
                }
            }
        }
        base += stamps_ms[stamps_ms.len() - 1];
    }
    left_at
}

fn text(stamps_ms: &[u64]) -> String {
    stamps_ms.iter().map(|stamp| format!("{stamp}\n")).collect()
}

fn frames(arrivals: &[(u64, u32)]) -> Vec<(Time, Frame)> {
    let frame = |(number, &(at, length)): (usize, &(u64, u32))| {
        (Time::from_nanos(at), Frame::new(number as u32, length))
    };
    arrivals.iter().enumerate().map(frame).collect()
}

fn link(trace: &[u8]) -> AnyLink<Frame> {
    let (stage, traces) = mahimahi(trace);
    AnyLink::one_way(&[stage], &traces, 1, "forward").expect("valid settings")
}

fn departures(stamps_ms: &[u64], arrivals: &[(u64, u32)], end_ms: u64) -> Vec<u64> {
    let mut link = link(text(stamps_ms).as_bytes());
    let outcome = run(&mut link, &frames(arrivals), ms(end_ms));
    assert!(outcome.left.iter().all(|left| left.at.as_nanos() % 1_000_000 == 0));
    outcome.millis()
}

/// Drives a link with a source that always has `window` packets of 1500 bytes queued.
fn saturate(link: &mut AnyLink<Frame>, window: u32, end: Time) -> Outcome {
    let mut outcome = Outcome::default();
    let mut number = 0;
    while number < window {
        link.handle_packet(Time::ZERO, 0, Frame::new(number, 1500));
        number += 1;
    }
    while link.wake_time() <= end {
        let now = link.wake_time();
        let before = outcome.left.len();
        drain(link, now, &mut outcome);
        for _ in before..outcome.left.len() {
            link.handle_packet(now, 0, Frame::new(number, 1500));
            number += 1;
        }
    }
    outcome
}

#[test]
fn a_saturated_source_uses_every_opportunity_of_a_recorded_trace_to_the_millisecond() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/traces/mahimahi/TMobile-LTE-short.down"
    );
    let Ok(trace) = std::fs::read(path) else {
        println!("skipped: the recorded traces are not beside this checkout");
        return;
    };
    let stamps_ms: Vec<u64> = String::from_utf8(trace.clone())
        .expect("text")
        .lines()
        .map(|line| line.parse().expect("a number"))
        .collect();
    let period = stamps_ms[stamps_ms.len() - 1];
    // Beyond the first wrap, whatever the length.
    let end_ms = period + period / 2;
    let mut link = link(&trace);
    let outcome = saturate(&mut link, 5_000, ms(end_ms));

    let always: Vec<(u64, u32)> = vec![(0, 1500); stamps_ms.len() * 2];
    let expected = reference(&stamps_ms, &always, end_ms);
    // Opportunities at time 0 precede the first arrival in both.
    assert_eq!(outcome.left.len(), expected.len());
    assert_eq!(outcome.millis(), expected);

    // The opportunities offered are exactly the file's timestamps in that time.
    let second_lap = stamps_ms.iter().filter(|&&stamp| stamp <= end_ms - period).count();
    let stamps = (stamps_ms.len() + second_lap) as u64;
    let counters = link.counters(0, ms(end_ms));
    assert_eq!(counters.offered, Some(Bytes(stamps * 1504)));
    let at_zero = stamps_ms.iter().filter(|&&stamp| stamp == 0).count() as u64;
    assert_eq!(counters.delivered.bytes, (stamps - at_zero) * 1504);
}

#[test]
fn small_packets_share_an_opportunity_and_large_ones_carry_over() {
    // 96 + 4 bytes: 15 packets fit, and 4 bytes of the sixteenth.
    let arrivals: Vec<(u64, u32)> = vec![(0, 96); 31];
    let left = departures(&[5, 6, 9], &arrivals, 20);
    assert_eq!(left, [[5; 15].as_slice(), &[6; 15], &[9; 1]].concat());
    // 1000 + 4 bytes: four bytes of the third packet are left for the third opportunity.
    let left = departures(&[5, 6, 9], &[(0, 1000); 4], 20);
    assert_eq!(left, [5, 6, 9, 9]);
}

#[test]
fn an_arrival_at_the_time_of_an_opportunity_is_too_late_for_it() {
    let nano = |ms: u64, before: u64| ms * 1_000_000 - before;
    assert_eq!(departures(&[5, 8], &[(nano(5, 1), 1500)], 20), [5]);
    assert_eq!(departures(&[5, 8], &[(nano(5, 0), 1500)], 20), [8]);
    assert_eq!(departures(&[5, 5, 8], &[(nano(5, 0), 1500)], 20), [8]);
    // The rest of an opportunity is wasted when the queue becomes empty.
    assert_eq!(departures(&[5, 8], &[(0, 100), (nano(5, 0), 1500)], 20), [5, 8]);
}

#[test]
fn the_trace_begins_again_after_its_last_stamp() {
    // Period 1 begins at 7: 9, 14, 14; period 2 at 14: 16, 21, 21.
    let left = departures(&[2, 7, 7], &[(0, 1500); 9], 100);
    assert_eq!(left, [2, 7, 7, 9, 14, 14, 16, 21, 21]);
    // A timestamp of 0 coincides with the last one of the previous period.
    assert_eq!(departures(&[0, 4], &[(0, 1500); 4], 100), [4, 4, 8, 8]);
}

#[test]
fn a_packet_longer_than_an_opportunity_is_refused() {
    let mut link = link(b"1\n");
    let arrivals = [(ms(0), Frame::new(0, 1501)), (ms(0), Frame::new(1, 1500))];
    let outcome = run(&mut link, &arrivals, ms(10));
    assert_eq!(outcome.numbers(), [1]);
    let dropped = LinkEventKind::Dropped { flow: 0, bytes: 1505, reason: DropReason::TooLong };
    assert_eq!(outcome.events[0].1.kind, dropped);
}

#[test]
fn opportunities_in_a_pause_are_neither_used_nor_offered() {
    let (mut stage, traces) = mahimahi(b"1\n");
    stage.outages = vec![OutageConfig { start: ms(3), stop: ms(6), kind: OutageKind::Hold }];
    let mut link = AnyLink::one_way(&[stage], &traces, 1, "forward").expect("valid settings");
    let outcome = run(&mut link, &frames(&[(0, 1500); 5]), ms(20));
    assert_eq!(outcome.millis(), [1, 2, 6, 7, 8]);
    assert_eq!(link.counters(0, ms(20)).offered, Some(Bytes(17 * 1504)));
}

#[test]
fn a_pause_after_a_long_silence_is_found() {
    let (mut stage, traces) = mahimahi(b"3\n5\n");
    let start = ms(1_000_000);
    let stop = ms(2_000_001);
    stage.outages = vec![OutageConfig { start, stop, kind: OutageKind::Hold }];
    let mut link = AnyLink::one_way(&[stage], &traces, 1, "forward").expect("valid settings");
    let arrivals = [(ms(1_500_000), Frame::new(0, 1500)), (ms(3_000_000), Frame::new(1, 1500))];
    let outcome = run(&mut link, &arrivals, ms(4_000_000));
    assert_eq!(outcome.millis(), [2_000_003, 3_000_003]);
}

#[test]
fn offered_bytes_of_a_window_leave_out_the_warm_up() {
    let mut link = link(b"1\n");
    let mut outcome = Outcome::default();
    run_until(&mut link, ms(10), &mut outcome);
    link.begin_window(ms(10));
    run_until(&mut link, ms(25), &mut outcome);
    let counters = link.counters(0, ms(25));
    assert_eq!(counters.offered, Some(Bytes(15 * 1504)));
    assert_eq!(counters.window, Duration::from_millis(15));
}

/// Non-decreasing timestamps, at least one of them positive.
fn traces() -> impl Strategy<Value = Vec<u64>> {
    let steps = prop::collection::vec(prop_oneof![4 => 0_u64..3, 1 => 0_u64..60], 1..40);
    (steps, 1_u64..20).prop_map(|(steps, last)| {
        let mut stamps: Vec<u64> = steps
            .iter()
            .scan(0, |time, step| {
                *time += step;
                Some(*time)
            })
            .collect();
        stamps.push(stamps[stamps.len() - 1] + last);
        stamps
    })
}

proptest! {
    #[test]
    fn departures_are_those_of_the_reference(
        stamps_ms in traces(),
        seed: u64,
        packets in 1_usize..120,
        mean_gap_us in 1_u64..20_000,
    ) {
        let mut random = Stream::new(seed, "arrivals");
        let mut now = 0;
        let arrivals: Vec<(u64, u32)> = (0..packets)
            .map(|_| {
                // Often at a whole millisecond, where ties occur.
                now += random.exponential(mean_gap_us as f64 * 1e3) as u64;
                if random.below(2) == 0 {
                    now = now.next_multiple_of(1_000_000);
                }
                let length = [40, 60, 576, 1000, 1499, 1500][random.below(6) as usize];
                (now, length)
            })
            .collect();
        let end_ms = now / 1_000_000 + 10_000;
        let expected = reference(&stamps_ms, &arrivals, end_ms);
        prop_assert_eq!(departures(&stamps_ms, &arrivals, end_ms), expected);
    }
}
