//! A host's transmit queue and its network device.

use std::collections::VecDeque;

use cwndlab_link::{Admission, Packet};
use cwndlab_units::{Bytes, Duration, Output, Rate, Stream, Time};

use crate::config::HostConfig;
use crate::queue::Queue;

/// A host's network device with its transmit queue.
///
/// If the link empties the device's buffer, the argument `held` of each method is the part of this
/// buffer that the link still holds; otherwise, `held` is ignored.
#[derive(Clone, Debug)]
pub struct Host<P> {
    buffer_bytes: u64,
    queue: Queue<P>,
    device: Device<P>,
    /// Packets that have left the device and have not been polled, with their departure times.
    departed: VecDeque<(Time, P)>,
    counters: HostCounters,
}

/// The component that empties the device's buffer.
#[derive(Clone, Debug)]
enum Device<P> {
    /// The device empties its buffer itself, at its rate if it has one, and with a fixed time for
    /// each packet.
    Timed {
        rate: Option<Rate>,
        packet_time: Duration,
        /// Packets in the device's buffer, with their departure times.
        packets: VecDeque<(Time, P)>,
        bytes: u64,
        /// Time at which the last packet in the device's buffer leaves.
        busy_until: Time,
    },
    /// The link empties the device's buffer.
    Link,
}

/// A packet that the queue's AQM dropped after it was queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost<P>(pub P);

/// Counts of a host's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostCounters {
    /// Packets from sockets.
    pub arrived: u64,
    /// Packets that did not fit into the queue; their sockets are notified of the drop.
    pub dropped: u64,
    /// Packets that the queue's AQM dropped later; to TCP, these drops look like losses in the
    /// network.
    pub lost: u64,
    /// Packets that have left the device.
    pub departed: u64,
}

impl<P: Packet> Host<P> {
    /// Creates an idle device; `random` is a stream of random numbers for this device only.
    pub fn new(config: HostConfig, random: Stream) -> Self {
        let HostConfig { rate, packet_time, .. } = config;
        let device = if rate.is_none() && packet_time == Duration::ZERO {
            Device::Link
        } else {
            let (packets, busy_until) = (VecDeque::new(), Time::ZERO);
            Device::Timed { rate, packet_time, packets, bytes: 0, busy_until }
        };
        Self {
            buffer_bytes: config.buffer.0,
            queue: Queue::new(&config, random),
            device,
            departed: VecDeque::new(),
            counters: HostCounters::default(),
        }
    }

    /// Whether the link empties the device's buffer.
    pub fn is_emptied_by_link(&self) -> bool {
        matches!(self.device, Device::Link)
    }

    /// Queues a packet from a socket, or drops the packet if there is no room.
    pub fn handle_packet(&mut self, now: Time, held: Bytes, packet: P) -> Admission {
        self.counters.arrived += 1;
        self.advance(now);
        let goes_on = self.queue.len() == 0 && self.device_takes(held, packet.wire_bytes());
        if !goes_on && self.room(now, held, packet.flow()) == 0 {
            self.counters.dropped += 1;
            return Admission::Dropped;
        }
        if self.queue.push(now, packet) == Admission::Dropped {
            self.counters.dropped += 1;
            return Admission::Dropped;
        }
        self.feed(now);
        Admission::Queued
    }

    /// The next packet that the queue's AQM dropped after it was queued.
    fn next_lost(&mut self) -> Option<Lost<P>> {
        let packet = self.queue.pop_lost()?;
        self.counters.lost += 1;
        Some(Lost(packet))
    }

    /// Number of consecutive packets of 1500 bytes that this flow may send now without a drop.
    pub fn room(&mut self, now: Time, held: Bytes, flow: u32) -> u32 {
        self.advance(now);
        let in_device = self.device_bytes(held);
        let free = self.buffer_bytes.saturating_sub(in_device) / FULL_PACKET_BYTES;
        let free = u32::try_from(free).unwrap_or(u32::MAX).max(u32::from(in_device == 0));
        self.queue.room(flow, free)
    }

