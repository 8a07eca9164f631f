//! Tests of single frames, and of each setting.

use core::num::NonZeroU32;

use cwndlab_link::{
    AccessCategory, AggregationConfig, BeaconConfig, DropReason, InterferenceConfig,
    InterferenceKind, Link, LinkEventKind, Probability, RadioConfig, RateControlConfig, Stages,
    Standard, WifiChannel, WifiConfig, WifiStatistics,
};
use cwndlab_units::{Duration, Output, Time};

use crate::Numbered;
use crate::common::{Frame, Outcome, run_until, us};
use crate::saturation::saturate;

const END: Time = Time::from_secs(31);
const TIMES: (Time, Time) = (Time::from_secs(1), END);
const IP: (u32, u32) = (1500, 1500);

fn n(stations: usize) -> WifiConfig {
    WifiConfig {
        rate_control: RateControlConfig::Fixed { index: 7 },
        aggregation: Some(AggregationConfig::default()),
        ..WifiConfig::new(Standard::N, stations)
    }
}

fn channel(config: &WifiConfig) -> WifiChannel<Frame> {
    WifiChannel::new(config, 1, "wifi").expect("a channel")
}

fn with_radio(config: WifiConfig, metres: &[i64]) -> WifiConfig {
    let mut config = WifiConfig {
        radio: Some(RadioConfig {
            power_mdbm: 16_000,
            noise_figure_mdb: 7_000,
            path_loss_exponent_milli: 3_000,
            error_curve: None,
            implementation_loss_mdb: None,
        }),
        ..config
    };
    for (station, metres) in config.stations.iter_mut().zip(metres) {
        station.x_mm = metres * 1_000;
    }
    config
}

/// Mbit/s of saturated stations.
fn throughput(config: &WifiConfig) -> f64 {
    saturate(&mut channel(config), config.stations.len() as u16, IP, TIMES).0
}

#[test]
fn a_lone_packet_takes_the_channel_at_once() {
    let mut channel = channel(&n(1));
    let mut outcome = Outcome::default();
    // 36 us of preamble and ceil((22 + 8 * 1538) / 260) = 48 symbols of 4 us.
    channel.handle_packet(us(1_000), 1, Frame::new(0, 1500));
    run_until(&mut channel, us(2_000), &mut outcome);
    assert_eq!(outcome.left[0].at, us(1_000 + 36 + 192));
    assert_eq!(outcome.left[0].port, 0);
    // The other direction: after SIFS and the ACK of 28 us follows AIFS, and the channel is long
    // idle.
    channel.handle_packet(us(3_000), 0, Frame::new(1, 1500));
    run_until(&mut channel, us(4_000), &mut outcome);
    assert_eq!((outcome.left[1].at, outcome.left[1].port), (us(3_228), 1));
}

#[test]
fn what_comes_while_the_channel_is_busy_shares_the_next_frame() {
    let mut channel = channel(&n(1));
    let mut outcome = Outcome::default();
    for number in 0..10 {
        channel.handle_packet(us(1_000 + number), 1, Frame::new(number as u32, 1500));
    }
    run_until(&mut channel, us(10_000), &mut outcome);
    assert_eq!(outcome.numbers(), (0..10).collect::<Vec<_>>());
    let times: Vec<Time> = outcome.left.iter().map(|left| left.at).collect();
    assert!(times[0] < times[1]);
    assert!(times[1..].iter().all(|&time| time == times[1]));
    assert_eq!(channel.statistics().frames, 2);
}

#[test]
fn an_access_point_sends_to_the_station_whose_packet_waited_longest() {
    let mut channel: WifiChannel<Numbered> = WifiChannel::new(&n(3), 1, "wifi").expect("a channel");
    for (number, user) in [2, 3, 1, 2, 3].into_iter().enumerate() {
        let at = us(1_000 + number as u64);
        channel.handle_packet(at, 0, Numbered::new(number as u32, user, 1500));
    }
    let mut left = Vec::new();
    let mut now = us(1_010);
    loop {
        match channel.poll(now) {
            Some(Output::Packet { port, packet, .. }) => left.push((port, *packet.number)),
            None if !channel.wake_time().is_never() => now = channel.wake_time(),
            _ => break,
        }
    }
    // The first frame is sent alone, and contains no other station's packet.
    assert_eq!(left, [(2, 0), (3, 1), (3, 4), (1, 2), (2, 3)]);
    assert_eq!(channel.statistics().frames, 4);
}

