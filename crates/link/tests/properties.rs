//! Properties of every link, whatever its configuration.

mod common;

use common::{Frame, Left, Outcome, drain, ms, run, us};
use core::num::NonZeroU32;

use cwndlab_link::{
    AnyLink, DualPi2Config, FqCodelConfig, JitterConfig, LightConfig, LightTrace, Link,
    LinkEventKind, LossConfig, OutageConfig, OutageKind, PieConfig, PoliceConfig, Probability,
    QueueConfig, RateConfig, RateTrace, RedConfig, StageConfig, Stages, StepConfig, Traces, Train,
    Transition, Wire,
};
use cwndlab_units::{Bytes, Duration, Ecn, Rate, Time};
use proptest::prelude::*;

/// Time in which everything happens.
const END_MS: u64 = 400;

/// Number of flows, which send in turn.
const FLOWS: u32 = 3;

/// Packets like the first one, with consecutive numbers.
struct Numbered(Frame);

impl Numbered {
    fn packet(&self, index: u32) -> Frame {
        Frame { number: Box::new(*self.0.number + index), ..self.0.clone() }
    }
}

impl Train<Frame> for Numbered {
    fn put(&self, index: u32, slot: &mut Option<Frame>) {
        *slot = Some(self.packet(index));
    }
}

fn rates() -> impl Strategy<Value = RateConfig> {
    let rate = (1_u64..40).prop_map(|mbit_s| Rate::from_bits_per_sec(mbit_s * 999_983));
    prop_oneof![
        Just(RateConfig::Unlimited {}),
        rate.clone().prop_map(|rate| RateConfig::Fixed { rate }),
        (rate, 1_000_u64..10_000)
            .prop_map(|(rate, burst)| RateConfig::TokenBucket { rate, burst: Bytes(burst) }),
        Just(RateConfig::Mahimahi { path: "mahimahi".to_owned(), light: None }),
        (0_u64..30).prop_map(|after_ms| RateConfig::Mahimahi {
            path: "mahimahi".to_owned(),
            light: Some(LightConfig {
                first_bytes: 100,
                path: "light".to_owned(),
                after: Duration::from_millis(after_ms),
                delay: Duration::from_millis(3),
            }),
        }),
        any::<bool>().prop_map(|hold| RateConfig::Log { path: "log".to_owned(), hold }),
    ]
}

fn limits() -> impl Strategy<Value = (Option<u32>, Option<Bytes>)> {
    (prop::option::of(1_u32..30), prop::option::of((1_000_u64..40_000).prop_map(Bytes)))
}

fn queues() -> impl Strategy<Value = QueueConfig> {
    let red = (2_000_u64..10_000, 1_u64..20_000, 0_u32..6, any::<[bool; 3]>(), 0_u64..3).prop_map(
        |(min, more, weight_shift, [ecn, gentle, hard_drop], idle)| {
            QueueConfig::Red(RedConfig {
                min: Bytes(min),
                max: Bytes(min + more),
                limit: None,
                max_probability: ppb(300_000_000),
                weight_shift,
                idle_packet: (idle > 0).then(|| Duration::from_millis(idle)),
                ecn,
                gentle,
                hard_drop,
            })
        },
    );
    prop_oneof![
        2 => limits().prop_map(|(packets, bytes)| QueueConfig::DropTail { packets, bytes }),
        2 => (limits(), any::<bool>(), 1_u64..8).prop_map(|((packets, bytes), ecn, target)| {
            QueueConfig::Codel {
                target: Duration::from_millis(target),
                interval: Duration::from_millis(20),
                ecn,
                packets,
                bytes,
            }
        }),
        2 => (limits(), any::<bool>(), 1_u64..8, 1_u32..4, 300_u64..3_000).prop_map(
            |((packets, bytes), ecn, target, queues, quantum)| {
                QueueConfig::FqCodel(FqCodelConfig {
                    queues: NonZeroU32::new(queues).expect("the constant is greater than 0"),
                    quantum: Bytes(quantum),
                    target: Duration::from_millis(target),
                    interval: Duration::from_millis(20),
                    ecn,
                    packets,
                    bytes,
                })
            }
        ),
        2 => (limits(), any::<bool>(), 1_u64..8, 0_u64..40).prop_map(
            |((packets, bytes), ecn, target, burst)| {
                QueueConfig::Pie(PieConfig {
                    target: Duration::from_millis(target),
                    burst: Duration::from_millis(burst),
                    ecn,
                    packets,
                    bytes,
                })
            }
        ),
        2 => (limits(), 1_u64..8, 0_u64..4).prop_map(|((packets, bytes), target, threshold)| {
            QueueConfig::DualPi2(DualPi2Config {
                target: Duration::from_millis(target),
                max_rtt: Duration::from_millis(10),
                threshold: Duration::from_millis(threshold),
                packets,
                bytes,
            })
        }),
        1 => red,
        1 => (limits(), 1_u32..10).prop_map(|((packets, bytes), mark)| QueueConfig::Step {
            mark_bytes: None,
            mark_packets: Some(mark),
            packets,
            bytes,
        }),
    ]
}

