//! Links that depend on the load, compared with a direct implementation of their rules.

mod common;

use common::{Frame, Outcome, mahimahi, ms, run, us};
use cwndlab_link::{
    AnyLink, DropReason, LightConfig, LightTrace, LinkEventKind, OutageConfig, OutageKind,
    QueueConfig, RateConfig, StageConfig, Traces,
};
use cwndlab_units::{Duration, Stream, Time};
use proptest::prelude::*;

const AFTER: Duration = Duration::from_millis(20);

/// A stage with packet trains and a trace under load; its delay is that of the fastest train.
fn stage(light: &str, heavy: &str) -> (StageConfig, Traces) {
    stage_with(light, heavy, 1504)
}

fn stage_with(light: &str, heavy: &str, first_bytes: u32) -> (StageConfig, Traces) {
    let (stage, mut traces) = mahimahi(heavy.as_bytes());
    let light = LightTrace::parse(light.as_bytes()).expect("trains");
    let delay = light.shortest_delay();
    traces.insert_light("light", light);
    let RateConfig::Mahimahi { path, .. } = stage.rate else { unreachable!("it was one") };
    let path_of_light = "light".to_owned();
    let light = Some(LightConfig { path: path_of_light, after: AFTER, delay, first_bytes });
    (StageConfig { rate: RateConfig::Mahimahi { path, light }, delay, ..stage }, traces)
}

fn link(light: &str, heavy: &str) -> AnyLink<Frame> {
    let (stage, traces) = stage(light, heavy);
    AnyLink::one_way(&[stage], &traces, 1, "forward").expect("valid settings")
}

/// Full packets that arrive at these times in us.
fn full(arrivals_us: &[u64]) -> Vec<(Time, Frame)> {
    let frame = |(number, &at)| (us(at), Frame::new(number as u32, 1500));
    arrivals_us.iter().enumerate().map(frame).collect()
}

fn micros(outcome: &Outcome) -> Vec<u64> {
    outcome.left.iter().map(|left| left.at.as_micros()).collect()
}

#[test]
fn a_burst_leaves_like_its_train_and_then_at_the_opportunities_under_load() {
    // Under load, a packet every 10 ms; the fastest train takes 5 ms, this one 7.5 ms.
    let light = "0 7.5 0 0.25 1 1\n100 5 0\n";
    let mut link = link(light, "10\n");
    let outcome = run(&mut link, &full(&[2_000; 6]), ms(100));
    let train = [9_500, 9_750, 10_500, 10_500];
    // The train ends 3.5 ms after its start at 2 ms; the next opportunities are at 10 and 20 ms.
    assert_eq!(micros(&outcome), [&train[..], &[15_000, 25_000]].concat());
}

#[test]
fn opportunities_under_load_that_pass_during_the_train_are_wasted() {
    let mut link = link("0 5 0 15\n100 5 0\n", "10\n");
    let outcome = run(&mut link, &full(&[16_000; 3]), ms(100));
    assert_eq!(micros(&outcome), [21_000, 36_000, 45_000]);
}

#[test]
fn a_packet_that_arrives_later_leaves_at_once_if_the_train_allows_it() {
    let mut link = link("0 5 0 1 2\n100 5 0\n", "10\n");
    // The second packet waits for the train, the third does not, and the train ends with it.
    let outcome = run(&mut link, &full(&[2_000, 2_500, 7_000, 7_000]), ms(100));
    assert_eq!(micros(&outcome), [7_000, 8_000, 12_000, 15_000]);
}

#[test]
fn packets_that_arrive_while_the_idle_link_prepares_join_the_burst() {
    let mut link = link("0 15 0 0.1\n100 5 0\n", "10\n");
    // The first packet waits 10 ms longer than on the fastest train, the second 4 ms.
    let outcome = run(&mut link, &full(&[2_000, 8_000]), ms(100));
    assert_eq!(micros(&outcome), [17_000, 17_100]);
}

