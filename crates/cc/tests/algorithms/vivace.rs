//! Vivace compared with the paper's consequences of the utility: the rate for a share of losses, a
//! link that is full without a queue, insensitivity to noise, odd results, timeouts.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use cwndlab_cc::RateSample;

use crate::flow::{Flow, MSS_BYTES};

const MBIT_S: f64 = 1e6;

/// A packet in flight.
struct Packet {
    sent_us: f64,
    /// Arrival of its ACK.
    back_us: f64,
    prior_delivered: u32,
    is_lost: bool,
}

/// A paced sender, a link of fixed rate with an unlimited queue, and the path's effects on packets.
struct Path {
    flow: Flow,
    base_us: f64,
    /// In Mbit/s.
    link: f64,
    /// Addition to the RTT of a packet by its number, us.
    noise_us: fn(u64, f64) -> f64,
    /// Whether a packet is lost, by its number and the rate in Mbit/s.
    is_lost: Box<dyn FnMut(u64, f64) -> bool>,
    flying: VecDeque<Packet>,
    sent: u64,
    next_us: f64,
    free_us: f64,
    last_back_us: f64,
    lost: u32,
    rtts_us: Vec<f64>,
}

impl Path {
    fn new(parameters: &[(&str, i64)], base_us: u32, link: f64, begin: f64) -> Self {
        let mut flow = Flow::new("vivace", parameters);
        flow.sk.srtt_us = base_us << 3;
        flow.sk.rtt_min_us = base_us;
        flow.sk.snd_cwnd = (begin * f64::from(base_us) / 8.0 / f64::from(MSS_BYTES)) as u32;
        flow.sk.snd_cwnd_clamp = u32::MAX;
        flow.sk.inet_conn.icsk_inet.sk.sk_max_pacing_rate = u64::MAX;
        flow.sk.delivered = 1;
        flow.congestion.init(&mut flow.sk);
        Self {
            flow,
            base_us: f64::from(base_us),
            link,
            noise_us: |_, _| 0.0,
            is_lost: Box::new(|_, _| false),
            flying: VecDeque::new(),
            sent: 0,
            next_us: 0.0,
            free_us: 0.0,
            last_back_us: 0.0,
            lost: 0,
            rtts_us: Vec::new(),
        }
    }

    /// A path that is never full, with a rate in the middle of the range that the utility allows.
    fn unlimited(parameters: &[(&str, i64)], base_us: u32, loss: f64) -> Self {
        Self::new(parameters, base_us, 1e5, best_rate(loss) / 3.0).losing(loss)
    }

    /// Selects every packet at whose number `share` of all numbers reaches the next integer.
    fn losing(mut self, share: f64) -> Self {
        self.is_lost =
            Box::new(move |n, _| ((n + 1) as f64 * share).floor() > (n as f64 * share).floor());
        self
    }

    /// Current sending rate in Mbit/s.
    fn rate(&self) -> f64 {
        self.flow.sk.inet_conn.icsk_inet.sk.sk_pacing_rate as f64 * 8.0 / MBIT_S
    }

    fn send(&mut self) {
        let (now, rate) = (self.next_us, self.rate());
        let service_us = f64::from(MSS_BYTES) * 8.0 / self.link;
        self.free_us = self.free_us.max(now) + service_us;
        let back_us = self.free_us - service_us + self.base_us + (self.noise_us)(self.sent, now);
        self.last_back_us = back_us.max(self.last_back_us);
        self.flying.push_back(Packet {
            sent_us: now,
            back_us: self.last_back_us,
            prior_delivered: self.flow.sk.delivered,
            is_lost: (self.is_lost)(self.sent, rate),
        });
        self.sent += 1;
        self.next_us += f64::from(MSS_BYTES) * 8.0 / rate;
    }

    fn acknowledge(&mut self) {
        let packet = self.flying.pop_front().expect("a packet in flight");
        if packet.is_lost {
            self.lost += 1;
            return;
        }
        let rtt_us = packet.back_us - packet.sent_us;
        self.rtts_us.push(rtt_us);
        let flow = &mut self.flow;
        flow.advance((packet.back_us * 1e3) as u64 - flow.now_ns);
        let sk = &mut flow.sk;
        sk.delivered += 1;
        sk.srtt_us = (f64::from(sk.srtt_us) + rtt_us - f64::from(sk.srtt_us >> 3)) as u32;
        sk.rtt_min_us = sk.rtt_min_us.min(rtt_us as u32);
        let sample = RateSample {
            prior_delivered: packet.prior_delivered,
            delivered: 1,
            interval_us: rtt_us as i64,
            rtt_us: rtt_us as i64,
            losses: self.lost as i32,
            acked_sacked: 1,
            ..RateSample::default()
        };
        self.lost = 0;
        let _ = flow.congestion.cong_control(sk, sk.snd_una, 0, &sample);
    }

    /// Runs for this many seconds; returns the mean rate in Mbit/s.
    fn run(&mut self, seconds: f64) -> f64 {
        let (begin_us, sent) = (self.next_us, self.sent);
        while self.next_us < begin_us + seconds * 1e6 {
            if self.flying.front().is_some_and(|packet| packet.back_us <= self.next_us) {
                self.acknowledge();
            } else {
                self.send();
            }
        }
        (self.sent - sent) as f64 * f64::from(MSS_BYTES) * 8.0 / (self.next_us - begin_us)
    }
}

