//! NV's decisions, on a simple path and on a kernel's ACKs.

use cwndlab_cc::AckSample;

use crate::flow::{Flow, MSS_BYTES, RECOVERY};
use crate::replay::{Replay, trace};

const BASE_US: u32 = 40_000;
/// Rate of the path in packets per millisecond; 100 packets fill it.
const BDP_PKTS: u32 = 100;

/// A round trip on a path with one queue, packet by packet.
fn round(flow: &mut Flow) {
    let window = flow.sk.snd_cwnd;
    let queue = window.saturating_sub(BDP_PKTS);
    let rtt_us = BASE_US + queue * BASE_US / BDP_PKTS;
    flow.sk.snd_nxt = flow.sk.snd_una.wrapping_add(window * MSS_BYTES);
    flow.sk.packets_out = window;
    flow.sk.max_packets_out = window;
    let end = flow.sk.snd_nxt;
    while flow.sk.snd_una != end {
        flow.advance(u64::from(rtt_us) * 1_000 / u64::from(window));
        flow.sk.snd_una = flow.sk.snd_una.wrapping_add(MSS_BYTES);
        flow.sk.snd_nxt = flow.sk.snd_nxt.wrapping_add(MSS_BYTES);
        let in_flight = window * MSS_BYTES;
        let sample = AckSample { pkts_acked: 1, rtt_us: rtt_us as i32, in_flight };
        let _ = flow.congestion.pkts_acked(&mut flow.sk, &sample);
        let una = flow.sk.snd_una;
        let _ = flow.congestion.cong_avoid(&mut flow.sk, una, 1);
    }
}

/// Until NV has converged, and before it measures the lowest RTT again with its own queue.
fn settled(pad: i64) -> Flow {
    let mut flow = Flow::new("nv", &[("pad", pad)]);
    while flow.now_ns < 3_000_000_000 {
        round(&mut flow);
    }
    flow
}

#[test]
fn the_window_settles_with_the_pad_in_the_queue() {
    for pad in [5, 10, 20] {
        let flow = settled(pad);
        let queued = i64::from(flow.sk.snd_cwnd) - i64::from(BDP_PKTS);
        assert!((pad - 3..=pad + 1).contains(&queued), "pad {pad}: {queued} queued");
        assert_eq!(flow.phase(), "hold");
    }
}

#[test]
fn too_large_a_window_comes_down_by_thirty_per_cent_of_the_distance() {
    let mut flow = settled(10);
    flow.sk.snd_cwnd = 200;
    let mut falls = Vec::new();
    for _ in 0..40 {
        let before = flow.sk.snd_cwnd;
        round(&mut flow);
        if flow.sk.snd_cwnd < before {
            falls.push((before, flow.sk.snd_cwnd));
        }
    }
    // once the average RTT has converged, the rate is the path's, so max_win stays the same
    let limit = BDP_PKTS + 10;
    for &(before, after) in falls.iter().skip(1).filter(|fall| fall.0 > limit + 10) {
        let share = f64::from(before - after) / f64::from(before - limit);
        assert!((0.25..0.33).contains(&share), "from {before} to {after}");
    }
    assert!(falls.len() > 4 && flow.sk.snd_cwnd.abs_diff(limit) <= 1, "{falls:?}");
    assert!(flow.sk.snd_ssthresh.abs_diff(limit) <= 2);
}

#[test]
fn a_loss_leaves_four_fifths_and_growth_rests_until_all_is_repaired() {
    let mut flow = Flow::new("nv", &[]);
    flow.sk.snd_cwnd = 50;
    flow.sk.snd_ssthresh = 2;
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 39);
    round(&mut flow);
    assert_eq!((flow.sk.snd_cwnd, flow.phase()), (39, "hold"));
    // after two round trips of samples, it knows that the path is not full
    for _ in 0..3 {
        round(&mut flow);
    }
    assert_eq!(flow.phase(), "grow");
    assert!(flow.sk.snd_cwnd > 39);
}

#[test]
fn each_timeout_halves_the_growth_for_a_while() {
    let grown = |timeouts: u32| {
        let mut flow = Flow::new("nv", &[]);
        for _ in 0..timeouts {
            flow.time_out();
            flow.open();
        }
        flow.sk.snd_cwnd = 40;
        flow.sk.snd_ssthresh = 2;
        for _ in 0..9 {
            round(&mut flow);
        }
        flow.sk.snd_cwnd - 40
    };
    let [all, half, quarter] = [grown(0), grown(1), grown(2)];
    assert!(all == 9 && (3..=4).contains(&half) && (1..=2).contains(&quarter), "{half}, {quarter}");
}

/// Times at which the kernel's flow measured the lowest RTT again, which are random: 5 ms before
/// the first of its samples, 10 ms apart, that shows it.
const RESETS_US: [u64; 6] = [2_085_000, 7_085_000, 11_065_000, 15_275_000, 20_555_000, 24_835_000];

#[test]
fn does_as_the_kernels_module() {
    let Some(rows) = trace("nv") else { return };
    let mut replay = Replay::new("nv", &[], rows[0]);
    let mut resets = RESETS_US.iter().peekable();
    for ack in 0..rows.len() - 1 {
        let is_due = resets.next_if(|&&at_us| at_us <= rows[ack].t_us).is_some();
        let now = (rows[ack].t_us / 4_000) as u32;
        // the first word of its state is the time of the next measurement
        let word = &mut replay.flow.sk.inet_conn.icsk_ca_priv[0];
        *word = *word >> 32 << 32 | u64::from(if is_due { now - 1 } else { now + 1_000 });
        replay.step(ack, &rows);
    }
    let outcome = replay.outcome;
    println!("{outcome}");
    assert!(outcome.acks > 12_000 && outcome.changes > 90, "{outcome}");
    assert!(outcome.differences.is_empty(), "{outcome}");
}