#[test]
fn small_packets_share_the_bytes_of_a_trains_packet() {
    let mut link = link("0 5 0 1\n100 5 0\n", "10\n");
    let frames: Vec<_> = (0..40).map(|number| (ms(2), Frame::new(number, 70))).collect();
    let outcome = run(&mut link, &frames, ms(100));
    // With framing, 74 bytes: 20 in the first 1504 bytes; the 21st needs 50 bytes of the second,
    // which leave in proportion, and the 40th 1456 bytes.
    let left = micros(&outcome);
    assert_eq!(left[..20], [7_000; 20]);
    assert_eq!([left[20], left[39]], [7_000 + 50_000 / 1504, 7_000 + 1_456_000 / 1504]);
    // The last bytes of a train are not enough for a whole packet.
    let mut link = self::link("0 5 0 1\n100 5 0\n", "10\n");
    let frames: Vec<_> = (0..41).map(|number| (ms(2), Frame::new(number, 70))).collect();
    let outcome = run(&mut link, &frames, ms(100));
    assert_eq!(micros(&outcome).last(), Some(&15_000));
}

#[test]
fn a_short_first_packet_of_a_train_stands_for_short_packets() {
    let (stage, traces) = stage_with("0 5 0 3 6\n100 5 0\n", "10\n", 96);
    let mut link = AnyLink::one_way(&[stage], &traces, 1, "forward").expect("valid settings");
    let sizes = [92, 1500, 748];
    let frame = |(number, &bytes)| (ms(20), Frame::new(number as u32, bytes));
    let frames: Vec<_> = sizes.iter().enumerate().map(frame).collect();
    let outcome = run(&mut link, &frames, ms(100));
    assert_eq!(micros(&outcome), [25_000, 28_000, 29_500]);
}

#[test]
fn a_burst_that_begins_while_a_train_is_on_its_way_is_as_slow_as_the_train() {
    // In a fade, the packets of the train at 0 ms leave at 5, 25 and 45 ms.
    let light = "0 10 0 20 40\n200 5 0 0 0\n";
    let mut link = link(light, "10\n");
    // Without the fade, the packets would leave after 5, 25 and 45 ms. At 30 ms, the next packet of
    // the train leaves at 45 ms; then the train is over.
    let outcome = run(&mut link, &full(&[30_000]), ms(100));
    assert_eq!(micros(&outcome), [50_000]);
    let mut link = self::link(light, "10\n");
    let outcome = run(&mut link, &full(&[8_000, 8_000]), ms(100));
    assert_eq!(micros(&outcome), [30_000, 50_000]);
    // When all packets have left, the burst has the delays of the train again.
    let mut link = self::link(light, "10\n");
    let outcome = run(&mut link, &full(&[46_000, 46_000]), ms(200));
    assert_eq!(micros(&outcome), [56_000, 76_000]);
}

#[test]
fn the_link_must_be_idle_before_a_train_begins_again_with_the_present_one() {
    let light = "0 5 0\n50 9 0\n100 5 0\n";
    let mut link = link(light, "10\n");
    // The first packet leaves at 0 ms and uses up its train. At 20 ms, the link has not been idle
    // for longer than 20 ms; the packet leaves at the opportunity at 30 ms. At 51 ms, it has.
    let outcome = run(&mut link, &full(&[0, 20_000, 51_000, 130_000]), ms(300));
    assert_eq!(micros(&outcome), [5_000, 35_000, 60_000, 135_000]);
    // The recording repeats after 150 ms, so the train of 50 ms applies at 200 ms.
    let mut link = self::link(light, "10\n");
    let outcome = run(&mut link, &full(&[201_000]), ms(300));
    assert_eq!(micros(&outcome), [210_000]);
}

#[test]
fn a_pause_delays_the_beginning_of_a_burst_and_ends_a_burst() {
    let (stage, traces) = stage("0 5 0 3\n100 5 0\n", "10\n");
    let pause =
        |start, stop| OutageConfig { start: ms(start), stop: ms(stop), kind: OutageKind::Hold };
    let outages = vec![pause(4, 12), pause(51, 58)];
    let stage = StageConfig { outages, ..stage };
    let mut link = AnyLink::one_way(&[stage], &traces, 1, "forward").expect("valid settings");
    let outcome = run(&mut link, &full(&[5_000, 5_000, 50_000, 50_000]), ms(300));
    // In the first pause, the burst begins at 12 ms. In the second, the packet that would leave at
    // 53 ms leaves at the next opportunity after the pause.
    let left = [17_000, 20_000, 55_000, 65_000];
    assert_eq!(micros(&outcome), left);
}

