//! Rates of cells, compared with the tables of ns-3 and of the standards.

mod common;

use common::cell::{cell, direction, errors, hsdpa, lte, nr, saturate, user};
use common::{Frame, Outcome, run_until};
use cwndlab_link::cellular::{
    BackgroundConfig, BlockErrors, BlockRecord, Cell, CellConfig, DirectionConfig, RadioConfig,
    SchedulerConfig, SlotConfig, UmtsDownlink, UmtsUplink, UserConfig,
};
use cwndlab_link::channel::{AdaptationConfig, Decibel, FadingConfig, OuterLoopConfig};
use cwndlab_link::{Direction, EarlyDiscard, Link, Probability, Stages};
use cwndlab_units::{Bytes, Duration, Time};

const MBIT: f64 = 1e6 / 8.0;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn with_scheduler(config: CellConfig, scheduler: SchedulerConfig) -> CellConfig {
    let downlink = DirectionConfig { scheduler, ..config.downlink };
    let uplink = DirectionConfig { scheduler, ..config.uplink };
    CellConfig { downlink, uplink, ..config }
}

fn reports(delay_ms: u64, has_outer_loop: bool) -> AdaptationConfig {
    let target = Probability::from_ppb(100_000_000).expect("a probability");
    let step_mdb = Decibel::from_milli(500);
    AdaptationConfig::Reports {
        period: ms(5),
        delay: ms(delay_ms),
        outer_loop: has_outer_loop.then_some(OuterLoopConfig { target, step_mdb }),
    }
}

fn rayleigh(doppler_mhz: u32, branches: u8) -> Option<FadingConfig> {
    Some(FadingConfig { doppler_mhz, branches, rice_mdb: None })
}

#[test]
fn round_robin_gives_what_ns_3_does() {
    // lte-test-rr-ff-mac-scheduler of ns-3, 5 MHz: (scheme, users, bytes per second of each user
    // down and up). ns-3 leaves a 25th resource block of the downlink unused, which the standard
    // does not; the tolerance, as in ns-3, is 10 %.
    let rows = [
        (28, 1, 2_196_000.0, 2_292_000.0),
        (28, 3, 749_000.0, 749_000.0),
        (28, 6, 373_000.0, 373_000.0),
        (28, 9, 185_000.0, 246_220.0),
        (28, 12, 185_000.0, 184_670.0),
        (28, 15, 148_000.0, f64::NAN),
        (22, 1, 1_383_000.0, f64::NAN),
        (22, 3, 469_000.0, f64::NAN),
        (22, 6, 233_000.0, f64::NAN),
        (22, 9, 113_000.0, f64::NAN),
        (14, 1, f64::NAN, 807_000.0),
        (14, 3, f64::NAN, 253_000.0),
        (20, 1, 1_191_000.0, f64::NAN),
        (8, 1, 421_000.0, f64::NAN),
    ];
    for (scheme, users, down, up) in rows {
        let config = lte(25, users, scheme);
        for (is_uplink, expected) in [(false, down), (true, up)] {
            if expected.is_nan() {
                continue;
            }
            for [blocks, _] in saturate(&config, is_uplink, 3) {
                assert!(
                    (blocks / expected - 1.0).abs() < 0.1,
                    "scheme {scheme}, {users} users, uplink {is_uplink}: {blocks}, ns-3 {expected}"
                );
            }
        }
    }
}

#[test]
fn proportional_fair_shares_time_whatever_the_channel() {
    // ns-3's lte-test-pf-ff-mac-scheduler: each user gets 1/N of its rate when alone.
    let policy = SchedulerConfig::ProportionalFair { window: 99 };
    let adaptive = |decibels: &[i32]| {
        let down = DirectionConfig { adaptation: reports(6, false), ..direction(0) };
        let users = decibels.iter().map(|&decibels| user(decibels)).collect();
        with_scheduler(CellConfig { downlink: down, users, ..lte(25, 1, 0) }, policy)
    };
    let alone = |decibels| saturate(&adaptive(&[decibels]), false, 3)[0][0];
    let all = [4, 9, 14, 19];
    for (decibels, [together, _]) in all.into_iter().zip(saturate(&adaptive(&all), false, 5)) {
        let share = together / alone(decibels);
        assert!((share - 0.25).abs() < 0.02, "{decibels} dB: {share}");
    }
}

