//! Measurements of cells for the figures of `tests/links/targets.toml`.
//!
//! A measurement takes a change, which it applies to each of its cells, so that a test can remove a
//! stage of the pipeline and check which figures change.

use cwndlab_link::cellular::{
    AccessConfig, BackgroundConfig, BlockErrors, BlockRecord, CellConfig, DirectionConfig,
    HandoverConfig, LteConfig, RadioConfig, RrcConfig, SchedulerConfig, SlotConfig, UserConfig,
};
use cwndlab_link::channel::{
    AdaptationConfig, Decibel, DriftConfig, FadingConfig, OuterLoopConfig,
};
use cwndlab_link::{Direction, Link};
use cwndlab_units::{Duration, Time};

use super::cell::{
    access, cell, direction, errors, hsdpa, lte, no_errors, nr, pattern, pings, ppb, saturate,
    stalls, user,
};
use super::{Frame, Outcome, run_until};

/// A change to a cell.
pub(crate) type Change = fn(CellConfig) -> CellConfig;

/// Figures from one simulation.
pub(crate) struct Rows {
    /// Names of the figures in the file of targets.
    pub(crate) ids: Vec<String>,
    /// Values of the figures in changed cells.
    pub(crate) measure: Box<dyn Fn(Change) -> Vec<f64>>,
}

/// All measurements.
pub(crate) fn all() -> Vec<Rows> {
    let mut rows = peaks();
    rows.extend(round_robin());
    rows.extend(schedulers());
    rows.extend(stall_tables());
    rows.extend(latencies());
    rows.extend(channels());
    rows.extend(users());
    rows
}

