//! Channels that are never idle, compared with Bianchi's analysis and with measurements by ns-3.

use core::num::NonZeroU32;

use cwndlab_link::{
    AccessCategory, AggregationConfig, BeaconConfig, Link, RateControlConfig, Standard,
    WifiChannel, WifiConfig,
};
use cwndlab_units::{Duration, Output, Time};

use crate::common::Frame;

/// Payload rate in Mbit/s between two times with every station's queue full, and packets per
/// station.
pub(crate) fn saturate(
    channel: &mut WifiChannel<Frame>,
    stations: u16,
    (ip_bytes, payload_bytes): (u32, u32),
    (warm_up, end): (Time, Time),
) -> (f64, Vec<u64>) {
    let mut per_station = vec![0_u64; usize::from(stations)];
    for station in 1..=stations {
        for _ in 0..150 {
            channel.handle_packet(Time::ZERO, station, Frame::new(u32::from(station), ip_bytes));
        }
    }
    let mut now = Time::ZERO;
    while now < end {
        match channel.poll(now) {
            Some(Output::Packet { packet, .. }) => {
                let station = *packet.number as u16;
                if now >= warm_up {
                    per_station[usize::from(station) - 1] += 1;
                }
                channel.handle_packet(now, station, packet);
            }
            // A packet that is lost makes room for another.
            Some(Output::Event { event, .. }) => {
                let station = event.kind.flow().expect("a packet was dropped");
                channel.handle_packet(now, station as u16, Frame::new(station, ip_bytes));
            }
            None => now = channel.wake_time(),
        }
    }
    let bits = 8 * u64::from(payload_bytes) * per_station.iter().sum::<u64>();
    (bits as f64 / (end - warm_up).as_nanos() as f64 * 1e3, per_station)
}

/// The channel of Bianchi's analysis: one packet per frame, and unlimited retries.
fn bianchi(standard: Standard, rate: u8, stations: u16, eifs: bool) -> WifiConfig {
    WifiConfig {
        rate_control: RateControlConfig::Fixed { index: rate },
        attempts: Some(NonZeroU32::MAX),
        queue_time: Duration::MAX,
        eifs,
        ..WifiConfig::new(standard, usize::from(stations))
    }
}

/// Each row: standard, index of its rate, whether stations wait for EIFS, and Mbit/s of IP with 5,
/// 10, ..., 50 stations.
///
/// From ns-3's `src/wifi/examples/reference` and `wifi-bianchi.cc`, with the same tolerance: the
/// formula of Bianchi 2000, with the correction for the winner's backoff of zero (Tinnirello,
/// Bianchi and Xiao 2010).
const BIANCHI: [(Standard, u8, bool, [f64; 10]); 5] = [
    (
        Standard::A,
        7,
        false,
        [29.8324, 28.1519, 27.0948, 26.2925, 25.6896, 25.1434, 24.6539, 24.2613, 23.9353, 23.5618],
    ),
    (
        Standard::A,
        7,
        true,
        [29.2861, 27.3763, 26.2078, 25.3325, 24.6808, 24.0944, 23.5719, 23.1549, 22.8100, 22.4162],
    ),
    (
        Standard::A,
        0,
        false,
        [4.7087, 4.3453, 4.1397, 3.9899, 3.8802, 3.7824, 3.6961, 3.6276, 3.5712, 3.5071],
    ),
    (
        Standard::A,
        0,
        true,
        [4.6899, 4.3197, 4.1107, 3.9589, 3.8478, 3.7490, 3.6618, 3.5927, 3.5358, 3.4711],
    ),
    (
        Standard::B,
        3,
        true,
        [6.3821, 6.0269, 5.7718, 5.5765, 5.4217, 5.2958, 5.1755, 5.0722, 4.9860, 4.9103],
    ),
];

#[test]
fn throughput_is_that_of_bianchis_analysis() {
    let mut worst = 0.0_f64;
    for (standard, rate, eifs, published) in BIANCHI {
        // `make validate-links` checks all of them.
        for (stations, published) in (5_u16..).step_by(5).zip(published).step_by(3) {
            let config = bianchi(standard, rate, stations, eifs);
            let mut channel = WifiChannel::new(&config, 1, "wifi").expect("a channel");
            let times = (Time::from_secs(2), Time::from_secs(62));
            let (mbit_s, _) = saturate(&mut channel, stations, (1500, 1500), times);
            let error = mbit_s / published - 1.0;
            println!(
                "{standard} rate {rate} eifs {eifs} n {stations}: {mbit_s:.4} {:+.2} %",
                100.0 * error
            );
            worst = worst.max(error.abs());
        }
    }
    assert!(worst <= 0.015, "{worst}");
}

/// ns-3's channel of `wifi-testing.rst`: 802.11n at 20 MHz with one station that sends datagrams of
/// 1472 bytes to the access point.
fn one_sender(rate: u8) -> WifiConfig {
    WifiConfig {
        rate_control: RateControlConfig::Fixed { index: rate },
        aggregation: Some(AggregationConfig::default()),
        // An access point's beacons at ns-3's interval and with the length of ns-3's elements.
        beacons: Some(BeaconConfig { interval: Duration::from_micros(102_400), bytes: 140 }),
        ..WifiConfig::new(Standard::N, 1)
    }
}