#[test]
fn two_ways_share_the_channel_and_what_waits_is_aggregated() {
    // One station sends, and receives a small packet for every second one of its own, as in TCP.
    let mut channel: WifiChannel<Numbered> = WifiChannel::new(&n(1), 1, "wifi").expect("a channel");
    for number in 0..100 {
        channel.handle_packet(Time::ZERO, 1, Numbered::new(number, 1, 1500));
    }
    let (mut now, mut data, mut answers) = (Time::ZERO, 0, 0);
    while now < Time::from_secs(10) {
        match channel.poll(now) {
            Some(Output::Packet { at, port: 0, packet }) => {
                data += 1;
                channel.handle_packet(at, 1, packet);
                if data % 2 == 0 {
                    channel.handle_packet(at, 0, Numbered::new(data, 1, 52));
                }
            }
            Some(Output::Packet { .. }) => answers += 1,
            None => now = channel.wake_time(),
            other => panic!("{other:?}"),
        }
    }
    let mbit_s = f64::from(data) * 1500.0 * 8.0 / 10e6;
    assert!(answers >= data / 2 - 100, "{answers} of {data}");
    // Without the other direction it would be 60.7; the small packets cost one frame, not one each.
    assert!((50.0..57.0).contains(&mbit_s), "{mbit_s}");
    let statistics = channel.statistics();
    let collided = statistics.collided_frames as f64 / statistics.frames as f64;
    assert!((0.01..0.15).contains(&collided), "{collided}");
    // Both directions have about the same number of frames.
    let per_frame = statistics.packets as f64 / statistics.frames as f64;
    assert!(per_frame > 15.0, "{per_frame}");
}

#[test]
fn aggregation_is_what_makes_high_rates_worth_it() {
    let alone = WifiConfig { aggregation: None, ..n(1) };
    let limited = |max_packets| WifiConfig {
        aggregation: Some(AggregationConfig { max_packets, ..AggregationConfig::default() }),
        ..n(1)
    };
    // A frame of 228 us, 44 us of SIFS and ACK, 43 us of AIFS and 7.5 slots: 12000 bits in 382.5
    // us.
    let mbit_s = throughput(&alone);
    assert!((mbit_s - 31.37).abs() < 0.2, "{mbit_s}");
    assert!((throughput(&limited(1)) - mbit_s).abs() < 1e-9);
    // A frame of 1520 us with eight packets.
    let eight = throughput(&limited(8));
    assert!((55.0..57.0).contains(&eight), "{eight}");
}

#[test]
fn packets_are_given_up_after_their_attempts() {
    // At 70 m only the slowest rate works.
    let config = WifiConfig { attempts: NonZeroU32::new(3), ..n(1) };
    let mut channel = channel(&with_radio(config, &[70]));
    let mut outcome = Outcome::default();
    for number in 0..5 {
        channel.handle_packet(us(1_000), 1, Frame::new(number, 1500));
    }
    run_until(&mut channel, Time::from_secs(1), &mut outcome);
    assert_eq!(outcome.left.len(), 0);
    let lost = |event: &LinkEventKind| {
        matches!(event, LinkEventKind::Dropped { reason: DropReason::Loss, bytes: 1538, .. })
    };
    assert_eq!(outcome.events.iter().filter(|(_, event)| lost(&event.kind)).count(), 5);
    // The first packet is sent alone, then twice with the others, and they are sent once more
    // without it.
    assert_eq!(channel.statistics().frames, 1 + 2 + 1);
}

#[test]
fn a_lossy_channel_keeps_the_order_and_loses_little() {
    // At 21 m some of the packets at MCS 7 must be retransmitted.
    let config = with_radio(n(1), &[21]);
    let mut channel = channel(&config);
    let (mbit_s, _) = saturate(&mut channel, 1, IP, TIMES);
    let statistics = channel.statistics();
    let delivered = channel.counters(1, END).delivered.packets;
    let repeated = 1.0 - delivered as f64 / statistics.packets as f64;
    println!("{repeated} {mbit_s}");
    assert!((0.02..0.6).contains(&repeated), "{repeated}");
    assert!(mbit_s < 60.0 * (1.0 - repeated) + 1.0, "{mbit_s}");
}

