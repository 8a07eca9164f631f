//! Mean window as a function of the loss rate, compared with the closed forms in papers and RFCs.
//! As in the papers, losses are deterministic: every n-th packet, with an instantaneous recovery.

use crate::flow::{Flow, RECOVERY};

const MS: u64 = 1_000_000;

/// Mean window in packets over `cycles` losses, one every `interval` packets, after the same number
/// of losses to converge.
fn mean_window(
    name: &str,
    parameters: &[(&str, i64)],
    rtt_ns: u64,
    interval: u64,
    cycles: u64,
) -> f64 {
    let mut flow = Flow::new(name, parameters);
    flow.sk.snd_ssthresh = 2;
    let mut measured_from_ns = 0;
    for cycle in 0..2 * cycles {
        if cycle == cycles {
            measured_from_ns = flow.now_ns;
        }
        for _ in 0..interval {
            flow.sk.srtt_us = (rtt_ns / 1_000) as u32 * 8;
            flow.advance(rtt_ns / u64::from(flow.sk.snd_cwnd));
            flow.ack(1, (rtt_ns / 1_000) as i32);
        }
        flow.reduce(RECOVERY);
    }
    (cycles * interval) as f64 * rtt_ns as f64 / (flow.now_ns - measured_from_ns) as f64
}

fn assert_close(what: &str, measured: f64, expected: f64, tolerance: f64) {
    let error = measured / expected - 1.0;
    assert!(
        error.abs() <= tolerance,
        "{what}: measured {measured:.2}, formula {expected:.2}, off by {:.1} %",
        error * 100.0
    );
}

/// Mathis, Semke, Mahdavi, Ott 1997, equation 3: sqrt(3/2) / sqrt(p).
fn reno_packets(interval: u64) -> f64 {
    libm::sqrt(1.5 * interval as f64)
}

#[test]
fn reno_follows_the_square_root_law() {
    for interval in [500, 5_000, 50_000] {
        let measured = mean_window("reno", &[], 100 * MS, interval, 20);
        assert_close("reno", measured, reno_packets(interval), 0.03);
    }
}

#[test]
fn cubic_follows_its_response_function_where_the_curve_rules() {
    // RFC 9438 section 5.1: (C (3 + beta) / (4 (1 - beta)))^(1/4) RTT^(3/4) / p^(3/4)
    let c = 410.0 / 1024.0;
    let beta = 717.0 / 1024.0;
    let factor = libm::pow(c * (3.0 + beta) / (4.0 * (1.0 - beta)), 0.25);
    // With whole packets, the curve stays at W_max from 1.36 s before K to 1.36 s after it, and a
    // loss anywhere in this time repeats the cycle: the shorter K (5.6, 9.5, 16.8 s), the wider
    // this range.
    for (interval, tolerance) in [(10_000, 0.15), (100_000, 0.02), (1_000_000, 0.02)] {
        let expected = factor * libm::pow(0.1 * interval as f64, 0.75);
        let measured = mean_window("cubic", &[], 100 * MS, interval, 10);
        assert_close("cubic", measured, expected, tolerance);
    }
}

#[test]
fn cubic_has_renos_window_where_the_path_is_short() {
    // RFC 9438 section 4.3: Reno with CUBIC's beta and an increase that gives the same window
    for interval in [500, 2_000, 10_000] {
        let measured = mean_window("cubic", &[], 10 * MS, interval, 50);
        assert_close("friendly cubic", measured, reno_packets(interval), 0.10);
    }
}

#[test]
fn cubic_without_friendliness_falls_behind_reno_where_the_path_is_short() {
    let measured = mean_window("cubic", &[("tcp_friendliness", 0)], 10 * MS, 1_000, 50);
    assert!(measured < 0.6 * reno_packets(1_000), "{measured:.2}");
}

#[test]
fn highspeed_follows_its_response_function() {
    // RFC 3649 section 5: W = 0.12 / p^0.835. A row of the table has the a(w) of its upper end, up
    // to one packet more than the formula: much at a = 3, little at a = 30.
    for (interval, tolerance) in [(10_000, 0.18), (100_000, 0.07), (1_000_000, 0.02)] {
        let expected = 0.12 * libm::pow(interval as f64, 0.835);
        let measured = mean_window("highspeed", &[], 100 * MS, interval, 10);
        assert_close("highspeed", measured, expected, tolerance);
    }
}

#[test]
fn computed_highspeed_is_closer_to_its_response_function() {
    for (interval, tolerance) in [(10_000, 0.06), (100_000, 0.04), (1_000_000, 0.04)] {
        let expected = 0.12 * libm::pow(interval as f64, 0.835);
        let measured = mean_window("highspeed", &[("computed", 1)], 100 * MS, interval, 10);
        assert_close("computed highspeed", measured, expected, tolerance);
    }
}

#[test]
fn highspeed_is_reno_up_to_38_packets() {
    let reno = mean_window("reno", &[], 100 * MS, 400, 50);
    assert!(reno < 30.0);
    assert_close("highspeed", mean_window("highspeed", &[], 100 * MS, 400, 50), reno, 0.0);
}

#[test]
fn scalable_follows_its_response_function() {
    for interval in [2_500, 10_000, 100_000] {
        let measured = mean_window("scalable", &[], 100 * MS, interval, 20);
        // log(8/7) / log(1.01) = 13.4 round trips between losses
        let rounds = libm::log(8.0 / 7.0) / libm::log(1.01);
        assert_close("scalable", measured, interval as f64 / rounds, 0.02);
        // Kelly 2003, section 3: w = a / (b p) = 0.08 / p; the mean of the saw-tooth is 7 % lower
        assert_close("scalable", measured, 0.08 * interval as f64, 0.09);
    }
}

#[test]
fn compound_follows_its_response_function_where_there_is_no_queue() {
    // draft-sridharan-tcpm-ctcp-02 section 4, equation 8 and table 1: w = 0.255 / p^0.8
    for interval in [10_000, 100_000, 1_000_000] {
        let expected = 0.255 * libm::pow(interval as f64, 0.8);
        let measured = mean_window("compound", &[], 100 * MS, interval, 10);
        assert_close("compound", measured, expected, 0.06);
    }
}

#[test]
fn htcp_follows_the_square_root_law_in_its_first_second() {
    // alpha = 1 and beta = 1/2; the ACK that completes a step does not count for the next one
    let measured = mean_window("htcp", &[("use_rtt_scaling", 0)], 10 * MS, 500, 100);
    assert_close("htcp", measured, reno_packets(500), 0.07);
}

#[test]
fn losses_without_a_queue_do_not_hold_westwood_back() {
    // Mascolo et al. 2001: the property that suits it to lossy links
    let measured = mean_window("westwood", &[], 100 * MS, 500, 20);
    assert!(measured > 2.0 * reno_packets(500), "{measured:.1}");
}