#[test]
fn a_packet_longer_than_an_opportunity_is_dropped() {
    let mut link = link("0 5 0\n", "10\n");
    let outcome = run(&mut link, &[(ms(1), Frame::new(0, 1501))], ms(100));
    let LinkEventKind::Dropped { reason, .. } = outcome.events[0].1.kind else {
        panic!("the packet is dropped")
    };
    assert_eq!(reason, DropReason::TooLong);
}

/// Trains: start, delay, and arrivals of the packets, in us.
type Trains = Vec<(u64, u64, Vec<u64>)>;

/// Arrival times at the far end in ns, by the rules, byte for byte and packet for packet.
///
/// Arrivals are times in ns and IP lengths.
fn reference(
    trains: &Trains,
    first_bytes: u64,
    stamps_ms: &[u64],
    arrivals: &[(u64, u32)],
) -> Vec<u64> {
    let last = trains[trains.len() - 1].0;
    let before = trains.iter().map(|train| train.0).filter(|&start| start < last).max();
    let period_us = last + before.map_or(1_000_000, |before| last - before);
    let shortest_us = trains.iter().map(|train| train.1).min().expect("not empty");
    // Times and room of the opportunities under load, for long enough.
    let (heavy_period_ms, mut heavy) = (stamps_ms[stamps_ms.len() - 1], Vec::new());
    for lap in 0..=(20_000 / heavy_period_ms) {
        let times = stamps_ms.iter().map(|stamp| (lap * heavy_period_ms + stamp) * 1_000_000);
        heavy.extend(times.map(|time| (time, 1504_u32)));
    }
    let mut heavy = heavy.into_iter().peekable();
    let (mut room, mut in_burst) = (Vec::new(), false);
    let (mut left, mut arrived): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut recent = (usize::MAX, 0);
    for &(at, length) in arrivals {
        let free = left.last().copied();
        if free.is_none_or(|free| at > free + AFTER.as_nanos()) {
            let now_us = at / 1000 % period_us;
            let last = trains.iter().rposition(|train| train.0 <= now_us).unwrap_or(0);
            recent = if recent.0 == last { (last, recent.1 + 1) } else { (last, 0) };
            let sent = &trains[last - recent.1 % (last + 1).min(8)];
            let begins = at + (sent.1 - shortest_us) * 1000;
            room = bytes_of(&sent.2, first_bytes, begins);
            // The packets of the last train that have been sent but leave later.
            let train = &trains[last];
            if train.0 <= now_us {
                let lap = at - at % (period_us * 1000);
                let first_at = lap + (train.0 + train.1 - shortest_us) * 1000;
                let packet = train.2.iter().filter(|&&us| first_at + us * 1000 <= at).count();
                let size = if packet == 0 { first_bytes } else { 1504 };
                let ahead = bytes_of(&train.2[packet..], size, first_at);
                for (byte, ahead) in room.iter_mut().rev().zip(ahead.iter().rev()) {
                    *byte = (*byte).max(*ahead);
                }
            }
            in_burst = true;
        }
        let earliest = at.max(free.unwrap_or(0));
        let bytes = length as usize + 4;
        if room.len() >= bytes {
            let last_byte = room[room.len() - bytes];
            room.truncate(room.len() - bytes);
            left.push(last_byte.max(earliest));
        } else {
            // From now on, opportunities after the arrival, and after what the train has sent.
            let passed = |time: u64| time <= at || (in_burst && time <= earliest);
            while heavy.peek().is_some_and(|&(time, _)| passed(time)) {
                heavy.next();
            }
            room.clear();
            in_burst = false;
            let mut missing = bytes as u32;
            loop {
                let next = heavy.peek_mut().expect("enough opportunities");
                if next.1 > missing {
                    next.1 -= missing;
                    left.push(next.0);
                    break;
                }
                missing -= next.1;
                let time = next.0;
                if missing == 0 {
                    next.1 = 0;
                    left.push(time);
                    break;
                }
                heavy.next();
            }
        }
        arrived.push(left[left.len() - 1] + shortest_us * 1000);
    }
    arrived
}

