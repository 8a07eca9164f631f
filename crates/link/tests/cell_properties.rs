//! Properties of every cell, whatever its configuration.

mod common;

use core::num::NonZeroU32;

use common::cell::{access, cell, direction, hsdpa, lte, nr, ppb, user};
use common::{Frame, Outcome, drain, run_until, us};
use cwndlab_link::cellular::{
    BackgroundConfig, BlockErrors, Cell, CellConfig, DirectionConfig, HandoverConfig, RadioConfig,
    RlcConfig, RrcConfig, SchedulerConfig, UmtsDownlink, UmtsUplink,
};
use cwndlab_link::channel::{
    AdaptationConfig, Decibel, DriftConfig, FadingConfig, OuterLoopConfig,
};
use cwndlab_link::{AqmConfig, Direction, EarlyDiscard, Link, LinkEventKind, PoliceConfig, Stages};
use cwndlab_units::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;

const LONG: Time = Time::from_secs(1000);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn rlc() -> impl Strategy<Value = RlcConfig> {
    prop_oneof![
        (0_u64..100).prop_map(|recovery| RlcConfig::Acknowledged { recovery: ms(recovery) }),
        (0_u64..60).prop_map(|time| RlcConfig::Unacknowledged { reordering: ms(time) }),
        Just(RlcConfig::Transparent {}),
    ]
}

fn schedulers() -> impl Strategy<Value = SchedulerConfig> {
    prop_oneof![
        Just(SchedulerConfig::RoundRobin),
        Just(SchedulerConfig::MaxCi),
        (2_u32..200).prop_map(|window| SchedulerConfig::ProportionalFair { window }),
    ]
}

fn managements() -> impl Strategy<Value = AqmConfig> {
    let (target, interval, ecn) = (ms(5), ms(40), false);
    let (queues, quantum) = (NonZeroU32::MIN.saturating_add(15), Bytes(1514));
    prop_oneof![
        Just(AqmConfig::Codel { target, interval, ecn }),
        Just(AqmConfig::FqCodel { queues, quantum, target, interval, ecn }),
        Just(AqmConfig::Pie { target: ms(15), burst: ms(30), ecn }),
        Just(AqmConfig::DualPi2 { target: ms(15), max_rtt: ms(40), threshold: ms(1) }),
    ]
}

fn directions() -> impl Strategy<Value = DirectionConfig> {
    (
        (rlc(), schedulers(), prop::option::of(2_u32..40), prop::option::of(3_000_u64..60_000)),
        (prop::option::of(5_u64..80), 1_u8..5, 0_u32..300, 0_u32..50, any::<bool>()),
        (0_u64..20, 0_u64..8, any::<bool>(), prop::option::of(managements())),
    )
        .prop_map(
            |(
                (rlc, scheduler, queue_packets, queue_bytes),
                (discard, transmissions, errors, loss, is_adaptive),
                (core, jitter, is_framed, aqm),
            )| {
                let adaptation = if is_adaptive {
                    AdaptationConfig::Reports {
                        period: ms(5),
                        delay: ms(6),
                        outer_loop: Some(OuterLoopConfig {
                            target: ppb(100_000_000),
                            step_mdb: Decibel::from_milli(500),
                        }),
                    }
                } else {
                    AdaptationConfig::Fixed { scheme: 6 }
                };
                DirectionConfig {
                    core_delay: ms(core),
                    core_jitter: ms(jitter),
                    core_frame: if is_framed { ms(10) } else { Duration::ZERO },
                    queue_packets,
                    queue_bytes: queue_bytes.map(Bytes),
                    discard: discard.map(ms).filter(|_| aqm.is_none()),
                    early_discard: queue_packets.filter(|most| *most > 10 && aqm.is_none()).map(
                        |most| EarlyDiscard { at_packets: most / 2, spacing_packets: most % 7 + 1 },
                    ),
                    aqm,
                    ack_filter: None,
                    ack_thinning: None,
                    residual_loss: ppb(loss * 1_000_000),
                    rlc,
                    scheduler,
                    adaptation,
                    block_errors: BlockErrors::Given { ppb: vec![ppb(errors * 1_000_000)] },
                    transmissions,
                    feedback_error: ppb(10_000_000),
                }
            },
        )
}

