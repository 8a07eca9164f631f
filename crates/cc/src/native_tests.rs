//! The C side as its compiler lays it out: structs, integer roots, windowed extremes.

use std::mem::offset_of;

use proptest::prelude::*;

use crate::ffi::{Description, Ops, Parameter};
use crate::layout;
use crate::sock::{
    AckSample, CC_STATE_BYTES, InetConnectionSock, InetSock, RateSample, Sock, TcpOptionsReceived,
    TcpSock,
};

/// `struct minmax`: three samples of time and value, the best one first.
#[repr(C)]
#[derive(Default)]
struct MinMax([[u32; 2]; 3]);

unsafe extern "C" {
    safe fn cc_native_running_max(m: &mut MinMax, window: u32, t: u32, v: u32) -> u32;
    safe fn cc_native_running_min(m: &mut MinMax, window: u32, t: u32, v: u32) -> u32;
    safe fn cc_native_cbrt64(x: u64) -> u32;
    safe fn cc_native_sqrt64(x: u64) -> u32;
}

/// The rows of `port/layout.h`, in its order.
fn c_layout() -> Vec<(&'static str, u64)> {
    layout::fields().map(|field| (field.name, field.offset)).collect()
}

/// Lists a struct's size and the offsets of its fields with their C names.
macro_rules! rows {
    ($rows:ident, $c:literal, $rust:ty $(, $field:ident)*) => {
        $rows.push(($c, size_of::<$rust>() as u64));
        $($rows.push((
            concat!($c, ".", stringify!($field)),
            offset_of!($rust, $field) as u64,
        ));)*
    };
}

fn rust_layout() -> Vec<(&'static str, u64)> {
    let mut rows = Vec::new();
    rows!(
        rows,
        "sock",
        Sock,
        sk_pacing_rate,
        sk_max_pacing_rate,
        sk_pacing_status,
        sk_gso_max_size,
        sk_pacing_shift
    );
    rows!(rows, "inet_sock", InetSock);
    rows!(
        rows,
        "inet_connection_sock",
        InetConnectionSock,
        icsk_ca_state,
        icsk_retransmits,
        icsk_ack,
        icsk_ca_priv
    );
    rows!(rows, "tcp_options_received", TcpOptionsReceived, saw_tstamp, rcv_tsval, rcv_tsecr);
    rows!(
        rows,
        "tcp_sock",
        TcpSock,
        inet_conn,
        tcp_mstamp,
        tcp_clock_cache,
        tcp_wstamp_ns,
        delivered_mstamp,
        first_tx_mstamp,
        bytes_acked,
        cc_params,
        cc_random,
        cc_jiffies32,
        cc_ack_rcv_nxt,
        snd_cwnd,
        snd_cwnd_cnt,
        snd_cwnd_clamp,
        snd_ssthresh,
        prior_cwnd,
        snd_cwnd_stamp,
        snd_cwnd_used,
        snd_una,
        snd_nxt,
        high_seq,
        snd_wnd,
        packets_out,
        retrans_out,
        sacked_out,
        lost_out,
        max_packets_out,
        cwnd_usage_seq,
        mss_cache,
        advmss,
        srtt_us,
        mdev_us,
        rtt_min_us,
        delivered,
        delivered_ce,
        lost,
        app_limited,
        total_retrans,
        reordering,
        rcv_nxt,
        lsndtime,
        rx_opt,
        is_cwnd_limited,
        ecn_flags,
        cc_phase,
        cc_requests,
        cc_state
    );
    rows!(rows, "ack_sample", AckSample, pkts_acked, rtt_us, in_flight);
    rows!(
        rows,
        "rate_sample",
        RateSample,
        prior_mstamp,
        prior_delivered,
        prior_delivered_ce,
        delivered,
        delivered_ce,
        interval_us,
        snd_interval_us,
        rcv_interval_us,
        rtt_us,
        losses,
        acked_sacked,
        prior_in_flight,
        last_end_seq,
        is_app_limited,
        is_retrans,
        is_ack_delayed
    );
    rows!(
        rows,
        "tcp_congestion_ops",
        Ops,
        ssthresh,
        cong_avoid,
        set_state,
        cwnd_event,
        in_ack_event,
        pkts_acked,
        min_tso_segs,
        cong_control,
        undo_cwnd,
        sndbuf_expand,
        init,
        release,
        flags,
        name
    );
    rows!(rows, "cc_parameter", Parameter);
    rows!(rows, "cc_description", Description);
    rows
}

