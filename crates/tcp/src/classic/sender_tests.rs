//! The four textbook recoveries, ACK by ACK.

use std::collections::BTreeMap;
use std::sync::Arc;

use cwndlab_cc::{Algorithm, Congestion, Requests};
use cwndlab_units::{Duration, Time};

use super::sender::{Ack, Sender, Transmit};
use super::settings::{ClassicSettings, Recovery, RttReport};
use super::testing::{ns_2_packet, ns_3};

/// Bytes of a segment in these tests.
const SEGMENT: u64 = 1500;

/// A sender with a full window in flight.
struct Script {
    sender: Sender,
    now: Time,
}

impl Script {
    fn new(recovery: Recovery, cwnd: u32) -> Self {
        let settings = ClassicSettings {
            recovery,
            window_limit_pkts: 1000,
            limited_transmit: false,
            handshake_opens_window: false,
            initial_window_pkts: cwnd,
            ..ns_2_packet()
        };
        Self::with(settings)
    }

    fn with(settings: ClassicSettings) -> Self {
        let reno = Algorithm::by_name("reno").expect("reno");
        let congestion = Congestion::new(reno, &BTreeMap::new()).expect("no parameters");
        let mut sender = Sender::new(Arc::new(settings), congestion, Duration::ZERO);
        sender.open(Time::ZERO);
        sender.handle_opened(Time::from_millis(100));
        sender.write(1_000_000_000);
        let mut script = Self { sender, now: Time::from_millis(100) };
        script.sent();
        script
    }

    /// Returns the numbers of the segments that leave now.
    fn sent(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.sender.poll_transmit(self.now))
            .map(|Transmit { start, .. }| start / SEGMENT)
            .collect()
    }

    /// Delivers an ACK up to segment `next` with blocks of segments. Returns the segments that
    /// leave.
    fn ack(&mut self, next: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
        self.now += Duration::from_millis(1);
        let blocks: Vec<_> =
            blocks.iter().map(|block| (block.0 * SEGMENT, block.1 * SEGMENT)).collect();
        let ack = Ack {
            next: next * SEGMENT,
            blocks: &blocks,
            echo: None,
            is_bare: true,
            window_bytes: u64::MAX,
        };
        self.sender.handle_ack(self.now, ack);
        self.sent()
    }

    fn duplicates(&mut self, next: u64, count: usize) -> Vec<u64> {
        (0..count).flat_map(|_| self.ack(next, &[])).collect()
    }

    fn timeout(&mut self) -> Vec<u64> {
        self.now = self.sender.timer();
        self.sender.handle_timeout(self.now);
        self.sent()
    }

    fn window(&self) -> (u32, u32) {
        (self.sender.sk.snd_cwnd, self.sender.sk.snd_ssthresh)
    }
}

/// A sender of ns-3 with a window of 20 segments in flight.
fn of_ns_3() -> Script {
    Script::with(ClassicSettings {
        segment_bytes: SEGMENT as u32,
        initial_window_pkts: 20,
        limited_transmit: false,
        ..ns_3()
    })
}

#[test]
fn ns_3_halves_what_is_left_in_flight_of_a_window() {
    let mut script = of_ns_3();
    // The first twelve were lost together, and the next three arrived.
    for sacked in 13..=15 {
        script.ack(0, &[(12, sacked)]);
    }
    assert_eq!(script.window().1, 2, "half of five in flight");
    let mut script = of_ns_3();
    for sacked in 2..=4 {
        script.ack(0, &[(1, sacked)]);
    }
    assert_eq!(script.window().1, 8, "half of sixteen: one is lost, three are SACKed");
}