/// U = x^t - c x p has its maximum at t x^(t-1) = c p.
fn best_rate(loss: f64) -> f64 {
    libm::pow(0.9 / (11.35 * loss), 10.0)
}

#[test]
fn a_share_of_losses_allows_the_rate_that_the_utility_says() {
    assert!((best_rate(0.05) - 100.0).abs() < 1.0, "5 % are tolerated up to 100 Mbit/s");
    for loss in [0.045, 0.05, 0.055, 0.06] {
        let mut path = Path::unlimited(&[], 100_000, loss);
        path.run(60.0);
        let ratio = path.run(60.0) / best_rate(loss);
        assert!((0.5..2.0).contains(&ratio), "{loss}: {ratio:.2} of {:.1}", best_rate(loss));
    }
}

#[test]
fn a_cheaper_loss_allows_a_higher_rate() {
    // half of c at twice the losses
    let mut path = Path::unlimited(&[("loss", 567)], 100_000, 0.06).losing(0.12);
    path.run(60.0);
    let ratio = path.run(60.0) / best_rate(0.06);
    assert!((0.5..2.0).contains(&ratio), "{ratio:.2}");
}

#[test]
fn a_link_is_full_almost_without_a_queue() {
    for link in [20.0, 100.0, 500.0] {
        let mut path = Path::new(&[], 30_000, link, 3.0);
        path.run(60.0);
        path.rtts_us.clear();
        let rate = path.run(60.0);
        assert!((0.85..1.01).contains(&(rate / link)), "{rate:.1} of {link}");
        path.rtts_us.sort_by(f64::total_cmp);
        let long_us = path.rtts_us[path.rtts_us.len() * 95 / 100];
        assert!(long_us < 1.15 * path.base_us, "{link}: {long_us}");
    }
}

/// ACKs arrive every 8 ms.
fn noise(_number: u64, now_us: f64) -> f64 {
    8_000.0 - now_us % 8_000.0
}

#[test]
fn noise_of_the_round_trip_does_not_hold_the_rate_if_it_is_tolerated() {
    let [calm, tolerant, intolerant] = [(1, false), (1, true), (0, true)].map(|(tolerance, is)| {
        let mut path = Path::new(&[("tolerance", tolerance)], 30_000, 1e5, 10.0);
        path.run(0.01);
        // a timeout ends the start
        path.flow.time_out();
        path.flow.open();
        if is {
            path.noise_us = noise;
        }
        path.run(4.0);
        path.rate()
    });
    assert!(tolerant > calm / 2.0 && intolerant < calm / 10.0, "{calm} {tolerant} {intolerant}");
}

#[test]
fn a_timeout_halves_the_rate_and_starts_nothing_anew() {
    let mut path = Path::unlimited(&[], 30_000, 0.06);
    path.run(30.0);
    let before = path.rate();
    path.flow.time_out();
    path.flow.open();
    path.acknowledge();
    let ratio = path.rate() / before;
    assert!((0.5 / 1.06..0.5 * 1.06 * 1.06).contains(&ratio), "{ratio}");
    assert_eq!(path.flow.phase(), "probing");
}

#[test]
fn the_window_does_not_grow_with_the_queue() {
    let mut path = Path::unlimited(&[], 20_000, 0.06);
    path.run(30.0);
    path.base_us = 200_000.0;
    path.run(1.0);
    assert!(path.flow.sk.srtt_us >> 3 > 150_000);
    let in_lowest_rtt = path.rate() * 20_000.0 / 8.0 / f64::from(MSS_BYTES);
    let window = f64::from(path.flow.sk.snd_cwnd);
    assert!((window - 2.0 * in_lowest_rtt - 10.0).abs() <= 2.0, "{window}, {in_lowest_rtt}");
}

/// Number of rates between trials in 12 s, where one rate of each trial loses 6 % and the other
/// 10 %. With this `step`, moves are small, so the three rates remain distinct.
fn moves(higher_loses_less: bool) -> usize {
    let mut path = Path::unlimited(&[("step", 1)], 100_000, 0.05);
    path.run(30.0);
    assert_eq!(path.flow.phase(), "probing");
    let between = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&between);
    let mut last = [path.rate(); 3];
    path.is_lost = Box::new(move |n, rate| {
        if rate != last[2] {
            last = [last[1], last[2], rate];
        }
        let (low, high) = (last.iter().copied().fold(f64::MAX, f64::min), last.iter().copied());
        let ratio = 2.0 * rate / (low + high.fold(0.0, f64::max));
        if (0.99..1.01).contains(&ratio) && seen.borrow().last() != Some(&rate) {
            seen.borrow_mut().push(rate);
        }
        n % 50 < if (ratio > 1.0) == higher_loses_less { 3 } else { 5 }
    });
    path.run(12.0);
    let rates = between.borrow();
    let (first, end) = (rates[0], rates[rates.len() - 1]);
    assert_eq!(higher_loses_less, end > first, "{rates:?}");
    rates.len()
}

#[test]
fn a_trial_is_made_again_if_the_higher_rate_lost_less() {
    let (odd, usual) = (moves(true), moves(false));
    assert!(usual > 20 && (1.6..2.4).contains(&(usual as f64 / odd as f64)), "{odd}, {usual}");
}