fn technologies() -> impl Strategy<Value = CellConfig> {
    let umts = |downlink, uplink| CellConfig {
        radio: RadioConfig::Umts { downlink, uplink },
        ..hsdpa(8, 1, 0)
    };
    prop_oneof![
        Just(lte(6, 1, 6)),
        Just(lte(50, 1, 6)),
        Just(nr("DDDSU", 6, 5)),
        Just(nr("DDDDDDDAUU", 6, 20)),
        Just(hsdpa(8, 1, 6)),
        Just(hsdpa(11, 1, 6)),
        Just(umts(UmtsDownlink::Dedicated { kbit_s: 64 }, UmtsUplink::Dedicated { kbit_s: 64 })),
        Just(umts(
            UmtsDownlink::Hsdpa { category: 6 },
            UmtsUplink::Hsupa { category: 6, ramp: ms(100) }
        )),
    ]
}

fn configs() -> impl Strategy<Value = CellConfig> {
    let sleep = prop::option::of((prop::option::of(5_u64..50), 60_u64..200, 0_u64..100));
    let handover = prop::option::of((any::<bool>(), 20_u64..80));
    (technologies(), directions(), directions(), 1_usize..4, 0_u16..3, sleep, handover)
        .prop_flat_map(|(base, down, up, users, others, sleep, handover)| {
            let keep = prop_oneof![Just(0_u64), Just(10), Just(1_000_000)];
            let grant = prop::option::of(60_u32..3000);
            let reports = prop::option::of((0_u64..40, 0_u64..400));
            (Just((base, down, up, users, others, sleep, handover)), keep, grant, reports)
        })
        .prop_map(|((base, down, up, users, others, sleep, handover), keep, grant, reports)| {
            // A dedicated channel has only one scheme.
            let is_dedicated = |is_down: bool| match &base.radio {
                RadioConfig::Umts { downlink, .. } => {
                    !is_down || matches!(downlink, UmtsDownlink::Dedicated { .. })
                }
                _ => false,
            };
            let fixed = |config: DirectionConfig, is_down| {
                let adaptation = AdaptationConfig::Fixed { scheme: 0 };
                if is_dedicated(is_down) {
                    DirectionConfig { adaptation, ..config }
                } else {
                    config
                }
            };
            let fading = Some(FadingConfig { doppler_mhz: 20_000, branches: 2, rice_mdb: None });
            let drifts =
                vec![DriftConfig { sigma_mdb: Decibel::from_whole(3), correlation: ms(50) }];
            let one = user(12);
            CellConfig {
                downlink: fixed(down, true),
                uplink: fixed(up, false),
                access: base.access.map(|access| cwndlab_link::cellular::AccessConfig {
                    first_grant_bytes: grant,
                    keep_alive: ms(keep),
                    reports: reports.map(|(period, repeat)| {
                        let (period, repeat) = (ms(period), ms(repeat));
                        cwndlab_link::cellular::ReportsConfig { period, repeat }
                    }),
                    ..access
                }),
                users: vec![cwndlab_link::cellular::UserConfig { fading, drifts, ..one }; users],
                background: vec![BackgroundConfig {
                    users: others,
                    direction: Direction::Forward,
                    lowest_mdb: Decibel::from_whole(0),
                    highest_mdb: Decibel::from_whole(20),
                    fading,
                    on: ms(30),
                    off: ms(40),
                }],
                rrc: sleep.map(|(drx, inactivity, promotion)| RrcConfig {
                    drx_after: drx.map(ms),
                    drx_cycle: ms(20),
                    inactivity: ms(inactivity),
                    promotion_least: ms(promotion / 2),
                    promotion_most: ms(promotion),
                    paging_cycle: ms(64),
                }),
                handover: handover.map(|(is_lossless, interruption)| HandoverConfig {
                    interval: ms(400),
                    interruption: ms(interruption),
                    is_lossless,
                }),
                police: (others == 2).then_some(PoliceConfig {
                    rate: Rate::from_mbit_per_sec(2),
                    burst: Bytes(6_000),
                }),
                ..base
            }
        })
}

/// Time, port and frame of each arrival.
type Arrivals = Vec<(Time, u16, Frame)>;