#[test]
fn each_timeout_of_ns_3_lowers_the_threshold_and_repeats_only_what_is_missing() {
    let mut script = of_ns_3();
    script.ack(0, &[(10, 12)]);
    assert_eq!(script.timeout(), [0]);
    assert_eq!(script.window(), (1, 9), "half of eighteen in flight");
    assert_eq!(script.timeout(), [0]);
    assert_eq!(script.window(), (1, 2), "half of one, at least two");
    let mut repeated = Vec::new();
    for next in 1..=9 {
        repeated.extend(script.ack(next, &[(10, 12)]));
    }
    assert_eq!(repeated, [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14], "not 10 and 11");
}

#[test]
fn a_reduction_that_the_algorithm_asks_for_comes_at_once_and_not_in_recovery() {
    let mut script = Script::new(Recovery::NewReno, 10);
    let asked = Requests { reduces: true, ..Requests::NONE };
    script.sender.serve(asked);
    assert_eq!((script.sender.sk.snd_cwnd, script.sender.sk.snd_ssthresh), (5, 5));
    for _ in 0..3 {
        script.ack(0, &[]);
    }
    let in_recovery = script.sender.sk.snd_cwnd;
    script.sender.serve(asked);
    assert_eq!(script.sender.sk.snd_cwnd, in_recovery);
}

#[test]
fn two_duplicates_are_reordering_three_are_a_loss() {
    let mut script = Script::new(Recovery::Reno, 10);
    assert_eq!(script.duplicates(0, 2), []);
    assert_eq!(script.window().0, 10);
    assert_eq!(script.duplicates(0, 1), [0]);
}

#[test]
fn tahoe_starts_over_at_the_hole() {
    let mut script = Script::new(Recovery::Tahoe, 10);
    assert_eq!(script.duplicates(0, 3), [0]);
    assert_eq!(script.window(), (1, 5));
    assert_eq!(script.duplicates(0, 6), [], "no inflation");
    // Only segment 0 was lost: its ACK covers the flight, and slow start continues from there.
    assert_eq!(script.ack(10, &[]), [10, 11]);
}

#[test]
fn reno_inflates_and_leaves_at_the_first_new_ack() {
    let mut script = Script::new(Recovery::Reno, 10);
    assert_eq!(script.duplicates(0, 3), [0]);
    assert_eq!(script.window(), (8, 5), "half the window and the three that left");
    assert_eq!(script.duplicates(0, 6), [10, 11, 12, 13], "from the tenth on there is room");
    assert_eq!(script.window().0, 14);
    assert_eq!(script.ack(4, &[]), [], "a partial ACK ends it, the next hole waits");
    assert_eq!(script.window(), (5, 5));
    assert_eq!(script.duplicates(4, 5), [], "and its duplicates do not count");
    assert_eq!(script.timeout(), [4]);
}

#[test]
fn newreno_repairs_one_hole_a_round_trip() {
    let mut script = Script::new(Recovery::NewReno, 10);
    assert_eq!(script.duplicates(0, 3), [0]);
    assert_eq!(script.duplicates(0, 5), [10, 11, 12]);
    assert_eq!(script.window().0, 13);
    let timer = script.sender.timer();
    // The second hole is retransmitted, and the window shrinks by the four acknowledged less one.
    assert_eq!(script.ack(4, &[]), [4, 13]);
    assert_eq!(script.window().0, 10);
    assert!(script.sender.timer() > timer, "the first partial ACK restarts the timer");
    let timer = script.sender.timer();
    assert_eq!(script.ack(6, &[])[0], 6);
    assert_eq!(script.sender.timer(), timer, "later ones do not");
    script.ack(13, &[]);
    assert_eq!(script.window(), (5, 5));
}

