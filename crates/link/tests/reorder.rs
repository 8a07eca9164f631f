//! Reordering by a wire, and ACK filtering in its queue.

mod common;

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use cwndlab_link::{
    AckFilter, AnyLink, JitterConfig, Link, LinkEventKind, QueueConfig, ReorderConfig, StageConfig,
    StageError, Stages, Traces, Transition,
};
use cwndlab_units::{Duration, Output, Time};
use proptest::prelude::*;

use common::cell::ppb;
use common::tcp::TcpFrame;
use common::{Frame, Outcome, drain, fixed, ms, run, us, wire};

const MS: Duration = Duration::from_millis(1);

fn gap(packets: u32) -> NonZeroU32 {
    NonZeroU32::new(packets).expect("not 0")
}

/// Packets at intervals of half a millisecond.
fn spaced(count: u32) -> Vec<(Time, Frame)> {
    (0..count).map(|number| (us(u64::from(number) * 500), Frame::new(number, 500))).collect()
}

/// Share of the packets that were overtaken.
fn overtaken(outcome: &Outcome) -> f64 {
    let numbers = outcome.numbers();
    let mut most = 0;
    let late = numbers.iter().filter(|&&number| {
        most = most.max(number);
        number < most
    });
    late.count() as f64 / numbers.len() as f64
}

fn with(reorder: ReorderConfig) -> StageConfig {
    StageConfig { delay: MS * 10, reorder: Some(reorder), ..fixed(20, None) }
}

#[test]
fn late_packets_come_later_by_their_delay_and_no_other_does() {
    let late = ReorderConfig::Late { probability: ppb(20_000_000), delay: MS * 5, gap: gap(1) };
    let outcome = run(&mut wire(with(late)), &spaced(50_000), Time::from_secs(60));
    let share = overtaken(&outcome);
    assert!((0.017..0.023).contains(&share), "{share}");
    for left in &outcome.left {
        // 500 bytes at 20 Mbit/s take 0.2 ms.
        let took_us = left.at.as_micros() - u64::from(left.number) * 500;
        assert!(took_us == 10_200 || took_us == 15_200, "{took_us}");
    }
}

#[test]
fn early_packets_have_no_delay_and_are_no_closer_than_their_gap() {
    let early = ReorderConfig::Early { probability: ppb(1_000_000_000), gap: gap(5) };
    let outcome = run(&mut wire(with(early)), &spaced(1_000), Time::from_secs(60));
    let early: Vec<u32> = outcome
        .left
        .iter()
        .filter(|left| left.at.as_micros() - u64::from(left.number) * 500 == 200)
        .map(|left| left.number)
        .collect();
    // As in netem: four packets are delayed, the fifth leaves at once, and so on.
    assert_eq!(early, (0..200).map(|n| 5 * n + 4).collect::<Vec<_>>());
}

#[test]
fn jitter_changes_the_order_only_where_it_may() {
    let jitter = Some(JitterConfig::Wifi { mean: MS * 20 });
    let kept = StageConfig { jitter, delay: MS * 10, ..fixed(20, None) };
    let free = StageConfig { reorder: Some(ReorderConfig::Jitter {}), ..kept.clone() };
    let share = |stage| overtaken(&run(&mut wire(stage), &spaced(20_000), Time::from_secs(60)));
    assert!(share(kept) == 0.0);
    let share = share(free);
    // Packets with retransmissions of 90 ms on average are overtaken: at least 19/90 of the
    // packets.
    assert!((0.2..0.6).contains(&share), "{share}");
}

#[test]
fn a_delay_that_changes_and_what_netem_decides_do_not_mix() {
    let late = ReorderConfig::Late { probability: ppb(1), delay: MS, gap: gap(1) };
    let stage = StageConfig { transition: Transition::Keep, ..with(late) };
    let error = AnyLink::<Frame>::one_way(&[stage], &Traces::new(), 1, "forward");
    assert_eq!(error.expect_err("no link").problem, StageError::KeptReorder);
}

