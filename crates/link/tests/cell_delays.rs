//! Delays of cells: unloaded latency and stalls behind lost blocks.

mod common;

use common::cell::{access, cell, direction, errors, hsdpa, lte, nr, pings, stalls};
use common::{Frame, Outcome, run_until};
use cwndlab_link::Link;
use cwndlab_link::cellular::{
    AccessConfig, CellConfig, DirectionConfig, HandoverConfig, RadioConfig, ReportsConfig,
    RlcConfig, RrcConfig,
};
use cwndlab_units::{Duration, Stream, Time};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// LTE with a core delay of 1 ms in each direction.
fn lte_with_core() -> CellConfig {
    let core = DirectionConfig { core_delay: ms(1), ..direction(10) };
    CellConfig { downlink: core.clone(), uplink: core, ..lte(50, 1, 10) }
}

#[test]
fn one_way_down_takes_4_ms_in_lte() {
    // TR 36.912 table 16.2.1-1.
    let mut delays = Vec::new();
    for number in 0..1000_u64 {
        let mut cell = cell(&lte(50, 1, 10), 1);
        let sent = Time::from_micros(number * 10_037);
        cell.handle_packet(sent, 0, Frame::new(0, 84));
        let mut outcome = Outcome::default();
        run_until(&mut cell, sent + ms(50), &mut outcome);
        delays.push((outcome.left[0].at - sent).as_millis_f64());
    }
    assert!((mean(&delays) - 4.0).abs() < 0.05, "{}", mean(&delays));
}

#[test]
fn lte_ping_takes_20_ms_with_requests_and_10_with_grants_beforehand() {
    // WIRELESS.md section 10.3: 20 ms +- 2 ms with requests every 10 ms, 10 to 11 ms without, and
    // 1.5 ms more at a block error rate of 10 %.
    let requested = mean(&pings(&lte_with_core(), 1000));
    assert!((requested - 20.0).abs() < 2.0, "{requested}");
    let beforehand = CellConfig {
        access: Some(AccessConfig { keep_alive: Duration::MAX, ..access(10) }),
        ..lte_with_core()
    };
    let granted = mean(&pings(&beforehand, 1000)[1..]);
    assert!((10.0..=11.0).contains(&granted), "{granted}");
    let core = DirectionConfig { block_errors: errors(10, 2), ..lte_with_core().uplink };
    let erring = CellConfig { downlink: core.clone(), uplink: core, ..lte_with_core() };
    let more = mean(&pings(&erring, 4000)) - requested;
    assert!((more - 1.5).abs() < 0.5, "{more}");
}

#[test]
fn a_retransmission_costs_8_ms_in_lte() {
    let config = CellConfig {
        downlink: DirectionConfig { block_errors: errors(30, 30), ..direction(10) },
        ..lte(50, 1, 10)
    };
    let mut seen = Vec::new();
    for number in 0..1000_u64 {
        let mut cell = cell(&config, 5);
        let sent = Time::from_millis(number * 7);
        cell.handle_packet(sent, 0, Frame::new(0, 84));
        let mut outcome = Outcome::default();
        run_until(&mut cell, sent + ms(500), &mut outcome);
        seen.push((outcome.left[0].at - sent).as_micros());
    }
    seen.sort_unstable();
    seen.dedup();
    // 1 ms processing, 1 ms block, 1.5 ms decoding, and 8 ms for each retransmission.
    assert_eq!(seen[..4], [3_500, 11_500, 19_500, 27_500]);
}

#[test]
fn nr_ping_follows_the_period_of_requests() {
    // WIRELESS.md section 10.3: 6 to 10 ms with requests every 2.5 to 5 ms; with 20 ms, a mean of
    // 18 ms and a uniform spread of 20 ms. The first is a commercial base station, which responds
    // within 5G-LENA's two slots; the second is the callbox, whose software takes four slots.
    let rows = [("DDDSU", 5, 2, 6.0, 10.0), ("DDDDDDDAUU", 20, 4, 16.0, 20.0)];
    for (slots, request_ms, base, least, most) in rows {
        let core = DirectionConfig { core_delay: Duration::from_micros(250), ..direction(15) };
        let mut config =
            CellConfig { downlink: core.clone(), uplink: core, ..nr(slots, 15, request_ms) };
        let RadioConfig::Nr(radio) = &mut config.radio else { panic!("it is NR") };
        radio.base_slots = base;
        let delays = pings(&config, 1000);
        let mean = mean(&delays);
        assert!((least..=most).contains(&mean), "{slots}: {mean}");
        if request_ms == 20 {
            let shortest = delays.iter().copied().fold(f64::MAX, f64::min);
            let longest = delays.iter().copied().fold(0.0, f64::max);
            let width = longest - shortest;
            assert!((19.0..=22.5).contains(&width), "{shortest} to {longest}");
        }
    }
}

