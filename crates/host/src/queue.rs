//! The queueing discipline: the order in which packets go to the device, and the queue's limit.

use std::collections::{BTreeMap, VecDeque};

use cwndlab_link::{Admission, Discipline, Packet};
use cwndlab_units::{Stream, Time};

use crate::config::{HostConfig, Qdisc};

/// A host's packets that wait for the device.
#[derive(Clone, Debug)]
pub(crate) struct Queue<P> {
    limit_packets: u32,
    packets: u32,
    order: Order<P>,
    /// Packets that the AQM dropped after they were queued.
    lost: VecDeque<P>,
}

#[derive(Clone, Debug)]
enum Order<P> {
    Arrival(VecDeque<P>),
    Fair(Fair<P>),
    Managed(Box<Managed<P>>),
}

/// A queue whose AQM decides which packet leaves next and which packets are dropped.
#[derive(Clone, Debug)]
struct Managed<P> {
    discipline: Discipline<P>,
    /// The packet that leaves next, already dequeued by the AQM.
    first: Option<P>,
    /// Whether the queue accepts every packet from a socket and drops packets of the longest flow
    /// instead.
    takes_all: bool,
}

/// Deficit round robin over flows as in fq (tc-fq(8)): a flow whose queue was empty is served
/// first, with a larger quantum.
#[derive(Clone, Debug)]
struct Fair<P> {
    flows: BTreeMap<u32, Flow<P>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

#[derive(Clone, Debug)]
struct Flow<P> {
    packets: VecDeque<P>,
    /// Bytes that the flow may still send in its turn.
    credit: i64,
    is_listed: bool,
}

/// `quantum` of fq: two full Ethernet packets; `initial_quantum` is ten.
const QUANTUM_BYTES: i64 = 2 * 1_514;
/// `initial_quantum` of fq: ten full Ethernet packets.
const INITIAL_QUANTUM_BYTES: i64 = 10 * 1_514;
/// `flow_limit` of fq.
const FLOW_LIMIT_PACKETS: u32 = 100;

impl<P: Packet> Queue<P> {
    /// Creates an empty queue; `random` is a stream of random numbers for this queue only.
    pub(crate) fn new(config: &HostConfig, random: Stream) -> Self {
        let order = if let Some(management) = config.qdisc.management() {
            let limit = Some(config.queue_packets);
            Order::Managed(Box::new(Managed {
                discipline: Discipline::new(management, limit, None, random),
                first: None,
                takes_all: config.qdisc == Qdisc::FqCodel,
            }))
        } else if config.qdisc == Qdisc::Fq {
            let (flows, new, old) = (BTreeMap::new(), VecDeque::new(), VecDeque::new());
            Order::Fair(Fair { flows, new, old })
        } else {
            Order::Arrival(VecDeque::new())
        };
        let (limit_packets, lost) = (config.queue_packets, VecDeque::new());
        Self { limit_packets, packets: 0, order, lost }
    }

    pub(crate) fn len(&self) -> u32 {
        self.packets
    }

    /// Number of packets that this flow may still queue. The device has room for `beside` packets,
    /// which are allowed in addition to the queue's limit.
    pub(crate) fn room(&self, flow: u32, beside: u32) -> u32 {
        let all = self.limit_packets.saturating_add(beside).saturating_sub(self.packets);
        match &self.order {
            Order::Managed(managed) if managed.takes_all => u32::MAX,
            Order::Arrival(_) | Order::Managed(_) => all,
            Order::Fair(fair) => {
                let own = fair.flows.get(&flow).map_or(0, |flow| flow.packets.len() as u32);
                all.min(FLOW_LIMIT_PACKETS.saturating_sub(own))
            }
        }
    }

