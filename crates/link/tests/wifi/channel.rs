//! What single frames do, and what each of the settings is for.

use core::num::NonZeroU32;

use cwndlab_link::{
    AggregationConfig, BeaconConfig, DropReason, InterferenceConfig, InterferenceKind, Link,
    LinkEventKind, Probability, RadioConfig, RateControlConfig, Standard, WifiChannel, WifiConfig,
};
use cwndlab_units::{Duration, Output, Time};

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
    // The other way: after SIFS and the ACK of 28 us comes AIFS, and the channel is long idle.
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
    let mut channel: WifiChannel<Addressed> =
        WifiChannel::new(&n(3), 1, "wifi").expect("a channel");
    for (at, user) in [(0, 2), (1, 3), (2, 1), (3, 2), (4, 3)] {
        channel.handle_packet(us(at), 0, Addressed { user });
    }
    let mut ports = Vec::new();
    while let Output::Packet { port, .. } | Output::Wait(_) = &channel.poll(us(10_000)) {
        let _ = port;
        ports.push(0);
    }
}