    /// The next packet that has left by `now`, at port 0. When no such packet is left, returns the
    /// packets that were lost in the queue.
    pub fn poll(&mut self, now: Time, held: Bytes) -> Option<Output<P, Lost<P>>> {
        if let Some((at, packet)) = self.next_departure(now, held) {
            return Some(Output::Packet { at, port: 0, packet });
        }
        self.next_lost().map(|event| Output::Event { at: now, event })
    }

    fn next_departure(&mut self, now: Time, held: Bytes) -> Option<(Time, P)> {
        self.advance(now);
        let next = match &self.device {
            Device::Timed { .. } => self.departed.pop_front()?,
            Device::Link => {
                let bytes = self.queue.front(now)?.wire_bytes();
                if !self.device_takes(held, bytes) {
                    return None;
                }
                (now, self.queue.pop(now)?)
            }
        };
        self.counters.departed += 1;
        Some(next)
    }

    /// Time at which [`Host::poll`] next returns a packet; [`Time::NEVER`] if it returns none
    /// before new input.
    pub fn wake_time(&mut self, now: Time, held: Bytes) -> Time {
        let wake = self.packet_time(now, held);
        // Reading the first packet may drop others.
        if self.queue.has_lost() { now } else { wake }
    }

    fn packet_time(&mut self, now: Time, held: Bytes) -> Time {
        match &self.device {
            Device::Timed { packets, .. } => {
                let next = self.departed.front().or(packets.front());
                next.map_or(Time::NEVER, |&(at, _)| at)
            }
            Device::Link => {
                let first = self.queue.front(now).map(Packet::wire_bytes);
                let is_due = first.is_some_and(|bytes| self.device_takes(held, bytes));
                if is_due { now } else { Time::NEVER }
            }
        }
    }

    /// Packets that have arrived at the host's queue and have not been polled.
    pub fn backlog_packets(&self) -> u32 {
        let in_device = match &self.device {
            Device::Timed { packets, .. } => packets.len(),
            Device::Link => 0,
        };
        self.queue.len() + (in_device + self.departed.len()) as u32
    }

    /// The counts since the start of the run.
    pub fn counters(&self) -> HostCounters {
        self.counters
    }

    fn device_bytes(&self, held: Bytes) -> u64 {
        match self.device {
            Device::Timed { bytes, .. } => bytes,
            Device::Link => held.0,
        }
    }

    fn device_takes(&self, held: Bytes, bytes: u32) -> bool {
        let in_device = self.device_bytes(held);
        in_device == 0 || in_device + u64::from(bytes) <= self.buffer_bytes
    }

    /// Advances a device that has a rate until `now`.
    fn advance(&mut self, now: Time) {
        while let Device::Timed { packets, bytes, .. } = &mut self.device
            && packets.front().is_some_and(|&(at, _)| at <= now)
        {
            let (at, packet) = packets.pop_front().expect("the queue has a first packet");
            *bytes -= u64::from(packet.wire_bytes());
            self.departed.push_back((at, packet));
            self.feed(at);
        }
    }

    /// Moves packets from the queue into the buffer of a device that has a rate, while they fit.
    fn feed(&mut self, now: Time) {
        let Device::Timed { rate, packet_time, packets, bytes, busy_until } = &mut self.device
        else {
            return;
        };
        while let Some(packet) = self.queue.front(now) {
            let length = u64::from(packet.wire_bytes());
            if !packets.is_empty() && *bytes + length > self.buffer_bytes {
                break;
            }
            let packet = self.queue.pop(now).expect("the queue has a first packet");
            let sending = rate.map_or(Duration::ZERO, |rate| Bytes(length) / rate);
            *busy_until = now.max(*busy_until) + sending + *packet_time;
            *bytes += length;
            packets.push_back((*busy_until, packet));
        }
    }
}