#[test]
fn sack_fills_the_pipe_holes_first() {
    let mut script = Script::new(Recovery::Sack, 10);
    // Segments 0 and 4 are lost.
    assert_eq!(script.ack(0, &[(1, 2)]), []);
    assert_eq!(script.ack(0, &[(1, 3)]), []);
    assert_eq!(script.ack(0, &[(1, 4)]), [0]);
    assert_eq!(script.window(), (5, 5));
    // Pipe: 10 - 3 = 7, and one less with each duplicate; there is room below 5.
    assert_eq!(script.ack(0, &[(5, 6), (1, 4)]), []);
    assert_eq!(script.ack(0, &[(5, 7), (1, 4)]), []);
    assert_eq!(script.ack(0, &[(5, 8), (1, 4)]), [4], "three SACKed segments above: lost");
    assert_eq!(script.ack(0, &[(5, 9), (1, 4)]), [10]);
    assert_eq!(script.ack(4, &[(5, 10)]), [11, 12], "a partial ACK takes two from the pipe");
    script.ack(10, &[]);
    assert_eq!(script.window(), (5, 5));
}

#[test]
fn sack_counts_no_duplicate_without_news() {
    let mut script = Script::new(Recovery::Sack, 10);
    assert_eq!(script.duplicates(0, 5), []);
    assert_eq!(script.sender.counters.fast_retransmits, 0);
}

#[test]
fn an_algorithm_may_be_told_the_smoothed_rtt() {
    let told = |rtt_report| {
        let settings = ClassicSettings { rtt_report, timestamp_tick_us: 0, ..ns_3() };
        let mut script = Script::with(settings);
        script.now += Duration::from_millis(20);
        let ack = Ack {
            next: SEGMENT,
            blocks: &[],
            echo: Some(Time::from_millis(100)),
            is_bare: true,
            window_bytes: u64::MAX,
        };
        script.sender.handle_ack(script.now, ack);
        assert_eq!(script.sender.last_rtt(), Some(Duration::from_millis(20)));
        script.sender.reported_rtt()
    };
    assert_eq!(told(RttReport::Sample), Some(Duration::from_millis(20)));
    // The handshake took 100 ms: 7/8 of that and 1/8 of the sample.
    assert_eq!(told(RttReport::Smoothed), Some(Duration::from_millis(90)));
}

#[test]
fn limited_transmit_keeps_the_ack_clock() {
    let settings = ClassicSettings {
        recovery: Recovery::NewReno,
        limited_transmit: true,
        initial_window_pkts: 4,
        window_limit_pkts: 1000,
        handshake_opens_window: false,
        ..ns_2_packet()
    };
    let mut script = Script::with(settings);
    assert_eq!(script.duplicates(0, 1), [4]);
    assert_eq!(script.duplicates(0, 1), [5]);
    assert_eq!(script.duplicates(0, 1), [0]);
    assert_eq!(script.window(), (5, 2));
}

#[test]
fn timeout_goes_back_to_the_hole_and_doubles() {
    let mut script = Script::new(Recovery::NewReno, 8);
    let began = script.now;
    assert_eq!(script.timeout(), [0]);
    assert_eq!(script.window(), (1, 4));
    let first = script.now.saturating_since(began);
    let began = script.now;
    assert_eq!(script.timeout(), [0]);
    assert_eq!(script.now.saturating_since(began), first * 2);
    assert_eq!(script.window(), (1, 4), "the same loss reduces the threshold once");
    // Segment 0 arrives, 1 to 4 were held: slow start sends what may still be lost.
    assert_eq!(script.ack(5, &[]), [5, 6]);
    assert_eq!(script.ack(6, &[]), [7, 8]);
}

#[test]
fn duplicates_of_a_resent_flight_start_nothing() {
    let mut script = Script::new(Recovery::NewReno, 8);
    script.timeout();
    script.ack(1, &[]);
    assert_eq!(script.duplicates(1, 3), []);
    assert_eq!(script.sender.counters.fast_retransmits, 0);
}

#[test]
fn slow_start_opens_by_one_an_ack_however_much_it_covers() {
    let mut script = Script::new(Recovery::Reno, 4);
    assert_eq!(script.ack(2, &[]).len(), 3);
    assert_eq!(script.window().0, 5);
}

