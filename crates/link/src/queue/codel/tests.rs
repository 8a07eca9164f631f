//! Comparison with the pseudocode of RFC 8289 section 5, packet by packet, for one queue and, with
//! the lists of RFC 8290 section 4.2, for several flows.

use cwndlab_units::{Ecn, Stream};

use super::*;
use crate::queue::{FlowQueueSettings, FlowQueues};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Numbered {
    number: u32,
    flow: u32,
    bytes: u32,
}

impl Packet for Numbered {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn mark_ce(&mut self) {
        unreachable!("nothing is capable of ECN here")
    }
}

const TARGET: u64 = 5_000_000;
const INTERVAL: u64 = 100_000_000;
const SETTINGS: CodelSettings = CodelSettings {
    target: Duration::from_nanos(TARGET),
    interval: Duration::from_nanos(INTERVAL),
    ecn: false,
};

/// The pseudocode's state, with its names; times are in nanoseconds, and 0 means none.
#[derive(Default)]
struct Pseudocode {
    queue: VecDeque<(u64, Numbered)>,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl Pseudocode {
    fn bytes(&self) -> u64 {
        self.queue.iter().map(|(_, packet)| u64::from(packet.bytes)).sum()
    }

    fn dodequeue(&mut self, now: u64, maxpacket: u32) -> (Option<Numbered>, bool) {
        let Some((tstamp, packet)) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let mut ok_to_drop = false;
        if now - tstamp < TARGET || self.bytes() <= u64::from(maxpacket) {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + INTERVAL;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(packet), ok_to_drop)
    }

    fn deque(&mut self, now: u64, maxpacket: u32, dropped: &mut Vec<u32>) -> Option<Numbered> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(now, maxpacket);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                dropped.extend(packet.map(|packet| packet.number));
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(now, maxpacket);
                if ok_to_drop {
                    self.drop_next = control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            dropped.extend(packet.map(|packet| packet.number));
            (packet, _) = self.dodequeue(now, maxpacket);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && now.saturating_sub(self.drop_next) < 16 * INTERVAL {
                self.count = delta;
            }
            self.drop_next = control_law(now, self.count);
            self.lastcount = self.count;
        }
        packet
    }
}

fn control_law(time: u64, count: u32) -> u64 {
    time + (INTERVAL as f64 / f64::from(count).sqrt()) as u64
}

/// Steps of 20 s with alternating load: arrivals, and opportunities to send.
enum Step {
    Arrival(u64, Numbered),
    Turn(u64),
}

fn steps(seed: u64, flows: u64) -> Vec<Step> {
    let mut random = Stream::new(seed, "load");
    let mut steps = Vec::new();
    let (mut arrival, mut turn, mut number) = (0_u64, 0_u64, 0);
    while turn < 20_000_000_000 {
        if arrival < turn {
            let flow = random.below(flows) as u32;
            let bytes = 60 + random.below(1_441) as u32;
            steps.push(Step::Arrival(arrival, Numbered { number, flow, bytes }));
            number += 1;
            // Five seconds at 1.6 times the service rate, then five at half of it.
            let mean = if arrival / 5_000_000_000 % 2 == 0 { 0.6e6 } else { 2e6 };
            arrival += random.exponential(mean) as u64;
        } else {
            steps.push(Step::Turn(turn));
            turn += 1_000_000;
        }
    }
    steps
}

#[test]
fn codel_is_the_pseudocode_packet_by_packet() {
    let mut all_dropped = 0;
    for seed in 0..4 {
        let (mut codel, mut model) = (Codel::new(SETTINGS), Pseudocode::default());
        let mut maxpacket = 0;
        for step in steps(seed, 1) {
            match step {
                Step::Arrival(at, packet) => {
                    maxpacket = maxpacket.max(packet.bytes);
                    let arrived = Time::from_nanos(at);
                    codel.push(Waiting { packet, bytes: packet.bytes, arrived });
                    model.queue.push_back((at, packet));
                }
                Step::Turn(at) => {
                    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
                    let sent = codel.dequeue(Time::from_nanos(at), |w| ours.push(w.packet.number));
                    let expected = model.deque(at, maxpacket, &mut theirs);
                    assert_eq!(sent.map(|(head, _)| head.packet), expected, "{seed}, {at} ns");
                    assert_eq!(ours, theirs, "{seed}, {at} ns");
                    all_dropped += ours.len();
                }
            }
        }
    }
    assert!(all_dropped > 200, "{all_dropped}");
}

#[test]
fn flow_queues_are_the_two_lists_of_rfc_8290_packet_by_packet() {
    const FLOWS: usize = 5;
    const QUANTUM: u32 = 1514;
    let settings =
        FlowQueueSettings { codel: SETTINGS, queues: 65_536, quantum_bytes: QUANTUM, salt: 7 };
    let mut all_dropped = 0;
    for seed in 0..4 {
        let mut flows = FlowQueues::new(settings);
        let mut model: Vec<Pseudocode> = (0..FLOWS).map(|_| Pseudocode::default()).collect();
        let mut credits = [0_i64; FLOWS];
        let (mut new, mut old): (VecDeque<usize>, VecDeque<usize>) = Default::default();
        let mut maxpacket = 0;
        for step in steps(seed, FLOWS as u64) {
            let at = match step {
                Step::Arrival(at, packet) => {
                    let flow = packet.flow as usize;
                    maxpacket = maxpacket.max(packet.bytes);
                    let arrived = Time::from_nanos(at);
                    flows.push(Waiting { packet, bytes: packet.bytes, arrived });
                    model[flow].queue.push_back((at, packet));
                    if !new.contains(&flow) && !old.contains(&flow) {
                        new.push_back(flow);
                        credits[flow] = QUANTUM.into();
                    }
                    continue;
                }
                Step::Turn(at) => at,
            };
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            let sent = flows.dequeue(Time::from_nanos(at), |w| ours.push(w.packet.number));
            let expected = loop {
                let is_new = !new.is_empty();
                let Some(&flow) = new.front().or(old.front()) else { break None };
                let list = if is_new { &mut new } else { &mut old };
                // Linux has "<= 0"; the RFC says "a negative number of credits".
                if credits[flow] <= 0 {
                    credits[flow] += i64::from(QUANTUM);
                    list.pop_front();
                    old.push_back(flow);
                    continue;
                }
                if let Some(packet) = model[flow].deque(at, maxpacket, &mut theirs) {
                    credits[flow] -= i64::from(packet.bytes);
                    break Some(packet);
                }
                list.pop_front();
                if is_new {
                    old.push_back(flow);
                }
            };
            assert_eq!(sent.map(|(head, _)| head.packet), expected, "{seed}, {at} ns");
            assert_eq!(ours, theirs, "{seed}, {at} ns");
            all_dropped += ours.len();
        }
    }
    assert!(all_dropped > 200, "{all_dropped}");
}
