//! Wires and media in series, in any order: properties that always hold.

mod common;

use cwndlab_link::{
    AnyLink, ChainConfig, Direction, Distance, Link, LinkEventKind, LossConfig, PathConfig,
    PoliceConfig, Probability, QueueConfig, RateConfig, RateControlConfig, StageConfig, StageError,
    Stages, Standard, Traces, WifiConfig, WireConfig,
};
use cwndlab_units::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;

use common::cell::lte;
use common::{Frame, Outcome, drain, ms, run_until, us};

const USERS: u16 = 3;
const LONG: Time = Time::from_secs(60);

fn rated(mbit_s: u64, packets: u32, delay_us: u64) -> StageConfig {
    StageConfig {
        rate: RateConfig::Fixed { rate: Rate::from_mbit_per_sec(mbit_s) },
        queue: QueueConfig::DropTail { packets: Some(packets), bytes: None },
        delay: Duration::from_micros(delay_us),
        ..StageConfig::default()
    }
}

fn wires() -> impl Strategy<Value = PathConfig> {
    let stage = (1_u64..200, 2_u32..60, 0_u64..30_000, any::<[bool; 3]>(), 0_u32..30_000_000);
    let stage =
        stage.prop_map(|(mbit_s, packets, delay_us, [is_codel, is_lossy, is_policed], ppb)| {
            let queue = QueueConfig::Codel {
                target: Duration::from_millis(2),
                interval: Duration::from_millis(20),
                ecn: false,
                packets: Some(packets),
                bytes: None,
            };
            let rate = Rate::from_mbit_per_sec(mbit_s);
            let wire = rated(mbit_s, packets, delay_us);
            StageConfig {
                queue: if is_codel { queue } else { wire.queue },
                loss: is_lossy.then(|| LossConfig::Iid {
                    probability: Probability::from_ppb(ppb).expect("a probability"),
                }),
                police: is_policed.then_some(PoliceConfig { rate, burst: Bytes(20_000) }),
                ..wire
            }
        });
    let way = || prop::collection::vec(stage.clone(), 0..3);
    (way(), way()).prop_map(|(forward, reverse)| PathConfig::Wire(WireConfig { forward, reverse }))
}

fn media() -> impl Strategy<Value = PathConfig> {
    let wifi = prop::option::of(0_u64..20).prop_map(|wire_ms| {
        PathConfig::Wifi(Box::new(WifiConfig {
            rate_control: RateControlConfig::Fixed { index: 7 },
            wire_delay: wire_ms.map(Duration::from_millis),
            ..WifiConfig::new(Standard::N, usize::from(USERS))
        }))
    });
    let cell = Just(()).prop_map(|()| PathConfig::Cell(Box::new(lte(50, usize::from(USERS), 12))));
    prop_oneof![wifi, cell]
}

fn chains() -> impl Strategy<Value = PathConfig> {
    let links = prop::collection::vec(prop_oneof![wires(), media()], 1..5);
    let nested = links.clone().prop_map(|links| PathConfig::Chain(ChainConfig { links }));
    (links, prop::option::of(nested)).prop_map(|(mut links, nested)| {
        links.extend(nested);
        PathConfig::Chain(ChainConfig { links })
    })
}

fn link(config: &PathConfig) -> AnyLink<Frame> {
    AnyLink::shared(config, &Traces::new(), 7).expect("valid settings")
}

/// Time, port and length of each arrival.
fn arrivals() -> impl Strategy<Value = Vec<(Time, u16, Frame)>> {
    let gap_us = prop_oneof![4 => Just(0_u64), 3 => 0_u64..900, 1 => 0_u64..20_000];
    let bytes = prop_oneof![2 => Just(1500_u32), 1 => Just(52_u32)];
    prop::collection::vec((gap_us, 1..=USERS, any::<bool>(), bytes), 1..200).prop_map(|arrivals| {
        let mut now_us = 0;
        let arrival = |(number, (gap_us, user, is_up, bytes))| {
            now_us += gap_us;
            (us(now_us), if is_up { user } else { 0 }, Frame::of(user, number, bytes))
        };
        (0..).zip(arrivals).map(arrival).collect()
    })
}

