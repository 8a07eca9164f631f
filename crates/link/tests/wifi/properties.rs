//! Properties of every Wi-Fi channel, whatever its configuration.

use core::num::NonZeroU32;

use cwndlab_link::{
    AccessCategory, AggregationConfig, Alike, AqlConfig, Band, BeaconConfig, DownlinkConfig,
    InterferenceConfig, InterferenceKind, Link, LinkEventKind, NodeConfig, Packet, Probability,
    RadioConfig, RateControlConfig, Stages, Standard, StationDualConfig, StationQueueConfig,
    WifiChannel, WifiConfig,
};
use cwndlab_units::{Duration, Output, Time};
use proptest::prelude::*;

use crate::Numbered;

/// Time, port and packet of an arrival.
#[derive(Clone, Debug)]
struct Arrival {
    at: Time,
    port: u16,
    packet: Numbered,
}

/// An output: time, port and packet; for a drop, the lane instead of the port.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Seen {
    Left(Time, u16, Numbered),
    Dropped(Time, u16, u32),
}

fn standards() -> impl Strategy<Value = WifiConfig> {
    let legacy = prop_oneof![Just(Standard::A), Just(Standard::B), Just(Standard::G)];
    let aggregation = (1_u32..=64, 4096_u32..=65_535, 100_u64..=5_484).prop_map(
        |(max_packets, max_bytes, max_time_us)| AggregationConfig {
            max_packets,
            max_bytes: Some(max_bytes),
            max_time: Duration::from_micros(max_time_us),
        },
    );
    let access = prop::option::of(prop_oneof![
        Just(AccessCategory::Background),
        Just(AccessCategory::Video),
        Just(AccessCategory::Voice),
    ]);
    let high = (any::<bool>(), any::<bool>(), prop::option::of(aggregation), access, 1_usize..4);
    prop_oneof![
        1 => (legacy, 1_usize..4).prop_map(|(standard, stations)| {
            WifiConfig::new(standard, stations)
        }),
        4 => high.prop_map(|(is_ac, is_short, aggregation, access, stations)| {
            let standard = if is_ac { Standard::Ac } else { Standard::N };
            let mut config = WifiConfig {
                short_guard_interval: is_short,
                band: (!is_ac && is_short).then_some(Band::Ghz2),
                aggregation,
                ..WifiConfig::new(standard, stations)
            };
            config.access_point.access = access;
            config
        }),
    ]
}

/// The access point's queue, possibly none.
fn queues() -> impl Strategy<Value = Option<DownlinkConfig>> {
    let count = |count| NonZeroU32::new(count).expect("not 0");
    let stations = (1_u32..200, 0..3, prop::option::of(100_u64..12_000)).prop_map(
        move |(packets, kind, high_us)| {
            let high = high_us.map(Duration::from_micros);
            let aql = high.map(|high| AqlConfig { low: high / 2, high, threshold: high * 2 });
            let packets = count(packets);
            let target = Duration::from_millis(5);
            let queues = StationQueueConfig { packets, aql, target, ..Default::default() };
            match kind {
                0 => DownlinkConfig::FqCodel(queues),
                1 => DownlinkConfig::Airtime(queues),
                _ => {
                    let (max_rtt, threshold) = (target * 4, target / 5);
                    let dual = StationDualConfig { packets, target, max_rtt, threshold, aql };
                    DownlinkConfig::DualPi2(dual)
                }
            }
        },
    );
    let fifo = (1_u32..200, 1_u32..40).prop_map(move |(packets, driver_packets)| {
        DownlinkConfig::Fifo { packets: count(packets), driver_packets: count(driver_packets) }
    });
    prop_oneof![3 => Just(None), 2 => stations.prop_map(Some), 1 => fifo.prop_map(Some)]
}

fn configs() -> impl Strategy<Value = WifiConfig> {
    let interference = (any::<bool>(), 100_u64..4_000, 0_u32..700_000_000).prop_map(
        |(is_hidden, mean_us, share)| InterferenceConfig {
            kind: if is_hidden { InterferenceKind::Hidden } else { InterferenceKind::Heard },
            mean_burst: Duration::from_micros(mean_us),
            share: Probability::from_ppb(share).expect("a probability"),
        },
    );
    let radio = (prop::collection::vec(1_000_i64..60_000, 3), 10_000_i64..20_000);
    let rates = prop_oneof![
        Just(RateControlConfig::Ideal {}),
        Just(RateControlConfig::Minstrel {}),
        (0_u8..4).prop_map(|index| RateControlConfig::Fixed { index }),
    ];
    (
        (standards(), prop::option::of(interference), prop::option::of(radio), rates),
        (0_u32..9, any::<[bool; 3]>(), prop::option::of(20_u64..200), prop::option::of(1_u64..80)),
        (prop::option::of(0_u32..3000), 1_u32..200, queues()),
    )
        .prop_map(
            |(
                (config, interference, radio, rate_control),
                (attempts, [eifs, asks_before_repeating, asks_after_expiry], beacon_ms, queue_ms),
                (rts_threshold_bytes, queue_packets, queue),
            )| {
                let mut config = WifiConfig {
                    interference,
                    rate_control,
                    attempts: NonZeroU32::new(attempts),
                    eifs,
                    asks_before_repeating,
                    asks_after_expiry,
                    rts_threshold_bytes,
                    queue_packets,
                    queue_time: queue_ms.map_or(Duration::MAX, Duration::from_millis),
                    beacons: beacon_ms.map(|interval_ms| BeaconConfig {
                        interval: Duration::from_millis(interval_ms),
                        bytes: 200,
                    }),
                    ..config
                };
                config.access_point.queue = queue;
                if let Some((places, power_mdbm)) = radio
                    && config.standard != Standard::B
                {
                    for (station, x_mm) in config.stations.iter_mut().zip(places) {
                        *station = NodeConfig { x_mm, ..*station };
                    }
                    config.radio = Some(RadioConfig {
                        power_mdbm,
                        noise_figure_mdb: 7_000,
                        path_loss_exponent_milli: 3_000,
                        error_curve: None,
                        implementation_loss_mdb: None,
                    });
                }
                config
            },
        )
}

