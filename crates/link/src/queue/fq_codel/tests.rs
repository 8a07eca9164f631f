//! The rules of RFC 8290 section 4, one by one.

use cwndlab_units::{Duration, Ecn};

use super::*;

#[derive(Clone, Copy, Debug)]
struct Numbered {
    flow: u32,
    number: u32,
    ecn: Ecn,
}

impl Packet for Numbered {
    fn wire_bytes(&self) -> u32 {
        1500
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

const SETTINGS: FlowQueueSettings = FlowQueueSettings {
    codel: CodelSettings {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: false,
    },
    queues: 1024,
    quantum_bytes: 1514,
    salt: 7,
};

/// Queues, and the number of packets pushed.
struct Script {
    queues: FlowQueues<Numbered>,
    number: u32,
}

impl Script {
    fn new(settings: FlowQueueSettings) -> Self {
        Self { queues: FlowQueues::new(settings), number: 0 }
    }

    fn push_at(&mut self, arrived: Time, flow: u32, bytes: u32) {
        let packet = Numbered { flow, number: self.number, ecn: Ecn::Ect0 };
        self.queues.push(Waiting { packet, bytes, arrived });
        self.number += 1;
    }

    fn push(&mut self, flow: u32, bytes: u32) {
        self.push_at(Time::ZERO, flow, bytes);
    }

    fn push_many(&mut self, flow: u32, bytes: u32, packets: u32) {
        (0..packets).for_each(|_| self.push(flow, bytes));
    }

    /// Flows of the next packets, at a time at which CoDel drops nothing.
    fn flows(&mut self, packets: usize) -> Vec<u32> {
        let next = || self.queues.dequeue(Time::ZERO, |_| panic!("CoDel dropped"));
        core::iter::from_fn(next).take(packets).map(|(sent, _)| sent.packet.flow).collect()
    }
}

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

#[test]
fn flows_take_turns_of_a_quantum_in_bytes() {
    let mut script = Script::new(SETTINGS);
    script.push_many(1, 1500, 4);
    script.push_many(2, 500, 12);
    // A packet is sent while there are credits; an overdraft is deducted from later turns.
    let order = script.flows(16);
    assert_eq!(order, [1, 1, 2, 2, 2, 2, 1, 2, 2, 2, 1, 2, 2, 2, 2, 2]);
}

#[test]
fn a_new_queue_is_served_before_the_old_ones() {
    let mut script = Script::new(SETTINGS);
    script.push_many(1, 1514, 5);
    script.push_many(2, 1514, 5);
    assert_eq!(script.flows(4), [1, 2, 1, 2], "both are old now");
    script.push(3, 100);
    assert_eq!(script.flows(3), [3, 1, 2]);
}

#[test]
fn a_new_queue_without_credits_becomes_old_behind_the_others() {
    let mut script = Script::new(SETTINGS);
    script.push_many(1, 500, 9);
    assert_eq!(script.flows(5), [1; 5], "four of the first quantum, one of the second");
    script.push_many(2, 1514, 3);
    // A new flow gets a quantum; then it waits for its turn like the other flow.
    assert_eq!(script.flows(6), [2, 1, 1, 2, 1, 1]);
}

#[test]
fn an_emptied_new_queue_becomes_old_and_is_not_new_again_before_its_turn() {
    let mut script = Script::new(SETTINGS);
    script.push_many(1, 500, 12);
    assert_eq!(script.flows(5), [1; 5]);
    script.push(2, 100);
    assert_eq!(script.flows(2), [2, 1], "the second time it was found empty");
    // A flow that sends each packet after its previous one has left must not always be first.
    script.push(2, 100);
    assert_eq!(script.flows(3), [1, 2, 1]);
    // Now it was empty in its turn, and becomes new with its next packet.
    script.push(2, 100);
    assert_eq!(script.flows(2), [2, 1]);
}

#[test]
fn an_emptied_old_queue_is_inactive_and_has_a_full_quantum_when_it_comes_again() {
    let mut script = Script::new(SETTINGS);
    script.push(1, 1000);
    assert_eq!(script.flows(1), [1]);
    let place = script.queues.place(1);
    assert!(script.queues.dequeue(Time::ZERO, |_| ()).is_none());
    assert!(!script.queues.queues[place].is_active);
    assert!(script.queues.new.is_empty() && script.queues.old.is_empty());
    assert_eq!(script.queues.queues[place].credits, 514);
    script.push(1, 1000);
    assert_eq!(script.queues.queues[place].credits, 1514);
    assert_eq!(script.queues.new, [place]);
}

/// Flows and numbers of the packets that the longest queue drops, and which was the last arrival.
fn lost(script: &mut Script) -> Vec<(u32, u32, bool)> {
    let mut lost = Vec::new();
    let is_any = script.queues.shorten_longest(|gone, is_last| {
        lost.push((gone.packet.flow, gone.packet.number, is_last));
    });
    assert_eq!(is_any, !lost.is_empty());
    lost
}

#[test]
fn the_longest_queue_in_bytes_loses_its_first_packets_until_half_is_left() {
    let mut script = Script::new(SETTINGS);
    script.push_many(1, 100, 20);
    script.push_many(2, 1500, 3);
    script.push_many(3, 1500, 3);
    let both = [(2, 20, false), (2, 21, false)];
    assert_eq!(lost(&mut script), both, "of two as long the one in use first");
    assert_eq!(lost(&mut script), [(3, 23, false), (3, 24, false)]);
    let halved = (0..10).map(|number| (1, number, false)).collect::<Vec<_>>();
    assert_eq!(lost(&mut script), halved, "2000 bytes of small packets");
    assert_eq!(lost(&mut script), [(2, 22, false)]);
    assert_eq!(lost(&mut script), [(3, 25, true)], "the last arrival itself");
    assert_eq!(script.queues.backlog(), Backlog { packets: 10, bytes: 1000 });
    assert_eq!(script.queues.iter().count(), 10);
}

#[test]
fn no_more_than_a_batch_is_lost_at_once() {
    let mut script = Script::new(SETTINGS);
    script.push_many(1, 1500, 200);
    assert_eq!(lost(&mut script).len(), 64);
    assert_eq!(lost(&mut script).len(), 64);
    assert_eq!(lost(&mut script).len(), 36, "half of 72");
    let mut empty = Script::new(SETTINGS);
    assert_eq!(lost(&mut empty), []);
    empty.push(1, 1500);
    assert_eq!(empty.flows(1), [1]);
    assert_eq!(lost(&mut empty), [], "nothing is left of a queue that was used");
}

#[test]
fn each_queue_has_a_codel_of_its_own() {
    let mut script = Script::new(SETTINGS);
    // One flow with a standing queue, and a flow whose packet arrives just in time.
    for number in 0..400 {
        script.push_at(ms(number), 1, 1500);
    }
    let (mut dropped, mut sent) = (Vec::new(), Vec::new());
    for turn in (100..600).step_by(2) {
        script.push_at(ms(turn), 2, 100);
        for _ in 0..2 {
            let next = script.queues.dequeue(ms(turn), |gone| dropped.push(gone.packet.flow));
            sent.extend(next.map(|(head, _)| head.packet.flow));
        }
    }
    assert!(dropped.len() > 5, "{}", dropped.len());
    assert!(dropped.iter().all(|&flow| flow == 1));
    assert_eq!(sent.iter().filter(|&&flow| flow == 2).count(), 250);
    let left = script.queues.backlog().packets as usize;
    assert_eq!(left + dropped.len() + sent.len(), 650);
}

#[test]
fn what_is_not_more_than_a_packet_of_the_link_is_never_dropped() {
    // RFC 8289 section 5 means the longest packet of the interface, not of the queue.
    let mut script = Script::new(SETTINGS);
    script.push(1, 1500);
    script.push_many(2, 100, 15);
    let mut sent = Vec::new();
    for turn in 0..16 {
        let now = ms(1000 + 200 * turn);
        let next = script.queues.dequeue(now, |gone| panic!("dropped {gone:?}"));
        sent.extend(next.map(|(head, _)| head.packet.flow));
    }
    assert_eq!(sent.len(), 16);
}

#[test]
fn flows_whose_hashes_meet_share_a_queue() {
    let mut script = Script::new(FlowQueueSettings { queues: 1, ..SETTINGS });
    script.push_many(1, 1514, 3);
    script.push_many(2, 1514, 3);
    assert_eq!(script.flows(6), [1, 1, 1, 2, 2, 2], "first come, first served");
    assert_eq!(script.queues.queues.len(), 1);
}

#[test]
fn the_hash_spreads_flows_evenly_and_depends_on_the_salt() {
    let mut counts = [0_u32; 64];
    let settings = FlowQueueSettings { queues: 64, ..SETTINGS };
    for flow in 0..64_000 {
        counts[settings.hash(flow) as usize] += 1;
    }
    // 1000 each, with a standard deviation of 31; chi-squared has 63 degrees of freedom.
    let chi_squared: f64 =
        counts.iter().map(|&count| (f64::from(count) - 1000.0).powi(2) / 1000.0).sum();
    assert!((30.0..110.0).contains(&chi_squared), "{chi_squared}");
    let other = FlowQueueSettings { salt: 8, ..settings };
    let same = (0..6_400).filter(|&flow| settings.hash(flow) == other.hash(flow)).count();
    assert!((50..150).contains(&same), "one in 64: {same}");
}

#[test]
fn a_marking_queue_marks_and_sends() {
    let codel = CodelSettings { ecn: true, ..SETTINGS.codel };
    let mut script = Script::new(FlowQueueSettings { codel, ..SETTINGS });
    script.push_many(1, 1500, 300);
    let marked = (0..300)
        .filter(|&number| {
            let now = ms(10 + 2 * number);
            let (sent, is_marked) =
                script.queues.dequeue(now, |_| panic!("dropped")).expect("one is left");
            assert_eq!(is_marked, sent.packet.ecn == Ecn::Ce);
            is_marked
        })
        .count();
    // The first after an interval, then the control law: the sum of 100 / sqrt(n) is 470 ms for n =
    // 1 to 9, which fits into the remaining 490 ms.
    assert!((7..=10).contains(&marked), "{marked}");
}