proptest! {
    #[test]
    fn what_is_reordered_leaves_once_and_in_the_order_of_time(
        probability in 0_u32..=1_000_000_000,
        every in 1_u32..9,
        kind in 0..3,
        delay_us in 0_u64..20_000,
        arrivals in prop::collection::vec((0_u64..3_000, 40_u32..1500), 1..200),
        late in 1_usize..30,
    ) {
        let reorder = match kind {
            0 => ReorderConfig::Late {
                probability: ppb(probability),
                delay: Duration::from_micros(delay_us),
                gap: gap(every),
            },
            1 => ReorderConfig::Early { probability: ppb(probability), gap: gap(every) },
            _ => ReorderConfig::Jitter {},
        };
        let jitter = Some(JitterConfig::Exponential { mean: MS * 3 });
        let stages = [StageConfig { jitter, ..with(reorder) }, fixed(100, None)];
        let link = || -> AnyLink<Frame> {
            AnyLink::one_way(&stages, &Traces::new(), 3, "forward").expect("valid settings")
        };
        let mut now_us = 0;
        let arrivals: Vec<(Time, Frame)> = (0..).zip(arrivals).map(|(number, (gap_us, bytes))| {
            now_us += gap_us;
            (us(now_us), Frame::new(number, bytes))
        }).collect();
        let punctual = run(&mut link(), &arrivals, Time::from_secs(60));
        prop_assert!(punctual.left.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let once: BTreeSet<u32> = punctual.numbers().into_iter().collect();
        prop_assert_eq!(once.len(), arrivals.len());
        prop_assert_eq!(punctual.left.len(), arrivals.len());
        let mut link = link();
        prop_assert_eq!(link.stages(), 2);
        let mut seen = Outcome::default();
        for (number, (at, frame)) in arrivals.iter().enumerate() {
            if number % late == 0 {
                drain(&mut link, *at, &mut seen);
            }
            link.handle_packet(*at, 0, frame.clone());
        }
        drain(&mut link, Time::from_secs(60), &mut seen);
        prop_assert_eq!(seen.left, punctual.left);
    }
}

/// Packets that left and packets that were filtered, of these arrivals in microseconds.
fn filtered(stage: &StageConfig, packets: &[(u64, TcpFrame)]) -> (Vec<(Time, TcpFrame)>, Vec<u32>) {
    let mut link: AnyLink<TcpFrame> =
        AnyLink::one_way(std::slice::from_ref(stage), &Traces::new(), 1, "forward")
            .expect("valid settings");
    let (mut left, mut gone) = (Vec::new(), Vec::new());
    let mut poll = |link: &mut AnyLink<TcpFrame>, now| {
        while let Some(output) = link.poll(now) {
            match output {
                Output::Packet { at, packet, .. } => left.push((at, packet)),
                Output::Event { event, .. } => {
                    assert_eq!(event.kind.name(), "ack_filtered");
                    let LinkEventKind::Dropped { flow, .. } = event.kind else {
                        panic!("{event:?}")
                    };
                    gone.push(flow);
                }
            }
        }
    };
    let mut now = Time::ZERO;
    for &(gap_us, packet) in packets {
        now += Duration::from_micros(gap_us);
        poll(&mut link, now);
        link.handle_packet(now, 0, packet);
    }
    poll(&mut link, Time::from_secs(600));
    let counters = link.counters(0, Time::from_secs(600));
    assert_eq!(counters.drops.ack_filtered, gone.len() as u64);
    assert_eq!(counters.arrived.packets, packets.len() as u64);
    assert_eq!(counters.delivered.packets, left.len() as u64);
    (left, gone)
}

fn filter(ack_filter: Option<AckFilter>) -> StageConfig {
    StageConfig { ack_filter, ..fixed(1, None) }
}

fn acks(count: u32) -> Vec<(u64, TcpFrame)> {
    let ack = |number| TcpFrame { number, connection: 1, ack: number * 1000, is_pure: true };
    (0..count).map(|number| (10, ack(number))).collect()
}

#[test]
fn a_filter_keeps_one_ack_or_two_and_always_the_newest() {
    // 52 bytes at 1 Mbit/s take 416 us, in which 41 ACKs arrive.
    let all = filtered(&filter(None), &acks(1_000)).0;
    assert_eq!(all.len(), 1_000);
    for (kind, most_waiting) in [(AckFilter::Aggressive, 1), (AckFilter::Conservative, 2)] {
        let (left, gone) = filtered(&filter(Some(kind)), &acks(1_000));
        assert_eq!(left.len() + gone.len(), 1_000);
        assert!(left.len() <= 1_000 / 41 + 2 + most_waiting, "{kind:?}: {}", left.len());
        assert_eq!(left.last().expect("some").1.number, 999);
        // The newest ACK waits at most for the few older ones in the queue.
        assert!(left.last().expect("some").0 < ms(12));
    }
}

#[test]
fn a_filter_without_effect_leaves_every_time_as_it_is() {
    let duplicates: Vec<_> =
        acks(200).into_iter().map(|(gap_us, ack)| (gap_us, TcpFrame { ack: 7, ..ack })).collect();
    let with = filtered(&filter(Some(AckFilter::Aggressive)), &duplicates);
    assert_eq!(with, filtered(&filter(None), &duplicates));
}

#[test]
fn one_ack_in_so_many_passes_on_any_queue() {
    let pie = serde_json::from_str(r#"{"kind": "pie", "packets": 2000}"#).expect("a queue");
    let stage = StageConfig { ack_thinning: NonZeroU32::new(4), ..filter(None) };
    for stage in [stage.clone(), StageConfig { queue: pie, ..stage }] {
        let slowly: Vec<_> = acks(1_000).into_iter().map(|(_, ack)| (1_000, ack)).collect();
        let (left, gone) = filtered(&stage, &slowly);
        assert_eq!((left.len(), gone.len()), (250, 750));
        assert!(left.iter().all(|(_, ack)| ack.number % 4 == 0));
    }
}

#[test]
fn queues_that_know_all_departures_have_no_filter() {
    let red = serde_json::from_str(r#"{"kind": "red", "min_bytes": 1, "max_bytes": 2}"#);
    let stage = StageConfig { queue: red.expect("a queue"), ..filter(Some(AckFilter::Aggressive)) };
    let error = AnyLink::<TcpFrame>::one_way(&[stage], &Traces::new(), 1, "forward");
    assert_eq!(error.expect_err("no link").problem, StageError::AckFilterQueue);
}

proptest! {
    #[test]
    fn only_superfluous_acks_are_filtered(
        packets in prop::collection::vec((0_u64..800, 0_u32..3, 0_u32..4, any::<bool>()), 1..200),
        queue in 0..3,
        is_aggressive in any::<bool>(),
    ) {
        let queue = match queue {
            0 => r#"{"kind": "drop_tail"}"#,
            1 => r#"{"kind": "codel", "target_ns": 60000000000}"#,
            _ => r#"{"kind": "fq_codel", "target_ns": 60000000000}"#,
        };
        let queue: QueueConfig = serde_json::from_str(queue).expect("a queue");
        let kind = if is_aggressive { AckFilter::Aggressive } else { AckFilter::Conservative };
        let stage = StageConfig { queue, ..filter(Some(kind)) };
        let mut highest = [0; 3];
        let packets: Vec<(u64, TcpFrame)> = (0..).zip(packets).map(
            |(number, (gap_us, connection, more, is_pure))| {
                highest[connection as usize] += more;
                let ack = highest[connection as usize];
                (gap_us, TcpFrame { number, connection, ack, is_pure })
            },
        ).collect();
        let (left, gone) = filtered(&stage, &packets);
        prop_assert_eq!(left.len() + gone.len(), packets.len());
        prop_assert!(left.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        let data = |packet: &TcpFrame| !packet.is_pure;
        let sent = packets.iter().filter(|(_, packet)| data(packet)).count();
        prop_assert_eq!(left.iter().filter(|(_, packet)| data(packet)).count(), sent);
        for connection in 0..3 {
            let of = |packet: &&TcpFrame| packet.connection == connection;
            let mut numbers = left.iter().map(|(_, packet)| packet).filter(of).map(|p| p.number);
            prop_assert!(numbers.clone().is_sorted(), "the order of a connection stays");
            // The last acknowledgement arrives.
            let last = packets.iter().map(|(_, packet)| packet).rfind(of);
            prop_assert_eq!(numbers.next_back(), last.map(|packet| packet.number));
        }
    }
}
