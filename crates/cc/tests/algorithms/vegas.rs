//! Vegas by the rules of Brakmo et al. 1994 and La et al. 1999.

use crate::flow::{Flow, LOSS, RECOVERY};
use crate::path::{Path, round};

const PATH: Path = Path { base_us: 50_000, packet_us: 1_000 };

/// A flow in congestion avoidance with this window that knows the path's RTT.
fn in_avoidance(window_pkts: u32, parameters: &[(&str, i64)]) -> Flow {
    let mut flow = Flow::new("vegas", parameters);
    flow.sk.snd_ssthresh = 2;
    flow.sk.snd_cwnd = 10;
    round(&mut flow, PATH.base_us);
    flow.sk.snd_cwnd = window_pkts;
    // ends the round that began with another window
    round(&mut flow, PATH.rtt_us(window_pkts));
    flow.sk.snd_cwnd = window_pkts;
    flow
}

#[test]
fn the_queue_settles_between_alpha_and_beta() {
    for (alpha, beta) in [(2, 4), (1, 3), (10, 20)] {
        for (base_us, packet_us) in [(50_000, 1_000), (100_000, 150), (20_000, 5_000)] {
            let path = Path { base_us, packet_us };
            for start in [4, 400] {
                let mut flow = Flow::new("vegas", &[("alpha", alpha), ("beta", beta)]);
                flow.sk.snd_ssthresh = 2;
                flow.sk.snd_cwnd = 3;
                path.run(&mut flow, 1);
                flow.sk.snd_cwnd = start;
                path.run(&mut flow, 1_000);
                let window = flow.sk.snd_cwnd;
                let queue = path.queue_pkts(window);
                // Vegas divides by base, even if its own queue made the RTT longer than base, and
                // compares whole packets
                let diff = queue * f64::from(path.rtt_us(window)) / f64::from(base_us);
                assert!(
                    (alpha as f64..beta as f64 + 1.0).contains(&diff),
                    "{alpha} to {beta}, base {base_us} us, from {start}: {diff:.2} in the queue"
                );
                assert_eq!(flow.phase(), "hold");
                path.run(&mut flow, 50);
                assert_eq!(flow.sk.snd_cwnd, window, "it oscillates");
            }
        }
    }
}

#[test]
fn by_the_rates_the_queue_is_its_own_packets_however_long() {
    // The queue is four times what the path holds: `rates` computes this, while Linux counts it
    // five times.
    let path = Path { base_us: 5_000, packet_us: 1_000 };
    let settled = |rates| {
        let mut flow = Flow::new("vegas", &[("rates", rates), ("alpha", 20), ("beta", 22)]);
        flow.sk.snd_ssthresh = 2;
        flow.sk.snd_cwnd = 3;
        path.run(&mut flow, 1);
        flow.sk.snd_cwnd = 60;
        path.run(&mut flow, 1_000);
        path.queue_pkts(flow.sk.snd_cwnd)
    };
    assert!((20.0..=23.0).contains(&settled(1)), "{}", settled(1));
    assert!(settled(0) < 12.0, "{}", settled(0));
}

#[test]
fn the_window_moves_by_one_packet_a_round_trip() {
    let mut low = in_avoidance(30, &[]);
    PATH.run(&mut low, 10);
    assert_eq!((low.sk.snd_cwnd, low.phase()), (40, "increase"));
    let mut high = in_avoidance(90, &[]);
    PATH.run(&mut high, 10);
    assert_eq!((high.sk.snd_cwnd, high.phase()), (80, "decrease"));
    // down to two packets, whose two RTTs per round trip allow only Reno's step
    let mut least = in_avoidance(4, &[("alpha", 0), ("beta", 0)]);
    for _ in 0..10 {
        round(&mut least, 5 * PATH.base_us);
        assert!((2..=4).contains(&least.sk.snd_cwnd), "{}", least.sk.snd_cwnd);
    }
}

#[test]
fn slow_start_ends_when_more_than_gamma_wait() {
    for gamma in [1, 5] {
        let mut flow = Flow::new("vegas", &[("gamma", gamma)]);
        let mut windows = Vec::new();
        while flow.sk.snd_cwnd < flow.sk.snd_ssthresh {
            windows.push(flow.sk.snd_cwnd);
            PATH.run(&mut flow, 1);
        }
        // 10, 20, 40, 80: 40 packets leave the path idle; of 80, 30 are queued
        assert_eq!(windows[..3], [10, 20, 40], "{windows:?}");
        // cwnd base / rtt + 1: when the RTT of 80 packets is known, 160 are in flight
        assert!(flow.sk.snd_cwnd.abs_diff(160 * 50 / 80 + 1) <= 1, "{}", flow.sk.snd_cwnd);
    }
    // a queue of three packets, with a gamma of five, does not end it
    let path = Path { base_us: 38_500, packet_us: 1_000 };
    for (gamma, is_over) in [(1, true), (5, false)] {
        let mut flow = Flow::new("vegas", &[("gamma", gamma)]);
        path.run(&mut flow, 2);
        assert_eq!(flow.sk.snd_cwnd, 40);
        // the round of 40 packets, and the ACK that ends it
        path.run(&mut flow, 1);
        flow.ack(1, path.rtt_us(40) as i32);
        assert_eq!(flow.sk.snd_cwnd >= flow.sk.snd_ssthresh, is_over, "gamma {gamma}");
    }
}