#[test]
fn packets_that_waited_too_long_are_dropped() {
    let config = WifiConfig { queue_time: Duration::from_millis(20), ..n(1) };
    let mut channel = channel(&config);
    let mut outcome = Outcome::default();
    // 300 packets at 60 Mbit/s would take 60 ms.
    for number in 0..300 {
        channel.handle_packet(Time::ZERO, 1, Frame::new(number, 1500));
    }
    run_until(&mut channel, Time::from_secs(1), &mut outcome);
    let last = outcome.left.last().expect("some arrive").at;
    assert!(last > us(20_000) && last < us(27_000), "{last:?}");
    assert_eq!(channel.counters(1, END).drops.expired as usize, 300 - outcome.left.len());
}

#[test]
fn a_full_queue_drops_what_comes() {
    let config = WifiConfig { queue_packets: 10, ..n(2) };
    let mut channel: WifiChannel<Numbered> =
        WifiChannel::new(&config, 1, "wifi").expect("a channel");
    // The stations' packets share the access point's queue limit.
    for number in 0..24 {
        channel.handle_packet(Time::ZERO, 0, Numbered::new(number, number as u16 % 2 + 1, 1500));
    }
    let drops = [0, 2].map(|stage| channel.counters(stage, Time::ZERO).drops.overflow);
    // The first packet is on the air at once, but stays in the queue until it has arrived.
    assert_eq!(drops, [7, 7]);
    assert_eq!(channel.backlog(0, Time::ZERO).packets, 5);
}

#[test]
fn beacons_take_their_share_of_the_air() {
    let beacons = Some(BeaconConfig { interval: Duration::from_millis(20), bytes: 300 });
    let without = throughput(&n(1));
    let with = throughput(&WifiConfig { beacons, ..n(1) });
    // 424 us at 6 Mbit/s, with SIFS and a slot before it, every 20 ms.
    assert!((with / without - (1.0 - 0.449 / 20.0)).abs() < 0.002, "{with} of {without}");
}

#[test]
fn another_network_takes_its_share_if_heard_and_more_if_hidden() {
    let interference = |kind| {
        let interference = InterferenceConfig {
            kind,
            mean_burst: Duration::from_millis(2),
            share: Probability::from_ppb(300_000_000).expect("a probability"),
        };
        throughput(&WifiConfig { interference: Some(interference), ..n(1) })
    };
    let alone = throughput(&n(1));
    let heard = interference(InterferenceKind::Heard) / alone;
    // The remaining share is 0.7, less the backoff that restarts after each burst.
    assert!((0.66..0.7).contains(&heard), "{heard}");
    // A hidden network almost always disturbs a frame of 5.4 ms, but only part of it.
    let hidden = interference(InterferenceKind::Hidden) / alone;
    assert!((0.2..0.62).contains(&hidden), "{hidden}");
}

#[test]
fn rts_makes_collisions_cheap() {
    let many = |rts_threshold_bytes| {
        let mut channel = channel(&WifiConfig { rts_threshold_bytes, ..n(20) });
        saturate(&mut channel, 20, IP, TIMES).0
    };
    let (without, with) = (many(None), many(Some(1_000)));
    assert!(with > 1.2 * without, "{with} against {without}");
    // For a lone station it is only overhead: 36 us of RTS and CTS at 24 Mbit/s ... and twice SIFS.
    let one = WifiConfig { rts_threshold_bytes: Some(1_000), ..n(1) };
    assert!(throughput(&one) < throughput(&n(1)));
}

#[test]
fn the_stronger_of_two_frames_may_survive() {
    // One station next to the access point and one 25 dB weaker; both work alone.
    let near = |metres: &[i64]| {
        let config = WifiConfig {
            rate_control: RateControlConfig::Fixed { index: 4 },
            ..with_radio(n(2), metres)
        };
        saturate(&mut channel(&config), 2, IP, TIMES).1
    };
    let equal = near(&[10, 10]);
    let unequal = near(&[2, 14]);
    let share = |of: &[u64]| of[0] as f64 / (of[0] + of[1]) as f64;
    assert!((share(&equal) - 0.5).abs() < 0.03, "{equal:?}");
    assert!(share(&unequal) > 0.54, "{unequal:?}");
    assert!(unequal.iter().sum::<u64>() > equal.iter().sum::<u64>());
}

