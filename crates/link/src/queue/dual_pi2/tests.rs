//! Comparison with a model of the pseudocode in RFC 9332's appendix A, and tests of its rules.

use cwndlab_units::Stream;

use super::*;

#[derive(Clone, Copy, Debug)]
struct Numbered {
    number: usize,
    bytes: u32,
    ecn: Ecn,
}

impl Packet for Numbered {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn flow(&self) -> u32 {
        0
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

const SETTINGS: DualPi2Settings = DualPi2Settings {
    target: Duration::from_millis(15),
    max_rtt: Duration::from_millis(100),
    threshold: Duration::from_micros(800),
};

fn us(micros: u64) -> Time {
    Time::from_micros(micros)
}

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

/// Decision on a packet at the head of its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Sent,
    Marked,
    Dropped,
}

/// The pseudocode of figures 3 to 8, in seconds and with a timer.
#[derive(Default)]
struct Model {
    lq: Vec<(f64, Numbered)>,
    cq: Vec<(f64, Numbered)>,
    lq_count: f64,
    lq_drop_count: f64,
    cq_count: f64,
    p_base: f64,
    prevq: f64,
    updates: u64,
    balance: i64,
}

fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood;
    if *count > 1.0 {
        *count -= 1.0;
        return true;
    }
    false
}

impl Model {
    fn enqueue(&mut self, now: f64, packet: Numbered) {
        if packet.ecn as u8 % 2 == 1 { &mut self.lq } else { &mut self.cq }.push((now, packet));
    }

    /// "dualpi2_update" at the end of the next 15 ms.
    fn update(&mut self) {
        self.updates += 1;
        let now = self.updates as f64 * 0.015;
        let age = |queue: &[(f64, Numbered)]| queue.first().map_or(0.0, |&(at, _)| now - at);
        let curq = age(&self.cq).max(age(&self.lq));
        let (alpha, beta) = (0.1 * 0.015 / (0.1 * 0.1), 0.3 / 0.1);
        self.p_base += alpha * (curq - 0.015) + beta * (curq - self.prevq);
        self.p_base = self.p_base.clamp(0.0, 1.0);
        self.prevq = curq;
    }

    fn dequeue(&mut self, now: f64) -> Vec<(usize, Fate)> {
        let mut fates = Vec::new();
        while !self.lq.is_empty() || !self.cq.is_empty() {
            let (p_c, p_cl) = (self.p_base * self.p_base, (2.0 * self.p_base).min(1.0));
            let is_lq = if self.lq.is_empty() || self.cq.is_empty() {
                self.balance = 0;
                self.cq.is_empty()
            } else if self.balance > 0 {
                self.balance -= 15 * i64::from(self.cq[0].1.bytes);
                false
            } else {
                self.balance += i64::from(self.lq[0].1.bytes);
                true
            };
            if is_lq {
                let (at, packet) = self.lq.remove(0);
                if p_cl >= 1.0 && recur(&mut self.lq_drop_count, p_c) {
                    fates.push((packet.number, Fate::Dropped));
                    continue;
                }
                let qdelay = now - at;
                let p_native = if self.lq.is_empty() {
                    0.0
                } else if qdelay >= 0.0012 {
                    1.0
                } else {
                    ((qdelay - 0.0008) / 0.0004).max(0.0)
                };
                let marks = recur(&mut self.lq_count, p_native.max(p_cl));
                fates.push((packet.number, if marks { Fate::Marked } else { Fate::Sent }));
            } else {
                let (_, packet) = self.cq.remove(0);
                if !recur(&mut self.cq_count, p_c) {
                    fates.push((packet.number, Fate::Sent));
                } else if packet.ecn == Ecn::NotEct || p_cl >= 1.0 {
                    fates.push((packet.number, Fate::Dropped));
                    continue;
                } else {
                    fates.push((packet.number, Fate::Marked));
                }
            }
            break;
        }
        fates
    }
}

/// A queue on a link of 1.5 bytes per microsecond, 12 Mbit/s, and the fates of its packets.
struct Link {
    queue: DualPi2<Numbered>,
    model: Model,
    free_at: Time,
    fates: Vec<(usize, Fate)>,
    fates_of_model: Vec<(usize, Fate)>,
}