#[test]
fn alternate_slow_start_doubles_in_every_other_round_trip() {
    let windows = |parameters: &[(&str, i64)]| {
        let mut flow = Flow::new("vegas", parameters);
        // the first round has no previous round for a comparison
        (0..6)
            .map(|_| {
                round(&mut flow, 100_000);
                flow.sk.snd_cwnd
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(windows(&[]), [20, 40, 80, 160, 320, 640]);
    let alternate = windows(&[("alternate", 1)]);
    // each doubling takes two rounds: in one of them, the window is constant
    let growing = alternate.windows(2).filter(|pair| pair[1] > pair[0] + pair[0] / 2).count();
    let still = alternate.windows(2).filter(|pair| pair[1] <= pair[0] + 1).count();
    assert!(growing == 2 && still == 3 || growing == 3 && still == 2, "{alternate:?}");
    assert!(alternate[5] <= 90, "{alternate:?}");
}

#[test]
fn a_loss_and_too_few_rtts_make_it_reno() {
    let mut flow = in_avoidance(60, &[]);
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 30);
    flow.time_out();
    assert_eq!(flow.sk.inet_conn.icsk_ca_state, LOSS);
    flow.sk.snd_cwnd = 10;
    flow.sk.snd_ssthresh = 2;
    for _ in 0..10 {
        flow.ack(1, 500_000);
    }
    assert_eq!((flow.sk.snd_cwnd, flow.phase()), (11, "reno"));
    // one ACK per round trip: fewer than the three RTTs required, however long they are
    let mut flow = in_avoidance(2, &[]);
    flow.idle(0);
    for round_trip in 0..30 {
        flow.ack(flow.sk.snd_cwnd, 500_000);
        // the first of these began with another window
        assert!(round_trip < 5 || flow.phase() == "reno", "{round_trip}: {}", flow.phase());
    }
    assert!(flow.sk.snd_cwnd > 10, "{}", flow.sk.snd_cwnd);
}

#[test]
fn an_idle_period_forgets_the_path() {
    let mut flow = in_avoidance(50, &[]);
    // twice the RTT: a queue as long as the path; one packet less per round trip
    for _ in 0..10 {
        round(&mut flow, 2 * PATH.base_us);
    }
    assert_eq!(flow.phase(), "decrease");
    flow.idle(1_000_000_000);
    for _ in 0..10 {
        round(&mut flow, 2 * PATH.base_us);
    }
    assert_eq!(flow.phase(), "increase");
}

#[test]
fn the_product_of_window_and_queueing_wraps_at_32_bits_as_in_linux() {
    // 5,000 packets and 900 ms of queueing are 4,500 packets times seconds: 2^32 us is 4,295
    let wrapped = (5_000_u64 * 900_000) % (1 << 32);
    assert!(wrapped / 50_000 > 4, "{wrapped}");
    for (queueing_us, phase) in [(850_000, "decrease"), (858_994, "increase")] {
        let mut flow = in_avoidance(5_000, &[]);
        flow.sk.snd_cwnd = 5_000;
        round(&mut flow, PATH.base_us + queueing_us);
        flow.sk.snd_cwnd = 5_000;
        round(&mut flow, PATH.base_us + queueing_us);
        assert_eq!(flow.phase(), phase, "{queueing_us} us");
    }
}

/// Rounds on a path that has become longer; returns the window at their end.
fn after_longer_path(parameters: &[(&str, i64)]) -> (Flow, Path) {
    let mut flow = Flow::new("vegas", parameters);
    PATH.run(&mut flow, 60);
    let longer = Path { base_us: 2 * PATH.base_us, ..PATH };
    longer.run(&mut flow, 200);
    (flow, longer)
}

#[test]
fn a_longer_path_starves_it() {
    let (flow, longer) = after_longer_path(&[]);
    // diff = cwnd (2 base - base) / base = cwnd, rounded down: only beta packets remain
    assert!(flow.sk.snd_cwnd <= 5, "{} of {}", flow.sk.snd_cwnd, longer.capacity_pkts());
}

#[test]
fn the_remedy_finds_the_new_base() {
    for groups in [3, 4, 8] {
        let (flow, longer) = after_longer_path(&[("reroute_groups", groups)]);
        let queue = longer.queue_pkts(flow.sk.snd_cwnd);
        assert!((1.0..6.0).contains(&queue), "{groups} groups: {queue:.1} in the queue");
    }
}

#[test]
fn the_remedy_leaves_a_path_alone_that_does_not_change() {
    // even if the flow's own queue is a third of the RTT
    for path in [PATH, Path { base_us: 8_000, packet_us: 1_000 }] {
        let windows = [0, 4].map(|groups| {
            let mut flow = Flow::new("vegas", &[("reroute_groups", groups)]);
            path.run(&mut flow, 500);
            flow.sk.snd_cwnd
        });
        assert_eq!(windows[0], windows[1]);
    }
}

#[test]
fn the_remedy_waits_for_all_its_groups() {
    let mut flow = Flow::new("vegas", &[("reroute_groups", 4), ("reroute_first_pkts", 0)]);
    PATH.run(&mut flow, 60);
    let before = flow.sk.snd_cwnd;
    // 3 groups of 20 packets on a longer path, then one on the old path: not a new path
    for round_trip in 0..40 {
        let is_longer = round_trip % 4 != 3;
        let rtt_us = if is_longer { 2 * PATH.base_us } else { PATH.base_us };
        for _ in 0..20 {
            flow.advance(u64::from(rtt_us) * 50);
            flow.ack(1, rtt_us as i32);
        }
    }
    assert!(flow.sk.snd_ssthresh <= before, "slow start to {}", flow.sk.snd_ssthresh);
}