#[test]
fn a_station_at_the_access_point_is_heard_over_one_beside_it() {
    // 50 dB stronger, at the highest rate: it loses hardly any frame, the other loses colliding
    // frames.
    let mut config = n(2);
    config.stations[0].x_mm = 1;
    (config.stations[1].x_mm, config.stations[1].y_mm) = (1_000, 1_000);
    config.radio = with_radio(n(1), &[1]).radio;
    let apart = saturate(&mut channel(&config), 2, IP, TIMES).1;
    assert!(apart[0] as f64 > 1.15 * apart[1] as f64, "{apart:?}");
    config.stations[0] = config.stations[1];
    let beside = saturate(&mut channel(&config), 2, IP, TIMES).1;
    assert!(apart.iter().sum::<u64>() as f64 > 1.03 * beside.iter().sum::<u64>() as f64);
}

#[test]
fn minstrel_comes_near_the_ideal_rate() {
    for metres in [5, 20, 30, 40, 55] {
        let with = |rate_control| {
            let config = with_radio(WifiConfig { rate_control, ..n(1) }, &[metres]);
            throughput(&config)
        };
        let ideal = with(RateControlConfig::Ideal {});
        let learnt = with(RateControlConfig::Minstrel {});
        println!("{metres} m: {ideal} {learnt}");
        assert!(learnt > 0.85 * ideal, "{metres} m: {learnt} against {ideal}");
    }
}

#[test]
fn the_longest_frame_is_no_longer_than_the_opportunity() {
    // With 3 ms, a video station sends 15 packets at once instead of 28.
    let mut config = n(1);
    config.stations[0].access = Some(AccessCategory::Video);
    let mut channel = channel(&config);
    saturate(&mut channel, 1, IP, TIMES);
    let statistics = channel.statistics();
    let per_frame = statistics.packets as f64 / statistics.frames as f64;
    assert!((14.0..15.5).contains(&per_frame), "{per_frame}");
}

#[test]
fn a_configuration_reads_back_and_a_wrong_one_is_refused_with_the_reason() {
    let json = r#"{"standard": "802.11n", "stations": [{"x_mm": 1000}, {}],
        "rate_control": {"kind": "fixed", "index": 7}, "aggregation": {}, "attempts": null,
        "queue_time_ns": null}"#;
    let config: WifiConfig = serde_json::from_str(json).expect("a channel");
    assert_eq!(config.stations.len(), 2);
    assert_eq!(config.aggregation, Some(AggregationConfig::default()));
    let again = serde_json::to_string(&config).expect("JSON");
    assert_eq!(serde_json::from_str::<WifiConfig>(&again).expect("a channel"), config);

    let unknown = serde_json::from_str::<WifiConfig>(&json.replace("x_mm", "x_m"));
    assert!(unknown.expect_err("unknown").to_string().contains("unknown field `x_m`"));
    let refusal = |config: WifiConfig| {
        WifiChannel::<Frame>::new(&config, 1, "wifi").expect_err("no channel").to_string()
    };
    let none = WifiConfig { stations: Vec::new(), ..n(1) };
    assert_eq!(refusal(none), "0 stations are not possible: use from 1 to 2007");
    let aggregation = Some(AggregationConfig { max_packets: 65, ..AggregationConfig::default() });
    assert_eq!(
        refusal(WifiConfig { aggregation, ..n(1) }),
        "max_packets must be from 1 to 64, the window of a block ACK"
    );
    assert_eq!(
        refusal(WifiConfig { standard: Standard::G, ..n(1) }),
        "802.11g sends only one packet in each frame: remove `aggregation`"
    );
    assert_eq!(
        refusal(WifiConfig {
            rate_control: RateControlConfig::Fixed { index: 9 },
            ..WifiConfig::new(Standard::Ac, 1)
        }),
        "802.11ac has no rate with index 9 on this channel: use 0, 1, 2, 3, 4, 5, 6, 7, 8"
    );
    assert_eq!(
        refusal(with_radio(WifiConfig::new(Standard::B, 1), &[1])),
        "there is no error model for 802.11b: remove `radio`"
    );
    assert_eq!(
        refusal(with_radio(n(2), &[5, 0])),
        "the radio model needs a distance from 1 mm to 1000 km between the access point and each \
         station: correct the position of station 2"
    );
    let mut priorities = WifiConfig::new(Standard::A, 1);
    priorities.stations[0].access = Some(AccessCategory::Voice);
    assert_eq!(refusal(priorities), "802.11a has no priorities: `access` must be legacy or absent");
}