/// WIRELESS.md section 1.6, means within 10 %, percentiles within a slot, shares within 3 points:
/// mean, p50, p90, p99, p99.9 in milliseconds, and the percentage of blocks that are delayed.
#[test]
fn stalls_are_those_of_stop_and_wait_and_order() {
    let with = |config: CellConfig, first| {
        let down = DirectionConfig { block_errors: errors(first, 2), ..config.downlink };
        CellConfig { downlink: down, ..config }
    };
    let rows = [
        ("LTE, 10 %", with(lte(50, 1, 10), 10), 1.0, [2.85, 1.0, 8.0, 11.0, 16.0], 54.0, 0.908),
        ("LTE, 1 %", with(lte(50, 1, 10), 1), 1.0, [0.37, 0.0, 0.0, 8.0, 11.0], 7.7, 0.990),
        ("HSDPA", with(hsdpa(8, 1, 24), 10), 2.0, [3.5, 0.0, 12.0, 14.0, 24.0], 45.0, 0.908),
    ];
    for (name, config, slot_ms, [mean, rest @ ..], share, rate) in rows {
        let stalls = stalls(&config, 100_000);
        let error = stalls.mean_ms() / mean - 1.0;
        assert!(error.abs() < 0.1, "{name}: mean {}", stalls.mean_ms());
        for (percentile, expected) in [50.0, 90.0, 99.0, 99.9].into_iter().zip(rest) {
            let ours = stalls.percentile_ms(percentile);
            assert!((ours - expected).abs() <= slot_ms, "{name}: p{percentile} {ours}");
        }
        let delayed = stalls.delayed_pct();
        assert!((delayed - share).abs() < 3.0, "{name}: {delayed} % delayed");
        assert!((stalls.new_blocks_a_slot - rate).abs() < 0.005, "{}", stalls.new_blocks_a_slot);
    }
}

#[test]
fn without_order_nothing_waits_for_others_but_packets_overtake() {
    let down = DirectionConfig {
        block_errors: errors(10, 2),
        rlc: RlcConfig::Transparent {},
        ..direction(10)
    };
    let config = CellConfig { downlink: down, ..lte(50, 1, 10) };
    let stalls = stalls(&config, 20_000);
    // Only the blocks that failed are late; the table's row assumes in-order delivery.
    assert!((stalls.delayed_pct() - 10.0).abs() < 1.0, "{}", stalls.delayed_pct());
    assert!(stalls.overtaken > 1_000, "{}", stalls.overtaken);
}

#[test]
fn what_harq_gives_up_is_sent_again_or_lost_by_mode() {
    let run = |rlc| {
        let down = DirectionConfig {
            block_errors: errors(30, 30),
            transmissions: 2,
            rlc,
            ..direction(10)
        };
        let mut cell = cell(&CellConfig { downlink: down, ..lte(50, 1, 10) }, 2);
        for number in 0..2000 {
            cell.handle_packet(Time::ZERO, 0, Frame::new(number, 1500));
        }
        let mut outcome = Outcome::default();
        run_until(&mut cell, Time::from_secs(100), &mut outcome);
        let numbers = outcome.numbers();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "in order");
        numbers.len()
    };
    assert_eq!(run(RlcConfig::Acknowledged { recovery: ms(80) }), 2000);
    let left = run(RlcConfig::Unacknowledged { reordering: ms(50) });
    // A packet of 1504 bytes is in 2.51 blocks of 995 bytes, 9 % of which are lost: 0.91^2.51.
    assert!((left as f64 / 2000.0 - 0.789).abs() < 0.02, "{left}");
}

#[test]
fn a_user_wakes_up_as_late_as_its_state_says() {
    let rrc = RrcConfig {
        drx_after: Some(ms(100)),
        drx_cycle: ms(160),
        inactivity: ms(10_000),
        promotion_least: ms(260),
        promotion_most: ms(260),
        paging_cycle: ms(1_280),
    };
    let config = CellConfig { rrc: Some(rrc), ..lte(50, 1, 10) };
    let mut cell = cell(&config, 4);
    let mut outcome = Outcome::default();
    let mut delay = |at: Time, port| {
        run_until(&mut cell, at, &mut outcome);
        cell.handle_packet(at, port, Frame::new(0, 84));
        run_until(&mut cell, at + ms(3_000), &mut outcome);
        (outcome.left.last().expect("it came").at - at).as_millis()
    };
    // Asleep at the beginning: the uplink only needs the promotion.
    assert!((263..295).contains(&delay(Time::from_millis(5), 1)));
    // Paged: up to a paging cycle, then the promotion.
    let called = delay(Time::from_secs(60), 0);
    assert!((263..=1_550).contains(&called), "{called}");
    // Connected, listening every 160 ms; uplink packets only wait for a grant.
    let listening = delay(Time::from_secs(65), 0);
    assert!((3..=165).contains(&listening), "{listening}");
    assert!(delay(Time::from_secs(70), 1) < 30);
    // Within 100 ms of the last packet: no wait.
    let mut quick = Vec::new();
    for number in 0..20 {
        let at = Time::from_secs(75) + ms(20 * number);
        run_until(&mut cell, at, &mut outcome);
        cell.handle_packet(at, 0, Frame::new(1 + number as u32, 84));
        quick.push(at);
    }
    run_until(&mut cell, Time::from_secs(80), &mut outcome);
    let last: Vec<_> = outcome.left.iter().rev().take(10).collect();
    for (left, sent) in last.iter().zip(quick.iter().rev()) {
        assert!((left.at - *sent).as_millis() < 5);
    }
}

