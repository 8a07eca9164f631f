//! Cells for tests, and measurements of them.

use cwndlab_link::cellular::{
    AccessConfig, BlockErrors, Cell, CellConfig, DirectionConfig, LteConfig, NrConfig, RadioConfig,
    RlcConfig, SchedulerConfig, SlotConfig, UmtsDownlink, UmtsUplink, UserConfig,
};
use cwndlab_link::channel::{AdaptationConfig, Decibel};
use cwndlab_link::{Link, Probability, Stages};
use cwndlab_units::{Bytes, Duration, Output, Time};

use super::Frame;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn ppb(ppb: u32) -> Probability {
    Probability::from_ppb(ppb).expect("a probability")
}

/// Blocks that never fail.
pub(crate) fn no_errors() -> BlockErrors {
    BlockErrors::Given { ppb: vec![Probability::ZERO] }
}

/// Error rates in percent, of the first transmission and of all retransmissions.
pub(crate) fn errors(first: u32, further: u32) -> BlockErrors {
    BlockErrors::Given { ppb: vec![ppb(first * 10_000_000), ppb(further * 10_000_000)] }
}

/// A direction without a core delay, with one scheme, whose blocks never fail.
pub(crate) fn direction(scheme: u8) -> DirectionConfig {
    DirectionConfig {
        core_delay: Duration::ZERO,
        core_jitter: Duration::ZERO,
        core_frame: Duration::ZERO,
        queue_packets: None,
        queue_bytes: None,
        discard: None,
        early_discard: None,
        aqm: None,
        ack_filter: None,
        ack_thinning: None,
        residual_loss: Probability::ZERO,
        rlc: RlcConfig::default(),
        scheduler: SchedulerConfig::RoundRobin,
        adaptation: AdaptationConfig::Fixed { scheme },
        block_errors: no_errors(),
        transmissions: 4,
        feedback_error: Probability::ZERO,
    }
}

pub(crate) fn user(decibels: i32) -> UserConfig {
    UserConfig {
        downlink_mdb: Decibel::from_whole(decibels),
        uplink_mdb: Decibel::from_whole(decibels),
        fading: None,
        drifts: Vec::new(),
    }
}

pub(crate) fn access(period_ms: u64) -> AccessConfig {
    AccessConfig {
        request_period: Duration::from_millis(period_ms),
        first_grant_bytes: Some(100),
        keep_alive: Duration::ZERO,
        reports: None,
    }
}

/// LTE with one scheme for all users.
pub(crate) fn lte(resource_blocks: u16, users: usize, scheme: u8) -> CellConfig {
    CellConfig {
        radio: RadioConfig::Lte(LteConfig {
            resource_blocks,
            layers: 1,
            category: 4,
            is_256qam: None,
            secondary: Vec::new(),
        }),
        downlink: direction(scheme),
        uplink: direction(scheme),
        access: Some(access(10)),
        users: vec![user(20); users],
        background: Vec::new(),
        rrc: None,
        handover: None,
        police: None,
    }
}

/// Slots of 14 symbols: `D`ownlink, `U`plink, `S`pecial ones with 10 down and 2 up, whose reference
/// signals leave no room for uplink data, and `A`marisoft's with 6 down.
pub(crate) fn pattern(slots: &str) -> Vec<SlotConfig> {
    let slot = |slot| match slot {
        'D' => SlotConfig { downlink_symbols: 13, uplink_symbols: 0 },
        'U' => SlotConfig { downlink_symbols: 0, uplink_symbols: 14 },
        'A' => SlotConfig { downlink_symbols: 6, uplink_symbols: 0 },
        _ => SlotConfig { downlink_symbols: 10, uplink_symbols: 2 },
    };
    slots.chars().map(slot).collect()
}

/// NR at 30 kHz, 50 MHz, one layer, 256QAM.
pub(crate) fn nr(slots: &str, scheme: u8, request_ms: u64) -> CellConfig {
    CellConfig {
        radio: RadioConfig::Nr(NrConfig {
            subcarrier_khz: 30,
            bandwidth_mhz: 50,
            frequency_range: None,
            duplex: None,
            pattern: pattern(slots),
            downlink_layers: 1,
            uplink_layers: 1,
            is_256qam: true,
            overhead_elements: 24,
            base_slots: 4,
            acknowledge_slots: 2,
            grant_slots: 2,
            secondary_mhz: None,
        }),
        access: Some(access(request_ms)),
        ..lte(50, 1, scheme)
    }
}

/// HSDPA of a category with an R99 uplink of 384 kbit/s.
pub(crate) fn hsdpa(category: u8, users: usize, scheme: u8) -> CellConfig {
    CellConfig {
        radio: RadioConfig::Umts {
            downlink: UmtsDownlink::Hsdpa { category },
            uplink: UmtsUplink::Dedicated { kbit_s: 384 },
        },
        downlink: direction(scheme),
        uplink: direction(0),
        access: None,
        ..lte(50, users, 0)
    }
}

pub(crate) fn cell(config: &CellConfig, seed: u64) -> Cell<Frame> {
    Cell::new(config, seed, "cell").expect("valid settings")
}