#[test]
fn maximum_ci_serves_the_best_user_first() {
    let config = CellConfig { users: vec![user(5), user(15), user(10)], ..lte(25, 3, 0) };
    let down = DirectionConfig { adaptation: reports(6, false), ..direction(0) };
    let config = with_scheduler(CellConfig { downlink: down, ..config }, SchedulerConfig::MaxCi);
    let rates = saturate(&config, false, 3);
    assert!(rates[1][0] > 1e6 && rates[0][0] + rates[2][0] < 0.05 * rates[1][0], "{rates:?}");
}

#[test]
fn choosing_the_moment_gains_what_fading_offers() {
    // WIRELESS.md section 10.9: for Rayleigh fading, proportional fair serves a user at the best of
    // N ratios, whose mean is the sum of 1/k. This bounds the gain over round robin, which is
    // smaller because capacity grows with the logarithm of the ratio.
    let rate = |users: usize, scheduler| {
        let one = UserConfig { fading: rayleigh(5_000, 1), ..user(8) };
        let down = DirectionConfig {
            adaptation: AdaptationConfig::Reports { period: ms(2), delay: ms(2), outer_loop: None },
            ..direction(0)
        };
        let config = CellConfig { downlink: down, users: vec![one; users], ..lte(25, users, 0) };
        let rates = saturate(&with_scheduler(config, scheduler), false, 21);
        rates.iter().map(|rate| rate[0]).sum::<f64>()
    };
    let mut last = 1.0;
    for users in [2, 4, 8] {
        let fair = rate(users, SchedulerConfig::ProportionalFair { window: 1000 });
        let gain = fair / rate(users, SchedulerConfig::RoundRobin);
        let bound: f64 = (1..=users).map(|k| 1.0 / k as f64).sum();
        assert!(gain > last && gain < bound, "{users} users: {gain}, bound {bound}");
        last = gain + 0.02;
    }
}

#[test]
fn outer_loop_brings_errors_to_one_in_ten() {
    // WIRELESS.md sections 1.4 and 10.9: 0.10 +- 0.02 with the outer loop; without it and with
    // stale reports, 0.2 to 0.4.
    let first_errors = |doppler_mhz, delay_ms, has_outer_loop| {
        let down = DirectionConfig {
            adaptation: reports(delay_ms, has_outer_loop),
            block_errors: BlockErrors::Curves,
            ..direction(0)
        };
        let users = vec![UserConfig { fading: rayleigh(doppler_mhz, 2), ..user(12) }];
        let mut cell = cell(&CellConfig { downlink: down, users, ..lte(50, 1, 0) }, 3);
        cell.record_blocks();
        for number in 0..100_000 {
            cell.handle_packet(Time::ZERO, 0, Frame::new(number, 1500));
        }
        run_until(&mut cell, Time::from_secs(20), &mut Outcome::default());
        let blocks = cell.take_blocks();
        let first: Vec<_> = blocks
            .iter()
            .filter(|block| block.transmission == 1 && block.at > Time::from_secs(1))
            .collect();
        let failed = first.iter().filter(|block| !block.is_decoded).count();
        failed as f64 / first.len() as f64
    };
    for doppler_mhz in [0, 6_000, 70_000] {
        let rate = first_errors(doppler_mhz, 6, true);
        assert!((rate - 0.1).abs() < 0.02, "{doppler_mhz} mHz: {rate}");
    }
    let stale = first_errors(70_000, 6, false);
    assert!((0.2..0.5).contains(&stale), "{stale}");
}

#[test]
fn harq_takes_as_many_transmissions_as_it_needs() {
    // ns-3's lte-harq: with P1 = 0.926 and then 0, blocks take 1.926 transmissions.
    let given = BlockErrors::Given {
        ppb: [926_000_000, 0].map(|ppb| Probability::from_ppb(ppb).expect("one")).to_vec(),
    };
    let down = DirectionConfig { block_errors: given, ..direction(10) };
    let plain = saturate(&lte(25, 1, 10), false, 5)[0][0];
    let erring = saturate(&CellConfig { downlink: down, ..lte(25, 1, 10) }, false, 11)[0][0];
    assert!((plain / erring - 1.926).abs() < 0.04, "{}", plain / erring);
}