fn arrivals() -> impl Strategy<Value = Arrivals> {
    let arrival = (
        prop_oneof![4 => Just(0_u64), 4 => 0_u64..3_000, 2 => 0_u64..30_000, 1 => 0_u64..400_000],
        prop_oneof![3 => Just(1500_u32), 2 => 40_u32..1500],
        prop_oneof![2 => Just(0_u16), 1 => 1_u16..4],
    );
    prop::collection::vec(arrival, 1..120).prop_map(|arrivals| {
        let mut now_us = 0;
        let mut frames = Vec::new();
        for (number, (gap_us, bytes, port)) in arrivals.into_iter().enumerate() {
            // Arrivals must coincide with slots.
            now_us += if gap_us > 1_500 { gap_us / 1000 * 1000 } else { gap_us };
            let port_down = number as u16 % 3 + 1;
            let user = if port == 0 { port_down } else { port };
            frames.push((us(now_us), port, Frame::of(user, number as u32, bytes)));
        }
        frames
    })
}

/// Maps a frame to the users of a cell; a missing user becomes user 1.
fn entering(config: &CellConfig, port: u16, frame: &Frame) -> (u16, Frame) {
    let user = if usize::from(frame.user) <= config.users.len() { frame.user } else { 1 };
    (if port == 0 { 0 } else { user }, Frame { user, ..frame.clone() })
}

/// Passes all arrivals at their times; polls whenever the cell is due.
fn punctual(config: &CellConfig, arrivals: &Arrivals) -> (Cell<Frame>, Outcome) {
    let mut cell = cell(config, 42);
    let mut outcome = Outcome::default();
    for (at, port, frame) in arrivals {
        run_until(&mut cell, *at, &mut outcome);
        let (port, frame) = entering(config, *port, frame);
        cell.handle_packet(*at, port, frame);
        drain(&mut cell, *at, &mut outcome);
    }
    run_until(&mut cell, LONG, &mut outcome);
    (cell, outcome)
}