    /// Queues a packet, unless the AQM drops it.
    pub(crate) fn push(&mut self, now: Time, packet: P) -> Admission {
        self.packets += 1;
        match &mut self.order {
            Order::Arrival(packets) => packets.push_back(packet),
            Order::Fair(fair) => fair.push(packet),
            Order::Managed(managed) => {
                let lost = &mut self.lost;
                let before = lost.len();
                let admission =
                    managed.discipline.push(now, packet, |gone, _| lost.push_back(gone));
                self.packets -= (lost.len() - before) as u32;
                if admission == Admission::Dropped {
                    // The last of several dropped packets is the new one; its socket notices the
                    // drop at once.
                    lost.pop_back();
                    return admission;
                }
            }
        }
        Admission::Queued
    }

    /// The next packet to leave.
    pub(crate) fn front(&mut self, now: Time) -> Option<&P> {
        match &mut self.order {
            Order::Arrival(packets) => packets.front(),
            Order::Fair(fair) => fair.front(),
            Order::Managed(managed) => {
                if managed.first.is_none() {
                    let before = self.lost.len();
                    let lost = &mut self.lost;
                    let turn = managed.discipline.pop(now, |gone| lost.push_back(gone));
                    managed.first = turn.map(|turn| turn.packet);
                    self.packets -= (self.lost.len() - before) as u32;
                }
                managed.first.as_ref()
            }
        }
    }

    pub(crate) fn pop(&mut self, now: Time) -> Option<P> {
        let packet = match &mut self.order {
            Order::Arrival(packets) => packets.pop_front(),
            Order::Fair(fair) => fair.pop(),
            Order::Managed(_) => {
                self.front(now)?;
                let Order::Managed(managed) = &mut self.order else {
                    unreachable!("the queue has active queue management")
                };
                managed.first.take()
            }
        };
        self.packets -= u32::from(packet.is_some());
        packet
    }

    /// The next packet that the AQM dropped after it was queued.
    pub(crate) fn pop_lost(&mut self) -> Option<P> {
        self.lost.pop_front()
    }

    pub(crate) fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }
}

impl<P: Packet> Fair<P> {
    fn push(&mut self, packet: P) {
        let id = packet.flow();
        let flow = self.flows.entry(id).or_insert_with(|| Flow {
            packets: VecDeque::new(),
            credit: 0,
            is_listed: false,
        });
        if !flow.is_listed {
            flow.is_listed = true;
            flow.credit = INITIAL_QUANTUM_BYTES;
            self.new.push_back(id);
        }
        flow.packets.push_back(packet);
    }