fn dropped(outcome: &Outcome) -> Vec<u32> {
    let flow = |&(_, event): &(Time, cwndlab_link::LinkEvent)| match event.kind {
        LinkEventKind::Dropped { flow, .. } => Some(flow),
        _ => None,
    };
    outcome.events.iter().filter_map(flow).collect()
}

fn punctual(link: &mut AnyLink<Frame>, arrivals: &[(Time, u16, Frame)]) -> Outcome {
    let mut outcome = Outcome::default();
    for (at, port, frame) in arrivals {
        run_until(link, *at, &mut outcome);
        link.handle_packet(*at, *port, frame.clone());
    }
    run_until(link, LONG, &mut outcome);
    outcome
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Also: downlink packets leave at their user's port, unless no medium distinguishes users.
    #[test]
    fn every_packet_leaves_once_at_its_port_or_is_dropped_once(
        config in chains(),
        arrivals in arrivals(),
    ) {
        let mut link = link(&config);
        let outcome = punctual(&mut link, &arrivals);
        prop_assert!(outcome.left.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let mut seen = outcome.numbers();
        seen.extend(dropped(&outcome));
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..arrivals.len() as u32).collect::<Vec<_>>());
        for left in &outcome.left {
            let (_, port, frame) = &arrivals[left.number as usize];
            let user = config.users().map_or(1, |_| frame.user);
            prop_assert_eq!(left.port, if *port == 0 { user } else { 0 });
        }
    }

    #[test]
    fn polling_late_changes_no_time(config in chains(), arrivals in arrivals(), polled in 1_usize..50) {
        let expected = punctual(&mut link(&config), &arrivals);
        let mut link = link(&config);
        let mut late = Outcome::default();
        for (number, (at, port, frame)) in arrivals.iter().enumerate() {
            if number % polled == 0 {
                drain(&mut link, *at, &mut late);
            }
            link.handle_packet(*at, *port, frame.clone());
        }
        drain(&mut link, LONG, &mut late);
        let key = |outcome: &Outcome| {
            let mut left = outcome.left.clone();
            left.sort_by_key(|left| (left.at, left.port, left.number));
            let mut gone = dropped(outcome);
            gone.sort_unstable();
            (left, gone)
        };
        prop_assert_eq!(key(&late), key(&expected));
    }

    #[test]
    fn stages_count_what_the_next_one_is_given(config in chains(), arrivals in arrivals()) {
        let mut link = link(&config);
        punctual(&mut link, &arrivals);
        for direction in Direction::BOTH {
            let passed = config.stages(direction);
            prop_assert_eq!(passed.len(), link.stages_of(direction, 1).len());
        }
        for (direction, is_up) in [(Direction::Forward, false), (Direction::Reverse, true)] {
            let came = |user: Option<u16>| {
                let of = |(_, port, frame): &&(Time, u16, Frame)| {
                    (*port > 0) == is_up && user.is_none_or(|user| frame.user == user)
                };
                arrivals.iter().filter(of).count() as u64
            };
            // A wire's counters cover all users, a medium's only one.
            if config.users().is_none() {
                let mut expected = came(None);
                for counters in link.counters_of(direction, 1, LONG) {
                    prop_assert_eq!(counters.arrived.packets, expected);
                    expected = counters.delivered.packets;
                }
            } else if let [first, ..] = &link.counters_of(direction, 1, LONG)[..] {
                prop_assert!(first.arrived.packets <= came(None));
            }
        }
    }
}

