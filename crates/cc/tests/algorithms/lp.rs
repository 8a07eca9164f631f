//! LP by the rules of Kuzmanovic and Knightly 2003, and the effect of Linux's timestamps.

use crate::flow::{Flow, RECOVERY};

/// Time from a segment's departure to its ACK's arrival without a queue.
const RTT_MS: u32 = 40;

/// Uptime of the sender at the start.
const UPTIME_MS: u32 = 10_000;

/// A flow with this window whose peer's clock is ahead by `ahead_ms`.
struct Timed {
    flow: Flow,
    ahead_ms: u32,
}

impl Timed {
    fn new(window_pkts: u32, ahead_ms: u32, parameters: &[(&str, i64)]) -> Self {
        let mut flow = Flow::new("lp", parameters);
        flow.sk.snd_ssthresh = 2;
        flow.sk.snd_cwnd = window_pkts;
        flow.advance(u64::from(UPTIME_MS) * 1_000_000);
        Self { flow, ahead_ms }
    }

    /// An ACK, 2 ms after the last one, whose data waited for `queueing_ms`.
    fn ack(&mut self, queueing_ms: u32) {
        self.flow.advance(2_000_000);
        let now_ms = (self.flow.now_ns / 1_000_000) as u32;
        let options = &mut self.flow.sk.rx_opt;
        options.saw_tstamp = 1;
        options.rcv_tsecr = now_ms - RTT_MS - queueing_ms;
        options.rcv_tsval = (now_ms - RTT_MS / 2).wrapping_add(self.ahead_ms);
        self.flow.ack(1, ((RTT_MS + queueing_ms) * 1_000) as i32);
    }

    fn acks(&mut self, count: u32, queueing_ms: u32) {
        for _ in 0..count {
            self.ack(queueing_ms);
        }
    }
}

/// A flow with synchronised clocks, with this window, that knows the path.
fn settled(window_pkts: u32) -> Timed {
    let mut timed = Timed::new(window_pkts, 0, &[]);
    // the first estimates of the peer's clock give wrong delays, which decay slowly
    timed.acks(400, 0);
    timed.flow.sk.snd_cwnd = window_pkts;
    timed
}

#[test]
fn a_queue_of_others_halves_the_window_and_then_leaves_one_packet() {
    let mut timed = settled(100);
    let mut acks = 0;
    while timed.flow.sk.snd_cwnd >= 100 {
        timed.ack(100);
        acks += 1;
        assert!(acks < 10, "it does not give way");
    }
    // half, plus the growth at this ACK
    assert_eq!(timed.flow.sk.snd_cwnd, 50);
    timed.ack(100);
    assert_eq!((timed.flow.sk.snd_cwnd, timed.flow.phase()), (1, "inference"));
}

#[test]
fn the_inference_phase_lasts_three_round_trips() {
    let mut timed = settled(100);
    while timed.flow.sk.snd_cwnd >= 100 {
        timed.ack(100);
    }
    let start_ns = timed.flow.now_ns;
    timed.ack(0);
    let left = timed.flow.sk.snd_cwnd;
    assert_eq!(timed.flow.phase(), "inference");
    while timed.flow.phase() == "inference" {
        assert_eq!(timed.flow.sk.snd_cwnd, left, "it grows meanwhile");
        timed.ack(0);
    }
    let ms = (timed.flow.now_ns - start_ns) / 1_000_000;
    // since the last indication, which arrives while the smoothed delay falls
    assert!((120..=140).contains(&ms), "{ms} ms, 3 round trips are {}", 3 * RTT_MS);
}

#[test]
fn the_delay_that_made_it_give_way_is_the_measure_of_the_next() {
    let mut timed = Timed::new(100, 0, &[]);
    timed.acks(20, 0);
    timed.acks(400, 100);
    let before = timed.flow.sk.snd_cwnd;
    assert!(before < 50, "{before}");
    // the lowest and highest delay are now about 120 and 240 ms
    timed.acks(300, 110);
    assert!(timed.flow.sk.snd_cwnd > before, "{}", timed.flow.sk.snd_cwnd);
    timed.flow.sk.snd_cwnd = 80;
    timed.acks(20, 150);
    assert!(timed.flow.sk.snd_cwnd <= 41, "{}", timed.flow.sk.snd_cwnd);
}

#[test]
fn with_linuxs_random_timestamps_it_is_reno_and_with_equal_clocks_it_is_not() {
    let windows = |ahead_ms: u32| -> Vec<u32> {
        let mut timed = Timed::new(100, ahead_ms, &[]);
        (0..20)
            .map(|step| {
                timed.acks(100, 50 * (step % 2));
                timed.flow.sk.snd_cwnd
            })
            .collect()
    };
    let mut reno = Flow::new("reno", &[]);
    reno.sk.snd_ssthresh = 2;
    reno.sk.snd_cwnd = 100;
    let renos: Vec<u32> = (0..20)
        .map(|_| {
            for _ in 0..100 {
                reno.ack(1, 40_000);
            }
            reno.sk.snd_cwnd
        })
        .collect();
    // from 2^29 ms on, the smoothed delay, which is stored times eight, wraps, and remains low
    for eighth in 1..8 {
        assert_eq!(windows(eighth << 29), renos, "ahead by {eighth} 2^29 ms");
    }
    let spread = (0..1_000_u32).map(|i| i.wrapping_mul(0x9e37_79b1));
    let like_reno = spread.filter(|&ahead_ms| windows(ahead_ms) == renos).count();
    assert!(like_reno.abs_diff(875) <= 5, "{like_reno} of 1,000 offsets");
    for ahead_ms in [0, 1_000, 1 << 28, (1 << 29) - 100_000] {
        let lowest = windows(ahead_ms).into_iter().min();
        assert!(lowest < Some(60), "ahead by {ahead_ms} ms: {lowest:?}");
    }
}

#[test]
fn a_loss_is_renos() {
    let mut timed = Timed::new(100, 0, &[]);
    timed.acks(3, 0);
    timed.flow.sk.snd_cwnd = 90;
    timed.flow.reduce(RECOVERY);
    assert_eq!(timed.flow.sk.snd_cwnd, 45);
}
