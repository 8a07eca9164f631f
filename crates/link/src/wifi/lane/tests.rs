use proptest::prelude::*;

use super::*;

const LIMITS: FrameLimits = FrameLimits { packets: 64, bytes: 65_535 };

fn lane(packets: u32) -> Lane<u32> {
    let mut lane = Lane::new();
    for packet in 0..packets {
        lane.push(Time::from_micros(u64::from(packet)), 1538, packet);
    }
    lane
}

fn places(chosen: &Places) -> Vec<u32> {
    chosen.iter().collect()
}

fn pop(lane: &mut Lane<u32>) -> Option<u32> {
    let mut place = None;
    lane.move_packet(&mut place);
    place
}

fn passed_on(lane: &mut Lane<u32>) -> Vec<u32> {
    (0..lane.pass_on().packets).filter_map(|_| pop(lane)).collect()
}

#[test]
fn an_aggregate_is_limited_by_packets_and_by_bytes() {
    let mut chosen = Places::default();
    // A single packet needs no delimiter, and the last packet of an aggregate is not padded.
    assert_eq!(lane(1).choose(LIMITS, &mut chosen), 1538);
    assert_eq!(lane(2).choose(LIMITS, &mut chosen), 1544 + 1542);
    let lane = lane(100);
    assert_eq!(lane.choose(LIMITS, &mut chosen), 41 * 1544 + 1542);
    assert_eq!(chosen.len(), 42);
    let five = FrameLimits { packets: 5, ..LIMITS };
    lane.choose(five, &mut chosen);
    assert_eq!(places(&chosen), [0, 1, 2, 3, 4]);
    let short = FrameLimits { bytes: 3 * 1544, ..LIMITS };
    lane.choose(short, &mut chosen);
    assert_eq!(places(&chosen), [0, 1, 2]);
    // A packet that exceeds the limit is sent alone.
    let tiny = FrameLimits { bytes: 100, ..LIMITS };
    assert_eq!(lane.choose(tiny, &mut chosen), 1538);
}

#[test]
fn a_frame_that_is_received_whole_passes_on_as_packet_by_packet() {
    let mut at_once = lane(50);
    for packet in [10, 11] {
        assert!(at_once.sent(packet, packet == 11, 1).is_some() == (packet == 10));
    }
    let mut one_by_one = at_once.clone();
    let passed = at_once.pass_first(10);
    for place in 0..10 {
        assert!(one_by_one.sent(place, true, 7).is_none());
    }
    // Of the packets behind, one was given up and one received; nothing holds them up any more.
    assert_eq!(passed + at_once.pass_on(), one_by_one.pass_on());
    assert_eq!(at_once.waiting_bytes(), one_by_one.waiting_bytes());
    let packets =
        |mut lane: Lane<u32>| core::iter::from_fn(|| pop(&mut lane)).take(11).collect::<Vec<u32>>();
    let mut expected: Vec<u32> = (0..10).collect();
    expected.push(11);
    assert_eq!(packets(at_once), expected);
    assert_eq!(packets(one_by_one), expected);
}

#[test]
fn a_frame_that_is_missed_whole_is_missed_packet_by_packet() {
    let mut at_once = lane(20);
    let mut one_by_one = at_once.clone();
    for (count, attempts) in [(3, 3), (5, 3), (8, 3)] {
        let dropped: Vec<u32> = if at_once.miss_first(count, attempts) {
            let given_up = (0..count).filter_map(|place| at_once.give_up_after(place, attempts));
            given_up.map(|dropped| dropped.packet).collect()
        } else {
            Vec::new()
        };
        let expected: Vec<u32> = (0..count)
            .filter_map(|place| one_by_one.sent(place, false, attempts))
            .map(|dropped| dropped.packet)
            .collect();
        assert_eq!(dropped, expected);
        assert_eq!(dropped.len(), if count == 8 { 3 } else { 0 });
    }
    assert_eq!(at_once.waiting_bytes(), one_by_one.waiting_bytes());
    at_once.forget();
    assert_eq!((at_once.len(), at_once.oldest()), (17, Time::from_micros(3)));
}

