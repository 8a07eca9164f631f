//! The queueing discipline: in what order packets go to the device, and how many it holds.

use std::collections::{BTreeMap, VecDeque};

use cwndlab_link::Packet;

use crate::config::{HostConfig, Qdisc};

/// Packets that wait for the device.
#[derive(Clone, Debug)]
pub(crate) struct Queue<P> {
    limit_packets: u32,
    packets: u32,
    order: Order<P>,
}

#[derive(Clone, Debug)]
enum Order<P> {
    Arrival(VecDeque<P>),
    Fair(Fair<P>),
}

/// Deficit round robin over flows as fq does it (tc-fq(8)): flows that were empty go first, with a
/// larger share.
#[derive(Clone, Debug)]
struct Fair<P> {
    flows: BTreeMap<u32, Flow<P>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

#[derive(Clone, Debug)]
struct Flow<P> {
    packets: VecDeque<P>,
    /// Bytes that it may still send in its turn.
    credit: i64,
    is_listed: bool,
}

/// `quantum` and `initial_quantum` of fq: two and ten packets of Ethernet.
const QUANTUM_BYTES: i64 = 2 * 1_514;
const INITIAL_QUANTUM_BYTES: i64 = 10 * 1_514;
/// `flow_limit` of fq.
const FLOW_LIMIT_PACKETS: u32 = 100;

impl<P: Packet> Queue<P> {
    pub(crate) fn new(config: &HostConfig) -> Self {
        let order = match config.qdisc {
            Qdisc::Pfifo => Order::Arrival(VecDeque::new()),
            Qdisc::Fq => Order::Fair(Fair {
                flows: BTreeMap::new(),
                new: VecDeque::new(),
                old: VecDeque::new(),
            }),
        };
        Self { limit_packets: config.queue_packets, packets: 0, order }
    }

    pub(crate) fn len(&self) -> u32 {
        self.packets
    }

    /// How many packets of a flow it takes where `beside` of those it holds count for nothing, as
    /// there is room for them behind it.
    pub(crate) fn room(&self, flow: u32, beside: u32) -> u32 {
        let all = self.limit_packets.saturating_add(beside).saturating_sub(self.packets);
        match &self.order {
            Order::Arrival(_) => all,
            Order::Fair(fair) => {
                let own = fair.flows.get(&flow).map_or(0, |flow| flow.packets.len() as u32);
                all.min(FLOW_LIMIT_PACKETS.saturating_sub(own))
            }
        }
    }

    pub(crate) fn push(&mut self, packet: P) {
        self.packets += 1;
        match &mut self.order {
            Order::Arrival(packets) => packets.push_back(packet),
            Order::Fair(fair) => fair.push(packet),
        }
    }

    /// The packet whose turn it is.
    pub(crate) fn front(&mut self) -> Option<&P> {
        match &mut self.order {
            Order::Arrival(packets) => packets.front(),
            Order::Fair(fair) => fair.front(),
        }
    }

    pub(crate) fn pop(&mut self) -> Option<P> {
        let packet = match &mut self.order {
            Order::Arrival(packets) => packets.pop_front(),
            Order::Fair(fair) => fair.pop(),
        };
        self.packets -= u32::from(packet.is_some());
        packet
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

    /// Goes on until a flow has its turn that has a packet and credit; it is the first of a list.
    fn front(&mut self) -> Option<&P> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let id = *list.front()?;
            let flow = self.flows.get_mut(&id).expect("a listed flow is known");
            if flow.packets.is_empty() {
                list.pop_front();
                // So that it cannot be new again at once.
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
        Queue::new(&config)
    }

    fn fill(queue: &mut Queue<Numbered>, flow: u32, packets: usize) {
        for number in 0..packets {
            queue.push(Numbered { flow, number, bytes: 1_500 });
        }
    }

    fn flows(queue: &mut Queue<Numbered>, packets: usize) -> Vec<u32> {
        (0..packets).map_while(|_| queue.pop()).map(|packet| packet.flow).collect()
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
            for packet in (0..2).map_while(|_| queue.pop()) {
                seen.entry(packet.flow).or_default().push(packet.number);
            }
        }
        while let Some(packet) = queue.pop() {
            seen.entry(packet.flow).or_default().push(packet.number);
        }
        let all: usize = seen.values().map(Vec::len).sum();
        assert_eq!((all, queue.len(), queue.pop()), (67, 0, None));
    }
}