impl Link {
    fn new() -> Self {
        Self {
            queue: DualPi2::new(SETTINGS),
            model: Model::default(),
            free_at: Time::ZERO,
            fates: Vec::new(),
            fates_of_model: Vec::new(),
        }
    }

    fn update_model_until(&mut self, now: Time) {
        while (self.model.updates + 1) * 15_000_000 <= now.as_nanos() {
            self.model.update();
        }
    }

    /// Serves waiting packets until `now`.
    fn serve_until(&mut self, now: Time) {
        while self.free_at < now && self.queue.backlog().packets > 0 {
            let at = self.free_at;
            self.update_model_until(at);
            let fates = &mut self.fates;
            let sent =
                self.queue.dequeue(at, |gone| fates.push((gone.packet.number, Fate::Dropped)));
            if let Some((head, is_marked)) = sent {
                let fate = if is_marked { Fate::Marked } else { Fate::Sent };
                self.fates.push((head.packet.number, fate));
                self.free_at += Duration::from_nanos(u64::from(head.bytes) * 2_000 / 3);
            }
            self.fates_of_model.extend(self.model.dequeue(at.as_secs_f64()));
        }
        self.free_at = self.free_at.max(now);
    }

    fn arrive(&mut self, now: Time, packet: Numbered) {
        self.serve_until(now);
        self.update_model_until(now);
        self.queue.push(Waiting { packet, bytes: packet.bytes, arrived: now });
        self.model.enqueue(now.as_secs_f64(), packet);
    }

    fn count(&self, fate: Fate) -> usize {
        self.fates.iter().filter(|&&(_, f)| f == fate).count()
    }
}

#[test]
fn every_packet_fares_as_in_the_pseudocode() {
    let mut fates = [0; 3];
    for seed in 0..12 {
        let mut random = Stream::new(seed, "arrivals");
        let mut link = Link::new();
        let (mut now, mut number) = (Time::ZERO, 0);
        for _ in 0..12 {
            // From a third of the rate to three times the rate, with varying shares of each
            // codepoint.
            let gap_us = 300.0 + 2_700.0 * random.unit();
            let (l4s, capable) = (random.unit(), random.unit());
            for _ in 0..300 {
                now += Duration::from_nanos((gap_us * 2e3 * random.unit()) as u64 + 1);
                let ecn = match () {
                    () if random.unit() < l4s => Ecn::Ect1,
                    () if random.unit() < capable => Ecn::Ect0,
                    () => Ecn::NotEct,
                };
                let bytes = if random.unit() < 0.2 { 60 } else { 1_500 };
                link.arrive(now, Numbered { number, bytes, ecn });
                number += 1;
            }
            // Sometimes a pause in which the probability falls, sometimes to 0.
            if random.unit() < 0.4 {
                now += Duration::from_millis((4_000.0 * random.unit()) as u64);
            }
        }
        link.serve_until(now + Duration::from_secs(30));
        assert_eq!(link.fates.len(), number);
        assert_eq!(link.fates, link.fates_of_model, "seed {seed}");
        for (count, fate) in fates.iter_mut().zip([Fate::Sent, Fate::Marked, Fate::Dropped]) {
            *count += link.count(fate);
        }
    }
    assert!(fates.iter().all(|&count| count > 1_000), "the load tries everything: {fates:?}");
}

#[test]
fn the_gains_are_those_of_figure_2() {
    let controller = Controller::new(SETTINGS.target, SETTINGS.max_rtt);
    assert_eq!(controller.interval, Duration::from_millis(15));
    assert!((controller.alpha_hz - 0.15).abs() < 1e-12, "{controller:?}");
    assert!((controller.beta_hz - 3.0).abs() < 1e-12, "{controller:?}");
    let short = Controller::new(SETTINGS.target, Duration::from_millis(30));
    assert_eq!(short.interval, Duration::from_millis(10), "a third of the round trip");
}

