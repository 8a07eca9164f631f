//! Measurements of Wi-Fi channels that were also measured in ns-3, with the settings of
//! `tests/links/ns3.csv`.

use core::f64::consts::TAU;

use cwndlab_cc::Algorithms;
use cwndlab_link::{Link, Traces, WifiChannel, WifiConfig};
use cwndlab_scenario::Scenario;
use cwndlab_units::{Duration, Output, Time};
use serde_json::{Value, json};

use crate::Report;
use crate::wifi::Full;

const TABLE: &str = include_str!("../../../../tests/links/ns3.csv");
/// Time at which the flows start.
const START: Time = Time::from_secs(1);
/// Number of runs whose mean is computed if the result is random because flows share a queue or
/// stations contend.
const RUNS: u64 = 10;
const DATAGRAM_BYTES: u32 = 1472;

pub(crate) fn measure(report: &Report) {
    for setting in settings() {
        let names = ["mbit_s", "jain"].map(|name| format!("ns3.{name}.{}", setting.id));
        if names.iter().any(|name| report.wants(name)) {
            // Datagrams from the access point alone never depend on chance.
            let runs = if setting.is_tcp || !setting.is_down { 0..RUNS } else { 0..1 };
            let runs = runs.map(|run| sum_and_jain(&setting.shares_mbit_s(1 + run)));
            let runs: Vec<(f64, f64)> = runs.collect();
            let mean =
                |of: fn(&(f64, f64)) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
            report.measure(&names[0], || mean(|run| run.0));
            report.measure(&names[1], || mean(|run| run.1));
        }
    }
}

fn sum_and_jain(shares: &[f64]) -> (f64, f64) {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (sum, sum * sum / (shares.len() as f64 * squares))
}

/// A row of the table `tests/links/ns3.csv`.
struct Setting {
    id: &'static str,
    /// Options of a Wi-Fi path in a scenario.
    path: Value,
    is_tcp: bool,
    is_down: bool,
    stations: u16,
    warm_up: Time,
    seconds: u64,
    /// Offered load of datagrams, for all stations together.
    offered_bits_per_sec: f64,
}

fn settings() -> impl Iterator<Item = Setting> {
    let mut lines = TABLE.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    lines.map(move |line| {
        let cells: Vec<&'static str> = line.split(',').collect();
        let cell =
            |name: &str| cells[head.iter().position(|column| *column == name).expect("a column")];
        let number = |name: &str| -> u64 { cell(name).parse().expect("a number") };
        let stations = number("stations") as u16;
        let path = json!({
            "kind": "wifi",
            "standard": format!("802.11{}", cell("standard")),
            "channel_mhz": number("channel"),
            "short_guard_interval": number("short") == 1,
            "rate_control": {"kind": "fixed", "index": number("mcs")},
            "aggregation": {"max_bytes": number("ampdu")},
            "asks_before_repeating": true,
            "asks_after_expiry": true,
            // ns-3's RtsCtsThreshold is 65535: longer frames begin with RTS and CTS.
            "rts_threshold_bytes": 65_536,
            "queue_time_ns": number("lifetime") * 1_000_000,
            "beacons": {"interval_ns": 102_400_000, "bytes": 140},
            "radio": {"power_mdbm": 16_021},
            "stations": places(cell("places"), stations),
        });
        Setting {
            id: cell("id"),
            path,
            is_tcp: cell("traffic").starts_with("tcp"),
            is_down: cell("traffic").ends_with("down"),
            stations,
            warm_up: Time::from_secs(number("warm_up")),
            seconds: number("seconds"),
            offered_bits_per_sec: number("offered") as f64,
        }
    })
}

/// Positions of the stations, the same as in `ns3_wifi.cc`.
fn places(name: &str, stations: u16) -> Vec<Value> {
    let place = |station: u16| {
        let angle = TAU * f64::from(station) / f64::from(stations);
        match name {
            "line" => json!({"x_mm": 1_000 * u32::from(station)}),
            "circle" => json!({
                "x_mm": libm::round(3e3 * libm::cos(angle)) as i64,
                "y_mm": libm::round(3e3 * libm::sin(angle)) as i64,
            }),
            other => panic!("no place {other}"),
        }
    };
    (1..=stations).map(place).collect()
}

impl Setting {
    /// Throughput of each station.
    fn shares_mbit_s(&self, seed: u64) -> Vec<f64> {
        if self.is_tcp { self.tcp(seed) } else { self.datagrams(seed) }
    }

    /// Time at which the run ends.
    fn end(&self) -> Time {
        self.warm_up + Duration::from_secs(self.seconds)
    }

    fn datagrams(&self, seed: u64) -> Vec<f64> {
        let mut path = self.path.clone();
        path.as_object_mut().expect("an object").remove("kind");
        let config: WifiConfig = serde_json::from_value(path).expect("a channel");
        let mut channel: WifiChannel<Full> =
            WifiChannel::new(&config, seed, "wifi").expect("a channel");
        let end = self.end();
        let interval_ns = f64::from(8 * DATAGRAM_BYTES) * 1e9 / self.offered_bits_per_sec;
        let mut received = vec![0_u64; usize::from(self.stations)];
        for number in 0_u64.. {
            let now = Time::from_nanos((number as f64 * interval_ns) as u64);
            if now >= end {
                break;
            }
            let station = (number % u64::from(self.stations)) as u16 + 1;
            let port = if self.is_down { 0 } else { station };
            let packet = Full { station, bytes: DATAGRAM_BYTES + 28 };
            while channel.wake_time() <= now {
                let at = channel.wake_time();
                self.count(&mut channel, at, &mut received);
            }
            channel.handle_packet(now, port, packet);
            self.count(&mut channel, now, &mut received);
        }
        let bits = f64::from(8 * DATAGRAM_BYTES);
        received.iter().map(|count| *count as f64 * bits / self.seconds as f64 / 1e6).collect()
    }

    fn tcp(&self, seed: u64) -> Vec<f64> {
        let end = json!({"stack": "ns-3", "algorithm": "reno", "parameters": {},
            "stack_overrides": {"segment_bytes": 1448, "receive_buffer_bytes": 4 << 20}});
        let direction = if self.is_down { "forward" } else { "reverse" };
        let flow = |station: u16| {
            json!({"id": station - 1, "user": station, "direction": direction,
                "start_ns": START.as_nanos() + 1_000_000 * u64::from(station - 1),
                "sender": end, "receiver": end})
        };
        let flows: Vec<Value> = (1..=self.stations).map(flow).collect();
        let scenario = json!({
            "version": 1, "seed": seed, "path": self.path, "flows": flows, "record": {},
            "duration_ns": self.end().as_nanos(),
            // The warm-up is counted from a flow's start.
            "warm_up_ns": (self.warm_up - START).as_nanos()});
        let scenario = Scenario::from_json(&scenario.to_string()).expect("a valid scenario");
        let output = cwndlab_sim::run(&scenario, &Traces::new(), &Algorithms::default());
        let flows = output.expect("a run").flows;
        flows.iter().map(|flow| flow.goodput_mbit_s.unwrap_or(0.0)).collect()
    }

    /// Counts the packets delivered to each station by `now`, excluding the warm-up.
    fn count(&self, channel: &mut WifiChannel<Full>, now: Time, received: &mut [u64]) {
        while let Some(output) = channel.poll(now) {
            if let Output::Packet { at, packet, .. } = output {
                received[usize::from(packet.station) - 1] += u64::from(at >= self.warm_up);
            }
        }
    }
}