/// When each byte of a train leaves, the last one first.
fn bytes_of(offsets_us: &[u64], first_bytes: u64, begins: u64) -> Vec<u64> {
    let mut bytes = Vec::new();
    for (packet, &offset) in offsets_us.iter().enumerate() {
        if packet == 0 {
            bytes.extend((0..first_bytes).map(|_| begins + offset * 1000));
            continue;
        }
        let before = offsets_us[packet - 1];
        let part = |byte: u64| begins + before * 1000 + (offset - before) * 1000 * byte / 1504;
        bytes.extend((1..=1504).map(part));
    }
    bytes.reverse();
    bytes
}

fn trains() -> impl Strategy<Value = Trains> {
    let train = (1_u64..40_000, 3_000_u64..30_000, prop::collection::vec(0_u64..4_000, 0..8));
    prop::collection::vec(train, 1..6).prop_map(|trains| {
        let mut start_us = 0;
        let with_times = |(gap_us, delay_us, gaps_us): (u64, u64, Vec<u64>)| {
            let mut offsets_us = vec![0];
            gaps_us.iter().for_each(|gap| offsets_us.push(offsets_us[offsets_us.len() - 1] + gap));
            start_us += gap_us;
            (start_us - 1, delay_us, offsets_us)
        };
        trains.into_iter().map(with_times).collect()
    })
}

fn text(trains: &Trains) -> String {
    let ms = |us: u64| format!("{}.{:03}", us / 1000, us % 1000);
    let line = |(start, delay, offsets): &(u64, u64, Vec<u64>)| {
        let offsets: Vec<String> = offsets.iter().copied().map(ms).collect();
        format!("{} {} {}\n", ms(*start), ms(*delay), offsets.join(" "))
    };
    trains.iter().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_packet_leaves_by_the_rules(
        trains in trains(),
        gaps_ms in prop::collection::vec(0_u64..12, 1..12),
        seed in any::<u64>(),
        is_dequeued in any::<bool>(),
        first_bytes in 40_u32..=1504,
    ) {
        let stamps_ms: Vec<u64> = gaps_ms
            .iter()
            .scan(1, |sum, gap| { *sum += gap; Some(*sum) })
            .collect();
        let mut random = Stream::new(seed, "arrivals");
        let mut at = 0;
        let arrivals: Vec<(u64, u32)> = (0..120).map(|_| {
            at += match random.below(8) {
                0 => random.below(60_000_000),
                1..5 => random.below(3_000_000),
                _ => 0,
            };
            (at, if random.below(3) == 0 { 52 } else { 1500 })
        }).collect();
        let heavy: String = stamps_ms.iter().map(|stamp| format!("{stamp}\n")).collect();
        let (mut stage, traces) = stage_with(&text(&trains), &heavy, first_bytes);
        if is_dequeued {
            // A CoDel that never drops.
            let (target, interval) = (Duration::from_secs(90), Duration::from_secs(100));
            stage.queue =
                QueueConfig::Codel { target, interval, ecn: false, packets: None, bytes: None };
        }
        let mut link = AnyLink::one_way(&[stage], &traces, 1, "forward").expect("valid settings");
        let frames: Vec<(Time, Frame)> = arrivals.iter().enumerate().map(|(number, &(at, bytes))| {
            (Time::from_nanos(at), Frame::new(number as u32, bytes))
        }).collect();
        let outcome = run(&mut link, &frames, Time::from_secs(15));
        let expected = reference(&trains, first_bytes.into(), &stamps_ms, &arrivals);
        let got: Vec<u64> = outcome.left.iter().map(|left| left.at.as_nanos()).collect();
        prop_assert_eq!(outcome.numbers(), (0..120).collect::<Vec<_>>());
        prop_assert_eq!(got, expected);
    }
}