#[test]
fn c_and_rust_agree_on_every_struct() {
    let (c, rust) = (c_layout(), rust_layout());
    for (in_c, in_rust) in c.iter().zip(&rust) {
        assert_eq!(in_c, in_rust);
    }
    assert_eq!(c.len(), rust.len());
}

#[test]
fn every_field_of_the_socket_is_compared() {
    // Adjacent fields have nothing but padding between them.
    let mut offsets: Vec<u64> = c_layout()
        .iter()
        .filter(|(name, _)| name.starts_with("tcp_sock."))
        .map(|&(_, offset)| offset)
        .collect();
    offsets.push(size_of::<TcpSock>() as u64);
    assert_eq!(offsets[1], size_of::<InetConnectionSock>() as u64);
    let options = offset_of!(TcpSock, rx_opt) as u64;
    let state = offset_of!(TcpSock, cc_state) as u64;
    for pair in offsets[1..].windows(2) {
        let room = match pair[0] {
            at if at == options => size_of::<TcpOptionsReceived>() as u64,
            at if at == state => CC_STATE_BYTES as u64,
            _ => 8,
        };
        assert!(pair[1] > pair[0] && pair[1] - pair[0] <= room, "a field at {}", pair[0]);
    }
}

#[test]
fn integer_roots_are_exact_at_the_edges() {
    for root in [0, 1, 2, 3, 63, 1_000, 65_535, 2_642_244, 2_642_245u64] {
        let cube = root * root * root;
        assert_eq!(u64::from(cc_native_cbrt64(cube)), root);
        if cube > 0 {
            assert_eq!(u64::from(cc_native_cbrt64(cube - 1)), root - 1);
        }
    }
    assert_eq!(cc_native_cbrt64(u64::MAX), 2_642_245);
    assert_eq!(cc_native_sqrt64(u64::MAX), u32::MAX);
}

proptest! {
    #[test]
    fn the_cube_root_is_exact(x in prop_oneof![any::<u64>(), 0..1_000_000u64]) {
        let root = u128::from(cc_native_cbrt64(x));
        prop_assert!(root.pow(3) <= u128::from(x) && u128::from(x) < (root + 1).pow(3));
    }

    #[test]
    fn the_square_root_is_exact(x in prop_oneof![any::<u64>(), 0..1_000_000u64]) {
        let root = u128::from(cc_native_sqrt64(x));
        prop_assert!(root.pow(2) <= u128::from(x) && u128::from(x) < (root + 1).pow(2));
    }

    #[test]
    fn a_windowed_extreme_is_a_value_of_the_window(
        steps in prop::collection::vec((0..50u32, 0..1_000u32), 1..200),
        window in 1..400u32,
        start in prop_oneof![Just(u32::MAX - 100), any::<u32>()],
    ) {
        let (mut high, mut low) = (MinMax::default(), MinMax::default());
        let mut past: Vec<(u32, u32)> = Vec::new();
        let mut age = 0;
        for (elapsed, value) in steps {
            age += elapsed;
            let t = start.wrapping_add(age);
            if past.is_empty() {
                (high, low) = (MinMax([[t, value]; 3]), MinMax([[t, value]; 3]));
            }
            past.push((age, value));
            let largest = cc_native_running_max(&mut high, window, t, value);
            let smallest = cc_native_running_min(&mut low, window, t, value);
            let recent = || past.iter().filter(|(then, _)| age - then <= window).map(|p| p.1);
            prop_assert!(recent().any(|v| v == largest) && recent().any(|v| v == smallest));
            prop_assert!(largest >= value && smallest <= value);
        }
    }
}

#[test]
fn a_peak_is_kept_for_its_window_and_followed_by_the_best_since() {
    let mut m = MinMax::default();
    for t in 0..=200 {
        let value = match t {
            20 => 100,
            90 => 50,
            _ => 10,
        };
        let expected = match t {
            0..20 => 10,
            20..=120 => 100,
            121..=190 => 50,
            _ => 10,
        };
        assert_eq!(cc_native_running_max(&mut m, 100, t, value), expected, "at {t}");
    }
}