fn arrivals() -> impl Strategy<Value = Vec<(u64, u16, bool, u32)>> {
    let gap_us = prop_oneof![4 => Just(0_u64), 3 => 0_u64..500, 1 => 0_u64..30_000];
    let bytes = prop_oneof![2 => Just(1500_u32), 1 => Just(52_u32), 1 => 40_u32..1500];
    prop::collection::vec((gap_us, 0_u16..3, any::<bool>(), bytes), 1..250)
}

/// Maps the arrivals to stations that exist.
fn placed(config: &WifiConfig, arrivals: &[(u64, u16, bool, u32)]) -> Vec<Arrival> {
    let mut now = Time::ZERO;
    let arrival = |(number, &(gap_us, user, is_up, bytes)): (usize, &(u64, u16, bool, u32))| {
        now += Duration::from_micros(gap_us);
        let user = user % config.stations.len() as u16 + 1;
        let packet = Numbered::new(number as u32, user, bytes);
        Arrival { at: now, port: if is_up { user } else { 0 }, packet }
    };
    arrivals.iter().enumerate().map(arrival).collect()
}

fn channel(config: &WifiConfig) -> WifiChannel<Numbered> {
    WifiChannel::new(config, 42, "wifi").expect("valid settings")
}

fn drain(channel: &mut WifiChannel<Numbered>, now: Time, seen: &mut Vec<Seen>) {
    loop {
        let wake = channel.wake_time();
        match channel.poll(now) {
            Some(Output::Packet { at, port, packet }) => {
                assert!(at <= now && wake <= now, "left at {at:?}, polled at {now:?}");
                seen.push(Seen::Left(at, port, packet));
            }
            Some(Output::Event { at, event }) => {
                assert!(at <= now, "happened at {at:?}, polled at {now:?}");
                let LinkEventKind::Dropped { flow, .. } = event.kind else { panic!("{event:?}") };
                seen.push(Seen::Dropped(at, event.stage, flow));
            }
            None => return assert!(channel.wake_time() > now, "wakes in the past of {now:?}"),
        }
    }
}

/// Polls at every time up to `end` at which the channel is due.
fn run_until(channel: &mut WifiChannel<Numbered>, end: Time, seen: &mut Vec<Seen>) {
    while channel.wake_time() <= end {
        let time = channel.wake_time();
        drain(channel, time, seen);
    }
    drain(channel, end, seen);
}

fn run(channel: &mut WifiChannel<Numbered>, arrivals: &[Arrival], end: Time) -> Vec<Seen> {
    let mut seen = Vec::new();
    for arrival in arrivals {
        run_until(channel, arrival.at, &mut seen);
        channel.handle_packet(arrival.at, arrival.port, arrival.packet.clone());
        drain(channel, arrival.at, &mut seen);
    }
    run_until(channel, end, &mut seen);
    seen
}

fn left(seen: &[Seen]) -> impl Iterator<Item = (Time, u16, &Numbered)> {
    seen.iter().filter_map(|seen| match seen {
        Seen::Left(at, port, packet) => Some((*at, *port, packet)),
        Seen::Dropped(..) => None,
    })
}