#[test]
fn one_sender_of_datagrams_gets_what_it_gets_in_ns_3() {
    let published = [5.81381, 11.8266, 17.7935, 23.7958, 35.7331, 47.6174, 53.6102, 59.5501];
    for (rate, published) in (0..).zip(published) {
        let mut channel = WifiChannel::new(&one_sender(rate), 1, "wifi").expect("a channel");
        let times = (Time::from_secs(1), Time::from_secs(31));
        let (mbit_s, _) = saturate(&mut channel, 1, (1500, 1472), times);
        let error = mbit_s / published - 1.0;
        println!("MCS {rate}: {mbit_s:.4} Mbit/s, {:+.2} %", 100.0 * error);
        assert!(error.abs() <= 0.005, "MCS {rate}: {mbit_s} against {published}");
    }
}

#[test]
fn two_streams_at_40_mhz_get_what_they_get_in_ns_3() {
    let config = WifiConfig {
        channel_mhz: 40,
        spatial_streams: 2,
        short_guard_interval: true,
        ..one_sender(7)
    };
    let mut channel = WifiChannel::new(&config, 1, "wifi").expect("a channel");
    let (mbit_s, _) =
        saturate(&mut channel, 1, (1500, 1472), (Time::from_secs(1), Time::from_secs(11)));
    println!("{mbit_s}");
    assert!((mbit_s / 254.9 - 1.0).abs() <= 0.01, "{mbit_s}");
}

#[test]
fn equal_stations_get_equal_shares_and_higher_priorities_more() {
    let mut config = bianchi(Standard::N, 7, 4, true);
    let shares = |config: &WifiConfig| {
        let mut channel = WifiChannel::new(config, 1, "wifi").expect("a channel");
        let times = (Time::from_secs(1), Time::from_secs(61));
        saturate(&mut channel, 4, (1500, 1500), times).1
    };
    let equal = shares(&config);
    let mean = equal.iter().sum::<u64>() as f64 / 4.0;
    assert!(equal.iter().all(|&share| (share as f64 / mean - 1.0).abs() < 0.03), "{equal:?}");
    let accesses = [
        AccessCategory::Background,
        AccessCategory::BestEffort,
        AccessCategory::Video,
        AccessCategory::Voice,
    ];
    for (station, access) in config.stations.iter_mut().zip(accesses) {
        station.access = Some(access);
    }
    let unequal = shares(&config);
    assert!(unequal.windows(2).all(|pair| pair[0] < pair[1]), "{unequal:?}");
}

/// Relative error of a channel of 50 stations against Bianchi's analysis with EIFS.
fn error_of_fifty(change: impl Fn(&mut WifiConfig)) -> f64 {
    let mut config = bianchi(Standard::A, 7, 50, true);
    change(&mut config);
    let mut channel = WifiChannel::new(&config, 1, "wifi").expect("a channel");
    let times = (Time::from_secs(2), Time::from_secs(22));
    saturate(&mut channel, 50, (1500, 1500), times).0 / 22.4162 - 1.0
}

#[test]
fn each_part_of_the_contention_is_needed_for_the_analysis() {
    let whole = error_of_fifty(|_| ());
    assert!(whole.abs() < 0.015, "{whole}");
    let without_eifs = error_of_fifty(|config| config.eifs = false);
    assert!(without_eifs > 0.03, "{without_eifs}");
    // A packet that is dropped after its first attempt never doubles the window.
    let without_doubling = error_of_fifty(|config| config.attempts = NonZeroU32::new(1));
    assert!(without_doubling < -0.2, "{without_doubling}");
    let with_rts = error_of_fifty(|config| config.rts_threshold_bytes = Some(0));
    assert!(with_rts.abs() > 0.03, "{with_rts}");
}

#[test]
fn each_part_of_a_frame_is_needed_for_what_ns_3_measures() {
    let mbit_s = |config: WifiConfig| {
        let mut channel = WifiChannel::new(&config, 1, "wifi").expect("a channel");
        saturate(&mut channel, 1, (1500, 1472), (Time::from_secs(1), Time::from_secs(11))).0
    };
    let is_off = |mbit_s: f64| (mbit_s / 59.5501 - 1.0).abs() > 0.005;
    assert!(!is_off(mbit_s(one_sender(7))));
    assert!(is_off(mbit_s(WifiConfig { aggregation: None, ..one_sender(7) })));
    let short =
        AggregationConfig { max_time: Duration::from_millis(4), ..AggregationConfig::default() };
    assert!(is_off(mbit_s(WifiConfig { aggregation: Some(short), ..one_sender(7) })));
    assert!(is_off(mbit_s(WifiConfig { rts_threshold_bytes: Some(0), ..one_sender(7) })));
    let mut voice = one_sender(7);
    voice.stations[0].access = Some(AccessCategory::Voice);
    assert!(is_off(mbit_s(voice)));
}