/// Stations with a fixed number of packets in flight, every second of which is answered.
///
/// Returns the rate in Mbit/s of 1472 bytes per packet, and the statistics.
fn windowed(stations: u16, window: u32) -> (f64, WifiStatistics) {
    let config = WifiConfig { queue_time: Duration::from_secs(60), ..n(usize::from(stations)) };
    let mut channel: WifiChannel<Numbered> =
        WifiChannel::new(&config, 1, "wifi").expect("a channel");
    for station in 1..=stations {
        for number in 0..window {
            channel.handle_packet(Time::ZERO, station, Numbered::new(number, station, 1524));
        }
    }
    let (mut now, mut received) = (Time::ZERO, vec![0_u32; usize::from(stations)]);
    while now < END {
        match channel.poll(now) {
            Some(Output::Packet { port: 0, packet, .. }) => {
                let count = &mut received[usize::from(packet.user) - 1];
                *count += 1;
                if *count % 2 == 0 {
                    channel.handle_packet(now, 0, Numbered::new(*count, packet.user, 52));
                }
            }
            Some(Output::Packet { packet, .. }) => {
                for number in 0..2 {
                    let next = Numbered::new(number, packet.user, 1524);
                    channel.handle_packet(now, packet.user, next);
                }
            }
            None => now = channel.wake_time(),
            other => panic!("{other:?}"),
        }
    }
    let bits = f64::from(received.iter().sum::<u32>()) * 1472.0 * 8.0;
    (bits / END.as_secs_f64() / 1e6, channel.statistics())
}

#[test]
fn windows_of_89_packets_share_the_channel_with_their_answers() {
    let results: Vec<_> = (1..=7).map(|stations| windowed(stations, 88)).collect();
    let mbit_s: Vec<f64> = results.iter().map(|(mbit_s, _)| *mbit_s).collect();
    // 88 packets of 1472 bytes are sent in three frames of 28 and one of 4, which average 22.
    assert!((52.0..54.0).contains(&mbit_s[0]), "{mbit_s:?}");
    assert!(mbit_s.windows(2).all(|pair| pair[0] > pair[1]), "{mbit_s:?}");
    assert!(mbit_s[6] > 0.8 * mbit_s[0], "{mbit_s:?}");
    let collided: Vec<f64> = results
        .iter()
        .map(|(_, statistics)| statistics.collided_frames as f64 / statistics.frames as f64)
        .collect();
    assert!(collided.windows(2).all(|pair| pair[0] < pair[1]), "{collided:?}");
    assert!(collided[0] < 0.1 && collided[6] < 0.35, "{collided:?}");
}

#[test]
fn a_receiver_is_told_of_packets_that_expired_on_the_air() {
    // Twice the channel's capacity, so that the first packet of a frame expires while it is sent.
    let packets_in_order = |asks_after_expiry| {
        let config = WifiConfig {
            rate_control: RateControlConfig::Fixed { index: 0 },
            queue_time: Duration::from_millis(100),
            asks_after_expiry,
            ..n(1)
        };
        let mut channel = channel(&config);
        let mut outcome = Outcome::default();
        for number in 0..2_000 {
            let now = us(1_000 * u64::from(number));
            run_until(&mut channel, now, &mut outcome);
            channel.handle_packet(now, 0, Frame::new(number, 1500));
        }
        run_until(&mut channel, END, &mut outcome);
        assert!(outcome.numbers().is_sorted(), "the requests change no order");
        (outcome.left.len(), channel.statistics())
    };
    let (silent, before) = packets_in_order(false);
    let (told, after) = packets_in_order(true);
    assert_eq!(before.packets, silent as u64, "each packet is sent once");
    assert_eq!(after.packets, told as u64, "each packet is sent once");
    // A frame of two packets takes 4.1 ms, and a request with its response another 0.16 ms.
    let less = 1.0 - told as f64 / silent as f64;
    assert!((0.02..0.045).contains(&less), "{silent} and {told} packets");
    assert!(after.frames * 2 > told as u64, "requests are frames");
}