#[test]
fn the_classic_queue_is_controlled_to_its_target_by_a_sender_that_obeys() {
    // The load falls with the drop probability, as with a responsive sender: 12 Mbit/s at 4 %.
    let mut link = Link::new();
    let mut random = Stream::new(5, "arrivals");
    let (mut now, mut waits) = (Time::ZERO, Vec::new());
    for number in 0..40_000 {
        let probability = link.queue.controller.classic_probability().max(1e-4);
        let gap_us = 1_000.0 * (probability / 0.04).sqrt() * (0.5 + random.unit());
        now += Duration::from_nanos((gap_us * 1e3) as u64);
        link.arrive(now, Numbered { number, bytes: 1_500, ecn: Ecn::NotEct });
        if now > ms(10_000) {
            let head = link.queue.classic.queue.front().expect("a packet has just arrived");
            waits.push((now - head.arrived).as_millis_f64());
        }
    }
    let mean_ms = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!((mean_ms - 15.0).abs() < 0.75, "{mean_ms} ms");
    let drops = link.count(Fate::Dropped) as f64 / 40_000.0;
    assert!((drops - 0.04).abs() < 0.004, "{drops}");
}

#[test]
fn both_queues_get_their_shares_while_both_hold_packets() {
    let mut queue = DualPi2::new(SETTINGS);
    for number in 0..4_000 {
        let ecn = if number % 2 == 0 { Ecn::Ect1 } else { Ecn::Ect0 };
        let bytes = if number % 3 == 0 { 60 } else { 1_500 };
        let packet = Numbered { number, bytes, ecn };
        queue.push(Waiting { packet, bytes, arrived: Time::ZERO });
    }
    let mut sent = [0_u64; 2];
    for _ in 0..1_600 {
        let (head, _) = queue.dequeue(us(1), |_| ()).expect("both hold packets");
        sent[head.packet.number % 2] += u64::from(head.bytes);
    }
    let classic = sent[1] as f64 / (sent[0] + sent[1]) as f64;
    assert!((classic - 1.0 / 16.0).abs() < 0.001, "{classic}");
}

#[test]
fn the_ramp_marks_by_delay_and_spares_a_lone_packet() {
    for (waited_us, share) in [(799, 0.0), (900, 0.25), (1_100, 0.75), (1_200, 1.0), (9_000, 1.0)] {
        let mut queue = DualPi2::new(SETTINGS);
        let mut marks = 0;
        for number in 0..400 {
            let packet = Numbered { number, bytes: 1_500, ecn: Ecn::Ect1 };
            queue.push(Waiting { packet, bytes: 1_500, arrived: Time::ZERO });
        }
        for number in 0..400 {
            let (_, is_marked) = queue.dequeue(us(waited_us), |_| ()).expect("they wait");
            assert!(number < 399 || !is_marked, "the last one is alone");
            marks += u32::from(is_marked);
        }
        let marked = f64::from(marks) / 399.0;
        assert!((marked - share).abs() < 0.006, "{waited_us} us: {marked}");
    }
}

#[test]
fn in_overload_neither_queue_is_marked_instead_of_dropped() {
    let mut queue = DualPi2::new(SETTINGS);
    queue.controller.base_probability = 0.6;
    let mut dropped = [0; 2];
    for number in 0..2_000 {
        let ecn = if number % 2 == 0 { Ecn::Ect1 } else { Ecn::Ect0 };
        let packet = Numbered { number, bytes: 1_500, ecn };
        queue.push(Waiting { packet, bytes: 1_500, arrived: Time::ZERO });
    }
    let mut marked = [0; 2];
    while let Some((head, is_marked)) =
        queue.dequeue(us(1), |gone| dropped[gone.packet.number % 2] += 1)
    {
        marked[head.packet.number % 2] += u32::from(is_marked);
    }
    // 0.6 squared is 36 %; all other L4S packets are marked.
    assert!(dropped.iter().all(|&count| (355..=365).contains(&count)), "{dropped:?}");
    assert_eq!(marked[1], 0);
    assert!(marked[0] >= 999 - dropped[0], "{marked:?}");
}

#[test]
fn a_rest_changes_nothing_but_the_time() {
    let mut controller = Controller::new(SETTINGS.target, SETTINGS.max_rtt);
    controller.update_until(ms(3_607_000), None);
    assert_eq!(controller.next_update, ms(3_607_005), "the grid of 15 ms goes on");
    assert_eq!(controller.base_probability, 0.0);
}