#[test]
fn handover_stops_service_and_loses_only_if_seamless() {
    let run = |is_lossless| {
        let handover = HandoverConfig { interval: ms(1_000), interruption: ms(50), is_lossless };
        let down = DirectionConfig { block_errors: errors(20, 2), ..direction(10) };
        let config = CellConfig { handover: Some(handover), downlink: down, ..lte(50, 1, 10) };
        let mut cell = cell(&config, 9);
        let mut outcome = Outcome::default();
        for number in 0..20_000 {
            let at = Time::from_micros(1_000 * u64::from(number));
            run_until(&mut cell, at, &mut outcome);
            cell.handle_packet(at, 0, Frame::new(number, 1_000));
        }
        run_until(&mut cell, Time::from_secs(60), &mut outcome);
        let gaps = outcome.left.windows(2).map(|pair| pair[1].at - pair[0].at);
        (outcome.left.len(), gaps.filter(|gap| *gap >= ms(45)).count())
    };
    let (left, gaps) = run(true);
    assert_eq!(left, 20_000);
    // One per second for 20 s, in both cases, because the channel does not depend on the RLC mode.
    assert!((12..32).contains(&gaps), "{gaps}");
    let (left, others) = run(false);
    // Two gaps in quick succession may look like one.
    assert!(others.abs_diff(gaps) <= 1, "{others}");
    // Blocks that had failed in the last round trip: about 20 % of 8 blocks.
    assert!(left < 20_000 && left + 8 * gaps > 20_000, "{left}");
}

/// Delays in milliseconds of small packets that arrive at random, two per millisecond, and the mean
/// number of packets that leave at one time.
fn acks(config: &CellConfig) -> (Vec<f64>, f64) {
    let mut cell = cell(config, 7);
    let mut random = Stream::new(3, "arrivals");
    let (mut now, mut sent, mut outcome) = (Time::ZERO, Vec::new(), Outcome::default());
    for number in 0..20_000 {
        now += Duration::from_nanos(random.exponential(500_000.0) as u64);
        run_until(&mut cell, now, &mut outcome);
        cell.handle_packet(now, 1, Frame::new(number, 52));
        sent.push(now);
    }
    run_until(&mut cell, Time::from_secs(20), &mut outcome);
    let delay = |left: &common::Left| (left.at - sent[left.number as usize]).as_millis_f64();
    let bursts = outcome.left.windows(2).filter(|pair| pair[1].at > pair[0].at).count();
    let delays: Vec<f64> = outcome.left.iter().map(delay).collect();
    let at_once = delays.len() as f64 / bursts as f64;
    (delays, at_once)
}

#[test]
fn what_is_not_told_waits_for_the_timers() {
    let with = |reports| {
        let access = AccessConfig { reports, ..access(10) };
        acks(&CellConfig { access: Some(access), ..lte(50, 1, 10) })
    };
    let timers = |period, repeat| Some(ReportsConfig { period: ms(period), repeat: ms(repeat) });
    let (always, few) = with(None);
    let (told, many) = with(timers(20, 320));
    assert_eq!((always.len(), told.len()), (20_000, 20_000));
    // Packets that arrive after the last report wait until it is repeated, and leave together.
    assert!(mean(&always) < 20.0 && mean(&told) > 100.0, "{} {}", mean(&always), mean(&told));
    assert!(many > 1.5 * few, "{many} {few}");
    // A report with every block is equivalent to a timer of zero.
    let (every, same) = with(timers(0, 0));
    assert!((mean(&every) / mean(&always) - 1.0).abs() < 0.01 && (same / few - 1.0).abs() < 0.01);
}

#[test]
fn a_user_that_was_forgotten_asks_again() {
    // The first grant covers only one packet, and the other arrives after the report: only the
    // timer reports it.
    let waits = |repeat| {
        let reports = Some(ReportsConfig { period: ms(10_000), repeat: ms(repeat) });
        let access = AccessConfig { reports, first_grant_bytes: Some(1_530), ..access(10) };
        let mut cell = cell(&CellConfig { access: Some(access), ..lte(6, 1, 20) }, 7);
        let mut outcome = Outcome::default();
        cell.handle_packet(Time::from_secs(1), 1, Frame::new(0, 3_000));
        let later = Time::from_secs(1) + ms(22);
        run_until(&mut cell, later, &mut outcome);
        for number in 1..40 {
            cell.handle_packet(later, 1, Frame::new(number, 1_500));
        }
        run_until(&mut cell, Time::from_secs(9), &mut outcome);
        assert_eq!(outcome.left.len(), 40);
        outcome.left.windows(2).map(|pair| pair[1].at - pair[0].at).max().expect("packets")
    };
    assert!(waits(100) < ms(150));
    let longer = waits(320);
    assert!(longer > ms(300) && longer < ms(370), "{longer:?}");
}
