//! DCTCP's average of marks, its reduction, and its receiver (RFC 8257).

use cwndlab_cc::{CwndEvent, ICSK_ACK_NOW, ICSK_ACK_TIMER, Requests};

use crate::flow::{CWR, Flow, MSS_BYTES, RECOVERY};
use crate::replay::replay;

const ECN_OK: u8 = 1;
const DEMAND_CWR: u8 = 4;

/// A flow with ECN, after slow start.
fn ecn_flow(window: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("dctcp", parameters);
    flow.sk.ecn_flags = ECN_OK;
    flow.congestion.init(&mut flow.sk);
    flow.sk.snd_cwnd = window;
    flow.sk.snd_ssthresh = 2;
    flow
}

/// A round trip in which ACKs report `marked` packets out of `packets`.
fn round(flow: &mut Flow, packets: u32, marked: u32) {
    let sk = &mut flow.sk;
    sk.snd_una = sk.snd_nxt;
    sk.snd_nxt = sk.snd_una.wrapping_add(packets * MSS_BYTES);
    sk.delivered += packets;
    sk.delivered_ce += marked;
    let _ = flow.congestion.in_ack_event(&mut flow.sk, 0);
}

/// Derives alpha from the remaining part of a window of 2^20.
fn alpha(flow: &Flow) -> f64 {
    let mut flow = flow.clone();
    flow.sk.snd_cwnd = 1 << 20;
    let left = flow.congestion.ssthresh(&mut flow.sk);
    2.0 * (1.0 - f64::from(left) / f64::from(1 << 20))
}

#[test]
fn alpha_is_the_average_of_the_share_of_marks() {
    for (marked, shift) in [(0, 4), (13, 4), (50, 4), (100, 4), (50, 1), (50, 7)] {
        let mut flow = ecn_flow(100, &[("shift_g", shift)]);
        let g = libm::exp2(-(shift as f64));
        let mut expected = 1.0;
        for trip in 0..60 {
            round(&mut flow, 100, marked);
            expected = (1.0 - g) * expected + g * f64::from(marked) / 100.0;
            // alpha is in 1/1024, and is rounded down twice per round trip
            let error = alpha(&flow) - expected;
            assert!(error.abs() < 0.003 / g / 4.0, "{marked} marked, trip {trip}: {error}");
        }
    }
}

#[test]
fn alpha_does_not_linger_where_the_shift_leaves_nothing() {
    let mut flow = ecn_flow(100, &[]);
    for _ in 0..100 {
        round(&mut flow, 100, 0);
    }
    assert_eq!(alpha(&flow), 0.0);
    assert_eq!(flow.congestion.ssthresh(&mut flow.sk), 100);
}

#[test]
fn an_echo_takes_half_of_alpha_and_a_loss_takes_half() {
    let mut flow = ecn_flow(100, &[("alpha_on_init", 256)]);
    flow.reduce(CWR);
    assert_eq!(flow.sk.snd_cwnd, 100 - 100 / 8);
    // the round trip of a reduction is no longer marked
    assert_eq!(flow.congestion.undo_cwnd(&mut flow.sk), 100);

    // RFC 8257 section 3.5
    let mut flow = ecn_flow(100, &[("alpha_on_init", 256)]);
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 50);
    let mut flow = ecn_flow(100, &[("alpha_on_init", 256)]);
    flow.time_out();
    assert_eq!(flow.sk.snd_ssthresh, 50);
}

#[test]
fn without_ecn_it_is_reno() {
    let mut flow = Flow::new("dctcp", &[("alpha_on_init", 0)]);
    flow.sk.snd_cwnd = 100;
    round(&mut flow, 100, 100);
    flow.sk.prior_cwnd = 130;
    assert_eq!(flow.congestion.undo_cwnd(&mut flow.sk), 130);
    flow.reduce(CWR);
    assert_eq!(flow.sk.snd_cwnd, 50);
    let asked = flow.congestion.cwnd_event(&mut flow.sk, CwndEvent::EcnIsCe);
    assert_eq!((flow.sk.ecn_flags, asked), (0, Requests::NONE));
}

#[test]
fn the_receiver_acknowledges_what_came_before_a_change() {
    let mut flow = ecn_flow(10, &[]);
    let mut receive = |event, rcv_nxt, pending| {
        flow.sk.rcv_nxt = rcv_nxt;
        flow.sk.inet_conn.icsk_ack.pending = pending;
        let Requests { ack, reduces } = flow.congestion.cwnd_event(&mut flow.sk, event);
        assert!(!reduces);
        let is_now = flow.sk.inet_conn.icsk_ack.pending & ICSK_ACK_NOW != 0;
        let does_echo = flow.sk.ecn_flags & DEMAND_CWR != 0;
        (ack.map(|ack| ack.rcv_nxt), ack.is_some_and(|ack| ack.is_ece), is_now, does_echo)
    };
    let (marked, unmarked) = (CwndEvent::EcnIsCe, CwndEvent::EcnNoCe);
    assert_eq!(receive(unmarked, 1_000, 0), (None, false, false, false));
    // a delayed ACK of 1,000 was pending when a mark arrived
    assert_eq!(receive(marked, 2_000, ICSK_ACK_TIMER), (Some(1_000), false, true, true));
    assert_eq!(receive(marked, 3_000, 0), (None, false, false, true));
    // none was pending when the marks ended, then one was when they began
    assert_eq!(receive(unmarked, 4_000, 0), (None, false, true, false));
    assert_eq!(receive(marked, 5_000, 0), (None, false, true, true));
    assert_eq!(receive(unmarked, 6_000, ICSK_ACK_TIMER), (Some(5_000), true, true, false));
}

#[test]
fn does_as_the_kernels_module() {
    let Some(outcome) = replay("dctcp", &[]) else { return };
    println!("{outcome}");
    assert!(outcome.changes > 300 && outcome.losses >= 9, "{outcome}");
    assert!(outcome.differences.is_empty(), "{outcome}");
}