fn losses() -> impl Strategy<Value = LossConfig> {
    prop_oneof![
        (0_u32..500_000_000).prop_map(|p| LossConfig::Iid { probability: ppb(p) }),
        Just(LossConfig::GilbertElliott {
            p: ppb(100_000_000),
            r: ppb(400_000_000),
            loss_good: Probability::ZERO,
            loss_bad: Probability::ONE,
        }),
    ]
}

fn jitters() -> impl Strategy<Value = JitterConfig> {
    prop_oneof![
        (0_u64..5_000).prop_map(|us| JitterConfig::Uniform { max: Duration::from_micros(us) }),
        (0_u64..5_000).prop_map(|us| JitterConfig::Normal { sigma: Duration::from_micros(us) }),
        (0_u64..5_000).prop_map(|us| JitterConfig::Exponential { mean: Duration::from_micros(us) }),
    ]
}

fn outages() -> impl Strategy<Value = Vec<OutageConfig>> {
    let outage = (0..END_MS, 1_u64..60, any::<bool>()).prop_map(|(start, length, holds)| {
        let kind = if holds { OutageKind::Hold } else { OutageKind::Drop };
        OutageConfig { start: ms(start), stop: ms(start + length), kind }
    });
    prop::collection::vec(outage, 0..4)
}

fn schedules() -> impl Strategy<Value = Vec<StepConfig>> {
    let step = (
        0..END_MS,
        prop::option::of(1_u64..40),
        prop::option::of(0_u64..30),
        prop::option::of(losses()),
    )
        .prop_map(|(at, rate, delay, loss)| StepConfig {
            at: ms(at),
            rate: rate.map(Rate::from_mbit_per_sec),
            delay: delay.map(Duration::from_millis),
            loss,
        });
    prop::collection::vec(step, 0..4)
}

fn stages() -> impl Strategy<Value = StageConfig> {
    (
        (
            rates(),
            queues(),
            0_u64..30,
            prop::option::of(jitters()),
            prop::option::of(losses()),
            prop::option::weighted(0.2, (1_u64..20, 1_500_u64..20_000)),
        ),
        (prop::option::of(0_u32..20), outages(), schedules(), any::<bool>()),
    )
        .prop_map(
            |((rate, queue, delay, jitter, loss, police), (framing, outages, schedule, keeps))| {
                let is_trace = matches!(rate, RateConfig::Mahimahi { .. } | RateConfig::Log { .. });
                let without_rate = |step: StepConfig| StepConfig { rate: None, ..step };
                let schedule = if is_trace {
                    schedule.into_iter().map(without_rate).collect()
                } else {
                    schedule
                };
                StageConfig {
                    rate,
                    queue,
                    delay: Duration::from_millis(delay),
                    jitter,
                    loss,
                    police: police.map(|(mbit_s, burst)| PoliceConfig {
                        rate: Rate::from_mbit_per_sec(mbit_s),
                        burst: Bytes(burst),
                    }),
                    framing_bytes: framing,
                    outages,
                    schedule,
                    // Both are tested separately, in tests/reorder.rs.
                    ack_filter: None,
                    ack_thinning: None,
                    reorder: None,
                    transition: if keeps { Transition::Keep } else { Transition::Retime },
                }
            },
        )
}

