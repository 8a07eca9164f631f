//! ACKs in the queues of cells and access points.

mod common;

use core::num::NonZeroU32;

use common::cell::lte;
use common::tcp::TcpFrame;
use cwndlab_link::cellular::{Cell, CellError};
use cwndlab_link::{
    AccessPointConfig, AckFilter, AqmConfig, DownlinkConfig, DropReason, Link, LinkEvent,
    LinkEventKind, Stages, Standard, StationQueueConfig, WifiChannel, WifiConfig, WifiError,
};
use cwndlab_units::{Bytes, Duration, Output, Time};

const ACKS: u32 = 2_000;

/// Sends ACKs to a port every `gap_us`. Returns those that left, and the number filtered.
fn run<L: Link<TcpFrame> + Stages>(link: &mut L, port: u16, gap_us: u64) -> (Vec<u32>, usize) {
    let (mut left, mut filtered) = (Vec::new(), 0);
    let mut poll = |link: &mut L, now| {
        while let Some(output) = link.poll(now) {
            match output {
                Output::Packet { packet, .. } => left.push(packet.number),
                Output::Event { event: LinkEvent { kind, .. }, .. } => {
                    let LinkEventKind::Dropped { reason, .. } = kind else { panic!("{kind:?}") };
                    assert_eq!(reason, DropReason::AckFiltered);
                    filtered += 1;
                }
            }
        }
    };
    for number in 0..ACKS {
        let now = Time::from_micros(gap_us * u64::from(number));
        poll(link, now);
        let ack = TcpFrame { number, connection: 1, ack: number * 1_000, is_pure: true };
        link.handle_packet(now, port, ack);
    }
    poll(link, Time::from_secs(60));
    assert_eq!(left.len() + filtered, ACKS as usize);
    assert!(left.is_sorted());
    let taken: u64 =
        (0..link.stages()).map(|n| link.counters(n, Time::from_secs(60)).drops.ack_filtered).sum();
    assert_eq!(taken, filtered as u64);
    (left, filtered)
}

fn thinning(every: u32) -> Option<NonZeroU32> {
    NonZeroU32::new(every)
}

fn fq_codel() -> AqmConfig {
    AqmConfig::FqCodel {
        queues: NonZeroU32::new(1024).expect("the constant is greater than 0"),
        quantum: Bytes(1514),
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: false,
    }
}

/// The uplink, where a cell's ACKs wait in the modem.
fn in_a_cell(aqm: Option<AqmConfig>, filter: Option<AckFilter>, every: u32) -> (Vec<u32>, usize) {
    let mut config = lte(6, 1, 0);
    config.uplink.aqm = aqm;
    (config.uplink.ack_filter, config.uplink.ack_thinning) = (filter, thinning(every));
    // The filter needs ACKs that wait; thinning is best tested if all other ACKs are sent.
    let gap_us = if filter.is_some() { 100 } else { 5_000 };
    run(&mut Cell::new(&config, 3, "cell").expect("a cell"), 1, gap_us)
}

#[test]
fn a_modem_keeps_the_newest_ack() {
    assert_eq!(in_a_cell(None, None, 0).1, 0);
    for aqm in [None, Some(fq_codel())] {
        let (left, filtered) = in_a_cell(aqm, Some(AckFilter::Aggressive), 0);
        assert_eq!(left.last(), Some(&(ACKS - 1)));
        assert!(filtered > ACKS as usize / 2, "{filtered}");
        let conservative = in_a_cell(aqm, Some(AckFilter::Conservative), 0);
        assert!(conservative.0.len() > left.len(), "two wait in place of one");
        assert_eq!(conservative.0.last(), Some(&(ACKS - 1)));
        let (every_fourth, _) = in_a_cell(aqm, None, 4);
        assert_eq!(every_fourth, (0..ACKS).step_by(4).collect::<Vec<u32>>());
    }
}

#[test]
fn a_cell_refuses_what_contradicts_itself() {
    let mut config = lte(6, 1, 0);
    config.uplink.ack_filter = Some(AckFilter::Aggressive);
    config.uplink.aqm = Some(AqmConfig::Pie {
        target: Duration::from_millis(15),
        burst: Duration::from_millis(150),
        ecn: false,
    });
    let error = |config| Cell::<TcpFrame>::new(&config, 1, "cell").expect_err("refused");
    assert!(matches!(error(config.clone()), CellError::AckFilterPie(_)));
    config.uplink.aqm = None;
    config.uplink.discard = Some(Duration::from_millis(100));
    assert!(matches!(error(config.clone()), CellError::FewerAcks(..)));
    assert_eq!(error(config.clone()).place(), "uplink.ack_filter");
    (config.uplink.ack_filter, config.uplink.ack_thinning) = (None, thinning(4));
    assert_eq!(error(config).place(), "uplink.ack_thinning");
}

fn channel(access_point: AccessPointConfig) -> Result<WifiChannel<TcpFrame>, WifiError> {
    let config = WifiConfig { access_point, ..WifiConfig::new(Standard::G, 1) };
    WifiChannel::new(&config, 1, "wifi")
}

#[test]
fn an_access_point_keeps_the_newest_ack() {
    let stations =
        StationQueueConfig { packets: thinning(100).expect("some"), ..Default::default() };
    for queue in [
        DownlinkConfig::fifo(),
        DownlinkConfig::FqCodel(stations),
        DownlinkConfig::Airtime(stations),
    ] {
        let run = |ack_filter, every| {
            let ack_thinning = thinning(every);
            let queue = Some(queue);
            let access_point =
                AccessPointConfig { queue, ack_filter, ack_thinning, ..Default::default() };
            run(&mut channel(access_point).expect("a channel"), 0, 60)
        };
        let (left, filtered) = run(Some(AckFilter::Aggressive), 0);
        assert_eq!(left.last(), Some(&(ACKS - 1)));
        assert!(filtered > ACKS as usize / 2, "{queue:?}: {filtered}");
        let (every_fifth, _) = run(None, 5);
        assert_eq!(every_fifth, (0..ACKS).step_by(5).collect::<Vec<u32>>());
    }
}

#[test]
fn an_access_point_without_such_a_queue_has_no_filter() {
    let ack_filter = Some(AckFilter::Aggressive);
    let refused = channel(AccessPointConfig { ack_filter, ..Default::default() });
    assert!(matches!(refused.expect_err("no channel"), WifiError::Queue(_)));
}
