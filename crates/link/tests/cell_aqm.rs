//! Managed queues of a cell's users: waiting times of packets.

mod common;

use core::num::NonZeroU32;

use common::Frame;
use common::cell::{cell, lte};
use cwndlab_link::{AqmConfig, Link, LinkEventKind};
use cwndlab_units::{Bytes, Duration, Output, Time};

const CODEL: AqmConfig = AqmConfig::Codel {
    target: Duration::from_millis(5),
    interval: Duration::from_millis(100),
    ecn: false,
};

fn fq_codel() -> AqmConfig {
    let AqmConfig::Codel { target, interval, ecn } = CODEL else { unreachable!("it is CoDel") };
    let queues = NonZeroU32::new(1024).expect("the constant is greater than 0");
    AqmConfig::FqCodel { queues, quantum: Bytes(1514), target, interval, ecn }
}

const PIE: AqmConfig = AqmConfig::Pie {
    target: Duration::from_millis(15),
    burst: Duration::from_millis(150),
    ecn: false,
};

/// A bulk flow whose window is halved after losses, at most once in 20 ms, and grows by one packet
/// per window; and a second flow with a packet every 10 ms.
///
/// Returns both flows' median delay in ms in the last five of fifteen seconds, and the bulk flow's
/// rate in Mbit/s.
fn run(aqm: Option<AqmConfig>) -> (f64, f64, f64) {
    const BULK: u32 = 1_000_000_000;
    let mut config = lte(25, 1, 20);
    config.downlink.queue_bytes = Some(Bytes(3_000_000));
    config.downlink.aqm = aqm;
    let mut cell = cell(&config, 3);
    let (mut window, mut inside, mut last_cut) = (10.0_f64, 0_i32, Time::ZERO);
    let mut sent: Vec<Time> = Vec::new();
    let mut delays = [Vec::new(), Vec::new()];
    let mut bytes = 0_u64;
    let late = Time::from_secs(10);
    for ms in 0..15_000_u64 {
        let now = Time::from_millis(ms);
        while let Some(output) = cell.poll(now) {
            match output {
                Output::Packet { at, packet, .. } => {
                    let (number, flow) = (*packet.number, packet.flow);
                    let is_bulk = flow == 1;
                    let came = if is_bulk {
                        inside -= 1;
                        window += 1.0 / window;
                        sent[number as usize]
                    } else {
                        Time::from_millis(u64::from(number - BULK))
                    };
                    if at >= late {
                        delays[usize::from(!is_bulk)].push((at - came).as_millis_f64());
                        bytes += u64::from(is_bulk) * 1500;
                    }
                }
                Output::Event { at, event } => {
                    let LinkEventKind::Dropped { flow, .. } = event.kind else { continue };
                    inside -= i32::from(flow == 1);
                    if at.saturating_since(last_cut) > Duration::from_millis(20) {
                        (window, last_cut) = ((window / 2.0).max(2.0), at);
                    }
                }
            }
        }
        while f64::from(inside) < window {
            let frame = Frame { flow: 1, ..Frame::new(sent.len() as u32, 1500) };
            sent.push(now);
            inside += 1;
            cell.handle_packet(now, 0, frame);
        }
        if ms % 10 == 0 {
            let number = BULK + ms as u32;
            cell.handle_packet(now, 0, Frame { flow: 2, ..Frame::new(number, 100) });
        }
    }
    let median = |delays: &mut Vec<f64>| {
        delays.sort_by(f64::total_cmp);
        delays[delays.len() / 2]
    };
    let [bulk, sparse] = &mut delays;
    (median(bulk), median(sparse), bytes as f64 * 8.0 / 5e6)
}

#[test]
fn management_keeps_the_wait_short_and_the_radio_busy() {
    let (full, _, most) = run(None);
    assert!(full > 100.0, "the queue is long: {full} ms");
    for (aqm, longest) in [(CODEL, 25.0), (fq_codel(), 25.0), (PIE, 40.0)] {
        let (bulk, _, rate) = run(Some(aqm));
        assert!(bulk < longest, "{aqm:?}: {bulk} ms");
        assert!(rate > 0.8 * most, "{aqm:?}: {rate} of {most} Mbit/s");
    }
}

#[test]
fn a_sparse_flow_overtakes_in_queues_of_flows() {
    let (_, behind, _) = run(Some(CODEL));
    let (_, beside, _) = run(Some(fq_codel()));
    // LTE's minimum is 4 ms: processing, alignment, block, decoding.
    assert!(beside < 6.0, "{beside} ms");
    assert!(beside < behind, "{beside} and {behind} ms");
}