#[test]
fn background_users_take_their_part() {
    let others = |users, off_ms| {
        vec![BackgroundConfig {
            users,
            direction: Direction::Forward,
            lowest_mdb: Decibel::from_whole(10),
            highest_mdb: Decibel::from_whole(20),
            fading: None,
            on: ms(500),
            off: ms(off_ms),
        }]
    };
    let rate = |background| saturate(&CellConfig { background, ..lte(50, 1, 10) }, false, 60)[0][0];
    let alone = rate(Vec::new());
    assert!((rate(others(3, 0)) / alone - 0.25).abs() < 0.02);
    // One user that needs service half of the time: a share of 3/4.
    let share = rate(others(1, 500)) / alone;
    assert!((share - 0.75).abs() < 0.05, "{share}");
}

#[test]
fn a_users_full_queue_is_no_other_users() {
    // User 1 has a standing queue of 400 kB; user 2's packets do not wait in it.
    for scheduler in
        [SchedulerConfig::RoundRobin, SchedulerConfig::ProportionalFair { window: 100 }]
    {
        let config = with_scheduler(lte(50, 2, 10), scheduler);
        let mut cell = cell(&config, 1);
        let mut outcome = Outcome::default();
        for number in 0..3_000_u32 {
            let at = Time::from_millis(u64::from(number));
            run_until(&mut cell, at, &mut outcome);
            while cell.backlog(0, at).bytes < 400_000 {
                cell.handle_packet(at, 0, Frame::of(1, u32::MAX, 1500));
                if cell.counters(0, at).arrived.packets % 300 == 0 {
                    break;
                }
            }
            cell.handle_packet(at, 0, Frame::of(2, number, 300));
        }
        run_until(&mut cell, Time::from_secs(4), &mut outcome);
        let delays: Vec<f64> = outcome
            .left
            .iter()
            .filter(|left| left.port == 2)
            .map(|left| (left.at - Time::from_millis(left.number.into())).as_millis_f64())
            .collect();
        assert_eq!(delays.len(), 3_000);
        let mean = delays.iter().sum::<f64>() / 3_000.0;
        assert!(mean < 6.0, "{scheduler:?}: {mean} ms");
    }
}

#[test]
fn an_early_discard_takes_one_packet_where_an_overflow_takes_many() {
    // 80 packets arrive at once.
    let missing = |early_discard| {
        let down = DirectionConfig { queue_packets: Some(60), early_discard, ..direction(10) };
        let mut cell = cell(&CellConfig { downlink: down, ..lte(50, 1, 10) }, 1);
        for number in 0..80 {
            cell.handle_packet(Time::ZERO, 0, Frame::new(number, 1500));
        }
        let mut outcome = Outcome::default();
        run_until(&mut cell, Time::from_secs(1), &mut outcome);
        let drops = cell.counters(0, Time::from_secs(1)).drops;
        let arrived = outcome.numbers();
        let missing: Vec<u32> = (0..80).filter(|number| !arrived.contains(number)).collect();
        assert_eq!(drops.overflow + drops.aqm, missing.len() as u64);
        (missing, drops.aqm)
    };
    assert_eq!(missing(None), ((60..80).collect(), 0));
    let early = EarlyDiscard { at_packets: 40, spacing_packets: 15 };
    let (early_missing, early_drops) = missing(Some(early));
    assert_eq!(early_drops, 2);
    assert_eq!(early_missing[..2], [40, 56], "one, and the next after 15 others");
    assert_eq!(early_missing[2..], (62..80).collect::<Vec<_>>(), "then it is full all the same");
}