fn drops(outcome: &Outcome) -> usize {
    let is_drop = |kind| matches!(kind, LinkEventKind::Dropped { .. });
    outcome.events.iter().filter(|(_, event)| is_drop(event.kind)).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1200))]

    #[test]
    fn no_packet_is_made_or_forgotten(config in configs(), arrivals in arrivals()) {
        let (mut cell, outcome) = punctual(&config, &arrivals);
        prop_assert_eq!(outcome.left.len() + drops(&outcome), arrivals.len());
        let mut numbers = outcome.numbers();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), outcome.left.len());
        let (mut arrived, mut delivered, mut dropped) = (0, 0, 0);
        for stage in 0..cell.stages() {
            let counters = cell.counters(stage, LONG);
            let gone = counters.delivered.bytes + counters.dropped.bytes;
            prop_assert_eq!(counters.arrived.bytes, gone);
            let by_reason = counters.drops;
            let sum = by_reason.loss + by_reason.outage + by_reason.overflow + by_reason.aqm + by_reason.policed;
            prop_assert_eq!(counters.dropped.packets, sum);
            prop_assert_eq!(cell.backlog(stage, LONG).packets, 0);
            arrived += counters.arrived.packets as usize;
            delivered += counters.delivered.packets as usize;
            dropped += counters.dropped.packets as usize;
        }
        prop_assert_eq!(arrived, arrivals.len());
        prop_assert_eq!(delivered, outcome.left.len());
        prop_assert_eq!(dropped, drops(&outcome));
    }

    #[test]
    fn late_polling_and_looking_change_no_time(
        config in configs(),
        arrivals in arrivals(),
        polls in prop::collection::vec((0_u64..4_000_000, any::<bool>()), 0..40),
    ) {
        let (_, punctual) = punctual(&config, &arrivals);
        let mut polls: Vec<_> = polls.into_iter().map(|(at, looks)| (us(at), looks)).collect();
        polls.sort_unstable();
        let mut polls = polls.into_iter().peekable();
        let mut cell = cell(&config, 42);
        let mut late = Outcome::default();
        for (at, port, frame) in &arrivals {
            while let Some((time, looks)) = polls.next_if(|(time, _)| time < at) {
                if looks {
                    cell.backlog(0, time);
                    cell.counters(1, time);
                } else {
                    drain(&mut cell, time, &mut late);
                }
            }
            let (port, frame) = entering(&config, *port, frame);
            cell.handle_packet(*at, port, frame);
        }
        drain(&mut cell, LONG, &mut late);
        // Packets that leave at one time on both sides have no order.
        let sorted = |outcome: &Outcome| {
            let mut left = outcome.left.clone();
            left.sort_by_key(|left| (left.at, left.port));
            left
        };
        prop_assert_eq!(sorted(&late), sorted(&punctual));
        let sorted = |outcome: &Outcome| {
            let mut events = outcome.events.clone();
            events.sort_by_key(|&(at, event)| (at, event.stage));
            events
        };
        prop_assert_eq!(sorted(&late), sorted(&punctual));
    }

    #[test]
    fn packets_leave_in_order_and_no_earlier_than_a_block_takes(
        config in configs(),
        arrivals in arrivals(),
    ) {
        let (_, outcome) = punctual(&config, &arrivals);
        prop_assert!(outcome.left.windows(2).all(|pair| pair[0].at <= pair[1].at));
        prop_assert!(outcome.events.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        for port in 0..=config.users.len() as u16 {
            for from in 0..=config.users.len() as u16 {
                let side = if port == 0 { &config.uplink } else { &config.downlink };
                // With flow queues, packets of one flow may overtake those of another.
                let has_flow_queues = matches!(side.aqm, Some(AqmConfig::FqCodel { .. }));
                if matches!(side.rlc, RlcConfig::Transparent {}) || has_flow_queues {
                    continue;
                }
                let direction = outcome.left.iter().filter(|left| {
                    let (_, entry, frame) = &arrivals[left.number as usize];
                    left.port == port && entering(&config, *entry, frame).0 == from
                });
                let numbers: Vec<u32> = direction.map(|left| left.number).collect();
                prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
        for left in &outcome.left {
            let side = if left.port == 0 { &config.uplink } else { &config.downlink };
            let came = arrivals[left.number as usize].0;
            prop_assert!(left.at > came + side.core_delay);
        }
    }

    #[test]
    fn what_others_send_does_not_move_the_channel(config in configs(), arrivals in arrivals()) {
        let sinr = |arrivals: &Arrivals| {
            let mut cell = cell(&config, 42);
            cell.record_blocks();
            let mut outcome = Outcome::default();
            for (at, port, frame) in arrivals {
                let (port, frame) = entering(&config, *port, frame);
            cell.handle_packet(*at, port, frame);
            }
            run_until(&mut cell, LONG, &mut outcome);
            let key = |block: &cwndlab_link::cellular::BlockRecord| {
                (block.at, block.direction as u8, block.port)
            };
            let blocks = cell.take_blocks();
            let blocks = blocks.iter().filter(|block| block.payload_bytes > 0);
            blocks.map(|block| (key(block), block.sinr)).collect::<Vec<_>>()
        };
        let all = sinr(&arrivals);
        let half: Arrivals = arrivals.iter().step_by(2).cloned().collect();
        for (key, ratio) in sinr(&half) {
            if let Some((_, other)) = all.iter().find(|(other, _)| *other == key) {
                prop_assert_eq!(*other, ratio);
            }
        }
    }
}

#[test]
fn a_copy_of_a_cell_goes_on_as_the_cell_does() {
    let config = CellConfig {
        downlink: DirectionConfig { block_errors: common::cell::errors(20, 5), ..direction(6) },
        access: Some(access(10)),
        users: vec![user(12); 2],
        ..lte(25, 2, 6)
    };
    let mut first = cell(&config, 3);
    let mut outcome = Outcome::default();
    for number in 0..200 {
        first.handle_packet(Time::ZERO, 0, Frame::new(number, 1500));
    }
    run_until(&mut first, Time::from_millis(50), &mut outcome);
    let mut second = first.clone();
    let (mut one, mut two) = (Outcome::default(), Outcome::default());
    run_until(&mut first, LONG, &mut one);
    run_until(&mut second, LONG, &mut two);
    assert_eq!(one, two);
    assert_eq!(one.left.len() + outcome.left.len(), 200);
}