#[test]
fn the_longest_frame_is_found_behind_what_is_gone() {
    let mut lane = Lane::new();
    for packet in 0..90_u32 {
        lane.push(Time::ZERO, 100 + 37 * packet % 1400, packet);
    }
    assert!(lane.sent(0, false, 1).is_some());
    lane.forget();
    let _ = lane.pass_first(7);
    let mut chosen = Places::default();
    for bytes in (100..60_000).step_by(333) {
        let limits = FrameLimits { bytes, packets: 50 };
        let length = lane.choose(limits, &mut chosen);
        let lengths = || chosen.iter().map(|place| lane.bytes_at(place));
        let before: u64 = lengths().take(chosen.len() - 1).map(padded_bytes).sum();
        let last = lengths().last().expect("at least one goes");
        let next = subframe_bytes(lane.bytes_at(chosen.len() as u32));
        if chosen.len() == 1 {
            assert_eq!(length, u64::from(last));
        } else {
            assert_eq!(length, before + subframe_bytes(last));
            assert!(length <= bytes);
        }
        assert!(chosen.len() == 50 || before + padded_bytes(last) + next > bytes);
    }
}

#[test]
fn what_was_missed_is_sent_again_and_the_rest_waits_for_it() {
    let mut lane = lane(70);
    let mut chosen = Places::default();
    for place in 0..4 {
        assert!(lane.sent(place, place != 1, 7).is_none());
    }
    assert_eq!(passed_on(&mut lane), [0]);
    // The window begins at the missing packet, so it ends 64 packets after it.
    lane.choose(FrameLimits { bytes: 1_000_000, ..LIMITS }, &mut chosen);
    assert_eq!(places(&chosen)[..3], [0, 3, 4]);
    assert_eq!(chosen.last(), Some(63));
    assert!(lane.sent(0, true, 7).is_none());
    assert_eq!(passed_on(&mut lane), [1, 2, 3]);
    assert_eq!(lane.len(), 66);
}

#[test]
fn what_is_given_up_holds_the_rest_until_the_receiver_is_told() {
    let mut lane = lane(3);
    assert!(lane.sent(0, false, 2).is_none());
    assert!(lane.sent(1, true, 2).is_none());
    assert!(lane.sent(2, true, 2).is_none());
    assert_eq!(passed_on(&mut lane), [0; 0]);
    assert_eq!(lane.sent(0, false, 2).map(|dropped| dropped.packet), Some(0));
    lane.forget();
    assert!(lane.has_work());
    assert_eq!(lane.choose(LIMITS, &mut Places::default()), 0);
    assert_eq!(passed_on(&mut lane), [1, 2]);
    assert!(!lane.has_work());
}

#[test]
fn nobody_is_told_of_what_nothing_waits_for() {
    let mut lane = lane(2);
    assert!(lane.sent(0, false, 1).is_some());
    lane.forget();
    assert_eq!(lane.oldest(), Time::from_micros(1));
    assert!(lane.sent(0, false, 1).is_some());
    lane.forget();
    assert!(!lane.has_work());
}

#[test]
fn only_what_came_before_the_deadline_expires() {
    let mut lane = lane(5);
    lane.sent(0, true, 7);
    let deadline = Time::from_micros(3);
    let expired: Vec<u32> =
        core::iter::from_fn(|| lane.expire(deadline)).map(|dropped| dropped.packet).collect();
    assert_eq!(expired, [1, 2]);
}

proptest! {
    #[test]
    fn packets_pass_on_once_and_in_order(
        fates in prop::collection::vec(prop::collection::vec(any::<bool>(), 1..80), 1..60),
        attempts in 1_u32..4,
    ) {
        let mut lane = Lane::new();
        let mut chosen = Places::default();
        let (mut given, mut passed, mut dropped) = (0, Vec::new(), 0);
        for fate in &fates {
            for _ in 0..fate.len() / 2 {
                lane.push(Time::ZERO, 1538, given);
                given += 1;
            }
            lane.choose(FrameLimits { packets: 8, bytes: 12_000 }, &mut chosen);
            let is_received = |index: usize| fate[index % fate.len()];
            for (index, place) in chosen.iter().enumerate() {
                dropped += u32::from(lane.sent(place, is_received(index), attempts).is_some());
            }
            lane.forget();
            if chosen.is_empty() || (0..chosen.len()).any(is_received) {
                passed.extend(passed_on(&mut lane));
            }
            prop_assert_eq!(given, passed.len() as u32 + dropped + lane.len() as u32);
        }
        prop_assert!(passed.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