#[test]
fn an_early_discard_that_cannot_be_is_told() {
    for (at_packets, spacing_packets) in [(0, 5), (5, 0), (60, 5), (61, 5)] {
        let early_discard = Some(EarlyDiscard { at_packets, spacing_packets });
        let down = DirectionConfig { queue_packets: Some(60), early_discard, ..direction(10) };
        let config = CellConfig { downlink: down, ..lte(50, 1, 10) };
        let error = Cell::<Frame>::new(&config, 1, "cell").expect_err("no discard");
        assert_eq!(error.place(), "downlink.early_discard");
        assert!(error.to_string().starts_with("at_packets must be at least 1"), "{error}");
    }
}

#[test]
fn hsdpa_and_dedicated_channels_carry_what_their_tables_say() {
    // RLC rates of WIRELESS.md sections 3.2 to 3.4, less 2 bytes per packet.
    let kbit_s = |config: &CellConfig, is_uplink| saturate(config, is_uplink, 11)[0][1] * 8e-3;
    let packets = 1500.0 / 1502.0;
    for (category, quality, expected) in [(6, 30, 3360.0), (8, 30, 6720.0), (12, 20, 1600.0)] {
        let ours = kbit_s(&hsdpa(category, 1, quality - 1), false);
        assert!((ours / (expected * packets) - 1.0).abs() < 0.005, "{category}: {ours}");
    }
    for (kbit, expected) in [(64, 64.0), (128, 128.0), (384, 384.0)] {
        let mut config = hsdpa(8, 1, 20);
        config.radio = RadioConfig::Umts {
            downlink: UmtsDownlink::Dedicated { kbit_s: kbit },
            uplink: UmtsUplink::Dedicated { kbit_s: kbit },
        };
        config.downlink = direction(0);
        for is_uplink in [false, true] {
            let ours = kbit_s(&config, is_uplink);
            assert!((ours / (expected * packets) - 1.0).abs() < 0.02, "{kbit}: {ours}");
        }
    }
}

#[test]
fn dedicated_channels_repair_by_rlc() {
    // 1 % of blocks are lost: each is retransmitted 100 ms later, and no packet is lost.
    let up = DirectionConfig {
        block_errors: errors(1, 1),
        transmissions: 1,
        rlc: cwndlab_link::cellular::RlcConfig::Acknowledged { recovery: ms(100) },
        queue_bytes: Some(Bytes(1 << 30)),
        ..direction(0)
    };
    let mut cell = cell(&CellConfig { uplink: up, ..hsdpa(8, 1, 20) }, 6);
    for number in 0..2_000 {
        cell.handle_packet(Time::ZERO, 1, Frame::new(number, 1500));
    }
    let mut outcome = Outcome::default();
    run_until(&mut cell, Time::from_secs(200), &mut outcome);
    assert_eq!(outcome.numbers(), (0..2_000).collect::<Vec<_>>());
    // 3,004,000 bytes at 48,000 bytes/s, 1 % of them twice.
    let seconds = outcome.left.last().expect("it came").at.as_secs_f64();
    assert!((seconds / (62.58 * 1.01) - 1.0).abs() < 0.01, "{seconds}");
}

#[test]
fn nr_carries_what_its_slots_hold() {
    // WIRELESS.md section 5.2, 50 MHz; of 10 slots, 7 and 6 symbols down, 2 up: Mbit/s.
    for (scheme, down, up) in [(10, 66.4, 19.7), (15, 99.6, 29.5), (20, 138.7, 41.0)] {
        let config = nr("DDDDDDDAUU", scheme, 20);
        for (is_uplink, expected) in [(false, down), (true, up)] {
            let ours = saturate(&config, is_uplink, 3)[0][0] / MBIT;
            assert!((ours / expected - 1.0).abs() < 0.005, "scheme {scheme}: {ours}, {expected}");
        }
    }
}

#[test]
fn hsupa_grows_into_its_grant() {
    let mut config = hsdpa(8, 1, 20);
    let uplink = UmtsUplink::Hsupa { category: 3, ramp: ms(200) };
    config.radio = RadioConfig::Umts { downlink: UmtsDownlink::Hsdpa { category: 8 }, uplink };
    let mut cell = cell(&config, 6);
    cell.record_blocks();
    for number in 0..100 {
        cell.handle_packet(Time::ZERO, 1, Frame::new(number, 1500));
    }
    run_until(&mut cell, Time::from_secs(2), &mut Outcome::default());
    let payloads: Vec<u32> = cell.take_blocks().iter().map(|block| block.payload_bytes).collect();
    assert!(payloads[0] <= 80 && payloads[..20].windows(2).all(|pair| pair[0] <= pair[1]));
    // 43 units of 40 bytes: 1.376 Mbit/s.
    assert_eq!(payloads.iter().max(), Some(&1_720));
}