fn arrivals() -> impl Strategy<Value = Vec<(Time, Frame)>> {
    let arrival = (
        prop_oneof![3 => Just(0_u64), 3 => 0_u64..2_000, 1 => 0_u64..30_000],
        prop_oneof![3 => Just(1480_u32), 2 => 40_u32..1480],
        any::<bool>(),
    );
    prop::collection::vec(arrival, 1..150).prop_map(|arrivals| {
        let mut now_us = 0;
        let mut frames = Vec::new();
        for (number, (gap_us, bytes, is_capable)) in arrivals.into_iter().enumerate() {
            // Arrivals must coincide with opportunities, steps and outages.
            now_us += if gap_us > 20_000 { gap_us / 1000 * 1000 } else { gap_us };
            let number = number as u32;
            let ecn = match is_capable {
                false => Ecn::NotEct,
                true if number % 5 < 2 => Ecn::Ect1,
                true => Ecn::Ect0,
            };
            let frame = Frame { ecn, ..Frame::new(number, bytes) };
            frames.push((us(now_us), frame.in_flow(number % FLOWS)));
        }
        frames
    })
}

/// Limits of a queue in packets and bytes.
fn limits_of(queue: &QueueConfig) -> (u32, u64) {
    let (packets, bytes) = match *queue {
        QueueConfig::DropTail { packets, bytes }
        | QueueConfig::Codel { packets, bytes, .. }
        | QueueConfig::FqCodel(FqCodelConfig { packets, bytes, .. })
        | QueueConfig::Pie(PieConfig { packets, bytes, .. })
        | QueueConfig::DualPi2(DualPi2Config { packets, bytes, .. })
        | QueueConfig::Step { packets, bytes, .. } => (packets, bytes),
        QueueConfig::Red(ref red) => (None, red.limit),
    };
    (packets.unwrap_or(u32::MAX), bytes.map_or(u64::MAX, |bytes| bytes.0))
}

fn decides_on_dequeue(queue: &QueueConfig) -> bool {
    use QueueConfig::{Codel, DualPi2, FqCodel};
    matches!(queue, Codel { .. } | FqCodel(_) | DualPi2(_))
}

/// Number of the internal queue in which a packet waits; each internal queue preserves its order.
fn line(queue: &QueueConfig, frame: &Frame) -> u32 {
    match queue {
        QueueConfig::FqCodel(_) => frame.flow,
        QueueConfig::DualPi2(_) => u32::from(frame.ecn == Ecn::Ect1),
        _ => 0,
    }
}

fn ppb(ppb: u32) -> Probability {
    Probability::from_ppb(ppb).expect("a probability")
}

fn traces() -> Traces {
    let mut traces = Traces::new();
    let mahimahi = b"0\n1\n1\n3\n3\n3\n10\n11\n25\n";
    let log = b"0,12\n0.02,0\n0.04,3.7\n0.06,30\n";
    traces.insert("mahimahi", RateTrace::parse_mahimahi(mahimahi).expect("a trace"));
    let light = b"0 5 0 0.2 3\n30 9 0\n70 5.5 0 0 0 0.5 7 9\n";
    traces.insert_light("light", LightTrace::parse(light).expect("trains"));
    traces.insert("log", RateTrace::parse_log(log).expect("a log"));
    traces
}

fn link(stages: &[StageConfig]) -> AnyLink<Frame> {
    AnyLink::one_way(stages, &traces(), 42, "forward").expect("valid settings")
}