fn rows(ids: &[&str], measure: impl Fn(Change) -> Vec<f64> + 'static) -> Rows {
    let ids = ids.iter().map(|id| format!("cell.{id}")).collect();
    Rows { ids, measure: Box::new(measure) }
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// All blocks that a full queue sends in a given time.
fn blocks(config: &CellConfig, is_uplink: bool, time: Duration) -> Vec<BlockRecord> {
    let mut cell = cell(config, 3);
    cell.record_blocks();
    let port = u16::from(is_uplink);
    for number in 0..100_000 {
        cell.handle_packet(Time::ZERO, port, Frame::new(number, 1500));
    }
    run_until(&mut cell, Time::ZERO + time, &mut Outcome::default());
    cell.take_blocks()
}

/// The largest block of a full queue.
fn largest(config: &CellConfig, is_uplink: bool) -> BlockRecord {
    let blocks = blocks(config, is_uplink, ms(500));
    *blocks.iter().max_by_key(|block| block.bits).expect("blocks were sent")
}

/// WIRELESS.md section 10.1: peak rates of each technology.
fn peaks() -> Vec<Rows> {
    let with_radio = |radio: RadioConfig, config: CellConfig| CellConfig { radio, ..config };
    let radio = |resource_blocks, layers, category| {
        RadioConfig::Lte(LteConfig {
            resource_blocks,
            layers,
            category,
            is_256qam: None,
            secondary: Vec::new(),
        })
    };
    let mut all = Vec::new();
    let peaks = [
        ("lte-cat3", radio(100, 2, 3)),
        ("lte-cat4", radio(100, 2, 4)),
        ("lte-10mhz", radio(50, 2, 4)),
    ];
    for (name, radio) in peaks {
        let ids = [format!("peak.{name}.down"), format!("peak.{name}.up")];
        let config = with_radio(radio, lte(100, 1, 28));
        all.push(rows(&ids.each_ref().map(String::as_str), move |change| {
            let config = change(config.clone());
            // Bits per millisecond.
            [false, true].map(|is_uplink| f64::from(largest(&config, is_uplink).bits)).to_vec()
        }));
    }
    for category in [6_u8, 8, 10, 12] {
        let mut ids = vec![format!("peak.hsdpa-cat{category}")];
        if category == 10 {
            ids.push("peak.hsdpa-cat10.category".to_owned());
        }
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let count = ids.len();
        all.push(rows(&ids, move |change| {
            let block = largest(&change(hsdpa(category, 1, 29)), false);
            // A block per 2 ms.
            vec![f64::from(block.payload_bytes * 8) / 2.0; count]
        }));
    }
    for scheme in [5_u8, 10, 15, 17, 27] {
        let ids = ["full", "part", "up"].map(|slot| format!("nr-block.{scheme}.{slot}"));
        all.push(rows(&ids.each_ref().map(String::as_str), move |change| {
            let config = change(nr("DDDDDDDAUU", scheme, 20));
            let down = blocks(&config, false, ms(50));
            let most = down.iter().map(|block| block.bits).max().expect("blocks were sent");
            // Slot 7 of 10 has 6 downlink symbols.
            let in_part = |block: &&BlockRecord| block.at.as_micros() / 500 % 10 == 7;
            let part = down.iter().find(in_part).expect("a block in the short slot").bits;
            vec![most.into(), part.into(), largest(&config, true).bits.into()]
        }));
    }
    all
}

/// ns-3's lte-test-rr-ff-mac-scheduler: scheme, users, and whether uplink.
const ROUND_ROBIN: [(u8, usize, bool); 18] = [
    (28, 1, false),
    (28, 3, false),
    (28, 6, false),
    (28, 9, false),
    (28, 12, false),
    (28, 15, false),
    (28, 1, true),
    (28, 3, true),
    (28, 6, true),
    (28, 9, true),
    (28, 12, true),
    (22, 1, false),
    (22, 3, false),
    (22, 6, false),
    (22, 9, false),
    (14, 1, true),
    (14, 3, true),
    (20, 1, false),
];

fn round_robin() -> Vec<Rows> {
    let row = |(scheme, users, is_uplink): (u8, usize, bool)| {
        let direction = if is_uplink { "up" } else { "down" };
        rows(&[&format!("rr.mcs{scheme}.{direction}.users={users}")], move |change| {
            let rates = saturate(&change(lte(25, users, scheme)), is_uplink, 3);
            let rates: Vec<f64> = rates.iter().map(|rate| rate[0]).collect();
            vec![mean(&rates)]
        })
    };
    ROUND_ROBIN.into_iter().map(row).collect()
}

fn reports(period: Duration, delay: Duration, has_outer_loop: bool) -> AdaptationConfig {
    let outer = OuterLoopConfig { target: ppb(100_000_000), step_mdb: Decibel::from_milli(500) };
    AdaptationConfig::Reports { period, delay, outer_loop: has_outer_loop.then_some(outer) }
}

fn rayleigh(doppler_mhz: u32, branches: u8) -> Option<FadingConfig> {
    Some(FadingConfig { doppler_mhz, branches, rice_mdb: None })
}

fn with_scheduler(scheduler: SchedulerConfig, config: CellConfig) -> CellConfig {
    CellConfig { downlink: DirectionConfig { scheduler, ..config.downlink }, ..config }
}

fn schedulers() -> Vec<Rows> {
    let fair = SchedulerConfig::ProportionalFair { window: 1000 };
    let with = |scheduler, users: Vec<UserConfig>| {
        let adaptation = reports(ms(2), ms(2), false);
        let down = DirectionConfig { scheduler, adaptation, ..direction(0) };
        CellConfig { downlink: down, users, ..lte(25, 1, 0) }
    };
    let mut all = vec![rows(&["pf.share.worse", "pf.share.better"], move |change| {
        let rates = |decibels: &[i32]| {
            let users = decibels.iter().map(|&decibels| user(decibels)).collect();
            saturate(&change(with(fair, users)), false, 11)
        };
        let together = rates(&[5, 15]);
        [(0, 5), (1, 15)]
            .map(|(index, decibels): (usize, i32)| together[index][0] / rates(&[decibels])[0][0])
            .to_vec()
    })];
    all.push(rows(&["pf.equal.users=3"], move |change| {
        let rates = saturate(&change(with_scheduler(fair, lte(25, 3, 28))), false, 3);
        vec![mean(&rates.iter().map(|rate| rate[0]).collect::<Vec<_>>())]
    }));
    for users in [2_usize, 4, 8] {
        all.push(rows(&[&format!("pf.gain.users={users}")], move |change| {
            let one = UserConfig { fading: rayleigh(10_000, 1), ..user(8) };
            let rate = |users| {
                let config = change(with(fair, vec![one.clone(); users]));
                saturate(&config, false, 61).iter().map(|rate| rate[0]).sum::<f64>()
            };
            vec![rate(users) / rate(1)]
        }));
    }
    all.push(rows(&["background.three", "background.half"], |change| {
        let others = |users, off| BackgroundConfig {
            users,
            direction: Direction::Forward,
            lowest_mdb: Decibel::from_whole(10),
            highest_mdb: Decibel::from_whole(20),
            fading: None,
            on: ms(500),
            off,
        };
        let rate = |background| {
            let config = change(CellConfig { background, ..lte(50, 1, 10) });
            saturate(&config, false, 121)[0][0]
        };
        let alone = rate(Vec::new());
        [others(3, Duration::ZERO), others(1, ms(500))]
            .map(|others| rate(vec![others]) / alone)
            .to_vec()
    }));
    all
}

/// WIRELESS.md section 1.6: one block per slot, P = .1 (or .01), .02, .02, four transmissions.
fn stall_tables() -> Vec<Rows> {
    // Slots of 0.5 ms for both directions, with a HARQ round trip of 10 slots: the table's NR row.
    let nr_always = || {
        let mut config = nr("D", 10, 20);
        let RadioConfig::Nr(radio) = &mut config.radio else { unreachable!("it is NR") };
        radio.pattern = vec![SlotConfig { downlink_symbols: 10, uplink_symbols: 4 }];
        (radio.acknowledge_slots, radio.base_slots) = (4, 5);
        config
    };
    let tables: [(&str, CellConfig, u32); 4] = [
        ("lte-10", lte(50, 1, 10), 10),
        ("lte-1", lte(50, 1, 10), 1),
        ("hsdpa-10", hsdpa(8, 1, 24), 10),
        ("nr-10", nr_always(), 10),
    ];
    let table = |(name, config, first): (&str, CellConfig, u32)| {
        let keys = ["mean", "p50", "p90", "p99", "p99.9", "delayed", "rate"];
        let ids = keys.map(|key| format!("stall.{name}.{key}"));
        rows(&ids.each_ref().map(String::as_str), move |change| {
            let down = DirectionConfig { block_errors: errors(first, 2), ..direction(24) };
            let scheme = config.downlink.adaptation;
            let down = DirectionConfig { adaptation: scheme, ..down };
            let stalls = stalls(&change(CellConfig { downlink: down, ..config.clone() }), 100_000);
            let at = |percent| stalls.percentile_ms(percent);
            vec![
                stalls.mean_ms(),
                at(50.0),
                at(90.0),
                at(99.0),
                at(99.9),
                stalls.delayed_pct(),
                stalls.new_blocks_a_slot,
            ]
        })
    };
    tables.into_iter().map(table).collect()
}

/// Mean delay in milliseconds of a downlink packet in an empty cell.
fn one_way(config: &CellConfig) -> f64 {
    let delay = |number: u64| {
        let mut cell = cell(config, 1);
        let sent = Time::from_micros(number * 10_037);
        cell.handle_packet(sent, 0, Frame::new(0, 84));
        let mut outcome = Outcome::default();
        run_until(&mut cell, sent + ms(200), &mut outcome);
        (outcome.left[0].at - sent).as_millis_f64()
    };
    mean(&(0..1000).map(delay).collect::<Vec<_>>())
}

/// WIRELESS.md section 10.3.
fn latencies() -> Vec<Rows> {
    let with_core = |core, config: CellConfig| CellConfig {
        downlink: DirectionConfig { core_delay: core, ..config.downlink },
        uplink: DirectionConfig { core_delay: core, ..config.uplink },
        ..config
    };
    let lte_ping = move || with_core(ms(1), lte(50, 1, 10));
    let with_nr = move |slots, request_ms, base| {
        let mut config = with_core(Duration::from_micros(250), nr(slots, 15, request_ms));
        let RadioConfig::Nr(radio) = &mut config.radio else { unreachable!("it is NR") };
        radio.base_slots = base;
        config
    };
    vec![
        rows(&["latency.lte.down", "latency.lte.down.core"], move |change| {
            let config = lte(50, 1, 10);
            let core = with_core(ms(10), config.clone());
            vec![one_way(&change(config)), one_way(&change(core))]
        }),
        rows(&["latency.lte.ping"], move |change| vec![mean(&pings(&change(lte_ping()), 1000))]),
        rows(&["latency.lte.ping.granted"], move |change| {
            let always = AccessConfig { keep_alive: Duration::MAX, ..access(10) };
            let config = change(CellConfig { access: Some(always), ..lte_ping() });
            vec![mean(&pings(&config, 1000)[1..])]
        }),
        rows(&["latency.lte.ping.errors"], move |change| {
            let plain = lte_ping();
            let erring = |side: &DirectionConfig| DirectionConfig {
                block_errors: errors(10, 2),
                ..side.clone()
            };
            let (downlink, uplink) = (erring(&plain.downlink), erring(&plain.uplink));
            let config = change(CellConfig { downlink, uplink, ..plain.clone() });
            vec![mean(&pings(&config, 4000)) - mean(&pings(&change(plain), 4000))]
        }),
        rows(&["latency.lte.again"], move |change| {
            // One delay if every block is decoded at once, another if every first transmission is
            // lost.
            let erring = |first| {
                let block_errors = errors(first, 0);
                let downlink = DirectionConfig { block_errors, ..direction(10) };
                one_way(&change(CellConfig { downlink, ..lte(50, 1, 10) }))
            };
            // Rounded to a nanosecond, to remove the rounding errors of the sums.
            vec![libm::round((erring(100) - erring(0)) * 1e6) / 1e6]
        }),
        rows(&["latency.nr.ping.commercial"], move |change| {
            vec![mean(&pings(&change(with_nr("DDDSU", 5, 2)), 1000))]
        }),
        rows(&["latency.nr.ping.callbox", "latency.nr.ping.callbox.width"], move |change| {
            let delays = pings(&change(with_nr("DDDDDDDAUU", 20, 4)), 1000);
            let least = delays.iter().copied().fold(f64::MAX, f64::min);
            let most = delays.iter().copied().fold(0.0, f64::max);
            vec![mean(&delays), most - least]
        }),
    ]
}

/// SINR in decibels of each slot of a full cell, one per millisecond.
fn ratios(one: UserConfig, change: Change, seconds: u64) -> Vec<f64> {
    let config = change(CellConfig { users: vec![one], ..lte(6, 1, 0) });
    let blocks = blocks(&config, false, Duration::from_secs(seconds));
    assert!(blocks.windows(2).all(|pair| pair[1].at - pair[0].at == ms(1)), "a block a slot");
    blocks.iter().map(|block| block.sinr.as_f64()).collect()
}

fn correlation(values: &[f64], lag: usize) -> f64 {
    let mean = mean(values);
    let variance: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    let pairs = values.iter().zip(&values[lag..]);
    let sum: f64 = pairs.map(|(a, b)| (a - mean) * (b - mean)).sum();
    sum / variance * values.len() as f64 / (values.len() - lag) as f64
}

/// WIRELESS.md sections 10.8 and 10.9, measured by the blocks.
fn channels() -> Vec<Rows> {
    vec![
        // The autocorrelation of power is the square of the amplitude's, J0^2; 10 Hz, up to 42 ms.
        rows(&["fading.autocorrelation", "fading.crossings", "fading.duration"], |change| {
            let one = UserConfig { fading: rayleigh(10_000, 1), ..user(0) };
            let ratios = ratios(one, change, 400);
            let power: Vec<f64> = ratios.iter().map(|db| libm::exp10(db / 10.0)).collect();
            let worst = (0..=42)
                .map(|lag| {
                    let bessel = libm::j0(core::f64::consts::TAU * 0.01 * lag as f64);
                    (correlation(&power, lag) - bessel * bessel).abs()
                })
                .fold(0.0, f64::max);
            let level = 0.25;
            let crossings = power.windows(2).filter(|pair| pair[0] < level && pair[1] >= level);
            let crossings = crossings.count() as f64;
            let below = power.iter().filter(|&&power| power < level).count() as f64;
            vec![worst, crossings / (power.len() as f64 / 1000.0), below / crossings]
        }),
        rows(&["shadowing.correlation", "shadowing.sigma"], |change| {
            let drift = DriftConfig { sigma_mdb: Decibel::from_whole(6), correlation: ms(50) };
            let values = ratios(UserConfig { drifts: vec![drift], ..user(0) }, change, 400);
            let mean = mean(&values);
            let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
            let sigma = libm::sqrt(variance / values.len() as f64);
            vec![correlation(&values, 50), sigma]
        }),
        rows(&["outer-loop.still", "outer-loop.walking", "outer-loop.driving"], |change| {
            [0, 6_000, 70_000]
                .map(|doppler_mhz| {
                    let adaptation = reports(ms(5), ms(6), true);
                    let block_errors = BlockErrors::Curves;
                    let down = DirectionConfig { adaptation, block_errors, ..direction(0) };
                    let users = vec![UserConfig { fading: rayleigh(doppler_mhz, 2), ..user(12) }];
                    let config = change(CellConfig { downlink: down, users, ..lte(50, 1, 0) });
                    let blocks = blocks(&config, false, Duration::from_secs(20));
                    let first: Vec<_> =
                        blocks.iter().skip(1000).filter(|b| b.transmission == 1).collect();
                    let failed = first.iter().filter(|block| !block.is_decoded).count();
                    failed as f64 / first.len() as f64
                })
                .to_vec()
        }),
        error_rates(),
        rows(&["harq.rate"], |change| {
            // ns-3's lte-harq: an error rate of 0.926 for first transmissions, then 0.
            let block_errors = BlockErrors::Given { ppb: vec![ppb(926_000_000), ppb(0)] };
            let down = DirectionConfig { block_errors, ..direction(10) };
            let rate = |config| saturate(&change(config), false, 21)[0][1];
            let erring = CellConfig { downlink: down, ..lte(25, 1, 10) };
            vec![rate(lte(25, 1, 10)) / rate(erring)]
        }),
    ]
}

/// ns-3's lte-test-phy-error-model: scheme, thousandths of a decibel, bits of the block.
const ERROR_RATES: [(u8, i32, u32); 6] = [
    (2, -5_510, 256),
    (2, -5_510, 528),
    (2, -5_510, 1088),
    (12, 4_430, 4800),
    (12, 4_430, 1632),
    (16, 8_480, 7272),
];

fn error_rates() -> Rows {
    let name = |(scheme, _, bits)| format!("error-rate.mcs{scheme}.bits={bits}");
    let ids = ERROR_RATES.map(name);
    rows(&ids.each_ref().map(String::as_str), |change| {
        ERROR_RATES.map(|(scheme, mdb, bits)| error_rate(change, scheme, mdb, bits)).to_vec()
    })
}

/// Error rate of first transmissions of blocks of about this size.
fn error_rate(change: Change, scheme: u8, mdb: i32, bits: u32) -> f64 {
    let down = DirectionConfig { block_errors: BlockErrors::Curves, ..direction(scheme) };
    let one = UserConfig { downlink_mdb: Decibel::from_milli(mdb), ..user(0) };
    let config = change(CellConfig { downlink: down, users: vec![one], ..lte(25, 1, scheme) });
    let first_blocks = |bytes: u32, packets: u32| {
        let mut cell = cell(&config, 3);
        cell.record_blocks();
        let mut outcome = Outcome::default();
        for number in 0..packets {
            let at = Time::from_millis(u64::from(number) * 100);
            run_until(&mut cell, at, &mut outcome);
            cell.handle_packet(at, 0, Frame::new(number, bytes));
        }
        run_until(&mut cell, Time::from_secs(1_000), &mut outcome);
        let blocks = cell.take_blocks();
        blocks.into_iter().filter(|block| block.transmission == 1).collect::<Vec<_>>()
    };
    let size = |&bytes: &u32| first_blocks(bytes, 1)[0].bits.abs_diff(bits);
    let bytes = (bits / 8 - 30..bits / 8).min_by_key(size).expect("some size");
    let blocks = first_blocks(bytes, 4_000);
    blocks.iter().filter(|block| !block.is_decoded).count() as f64 / blocks.len() as f64
}

/// Occasional events of a single user.
fn users() -> Vec<Rows> {
    vec![
        rows(&["sleep.promotion", "sleep.listening"], |change| {
            let rrc = RrcConfig {
                drx_after: Some(ms(100)),
                drx_cycle: ms(160),
                inactivity: ms(10_000),
                promotion_least: ms(260),
                promotion_most: ms(260),
                paging_cycle: ms(1_280),
            };
            let config = change(CellConfig { rrc: Some(rrc), ..lte(50, 1, 10) });
            let mut cell = cell(&config, 4);
            let mut outcome = Outcome::default();
            let mut delay = |at: Time, port| {
                run_until(&mut cell, at, &mut outcome);
                cell.handle_packet(at, port, Frame::new(0, 84));
                run_until(&mut cell, at + ms(2_000), &mut outcome);
                (outcome.left.last().expect("it came").at - at).as_millis_f64()
            };
            let promotion = delay(Time::from_secs(1), 1);
            let listening: Vec<f64> =
                (1..=500).map(|number| delay(Time::from_micros(number * 5_003_017), 0)).collect();
            vec![promotion, mean(&listening)]
        }),
        rows(&["handover.gap"], |change| {
            let handover =
                HandoverConfig { interval: ms(2_000), interruption: ms(50), is_lossless: true };
            let config = change(CellConfig { handover: Some(handover), ..lte(50, 1, 10) });
            let blocks = blocks(&config, false, Duration::from_secs(60));
            let gaps = blocks.windows(2).map(|pair| (pair[1].at - pair[0].at).as_millis_f64());
            let gaps: Vec<f64> = gaps.filter(|gap| *gap > 1.5).collect();
            vec![if gaps.is_empty() { 0.0 } else { mean(&gaps) }]
        }),
        rows(&["discard.longest"], |change| {
            // Twice the cell's capacity, in an unlimited queue.
            let down = DirectionConfig { discard: Some(ms(150)), ..direction(4) };
            let mut cell = cell(&change(CellConfig { downlink: down, ..lte(25, 1, 4) }), 4);
            let mut outcome = Outcome::default();
            for number in 0..5_000_u32 {
                let at = Time::from_millis(u64::from(number) * 3);
                run_until(&mut cell, at, &mut outcome);
                cell.handle_packet(at, 0, Frame::new(number, 1400));
            }
            run_until(&mut cell, Time::from_secs(100), &mut outcome);
            let wait = |left: &super::Left| {
                (left.at - Time::from_millis(u64::from(left.number) * 3)).as_millis_f64()
            };
            vec![outcome.left.iter().map(wait).fold(0.0, f64::max)]
        }),
    ]
}

/// Stages of the pipeline, each with a change that removes it and a figure that it affects.
pub(crate) fn stages() -> Vec<(&'static str, Change, &'static str)> {
    fn both(config: CellConfig, change: impl Fn(DirectionConfig) -> DirectionConfig) -> CellConfig {
        CellConfig { downlink: change(config.downlink), uplink: change(config.uplink), ..config }
    }
    vec![
        ("release in order", without_order, "cell.stall.lte-10.delayed"),
        (
            "retransmission by HARQ",
            |config| both(config, |side| DirectionConfig { transmissions: 1, ..side }),
            "cell.latency.lte.ping.errors",
        ),
        (
            "errors of blocks",
            |config| both(config, |side| DirectionConfig { block_errors: no_errors(), ..side }),
            "cell.stall.lte-10.rate",
        ),
        (
            "the scheduler",
            |config| {
                both(config, |side| DirectionConfig { scheduler: SchedulerConfig::MaxCi, ..side })
            },
            "cell.pf.share.worse",
        ),
        (
            "link adaptation",
            |config| {
                let adaptation = AdaptationConfig::Fixed { scheme: 20 };
                both(config, |side| DirectionConfig { adaptation, ..side })
            },
            "cell.outer-loop.walking",
        ),
        ("the outer loop", without_outer_loop, "cell.outer-loop.driving"),
        (
            "fading",
            |config| {
                let still = |user| UserConfig { fading: None, ..user };
                CellConfig { users: config.users.into_iter().map(still).collect(), ..config }
            },
            "cell.pf.gain.users=4",
        ),
        (
            "requests and grants",
            |config| {
                let always = |access| AccessConfig { keep_alive: Duration::MAX, ..access };
                CellConfig { access: config.access.map(always), ..config }
            },
            "cell.latency.lte.ping",
        ),
        (
            "keep-alive",
            |config| {
                let never = |access| AccessConfig { keep_alive: Duration::ZERO, ..access };
                CellConfig { access: config.access.map(never), ..config }
            },
            "cell.latency.lte.ping.granted",
        ),
        (
            "the core",
            |config| both(config, |side| DirectionConfig { core_delay: Duration::ZERO, ..side }),
            "cell.latency.lte.down.core",
        ),
        (
            "discarding",
            |config| both(config, |side| DirectionConfig { discard: None, ..side }),
            "cell.discard.longest",
        ),
        ("sleep", |config| CellConfig { rrc: None, ..config }, "cell.sleep.promotion"),
        ("handover", |config| CellConfig { handover: None, ..config }, "cell.handover.gap"),
        (
            "users in the background",
            |config| CellConfig { background: Vec::new(), ..config },
            "cell.background.three",
        ),
        ("the pattern of slots", without_pattern, "cell.nr-block.15.part"),
    ]
}

fn without_order(config: CellConfig) -> CellConfig {
    let rlc = cwndlab_link::cellular::RlcConfig::Transparent {};
    CellConfig { downlink: DirectionConfig { rlc, ..config.downlink }, ..config }
}

fn without_outer_loop(config: CellConfig) -> CellConfig {
    let AdaptationConfig::Reports { period, delay, .. } = config.downlink.adaptation else {
        return config;
    };
    let adaptation = AdaptationConfig::Reports { period, delay, outer_loop: None };
    CellConfig { downlink: DirectionConfig { adaptation, ..config.downlink }, ..config }
}

fn without_pattern(mut config: CellConfig) -> CellConfig {
    if let RadioConfig::Nr(radio) = &mut config.radio {
        radio.pattern = pattern("DDDDDDDDUU");
    }
    config
}
