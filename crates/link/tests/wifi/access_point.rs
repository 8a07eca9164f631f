//! The access point's queues, compared with the model of "Ending the Anomaly" (Høiland-Jørgensen,
//! Kazior, Täht, Hurtig and Brunstrom, USENIX ATC 2017).

use cwndlab_link::{
    AccessPointConfig, AggregationConfig, AqlConfig, DownlinkConfig, Link, NodeConfig, RadioConfig,
    RateControlConfig, Standard, StationDualConfig, StationQueueConfig, WifiChannel, WifiConfig,
};
use cwndlab_units::{Duration, Stream, Time};

use crate::common::{Frame, Outcome, drain};

/// Two stations near the access point, and one so distant that only the slowest rate works.
const METRES: [i64; 3] = [3, 3, 75];
/// Their data bits per symbol of 4 us: MCS 7 and MCS 0.
const DATA_BITS: [f64; 3] = [260.0, 260.0, 26.0];

fn channel(queue: Option<DownlinkConfig>, max_packets: u32) -> WifiChannel<Frame> {
    let station = |metres| NodeConfig { x_mm: metres * 1_000, ..NodeConfig::default() };
    let config = WifiConfig {
        aggregation: Some(AggregationConfig { max_packets, ..AggregationConfig::default() }),
        radio: Some(RadioConfig {
            power_mdbm: 16_000,
            noise_figure_mdb: 7_000,
            path_loss_exponent_milli: 3_000,
            error_curve: None,
            implementation_loss_mdb: None,
        }),
        access_point: AccessPointConfig { queue, ..AccessPointConfig::default() },
        stations: METRES.map(station).to_vec(),
        ..WifiConfig::new(Standard::N, 3)
    };
    WifiChannel::new(&config, 1, "wifi").expect("a channel")
}

/// A station's results over ten seconds in which the load for each exceeds the channel's capacity.
#[derive(Clone, Copy, Debug)]
struct Share {
    mbit_s: f64,
    airtime: f64,
    /// Mean number of packets in a frame.
    aggregate: f64,
}

fn saturated(queue: Option<DownlinkConfig>, max_packets: u32) -> [Share; 3] {
    let mut channel = channel(queue, max_packets);
    let mut random = Stream::new(5, "arrivals");
    let mut outcome = Outcome::default();
    let (warm_up, end) = (Time::from_secs(2), Time::from_secs(12));
    let mut now = Time::ZERO;
    let mut before = [Default::default(); 3];
    let uses = |channel: &WifiChannel<Frame>| [0, 2, 4].map(|stage| channel.air_use(stage));
    for number in 0.. {
        now += Duration::from_nanos(random.exponential(80_000.0) as u64);
        if now > end {
            break;
        }
        if now < warm_up {
            before = uses(&channel);
            outcome.left.clear();
        }
        let station = random.below(3) as u16 + 1;
        channel.handle_packet(now, 0, Frame::of(station, number, 1500).in_flow(station.into()));
        drain(&mut channel, now, &mut outcome);
    }
    let after = uses(&channel);
    let used = [0, 1, 2].map(|station| (after[station].time - before[station].time).as_secs_f64());
    [0, 1, 2].map(|station| {
        let packets = outcome.left.iter().filter(|left| left.port == station as u16 + 1).count();
        let (after, before) = (after[station], before[station]);
        Share {
            mbit_s: packets as f64 * 12_000.0 / 10e6,
            airtime: used[station] / used.iter().sum::<f64>(),
            aggregate: (after.packets - before.packets) as f64
                / (after.frames - before.frames) as f64,
        }
    })
}