/// Packet size that a socket assumes before its first packet.
const FULL_PACKET_BYTES: u64 = 1_500;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::Numbered;

    const NOTHING: Bytes = Bytes(0);

    fn made(config: HostConfig) -> Host<Numbered> {
        Host::new(config, Stream::new(1, "host"))
    }

    /// A host with a device of 12 Mbit/s, which sends 1500 bytes in 1 ms.
    fn timed(queue_packets: u32, buffer_bytes: u64) -> Host<Numbered> {
        let rate = Some(Rate::from_mbit_per_sec(12));
        made(HostConfig {
            queue_packets,
            buffer: Bytes(buffer_bytes),
            rate,
            ..HostConfig::default()
        })
    }

    fn modem(queue_packets: u32, buffer_bytes: u64) -> Host<Numbered> {
        made(HostConfig { queue_packets, buffer: Bytes(buffer_bytes), ..HostConfig::default() })
    }

    fn give(host: &mut Host<Numbered>, held: Bytes, count: usize) -> usize {
        let full = |number| Numbered { flow: 0, number, bytes: 1_500 };
        let admissions =
            (0..count).map(|number| host.handle_packet(Time::ZERO, held, full(number)));
        admissions.filter(|&admission| admission == Admission::Queued).count()
    }

    /// The next packet that leaves the host, and its departure time.
    fn depart(host: &mut Host<Numbered>, now: Time, held: Bytes) -> Option<(Time, Numbered)> {
        match host.poll(now, held)? {
            Output::Packet { at, packet, .. } => Some((at, packet)),
            Output::Event { event, .. } => panic!("{event:?}"),
        }
    }

    #[test]
    fn a_burst_is_cut_to_the_queue_and_the_buffer() {
        let mut host = timed(3, 4_500);
        assert_eq!(host.room(Time::ZERO, NOTHING, 0), 6);
        assert_eq!(give(&mut host, NOTHING, 20), 6, "three in the device, three behind it");
        assert_eq!((host.room(Time::ZERO, NOTHING, 0), host.counters().dropped), (0, 14));
    }

    #[test]
    fn the_line_towards_a_device_is_a_device_of_its_own() {
        let plain = HostConfig { queue_packets: 3, ..HostConfig::default() };
        assert_eq!(plain.receiving(), None);
        let slow = HostConfig {
            receive_rate: Some(Rate::from_mbit_per_sec(12)),
            receive_buffer: Bytes(3_000),
            ..plain
        };
        let mut host = made(slow.receiving().expect("it has a rate"));
        assert_eq!(give(&mut host, NOTHING, 5), 2, "what the buffer holds");
        assert_eq!(host.wake_time(Time::ZERO, NOTHING), Time::from_millis(1));
    }

    #[test]
    fn a_device_without_a_buffer_takes_one_packet() {
        let mut host = timed(0, 0);
        assert_eq!(give(&mut host, NOTHING, 5), 1);
        assert_eq!(host.wake_time(Time::ZERO, NOTHING), Time::from_millis(1));
    }

    #[test]
    fn packets_leave_at_the_rate_however_late_it_is_polled() {
        let mut host = timed(10, 3_000);
        give(&mut host, NOTHING, 5);
        let late = Time::from_secs(1);
        let left = std::iter::from_fn(|| depart(&mut host, late, NOTHING)).map(|(at, _)| at);
        assert_eq!(left.collect::<Vec<_>>(), (1..=5).map(Time::from_millis).collect::<Vec<_>>());
        assert_eq!(host.wake_time(late, NOTHING), Time::NEVER);
    }

    #[test]
    fn a_modem_takes_what_its_link_has_room_for() {
        let mut host = modem(3, 4_500);
        assert_eq!(host.room(Time::ZERO, NOTHING, 0), 6);
        assert_eq!(host.room(Time::ZERO, Bytes(1_600), 0), 4);
        let full = Bytes(4_500);
        assert_eq!(give(&mut host, full, 5), 3);
        assert_eq!(host.wake_time(Time::ZERO, full), Time::NEVER);
        assert_eq!(depart(&mut host, Time::ZERO, full), None);
        let later = Time::from_millis(7);
        let room_for_one = Bytes(2_999);
        assert_eq!(host.wake_time(later, room_for_one), later);
        assert_eq!(
            depart(&mut host, later, room_for_one).map(|(at, p)| (at, p.number)),
            Some((later, 0))
        );
        assert_eq!(host.backlog_packets(), 2);
    }

    #[test]
    fn what_is_small_goes_where_a_full_packet_does_not() {
        let mut host = timed(0, 1_600);
        assert_eq!(give(&mut host, NOTHING, 1), 1);
        assert_eq!(host.room(Time::ZERO, NOTHING, 0), 0);
        let small = Numbered { flow: 0, number: 1, bytes: 52 };
        assert_eq!(host.handle_packet(Time::ZERO, NOTHING, small), Admission::Queued);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_beside_what_is_counted_and_the_order_stays(
            arrivals in prop::collection::vec((0u64..3_000_000, 40u32..=1_500), 1..200),
            queue_packets in 0u32..8,
            buffer_bytes in 0u64..9_000,
            polls in prop::collection::vec(any::<bool>(), 200),
        ) {
            let mut host = timed(queue_packets, buffer_bytes);
            let (mut now, mut left) = (Time::ZERO, Vec::new());
            for (number, &(gap_ns, bytes)) in arrivals.iter().enumerate() {
                now += Duration::from_nanos(gap_ns);
                if polls[number] {
                    left.extend(std::iter::from_fn(|| depart(&mut host, now, NOTHING)));
                }
                let room = host.room(now, NOTHING, 0);
                let admission = host.handle_packet(now, NOTHING, Numbered { flow: 0, number, bytes });
                prop_assert!(room == 0 || admission == Admission::Queued);
                let counters = host.counters();
                let inside = u64::from(host.backlog_packets());
                prop_assert_eq!(
                    counters.arrived,
                    counters.departed + counters.dropped + inside
                );
            }
            left.extend(std::iter::from_fn(|| depart(&mut host, Time::from_secs(100), NOTHING)));
            prop_assert_eq!(left.len() as u64 + host.counters().dropped, arrivals.len() as u64);
            prop_assert!(left.is_sorted_by_key(|&(at, packet)| (at, packet.number)));
        }

        #[test]
        fn late_polling_changes_nothing(
            arrivals in prop::collection::vec((0u64..3_000_000, 40u32..=1_500), 1..200),
            queue_packets in 0u32..8,
            buffer_bytes in 0u64..9_000,
        ) {
            let run = |is_late: bool| {
                let mut host = timed(queue_packets, buffer_bytes);
                let (mut now, mut left, mut rooms) = (Time::ZERO, Vec::new(), Vec::new());
                for (number, &(gap_ns, bytes)) in arrivals.iter().enumerate() {
                    now += Duration::from_nanos(gap_ns);
                    while !is_late && host.wake_time(now, NOTHING) <= now {
                        let at = host.wake_time(now, NOTHING);
                        left.extend(depart(&mut host, at, NOTHING));
                    }
                    rooms.push(host.room(now, NOTHING, 0));
                    host.handle_packet(now, NOTHING, Numbered { flow: 0, number, bytes });
                }
                left.extend(std::iter::from_fn(|| depart(&mut host, Time::from_secs(100), NOTHING)));
                (left, rooms, host.counters())
            };
            prop_assert_eq!(run(true), run(false));
        }

        #[test]
        fn a_modem_loses_nothing_either_whatever_its_link_holds(
            steps in prop::collection::vec((40u32..=1_500, 0u64..6_000), 1..200),
            queue_packets in 0u32..8,
        ) {
            let mut host = modem(queue_packets, 4_500);
            let mut left = Vec::new();
            for (number, &(bytes, held)) in steps.iter().enumerate() {
                let (now, held) = (Time::from_millis(number as u64), Bytes(held));
                let room = host.room(now, held, 0);
                let admission = host.handle_packet(now, held, Numbered { flow: 0, number, bytes });
                prop_assert!(room == 0 || admission == Admission::Queued);
                let is_due = host.wake_time(now, held) == now;
                let packet = depart(&mut host, now, held);
                prop_assert_eq!(packet.is_some(), is_due);
                left.extend(packet);
                let (counters, inside) = (host.counters(), u64::from(host.backlog_packets()));
                prop_assert_eq!(
                    counters.arrived,
                    counters.departed + counters.dropped + inside
                );
            }
            prop_assert!(left.is_sorted_by_key(|&(_, packet)| packet.number));
        }
    }
}
