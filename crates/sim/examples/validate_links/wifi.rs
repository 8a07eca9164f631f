//! Measurements of Wi-Fi channels that are never idle.

use core::num::NonZeroU32;

use cwndlab_link::{
    AggregationConfig, BeaconConfig, Link, Packet, RateControlConfig, Standard, WifiChannel,
    WifiConfig,
};
use cwndlab_units::{Duration, Ecn, Output, Time};

use crate::Report;

pub(crate) fn measure(report: &Report) {
    let variants = [
        ("54M.difs", Standard::A, 7, false),
        ("54M.eifs", Standard::A, 7, true),
        ("6M.difs", Standard::A, 0, false),
        ("6M.eifs", Standard::A, 0, true),
        ("11b.eifs", Standard::B, 3, true),
    ];
    for (name, standard, index, eifs) in variants {
        for stations in (5..=50).step_by(5) {
            report.measure(&format!("wifi.bianchi.{name}.n={stations}"), || {
                let config = WifiConfig {
                    rate_control: RateControlConfig::Fixed { index },
                    attempts: Some(NonZeroU32::MAX),
                    queue_time: Duration::MAX,
                    eifs,
                    ..WifiConfig::new(standard, stations)
                };
                saturated_mbit_s(&config, 1500)
            });
        }
    }
    for index in 0..8 {
        report.measure(&format!("wifi.udp.mcs={index}"), || {
            saturated_mbit_s(&one_sender(index), 1472)
        });
    }
    rates(report);
    report.measure("wifi.udp.mcs=15", || {
        let config = WifiConfig {
            channel_mhz: 40,
            spatial_streams: 2,
            short_guard_interval: true,
            ..one_sender(7)
        };
        saturated_mbit_s(&config, 1472)
    });
}

/// Measures each transmission rate of each Wi-Fi standard.
fn rates(report: &Report) {
    let channels = [
        ("b", Standard::B, 20, false, 4),
        ("a", Standard::A, 20, false, 8),
        ("n20", Standard::N, 20, false, 8),
        ("n20-short", Standard::N, 20, true, 8),
        ("n40", Standard::N, 40, false, 8),
        ("ac80", Standard::Ac, 80, false, 10),
    ];
    for (name, standard, channel_mhz, short_guard_interval, count) in channels {
        for index in 0..count {
            report.measure(&format!("wifi.rate.{name}.{index}"), || {
                let config = WifiConfig {
                    rate_control: RateControlConfig::Fixed { index },
                    channel_mhz,
                    short_guard_interval,
                    ..WifiConfig::new(standard, 1)
                };
                // A length difference at which each rate needs a whole number of additional
                // symbols: the least common multiple of the bits in their symbols, or of that and
                // 11 Mbit/s.
                let longer_bytes = match name {
                    "b" => 1100,
                    "a" => 1080,
                    "n40" => 2430,
                    "ac80" => 5265,
                    // With short guard intervals, 3.6 us, every frame ends at a multiple of 4 us.
                    "n20-short" => 11_700,
                    _ => 1170,
                };
                let long = arrives_after(&config, 200 + longer_bytes);
                let more = long - arrives_after(&config, 200);
                f64::from(8_000 * longer_bytes) / more.as_nanos() as f64
            });
        }
    }
}

/// Time until a packet arrives that a station sends over an idle channel.
fn arrives_after(config: &WifiConfig, bytes: u32) -> Duration {
    let mut channel: WifiChannel<Full> = WifiChannel::new(config, 1, "wifi").expect("a channel");
    channel.handle_packet(Time::ZERO, 1, Full { station: 1, bytes });
    let mut now = Time::ZERO;
    loop {
        match channel.poll(now) {
            Some(Output::Packet { at, .. }) => return at - Time::ZERO,
            None => now = channel.wake_time(),
            other => panic!("{other:?}"),
        }
    }
}

/// The Wi-Fi channel of ns-3 with one station that sends datagrams, and beacons of the access
/// point.
fn one_sender(index: u8) -> WifiConfig {
    WifiConfig {
        rate_control: RateControlConfig::Fixed { index },
        aggregation: Some(AggregationConfig::default()),
        beacons: Some(BeaconConfig { interval: Duration::from_micros(102_400), bytes: 140 }),
        ..WifiConfig::new(Standard::N, 1)
    }
}

/// Payload rate of all stations together, over a minute in which all of them always have packets
/// to send.
///
/// The stations' queues are always full of packets of 1500 bytes, each with `payload_bytes` of
/// payload.
fn saturated_mbit_s(config: &WifiConfig, payload_bytes: u32) -> f64 {
    const QUEUE: u32 = 150;
    let (warm_up, end) = (Time::from_secs(2), Time::from_secs(62));
    let mut channel: WifiChannel<Full> = WifiChannel::new(config, 1, "wifi").expect("a channel");
    for station in 1..=config.stations.len() as u16 {
        for _ in 0..QUEUE {
            channel.handle_packet(Time::ZERO, station, Full { station, bytes: 1500 });
        }
    }
    let (mut now, mut received) = (Time::ZERO, 0_u64);
    while now < end {
        match channel.poll(now) {
            Some(Output::Packet { packet, .. }) => {
                received += u64::from(now >= warm_up);
                channel.handle_packet(now, packet.station, packet);
            }
            Some(Output::Event { event, .. }) => panic!("{event:?}"),
            None => now = channel.wake_time(),
        }
    }
    (8 * received * u64::from(payload_bytes)) as f64 / (end - warm_up).as_micros() as f64
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Full {
    pub(crate) station: u16,
    pub(crate) bytes: u32,
}

impl Packet for Full {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn flow(&self) -> u32 {
        u32::from(self.station)
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn mark_ce(&mut self) {}
}