/// The paper's equations 1 to 5: rates in Mbit/s and airtime shares of stations with these
/// aggregate sizes.
///
/// With airtime fairness the shares are equal; otherwise each station sends a frame in turn.
fn model(aggregates: [f64; 3], is_fair: bool) -> [(f64, f64); 3] {
    let data = |station: usize| {
        let bytes = aggregates[station] * (1500.0 + 38.0 + 4.0 + 2.0);
        36e-6 + 8.0 * bytes / DATA_BITS[station] * 4e-6
    };
    let overhead = |station: usize| {
        // AIFS, SIFS, the block ACK at 24 or 6 Mbit/s, and half of the contention window.
        let block_ack = if DATA_BITS[station] > 100.0 { 32e-6 } else { 68e-6 };
        43e-6 + 16e-6 + block_ack + 7.5 * 9e-6
    };
    let all: f64 = (0..3).map(data).sum();
    [0, 1, 2].map(|station| {
        let share = if is_fair { 1.0 / 3.0 } else { data(station) / all };
        let alone = aggregates[station] * 12_000.0 / (data(station) + overhead(station));
        (share * alone / 1e6, share)
    })
}

/// Checks that airtime shares and rate shares are within five points of the model's.
fn assert_model(name: &str, shares: [Share; 3], is_fair: bool) {
    let expected = model(shares.map(|share| share.aggregate), is_fair);
    let sum: f64 = shares.iter().map(|share| share.mbit_s).sum();
    let expected_sum: f64 = expected.iter().map(|(mbit_s, _)| mbit_s).sum();
    for (share, (mbit_s, airtime)) in shares.iter().zip(expected) {
        println!(
            "{name}: {:.2} packets a frame, {:.1} % of the air (model {:.1}), {:.2} Mbit/s ({mbit_s:.2})",
            share.aggregate,
            100.0 * share.airtime,
            100.0 * airtime,
            share.mbit_s,
        );
        assert!((share.airtime - airtime).abs() < 0.05, "{name}: {shares:?}, {expected:?}");
        let part = share.mbit_s / sum - mbit_s / expected_sum;
        assert!(part.abs() < 0.05, "{name}: {shares:?}, {expected:?}");
        assert!((share.mbit_s / mbit_s - 1.0).abs() < 0.1, "{name}: {shares:?}, {expected:?}");
    }
}

#[test]
fn shares_are_those_of_the_published_model() {
    let queues = StationQueueConfig::default();
    for max_packets in [64, 8] {
        let fifo = saturated(Some(DownlinkConfig::fifo()), max_packets);
        assert_model("fifo", fifo, false);
        assert_model(
            "fq_codel",
            saturated(Some(DownlinkConfig::FqCodel(queues)), max_packets),
            false,
        );
        assert_model(
            "airtime",
            saturated(Some(DownlinkConfig::Airtime(queues)), max_packets),
            true,
        );
        let aql = StationQueueConfig { aql: Some(AqlConfig::default()), ..queues };
        assert_model(
            "airtime, AQL",
            saturated(Some(DownlinkConfig::Airtime(aql)), max_packets),
            true,
        );
        let dual =
            saturated(Some(DownlinkConfig::DualPi2(StationDualConfig::default())), max_packets);
        assert_model("dualpi2", dual, true);
    }
}

/// Mbit/s of datagrams of 1472 bytes, one every 150 us to the stations in turn, at MCS 7, over ten
/// seconds: measured with ns-3.37 (first run number, with an access point's beacons).
const NS_3_DOWNLINK: [(u64, f64); 4] = [(1, 59.603), (3, 59.609), (5, 59.611), (12, 59.607)];

#[test]
fn datagrams_to_several_stations_get_what_they_get_in_ns_3() {
    for (stations, measured) in NS_3_DOWNLINK {
        let config = WifiConfig {
            aggregation: Some(AggregationConfig::default()),
            rate_control: RateControlConfig::Fixed { index: 7 },
            ..WifiConfig::new(Standard::N, stations as usize)
        };
        let mut channel = WifiChannel::new(&config, 1, "wifi").expect("a channel");
        let mut outcome = Outcome::default();
        for number in 0..80_000_u64 {
            let now = Time::from_micros(150 * number);
            if now < Time::from_secs(2) {
                outcome.left.clear();
            }
            let station = (number % stations) as u16 + 1;
            channel.handle_packet(now, 0, Frame::of(station, number as u32, 1500));
            drain(&mut channel, now, &mut outcome);
        }
        let mbit_s = outcome.left.len() as f64 * 1472.0 * 8.0 / 10e6;
        assert!((mbit_s / measured - 1.0).abs() < 0.005, "{stations}: {mbit_s} for {measured}");
    }
}