    /// Advances to the next flow that has a packet and credit; this flow is then the first of its
    /// list.
    fn front(&mut self) -> Option<&P> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let id = *list.front()?;
            let flow = self.flows.get_mut(&id).expect("each listed flow has a queue");
            if flow.packets.is_empty() {
                list.pop_front();
                // Prevents the flow from becoming new again at once.
                if is_new && !self.old.is_empty() {
                    self.old.push_back(id);
                } else {
                    flow.is_listed = false;
                }
            } else if flow.credit <= 0 {
                flow.credit += QUANTUM_BYTES;
                list.pop_front();
                self.old.push_back(id);
            } else {
                return self.flows[&id].packets.front();
            }
        }
    }

    fn pop(&mut self) -> Option<P> {
        self.front()?;
        let id = *self.new.front().or(self.old.front())?;
        let flow = self.flows.get_mut(&id)?;
        let packet = flow.packets.pop_front()?;
        flow.credit -= i64::from(packet.wire_bytes());
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Numbered;

    fn queue(qdisc: Qdisc) -> Queue<Numbered> {
        let config = HostConfig { queue_packets: 1_000, qdisc, ..HostConfig::default() };
        Queue::new(&config, Stream::new(1, "host"))
    }

    fn fill(queue: &mut Queue<Numbered>, flow: u32, packets: usize) {
        for number in 0..packets {
            queue.push(Time::ZERO, Numbered { flow, number, bytes: 1_500 });
        }
    }

    fn flows(queue: &mut Queue<Numbered>, packets: usize) -> Vec<u32> {
        (0..packets).map_while(|_| queue.pop(Time::ZERO)).map(|packet| packet.flow).collect()
    }

    #[test]
    fn a_fifo_lets_a_late_flow_wait() {
        let mut queue = queue(Qdisc::Pfifo);
        fill(&mut queue, 1, 50);
        fill(&mut queue, 2, 1);
        assert_eq!(flows(&mut queue, 51).last(), Some(&2));
    }

    #[test]
    fn fair_queueing_serves_a_late_flow_at_once_and_then_in_turn() {
        let mut queue = queue(Qdisc::Fq);
        fill(&mut queue, 1, 90);
        assert_eq!(flows(&mut queue, 30), [1; 30]);
        fill(&mut queue, 2, 90);
        assert_eq!(flows(&mut queue, 10), [2; 10], "ten packets to begin with");
        let served = flows(&mut queue, 60);
        let of_second = served.iter().filter(|&&flow| flow == 2).count();
        assert!((28..=32).contains(&of_second), "{of_second} of 60");
        assert_eq!(queue.len(), 80);
    }

    #[test]
    fn fair_queueing_limits_each_flow() {
        let mut queue = queue(Qdisc::Fq);
        fill(&mut queue, 1, 100);
        assert_eq!((queue.room(1, 0), queue.room(2, 0)), (0, 100));
    }

    #[test]
    fn what_comes_leaves_once_and_in_its_flows_order() {
        let mut queue = queue(Qdisc::Fq);
        let mut seen = BTreeMap::<u32, Vec<usize>>::new();
        for round in 0..40 {
            for flow in 0..5 {
                fill(&mut queue, flow, usize::from((round + flow) % 3 == 0));
            }
            for packet in (0..2).map_while(|_| queue.pop(Time::ZERO)) {
                seen.entry(packet.flow).or_default().push(packet.number);
            }
        }
        while let Some(packet) = queue.pop(Time::ZERO) {
            seen.entry(packet.flow).or_default().push(packet.number);
        }
        let all: usize = seen.values().map(Vec::len).sum();
        assert_eq!((all, queue.len(), queue.pop(Time::ZERO)), (67, 0, None));
    }

    #[test]
    fn queues_of_flows_serve_a_late_flow_first_and_refuse_nobody() {
        let config =
            HostConfig { queue_packets: 60, qdisc: Qdisc::FqCodel, ..HostConfig::default() };
        let mut queue = Queue::new(&config, Stream::new(1, "host"));
        fill(&mut queue, 1, 60);
        fill(&mut queue, 2, 1);
        let lost: Vec<_> = std::iter::from_fn(|| queue.pop_lost()).map(|gone| gone.flow).collect();
        assert!(
            !lost.is_empty() && lost.iter().all(|&flow| flow == 1),
            "the longest loses: {lost:?}"
        );
        assert_eq!(queue.room(1, 0), u32::MAX);
        let served = flows(&mut queue, 4);
        assert!(served.contains(&2), "{served:?}");
        assert_eq!(queue.len() as usize + lost.len() + served.len(), 61);
    }

    #[test]
    fn what_waits_too_long_is_dropped_and_counted_out() {
        for qdisc in [Qdisc::FqCodel, Qdisc::Pie, Qdisc::DualPi2] {
            let config = HostConfig { queue_packets: 1_000, qdisc, ..HostConfig::default() };
            let mut queue = Queue::new(&config, Stream::new(1, "host"));
            let (mut left, mut lost, mut refused) = (0, 0, 0);
            // Two packets arrive for each that leaves, for two seconds.
            for ms in 0..2_000_u64 {
                let now = Time::from_millis(ms);
                for number in 0..2 {
                    let packet = Numbered { flow: 1, number, bytes: 1_500 };
                    refused += u32::from(queue.push(now, packet) == Admission::Dropped);
                }
                left += u32::from(queue.pop(now).is_some());
                lost += std::iter::from_fn(|| queue.pop_lost()).count() as u32;
            }
            assert_eq!(left + lost + refused + queue.len(), 4_000, "{qdisc:?}");
            assert!(lost + refused > 1_000, "{qdisc:?}: {lost} and {refused}");
            assert_eq!(refused > 0, qdisc == Qdisc::Pie || queue.len() >= 1_000, "{qdisc:?}");
        }
    }
}