/// NR at 15 kHz and 5 MHz with these slots, each with this overhead for reference signals.
fn nr_with(slots: Vec<SlotConfig>, overhead: u16, scheme: u8) -> CellConfig {
    let mut config = nr("DDDSU", scheme, 5);
    if let RadioConfig::Nr(radio) = &mut config.radio {
        (radio.subcarrier_khz, radio.bandwidth_mhz) = (15, 5);
        (radio.pattern, radio.overhead_elements) = (slots, overhead);
    }
    config
}

#[test]
fn grants_pass_over_slots_without_room() {
    let slot = |downlink_symbols, uplink_symbols| SlotConfig { downlink_symbols, uplink_symbols };
    // Two symbols of 24 elements, all of them reference signals; and three symbols that, at the
    // lowest scheme, have room only for the headers.
    for (symbols, overhead, scheme) in [(2, 24, 10), (3, 30, 0)] {
        for place in 0..4 {
            let mut slots = vec![slot(13, 0); 4];
            slots[place] = slot(8, symbols);
            slots.push(slot(0, 14));
            let config = nr_with(slots, overhead, scheme);
            let mut cell = cell(&config, 6);
            cell.record_blocks();
            for number in 0..50 {
                cell.handle_packet(Time::ZERO, 1, Frame::new(number, 500));
            }
            let mut outcome = Outcome::default();
            run_until(&mut cell, Time::from_secs(20), &mut outcome);
            assert_eq!(outcome.numbers(), (0..50).collect::<Vec<_>>(), "{place}");
            let of_pattern = |block: &BlockRecord| block.at.as_micros() / 1000 % 5;
            let blocks = cell.take_blocks();
            assert!(
                blocks
                    .iter()
                    .filter(|block| block.direction == Direction::Reverse)
                    .all(|b| of_pattern(b) == 4)
            );
        }
    }
}

#[test]
fn a_short_slot_answers_though_it_carries_no_data() {
    // Downlink and its feedback: with feedback in the special slot, a failed block is retransmitted
    // sooner.
    let until_again = |slots| {
        let mut config = nr(slots, 10, 5);
        config.downlink.block_errors = errors(100, 0);
        let mut cell = cell(&config, 6);
        cell.record_blocks();
        cell.handle_packet(Time::ZERO, 0, Frame::new(0, 500));
        run_until(&mut cell, Time::from_secs(1), &mut Outcome::default());
        let blocks = cell.take_blocks();
        assert_eq!(blocks.len(), 2);
        blocks[1].at - blocks[0].at
    };
    assert!(until_again("DDDDDSDDDU") < until_again("DDDDDDDDDU"));
}

#[test]
fn a_pattern_without_room_is_no_cell() {
    let slot = |downlink_symbols, uplink_symbols| SlotConfig { downlink_symbols, uplink_symbols };
    let refused = |slots: Vec<SlotConfig>, overhead| {
        let cell = Cell::<Frame>::new(&nr_with(slots, overhead, 5), 1, "cell");
        cell.map(|_| ()).expect_err("it has no room").to_string()
    };
    let up = refused(vec![slot(12, 2)], 24);
    assert!(up.contains("carry data of the uplink") && up.contains("overhead_elements"), "{up}");
    assert!(refused(vec![slot(1, 13)], 24).contains("carry data of the downlink"));
    assert!(refused(vec![slot(0, 14)], 0).contains("carry data of the downlink"));
    assert!(refused(vec![slot(14, 0)], 0).contains("carry data of the uplink"));
    assert!(refused(vec![], 0).contains("from 1 to 1000 slots"));
    assert!(refused(vec![slot(14, 0), slot(0, 14)], 200).contains("carry data of the downlink"));
}