#[test]
fn fack_takes_one_of_two_acks_out_of_flight() {
    let mut script = Script::new(Recovery::Fack, 20);
    assert_eq!(script.ack(0, &[(1, 2)]), [20], "SACKed packets are not in flight");
    assert_eq!(script.ack(0, &[(1, 3)]), [21]);
    assert_eq!(script.ack(0, &[(1, 4)]), [22]);
    assert_eq!(script.ack(0, &[(1, 5)]), [0], "more than three above the hole");
    assert_eq!(script.window(), (10, 10));
    let mut sent = Vec::new();
    for top in 6..16 {
        sent.push(script.ack(0, &[(1, top)]).len());
    }
    assert_eq!(sent, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn fack_sends_a_lost_retransmission_again() {
    let mut script = Script::new(Recovery::Fack, 20);
    for top in 2..=5 {
        script.ack(0, &[(1, top)]);
    }
    let mut repairs = 1;
    for top in 6..32 {
        repairs += script.ack(0, &[(1, top)]).iter().filter(|start| **start == 0).count();
    }
    assert_eq!(repairs, 2);
}

/// A sender with fine timers or without, whose RTT is 10 ms, in Reno's recovery.
fn timed(fine_retransmission: bool, cwnd: u32, acks: u64) -> Script {
    let settings = ClassicSettings {
        recovery: Recovery::Reno,
        window_limit_pkts: 1000,
        limited_transmit: false,
        handshake_opens_window: false,
        initial_window_pkts: cwnd,
        fine_retransmission,
        ..ns_2_packet()
    };
    let mut script = Script::with(settings);
    // a window of RTTs of 10 ms, one ACK a millisecond; the window stays
    script.sender.sk.snd_ssthresh = 2;
    script.now += Duration::from_millis(9);
    for next in 1..=acks {
        script.ack(next, &[]);
    }
    script
}

#[test]
fn a_fine_timer_makes_the_first_duplicate_enough_once_it_ran_out() {
    for (fine, wait_ms, expected) in [
        // not due: the third duplicate ACK, as ever
        (true, 0, vec![vec![], vec![], vec![20]]),
        (false, 100, vec![vec![], vec![], vec![20]]),
        (true, 100, vec![vec![20]]),
    ] {
        let mut script = timed(fine, 10, 20);
        script.now += Duration::from_millis(wait_ms);
        let sent: Vec<Vec<u64>> = expected.iter().map(|_| script.ack(20, &[])).collect();
        assert_eq!(sent, expected, "fine {fine}, {wait_ms} ms");
        assert_eq!(script.sender.counters.fast_retransmits, 1);
    }
}

#[test]
fn a_window_of_three_needs_no_timeout_with_fine_timers() {
    for (fine, expected) in [(true, vec![2, 5]), (false, vec![])] {
        let mut script = timed(fine, 2, 2);
        // the first of the flight is lost, the others make two duplicate ACKs, of which the second
        // opens the window for a new segment
        assert_eq!(script.sender.in_flight(), 3);
        script.now += Duration::from_millis(100);
        assert_eq!(script.duplicates(2, 2), expected, "fine {fine}");
    }
}

#[test]
fn the_second_loss_of_a_flight_is_resent_at_the_first_ack_and_reduces_nothing() {
    let mut script = timed(true, 10, 20);
    script.now += Duration::from_millis(100);
    assert_eq!(script.ack(20, &[]), [20]);
    let threshold = script.sender.sk.snd_ssthresh;
    // 20 arrives, 23 is missing, too
    let sent = script.ack(23, &[]);
    assert_eq!(sent.first(), Some(&23), "{sent:?}");
    assert_eq!(script.sender.sk.snd_ssthresh, threshold);
    assert_eq!(script.sender.counters.fast_retransmits, 1);
    // without fine timers it waits for duplicates, of which there are too few
    let mut coarse = timed(false, 10, 20);
    coarse.now += Duration::from_millis(100);
    assert_eq!(coarse.duplicates(20, 3), [20]);
    assert!(!coarse.ack(23, &[]).contains(&23));
}