/// Long enough for almost everything to leave.
const LONG: Time = Time::from_secs(40);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_packet_is_made_or_forgotten(config in configs(), arrivals in arrivals()) {
        let arrivals = placed(&config, &arrivals);
        let mut channel = channel(&config);
        let mut seen = Vec::new();
        for (index, arrival) in arrivals.iter().enumerate() {
            run_until(&mut channel, arrival.at, &mut seen);
            channel.handle_packet(arrival.at, arrival.port, arrival.packet.clone());
            drain(&mut channel, arrival.at, &mut seen);
            prop_assert_eq!(index + 1, seen.len() + channel.packets_inside());
        }
        run_until(&mut channel, LONG, &mut seen);
        let mut sum = 0;
        for stage in 0..channel.stages() {
            let counters = channel.counters(stage, LONG);
            let backlog = u64::from(channel.backlog(stage, LONG).packets);
            prop_assert_eq!(
                counters.arrived.packets,
                counters.delivered.packets + counters.dropped.packets + backlog
            );
            let drops = counters.drops;
            prop_assert_eq!(
                counters.dropped.packets,
                drops.loss + drops.overflow + drops.expired + drops.aqm
            );
            sum += counters.arrived.packets;
        }
        prop_assert_eq!(sum, arrivals.len() as u64);
        prop_assert_eq!(seen.len() + channel.packets_inside(), arrivals.len());
        let mut numbers: Vec<u32> = left(&seen).map(|(_, _, packet)| *packet.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), left(&seen).count());
    }

    #[test]
    fn each_way_keeps_its_order_and_leads_where_it_should(
        config in configs(),
        arrivals in arrivals(),
    ) {
        let arrivals = placed(&config, &arrivals);
        let seen = run(&mut channel(&config), &arrivals, LONG);
        prop_assert!(left(&seen).collect::<Vec<_>>().windows(2).all(|p| p[0].0 <= p[1].0));
        let mut last = vec![None; 2 * config.stations.len() + 2];
        // Each packet is its own flow.
        let queue = config.access_point.queue;
        let is_in_order = matches!(queue, None | Some(DownlinkConfig::Fifo { .. }));
        for (at, port, packet) in left(&seen) {
            let arrival = &arrivals[*packet.number as usize];
            let is_up = arrival.port != 0;
            prop_assert_eq!(port, if is_up { 0 } else { packet.user });
            prop_assert!(at > arrival.at);
            if !is_up && !is_in_order {
                continue;
            }
            let last = &mut last[2 * usize::from(packet.user) + usize::from(is_up)];
            prop_assert!(*last < Some(*packet.number));
            *last = Some(*packet.number);
        }
    }

    #[test]
    fn late_polling_changes_no_time(
        config in configs(),
        arrivals in arrivals(),
        polls in prop::collection::vec(0_u64..300_000, 0..40),
    ) {
        let arrivals = placed(&config, &arrivals);
        let punctual = run(&mut channel(&config), &arrivals, LONG);
        let mut polls: Vec<Time> = polls.into_iter().map(Time::from_micros).collect();
        polls.sort_unstable();
        let mut polls = polls.into_iter().peekable();
        let mut channel = channel(&config);
        let mut late = Vec::new();
        for arrival in &arrivals {
            while let Some(time) = polls.next_if(|&time| time < arrival.at) {
                drain(&mut channel, time, &mut late);
            }
            channel.handle_packet(arrival.at, arrival.port, arrival.packet.clone());
        }
        drain(&mut channel, LONG, &mut late);
        prop_assert_eq!(late, punctual);
    }

    #[test]
    fn packets_enter_together_as_they_do_one_by_one(
        config in configs(),
        arrivals in arrivals(),
        counts in prop::collection::vec(1_u32..60, 40),
    ) {
        let arrivals = placed(&config, &arrivals);
        let (mut together, mut alone) = (channel(&config), channel(&config));
        let [mut seen_together, mut seen_alone] = [Vec::new(), Vec::new()];
        for (&count, Arrival { at, port, packet }) in counts.iter().zip(&arrivals) {
            let (at, port, user, wire_bytes) = (*at, *port, packet.user, packet.wire_bytes());
            let first = 60 * *packet.number;
            let mut train = (first..).map(|number| Numbered::new(number, user, wire_bytes));
            run_until(&mut together, at, &mut seen_together);
            run_until(&mut alone, at, &mut seen_alone);
            for packet in train.clone().take(count as usize) {
                alone.handle_packet(at, port, packet);
            }
            let alike = Alike { user, wire_bytes, count };
            together.handle_alike(at, port, alike, |place| *place = train.next());
            prop_assert_eq!(train.next().map(|next| *next.number), Some(first + count));
        }
        run_until(&mut together, LONG, &mut seen_together);
        run_until(&mut alone, LONG, &mut seen_alone);
        prop_assert_eq!(seen_together, seen_alone);
        for stage in 0..alone.stages() {
            prop_assert_eq!(together.counters(stage, LONG), alone.counters(stage, LONG));
        }
    }

    #[test]
    fn a_copy_goes_on_as_the_channel_does(
        config in configs(),
        arrivals in arrivals(),
        part in 0.0_f64..1.0,
    ) {
        let arrivals = placed(&config, &arrivals);
        let (before, after) = arrivals.split_at((arrivals.len() as f64 * part) as usize);
        let mut channel = channel(&config);
        let until = before.last().map_or(Time::ZERO, |arrival| arrival.at);
        run(&mut channel, before, until);
        let mut copy = channel.clone();
        prop_assert_eq!(run(&mut channel, after, LONG), run(&mut copy, after, LONG));
    }
}