#[test]
fn a_channel_behind_a_wire_is_as_fast_as_the_wire_and_its_events_name_the_stage() {
    let wifi = WifiConfig {
        rate_control: RateControlConfig::Fixed { index: 7 },
        ..WifiConfig::new(Standard::N, 2)
    };
    let wire =
        WireConfig { forward: vec![rated(10, 20, 5_000)], reverse: vec![rated(2, 20, 5_000)] };
    let links = vec![PathConfig::Wire(wire), PathConfig::Wifi(Box::new(wifi))];
    let mut link = link(&PathConfig::Chain(ChainConfig { links }));
    assert_eq!(link.stages(), 2 + 4);
    assert_eq!(link.stages_of(Direction::Forward, 2), [0, 4]);
    assert_eq!(link.stages_of(Direction::Reverse, 2), [5, 1]);
    let mut outcome = Outcome::default();
    for number in 0..1_000 {
        let at = us(u64::from(number) * 600);
        run_until(&mut link, at, &mut outcome);
        link.handle_packet(at, 0, Frame::of(2, number, 1_500));
    }
    run_until(&mut link, LONG, &mut outcome);
    // 12,000 bits per 1.2 ms, for 600 ms and the queue at the end.
    assert!((500..=521).contains(&outcome.left.len()), "{}", outcome.left.len());
    assert!(outcome.events.iter().all(|(_, event)| event.stage == 0));
    assert!(outcome.left.iter().all(|left| left.port == 2));
    link.handle_packet(LONG, 2, Frame::of(2, 5_000, 1_500));
    let mut up = Outcome::default();
    run_until(&mut link, Time::from_secs(70), &mut up);
    let took_us = (up.left[0].at - LONG).as_nanos() / 1_000;
    // 6 ms at 2 Mbit/s, 5 ms of wire, and the channel's fraction of a millisecond.
    assert!((11_000..12_000).contains(&took_us), "{took_us}");
    assert_eq!(link.counters(1, Time::from_secs(70)).delivered.packets, 1);
}

#[test]
fn media_of_one_chain_have_the_same_users_and_a_chain_has_a_link() {
    let wifi = |users| PathConfig::Wifi(Box::new(WifiConfig::new(Standard::N, users)));
    let error = |links| {
        let config = PathConfig::Chain(ChainConfig { links });
        AnyLink::<Frame>::shared(&config, &Traces::new(), 1).expect_err("no chain")
    };
    let different = error(vec![wifi(1), PathConfig::Cell(Box::new(lte(50, 2, 10)))]);
    assert_eq!(different.problem, StageError::DifferentUsers { first: 1, other: 2 });
    assert_eq!(different.place, "links");
    assert_eq!(error(Vec::new()).problem, StageError::NoLinks);
    let bad = StageConfig {
        queue: QueueConfig::Step {
            mark_bytes: None,
            mark_packets: None,
            packets: None,
            bytes: None,
        },
        ..StageConfig::default()
    };
    let wire = PathConfig::Wire(WireConfig { forward: vec![bad], reverse: Vec::new() });
    assert_eq!(error(vec![wifi(1), wire]).place, "links.1.forward.0");
}

#[test]
fn a_chain_is_written_as_it_is_read() {
    let json = r#"{"kind":"chain","links":[{"kind":"wire","forward":[{"delay_ns":5000000}]}]}"#;
    let config: PathConfig = serde_json::from_str(json).expect("a chain");
    let again: PathConfig =
        serde_json::from_str(&serde_json::to_string(&config).expect("json")).expect("a chain");
    assert_eq!(config, again);
    assert!(serde_json::from_str::<PathConfig>(r#"{"kind":"chain","links":[],"x":1}"#).is_err());
}

#[test]
fn a_distance_has_no_stage() {
    let mut distance = Distance::new(Duration::from_millis(3));
    distance.handle_packet(ms(1), 0, Frame::new(1, 100));
    distance.handle_packet(ms(2), 1, Frame::new(2, 100));
    let mut outcome = Outcome::default();
    drain(&mut distance, ms(10), &mut outcome);
    let left: Vec<_> = outcome.left.iter().map(|left| (left.at, left.port)).collect();
    assert_eq!(left, [(ms(4), 1), (ms(5), 0)]);
    assert_eq!(Stages::stages(&distance), 0);
}