/// Keeps every user's queue full in one direction.
///
/// Returns each user's bytes per second, in transport blocks and in packets.
pub(crate) fn saturate(config: &CellConfig, is_uplink: bool, seconds: u64) -> Vec<[f64; 2]> {
    let mut config = config.clone();
    let side = if is_uplink { &mut config.uplink } else { &mut config.downlink };
    side.queue_bytes = Some(Bytes(200_000));
    let mut cell = cell(&config, 7);
    cell.record_blocks();
    let users = config.users.len();
    let mut sums = vec![[0.0; 2]; users];
    let end = Time::ZERO + SECOND * seconds;
    let begin = Time::ZERO + SECOND;
    let mut now = Time::ZERO;
    while now < end {
        for user in 0..users {
            let stage = 2 * user + usize::from(is_uplink);
            let port = if is_uplink { user as u16 + 1 } else { 0 };
            let waiting = cell.backlog(stage, now).bytes;
            let inside = cell.counters(stage, now);
            let under_way = inside.arrived.bytes - inside.delivered.bytes - inside.dropped.bytes;
            let room =
                150_000_u64.saturating_sub(waiting).min(300_000_u64.saturating_sub(under_way));
            for _ in 0..room / 1500 {
                cell.handle_packet(now, port, Frame::of(user as u16 + 1, user as u32, 1500));
            }
        }
        now += Duration::from_millis(1);
        loop {
            match cell.poll(now) {
                Some(Output::Packet { at, packet, .. }) if at >= begin => {
                    sums[*packet.number as usize][1] += f64::from(packet.bytes);
                }
                Some(_) => {}
                None => break,
            }
        }
        for block in cell.take_blocks() {
            if block.at >= begin && block.is_decoded {
                sums[usize::from(block.port) - 1][0] += f64::from(block.bits) / 8.0;
            }
        }
    }
    let window = (end - begin).as_secs_f64();
    sums.into_iter().map(|pair| pair.map(|sum| sum / window)).collect()
}

/// Stalls of blocks behind other blocks and by retransmissions.
pub(crate) struct Stalls {
    /// Time of each block from the end of its first transmission to its release, less the decoding.
    added_ms: Vec<f64>,
    pub(crate) new_blocks_a_slot: f64,
    /// Number of blocks that arrived before an earlier one.
    pub(crate) overtaken: usize,
}

impl Stalls {
    pub(crate) fn mean_ms(&self) -> f64 {
        self.added_ms.iter().sum::<f64>() / self.added_ms.len() as f64
    }

    pub(crate) fn percentile_ms(&self, percent: f64) -> f64 {
        let mut sorted = self.added_ms.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[((percent / 100.0) * (sorted.len() - 1) as f64) as usize]
    }

    pub(crate) fn delayed_pct(&self) -> f64 {
        let delayed = self.added_ms.iter().filter(|&&added| added > 1e-6).count();
        100.0 * delayed as f64 / self.added_ms.len() as f64
    }
}

/// Sends `blocks` blocks down, one per slot, each with exactly one packet.
pub(crate) fn stalls(config: &CellConfig, blocks: u32) -> Stalls {
    let mut cell = cell(config, 21);
    cell.record_blocks();
    // A separate cell shows the payload of a full block.
    let probe = {
        let mut cell = self::cell(config, 21);
        cell.record_blocks();
        cell.handle_packet(Time::ZERO, 0, Frame::new(0, 100_000));
        let mut outcome = super::Outcome::default();
        super::run_until(&mut cell, Time::from_secs(5), &mut outcome);
        cell.take_blocks()[0].payload_bytes
    };
    let overhead = {
        let mut cell = self::cell(config, 21);
        cell.record_blocks();
        cell.handle_packet(Time::ZERO, 0, Frame::new(0, 1));
        let mut outcome = super::Outcome::default();
        super::run_until(&mut cell, Time::from_secs(5), &mut outcome);
        cell.take_blocks()[0].payload_bytes - 1
    };
    for number in 0..blocks {
        cell.handle_packet(Time::ZERO, 0, Frame::new(number, probe - overhead));
    }
    let mut outcome = super::Outcome::default();
    super::run_until(&mut cell, Time::from_secs(10_000), &mut outcome);
    let sent: Vec<_> = cell.take_blocks();
    let first: Vec<Time> =
        sent.iter().filter(|block| block.transmission == 1).map(|block| block.at).collect();
    assert_eq!(first.len(), blocks as usize);
    let least = |left: &super::Left| left.at - first[left.number as usize];
    let fastest = outcome.left.iter().map(least).min().expect("packets left");
    let added = |left: &super::Left| (least(left) - fastest).as_millis_f64();
    let slots = first.last().expect("a block").saturating_since(first[0]).as_millis_f64()
        / (sent[1].at - sent[0].at).as_millis_f64();
    Stalls {
        added_ms: outcome.left.iter().map(added).collect(),
        new_blocks_a_slot: f64::from(blocks - 1) / slots,
        overtaken: outcome.left.windows(2).filter(|pair| pair[1].number < pair[0].number).count(),
    }
}

/// Round-trip times in milliseconds of pings of 84 bytes, one about every 600 ms.
pub(crate) fn pings(config: &CellConfig, count: u64) -> Vec<f64> {
    let mut cell = cell(config, 11);
    let mut delays = Vec::new();
    for number in 0..count {
        let sent = Time::from_micros(1_000_000 + number * 600_137);
        let mut outcome = super::Outcome::default();
        super::run_until(&mut cell, sent, &mut outcome);
        cell.handle_packet(sent, 1, Frame::new(0, 84));
        super::run_until(&mut cell, sent + Duration::from_millis(500), &mut outcome);
        let came = outcome.left.last().expect("the request came").at;
        // The cell has run beyond this time, so the response uses a new cell.
        let mut back = self::cell(config, 11);
        back.handle_packet(came, 0, Frame::new(1, 84));
        let mut outcome = super::Outcome::default();
        super::run_until(&mut back, came + Duration::from_millis(500), &mut outcome);
        delays.push((outcome.left[0].at - sent).as_millis_f64());
    }
    delays
}