fn drops(outcome: &Outcome) -> usize {
    let is_drop = |kind| matches!(kind, LinkEventKind::Dropped { .. });
    outcome.events.iter().filter(|(_, event)| is_drop(event.kind)).count()
}

/// Long enough for everything to leave.
const LONG: Time = Time::from_secs(100);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_packet_is_made_or_forgotten(stage in stages(), arrivals in arrivals()) {
        let mut wire: Wire<Frame> =
            Wire::new(&stage, &traces(), 42, "forward.0").expect("valid settings");
        let mut outcome = Outcome::default();
        let mut peak = 0;
        for (index, (at, frame)) in arrivals.iter().enumerate() {
            common::run_until(&mut wire, *at, &mut outcome);
            wire.handle_packet(*at, 0, frame.clone());
            drain(&mut wire, *at, &mut outcome);
            let inside = wire.packets_inside();
            prop_assert_eq!(index + 1, outcome.left.len() + drops(&outcome) + inside);
            let counters = wire.counters(0, *at);
            prop_assert_eq!(counters.arrived.packets, index as u64 + 1);
            prop_assert_eq!(counters.delivered.packets, outcome.left.len() as u64);
            prop_assert_eq!(counters.dropped.packets, drops(&outcome) as u64);
            let by_reason = counters.drops;
            let sum = by_reason.loss + by_reason.outage + by_reason.overflow + by_reason.aqm + by_reason.policed
                + by_reason.too_long + by_reason.expired;
            prop_assert_eq!(counters.dropped.packets, sum);
            let backlog = wire.backlog(0, *at);
            prop_assert!(backlog.packets as usize <= inside);
            peak = peak.max(backlog.packets);
            let (most_packets, most_bytes) = limits_of(&stage.queue);
            prop_assert!(backlog.packets <= most_packets && backlog.bytes <= most_bytes);
            if decides_on_dequeue(&stage.queue) {
                prop_assert!(peak <= counters.queue_max_packets);
            } else {
                prop_assert_eq!(peak, counters.queue_max_packets);
            }
            prop_assert_eq!(backlog.packets == 0, backlog.bytes == 0);
        }
        common::run_until(&mut wire, LONG, &mut outcome);
        let counters = wire.counters(0, LONG);
        prop_assert_eq!(wire.packets_inside(), 0);
        prop_assert_eq!(wire.backlog(0, LONG).bytes, 0);
        prop_assert_eq!(outcome.left.len() + drops(&outcome), arrivals.len());
        let lost_bytes = counters.arrived.bytes - counters.delivered.bytes;
        prop_assert_eq!(counters.dropped.bytes, lost_bytes);
        let marked = outcome.left.iter().filter(|left| left.is_marked).count();
        prop_assert_eq!(counters.marked.packets, marked as u64);
        let mut numbers = outcome.numbers();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), outcome.left.len());
    }

    #[test]
    fn packets_that_meet_what_the_last_one_met_go_the_way_of_all(
        stage in stages(),
        arrivals in arrivals(),
        bytes in 40_u32..1_600,
        trains in prop::collection::vec(1_u32..6, 40),
    ) {
        let new = || Wire::new(&stage, &traces(), 42, "forward.0").expect("valid settings");
        let [mut wire, mut other]: [Wire<Frame>; 2] = [new(), new()];
        let [mut outcome, mut expected] = [Outcome::default(), Outcome::default()];
        let mut number = 0;
        for ((at, frame), count) in arrivals.iter().zip(trains) {
            common::run_until(&mut wire, *at, &mut outcome);
            common::run_until(&mut other, *at, &mut expected);
            let train = Numbered(Frame { number: Box::new(number), bytes, ..frame.clone() });
            let packet = |index| train.packet(index);
            let is_first_taken = wire.take_at_once(*at, bytes, &train);
            let taken = if is_first_taken {
                1
            } else {
                wire.take_like_the_last(*at, bytes, count, &train)
            };
            (taken..count).for_each(|index| {
                wire.handle_packet(*at, 0, packet(index));
            });
            (0..count).for_each(|index| {
                other.handle_packet(*at, 0, packet(index));
            });
            number += count;
            prop_assert_eq!(wire.wake_time(), other.wake_time());
            if count == 1 {
                prop_assert_eq!(wire.backlog(0, *at), other.backlog(0, *at));
            }
        }
        common::run_until(&mut wire, LONG, &mut outcome);
        common::run_until(&mut other, LONG, &mut expected);
        prop_assert_eq!(outcome, expected);
        prop_assert_eq!(wire.counters(0, LONG), other.counters(0, LONG));
    }

    #[test]
    fn late_polling_changes_no_time(
        stages in prop::collection::vec(stages(), 1..3),
        arrivals in arrivals(),
        polls in prop::collection::vec(0_u64..END_MS * 1000, 0..40),
    ) {
        let punctual = run(&mut link(&stages), &arrivals, LONG);
        let mut polls: Vec<Time> = polls.into_iter().map(us).collect();
        polls.sort_unstable();
        let mut polls = polls.into_iter().peekable();
        let mut link = link(&stages);
        let mut late = Outcome::default();
        for (at, frame) in &arrivals {
            while let Some(time) = polls.next_if(|time| time < at) {
                drain(&mut link, time, &mut late);
            }
            link.handle_packet(*at, 0, frame.clone());
        }
        drain(&mut link, LONG, &mut late);
        prop_assert_eq!(&late.left, &punctual.left);
        let sorted = |outcome: &Outcome| {
            let mut events = outcome.events.clone();
            // A chain's stages report their events independently of each other.
            events.sort_by_key(|&(at, event)| (at, event.stage));
            events
        };
        prop_assert_eq!(sorted(&late), sorted(&punctual));
    }

    #[test]
    fn what_is_taken_ahead_changes_nothing(
        stage in stages(),
        arrivals in arrivals(),
        ahead_us in 1_u64..2_000,
    ) {
        let new = || Wire::new(&stage, &traces(), 42, "forward.0").expect("valid settings");
        let [mut wire, mut other]: [Wire<Frame>; 2] = [new(), new()];
        let [mut outcome, mut expected] = [Outcome::default(), Outcome::default()];
        for (at, frame) in &arrivals {
            common::run_until(&mut wire, *at, &mut outcome);
            common::run_until(&mut other, *at, &mut expected);
            common::take_ahead(&mut wire, *at, *at + Duration::from_micros(ahead_us), &mut outcome);
            prop_assert_eq!(wire.backlog(0, *at), other.backlog(0, *at));
            let taken = wire.handle_packet(*at, 0, frame.clone());
            prop_assert_eq!(taken, other.handle_packet(*at, 0, frame.clone()));
        }
        common::run_until(&mut wire, LONG, &mut outcome);
        common::run_until(&mut other, LONG, &mut expected);
        prop_assert_eq!(outcome, expected);
        prop_assert_eq!(wire.counters(0, LONG), other.counters(0, LONG));
    }

    #[test]
    fn packets_leave_in_order_and_no_earlier_than_the_delay(
        stage in stages(),
        arrivals in arrivals(),
    ) {
        let keeps = stage.transition == Transition::Keep;
        let changes_delay = stage.schedule.iter().any(|step| step.delay.is_some());
        let outcome = run(&mut link(std::slice::from_ref(&stage)), &arrivals, LONG);
        prop_assert!(outcome.left.windows(2).all(|pair| pair[0].at <= pair[1].at));
        prop_assert!(outcome.events.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        if !(keeps && changes_delay) {
            // With several queues, packets may overtake those in other queues, but not in their
            // own.
            for line in 0..FLOWS.max(2) {
                let is_in = |&n: &u32| self::line(&stage.queue, &arrivals[n as usize].1) == line;
                let numbers: Vec<u32> = outcome.numbers().into_iter().filter(is_in).collect();
                prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
        let least = stage
            .schedule
            .iter()
            .filter_map(|step| step.delay)
            .fold(stage.delay, Duration::min);
        if !matches!(stage.jitter, Some(JitterConfig::Normal { .. })) {
            for &Left { at, number, .. } in &outcome.left {
                prop_assert!(at >= arrivals[number as usize].0 + least);
            }
        }
    }

    #[test]
    fn only_capable_packets_are_marked(stage in stages(), arrivals in arrivals()) {
        let outcome = run(&mut link(&[stage]), &arrivals, LONG);
        for left in outcome.left.iter().filter(|left| left.is_marked) {
            prop_assert!(arrivals[left.number as usize].1.ecn.is_capable());
        }
    }

    #[test]
    fn no_link_sends_more_than_it_offers(stage in stages(), arrivals in arrivals()) {
        let mut counted = link(std::slice::from_ref(&stage));
        let mut outcome = Outcome::default();
        for (at, frame) in &arrivals {
            common::run_until(&mut counted, *at, &mut outcome);
            counted.handle_packet(*at, 0, frame.clone());
        }
        let now = arrivals[arrivals.len() - 1].0 + Duration::from_millis(50);
        common::run_until(&mut counted, now, &mut outcome);
        let counters = counted.counters(0, now);
        // With `keep`, a departure may be at a rate that no longer applies, and a bucket is full at
        // first; times are rounded down by less than a nanosecond per packet.
        let burst = match stage.rate {
            RateConfig::TokenBucket { burst, .. } => burst.0,
            _ => 0,
        };
        if let Some(offered) = counters.offered
            && stage.transition == Transition::Retime
        {
            prop_assert!(counters.delivered.bytes <= offered.0 + burst + 2, "{counters:?}");
        }
    }

    #[test]
    fn a_copy_of_a_link_goes_on_as_the_link_does(
        stages in prop::collection::vec(stages(), 1..3),
        arrivals in arrivals(),
        part in 0.0_f64..1.0,
    ) {
        let (before, after) = arrivals.split_at((arrivals.len() as f64 * part) as usize);
        let mut link = link(&stages);
        let until = before.last().map_or(Time::ZERO, |&(at, _)| at);
        run(&mut link, before, until);
        let mut copy = link.clone();
        prop_assert_eq!(run(&mut link, after, LONG), run(&mut copy, after, LONG));
    }
    #[test]
    fn flow_queues_are_never_idle_while_a_packet_waits(
        mut rate in rates(),
        arrivals in arrivals(),
        quantum in 300_u64..3_000,
    ) {
        // The length of the next packet is not known before it is dequeued. It waits for a packet
        // train that consists of a single short packet, and only then for an opportunity.
        if let RateConfig::Mahimahi { light: Some(light), .. } = &mut rate {
            light.first_bytes = 1504;
        }
        let same_length = |(at, frame): (Time, Frame)| (at, Frame { bytes: 1400, ..frame });
        let arrivals: Vec<_> = arrivals.into_iter().map(same_length).collect();
        // With such a long target nothing is dropped, so only the order differs from that of one
        // queue.
        let patient = QueueConfig::FqCodel(FqCodelConfig {
            queues: NonZeroU32::new(64).expect("the constant is greater than 0"),
            quantum: Bytes(quantum),
            target: Duration::from_secs(1_000),
            interval: Duration::from_secs(1_000),
            ecn: false,
            packets: None,
            bytes: None,
        });
        let times = |queue| {
            let stage = StageConfig { rate: rate.clone(), queue, ..StageConfig::default() };
            let outcome = run(&mut link(&[stage]), &arrivals, LONG);
            outcome.left.iter().map(|left| left.at).collect::<Vec<_>>()
        };
        let one_queue = times(QueueConfig::default());
        prop_assert_eq!(times(patient), one_queue);
    }
}
